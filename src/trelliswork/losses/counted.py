"""Functions of a count, and losses given as weighted automata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged
from trelliswork._validate import as_number
from trelliswork.losses.automata import MAX_STATES, LossAutomaton, WeightedAutomaton
from trelliswork.losses.base import Loss
from trelliswork.structures.base import Batch

__all__ = ["Counted", "Rational"]


class Counted(Loss):
    """A function of the value of another loss, such as the square root of the number of errors.

    Parameters
    ----------
    base : Loss
        A loss with few different values, such as ``Hamming()`` or ``NGrams(2)``: the running total
        becomes part of the state of the automaton.
    function : callable
        ``function(value, value_of_the_truth)``, the values of ``base`` for a prediction and for the
        true output.

    Examples
    --------
    >>> import math
    >>> from trelliswork.losses import Counted, Hamming, NGrams
    >>> root = Counted(Hamming(), lambda errors, _: math.sqrt(errors))
    >>> root(list("abcd"), list("xyzw"))
    2.0
    >>> def surprise(value, best):  # -log((1 + matches) / (1 + all)), matches = -value
    ...     return -math.log((1 - value) / (1 - best))
    >>> Counted(NGrams(2, c=0), surprise)(list("abc"), list("abc"))
    -0.0
    """

    def __init__(self, base: Loss, function: Callable[[float, float], float]):
        self.base = base
        self.function = function

    @property
    def compares(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """What the base compares."""
        return self.base.compares

    def _of(self, value: float, truth: float) -> float:
        return as_number(f"Counted: the function of {value:g}", self.function(value, truth))

    def _check(self) -> None:
        if not isinstance(self.base, Loss):
            raise InputError(f"Counted: base must be a Loss, such as Hamming(), got {self.base!r}")
        if not callable(self.function):
            raise InputError(
                f"Counted: function must be a function of two values of the base, got {self.function!r}"
            )

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """The function of the base loss."""
        self._check()
        return self._of(self.base(y_true, y_pred), self.base(y_true, y_true))

    def evaluate(self, batch: Batch, codes: Ragged) -> np.ndarray:
        """The function of the base loss, as the base counts on this structure."""
        self._check()
        values, truths = self.base.evaluate(batch, codes), self.base.evaluate(batch, batch.gold_codes)
        return np.array([self._of(*pair) for pair in zip(values.tolist(), truths.tolist(), strict=True)])

    def label_loss(self, true: Any, predicted: Any) -> float:
        """The function of the base loss of one label."""
        self._check()
        return self._of(self.base.label_loss(true, predicted), self.base.label_loss(true, true))

    def automaton(
        self,
        y_true: Sequence[Any],
        alphabet: Sequence[Any],
        length: int,
        *,
        fixed: bool = True,
        limit: int = MAX_STATES,
    ) -> LossAutomaton | None:
        """The automaton of the base with the running total in its states."""
        self._check()
        base = self.base.automaton(y_true, alphabet, length, fixed=fixed, limit=limit)
        if base is None:
            return None
        truth = self.base(y_true, y_true)
        what = f"{type(self).__name__}({self.base!r}); choose a base with fewer values"
        return base.of_total(lambda value: self._of(value, truth), what, limit)


class Rational(Loss):
    """A loss given as a weighted automaton for every true output.

    Parameters
    ----------
    build : callable
        ``build(y_true)`` returns a :class:`~trelliswork.losses.WeightedAutomaton` that reads
        predictions; the loss is the sum of the weights of a path.
    semiring : {"tropical", "log"} or None, default=None
        What several paths of one prediction mean: their least sum, or the log of the sum of their
        exponentials (the exponential of the loss is then a rational series). None refuses automata
        that are not deterministic; others are determinised.
    largest : float or None, default=None
        Upper bound on the loss, where one is asked for; None finds the largest of all outputs. A larger one
        makes bounds looser.

    Examples
    --------
    >>> from trelliswork.losses import Rational, WeightedAutomaton
    >>> def build(y_true):  # label N is missed or not; how often does not matter
    ...     arcs = [(0, "N", 1, 0.0), (0, None, 0, 0.0), (1, None, 1, 0.0), (1, "N", 1, 0.0)]
    ...     return WeightedAutomaton(arcs, 0, {0: float("N" in y_true), 1: float("N" not in y_true)})
    >>> Rational(build)(["D", "N"], ["D", "D"]), Rational(build)(["D", "N"], ["N", "N"])
    (1.0, 0.0)
    """

    compares = ("label", "label sequence", "list of parts")
    of_items = True

    def __init__(
        self,
        build: Callable[[Any], WeightedAutomaton],
        *,
        semiring: str | None = None,
        largest: float | None = None,
    ):
        self.build = build
        self.semiring = semiring
        self.largest = largest

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Weight of the prediction."""
        y = list(y_pred)
        alphabet = list(dict.fromkeys(y))
        return self.automaton(y_true, alphabet, len(y)).loss([alphabet.index(item) for item in y])

    def max_value(self, y_true: Any) -> float:
        """The given bound."""
        if self.largest is None:
            raise InputError(
                "Rational does not know its largest value without the outputs of a structure; pass "
                "Rational(..., largest=...)"
            )
        return as_number("Rational: largest", self.largest)

    def max_values(self, batch: Batch) -> np.ndarray:
        """The given bound, or the largest loss of any output."""
        return self._largest_of_all(batch) if self.largest is None else super().max_values(batch)

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
        """The user's automaton, determinised."""
        if self.semiring not in (None, "tropical", "log"):
            raise InputError(f"semiring must be 'tropical', 'log' or None, got {self.semiring!r}")
        if not callable(self.build):
            raise InputError(f"build must be a function of the true output, got {self.build!r}")
        built = self.build(y_true)
        if not isinstance(built, WeightedAutomaton):
            raise InputError(f"build must return a WeightedAutomaton, got {type(built).__name__}")
        return built.determinised(alphabet, length, self.semiring, what="Rational", fixed=fixed, limit=limit)
