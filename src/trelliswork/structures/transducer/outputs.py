"""What users give as outputs of a transducer: strings of symbols, several of them, or alignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ngrams import Coded, encode
from trelliswork._ragged import offsets_of
from trelliswork._text import plain_sequence

__all__ = ["Given", "alternatives", "coded_outputs", "read_alignments", "several", "symbols_of"]


class Given(NamedTuple):
    """True outputs of samples, each of which may have several."""

    codes: Coded
    ptr: np.ndarray  # outputs of sample i: ptr[i] .. ptr[i + 1] - 1

    @property
    def owner(self) -> np.ndarray:
        """Sample of every output."""
        return np.repeat(np.arange(self.ptr.size - 1), np.diff(self.ptr))

    def take(self, index: np.ndarray) -> Given:
        """Outputs of some of the samples."""
        from trelliswork._ragged import gather_ranges

        rows = self.codes[gather_ranges(self.ptr, index)]
        return Given(Coded(rows.values, rows.offsets), offsets_of(np.diff(self.ptr)[index]))


def symbols_of(value: Any, i: int, what: str) -> tuple[Any, ...]:
    """Symbols of one string: characters of text, or the items of a list."""
    value = plain_sequence(value)
    if isinstance(value, str):
        return tuple(value)
    if isinstance(value, (bytes, dict, set, frozenset)) or not isinstance(value, (Sequence, np.ndarray)):
        raise InputError(
            f"{what} is {type(value).__name__}; expected a string or a list of symbols", sample=i
        )
    symbols = tuple(value.tolist() if isinstance(value, np.ndarray) else value)
    try:
        hash(symbols)
    except TypeError:
        raise InputError(f"a symbol of {what} is not hashable; use strings or numbers", sample=i) from None
    return symbols


def several(y_i: Any) -> list[Any]:
    """The true outputs of a sample as they were given: one, or the members of a set or a list of lists."""
    if isinstance(y_i, (set, frozenset)):
        return sorted(y_i, key=repr)
    if isinstance(y_i, (list, tuple)) and y_i and all(isinstance(o, (list, tuple)) for o in y_i):
        return list(y_i)
    return [y_i]


def alternatives(y_i: Any, i: int) -> list[tuple[Any, ...]]:
    """The symbols of the true outputs of a sample, without repetitions."""
    listed = several(y_i)
    if not listed:
        raise InputError("an empty set of outputs; give at least one", sample=i)
    return list(dict.fromkeys(symbols_of(output, i, "an output") for output in listed))


def coded_outputs(y: Any, symbols: list[Any] | None) -> tuple[Given, list[Any]]:
    """All outputs as codes, and the alphabet (collected unless given)."""
    lists = [alternatives(y_i, i) for i, y_i in enumerate(y)]
    ptr = offsets_of([len(outputs) for outputs in lists])
    codes, alphabet = encode([output for outputs in lists for output in outputs], symbols, "y")
    return Given(codes, ptr), alphabet


def read_alignments(X: list[tuple[Any, ...]], y: Any) -> list[list[tuple[tuple[Any, ...], tuple[Any, ...]]]]:
    """Alignments as lists of pairs of symbol tuples; the inputs of the pairs must spell the input of the
    sample.
    """
    out = []
    for i, (x, y_i) in enumerate(zip(X, y, strict=True)):
        good = isinstance(y_i, (list, tuple)) and all(
            isinstance(p, (list, tuple)) and len(p) == 2 for p in y_i
        )
        if not good:
            raise InputError(
                f"expected an alignment, a list of pairs (input piece, output piece), got {y_i!r:.80}",
                sample=i,
            )
        pairs = [(symbols_of(a, i, "an input piece"), symbols_of(b, i, "an output piece")) for a, b in y_i]
        spelled = tuple(symbol for a, _ in pairs for symbol in a)
        if spelled != x or any(not a for a, _ in pairs):
            raise InputError(
                f"the input pieces {[''.join(map(str, a)) for a, _ in pairs]!r:.80} do not spell the input",
                sample=i,
            )
        out.append(pairs)
    return out
