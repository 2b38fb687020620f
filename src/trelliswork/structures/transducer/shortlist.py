"""Pieces worth proposing at a place of an input, by what was seen in its context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ngrams import Coded
from trelliswork._ragged import offsets_of
from trelliswork.structures.transducer.features import marked
from trelliswork.structures.transducer.pieces import Aligned, Pieces

__all__ = ["Shortlist"]

WIDTH = 2  # symbols on either side of a place
COMMON = 10  # times that a context must occur: rarer ones know their own pieces too well


class Shortlist:
    """Counts of pieces in contexts of their places.

    Parameters
    ----------
    keys : ndarray of shape (n_contexts,)
        Sorted keys of the contexts, see ``dp/transducer/shortlist.py``.
    row_ptr : ndarray of shape (n_contexts + 1,)
        Where the pieces of each context begin.
    row_piece, row_count : ndarray
        Pieces, in ascending order, and how often each occurs.
    """

    def __init__(self, keys: np.ndarray, row_ptr: np.ndarray, row_piece: np.ndarray, row_count: np.ndarray):
        self.keys, self.row_ptr, self.row_piece, self.row_count = keys, row_ptr, row_piece, row_count

    @classmethod
    def observed(cls, x: Coded, found: Aligned, pieces: Pieces) -> Shortlist:
        """Counts in given alignments."""
        from trelliswork.dp.transducer.shortlist import context_keys

        codes = marked(x, pieces.sizes[0])
        by_width = [
            context_keys(codes.values, codes.offsets, found.sample, found.start, k) for k in range(WIDTH + 1)
        ]
        key, piece = np.concatenate(by_width), np.tile(found.piece, WIDTH + 1)
        keys, row, times = np.unique(key, return_inverse=True, return_counts=True)
        common = (keys >= 0) & (times >= COMMON)
        place = np.cumsum(common) - 1
        good = common[row.ravel()]
        keys, row, piece = keys[common], place[row.ravel()[good]], piece[good]
        pairs, counts = np.unique(row * len(pieces) + piece, return_counts=True)
        row_ptr = offsets_of(np.bincount(pairs // len(pieces), minlength=keys.size))
        return cls(keys, row_ptr, pairs % len(pieces), counts.astype(np.float64))

    def state(self) -> dict[str, np.ndarray]:
        """Plain arrays."""
        return {
            "listed_keys": self.keys,
            "listed_row_lengths": np.diff(self.row_ptr),
            "listed_row_piece": self.row_piece,
            "listed_row_count": self.row_count,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], pieces: Pieces) -> Shortlist:
        """Inverse of :meth:`state`; a file is not trusted."""
        keys, row_piece = (
            np.asarray(state[name], dtype=np.int64) for name in ("listed_keys", "listed_row_piece")
        )
        row_ptr, row_count = (
            offsets_of(state["listed_row_lengths"]),
            np.asarray(state["listed_row_count"], dtype=float),
        )
        fits = row_ptr.size == keys.size + 1 and row_ptr[-1] == row_piece.size == row_count.size
        if not fits or np.any(np.diff(row_ptr) < 0) or np.any(row_piece < 0):
            raise InputError("a stored transducer is damaged")
        if np.any(row_piece >= len(pieces)) or not np.all(row_count > 0) or np.any(np.diff(keys) <= 0):
            raise InputError("a stored transducer is damaged")
        return cls(keys, row_ptr, row_piece, row_count)

    def kept(self, x: Coded, n_symbols: int, ptr: np.ndarray, piece: np.ndarray, least: float) -> np.ndarray:
        """Mask of the arcs (``ptr``, ``piece``) that are proposed."""
        from trelliswork.dp.transducer.shortlist import proposed

        codes = marked(x, n_symbols)
        return proposed(
            codes.values,
            codes.offsets,
            x.offsets,
            ptr,
            piece,
            WIDTH,
            self.keys,
            self.row_ptr,
            self.row_piece,
            self.row_count,
            least,
        )
