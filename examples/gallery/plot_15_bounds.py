"""
Guarantees against the number of samples
========================================

Theory bounds the risk of a model from its training data alone. Bounds are far above the measured
risk, but they move the right way: down with more samples, up with more complex features.
"""

import matplotlib.pyplot as plt

import trelliswork as tw
from trelliswork import bounds
from trelliswork.demo import handwritten_dates

train, test = handwritten_dates(n_train=400, n_test=100)
labels = [str(digit) for digit in range(10)]
sizes = [25, 50, 100, 200, 400]
curves = {"order 1": [], "order 2": []}
risk = []
for n in sizes:
    for order, curve in enumerate(curves.values(), 1):
        space = tw.Chain(order=order, labels=labels).bind(train.X[:n], train.y[:n])
        curve.append(bounds.factor_graph_complexity(space, train.X[:n]).value)
    risk.append(1 - tw.CRF(tw.Chain()).fit(train.X[:n], train.y[:n]).score(test.X, test.y))

# %%
# Left: how well models of norm 1 can fit noise. Right: the error that is measured. Both fall with
# the samples.
fig, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.4))
for k, (name, curve) in enumerate(curves.items()):
    left.plot(sizes, curve, marker="os"[k], color=tw.plots.COLORS[k], label=name)
left.set(xlabel="training samples", ylabel="factor graph complexity", xscale="log", yscale="log")
left.legend(frameon=False)
right.plot(sizes, risk, marker="o", color=tw.plots.COLORS[2])
right.set(xlabel="training samples", ylabel="test error", xscale="log", ylim=(0, None))
for ax in (left, right):
    ax.set_xticks(sizes, sizes)
    ax.set_xticks([], minor=True)
plt.show()
