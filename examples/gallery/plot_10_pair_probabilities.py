"""
Pair probabilities of a transfer RNA
====================================

A single structure hides how sure each of its pairs is. The drawing colours pairs by probability;
the dot plot shows all probable pairs above the diagonal and the drawn structure below it.
"""

import matplotlib.pyplot as plt

import trelliswork as tw

x = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"
model = tw.pretrained("rna")
[structure] = model.predict_mea([x])
[P] = model.predict_marginals([x])
pairs = [(i, j, P[i, j]) for i in range(len(x)) for j in range(i + 1, len(x)) if P[i, j] > 0.01]

fig, ax = plt.subplots(figsize=(6.4, 5.6))
tw.plots.structure(x, structure, probabilities={(i, j): p for i, j, p in pairs}, ax=ax)
plt.show()

# %%
# Left: the dot plot. Right: pairs around each base, in the drawn structure and expected over all structures.
fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 4.0))
tw.plots.dotplot(x, pairs, structure, ax=left)
tw.plots.mountain(x, structure, probabilities=pairs, ax=right)
plt.show()
