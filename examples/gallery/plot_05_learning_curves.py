"""
Learning curves of all learners
===============================

How much do more labelled samples help, and whom? The same handwritten dates for every learner, with
default settings (three of them stop early, to save time).
"""

import matplotlib.pyplot as plt
import numpy as np

import trelliswork as tw
from trelliswork.demo import handwritten_dates


def mean_pixels(X):
    return np.array([x.mean(axis=0) for x in X])


train, test = handwritten_dates(n_train=160, n_test=100)
learners = {
    "CRF": tw.CRF(tw.Chain()),
    "Structured SVM": tw.StructuredSVM(tw.Chain(), tol=0.03),
    "SODA": tw.SODA(tw.Chain()),
    "Z-score": tw.ZScore(tw.Chain()),
    "Perceptron": tw.Perceptron(tw.Chain()),
    "Voted CRF": tw.VotedCRF(tw.Chain(), max_iter=60, tol=1e-2),
    "StructBoost": tw.StructBoost(tw.Chain(), max_iter=60, tol=1e-2),
    "KLRSO": tw.KLRSO(tw.Chain(), "linear", features=mean_pixels),
    "HMM": tw.Generative(tw.Chain()),
}

# %%
# With default settings all learners come close to each other once there are some dozens of dates. With ten
# dates those that hold their weights back are ahead of the perceptron, which does not.
fig, ax = plt.subplots(figsize=(6.4, 4.4))
tw.plots.learning_curve(learners, train.X, train.y, test.X, test.y, sizes=[10, 40, 160], ax=ax)
ax.set(ylabel="digits read right")
ax.legend(fontsize=8, frameon=False, ncols=2, loc="lower right")
plt.show()
