"""
How sure is an alignment?
=========================

The best alignment of two sequences is one of very many. Summing over all of them tells which
columns would be the same in nearly every good alignment, and which are a toss-up.
"""

import matplotlib.pyplot as plt

import trelliswork as tw

weights = {("match",): 1.6, ("mismatch",): -0.8, ("open",): -2.4, ("extend",): -0.6}
model = tw.Fixed(tw.Alignment("affine"), weights)
x = ("GATTACAGATTACAAAAAATCGTAGC", "GATACAGTTACAAATCGTTAGC")

# %%
# Dark columns are sure. Within the run of A nobody can tell which of them have no partner.
fig, ax = plt.subplots(figsize=(6.8, 1.6))
tw.plots.alignment(model, x, ax=ax)
plt.show()

# %%
# The same as a matrix of all pairs of letters, with the best alignment as a line.
fig, ax = plt.subplots(figsize=(5.6, 5.4))
tw.plots.posterior(model, x, ax=ax)
plt.show()
