"""
Your own structure in one function
==================================

Anything that is built step by step can be learnt. Here a word is cut into syllables: one function
lists the possible steps, and learning, k-best lists and probabilities come for free.
"""

import matplotlib.pyplot as plt

import trelliswork as tw


def build(word):
    yield tw.Edge(len(word))  # nothing left
    for i in reversed(range(len(word))):
        for j in range(i + 1, min(i + 4, len(word)) + 1):
            shape = "".join("v" if letter in "aeiou" else "c" for letter in word[i:j])
            yield tw.Edge(i, [j], features=[("shape", shape), ("piece", word[i:j])], part=word[i:j])


words = """ba-na-na po-ta-to to-ma-to win-dow gar-den lan-tern
    car-pet mo-tor ro-bot pen-cil can-di-date""".split()
X, y = [word.replace("-", "") for word in words], [word.split("-") for word in words]
model = tw.CRF(tw.Derivations(build), l2=0.05).fit(X, y)

# %%
# Shapes of syllables that the model likes and dislikes: c is a consonant, v a vowel.
fig, ax = plt.subplots(figsize=(6.0, 3.6))
tw.plots.weights(model, "shape", top=12, ax=ax)
plt.show()

# %%
for word in ("marmalade", "domino", "vampire"):
    best, second = model.predict_kbest([word], k=2)[0]
    for candidate in (best, second):
        print(f"{'-'.join(candidate.output):12} {candidate.probability:.2f}")
