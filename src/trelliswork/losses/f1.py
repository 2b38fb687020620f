"""F1 loss: one minus the harmonic mean of precision and recall of the parts of an output."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from trelliswork._counts.entities import entity_spans
from trelliswork.losses.base import Loss, is_label

__all__ = ["F1"]


class F1(Loss):
    """``1 - 2 c / (p + r)``: ``c`` right, ``p`` predicted and ``r`` true parts.

    Parts are the items of an output (brackets, segments, pairs), whatever their order;
    an output with none equals another with none. The loss does not decompose over parts:
    the support vector machine searches k-best lists or, where the structure can count parts
    (brackets of parse trees, base pairs of RNA), tables of the best scores by ``c`` and ``p``.

    Parameters
    ----------
    entities : bool, default=False
        Outputs are label sequences (``B-PER I-PER O ...``) and their parts are the entities.

    Examples
    --------
    >>> from trelliswork.losses import F1
    >>> F1()([(0, 2), (2, 3)], [(0, 2), (1, 3)])
    0.5
    >>> F1(entities=True)(["B-PER", "I-PER", "O"], ["B-PER", "I-PER", "B-LOC"])
    0.33...
    """

    name = "f1"
    of_items = True

    def __init__(self, entities: bool = False):
        self.entities = entities

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Loss of one prediction."""
        true, predicted = self._parts(y_true), self._parts(y_pred)
        size = true.total() + predicted.total()
        return 1.0 - 2.0 * (true & predicted).total() / size if size else 0.0

    def label_loss(self, true: Any, predicted: Any) -> float:
        """Of two outputs with one part."""
        return self([true], [predicted])

    def _parts(self, y: Any) -> Counter[Any]:
        if self.entities:
            return Counter(entity_spans(y))
        return Counter([y] if is_label(y) else y)

    @property
    def compares(self) -> tuple[str, ...]:  # type: ignore[override]
        """Outputs that have parts; entities are parts of label sequences alone."""
        if self.entities:
            return ("label sequence",)
        return "label", "label sequence", "list of parts", "parse tree", "RNA structure", "alignment"

    @property
    def by_counts(self) -> bool:
        """Yes, unless the items are entities, which structures do not count."""
        return not self.entities

    def of_counts(self, true: int, predicted: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Loss of outputs with the given numbers of predicted and right parts.

        Parameters
        ----------
        true : int
            Number of true parts.
        predicted, right : ndarray
            Numbers of predicted parts, and of those that are right.
        """
        size = true + predicted
        return np.where(size > 0, np.maximum(1.0 - 2.0 * right / np.maximum(size, 1), 0.0), 0.0)

    def max_value(self, y_true: Any) -> float:
        """1."""
        return 1.0
