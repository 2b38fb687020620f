"""Tree loss: how far up a taxonomy two classes first meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.losses.base import Loss, PartCosts, is_label
from trelliswork.structures.abilities import Labelled, require
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.classes.taxonomy import Taxonomy

__all__ = ["Tree"]


class Tree(Loss):
    """Height of the first common ancestor of two classes (a leaf has height 0).

    Parameters
    ----------
    taxonomy : pairs, dict, graph, path or None, default=None
        As in :class:`~trelliswork.Classes`; None takes the taxonomy of the structure.

    Examples
    --------
    >>> from trelliswork.losses import Tree
    >>> loss = Tree({"animal": {"cat": {}, "dog": {}}, "plant": {"oak": {}, "elm": {}}})
    >>> loss("cat", "dog"), loss("cat", "oak"), loss("cat", "cat")
    (1.0, 2.0, 0.0)
    """

    name = "tree"
    compares = ("label", "label sequence")

    def __init__(self, taxonomy: Any = None):
        self.taxonomy = taxonomy

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Height for two classes; the sum of heights for two sequences of classes."""
        tree = self._tree()
        if is_label(y_true):
            return tree.height_of_meeting(y_true, y_pred)
        return sum(tree.height_of_meeting(a, b) for a, b in zip(y_true, y_pred, strict=True))

    def label_loss(self, true: Any, predicted: Any) -> float:
        """Height of the first common ancestor."""
        return self._tree().height_of_meeting(true, predicted)

    def applies(self, space: Space | Structure) -> bool:
        """Whether outputs are labels, and there is a taxonomy."""
        return super().applies(space) and (self.taxonomy is not None or _taxonomy_of(space) is not None)

    def check(self, space: Space) -> None:
        """Refuse outputs that are no labels, and the lack of a taxonomy."""
        if super().applies(space) and not self.applies(space):
            self._tree()
        super().check(space)

    def _tree(self) -> Taxonomy:
        if self.taxonomy is None:
            raise InputError("Tree(taxonomy=None) needs a structure with a taxonomy; pass Tree(taxonomy)")
        return Taxonomy.read(self.taxonomy)

    def max_value(self, y_true: Any) -> float:
        """Height of the root, per label."""
        height = float(self._tree().height)
        return height if is_label(y_true) else height * len(y_true)

    def table(self, labels: Sequence[Any]) -> np.ndarray:
        """Losses of all pairs of labels."""
        return self._tree().meeting_heights(labels)

    def label_table(self, space: Space) -> np.ndarray:
        """Losses of all pairs of labels; by the taxonomy of the space where none was given."""
        if self.taxonomy is None and _taxonomy_of(space) is not None:
            return _taxonomy_of(space).meeting_heights(space.labels)  # type: ignore[attr-defined]
        return super().label_table(space)

    def part_costs(self, batch: Batch) -> PartCosts:
        """Height of the first common ancestor for every wrong label."""
        return require(batch, Labelled).label_costs(self.label_table(batch.space))


def _taxonomy_of(space: Space | Structure) -> Any:
    return getattr(space, "taxonomy", None)
