"""The bound for models that make no error on their training data."""

from __future__ import annotations

import math

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork.bounds._base import Bound, check_delta

__all__ = ["pac"]


@readable
def pac(n_features: int, n_samples: int, delta: float = 0.05, *, largest: int = 1) -> Bound:
    """Bound on the share of wrong outputs of a model that makes no error on its training data.

    Parameters
    ----------
    n_features : int
        Number of features, at least 3.
    n_samples : int
        Number of training samples.
    delta : float, default=0.05
        One minus the confidence.
    largest : int, default=1
        Features are whole numbers from 0 to ``largest``.

    Examples
    --------
    >>> from trelliswork import bounds
    >>> bounds.pac(50, 1000).vacuous, bounds.pac(50, 100_000).vacuous
    (True, False)
    """
    check_delta(delta)
    for name, value, least in (
        ("n_features", n_features, 3),
        ("n_samples", n_samples, 1),
        ("largest", largest, 1),
    ):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"pac: {name} must be a whole number of at least {least}, got {value!r}")
    d = int(n_features)
    fewer = (d - 2) * math.log(d - 2) if d > 2 else 0.0
    complexity = (d * d * math.log(2 * largest) - fewer + d) / n_samples
    confidence = -math.log(delta) / n_samples
    parts = {"n_features": d, "n_samples": n_samples, "delta": delta, "largest": largest}
    return Bound(complexity + confidence, 0.0, complexity, confidence, 1.0, parts)
