"""Numbers for the attributes of tokens, all at once: no Python code runs for a single token or attribute.

Most data are of one kind throughout: words, lists of strings, or dicts of strings, numbers and booleans. One
lookup in a dictionary per attribute, driven from C, is then all the work. Anything else, errors included, is
left to the caller, who goes through the tokens one by one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._ragged import gather_ranges, offsets_of

__all__ = ["distinct", "intern_rows"]


def distinct(items: Iterable[Any], count: int) -> tuple[list[Any], np.ndarray]:
    """Distinct items in order of first use, and the number of each of the ``count`` items.

    Examples
    --------
    >>> from trelliswork._interning import distinct
    >>> distinct("abac", 4)
    (['a', 'b', 'c'], array([0, 1, 0, 2], dtype=int32))
    """
    seen = _numbering()
    numbers = _numbers(seen, items, count)
    return list(seen), numbers


def intern_rows(samples: list[Any], at_a_time: int = 4096) -> tuple[list[str], Any, np.ndarray] | None:
    """Names, the matrix of distinct rows over them, and the row of every token.

    Parameters
    ----------
    samples : list of sequences of tokens
        All tokens strings, all lists or tuples of strings, or all flat dicts.
    at_a_time : int
        Samples that are read at a time: what is kept of them for a moment is an integer per attribute.

    Returns
    -------
    names, matrix, index : list of str, csr_matrix, ndarray of int32; or None
        As in a token block, names in order of first use. None where tokens are of several kinds, or of one
        that is not simple.
    """
    kinds = {kind for part in _parts(samples, at_a_time) for kind in set(map(type, part))}
    if kinds == {dict}:
        return _rows(samples, at_a_time, as_dicts=True)
    if kinds and kinds <= {list, tuple}:
        return _rows(samples, at_a_time, as_dicts=False)
    if kinds != {str}:
        return None
    names, index = distinct(chain.from_iterable(samples), sum(map(len, samples)))
    return names, _unit_rows(len(names)), index


def _parts(samples: list[Any], at_a_time: int) -> Iterator[list[Any]]:
    """Tokens of some samples at a time."""
    for i in range(0, len(samples), at_a_time):
        yield list(chain.from_iterable(samples[i : i + at_a_time]))


def _numbering() -> defaultdict[Any, int]:
    """Gives every new key the next number."""
    seen: defaultdict[Any, int] = defaultdict()
    seen.default_factory = seen.__len__
    return seen


def _numbers(seen: defaultdict[Any, int], items: Iterable[Any], count: int) -> np.ndarray:
    return np.fromiter(map(seen.__getitem__, items), dtype=np.int32, count=count)


def _unit_rows(n: int) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(n), np.arange(n, dtype=np.int32), np.arange(n + 1)), shape=(n, n))


def _rows(samples: list[Any], at_a_time: int, *, as_dicts: bool) -> tuple[list[str], Any, np.ndarray] | None:
    items, rows = _numbering(), _numbering()
    index, lengths, entries = [], [], []
    for tokens in _parts(samples, at_a_time):
        sizes = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
        offsets = offsets_of(sizes)
        try:
            flat = chain.from_iterable(map(dict.items, tokens) if as_dicts else tokens)
            numbers = _numbers(items, flat, int(offsets[-1]))
        except TypeError:  # a list or a dict inside
            return None
        n_before = len(rows)
        # Bytes, not tuples of numbers: a data set has about as many keys as tokens.
        text, bounds = numbers.tobytes(), (4 * offsets).tolist()
        keys = map(text.__getitem__, map(slice, bounds[:-1], bounds[1:]))
        here = _numbers(rows, keys, len(tokens))
        highest = np.maximum.accumulate(np.append(np.int32(n_before - 1), here))
        new = np.flatnonzero(here > highest[:-1])
        index.append(here)
        lengths.append(sizes[new])
        entries.append(numbers[gather_ranges(offsets, new)])
    columns = _columns_of_pairs(items) if as_dicts else _columns_of_names(items)
    if columns is None:
        return None
    names, column, value = columns
    indptr = offsets_of(np.concatenate(lengths))
    number = np.concatenate(entries)
    data, indices = value[number], column[number]
    if column.min(initial=0) < 0:  # values that stand for nothing, such as False
        present = indices >= 0
        indptr = np.append(0, np.cumsum(present))[indptr]
        data, indices = data[present], indices[present]
    matrix = sp.csr_matrix((data, indices, indptr), shape=(len(rows), len(names)))
    matrix.sum_duplicates()
    return names, matrix, np.concatenate(index)


# Names; the column (-1: none) and the value of every item.
_Columns = tuple[list[str], np.ndarray, np.ndarray]


def _columns_of_names(items: Iterable[Any]) -> _Columns | None:
    names = list(items)
    if not set(map(type, names)) <= {str}:
        return None
    return names, np.arange(len(names), dtype=np.int32), np.ones(len(names))


def _columns_of_pairs(items: Iterable[Any]) -> _Columns | None:
    """Columns of keys and values, by the conventions of python-crfsuite.

    ``True``, 1 and 1.0 are one value here, and all mean the same.
    """
    names, column, value = _numbering(), [], []
    for key, given in items:
        if type(key) is not str:
            return None
        if type(given) is str:
            column.append(names[f"{key}:{given}"])
            value.append(1.0)
        elif given is None:
            column.append(-1)
            value.append(0.0)
        elif isinstance(given, (bool, int, float, np.bool_, np.integer, np.floating)):
            try:
                number = float(given)
            except OverflowError:
                return None
            if not math.isfinite(number):
                return None
            column.append(names[key] if number else -1)
            value.append(number)
        else:
            return None
    return list(names), np.array(column, dtype=np.int32), np.array(value)
