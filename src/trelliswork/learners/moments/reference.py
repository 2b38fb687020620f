"""The generative model as the law under which moments are taken."""

from __future__ import annotations

import numpy as np

from trelliswork.structures.abilities import ReferenceLaw
from trelliswork.structures.base import Batch, Parts

__all__ = ["reference_scores", "reference_weights"]


def reference_weights(batch: Batch, smoothing: float, weights: np.ndarray | None) -> np.ndarray:
    """Generative weights for use as a reference law."""
    if isinstance(batch, ReferenceLaw):
        return batch.reference_weights(smoothing, weights)
    return batch.generative_weights(smoothing, weights)


def reference_scores(batch: Batch, w: np.ndarray) -> Parts:
    """Part scores of :func:`reference_weights`."""
    return batch.reference_scores(w) if isinstance(batch, ReferenceLaw) else batch.scores(w)
