"""Features of a transducer: input n-grams around pieces, and pieces after output contexts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._ngrams import Coded
from trelliswork._ragged import Ragged
from trelliswork.structures.backoff import Contexts
from trelliswork.structures.transducer.pieces import Aligned, Pieces

__all__ = ["Grams", "Windows"]


def marked(x: Coded, n_symbols: int) -> Coded:
    """Inputs with a mark before (``n_symbols``) and after (``n_symbols + 1``) each."""
    starts, stops = x.offsets[:-1], x.offsets[1:]
    where = np.stack([starts, stops], axis=1).ravel()
    values = np.insert(x.values, where, np.tile([n_symbols, n_symbols + 1], len(x)))
    return Coded(values, x.offsets + 2 * np.arange(x.offsets.size))


class Windows:
    """Pairs of an attribute (a substring near a piece, and where it starts) and a piece.

    Parameters
    ----------
    window, longest : int
        Symbols before and after a piece that are looked at, and most symbols of a substring.
    n_symbols : int
        Size of the input alphabet.
    offset : ndarray of shape (n_attributes,)
        Where attributes start, counted from the first symbol of the piece.
    strings : Ragged of int
        Their symbols.
    row_ptr, row_piece : ndarray
        Pieces of each attribute; every pair is one feature.
    """

    def __init__(
        self,
        window: int,
        longest: int,
        n_symbols: int,
        offset: np.ndarray,
        strings: Ragged,
        row_ptr: np.ndarray,
        row_piece: np.ndarray,
    ):
        from trelliswork.dp.transducer import windows

        self.window, self.longest, self.n_symbols = window, longest, n_symbols
        self.offset, self.strings, self.row_ptr, self.row_piece = offset, strings, row_ptr, row_piece
        keys = windows.attribute_keys(offset, strings.offsets, strings.values)
        size = 1 << int(2 * keys.size + 1).bit_length()
        self._table, self._places = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64)
        windows.fill_table(keys, self._table, self._places)

    def __len__(self) -> int:
        return self.row_piece.size

    @classmethod
    def observed(
        cls, x: Coded, found: Aligned, pieces: Pieces, window: int, longest: int, min_count: int
    ) -> Windows:
        """Pairs that occur in given alignments at least ``min_count`` times."""
        from trelliswork.dp.transducer import windows

        n_symbols = pieces.sizes[0]
        codes = marked(x, n_symbols)
        lengths = np.array([len(i) or 1 for i in pieces.inputs], dtype=np.int64)[found.piece]
        ptr, table = windows.list_attributes(
            codes.values, codes.offsets, found.sample, found.start, lengths, window, longest
        )
        begin = np.repeat(codes.offsets[found.sample] + 1 + found.start, np.diff(ptr))
        keys, first, number = np.unique(table[0], return_index=True, return_inverse=True)
        pairs = number.ravel() * len(pieces) + np.repeat(found.piece, np.diff(ptr))
        pairs, counts = np.unique(pairs, return_counts=True)
        pairs = pairs[counts >= min_count]
        # Attributes in the order of their starts and symbols, so that numbers do not hang on hashes.
        kept = np.unique(pairs // len(pieces))
        offset = table[1, first[kept]] - begin[first[kept]]
        rows = [codes.values[a : a + n] for a, n in table[1:, first[kept]].T.tolist()]
        order = sorted(range(kept.size), key=lambda t: (offset[t], rows[t].size, rows[t].tolist()))
        place = np.full(keys.size, -1, dtype=np.int64)
        place[kept[order]] = np.arange(kept.size)
        pairs = np.sort(place[pairs // len(pieces)] * len(pieces) + pairs % len(pieces))
        row_ptr = np.searchsorted(pairs // len(pieces), np.arange(kept.size + 1)).astype(np.int64)
        strings = Ragged.from_list([rows[t] for t in order], np.int64)
        return cls(window, longest, n_symbols, offset[order], strings, row_ptr, pairs % len(pieces))

    def matrix(self, x: Coded, arcs: tuple[np.ndarray, np.ndarray, np.ndarray], max_in: int) -> sp.csr_matrix:
        """Features of arcs, shape (n_arcs, n_features)."""
        from trelliswork.dp.transducer import windows

        codes = marked(x, self.n_symbols)
        indptr, indices = windows.arc_features(
            codes.values,
            codes.offsets,
            x.offsets,
            *arcs,
            self.window,
            self.longest,
            max_in,
            self._table,
            self._places,
            self.row_ptr,
            self.row_piece,
        )
        return sp.csr_matrix((np.ones(indices.size), indices, indptr), shape=(indptr.size - 1, len(self)))


class Grams:
    """Pieces, and what they are written as, after contexts of output symbols.

    Parameters
    ----------
    contexts : Contexts
        Contexts of output symbols.
    pieces : Pieces
        The pieces.
    joint, output : ndarray of shape (n, 2)
        Features: pairs of a state and a piece, and of a state and a writing (see ``Pieces``), both sorted.
    """

    def __init__(self, contexts: Contexts, pieces: Pieces, joint: np.ndarray, output: np.ndarray):
        self.contexts, self.pieces, self.joint, self.output = contexts, pieces, joint, output
        self.n_writings = len(pieces.writings) + 1

    def __len__(self) -> int:
        return len(self.joint) + len(self.output)

    @classmethod
    def observed(cls, contexts: Contexts, pieces: Pieces, found: Aligned, n: int) -> Grams:
        """Pairs that occur in the alignments of ``n`` samples, with all shorter contexts."""
        from trelliswork.dp.transducer.lattice import states_before

        states, piece = states_before(
            found.offsets(n),
            found.piece,
            contexts.start,
            contexts.step,
            pieces.out_ptr,
            pieces.out,
            pieces.end,
        )
        grams = cls(contexts, pieces, *np.zeros((2, 0, 2), dtype=np.int64))
        tables = []
        for width, column in grams._columns(piece):
            keys = [state[live] * width + column[live] for state, live in grams._chain(states)]
            tables.append(np.unique(np.concatenate(keys)))
        sizes = len(pieces), grams.n_writings
        return cls(contexts, pieces, *(np.stack([k // m, k % m], axis=1) for k, m in zip(tables, sizes)))

    def _columns(self, piece: np.ndarray) -> list[tuple[int, np.ndarray]]:
        return [(len(self.pieces), piece), (self.n_writings, self.pieces.writing[piece])]

    def _chain(self, states: np.ndarray) -> Any:
        """States and all their suffixes, each with a mask of those that have one so short."""
        live = np.ones(states.size, dtype=bool)
        while live.any():
            yield states, live
            live = live & (states != 0)
            states = self.contexts.suffix[states]

    def matrix(self, joins: np.ndarray) -> sp.csr_matrix:
        """Features of joins (state, piece, ...), shape (n_joins, n_features)."""
        rows, columns = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        first = 0
        for table, (width, column) in zip((self.joint, self.output), self._columns(joins[:, 1]), strict=True):
            keys = table[:, 0] * width + table[:, 1]
            for state, live in self._chain(joins[:, 0]):
                wanted = state * width + column
                at = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
                hit = np.flatnonzero(live & (keys[at] == wanted)) if keys.size else at[:0]
                rows.append(hit)
                columns.append(first + at[hit])
            first += len(table)
        row, column = np.concatenate(rows), np.concatenate(columns)
        return sp.csr_matrix((np.ones(row.size), (row, column)), shape=(len(joins), len(self)))
