"""Weights of samples in scores."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["checked_weights"]


def checked_weights(sample_weight: Any, n: int) -> np.ndarray:
    """Weights of ``n`` samples, 1 by default; refuses what learners refuse."""
    from trelliswork.learners.base import check_weights

    weights = check_weights(sample_weight, n)
    return np.ones(n) if weights is None else weights
