"""
Learning to fold a family of RNA
================================

Sixty sequences of an invented family fold into two stems, although their bases differ from member
to member. The model that comes with the package knows RNA in general; trained on twenty members of
the family it knows the family.
"""

import matplotlib.pyplot as plt
import numpy as np

import trelliswork as tw
from trelliswork.metrics import base_pair_f1

SHAPE = "..(((((....)))))...((((.....))))."
PAIRS = ["GC", "CG", "AU", "UA", "GU", "UG"]
rng = np.random.default_rng(3)


def member():
    bases = list(rng.choice(list("ACGU"), len(SHAPE), p=[0.3, 0.2, 0.2, 0.3]))
    for i, j in tw.structures.base_pairs(SHAPE):
        bases[i], bases[j] = PAIRS[rng.choice(6, p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.1])]
    return "".join(bases)


X = [member() for _ in range(60)]
family = tw.CRF(tw.RNA()).fit(X[:20], [SHAPE] * 20)
general = tw.pretrained("rna")
for name, model in (("model of the package", general), ("trained on the family", family)):
    print(f"{name:22} F1 of base pairs {base_pair_f1([SHAPE] * 40, model.predict_mea(X[20:])):.2f}")

# %%
# A member that the general model folds wrongly: found above, truth below. Blue-green arcs are
# right, orange ones wrong, grey ones missed.
hardest = min(X[20:], key=lambda x: base_pair_f1([SHAPE], general.predict_mea([x])))
fig, axes = plt.subplots(2, 1, figsize=(6.4, 7.0))
for ax, name, model in zip(axes, ("model of the package", "trained on the family"), (general, family)):
    tw.plots.arcs(hardest, model.predict_mea([hardest])[0], SHAPE, title=name, ax=ax)
plt.show()
