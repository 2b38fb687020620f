"""Token attributes joined with label n-grams of several lengths, stored only where they were seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import gather_ranges, offsets_of

if TYPE_CHECKING:
    from trelliswork.structures.chain.parts import ChainParts

__all__ = ["Joins", "JointCells", "label_codes"]


class Joins:
    """Which attributes are joined with label n-grams of which lengths, and how those are numbered.

    Parameters
    ----------
    chosen : "all", list of str, mapping or None
        The ``edge_features`` of a chain.
    order : int
        Order of the chain.
    """

    def __init__(self, chosen: Any, order: int):
        if chosen is None:
            chosen = {}
        elif not isinstance(chosen, Mapping):
            chosen = {2: chosen}
        for n, names in chosen.items():
            if not isinstance(n, (int, np.integer)) or not 2 <= n <= order + 1:
                raise InputError(
                    f"edge_features: label n-grams of a chain of order {order} have 2 to {order + 1} labels, "
                    f"got {n!r}"
                )
            good = names == "all" if isinstance(names, str) else isinstance(names, Sequence)
            if not good or not all(isinstance(p, str) for p in names):
                raise InputError(
                    "edge_features must be 'all', a list of prefixes, a dict from lengths of label n-grams "
                    f"to either, or None, got {names!r}"
                )
        self.chosen = dict(sorted(chosen.items()))
        self.lengths = list(self.chosen)

    @property
    def longest(self) -> int:
        """Longest n-gram; 0 for none."""
        return max(self.lengths, default=0)

    def attributes(self, attributes: Sequence[str], length: int | None = None) -> list[str]:
        """Attributes that are joined with n-grams of a length, or with any."""
        wanted = self.lengths if length is None else [length]
        kept: set[str] = set()
        for n in wanted:
            names = self.chosen[n]
            prefixes = ("",) if isinstance(names, str) else tuple(names)
            kept.update(a for a in attributes if a.startswith(prefixes))
        return [a for a in attributes if a in kept]

    def offsets(self, n_labels: int) -> np.ndarray:
        """First column of the n-grams of every length; the last entry is their number."""
        return offsets_of([n_labels**n for n in self.lengths])

    def moved(self, codes: np.ndarray, n_labels: int) -> np.ndarray:
        """Columns under other numbers of the labels: label ``a`` becomes ``codes[a]`` of ``n_labels``."""
        pieces = []
        for n, first in zip(self.lengths, self.offsets(n_labels), strict=False):
            digits = np.unravel_index(np.arange(codes.size**n), (codes.size,) * n)
            pieces.append(first + np.ravel_multi_index([codes[d] for d in digits], (n_labels,) * n))
        return np.concatenate([np.zeros(0, dtype=np.int64), *pieces])

    def grams(self, n_labels: int) -> list[tuple[int, ...]]:
        """Labels of every column."""
        out: list[tuple[int, ...]] = []
        for n in self.lengths:
            digits = np.unravel_index(np.arange(n_labels**n), (n_labels,) * n)
            out.extend(zip(*(d.tolist() for d in digits), strict=True))
        return out


def label_codes(labels: np.ndarray, offsets: np.ndarray, n: int, n_labels: int) -> np.ndarray:
    """Number of the last ``n`` labels at every token, -1 where there are fewer."""
    position = np.arange(labels.size) - np.repeat(offsets[:-1], np.diff(offsets))
    out = np.full(labels.size, -1, dtype=np.int64)
    tokens = np.flatnonzero(position >= n - 1)
    code = np.zeros(tokens.size, dtype=np.int64)
    for back in range(n - 1, -1, -1):
        code = code * n_labels + labels[tokens - back]
    out[tokens] = code
    return out


class JointCells:
    """The pairs of token and label n-gram that some feature of a batch scores.

    Part values are one number per cell. The recursions get them as a table per token
    (:meth:`dense`), a piece of the batch at a time.

    Attributes
    ----------
    token, length, code : ndarray of int64, shape (n_cells,)
        Token, number of labels and number of the n-gram; sorted by token.
    matrix : csr_matrix of shape (n_cells, n_weights)
        From weights to values.
    offsets : ndarray of int64
        Cells of every sequence.
    width : int
        Contexts of a table: all that the longest n-gram can tell apart.
    """

    def __init__(self, batch: ChainParts):
        space, tokens = batch.space, batch.edge
        assert tokens is not None
        self.n_labels, self.joins, layout = space.n_labels, space.joins, tokens.layout
        seen = layout.flat
        assert seen is not None
        self.width = self.n_labels ** (self.joins.longest - 1)
        first = self.joins.offsets(self.n_labels)
        lengths = np.array(self.joins.lengths, dtype=np.int64)
        position = np.arange(batch.n_tokens) - np.repeat(batch.offsets[:-1], np.diff(batch.offsets))
        entries = tokens.token_matrix().tocoo()
        # Every attribute of a token brings the n-grams it was seen with.
        first_weight = np.searchsorted(seen, np.arange(layout.n_attributes + 1) * layout.n_columns)
        weight = gather_ranges(first_weight, entries.col)
        repeats = np.diff(first_weight)[entries.col]
        token = np.repeat(entries.row.astype(np.int64), repeats)
        column = seen[weight] % layout.n_columns
        kind = np.searchsorted(first, column, side="right") - 1
        kept = position[token] >= lengths[kind] - 1 if lengths.size else np.zeros(0, dtype=bool)
        key = token[kept] * layout.n_columns + column[kept]
        self.key, cell = np.unique(key, return_inverse=True)
        self.matrix = sp.csr_matrix(
            (np.repeat(entries.data, repeats)[kept], (cell.ravel(), weight[kept])),
            shape=(self.key.size, layout.n_weights),
        )
        self.n_columns = layout.n_columns
        self.token = self.key // max(layout.n_columns, 1)
        column = self.key % max(layout.n_columns, 1)
        kind = np.searchsorted(first, column, side="right") - 1
        self.length, self.code = lengths[kind], column - first[kind]
        self.offsets = np.searchsorted(self.token, batch.offsets)

    def _places(self, lo: int, hi: int) -> list[tuple[int, np.ndarray]]:
        """Cells of the tokens from ``lo`` to ``hi``, by length."""
        first, last = np.searchsorted(self.token, [lo, hi])
        cells = np.arange(first, last)
        return [(n, cells[self.length[cells] == n]) for n in self.joins.lengths]

    def dense(self, values: np.ndarray, lo: int, hi: int) -> np.ndarray:
        """Tables (tokens, contexts, labels) of some tokens; shorter n-grams count in all their contexts."""
        k = self.n_labels
        out = np.zeros((hi - lo, self.width * k))
        for n, cells in self._places(lo, hi):
            view = out.reshape(hi - lo, -1, k**n)
            view[self.token[cells] - lo, :, self.code[cells]] += values[cells, None]
        return out.reshape(hi - lo, self.width, k)

    def gather(self, tables: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """Adjoint of :meth:`dense`, into the cells of those tokens."""
        for n, cells in self._places(lo, hi):
            view = tables.reshape(hi - lo, -1, self.n_labels**n)
            out[cells] = view[self.token[cells] - lo, :, self.code[cells]].sum(axis=1)

    def of_labels(self, labels: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cells that given labels use, and the tokens of those."""
        cells, tokens = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for n, first in zip(self.joins.lengths, self.joins.offsets(self.n_labels), strict=False):
            code = label_codes(labels, offsets, n, self.n_labels)
            reached = np.flatnonzero(code >= 0)
            place = self.find(reached * self.n_columns + first + code[reached])
            cells.append(place[place >= 0])
            tokens.append(reached[place >= 0])
        return np.concatenate(cells), np.concatenate(tokens)

    def find(self, key: np.ndarray) -> np.ndarray:
        """Cells with the numbers ``token * n_columns + column``, -1 for none."""
        if not self.key.size:
            return np.full(key.size, -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.key, key), self.key.size - 1)
        return np.where(self.key[place] == key, place, -1)
