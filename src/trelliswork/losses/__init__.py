"""Losses: how bad a prediction is, and what each of its parts costs."""

from __future__ import annotations

from collections.abc import Mapping as _Mapping
from typing import Any

from trelliswork._errors import InputError as _InputError
from trelliswork._registry import registered as _registered
from trelliswork.losses.automata import LossAutomaton as LossAutomaton
from trelliswork.losses.automata import WeightedAutomaton as WeightedAutomaton
from trelliswork.losses.base import Loss as Loss
from trelliswork.losses.base import losses_of as losses_of
from trelliswork.losses.base_pairs import BasePairs as BasePairs
from trelliswork.losses.brackets import BracketF1 as BracketF1
from trelliswork.losses.brackets import Brackets as Brackets
from trelliswork.losses.counted import Counted as Counted
from trelliswork.losses.counted import Rational as Rational
from trelliswork.losses.edit import Edit as Edit
from trelliswork.losses.f1 import F1 as F1
from trelliswork.losses.hamming import Hamming as Hamming
from trelliswork.losses.markovian import Markovian as Markovian
from trelliswork.losses.markovian import NGrams as NGrams
from trelliswork.losses.pairs import MissedPairs as MissedPairs
from trelliswork.losses.tree import Tree as Tree
from trelliswork.losses.zero_one import ZeroOne as ZeroOne

# Losses by the names that learners accept. A loss joins with its import above, if it has a name.
LOSSES: dict[str, type[Loss]] = _registered(globals(), Loss, lambda loss: loss.name)


def as_loss(loss: Any) -> Loss:
    """A loss from its name, from weights of labels, or from itself.

    ``"edit"`` is the distance with a cap; a dict gives the weight of an error on each true label.

    Parameters
    ----------
    loss : str, mapping or Loss
        A name, such as ``"hamming"``; weights by label; or a loss, which is returned as it is.

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
    if isinstance(loss, _Mapping):
        return Hamming(label_weight=loss)
    raise _InputError(
        f"loss must be one of {', '.join(map(repr, LOSSES))}, a dict of label weights or a Loss, got {loss!r}"
    )
