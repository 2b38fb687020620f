"""Losses: how bad a prediction is, and what each of its parts costs."""

from __future__ import annotations

from typing import Any

from trelliswork._errors import InputError
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

# Every loss is listed here once, under the name that learners accept.
LOSSES: dict[str, type[Loss]] = {
    "zero-one": ZeroOne,
    "hamming": Hamming,
    "f1": F1,
    "edit": Edit,
    "tree": Tree,
    "pairs": MissedPairs,
    "brackets": Brackets,
    "bracket-f1": BracketF1,
    "base-pairs": BasePairs,
}

# Parameters that a name stands for, where they are not those of the class. The automaton of the
# uncapped distance is too large for sentences.
_NAMED: dict[str, dict[str, Any]] = {"edit": {"cap": 3}}


def as_loss(loss: Any) -> Loss:
    """A loss from its name or from itself; ``"edit"`` is the distance with a cap.

    Examples
    --------
    >>> from trelliswork.losses import as_loss
    >>> as_loss("hamming"), as_loss("edit")
    (Hamming(), Edit(cap=3))
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss](**_NAMED.get(loss, {}))
    raise InputError(f"loss must be one of {', '.join(map(repr, LOSSES))} or a Loss, got {loss!r}")
