"""Edit distance between two outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork.losses.base import Loss
from trelliswork.structures.base import Batch

__all__ = ["Edit"]


class Edit(Loss):
    """Least number of insertions, deletions and substitutions (Levenshtein).

    Parameters
    ----------
    normalized : bool, default=False
        Divide by the length of the longer output.

    Notes
    -----
    The loss does not decompose: the support vector machine searches k-best lists, which end
    early only where the loss has a bound. That is the case for outputs of one length (label
    sequences) and for ``normalized=True``.

    Examples
    --------
    >>> from trelliswork.losses import Edit
    >>> Edit()("kitten", "sitting"), Edit(normalized=True)(["A", "B"], ["B"])
    (3.0, 0.5)
    """

    def __init__(self, normalized: bool = False):
        self.normalized = normalized

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Distance of one pair."""
        a, b = list(y_true), list(y_pred)
        column = np.arange(len(b) + 1)
        for item in a:
            substituted = column[:-1] + np.array([item != other for other in b], dtype=np.int64)
            best = np.concatenate([[column[0] + 1], np.minimum(substituted, column[1:] + 1)])
            # An insertion costs 1 per step to the right: a running minimum of best - position.
            steps = np.arange(best.size)
            column = np.minimum.accumulate(best - steps) + steps
        distance = float(column[-1])
        return distance / max(len(a), len(b), 1) if self.normalized else distance

    def max_value(self, y_true: Any) -> float:
        """1, or infinity: another output may be of any length."""
        return 1.0 if self.normalized else np.inf

    def max_values(self, batch: Batch) -> np.ndarray:
        """1, or the length of the true output where all outputs have that length."""
        if self.normalized or not batch.fixed_length:
            return super().max_values(batch)
        return np.array([float(len(y)) for y in batch.unpack(batch.gold_codes)])
