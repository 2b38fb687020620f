"""
A loss that no part can tell: edit distance as an automaton
===========================================================

The edit distance of two label sequences is no sum over tokens. As a small automaton it is one over
its states, and a learner can put it into its objective exactly. Below, the costs that ``VotedCRF``
trains with, for all sequences of four labels, against the number of wrong labels.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

import trelliswork as tw
from trelliswork.losses import Edit, Hamming

truth = list("ABAB")
others = [list(labels) for labels in itertools.product("AB", repeat=4)]
edit, hamming = Edit(cap=3), Hamming()
points = np.array([(hamming(truth, other), edit(truth, other)) for other in others])

fig, ax = plt.subplots(figsize=(5.4, 3.6))
for (wrong, distance), number in zip(*np.unique(points, axis=0, return_counts=True)):
    ax.scatter(wrong, distance, s=120 * number, color=tw.plots.COLORS[0], alpha=0.5)
    ax.annotate(f"{number}", (wrong, distance), ha="center", va="center", color="black")
ax.plot([0, 4], [0, 4], color="#999999", linestyle="--", linewidth=0.9)
ax.set(xlabel="wrong labels (Hamming)", ylabel="edit distance, capped at 3", ylim=(-0.5, 4))
ax.set_title("16 sequences: BABA has four wrong labels, but one shift mends it", fontsize=10)
plt.show()

# %%
# The automaton of this loss, and a model trained with it.
structure = tw.Chain(labels=["A", "B"])
X, y = [list("xyxy"), list("yxyx"), list("xxyy")] * 4, [list("ABAB"), list("BABA"), list("AABB")] * 4
model = tw.VotedCRF(structure, loss=edit).fit(X, y)
print(model.predict([list("xyyx")]), f"objective {model.history_[-1]['objective']:.3f}")
