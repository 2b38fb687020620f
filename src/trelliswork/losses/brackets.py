"""Losses of parse trees: brackets that differ, and their F1."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from trelliswork._trees import as_node, brackets, normalized
from trelliswork.losses.base import Loss, PartCosts
from trelliswork.losses.f1 import F1
from trelliswork.structures.base import Batch
from trelliswork.structures.grammar.batch import GrammarBatch

__all__ = ["BracketF1", "Brackets"]


def _spans(tree: Any, tagged: bool) -> Counter[Any]:
    node = None if tree is None else normalized(as_node(tree))
    return Counter() if node is None else Counter(brackets(node, tagged=tagged))


class Brackets(Loss):
    """Number of labelled brackets that only one of two trees has; tags count too.

    Unlike :class:`Hamming`, which on trees counts only wrong brackets of the prediction, it also
    counts brackets that the prediction misses.

    Examples
    --------
    >>> from trelliswork.losses import Brackets
    >>> Brackets()("(S (NP (D the) (N cat)) (V sat))", "(S (D the) (VP (N cat) (V sat)))")
    2.0
    """

    name = "brackets"
    compares = ("parse tree",)

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Brackets and tags of either tree that the other lacks."""
        true, predicted = _spans(y_true, True), _spans(y_pred, True)
        return float((true - predicted).total() + (predicted - true).total())

    def max_value(self, y_true: Any) -> float:
        """No bound is known: other trees may have any number of unary phrases."""
        return np.inf

    def part_costs(self, batch: Batch) -> PartCosts | None:
        """Cost 1 per wrong bracket, -1 per right one, and the number of true brackets."""
        return batch.bracket_costs() if isinstance(batch, GrammarBatch) else None


class BracketF1(F1):
    """``1 - F1`` of labelled brackets, the root included, tags not.

    The support vector machine finds its most violated trees exactly, from the best score for
    every number of predicted and of right brackets.

    Examples
    --------
    >>> from trelliswork.losses import BracketF1
    >>> BracketF1()("(S (NP (D the) (N cat)) (V sat))", "(S (D the) (VP (N cat) (V sat)))")
    0.5
    """

    name = "bracket-f1"
    compares = ("parse tree",)

    def __init__(self) -> None:
        super().__init__()

    def _parts(self, y: Any) -> Counter[Any]:
        return Counter(y) if isinstance(y, list) else _spans(y, False)  # brackets of a batch, or a tree
