"""Loss of alignments: the share of the true pairs of residues that are missed."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork.losses.base import Loss, PartCosts
from trelliswork.structures.alignment.columns import accuracy
from trelliswork.structures.base import Batch

__all__ = ["MissedPairs"]


class MissedPairs(Loss):
    """Share of the pairs of residues of the true alignment that the predicted one lacks.

    Parameters
    ----------
    core : {"all", "upper"}, default="all"
        Which true pairs count where alignments are compared as they are; a learner uses ``core`` of
        its :class:`~trelliswork.Alignment`.
    gap : str, default="-"
        Gap symbol where alignments are compared as they are; a learner uses ``gap`` of its ``Alignment``.

    Examples
    --------
    >>> from trelliswork.losses import MissedPairs
    >>> MissedPairs()(("GATTA", "GA-TA"), ("GATTA", "GAT-A"))
    0.25
    """

    name = "pairs"
    compares = ("alignment",)

    def __init__(self, core: str = "all", gap: str = "-"):
        self.core = core
        self.gap = gap

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Loss of one predicted alignment."""
        return 1.0 - accuracy(y_true, y_pred, self.gap, self.core)

    def max_value(self, y_true: Any) -> float:
        """1."""
        return 1.0

    def part_costs(self, batch: Batch) -> PartCosts:
        """The same share of the loss for every true pair."""
        costs, constant = batch.mismatch()
        return batch.scale(costs, self.units(batch)), constant

    def units(self, batch: Batch) -> np.ndarray:
        """1 over the number of true pairs that count."""
        return 1.0 / np.maximum(batch.gold_sizes(), 1.0)
