"""
Which learner, and which settings?
==================================

``tw.compare`` fits learners on the same folds and tells which are better by more than chance;
``tw.tuned`` finds good settings of one of them.
"""

import matplotlib.pyplot as plt

import trelliswork as tw
from trelliswork.demo import handwritten_dates

train, _ = handwritten_dates(n_train=80, n_test=1)
comparison = tw.compare(
    train.X, train.y, tw.Chain(), ["CRF", "StructuredSVM", "Perceptron", "Generative"], budget=6
)

# %%
# Filled points are within one standard error of the best.
fig, ax = plt.subplots(figsize=(6.0, 2.8))
tw.plots.comparison(comparison, ax=ax)
plt.show()

# %%
# Scores along the path of one parameter; the dotted line is the choice.
model = tw.tuned(tw.CRF(tw.Chain()), train.X, train.y)
fig, ax = plt.subplots(figsize=(5.4, 3.4))
tw.plots.path(model, ax=ax)
plt.show()
