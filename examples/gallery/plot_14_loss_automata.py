"""
Edit distance as an automaton
=============================

The number of wrong labels is a sum over tokens; the edit distance is not. But a small automaton that
reads an output label by label knows it in the end. Put together with the automaton, outputs can be
summed over as before, so that a learner trains on the edit distance exactly, without sampling.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

import trelliswork as tw
from trelliswork.losses import Edit, Hamming

truth, labels = list("ABAB"), ["A", "B"]
edit = Edit(cap=3)  # more than three edits count as three
automaton = edit.automaton(truth, labels, 4)
print(f"{automaton.n_states} states tell apart what {2**5 - 1} beginnings of outputs cost")

# %%
# Left: the states after 0 to 4 labels, and at the end the distance from ABAB. An output is a path from
# left to right. Right: all 16 outputs. BABA has four wrong labels, but two edits mend it: drop its first
# label, add one at the end.
fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8))
layer = np.searchsorted(automaton.layers, np.arange(automaton.n_states), side="right") - 1
height = np.arange(automaton.n_states) - automaton.layers[layer] - np.diff(automaton.layers)[layer] / 2
for state in np.flatnonzero(layer < 4):
    for k, label in enumerate(labels):
        target = automaton.step[state, automaton.symbol[k]]
        x, y = [layer[state], layer[target]], [height[state], height[target]]
        left.plot(x, y, color=tw.plots.COLORS[k], linestyle="-:"[k], label=label if state == 0 else None)
left.plot(layer, height, "o", color="black", markersize=4)
for state in np.flatnonzero(layer == 4):
    left.annotate(f"{automaton.final[state]:.0f}", (4.12, height[state]), va="center")
left.set(xlabel="labels read", xticks=range(5), yticks=[], xlim=(-0.2, 4.5))
left.legend(frameon=False, loc="upper left")

outputs = [list(output) for output in itertools.product(labels, repeat=4)]
points = np.array([(Hamming()(truth, output), edit(truth, output)) for output in outputs])
for (wrong, distance), number in zip(*np.unique(points, axis=0, return_counts=True)):
    right.scatter(wrong, distance, s=120 * number, color=tw.plots.COLORS[0], alpha=0.5)
    right.annotate(f"{number}", (wrong, distance), ha="center", va="center", color="black")
right.plot([0, 4], [0, 4], color="#999999", linestyle="--", linewidth=0.9)
right.set(xlabel="wrong labels", ylabel="edit distance", ylim=(-0.5, 4), xticks=range(5), yticks=range(4))
plt.show()

# %%
# A model whose training knows this loss:
X, y = [list("xyxy"), list("yxyx"), list("xxyy")] * 4, [list("ABAB"), list("BABA"), list("AABB")] * 4
print(tw.VotedCRF(tw.Chain(labels=labels), loss=edit).fit(X, y).predict([list("xyyx")]))
