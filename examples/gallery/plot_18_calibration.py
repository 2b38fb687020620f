"""
Do probabilities mean what they say?
====================================

Of the labels with probability 0.8, eight of ten should be right. A CRF is trained for that; a
perceptron only to be right, so its numbers are no shares: of labels with 0.8, fewer than
four of ten are right.
"""

import matplotlib.pyplot as plt

import trelliswork as tw
from trelliswork.demo import handwritten_dates

train, test = handwritten_dates(n_train=200, n_test=300, noise=0.35)
fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.8), sharey=True)
for ax, learner in zip(axes, (tw.CRF(tw.Chain()), tw.Perceptron(tw.Chain()))):
    model = learner.fit(train.X, train.y)
    tw.plots.calibration(model, test.X, test.y, title=type(learner).__name__, ax=ax)
plt.show()

# %%
# What is taken for what, by the CRF:
fig, ax = plt.subplots(figsize=(6.0, 4.8))
model = tw.CRF(tw.Chain()).fit(train.X, train.y)
tw.plots.confusion(test.y, model.predict(test.X), ax=ax)
plt.show()
