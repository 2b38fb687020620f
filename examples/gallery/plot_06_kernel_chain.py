"""
A kernel inside of a chain
==========================

Handwritten digits are not linear, and the digits of a date depend on each other. A structured SVM
with a Gaussian kernel has both: similarity of pictures, and weights for which digit follows which.
"""

import matplotlib.pyplot as plt

import trelliswork as tw
from trelliswork.demo import handwritten_dates
from trelliswork.kernels import RBF

train, test = handwritten_dates(n_train=80, n_test=150, noise=0.3)
single = [[x[t : t + 1] for x in part.X for t in range(8)] for part in (train, test)]
digits = [[[label] for labels in part.y for label in labels] for part in (train, test)]

scores = {}
for kernel, name in ((None, "linear"), (RBF(), "Gaussian")):
    svm = tw.StructuredSVM(tw.Chain(), kernel=kernel, tol=0.03)
    scores[f"{name}, digit by digit"] = svm.fit(single[0], digits[0]).score(single[1], digits[1])
    scores[f"{name}, chain"] = svm.fit(train.X, train.y).score(test.X, test.y)

# %%
# Both steps help. Where the kernel reads single digits well, the chain has little left to add.
fig, ax = plt.subplots(figsize=(6.0, 2.4))
for row, (name, score) in enumerate(reversed(scores.items())):
    ax.plot(score, row, "o", markersize=9, color=tw.plots.COLORS[name.startswith("linear")])
    ax.annotate(f"{score:.1%}", (score, row), xytext=(9, -4), textcoords="offset points")
ax.set_yticks(range(4), list(scores)[::-1])
ax.set(xlabel="digits read right", ylim=(-0.5, 3.5))
ax.margins(x=0.25)
ax.grid(axis="x", alpha=0.3)
plt.show()
