"""
Noisy labels: when moments win
==============================

Up to four labels of ten in the training data are wrong. A perceptron follows the noise; an
SVM soon reads each symbol alone. Moments are averages over *all* outputs, in which much of the noise
cancels, and a CRF sums over all outputs, too.
"""

import matplotlib.pyplot as plt
import numpy as np

import trelliswork as tw

rng = np.random.default_rng(0)


def sequences(n, length=100):
    """A hidden Markov model with two labels that tend to stay and four symbols."""
    X, y = [], []
    for _ in range(n):
        stays = rng.random(length) < 0.85
        labels = [int(rng.integers(2))]
        for stay in stays[1:]:
            labels.append(labels[-1] if stay else 1 - labels[-1])
        odds = np.array([[0.45, 0.35, 0.15, 0.05], [0.05, 0.15, 0.35, 0.45]])
        X.append([f"s{rng.choice(4, p=odds[label])}" for label in labels])
        y.append([f"state {label}" for label in labels])
    return X, y


def flipped(y, share):
    other = {"state 0": "state 1", "state 1": "state 0"}
    return [[other[label] if rng.random() < share else label for label in labels] for labels in y]


(X, y), (X_test, y_test) = sequences(20), sequences(100)
learners = {
    "Z-score": tw.ZScore(tw.Chain(), reference="uniform", loss=None),
    "SODA": tw.SODA(tw.Chain(), reference="uniform", loss=None),
    "CRF": tw.CRF(tw.Chain()),
    "Structured SVM": tw.StructuredSVM(tw.Chain()),
    "Perceptron": tw.Perceptron(tw.Chain()),
}
# %%
# With two wrong labels of ten the Z-score and the CRF are as good as with none; SODA lies between them and
# the SVM. With four of ten nobody is better than a reader who looks at each symbol alone (error 0.2).
fig, ax = plt.subplots(figsize=(6.0, 3.8))
shares = [0.0, 0.1, 0.2, 0.3, 0.4]
for k, (name, learner) in enumerate(learners.items()):
    errors = [1 - learner.fit(X, flipped(y, share)).score(X_test, y_test) for share in shares]
    ax.plot(shares, errors, marker="osD^v"[k], color=tw.plots.COLORS[k], label=name)
ax.set(xlabel="share of wrong training labels", ylabel="error on clean labels")
ax.legend(frameon=False)
plt.show()
