"""Losses of the numbers of right and of predicted parts, as F1 is, searched exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trelliswork._ragged import Ragged
from trelliswork.structures.base import Batch, Parts

__all__ = ["OverlapTable"]


class OverlapTable:
    """Best score by the loss, for batches that have tables of right and predicted parts.

    Parameters
    ----------
    batch : Batch
        With ``overlap_profile`` and ``argmax_at_overlap``.
    loss : callable
        Loss of numbers of true, predicted and right parts.
    """

    def __init__(self, batch: Batch, loss: Callable[[int, np.ndarray, np.ndarray], np.ndarray]):
        self.batch, self.loss = batch, loss
        self.losses = np.zeros((len(batch), 0))
        self._columns = np.ones(len(batch), dtype=np.int64)

    def best(self, scores: Parts) -> np.ndarray:
        """Best score for every pair of numbers; rows are filled up with -inf."""
        tables = self.batch.overlap_profile(scores)
        shape = len(tables), max((table.size for table in tables), default=0)
        best, self.losses = np.full(shape, -np.inf), np.zeros(shape)
        for i, table in enumerate(tables):
            right, predicted = np.divmod(np.arange(table.size), table.shape[1])
            best[i, : table.size] = table.ravel()
            self.losses[i, : table.size] = self.loss(table.shape[0] - 1, predicted, right)
            self._columns[i] = table.shape[1]
        return best

    def outputs(self, scores: Parts, column: np.ndarray) -> Ragged:
        """Codes of the best output of every sample in the given column of :meth:`best`."""
        right, predicted = np.divmod(column, self._columns)
        return self.batch.argmax_at_overlap(scores, right, predicted).codes
