"""Features of a transducer: input n-grams around pieces, and pieces after output contexts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._ngrams import Coded
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.dp.transducer.arrays import Arcs, Attributes
from trelliswork.structures.backoff import Contexts
from trelliswork.structures.transducer.indicators import Indicators
from trelliswork.structures.transducer.pieces import Aligned, Pieces

__all__ = ["Grams", "Windows"]

_DENSE = 1 << 20  # pairs of a context and a piece up to which each has a place in a table
_BLOCK = 4096  # samples whose features are looked up at a time


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
        self.offset, self.row_ptr, self.row_piece = offset, row_ptr, row_piece
        self.strings = strings = Ragged(strings.values.astype(np.int32, copy=False), strings.offsets)
        keys = windows.attribute_keys(offset, strings.offsets, strings.values)
        size = 1 << int(2 * keys.size + 1).bit_length()
        self._table, self._places = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64)
        windows.fill_table(keys, self._table, self._places)

    def __len__(self) -> int:
        return self.row_piece.size

    @classmethod
    def observed(
        cls, x: Coded, aligned: Aligned, pieces: Pieces, window: int, longest: int, min_count: int
    ) -> Windows:
        """Pairs that occur in given alignments at least ``min_count`` times."""
        from trelliswork.dp.transducer import windows

        n_symbols = pieces.sizes[0]
        codes = marked(x, n_symbols)
        lengths = np.array([len(i) or 1 for i in pieces.inputs], dtype=np.int64)[aligned.piece]
        lists = []
        # One start at a time: the attributes of all pieces together would be most of the memory of a fit.
        for offset in range(-window, int(lengths.max(initial=0)) + window):
            ptr, table, starts, sizes = windows.list_attributes(
                codes.values, codes.offsets, aligned.sample, aligned.start, lengths, window, longest, offset
            )
            keys, first, number = np.unique(table, return_index=True, return_inverse=True)
            pairs = number.ravel() * len(pieces) + np.repeat(aligned.piece, np.diff(ptr))
            pairs, counts = np.unique(pairs, return_counts=True)
            pairs = pairs[counts >= min_count]
            # In the order of their symbols, so that numbers do not hang on hashes.
            kept = np.unique(pairs // len(pieces))
            begins, ends = starts[first[kept]], starts[first[kept]] + sizes[first[kept]]
            rows = [codes.values[a:b].tolist() for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
            order = sorted(range(kept.size), key=lambda t: (len(rows[t]), rows[t]))
            place = np.full(keys.size, -1, dtype=np.int64)
            place[kept[order]] = np.arange(kept.size)
            pairs = np.sort(place[pairs // len(pieces)] * len(pieces) + pairs % len(pieces))
            strings = Ragged.from_list([rows[t] for t in order], np.int32)
            degrees = np.bincount(pairs // len(pieces), minlength=kept.size)
            lists.append((np.full(kept.size, offset), strings, degrees, pairs))
        return cls(
            window,
            longest,
            n_symbols,
            np.concatenate([offsets for offsets, *_ in lists]),
            Ragged(
                np.concatenate([strings.values for _, strings, *_ in lists]),
                offsets_of(np.concatenate([strings.lengths for _, strings, *_ in lists])),
            ),
            offsets_of(np.concatenate([degrees for *_, degrees, _ in lists])),
            np.concatenate([pairs for *_, pairs in lists]) % len(pieces),
        )

    def matrix(self, x: Coded, arcs: Arcs, max_in: int) -> Indicators:
        """Features of arcs, shape (n_arcs, n_features)."""
        from trelliswork.dp.transducer import windows

        codes = marked(x, self.n_symbols)
        strings = codes.values, codes.offsets
        attributes = Attributes(
            self._table, self._places, self.row_ptr, self.row_piece, self.window, self.longest
        )
        n, counts = len(x), np.zeros(arcs.piece.size, dtype=np.int64)
        # A few samples at a time: an array that grows would be in memory twice or thrice.
        blocks = [
            windows.arc_features(
                strings, x.offsets, arcs, max_in, attributes, (a, min(a + _BLOCK, n)), counts
            )
            for a in range(0, n, _BLOCK)
        ]
        return Indicators(offsets_of(counts), np.concatenate([np.zeros(0, np.int32), *blocks]), len(self))


class Grams:
    """Pieces, and what they are written as, after what was written before them.

    The state before a piece is the context of the last pieces; it also tells the last output symbols.

    Parameters
    ----------
    order : int
        Most pieces that write something, and most output symbols, of a context.
    contexts : Contexts
        Contexts of pieces.
    spoken : Contexts
        Contexts of output symbols.
    pieces : Pieces
        The pieces.
    joint, ngram, output : ndarray of shape (n, 2)
        Features: pairs of a state and a piece, of an output context and a piece, and of an output context
        and a writing (see ``Pieces``), all sorted.
    """

    def __init__(
        self,
        order: int,
        contexts: Contexts,
        spoken: Contexts,
        pieces: Pieces,
        joint: np.ndarray,
        ngram: np.ndarray,
        output: np.ndarray,
    ):
        self.order, self.contexts, self.spoken, self.pieces = order, contexts, spoken, pieces
        self.tables = joint, ngram, output
        number = {context: t for t, context in enumerate(spoken.contexts)}
        self.spoken_of = np.array(
            [_longest_known(_spoken(context, pieces, order), number) for context in contexts.contexts],
            dtype=np.int64,
        )
        self._places: list[Any] = [None] * 3  # number of every pair, where there are few

    def __len__(self) -> int:
        return sum(map(len, self.tables))

    @property
    def lengths(self) -> np.ndarray:
        """Length of the context of every feature."""
        sizes = [np.array([len(c) for c in a.contexts], dtype=np.int64) for a in (self.contexts, self.spoken)]
        return np.concatenate([sizes[min(k, 1)][table[:, 0]] for k, table in enumerate(self.tables)])

    @classmethod
    def observed(cls, pieces: Pieces, aligned: Aligned, n: int, order: int, min_count: int) -> Grams:
        """Pairs that occur in the alignments of ``n`` samples, with all shorter contexts."""
        from trelliswork.dp.transducer.paths import states_before

        rows = Coded(aligned.piece, aligned.offsets(n))
        silent = np.diff(pieces.out_ptr) == 0
        contexts = Contexts.observed(rows, len(pieces), order, min_count, silent)
        spoken = {_spoken(context, pieces, order) for context in contexts.contexts}
        known = Contexts(pieces.sizes[1], [c[k:] for c in spoken for k in range(len(c))])
        grams = cls(order, contexts, known, pieces, *np.zeros((3, 0, 2), dtype=np.int64))
        states, piece = states_before(
            aligned.offsets(n), aligned.piece, contexts.start, contexts.step, pieces.end
        )
        tables = []
        for width, chain, column in grams._families(states, piece):
            keys = np.unique(
                np.concatenate(
                    [
                        np.zeros(0, dtype=np.int64),
                        *(state[live] * width + column[live] for state, live in chain),
                    ]
                )
            )
            tables.append(np.stack([keys // width, keys % width], axis=1))
        return cls(order, contexts, known, pieces, *tables)

    def _families(self, states: np.ndarray, piece: np.ndarray) -> list[tuple[int, Any, np.ndarray]]:
        """For each kind of feature: number of columns, contexts from long to short, column."""
        spoken = self.spoken_of[states]
        n, writing = len(self.pieces), self.pieces.writing[piece]
        return [
            (n, _suffixes(self.contexts, states, False), piece),
            (n, _suffixes(self.spoken, spoken, True), piece),
            (len(self.pieces.writings) + 1, _suffixes(self.spoken, spoken, True), writing),
        ]

    def matrix(self, joins: np.ndarray) -> Indicators:
        """Features of joins (state, piece, ...), shape (n_joins, n_features)."""
        rows, columns = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
        first = 0
        families = self._families(joins[:, 0], joins[:, 1])
        for kind, (table, (width, chain, column)) in enumerate(zip(self.tables, families, strict=True)):
            keys = table[:, 0] * width + table[:, 1]
            n_keys = width * len((self.contexts if kind == 0 else self.spoken).contexts)
            if self._places[kind] is None and n_keys <= _DENSE:
                self._places[kind] = np.full(n_keys, -1, dtype=np.int32)
                self._places[kind][keys] = np.arange(keys.size)
            for state, live in chain:
                wanted = state * width + column
                if self._places[kind] is not None:
                    place = self._places[kind][wanted]
                    hit = np.flatnonzero(live & (place >= 0))
                else:
                    place = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
                    hit = np.flatnonzero(live & (keys[place] == wanted)) if keys.size else place[:0]
                rows.append(hit.astype(np.int32))
                columns.append((first + place[hit]).astype(np.int32))
            first += len(table)
        row, column = np.concatenate(rows), np.concatenate(columns)
        placed = sp.csr_matrix((np.ones(row.size, np.int8), (row, column)), shape=(len(joins), len(self)))
        return Indicators(placed.indptr.astype(np.int64), placed.indices, len(self))


def _suffixes(contexts: Contexts, states: np.ndarray, empty: bool) -> Any:
    """States and all their suffixes, each with a mask of those that have one so short; the empty one only
    where asked for.
    """
    live = np.ones(states.size, dtype=bool) if empty else states != 0
    while live.any():
        yield states, live
        live = live & (states != 0)
        states = contexts.suffix[states]
        if not empty:
            live &= states != 0


def _spoken(context: tuple[int, ...], pieces: Pieces, order: int) -> tuple[int, ...]:
    """Last output symbols of a context of pieces, with the mark of the start where they reach it."""
    symbols: list[int] = []
    for piece in context:
        symbols += [pieces.sizes[1]] if piece == len(pieces) else pieces.outputs[piece]
    return tuple(symbols[-order:]) if order else ()


def _longest_known(context: tuple[int, ...], number: dict[tuple[int, ...], int]) -> int:
    while context not in number:
        context = context[1:]
    return number[context]
