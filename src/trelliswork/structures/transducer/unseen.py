"""Input symbols that training did not have: copied, read like a similar symbol, or dropped."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ngrams import Coded
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.dp.transducer.arrays import Arcs
from trelliswork.structures.transducer.ends import END, START
from trelliswork.structures.transducer.pieces import Aligned, Pieces

if TYPE_CHECKING:
    from trelliswork.structures.transducer.space import TransducerSpace

__all__ = ["Novel", "Unseen", "copied_symbols", "read_novel", "with_copies"]

_KINDS = {"L": "letter", "M": "letter", "N": "digit", "P": "other", "S": "other", "Z": "other"}
_LONG = "long"  # symbols of several characters, and whatever is no string
_SHARE = 2 / 3  # of the symbols of a kind, which must be copied if new ones are to be


def kind_of(symbol: Any) -> str | None:
    """Kind of a symbol; None for characters that are never copied, such as those of private use."""
    if symbol is None:
        return None
    if not isinstance(symbol, str) or len(symbol) != 1:
        return _LONG
    return _KINDS.get(unicodedata.category(symbol)[0])


def similar(symbol: Any) -> Iterable[str]:
    """Symbols that may stand for a new one, the most similar first: its other case, then without marks."""
    if not isinstance(symbol, str):
        return
    bare = "".join(c for c in unicodedata.normalize("NFKD", symbol) if not unicodedata.combining(c))
    # Composed again: syllables of Hangul are no letters with marks, and marks alone are like nothing.
    for form in (symbol, unicodedata.normalize("NFKC", symbol), unicodedata.normalize("NFKC", bare)):
        if form:
            yield from (form, form.casefold(), form.lower(), form.upper())


class Unseen:
    """What training says about symbols that it did not have.

    Parameters
    ----------
    kinds : sequence of str
        Kinds of symbols that are copied: ``"letter"``, ``"digit"``, ``"other"`` characters, and ``"long"``
        symbols.
    """

    def __init__(self, kinds: Sequence[str]):
        known = {*_KINDS.values(), _LONG}
        if not all(isinstance(kind, str) and kind in known for kind in kinds):
            raise InputError("a stored transducer is damaged: unknown kinds of symbols are copied")
        self.kinds = sorted(kinds)

    @classmethod
    def observed(
        cls, pieces: Pieces, aligned: Aligned, x_symbols: Sequence[Any], y_symbols: Sequence[Any]
    ) -> Unseen:
        """Kinds that are copied in given alignments.

        Types of symbols are counted and not their occurrences, as the question is what a new one does.
        """
        written = _mostly_copied(pieces, aligned, x_symbols, y_symbols)
        inputs, votes = set(x_symbols), {s: (s in written) for s in x_symbols if s not in (START, END)}
        met = {s: (s in inputs) for s in y_symbols}
        single = _agree(votes, met, set(_KINDS.values()))
        kinds = []
        for kind in sorted(set(_KINDS.values())):
            of_kind = _agree(votes, met, {kind})
            # A kind that training lacks goes with the other characters.
            if single if of_kind is None else of_kind:
                kinds.append(kind)
        # Symbols of several characters are often tags: only their own kind speaks for copying them.
        return cls([*kinds, _LONG] if _agree(votes, met, {_LONG}) else kinds)

    def copies(self, symbol: Any) -> bool:
        """Whether a new symbol is written as itself."""
        return kind_of(symbol) in self.kinds


def _mostly_copied(
    pieces: Pieces, aligned: Aligned, x_symbols: Sequence[Any], y_symbols: Sequence[Any]
) -> set[Any]:
    """Input symbols that more than half of their pieces write as, or with, themselves."""
    number = {s: t for t, s in enumerate(y_symbols)}
    same = [number.get(s, -1) for s in x_symbols]
    seen, copied = np.zeros((2, len(x_symbols)))
    counts = np.bincount(aligned.piece, minlength=len(pieces)).tolist()
    for read, out, n in zip(pieces.inputs, pieces.outputs, counts, strict=True):
        for code in read:
            seen[code] += n
            copied[code] += n * (same[code] in out)
    return {s for t, s in enumerate(x_symbols) if copied[t] > seen[t] / 2}


def _agree(votes: dict[Any, bool], met: dict[Any, bool], kinds: set[str]) -> bool | None:
    """Whether symbols of some kinds are copied, and outputs of these kinds made of them; None if there are
    none.
    """
    inputs, outputs = ([v for s, v in a.items() if kind_of(s) in kinds] for a in (votes, met))
    if not inputs:
        return None
    return bool(np.mean(inputs) >= _SHARE and bool(outputs) and np.mean(outputs) >= _SHARE)


class Novel(NamedTuple):
    """New symbols of the inputs of a batch.

    ``writes`` numbers what every arc writes: the piece itself, or ``len(pieces) + k`` for entry ``k`` of
    ``outputs``, whose codes from the size of the output alphabet on are those of ``symbols``.
    """

    symbols: list[Any]
    outputs: list[tuple[int, ...]]
    writes: np.ndarray

    def taken(self, arcs: np.ndarray) -> Novel:
        """The same for some of the arcs."""
        return self._replace(writes=self.writes[arcs])

    def inventory(self, pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
        """Where the output symbols of pieces and copies begin, and these symbols."""
        rows = Ragged.from_list([*pieces.outputs, *self.outputs], np.int64)
        return rows.offsets, rows.values


def copied_symbols(space: TransducerSpace, inputs: Iterable[tuple[Any, ...]]) -> list[Any]:
    """New symbols that are copied and not in the output alphabet, in the order of the inputs."""
    if space.unseen is None:
        return []
    old, outputs = set(space.input_symbols), set(space.output_symbols)
    new = dict.fromkeys(s for symbols in inputs for s in symbols if s not in old)
    return [s for s in new if space.unseen.copies(s) and s not in outputs]


def read_novel(space: TransducerSpace, inputs: list[tuple[Any, ...]], x: Coded) -> tuple[Coded, Coded]:
    """Codes of inputs with similar symbols for new ones, and the same without those that are copied."""
    if space.unseen is None or not np.any(x.values < 0):
        return x, x
    place = {s: t for t, s in enumerate(space.input_symbols)}
    alike, read = x.values.copy(), x.values.copy()
    flat = [s for symbols in inputs for s in symbols]
    found: dict[Any, int] = {}
    for t in np.flatnonzero(x.values < 0).tolist():
        symbol = flat[t]
        if symbol not in found:
            found[symbol] = next((place[s] for s in similar(symbol) if s in place), -1)
        alike[t] = found[symbol]
        read[t] = -1 if space.unseen.copies(symbol) else found[symbol]
    return Coded(alike, x.offsets), Coded(read, x.offsets)


def with_copies(
    space: TransducerSpace, inputs: list[tuple[Any, ...]], x: Coded, arcs: Arcs
) -> tuple[Arcs, Novel]:
    """Arcs with those of copied symbols, and what they write.

    A symbol is copied with all that is written with its similar symbol (``és`` by ``es``), by the same
    pieces, so that all features of these are its own; alone where there is none.
    """
    assert space.unseen is not None
    symbols = copied_symbols(space, inputs)
    code = {s: t for t, s in enumerate([*space.output_symbols, *symbols])}
    numbers: dict[tuple[int, ...], int] = {}
    known, n = set(space.input_symbols), len(space.pieces)
    of_symbol: dict[Any, list[tuple[int, int]]] = {}
    rows: dict[int, list[tuple[int, int]]] = {}
    for i, string in enumerate(inputs):
        for t, symbol in enumerate(string, int(x.offsets[i])):
            if symbol in known or not space.unseen.copies(symbol):
                continue
            if symbol not in of_symbol:
                listed = _copies(space, int(x.values[t]), code[symbol])
                of_symbol[symbol] = [(p, n + numbers.setdefault(out, len(numbers))) for p, out in listed]
            rows[t + i] = of_symbol[symbol]
    return _replaced(arcs, rows, list(numbers), symbols)


def _copies(space: TransducerSpace, like: int, code: int) -> list[tuple[int, tuple[int, ...]]]:
    """Pieces of a symbol that write it too, each with what it writes if ``code`` is in the place of the
    first.
    """
    pieces = space.pieces
    out = []
    if like >= 0 and space.input_symbols[like] in space.output_symbols:
        copy = space.output_symbols.index(space.input_symbols[like])
        for p, (read, written) in enumerate(zip(pieces.inputs, pieces.outputs, strict=True)):
            if read == (like,) and copy in written:
                t = written.index(copy)
                out.append((p, (*written[:t], code, *written[t + 1 :])))
    return out or [(pieces.unknown, (code,))]


def _replaced(
    arcs: Arcs, rows: dict[int, list[tuple[int, int]]], outputs: list[tuple[int, ...]], symbols: list[Any]
) -> tuple[Arcs, Novel]:
    """Arcs with others, of one symbol, at some positions."""
    counts = np.diff(arcs.ptr)
    for row, listed in rows.items():
        counts[row] = len(listed)
    ptr = offsets_of(counts)
    length = np.ones(ptr[-1], dtype=np.int64)
    piece, writes = np.empty((2, ptr[-1]), dtype=np.int64)
    old = ~np.isin(np.arange(counts.size), list(rows))
    here, there = np.repeat(old, counts), np.repeat(old, np.diff(arcs.ptr))
    length[here], piece[here] = arcs.length[there], arcs.piece[there]
    writes[here] = arcs.piece[there]
    for row, listed in rows.items():
        piece[ptr[row] : ptr[row + 1]], writes[ptr[row] : ptr[row + 1]] = zip(*listed, strict=True)
    return Arcs(ptr, length, piece), Novel(symbols, outputs, writes)
