"""
One pass over shards
====================

Moments are sums. Each shard of a large collection can be seen once, on its own machine; adding the
sums gives the model of one pass over everything, and the data can be thrown away.
"""

import matplotlib.pyplot as plt
import numpy as np

import trelliswork as tw
from trelliswork.demo import handwritten_dates

train, test = handwritten_dates(n_train=400, n_test=200)
structure = tw.Chain(labels=[str(digit) for digit in range(10)], scale=None)  # scales need all data
whole = tw.SODA(structure, reference="uniform").fit(train.X, train.y)

model, scores, apart = None, [], []
for start in range(0, 400, 50):
    shard = tw.SODA(structure, reference="uniform").fit(
        train.X[start : start + 50], train.y[start : start + 50]
    )
    model = shard if model is None else model.merge(shard)
    scores.append(model.score(test.X, test.y))
    apart.append(float(np.abs(model.coef_ - whole.coef_).max() / np.abs(whole.coef_).max()))

# %%
# After the last shard the weights are those of one fit on all data, up to rounding.
fig, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.2))
left.plot(range(1, 9), scores, marker="o", color=tw.plots.COLORS[0])
left.set(xlabel="shards seen", ylabel="digits read right")
right.semilogy(range(1, 9), apart, marker="s", color=tw.plots.COLORS[1])
right.set(xlabel="shards seen", ylabel="largest difference from one fit")
plt.show()
print(f"difference in the end: {apart[-1]:.1e}")
