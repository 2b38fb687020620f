"""Bounds from the number of different predictors of linear models with whole features."""

from __future__ import annotations

import math

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._validate import check_number
from trelliswork.bounds._base import Bound, check_delta

__all__ = ["pac"]


@readable
def pac(
    n_features: int, n_samples: int, delta: float = 0.05, *, largest: int = 1, error: float | None = None
) -> Bound:
    """Bound on the share of wrong outputs of a model.

    Linear models with whole features make finitely many different predictors. For one that makes no error
    on its training data the risk is at most the log of their number over ``delta``, divided by the number of
    samples; for any other (``error``) the root of half of that is added to the training error (Hoeffding's
    inequality for each of them).

    Parameters
    ----------
    n_features : int
        Number of features, at least 3.
    n_samples : int
        Number of training samples. More make the bound smaller.
    delta : float, default=0.05
        One minus the confidence. Smaller values are surer and make the bound larger.
    largest : int, default=1
        Features are whole numbers from 0 to ``largest``. The larger, the larger the bound.
    error : float or None, default=None
        Share of wrong outputs on the training data; None for a model that makes no error, whose bound is
        tighter than that of ``error=0.0``. The bound grows with it.

    Examples
    --------
    >>> from trelliswork import bounds
    >>> bounds.pac(50, 1000).vacuous, bounds.pac(50, 100_000).vacuous
    (True, False)
    >>> round(bounds.pac(10, 100_000, error=0.05).value, 3)
    0.068
    """
    check_delta(delta)
    for name, value, least in (
        ("n_features", n_features, 3),
        ("n_samples", n_samples, 1),
        ("largest", largest, 1),
    ):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"pac: {name} must be a whole number of at least {least}, got {value!r}")
    if error is not None:
        check_number("pac: error", error, 0)
        if error > 1:
            raise InputError(f"pac: error is a share of outputs, at most 1, got {error!r}")
    d = int(n_features)
    fewer = (d - 2) * math.log(d - 2) if d > 2 else 0.0
    log_number = d * d * math.log(2 * largest) - fewer + d
    parts = {"n_features": d, "n_samples": n_samples, "delta": delta, "largest": largest}
    if error is None:
        complexity, confidence = log_number / n_samples, -math.log(delta) / n_samples
        return Bound(complexity + confidence, 0.0, complexity, confidence, 1.0, parts)
    total = math.sqrt((log_number - math.log(delta)) / (2 * n_samples))
    complexity = math.sqrt(log_number / (2 * n_samples))
    return Bound(error + total, error, complexity, total - complexity, 1.0, parts)
