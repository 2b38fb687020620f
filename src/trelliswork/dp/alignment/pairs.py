"""Arrays that the recursions over alignments are called with, grouped; free of compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Expected", "Law", "Pair", "Pairs"]


class Pairs(NamedTuple):
    """Pairs of sequences, one after the other."""

    first: np.ndarray
    first_ptr: np.ndarray
    second: np.ndarray
    second_ptr: np.ndarray
    partner: np.ndarray  # residue of the second sequence that belongs to one of the first, or -1
    cell_ptr: np.ndarray  # where the cells of each pair begin


class Law(NamedTuple):
    """Scores of all pairs, as in ``dp/alignment/viterbi.py``, and flags."""

    tables: np.ndarray  # (1 or n_pairs, K, K)
    gaps: np.ndarray  # (1 or n_pairs, 2)
    miss: np.ndarray
    cell: np.ndarray
    flags: int


class Pair(NamedTuple):
    """One pair with its scores."""

    first: np.ndarray
    second: np.ndarray
    table: np.ndarray
    gap: np.ndarray
    miss: np.ndarray
    partner: np.ndarray
    cell: np.ndarray
    flags: int


class Expected(NamedTuple):
    """Where the expected use of the parts goes.

    ``counts`` (1 or n, K, K) and ``gaps`` (1 or n, 2) are added to. ``missed`` (residues of all first
    sequences) gets the probability that a residue is not matched with its partner, and ``posterior``, unless
    empty, that of the match of every cell.
    """

    counts: np.ndarray
    gaps: np.ndarray
    missed: np.ndarray
    posterior: np.ndarray
