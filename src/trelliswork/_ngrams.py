"""Strings as numbers: symbols are coded, n-grams counted in sparse matrices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, gather_ranges, offsets_of
from trelliswork._text import is_biopython, plain_sequence

__all__ = ["Coded", "count_matrix", "encode", "match_rows", "ngram_windows", "padded", "sorted_symbols"]

_PACKED = 2**62  # n-grams whose codes stay below this are one whole number each


class Coded(Ragged):
    """Sequences of symbol codes; -1 is a symbol that is not in the alphabet."""


def sorted_symbols(symbols: Any) -> list[Any]:
    """Symbols in their own order, or in that of their representations."""
    try:
        return sorted(symbols)
    except TypeError:
        return sorted(symbols, key=lambda s: (type(s).__name__, repr(s)))


def check_sequences(sequences: Any, what: str = "X") -> None:
    """Refuse anything that is not a list of strings or of sequences of symbols."""
    if isinstance(sequences, (str, bytes)) or not hasattr(sequences, "__len__"):
        raise InputError(f"{what} must be a list of strings or symbol lists, got {type(sequences).__name__}")
    for i, sequence in enumerate(sequences):
        if isinstance(sequence, str) or is_biopython(sequence):
            continue
        if isinstance(sequence, (bytes, dict, set)) or not isinstance(sequence, (Sequence, np.ndarray)):
            raise InputError(
                f"{what} is {type(sequence).__name__}; expected a string or a list of symbols",
                sample=i,
            )


def encode(
    sequences: Any, symbols: Sequence[Hashable] | None = None, what: str = "X"
) -> tuple[Coded, list[Any]]:
    """Codes of strings or symbol lists, and the alphabet (collected from the sequences unless given)."""
    check_sequences(sequences, what)
    sequences = [plain_sequence(s) for s in sequences]
    offsets = offsets_of([len(s) for s in sequences])
    if all(isinstance(s, str) for s in sequences):
        flat = np.frombuffer("".join(sequences).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        points, codes = np.unique(flat, return_inverse=True)
        letters = [chr(point) for point in points]
        if symbols is None:
            return Coded(codes.astype(np.int64), offsets), letters
        place = {s: i for i, s in enumerate(symbols)}
        table = np.array([place.get(letter, -1) for letter in letters], dtype=np.int64)
        return Coded(table[codes] if letters else codes.astype(np.int64), offsets), list(symbols)
    items: list[Any] = []
    for i, sequence in enumerate(sequences):
        items.extend(sequence.tolist() if isinstance(sequence, np.ndarray) else sequence)
        if not all(isinstance(s, Hashable) for s in items[offsets[i] :]):
            raise InputError(f"a symbol of {what} is not hashable; use strings or numbers", sample=i)
    alphabet = sorted_symbols(set(items)) if symbols is None else list(symbols)
    place = {s: i for i, s in enumerate(alphabet)}
    return Coded(np.array([place.get(s, -1) for s in items], dtype=np.int64), offsets), alphabet


def padded(coded: Coded, n: int, start: int, end: int) -> Coded:
    """Sequences with ``n - 1`` start and end symbols around them."""
    if n == 1:
        return coded
    offsets = coded.offsets + 2 * (n - 1) * np.arange(coded.offsets.size)
    values = np.full(int(offsets[-1]), end, dtype=np.int64)
    inner = np.arange(coded.values.size) + np.repeat(offsets[:-1] - coded.offsets[:-1] + n - 1, coded.lengths)
    values[inner] = coded.values
    for j in range(n - 1):
        values[offsets[:-1] + j] = start
    return Coded(values, offsets)


def ngram_windows(coded: Coded, n: int) -> tuple[np.ndarray, np.ndarray]:
    """All n-grams as rows, and the sequence that each comes from."""
    lengths = np.maximum(coded.lengths - n + 1, 0)
    starts = gather_ranges_of(coded.offsets[:-1], lengths)
    owner = np.repeat(np.arange(len(coded)), lengths)
    return coded.values[starts[:, None] + np.arange(n)], owner


def gather_ranges_of(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Positions ``starts[i] .. starts[i] + lengths[i] - 1``, concatenated."""
    bounds = np.stack([starts, starts + lengths], axis=1).ravel()
    return gather_ranges(bounds, np.arange(0, bounds.size, 2))


def match_rows(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Place of each row in a table of distinct, sorted rows; -1 where it is not there."""
    out = np.full(len(rows), -1, dtype=np.int64)
    if not len(table) or not len(rows):
        return out
    known = np.flatnonzero((rows >= 0).all(axis=1))
    base = int(max(table.max(), rows.max())) + 1
    if base ** table.shape[1] < _PACKED:
        power = base ** np.arange(table.shape[1] - 1, -1, -1, dtype=np.int64)
        keys, wanted = table @ power, rows[known] @ power
    else:
        _, number = np.unique(np.concatenate([table, rows[known]]), axis=0, return_inverse=True)
        keys, wanted = number.ravel()[: len(table)], number.ravel()[len(table) :]
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    out[known] = np.where(keys[place] == wanted, place, -1)
    return out


def distinct_rows(rows: np.ndarray) -> np.ndarray:
    """Distinct rows in lexicographic order."""
    if not len(rows):
        return rows
    base = int(rows.max()) + 1
    if base ** rows.shape[1] < _PACKED:
        power = base ** np.arange(rows.shape[1] - 1, -1, -1, dtype=np.int64)
        keys = np.unique(rows @ power)
        return keys[:, None] // power % base
    return np.unique(rows, axis=0)


def count_matrix(coded: Coded, table: np.ndarray) -> sp.csr_matrix:
    """How often each sequence has each n-gram of a table; other n-grams are ignored."""
    rows, owner = ngram_windows(coded, table.shape[1])
    place = match_rows(table, rows)
    seen = place >= 0
    entries = (np.ones(int(seen.sum())), (owner[seen], place[seen]))
    return sp.csr_matrix(entries, shape=(len(coded), len(table)))
