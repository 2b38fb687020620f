"""Features that are there or not: sparse matrices of ones, of which only the places are kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._ragged import gather_ranges, offsets_of

__all__ = ["Indicators"]


class Indicators(NamedTuple):
    """Matrix of zeros and ones in the CSR form without its values.

    Attributes
    ----------
    indptr : ndarray of int, shape (n_rows + 1,)
        Where the entries of each row begin.
    indices : ndarray of int32
        Columns of the entries.
    n_columns : int
        Number of columns.
    """

    indptr: np.ndarray
    indices: np.ndarray
    n_columns: int

    def times(self, w: np.ndarray) -> np.ndarray:
        """Product with a vector, and a zero after it for whatever has no row."""
        from trelliswork.dp.rows import sums_at

        out = np.zeros(self.indptr.size)
        sums_at(self.indptr, self.indices, np.ascontiguousarray(w), out)
        return out

    def turned_times(self, values: np.ndarray) -> np.ndarray:
        """Product of the transpose with a vector."""
        from trelliswork.dp.rows import spread_to

        out = np.zeros(self.n_columns)
        spread_to(self.indptr, self.indices, values, out)
        return out

    def take(self, rows: np.ndarray) -> Indicators:
        """Some of the rows."""
        lengths = np.diff(self.indptr)[rows]
        return Indicators(offsets_of(lengths), self.indices[gather_ranges(self.indptr, rows)], self.n_columns)

    def csr(self) -> sp.csr_matrix:
        """The same with its values."""
        shape = self.indptr.size - 1, self.n_columns
        return sp.csr_matrix((np.ones(self.indices.size), self.indices, self.indptr), shape=shape)
