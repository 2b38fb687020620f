"""Features of the words that a phrase spans: at its borders, beside it, and how many they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.structures.grammar.tokens import spelled

__all__ = ["KINDS", "SpanName", "SpanTable", "check_kinds", "check_name", "span_values"]

KINDS = ("first", "last", "inside", "before", "after", "around", "length")
_LENGTHS = np.array([1, 2, 3, 4, 5, 6, 9, 13, 21, 41])  # the least of every class

SpanName = tuple[str, str, str, str]  # "span", kind, value, symbol


def check_kinds(given: Any) -> tuple[str, ...]:
    """The kinds of span features that ``span_features`` asks for."""
    if given is None or given is False:
        return ()
    if given is True:
        return KINDS
    kinds = (given,) if isinstance(given, str) else tuple(given) if hasattr(given, "__iter__") else (given,)
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(
                f"span_features must be True, None or a list of {', '.join(map(repr, KINDS))}, got {given!r}"
            )
    return tuple(kind for kind in KINDS if kind in kinds)


def check_name(name: Any) -> SpanName:
    """Refuse what is no name of a span feature, from a file or from given weights."""
    if len(name) != 4 or name[0] != "span" or not all(isinstance(part, str) for part in name):
        raise InputError(f"{name!r} is no span feature")
    return (name[0], name[1], name[2], name[3])


def span_values(
    x: Sequence[Any], read: str, kinds: Sequence[str], start: np.ndarray, end: np.ndarray
) -> Iterator[tuple[str, list[str]]]:
    """Kinds, each with its values for all spans.

    Parameters
    ----------
    x : list of tokens
        The sentence.
    read : {"words", "tags"}
        What the grammar parses; pairs (word, tag) give values of both.
    kinds : list of str
        From :data:`KINDS`.
    start, end : ndarray of int
        First word of every span, and the one after its last.
    """
    pairs = any(isinstance(token, tuple) for token in x)
    for source in ("words", "tags") if pairs else (read,):
        padded = np.array(["^", *spelled(x, source), "$"], dtype=object)
        columns = {
            "first": padded[start + 1],
            "last": padded[end],
            "before": padded[start],
            "after": padded[end + 1],
        }
        for kind in kinds:
            if kind in columns:
                yield f"{kind} {source[:-1]}", columns[kind].tolist()
            elif kind == "inside":  # the words next to the borders
                several = end - start > 1
                yield (
                    f"second {source[:-1]}",
                    np.where(several, padded[np.minimum(start + 2, end)], "").tolist(),
                )
                yield f"last but one {source[:-1]}", np.where(several, padded[end - 1], "").tolist()
            elif kind == "around":
                yield f"around {source[:-1]}", (padded[start] + " " + padded[end + 1]).tolist()
    if "length" in kinds:
        size = np.searchsorted(_LENGTHS, end - start, side="right") - 1
        yield "length", _LENGTHS[size].astype(str).tolist()


class SpanTable:
    """Span features by name, and those of the nodes of a forest.

    Parameters
    ----------
    names : list of SpanName
        The features.
    symbols : list of str
        Symbols of the grammar, by number.
    kinds : tuple of str
        Kinds of features.
    read : {"words", "tags"}
        What the grammar parses.
    """

    def __init__(self, names: list[SpanName], symbols: Sequence[str], kinds: tuple[str, ...], read: str):
        self.names, self.kinds, self.read = names, kinds, read
        number = {symbol: i for i, symbol in enumerate(symbols)}
        self._values: dict[tuple[str, str], int] = {}
        self._n_symbols = len(symbols)
        keys = []
        for _, kind, value, symbol in names:
            code = self._values.setdefault((kind, value), len(self._values))
            keys.append(code * self._n_symbols + number.get(symbol, -(1 << 40)))
        order = np.argsort(np.array(keys, dtype=np.int64), kind="stable")
        self._keys, self._place = np.array(keys, dtype=np.int64)[order], order

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, x: Sequence[Any], symbol: np.ndarray, start: np.ndarray, end: np.ndarray) -> sp.csr_matrix:
        """Features of nodes, one row each; the root (symbol -1) has none."""
        node, feature = [], []
        spans, which = np.unique(np.stack([start, end], axis=1), axis=0, return_inverse=True)
        for kind, values in span_values(x, self.read, self.kinds, spans[:, 0], spans[:, 1]):
            codes = np.array([self._values.get((kind, value), -1) for value in values], dtype=np.int64)
            code = codes[which.ravel()]
            live = np.flatnonzero((code >= 0) & (symbol >= 0))
            key = code[live] * self._n_symbols + symbol[live]
            place = np.minimum(np.searchsorted(self._keys, key), len(self) - 1)
            known = self._keys[place] == key
            node.append(live[known])
            feature.append(self._place[place[known]])
        rows, columns = (np.concatenate([np.zeros(0, np.int64), *v]) for v in (node, feature))
        return sp.csr_matrix((np.ones(rows.size), (rows, columns)), shape=(symbol.size, len(self)))
