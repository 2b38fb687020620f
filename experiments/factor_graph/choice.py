"""How a penalty is chosen, from the validation part alone.

A path is a list of records, one for every penalty: number of weights that are not zero, validation error,
token and sentence error on the test part.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def lowest(path: list[dict[str, Any]], most: float = np.inf) -> dict[str, Any]:
    """The lowest validation error among those with at most ``most`` weights, or the fewest weights."""
    within = [p for p in path if p["weights"] <= most]
    return min(within or path, key=lambda p: (p["validation"] if within else 0.0, p["weights"]))


def fewest(path: list[dict[str, Any]], limit: float) -> dict[str, Any]:
    """The fewest weights among those with at most this validation error, or the lowest error."""
    within = [p for p in path if p["validation"] <= limit]
    return min(within, key=lambda p: p["weights"]) if within else lowest(path)


#: How one penalty is chosen from the paths of a fold: a rule for VCRF, given that of the L1-CRF.
RULES = {
    "best": "the lowest validation error",
    "at most as many weights": "the lowest validation error among those with at most the L1-CRF's weights",
    "fewest weights": "the fewest weights among those not above the L1-CRF in validation error",
}


def choose(fold: dict[str, Any], rule: str) -> dict[str, dict[str, Any]]:
    """The penalty of every learner by a rule, from the validation part alone."""
    out = {kind: lowest(v["path"]) for kind, v in fold.items() if isinstance(v, dict)}
    path, l1 = fold["VCRF"]["path"], out["L1-CRF"]
    if rule == "at most as many weights":
        out["VCRF"] = lowest(path, l1["weights"])
    elif rule == "fewest weights":
        out["VCRF"] = fewest(path, l1["validation"])
    return out
