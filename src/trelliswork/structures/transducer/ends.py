"""Symbols at the ends of inputs, written as what outputs have before or after them.

Without them the ending of a form is written with the last letter of the word, and each letter must be seen
with each ending: from ``cat``, ``cats`` and ``rice``, ``rices`` nothing follows for ``chef``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from trelliswork._errors import InputError

__all__ = ["END", "NO_ENDS", "START", "Ends"]

START, END = "\N{SYMBOL FOR START OF TEXT}", "\N{SYMBOL FOR END OF TEXT}"
_SHARE = 0.05  # of the outputs, which must grow at an end


class Ends(NamedTuple):
    """Which ends of inputs have a symbol of their own.

    Attributes
    ----------
    start, end : bool
        Whether there is one before, and after, an input.

    Examples
    --------
    >>> from trelliswork.structures.transducer.ends import Ends
    >>> ends = Ends.of([("cat", "cats"), ("dog", "dogs")])
    >>> ends
    Ends(start=False, end=True)
    >>> ends.added(("c", "a", "t"))
    ('c', 'a', 't', '␃')
    """

    start: bool = False
    end: bool = False

    @classmethod
    def of(cls, pairs: Iterable[tuple[Any, Any]]) -> Ends:
        """Ends at which outputs often grow: where longer outputs keep the other end, or neither."""
        n, before, after = 0, 0, 0
        for x, y in pairs:
            n += 1
            if len(y) > len(x) > 0:
                first, last = x[0] == y[0], x[-1] == y[-1]
                if first and last:  # "bus", "buses": it is the whole input that is kept
                    first, last = x == y[: len(x)], x == y[-len(x) :]
                    before, after = before + (last and not first), after + first
                else:
                    before, after = before + (not first), after + (not last)
        return cls(before > _SHARE * n, after > _SHARE * n)

    @classmethod
    def from_state(cls, state: Any) -> Ends:
        """Ends from a file, which is not trusted."""
        if not isinstance(state, list) or [type(end) for end in state] != [bool, bool]:
            raise InputError("a stored transducer is damaged: the ends of its inputs are not told")
        return cls(*state)

    def added(self, symbols: tuple[Any, ...]) -> tuple[Any, ...]:
        """An input with its ends; an empty one stays empty."""
        if not symbols:
            return symbols
        return (START,) * self.start + symbols + (END,) * self.end

    def removed(self, symbols: tuple[Any, ...], start: int, size: int) -> tuple[Any, ...]:
        """Symbols from place ``start`` of an input of ``size``, ends included, without those of the ends."""
        first = int(self.start and start == 0)
        last = int(self.end and start + len(symbols) == size)
        return symbols[first : len(symbols) - last]


NO_ENDS = Ends()
