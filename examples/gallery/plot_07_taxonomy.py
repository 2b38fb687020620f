"""
Classes of a taxonomy
=====================

Calling a cat a dog is a smaller mistake than calling it a moth. With a taxonomy, classes share what
they have in common, and unsure predictions can stop at a node that is safe to name.
"""

import matplotlib.pyplot as plt

import trelliswork as tw

ANIMALS = {
    "mammal": {
        "cat": "fur claws milk",
        "dog": "fur barks milk",
        "horse": "fur hooves milk",
        "bat": "fur wings milk",
    },
    "bird": {
        "eagle": "feathers wings claws eggs",
        "owl": "feathers wings night eggs",
        "duck": "feathers wings eggs",
    },
    "fish": {"shark": "scales fins sea", "salmon": "scales fins sea eggs", "trout": "scales fins eggs"},
}
taxonomy = {kind: {name: {} for name in names} for kind, names in ANIMALS.items()}
X = [words.split() for names in ANIMALS.values() for words in names.values()]
y = [name for names in ANIMALS.values() for name in names]
model = tw.CRF(tw.Classes(taxonomy), l2=0.02).fit(X, y)

# %%
# Something with wings that hunts at night: an owl, most probably. The second guess is no other bird but a
# mammal, the bat.
strange = ["wings", "night"]
beliefs = dict(zip(model.classes_, model.predict_marginals([strange])[0]))
fig, ax = plt.subplots(figsize=(6.0, 4.2))
tw.plots.taxonomy(taxonomy, beliefs, title="wings, night", ax=ax)
plt.show()

# %%
# The most probable class, and the one with the least expected tree loss, which need not be the same:
print(model.predict([strange]), model.predict_min_risk([strange], loss="tree"))
