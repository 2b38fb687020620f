"""Losses that are sums over short stretches of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._validate import as_number
from trelliswork.losses.automata import MAX_STATES, LossAutomaton, unfold
from trelliswork.losses.base import Loss, symbols_of

__all__ = ["Markovian", "NGrams"]


def _check_n(n: Any) -> None:
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise InputError(f"n must be a whole number of at least 1, got {n!r}")


class Markovian(Loss):
    """Sum over positions of a cost of the last ``n`` labels.

    Parameters
    ----------
    cost : callable
        ``cost(y_true, t, labels)`` for the tuple of the (up to ``n``) labels that end at position
        ``t`` of a prediction; not negative, 0 where the prediction is right.
    n : int, default=2
        Number of labels that a cost sees. Each further one multiplies the work by the number of labels.

    Examples
    --------
    >>> from trelliswork.losses import Markovian
    >>> def changes(y_true, t, labels):  # boundaries between labels that are not there, or are missed
    ...     return float(t > 0 and (labels[-2] != labels[-1]) != (y_true[t - 1] != y_true[t]))
    >>> Markovian(changes)(list("aabb"), list("bbba"))
    2.0
    """

    compares = ("label", "label sequence", "list of parts")
    of_items = True

    def __init__(self, cost: Callable[[Any, int, tuple[Any, ...]], float], n: int = 2):
        self.cost = cost
        self.n = n

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Sum over the positions of the prediction."""
        self._check()
        y = list(y_pred)
        return float(
            sum(self._cost(y_true, t, tuple(y[max(0, t + 1 - self.n) : t + 1])) for t in range(len(y)))
        )

    def _check(self) -> None:
        _check_n(self.n)
        if not callable(self.cost):
            raise InputError(f"Markovian: cost must be a function cost(y_true, t, labels), got {self.cost!r}")

    def _cost(self, y_true: Any, t: int, labels: tuple[Any, ...]) -> float:
        given = self.cost(y_true, t, labels)
        try:
            value = float(given)
        except (TypeError, ValueError):
            value = np.nan
        if not np.isfinite(value):
            raise InputError(
                f"Markovian: the cost of {labels!r} at position {t} is {given!r}; it must be a finite number"
            )
        return value

    def label_loss(self, true: Any, predicted: Any) -> float:
        """Of two sequences of one label."""
        return self([true], [predicted])

    def automaton(
        self,
        y_true: Sequence[Any],
        alphabet: Sequence[Any],
        length: int,
        *,
        fixed: bool = True,
        limit: int = MAX_STATES,
    ) -> LossAutomaton:
        """States are the last ``n - 1`` labels."""
        self._check()
        keep = self.n - 1

        def expand(last: tuple[Any, ...], t: int) -> list[tuple[tuple[Any, ...], float]]:
            grams = [(*last, b) for b in alphabet]
            return [(g[max(0, len(g) - keep) :] if keep else (), self._cost(y_true, t, g)) for g in grams]

        what = f"Markovian(n={self.n}); lower n"
        symbol = np.arange(len(alphabet))
        return unfold((), expand, lambda last, t: 0.0, length, symbol, what=what, limit=limit)


class NGrams(Loss):
    """``c`` minus the inner product of the n-gram counts of two outputs.

    Parameters
    ----------
    n : int, default=2
        Length of the n-grams. Each further symbol multiplies the work by the number of labels.
    c : float or None, default=None
        The constant; None takes the value that makes the loss of the true output 0. Larger values add to the
        loss of all outputs alike.

    Notes
    -----
    Outputs with the same counts have the same loss: the loss is 0 for outputs that differ, and
    negative for outputs with more of the frequent n-grams, unless ``c`` is large. Outputs shorter
    than ``n`` have no n-grams, and all the same loss.

    Examples
    --------
    >>> from trelliswork.losses import NGrams
    >>> NGrams(2)(list("abab"), list("abab")), NGrams(2)(list("abab"), list("aabb"))
    (0.0, 3.0)
    """

    compares = ("label", "label sequence", "list of parts")
    of_items = True

    def __init__(self, n: int = 2, *, c: float | None = None):
        self.n = n
        self.c = c

    def _counts(self, y: Any) -> Counter[tuple[Any, ...]]:
        _check_n(self.n)
        y = list(y)
        return Counter(tuple(y[i : i + self.n]) for i in range(len(y) - self.n + 1))

    def _constant(self, counts: Counter[tuple[Any, ...]]) -> float:
        if self.c is not None:
            return as_number("NGrams: c", self.c)
        return float(sum(v * v for v in counts.values()))

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Constant minus the inner product."""
        true, predicted = self._counts(y_true), self._counts(y_pred)
        return self._constant(true) - float(sum(v * predicted[g] for g, v in true.items()))

    def label_loss(self, true: Any, predicted: Any) -> float:
        """Of two sequences of one label."""
        return self([true], [predicted])

    def max_value(self, y_true: Any) -> float:
        """The constant."""
        return self._constant(self._counts(y_true))

    def automaton(
        self,
        y_true: Sequence[Any],
        alphabet: Sequence[Any],
        length: int,
        *,
        fixed: bool = True,
        limit: int = MAX_STATES,
    ) -> LossAutomaton:
        """States are the beginnings of n-grams of the true output that a prediction is in."""
        counts = self._counts(y_true)
        prefixes = {gram[:i] for gram in counts for i in range(self.n)} | {()}
        symbol, names = symbols_of(y_true, alphabet)

        def expand(last: tuple[Any, ...], t: int) -> list[tuple[tuple[Any, ...], float]]:
            out = []
            for name in names:
                gram = (*last, *name) if name else ()
                value = -float(counts[gram]) if len(gram) == self.n else 0.0
                gram = gram[max(0, len(gram) - self.n + 1) :] if self.n > 1 else ()
                while gram not in prefixes:
                    gram = gram[1:]
                out.append((gram, value))
            return out

        constant = self._constant(counts)
        what = f"NGrams({self.n}); lower n"
        return unfold((), expand, lambda last, t: constant, length, symbol, what=what, limit=limit)
