"""Kernels that compare parts of sequences together with their surroundings."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ngrams import Coded, distinct_rows, encode, gather_ranges_of, match_rows
from trelliswork.kernels._vectors import Kernel

__all__ = ["WeightedDecomposition"]


class WeightedDecomposition(Kernel):
    """Equal substrings, weighted by how much their surroundings have in common.

    ``sum over t, t' of [s_t = s_t'] sum over a of min(h_t(a), h_t'(a))``: ``s_t`` is the substring (the
    selector) that starts at ``t``, ``h_t`` counts the symbols of the window (the context) around it.

    Parameters
    ----------
    selector : int, default=1
        Length of the substrings that must be equal. The larger, the fewer places match.
    context : int, default=5
        Length of the window, which has the selector in its middle (or just left of it) and is cut
        at the ends of the sequence. The larger, the more of the surroundings is compared.

    Notes
    -----
    ``min(h, h')`` is the number of whole ``c >= 1`` that neither count falls below. So the kernel is the
    inner product of the counts of triples (selector, symbol, c), and is computed as such.

    Examples
    --------
    >>> from trelliswork.kernels import WeightedDecomposition
    >>> WeightedDecomposition(1, 3)(["abc"], ["abc", "abd", "xyz"]).tolist()
    [[7.0, 4.0, 0.0]]
    """

    def __init__(self, selector: int = 1, context: int = 5):
        self.selector = selector
        self.context = context

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Weighted numbers of common substrings."""
        coded, symbols = encode(B)
        rows, owner = self._triples(coded)
        table = distinct_rows(rows)
        right = _counts(rows, owner, table, len(coded))
        left = right
        if A is not B:
            coded_left = encode(A, symbols)[0]
            left = _counts(*self._triples(coded_left), table, len(coded_left))
        return np.asarray((left @ right.T).toarray(), dtype=np.float64)

    def diagonal(self, A: Any) -> np.ndarray:
        """Sums of squared counts."""
        coded = encode(A)[0]
        rows, owner = self._triples(coded)
        counts = _counts(rows, owner, distinct_rows(rows), len(coded))
        return np.asarray(counts.multiply(counts).sum(axis=1)).ravel()

    def _triples(self, coded: Coded) -> tuple[np.ndarray, np.ndarray]:
        """Rows (selector, symbol, level) of all places of a window, and the sequence of each."""
        for name, value in (("selector", self.selector), ("context", self.context)):
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name} must be a whole number >= 1, got {value!r}")
        if self.context < self.selector:
            raise InputError(
                f"context must be at least as long as selector, got {self.context} and {self.selector}"
            )
        n, width = int(self.selector), int(self.context)
        lengths = np.maximum(coded.lengths - n + 1, 0)
        starts = gather_ranges_of(coded.offsets[:-1], lengths)
        owner = np.repeat(np.arange(len(coded)), lengths)
        chosen = coded.values[starts[:, None] + np.arange(n)]
        places = starts[:, None] - (width - n) // 2 + np.arange(width)
        inside = (places >= coded.offsets[owner][:, None]) & (places < coded.offsets[owner + 1][:, None])
        window = np.where(inside, coded.values[np.where(inside, places, 0)] if places.size else 0, -1)
        level = np.zeros_like(window)
        for later in range(width):
            level[:, later] = (window[:, : later + 1] == window[:, later : later + 1]).sum(axis=1)
        t, column = np.nonzero(inside & (window >= 0))
        rows = np.concatenate([chosen[t], window[t, column, None], level[t, column, None]], axis=1)
        return rows, owner[t]


def _counts(rows: np.ndarray, owner: np.ndarray, table: np.ndarray, n: int) -> sp.csr_matrix:
    place = match_rows(table, rows)
    seen = place >= 0
    return sp.csr_matrix((np.ones(int(seen.sum())), (owner[seen], place[seen])), shape=(n, len(table)))
