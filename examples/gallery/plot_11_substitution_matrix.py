"""
Learning a substitution matrix
==============================

Where do scores such as BLOSUM62 come from? From alignments. Here 500 pairs of protein sequences are
drawn so that letters change as BLOSUM62 says they do; a CRF that sees the alignments learns a
matrix that looks like it.
"""

import matplotlib.pyplot as plt
import numpy as np

import trelliswork as tw

letters = "ACDEFGHIKLMNPQRSTVWY"
rng = np.random.default_rng(0)
blosum = tw.Fixed(
    tw.Alignment("substitution"), tw.alignment_weights("BLOSUM62", gap_open=-8, letters=letters)
)
table = blosum.tables()
order = [table["symbols"].index(letter) for letter in letters]
scores = np.asarray(table["matrix"])[np.ix_(order, order)]
odds = np.exp(scores * np.log(2) / 2)  # half bits: how often a letter becomes another, against chance
odds /= odds.sum(axis=1, keepdims=True)


def aligned(length=60):
    first = rng.integers(20, size=length)
    second = [letters[rng.choice(20, p=odds[a])] for a in first]
    gaps = rng.random(length) < 0.06
    return "".join(letters[a] for a in first), "".join("-" if g else b for g, b in zip(gaps, second))


y = [aligned() for _ in range(500)]
X = [(a, b.replace("-", "")) for a, b in y]
learnt = tw.CRF(tw.Alignment("substitution", alphabet="protein"), l2=0.5).fit(X, y)

# %%
# Orange pairs belong together, purple ones do not; the scale of the learnt matrix is that of
# natural logarithms.
fig, axes = plt.subplots(1, 2, figsize=(9.2, 4.0))
tw.plots.matrix(blosum, title="BLOSUM62", ax=axes[0])
tw.plots.matrix(learnt, title="learnt from 500 alignments", ax=axes[1])
plt.show()

# %%
found = learnt.tables()
order = [found["symbols"].index(letter) for letter in letters]
upper = np.triu_indices(20)
ours = np.asarray(found["matrix"])[np.ix_(order, order)][upper]
print(f"correlation of the 210 scores: {np.corrcoef(ours, scores[upper])[0, 1]:.2f}")
