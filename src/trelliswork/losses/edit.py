"""Edit distance between two outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import offsets_of
from trelliswork._validate import as_number
from trelliswork.losses.automata import MAX_STATES, LossAutomaton, too_many
from trelliswork.losses.base import Loss
from trelliswork.structures.base import Batch

__all__ = ["Edit"]


class Edit(Loss):
    """Least total cost of insertions, deletions and substitutions (Levenshtein).

    Parameters
    ----------
    normalized : bool, default=False
        Divide by the length of the longer output.
    cap : float or None, default=None
        Distances of more than ``cap + 1`` count ``cap + 1``. The automaton of the loss then stays
        small; without a cap it grows with about 2.3 to the power of the length. The name ``"edit"``,
        given to a learner, is ``Edit(cap=3)``.
    insertion, deletion : float, default=1.0
        Cost of an item that the true output lacks, and of one that only the true output has. The larger, the
        worse such a mistake.
    substitution : float or dict, default=1.0
        Cost of one item for another; a dict from (true, predicted) pairs to costs, 1 for others. The larger,
        the worse such a mistake.

    Notes
    -----
    ``max_values`` is finite for outputs of one length (label sequences), with ``cap`` and with
    ``normalized=True``. The loss does not decompose over parts; its automaton (states are columns
    of the distance table) makes it exact in ``VotedCRF``, ``StructBoost`` and ``StructuredSVM``, on
    chains and derivations.

    Examples
    --------
    >>> from trelliswork.losses import Edit
    >>> Edit()("kitten", "sitting"), Edit(normalized=True)(["A", "B"], ["B"])
    (3.0, 0.5)
    >>> Edit(cap=1)("kitten", "sitting"), Edit(substitution={("a", "b"): 0.25})("a", "b")
    (2.0, 0.25)
    """

    name = "edit"
    compares = ("label", "label sequence", "list of parts")
    of_items = True

    @classmethod
    def by_name(cls) -> Edit:
        """The distance with a cap: the automaton of the uncapped one is too large for sentences."""
        return cls(cap=3)

    def __init__(
        self,
        normalized: bool = False,
        *,
        cap: float | None = None,
        insertion: float = 1.0,
        deletion: float = 1.0,
        substitution: float | Mapping[tuple[Any, Any], float] = 1.0,
    ):
        self.normalized = normalized
        self.cap = cap
        self.insertion = insertion
        self.deletion = deletion
        self.substitution = substitution

    def _check(self) -> None:
        table = self.substitution
        if isinstance(table, Mapping):
            for key in table:
                if not isinstance(key, tuple) or len(key) != 2:
                    raise InputError(f"substitution: {key!r} is not a pair (true, predicted) of items")
        prices = list(table.values()) if isinstance(table, Mapping) else [table]
        named = [("insertion", self.insertion), ("deletion", self.deletion)]
        for name, value in named + [("substitution", price) for price in prices]:
            if as_number(f"Edit: {name}", value) <= 0:
                raise InputError(
                    f"{name} must cost a finite number > 0, got {value!r}: outputs that differ must not have "
                    "loss 0"
                )
        if self.cap is not None and as_number("Edit: cap", self.cap) < 0:
            raise InputError(f"cap must be a number >= 0 or None, got {self.cap!r}")

    def _price(self, true: Any, predicted: Any) -> float:
        if true == predicted:
            return 0.0
        if isinstance(self.substitution, Mapping):
            return float(self.substitution.get((true, predicted), 1.0))
        return float(self.substitution)

    @property
    def _top(self) -> float:
        return np.inf if self.cap is None else float(self.cap) + 1.0

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Distance of one pair."""
        self._check()
        a, b = list(y_true), list(y_pred)
        column = self._first(len(a))[None]
        for item in b:
            column = self._next(column, np.array([self._price(other, item) for other in a]))
        distance = float(min(column[0, -1], self._top))
        return distance / max(len(a), len(b), 1) if self.normalized else distance

    def _first(self, n: int) -> np.ndarray:
        return np.minimum(np.arange(n + 1) * self.deletion, self._top)

    def _next(self, columns: np.ndarray, price: np.ndarray) -> np.ndarray:
        """Columns of the distance table after one more item of the output, shape (n_columns, n + 1)."""
        best = columns + self.insertion
        np.minimum(best[:, 1:], columns[:, :-1] + price, out=best[:, 1:])
        # A deletion costs the same per step to the right: a running minimum of best - steps.
        steps = np.arange(columns.shape[1]) * self.deletion
        return np.minimum(np.minimum.accumulate(best - steps, axis=1) + steps, self._top)

    def label_loss(self, true: Any, predicted: Any) -> float:
        """Of two sequences of one label."""
        return self([true], [predicted])

    def max_value(self, y_true: Any) -> float:
        """Dearest change per item where normalized, else the cap or infinity: any length may be."""
        self._check()
        if not self.normalized:
            return self._top
        dearest = max(self._dearest, float(self.insertion), float(self.deletion))
        return min(dearest, self._top / max(len(y_true), 1))

    def max_values(self, batch: Batch) -> np.ndarray:
        """The same; where all outputs have one length at most that length times the dearest change."""
        if batch.one_label or not batch.fixed_length:
            return super().max_values(batch)
        self._check()
        lengths = np.array([float(len(y)) for y in batch.unpack(batch.gold_codes)])
        total = np.minimum(lengths * self._dearest, self._top)
        return total / np.maximum(lengths, 1.0) if self.normalized else total

    @property
    def _dearest(self) -> float:
        """Highest price of replacing one item by another."""
        table = self.substitution
        price = max([1.0, *table.values()]) if isinstance(table, Mapping) else float(table)
        return float(min(price, self.insertion + self.deletion))

    def automaton(
        self,
        y_true: Sequence[Any],
        alphabet: Sequence[Any],
        length: int,
        *,
        fixed: bool = True,
        limit: int = MAX_STATES,
    ) -> LossAutomaton:
        """Automaton whose states are columns of the distance table."""
        self._check()
        prices, symbols = np.unique(
            np.array([[self._price(a, b) for a in y_true] for b in alphabet]).reshape(len(alphabet), -1),
            axis=0,
            return_inverse=True,
        )
        n_symbols = prices.shape[0]
        columns = self._first(len(y_true))[None]
        sizes, finals, steps, base = [], [], [], 0
        for t in range(length + 1):
            sizes.append(columns.shape[0])
            base += columns.shape[0]
            if base > limit:
                name = repr(self)
                remedy = "use Edit(cap=3)" if self.cap is None else "lower the cap"
                raise too_many(f"{name}; {remedy}", base, t, length, limit)
            divisor = max(len(y_true), t, 1) if self.normalized else 1
            finals.append(np.minimum(columns[:, -1], self._top) / divisor)
            if t == length:
                steps.append(np.full((columns.shape[0], n_symbols), -1))
                break
            after = np.stack([self._next(columns, price) for price in prices], axis=1)
            # Sums in another order must not make two states of one.
            flat = np.round(after.reshape(-1, columns.shape[1]), 10)
            if fixed:
                # What cannot come back below the cap in the symbols that are left counts as lost.
                left = (length - t - 1) - (len(y_true) - np.arange(columns.shape[1]))
                rest = np.where(left > 0, left * self.insertion, -left * self.deletion)
                flat[flat + rest >= self._top] = self._top
            columns, target = np.unique(flat, axis=0, return_inverse=True)
            steps.append(base + target.reshape(-1, n_symbols))
        step = np.concatenate(steps).astype(np.int64)
        symbol = np.asarray(symbols, dtype=np.int64).ravel()
        return LossAutomaton(offsets_of(sizes), symbol, step, np.zeros(step.shape), np.concatenate(finals))
