"""Loss of RNA structures: the number of base pairs that differ."""

from __future__ import annotations

from typing import Any

from trelliswork._dotbracket import base_pairs
from trelliswork.losses.base import Loss, PartCosts
from trelliswork.structures.base import Batch

__all__ = ["BasePairs"]


class BasePairs(Loss):
    """Number of base pairs that only one of two RNA structures has.

    Examples
    --------
    >>> from trelliswork.losses import BasePairs
    >>> BasePairs()("(((...)))", "((.....))"), BasePairs()("((...)).", ".((...))")
    (1.0, 4.0)
    """

    name = "base-pairs"
    compares = ("RNA structure",)

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Pairs missed plus pairs too many."""
        return float(len(set(base_pairs(y_true)) ^ set(base_pairs(y_pred))))

    def max_value(self, y_true: Any) -> float:
        """Every true pair missed, and every other base in a wrong pair."""
        return len(base_pairs(y_true)) + len(y_true) // 2

    def part_costs(self, batch: Batch) -> PartCosts:
        """Cost 1 per pair missed or too many."""
        return batch.mismatch()
