"""Losses as deterministic automata that read an output symbol by symbol.

A loss that does not decompose over the parts of a structure often does once a little memory
goes along: a column of the edit-distance table, a running count, the last labels. Such a
loss is a :class:`LossAutomaton`; the product of a structure's derivations with it, in which the
loss is additive again, is in :mod:`trelliswork.losses.inside`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import offsets_of
from trelliswork._validate import as_number

__all__ = ["MAX_STATES", "LossAutomaton", "TooManyStates", "WeightedAutomaton", "unfold"]

MAX_STATES = 50_000
_DIGITS = 10  # residual weights that agree so far are one state


class TooManyStates(InputError):
    """An automaton grew beyond its limit.

    Examples
    --------
    >>> from trelliswork.losses import Edit
    >>> from trelliswork.losses.automata import TooManyStates
    >>> try:
    ...     Edit().automaton(list("abcdefgh"), list("abcdefgh"), 8, limit=100)
    ... except TooManyStates as error:
    ...     print(error)
    the automaton of Edit() has ... states after ... of 8 symbols, more than the limit of 100; use Edit(cap=3)
    """


class LossAutomaton(NamedTuple):
    """Deterministic automaton with one layer of states per position.

    The loss of an output is the sum of the costs of its steps plus the final cost of the
    state that it ends in.

    Attributes
    ----------
    layers : ndarray of int64, shape (length + 2,)
        States after ``t`` symbols: ``layers[t]:layers[t + 1]``; state 0 is the start.
    symbol : ndarray of int64, shape (n_labels,)
        Symbol of each label of the alphabet; labels that the loss does not tell apart share one.
    step : ndarray of int64, shape (n_states, n_symbols)
        Next state; -1 in the last layer.
    cost : ndarray of float64, shape (n_states, n_symbols)
        Loss that a step adds.
    final : ndarray of float64, shape (n_states,)
        Loss that is added at the end.

    Examples
    --------
    >>> from trelliswork.losses import ZeroOne
    >>> automaton = ZeroOne().automaton(["D", "N"], ["D", "N", "V"], 2)
    >>> automaton.n_states, automaton.loss([0, 1]), automaton.loss([0, 2])
    (5, 0.0, 1.0)
    """

    layers: np.ndarray
    symbol: np.ndarray
    step: np.ndarray
    cost: np.ndarray
    final: np.ndarray

    @property
    def n_states(self) -> int:
        """Number of states of all layers."""
        return int(self.final.size)

    def loss(self, codes: Sequence[int]) -> float:
        """Loss of an output, given as positions in the alphabet.

        Parameters
        ----------
        codes : sequence of int
            Place of each symbol of the output in the alphabet.
        """
        state, total = 0, 0.0
        for code in codes:
            total += float(self.cost[state, self.symbol[code]])
            state = int(self.step[state, self.symbol[code]])
        return total + float(self.final[state])

    def of_total(self, function: Callable[[float], float], what: str, limit: int) -> LossAutomaton:
        """Automaton of a function of this one's loss, with the running total as part of the state.

        Parameters
        ----------
        function : callable
            New loss of an output whose loss is the argument.
        what : str
            Name of the loss and what to do, for the message about too many states.
        limit : int
            Most states; a larger limit takes more memory.
        """

        def expand(key: tuple[int, float], t: int) -> list[tuple[tuple[int, float], float]]:
            state, total = key
            pairs = zip(self.step[state].tolist(), self.cost[state].tolist(), strict=True)
            return [((target, round(total + cost, _DIGITS)), 0.0) for target, cost in pairs]

        return unfold(
            (0, 0.0),
            expand,
            lambda key, t: _of_finite(function, key[1] + float(self.final[key[0]])),
            self.layers.size - 2,
            self.symbol,
            what=what,
            limit=limit,
        )


def _of_finite(function: Callable[[float], float], total: float) -> float:
    return total if total == np.inf else function(total)  # where no output ends


def unfold(
    start: Hashable,
    expand: Callable[[Any, int], Sequence[tuple[Any, float]]],
    final: Callable[[Any, int], float],
    length: int,
    symbol: np.ndarray,
    *,
    what: str,
    limit: int = MAX_STATES,
) -> LossAutomaton:
    """Number the states that outputs of at most ``length`` symbols reach.

    Parameters
    ----------
    start : hashable
        First state.
    expand : callable
        ``expand(state, t)``: next state and cost for every symbol at position ``t``.
    final : callable
        ``final(state, t)``: what is added when the output ends after ``t`` symbols.
    length : int
        Most symbols of an output.
    symbol : ndarray of int64
        Symbol of each label.
    what : str
        Name of the loss and what to do, for the message about too many states.
    limit : int
        Most states.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.losses.automata import unfold
    >>> step = lambda q, t: [(q, 0.0), (1 - q, 0.0)]
    >>> parity = unfold(0, step, lambda q, t: float(q), 3, np.arange(2), what="parity")
    >>> parity.n_states, parity.loss([1, 1, 0]), parity.loss([1, 0, 0])
    (7, 0.0, 1.0)
    """
    n_symbols = int(symbol.max(initial=-1)) + 1
    layer: dict[Any, int] = {start: 0}
    sizes: list[int] = []
    steps: list[list[int]] = []
    costs: list[list[float]] = []
    finals: list[float] = []
    base = 0
    for t in range(length + 1):
        sizes.append(len(layer))
        finals.extend(final(state, t) for state in layer)
        base += len(layer)
        if base > limit:
            raise too_many(what, base, t, length, limit)
        following: dict[Any, int] = {}
        for state in layer:
            if t == length:
                steps.append([-1] * n_symbols)
                costs.append([0.0] * n_symbols)
                continue
            row, cost = [], []
            for target, value in expand(state, t):
                row.append(following.setdefault(target, base + len(following)))
                cost.append(value)
            steps.append(row)
            costs.append(cost)
        layer = following
    shape = (base, n_symbols)
    return LossAutomaton(
        offsets_of(sizes),
        np.asarray(symbol, dtype=np.int64),
        np.array(steps, dtype=np.int64).reshape(shape),
        np.array(costs, dtype=np.float64).reshape(shape),
        np.array(finals, dtype=np.float64),
    )


def too_many(what: str, n: int, t: int, length: int, limit: int) -> TooManyStates:
    """Error that names the number of states and the remedy; ``what`` is "name; remedy"."""
    name, _, remedy = what.partition("; ")
    return TooManyStates(
        f"the automaton of {name} has {n:,} states after {t} of {length} symbols, more than the limit of "
        f"{limit:,}" + (f"; {remedy}" if remedy else "")
    )


class WeightedAutomaton:
    """A weighted automaton as its arcs: how users give a rational loss.

    Parameters
    ----------
    arcs : iterable of (state, symbol, state, weight)
        Arcs; the symbol ``None`` stands for every symbol that no other arc of the state reads.
    start : hashable
        First state.
    final : mapping of state to weight
        States in which an output may end, and what that adds.

    Examples
    --------
    >>> from trelliswork.losses import WeightedAutomaton
    >>> a = WeightedAutomaton([(0, "N", 0, 0.0), (0, None, 0, 1.0)], 0, {0: 0.0})
    >>> a.deterministic
    True
    """

    def __init__(
        self,
        arcs: Iterable[tuple[Hashable, Hashable, Hashable, float]],
        start: Hashable,
        final: Mapping[Hashable, float],
    ):
        if not isinstance(final, Mapping):
            raise InputError(f"final must be a dict from states to weights, got {final!r:.80}")
        self.start = start
        self.final = {
            state: as_number(f"the weight of the final state {state!r:.40}", weight)
            for state, weight in final.items()
        }
        self.arcs: dict[Any, dict[Any, list[tuple[Any, float]]]] = {}
        for arc in arcs:
            if not isinstance(arc, (tuple, list)) or len(arc) != 4:
                raise InputError(f"an arc is (state, symbol, state, weight), got {arc!r}")
            source, label, target, weight = arc
            weight = as_number(f"the weight of arc {arc!r:.80}", weight)
            self.arcs.setdefault(source, {}).setdefault(label, []).append((target, weight))
        if not self.final:
            raise InputError("a weighted automaton needs at least one final state")

    @property
    def deterministic(self) -> bool:
        """Whether no state has two arcs with one symbol."""
        return all(len(targets) == 1 for row in self.arcs.values() for targets in row.values())

    def determinised(
        self,
        alphabet: Sequence[Any],
        length: int,
        semiring: str | None,
        *,
        what: str,
        fixed: bool = True,
        limit: int = MAX_STATES,
    ) -> LossAutomaton:
        """Deterministic automaton of the same loss; states that are not final have final weight infinity.

        Parameters
        ----------
        alphabet : sequence of labels
            Labels of the structure.
        length : int
            Most symbols of an output.
        semiring : {"tropical", "log"} or None
            Loss of an output with several paths: the least sum of weights, or the log of the sum
            of the exponentials; None refuses such automata.
        what : str
            Name of the loss for messages.
        fixed : bool
            Whether all outputs have ``length`` symbols, and may end nowhere else.
        limit : int
            Most states.
        """
        if not self.deterministic and semiring is None:
            state, label = next(
                (s, x) for s, row in self.arcs.items() for x, unfolded in row.items() if len(unfolded) > 1
            )
            raise InputError(
                f"the automaton of {what} is not deterministic: state {state!r} has several arcs with symbol "
                f"{label!r}; say what their weights mean: semiring='tropical' (least path) or 'log' (sum)"
            )
        named = {label for row in self.arcs.values() for label in row if label is not None}
        # Labels that no arc names behave alike.
        symbols: dict[Any, int] = {}
        symbol = np.array(
            [symbols.setdefault(a if a in named else None, len(symbols)) for a in alphabet], dtype=np.int64
        )
        names = list(symbols)
        example = {names[k]: a for a, k in zip(alphabet, symbol.tolist(), strict=True)}  # for messages

        def total(values: list[float]) -> float:
            return min(values) if semiring != "log" else float(np.logaddexp.reduce(values))

        def expand(key: tuple[tuple[Any, float], ...], t: int) -> list[tuple[Any, float]]:
            out = []
            for name in names:
                reached: dict[Any, list[float]] = {}
                for state, residual in key:
                    row = self.arcs.get(state, {})
                    for target, weight in row.get(name, row.get(None, [])):
                        reached.setdefault(target, []).append(residual + weight)
                if not reached:
                    raise InputError(
                        f"{what}: no arc of the automaton reads {example[name]!r} at position {t}"
                    )
                values = {state: total(unfolded) for state, unfolded in reached.items()}
                out.append(self._normalised(values, total))
            return out

        def final(key: tuple[tuple[Any, float], ...], t: int) -> float:
            ends = [residual + self.final[state] for state, residual in key if state in self.final]
            return total(ends) if ends else np.inf

        unfolded = unfold(
            ((self.start, 0.0),), expand, final, length, symbol, what=f"{what}; simplify it", limit=limit
        )
        if fixed and np.isinf(unfolded.final[unfolded.layers[-2] :]).any():
            raise InputError(f"{what}: the automaton rejects some outputs of {length} symbols")
        return unfolded

    @staticmethod
    def _normalised(values: dict[Any, float], total: Callable[[list[float]], float]) -> tuple[Any, float]:
        """State of the determinised automaton, and the weight that leaves with the step."""
        out = total(list(values.values()))
        rest = ((state, round(value - out, _DIGITS)) for state, value in values.items())
        return tuple(sorted(rest, key=lambda pair: repr(pair[0]))), out
