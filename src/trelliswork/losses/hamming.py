"""Hamming loss: the number of labels that are wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.losses.automata import MAX_STATES, LossAutomaton, unfold
from trelliswork.losses.base import Loss, PartCosts, check_label_weight, is_label, symbols_of
from trelliswork.structures.base import Batch

__all__ = ["Hamming"]


class Hamming(Loss):
    """Number of wrong labels.

    Of outputs that are collections of parts (segments, brackets, pairs: tuples), the number of
    predicted parts that the true output lacks.

    Parameters
    ----------
    normalized : bool, default=False
        Divide by the length of the true output.
    label_weight : dict or None, default=None
        What an error on each true label counts; labels that are not in the dict count 1.

    Notes
    -----
    Learners ask the structure what is wrong with an output (``Batch.mismatch``): of an alignment the true
    pairs of residues that it misses, of an RNA structure the pairs that it misses and its wrong pairs, of a
    parse tree its wrong brackets and tags, of a retrieval the candidate. Called directly, the loss cannot
    compare such outputs; :meth:`between` compares them as learners do.

    Examples
    --------
    >>> from trelliswork.losses import Hamming
    >>> Hamming()(["D", "N", "V"], ["D", "V", "N"])
    2.0
    >>> Hamming(normalized=True, label_weight={"V": 4.0})(["D", "V"], ["D", "N"])
    2.0
    >>> Hamming()([(0, 2), (2, 3)], [(2, 3), (3, 4)])
    1.0
    """

    name = "hamming"

    def __init__(self, normalized: bool = False, label_weight: Mapping[Any, float] | None = None):
        self.normalized = normalized
        self.label_weight = label_weight

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Sum (or mean) over the places, or the parts, that differ."""
        if is_label(y_true):
            return self.label_loss(y_true, y_pred)
        _check_readable(y_true, y_pred)
        parts = any(isinstance(item, tuple) for item in (*y_true, *y_pred))
        if len(y_true) == len(y_pred) and not parts:
            total = sum(self._weight(a) for a, b in zip(y_true, y_pred, strict=True) if a != b)
        else:
            present = set(y_true)
            total = sum(self._weight(b) for b in y_pred if b not in present)
        return float(total) / max(len(y_true), 1) if self.normalized else float(total)

    def label_loss(self, true: Any, predicted: Any) -> float:
        """Weight of the true label if the predicted one differs."""
        return self._weight(true) if true != predicted else 0.0

    def _weight(self, label: Any) -> float:
        return 1.0 if self.label_weight is None else float(self.label_weight.get(label, 1.0))

    def max_value(self, y_true: Any) -> float:
        """Every label wrong (no bound for collections of parts: an output may have more of them)."""
        if is_label(y_true):
            return self._weight(y_true)
        _check_readable(y_true)
        if any(isinstance(item, tuple) for item in y_true):
            return np.inf
        total = sum(self._weight(label) for label in y_true)
        return total / max(len(y_true), 1) if self.normalized else total

    def max_values(self, batch: Batch) -> np.ndarray:
        """The largest loss of all outputs of every sample, by search."""
        costs, constant = self.part_costs(batch)
        return batch.argmax(batch.scores(np.zeros(batch.n_features)), costs).values + constant

    def part_costs(self, batch: Batch) -> PartCosts:
        """Cost 1, or the weight of the true label, per wrong part."""
        check_label_weight(self.label_weight)
        costs, constant = batch.mismatch(self.label_weight)
        if not self.normalized or batch.one_label:
            return costs, constant
        factors = self.units(batch)
        return batch.scale(costs, factors), constant * factors

    def units(self, batch: Batch) -> np.ndarray:
        """1, or 1 over the length of the true output."""
        if not self.normalized or batch.one_label:
            return super().units(batch)
        return 1.0 / np.maximum(batch.gold_sizes(), 1.0)

    def automaton(
        self,
        y_true: Sequence[Any],
        alphabet: Sequence[Any],
        length: int,
        *,
        fixed: bool = True,
        limit: int = MAX_STATES,
    ) -> LossAutomaton:
        """One state per position (of use inside other losses: this one decomposes)."""
        symbol, names = symbols_of(alphabet if self.label_weight and not fixed else y_true, alphabet)
        share = max(len(y_true), 1) if self.normalized else 1

        def cost(name: tuple[Any, ...], t: int) -> float:
            if fixed:
                return 0.0 if name == (y_true[t],) else self._weight(y_true[t]) / share
            return 0.0 if name and name[0] in y_true else self._weight(name[0] if name else None) / share

        return unfold(
            0,
            lambda state, t: [(0, cost(name, t)) for name in names],
            lambda state, t: 0.0,
            length,
            symbol,
            what="Hamming()",
            limit=limit,
        )


def _check_readable(*outputs: Any) -> None:
    for y in outputs:
        if not isinstance(y, Iterable):
            raise InputError(
                f"Hamming compares labels and collections of parts, not {type(y).__name__}; "
                "Hamming().between(space, X, y_true, y_pred) compares outputs as their structure does"
            )
