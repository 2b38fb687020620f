"""Pieces worth proposing at a place of an input, by what was seen in its context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ngrams import Coded
from trelliswork._ragged import offsets_of
from trelliswork._stored import fitting, lengths, numbers, whole
from trelliswork.structures.transducer.features import marked
from trelliswork.structures.transducer.pieces import Aligned, Pieces

__all__ = ["Shortlist"]

WIDTH = 2  # symbols on either side of a place
COMMON = 10  # times that a context must occur: rarer ones know their own pieces too well

_STORED = {
    "listed_keys": whole("contexts", rising=True),
    "listed_row_piece": whole("entries", high="pieces"),
    "listed_row_count": numbers("entries", low=0),
    "listed_row_lengths": lengths("contexts", "entries"),
}


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
    def observed(cls, x: Coded, aligned: Aligned, pieces: Pieces) -> Shortlist:
        """Counts in given alignments."""
        from trelliswork.dp.transducer.shortlist import context_keys

        codes = marked(x, pieces.sizes[0])
        by_width = [
            context_keys(codes.values, codes.offsets, aligned.sample, aligned.start, k)
            for k in range(WIDTH + 1)
        ]
        key, piece = np.concatenate(by_width), np.tile(aligned.piece, WIDTH + 1)
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
        stored = fitting(state, _STORED, "pieces of contexts", pieces=len(pieces))
        row_ptr = offsets_of(stored["listed_row_lengths"])
        count = stored["listed_row_count"]
        if not np.all(count > 0):
            raise InputError("the stored pieces of contexts are damaged: one was never seen")
        return cls(stored["listed_keys"], row_ptr, stored["listed_row_piece"], count)

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
