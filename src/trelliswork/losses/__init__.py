"""Losses: how bad a prediction is, and what each of its parts costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trelliswork._errors import InputError
from trelliswork._registry import registered
from trelliswork.losses.automata import LossAutomaton, WeightedAutomaton
from trelliswork.losses.base import Loss, losses_of
from trelliswork.losses.base_pairs import BasePairs
from trelliswork.losses.brackets import BracketF1, Brackets
from trelliswork.losses.counted import Counted, Rational
from trelliswork.losses.edit import Edit
from trelliswork.losses.f1 import F1
from trelliswork.losses.hamming import Hamming
from trelliswork.losses.markovian import Markovian, NGrams
from trelliswork.losses.pairs import MissedPairs
from trelliswork.losses.tree import Tree
from trelliswork.losses.zero_one import ZeroOne

__all__ = [
    "F1",
    "LOSSES",
    "BasePairs",
    "BracketF1",
    "Brackets",
    "Counted",
    "Edit",
    "Hamming",
    "Loss",
    "LossAutomaton",
    "Markovian",
    "MissedPairs",
    "NGrams",
    "Rational",
    "Tree",
    "WeightedAutomaton",
    "ZeroOne",
    "as_loss",
    "losses_of",
]

# Losses by the names that learners accept. A loss joins with its import above, if it has a name.
LOSSES: dict[str, type[Loss]] = registered(globals(), Loss, lambda loss: loss.name)


def as_loss(loss: Any) -> Loss:
    """A loss from its name, from weights of labels, or from itself.

    ``"edit"`` is the distance with a cap; a dict gives the weight of an error on each true label.

    Examples
    --------
    >>> from trelliswork.losses import as_loss
    >>> as_loss("hamming"), as_loss("edit"), as_loss({"N": 2.0})
    (Hamming(), Edit(cap=3), Hamming(label_weight={'N': 2.0}))
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss].by_name()
    if isinstance(loss, Mapping):
        return Hamming(label_weight=loss)
    raise InputError(
        f"loss must be one of {', '.join(map(repr, LOSSES))}, a dict of label weights or a Loss, got {loss!r}"
    )
