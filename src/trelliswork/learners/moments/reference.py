"""The generative model as the law under which moments are taken."""

from __future__ import annotations

import numpy as np

from trelliswork.losses import Loss
from trelliswork.losses.base import PartCosts
from trelliswork.structures.abilities import ReferenceLaw
from trelliswork.structures.base import Batch, Parts, Space

__all__ = ["TotalMargin", "reference_scores", "reference_weights"]


def reference_weights(batch: Batch, smoothing: float, weights: np.ndarray | None) -> np.ndarray:
    """Generative weights for use as a reference law."""
    if isinstance(batch, ReferenceLaw):
        return batch.reference_weights(smoothing, weights)
    return batch.generative_weights(smoothing, weights)


def reference_scores(batch: Batch, w: np.ndarray) -> Parts:
    """Part scores of :func:`reference_weights`."""
    return batch.reference_scores(w) if isinstance(batch, ReferenceLaw) else batch.scores(w)


class TotalMargin(Loss):
    """Margin that is left to be gained where the reference has a part of it already.

    A learner that asks its weights for margins equal to this asks the scores of the whole model, those of
    the reference included, for margins of ``scale`` times a loss.

    Parameters
    ----------
    loss : Loss
        A sum over parts.
    scale : float
        Margin per unit of the loss.
    weights : ndarray
        Weights of the reference.
    """

    def __init__(self, loss: Loss, scale: float, weights: np.ndarray):
        self.loss, self.scale, self.weights = loss, scale, weights

    def __repr__(self) -> str:
        return repr(self.loss)

    def check(self, space: Space) -> None:
        """What the loss checks."""
        self.loss.check(space)

    def part_costs(self, batch: Batch) -> PartCosts | None:
        """Costs of the loss, times the scale, less how far the reference is ahead."""
        found = self.loss.part_costs(batch)
        if found is None:
            return None
        costs, constant = found
        scores = reference_scores(batch, self.weights)
        return costs * self.scale + scores, constant * self.scale - batch.evaluate(batch.gold_codes, scores)
