"""
A tagging scheme forbids what cannot be
=======================================

In BIO notation ``I-PER`` continues a person, so it cannot come first, or after ``O``.
``Chain(scheme="BIO")`` makes such sequences impossible; a chain without a scheme has to learn that
from data, and sometimes does not.
"""

import matplotlib.pyplot as plt

import trelliswork as tw
from trelliswork.metrics import entity_f1
from trelliswork.web.demos import sentences

X, y = sentences(20, seed=1)
X_test, y_test = sentences(300, seed=2)
with_scheme = tw.StructuredSVM(tw.Chain(scheme="BIO")).fit(X, y)
without = tw.StructuredSVM(tw.Chain()).fit(X, y)

# %%
# Blank cells are transitions that cannot happen; orange ones are encouraged.
fig, ax = plt.subplots(figsize=(6.4, 5.2))
tw.plots.transitions(with_scheme, title="BIO: blank is impossible", ax=ax)
plt.show()


# %%
# How many predicted sequences break the rules, and what that costs.
def broken(sequences):
    pairs = [(a, b) for labels in sequences for a, b in zip(["O", *labels], labels)]
    return sum(b.startswith("I-") and a[2:] != b[2:] for a, b in pairs)


for name, model in (("with scheme", with_scheme), ("without", without)):
    found = model.predict(X_test)
    print(f"{name:12} broken rules {broken(found):3}   entity F1 {entity_f1(y_test, found):.3f}")
