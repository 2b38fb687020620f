"""
Reranking a k-best list
=======================

Some knowledge does not fit into a chain: a date must exist. Ask for the ten best readings of a
handwritten date, with their probabilities, and take the first that is a real day between 1950 and
2030.
"""

import datetime

import matplotlib.pyplot as plt

import trelliswork as tw
from trelliswork.demo import handwritten_dates

train, test = handwritten_dates(n_train=300, n_test=300, noise=0.35)
model = tw.CRF(tw.Chain()).fit(train.X, train.y)


def is_day(digits):
    try:
        day = datetime.datetime.strptime("".join(digits), "%Y%m%d")
    except ValueError:
        return False
    return 1950 <= day.year < 2030


# %%
# Reranking needs no new training: the list is exact, so nothing better was overlooked.
lists = model.predict_kbest(test.X, k=10)
chosen = [next((c for c in best if is_day(c.output)), best[0]).output for best in lists]
shares = {}
for name, found in (("best reading", model.predict(test.X)), ("best real day of ten", chosen)):
    shares[name] = sum(a == b for a, b in zip(found, test.y)) / len(test.y)
    print(f"{name:22} dates right: {shares[name]:.1%}")

# %%
# One date whose first reading is no day; filled bars are days that exist.
i = next(i for i, best in enumerate(lists) if not is_day(best[0].output) and chosen[i] == test.y[i])
fig, (left, right) = plt.subplots(2, 1, figsize=(6.4, 4.4), height_ratios=[1, 3])
left.imshow(test.X[i].reshape(8, 8, 8).transpose(1, 0, 2).reshape(8, 64), cmap="gray_r")
left.set_axis_off()
names = ["".join(c.output) for c in lists[i]]
colours = [tw.plots.COLORS[0] if is_day(c.output) else "white" for c in lists[i]]
right.barh(
    names[::-1], [c.probability for c in lists[i]][::-1], color=colours[::-1], edgecolor=tw.plots.COLORS[0]
)
right.set(xlabel="probability", title=f"truth: {''.join(test.y[i])}")
plt.show()
