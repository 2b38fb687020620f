"""Lists of sequences of unequal length, stored as one array and offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["Ragged", "gather_ranges", "offsets_of"]


def offsets_of(lengths: Any) -> np.ndarray:
    """Offsets (0, l0, l0 + l1, ...) of pieces of the given lengths."""
    lengths = np.asarray(lengths, dtype=np.int64)
    out = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=out[1:])
    return out


def gather_ranges(offsets: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Positions ``offsets[i] .. offsets[i + 1] - 1`` for every ``i`` of ``index``, concatenated."""
    lengths = (offsets[1:] - offsets[:-1])[index]
    starts = offsets[:-1][index]
    out_offsets = offsets_of(lengths)
    total = int(out_offsets[-1])
    return np.arange(total, dtype=np.int64) + np.repeat(starts - out_offsets[:-1], lengths)


class Ragged:
    """Sequences of unequal length as ``values`` (all rows, stacked) and ``offsets``.

    Sequence ``i`` is ``values[offsets[i]:offsets[i + 1]]``. Indexing with an
    integer gives that sequence; with a slice, an index array or a boolean mask it
    gives another ``Ragged``, which is what scikit-learn's splitters need.

    Parameters
    ----------
    values : ndarray or scipy sparse matrix of shape (n_tokens, ...)
        Rows of all sequences, one after the other. A list becomes an array of objects,
        a sparse matrix CSR; anything else that can be sliced and indexed by an array of
        rows will do as it is.
    offsets : array-like of int, shape (n_sequences + 1,)
        Where each sequence starts; the first entry is 0, the last ``n_tokens``.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork import Ragged
    >>> r = Ragged(np.arange(5), [0, 2, 5])
    >>> len(r), r[1].tolist(), r[[1]].offsets.tolist()
    (2, [2, 3, 4], [0, 3])
    """

    def __init__(self, values: Any, offsets: Any):
        offsets = np.asarray(offsets, dtype=np.int64)
        if isinstance(values, (list, tuple)):
            values = np.fromiter(values, dtype=object, count=len(values))
        elif hasattr(values, "tocsr"):
            values = values.tocsr()
        n_rows = values.shape[0] if hasattr(values, "shape") else len(values)
        if offsets.ndim != 1 or offsets.size == 0 or offsets[0] != 0 or offsets[-1] != n_rows:
            raise ValueError(
                f"offsets must run from 0 to the number of rows ({n_rows}); got {_short(offsets.tolist())}"
            )
        if (offsets[1:] < offsets[:-1]).any():
            raise ValueError("offsets must not decrease")
        self.values = values
        self.offsets = offsets

    @classmethod
    def from_list(cls, sequences: Any, dtype: Any = None) -> Ragged:
        """Stack a list of arrays (or lists) of unequal length.

        Parameters
        ----------
        sequences : list of array-like
            One array or list per sample.
        dtype : NumPy type or None
            Type of the values; by default the one that they have.

        Examples
        --------
        >>> from trelliswork import Ragged
        >>> Ragged.from_list([[1, 2], [3]]).values.tolist()
        [1, 2, 3]
        """
        arrays = [np.asarray(s, dtype=dtype) for s in sequences]
        offsets = offsets_of([len(a) for a in arrays])
        filled = [a for a in arrays if len(a)] or arrays[:1]
        values = np.concatenate(filled) if filled else np.zeros(0, dtype=dtype or np.float64)
        return cls(values, offsets)

    @property
    def lengths(self) -> np.ndarray:
        """Length of every sequence."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def shape(self) -> tuple[int]:
        """``(n_sequences,)``, so that array-minded callers count samples rightly."""
        return (len(self),)

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
            index = index[0]  # scikit-learn's splitters ask for X[rows, ...]
        if isinstance(index, (int, np.integer)):
            i = int(index)
            if not -len(self) <= i < len(self):
                raise IndexError(f"sequence {i} of {len(self)}")
            i %= len(self)
            return self.values[self.offsets[i] : self.offsets[i + 1]]
        if isinstance(index, slice):
            index = np.arange(len(self))[index]
        index = self._numbers(np.asarray(index))
        rows = gather_ranges(self.offsets, index)
        return Ragged(self.values[rows], offsets_of(self.lengths[index]))

    def _numbers(self, index: np.ndarray) -> np.ndarray:
        """Sequence numbers of a mask or of an array of numbers that may count from the end."""
        n = len(self)
        if index.dtype == bool:
            if index.shape != (n,):
                raise IndexError(f"mask of shape {index.shape} for {n} sequences")
            return np.flatnonzero(index)
        if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
            raise IndexError(
                f"expected a list of whole numbers or a mask, got {index.dtype} of shape {index.shape}"
            )
        if index.size and not (-n <= index.min() and index.max() < n):
            raise IndexError(f"sequences {index.min()} to {index.max()} of {n}")
        index = index.astype(np.int64)
        return np.where(index < 0, index + n, index)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Ragged({len(self)} sequences, {int(self.offsets[-1])} rows)"


def _short(items: list[Any]) -> str:
    return str(items) if len(items) <= 6 else f"[{', '.join(map(str, items[:3]))}, ..., {items[-1]}]"
