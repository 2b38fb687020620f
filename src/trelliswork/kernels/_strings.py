"""Kernels of strings, symbol lists and sequences of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ngrams import Coded, count_matrix, distinct_rows, encode, ngram_windows, padded
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.kernels._vectors import Kernel, Polynomial

__all__ = ["NGram", "NGramMap", "Spectrum", "VectorNGrams", "as_vectors"]

_DENSE_COLUMNS = 1024  # up to here a dense product of counts is the faster one
_LONGEST = 1000  # symbols of a substring: memory and time grow with each length
_PAIRS = 1 << 24  # vector pairs that are compared at a time


class NGramMap:
    """Explicit n-gram counts: an alphabet, and the n-grams that occur in some strings.

    Parameters
    ----------
    symbols : list
        The alphabet.
    tables : list of ndarray of shape (n_ngrams, n)
        Coded n-grams, one table for each n.
    boundary : bool
        Whether strings are padded.
    """

    def __init__(self, symbols: list[Any], tables: list[np.ndarray], boundary: bool):
        self.symbols, self.tables, self.boundary = symbols, tables, boundary

    @property
    def n_features(self) -> int:
        """Number of n-grams."""
        return sum(map(len, self.tables))

    @property
    def names(self) -> list[Any]:
        """The n-grams: strings where all symbols are letters, else tuples; ``^`` and ``$`` mark the ends."""
        letters = [*self.symbols, "^", "$"]
        plain = all(isinstance(s, str) and len(s) == 1 for s in self.symbols)
        grams = [tuple(letters[c] for c in row) for table in self.tables for row in table.tolist()]
        return ["".join(gram) for gram in grams] if plain else grams

    def transform(self, X: Any) -> sp.csr_matrix:
        """Counts of the n-grams in each string."""
        return self.counts(encode(X, self.symbols)[0])

    def counts(self, coded: Coded) -> sp.csr_matrix:
        """Counts of the n-grams in coded strings."""
        start, end = len(self.symbols), len(self.symbols) + 1
        blocks = []
        for table in self.tables:
            n = table.shape[1]
            text = padded(coded, n, start, end) if self.boundary else coded
            blocks.append(count_matrix(text, table))
        return sp.hstack(blocks, format="csr") if len(blocks) != 1 else blocks[0]

    def state(self) -> dict[str, Any]:
        """Plain values from which the map can be rebuilt."""
        return {"symbols": self.symbols, "tables": list(self.tables), "boundary": self.boundary}


class Spectrum(Kernel):
    """Common substrings: ``sum over u of |x|_u |x'|_u``, for all lengths of ``u`` in a range.

    Parameters
    ----------
    shortest, longest : int, default=1 and 3
        Lengths of the substrings. Longer substrings ask for more agreement.
    boundary : bool, default=False
        Mark the ends of the strings, so that substrings know whether they are first or last.

    Examples
    --------
    >>> from trelliswork.kernels import Spectrum
    >>> Spectrum(1, 2)(["abab"], ["ab", "ba", "x"]).tolist()
    [[6.0, 5.0, 0.0]]
    """

    def __init__(self, shortest: int = 1, longest: int = 3, *, boundary: bool = False):
        self.shortest = shortest
        self.longest = longest
        self.boundary = boundary

    def _lengths(self) -> range:
        for name, value in (("shortest", self.shortest), ("longest", self.longest)):
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name} must be a whole number >= 1, got {value!r}")
        if self.longest < self.shortest:
            raise InputError(f"longest must be >= shortest, got {self.longest} and {self.shortest}")
        if self.longest > _LONGEST:
            raise InputError(
                f"substrings of more than {_LONGEST:,} symbols are not counted, got {self.longest}"
            )
        return range(self.shortest, self.longest + 1)

    def map(self, X: Any) -> NGramMap:
        """Explicit features, for the n-grams of ``X``.

        Parameters
        ----------
        X : list of strings or sequences
            Strings whose substrings become features.
        """
        coded, symbols = encode(X)
        return self._map(coded, symbols)

    def _map(self, coded: Coded, symbols: list[Any]) -> NGramMap:
        tables = []
        for n in self._lengths():
            text = padded(coded, n, len(symbols), len(symbols) + 1) if self.boundary else coded
            tables.append(distinct_rows(ngram_windows(text, n)[0]))
        return NGramMap(symbols, tables, bool(self.boundary))

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Numbers of common substrings."""
        coded, symbols = encode(B)
        features = self._map(coded, symbols)
        right = features.counts(coded)
        left = right if A is B else features.transform(A)
        if right.shape[1] <= _DENSE_COLUMNS:
            dense = right.toarray()
            return (dense if A is B else left.toarray()) @ dense.T
        return np.asarray((left @ right.T).toarray(), dtype=np.float64)

    def diagonal(self, A: Any) -> np.ndarray:
        """Sums of squared counts."""
        counts = self.map(A).transform(A)
        return np.asarray(counts.multiply(counts).sum(axis=1)).ravel()


class NGram(Spectrum):
    """Common n-grams: ``sum over |u| = n of |x|_u |x'|_u``.

    Parameters
    ----------
    n : int, default=2
        Length. The larger, the more must agree for two strings to be similar.
    boundary : bool, default=False
        Mark the ends of the strings.

    Examples
    --------
    >>> from trelliswork.kernels import NGram
    >>> NGram(2)(["banana"], ["ananas", "b"]).tolist()
    [[8.0, 0.0]]
    """

    def __init__(self, n: int = 2, *, boundary: bool = False):
        self.n = n
        self.boundary = boundary

    def _lengths(self) -> range:
        if not isinstance(self.n, (int, np.integer)) or isinstance(self.n, bool) or self.n < 1:
            raise InputError(f"n must be a whole number >= 1, got {self.n!r}")
        return range(self.n, self.n + 1)


class VectorNGrams(Kernel):
    """Sequences of vectors: the sum of a kernel over all pairs of n-grams of vectors.

    An n-gram is the concatenation of ``n`` consecutive vectors; shorter sequences have none.

    Parameters
    ----------
    n : int, default=1
        Vectors in an n-gram. The larger, the more must agree.
    kernel : kernel, default=None
        Kernel of rows; ``Polynomial(2)`` when None.
    width : float or None, default=None
        Weigh pairs at positions i and j by ``exp(-(i - j)^2 / (2 width^2))``; None weighs all alike. The
        larger, the more distant positions count.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.kernels import VectorNGrams
    >>> x = [np.array([[1.0], [2.0]]), np.array([[3.0]])]
    >>> VectorNGrams()(x, x).tolist()  # (1 + a b)^2 over all pairs
    [[47.0, 65.0], [65.0, 100.0]]
    """

    def __init__(self, n: int = 1, kernel: Any = None, *, width: float | None = None):
        self.n = n
        self.kernel = kernel
        self.width = width

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Sums over pairs."""
        return self._sums(A, B, _PAIRS)

    def _sums(self, A: Any, B: Any, max_pairs: int) -> np.ndarray:
        """Sums over pairs, of which about ``max_pairs`` are in memory at a time."""
        base = Polynomial(2) if self.kernel is None else self.kernel
        left, right = self._windows(A), self._windows(B)
        out = np.zeros((len(left), len(right)))
        filled = np.flatnonzero(right.lengths)
        if not filled.size:
            return out
        if self.width is not None and not (np.isfinite(self.width) and self.width > 0):
            raise InputError(f"width must be a finite number > 0 or None, got {self.width!r}")
        columns = right.offsets[:-1][filled]
        here = _positions(right)
        step = max(1, max_pairs // max(right.values.shape[0], 1))
        first = 0
        while first < len(left):  # as many left sequences at a time as memory allows
            last = int(np.searchsorted(left.offsets, left.offsets[first] + step, side="right")) - 1
            last = min(max(last, first + 1), len(left))
            some = left[first:last]
            rows = np.flatnonzero(some.lengths)
            if rows.size:
                pairs = base(some.values, right.values)
                if self.width is not None:
                    pairs *= _nearness(_positions(some), here, self.width)
                sums = np.add.reduceat(pairs, columns, axis=1)
                out[np.ix_(first + rows, filled)] = np.add.reduceat(sums, some.offsets[:-1][rows], axis=0)
            first = last
        return out

    def _windows(self, X: Any) -> Ragged:
        if not isinstance(self.n, (int, np.integer)) or self.n < 1:
            raise InputError(f"n must be a whole number >= 1, got {self.n!r}")
        ragged = as_vectors(X)
        if self.n == 1:
            return ragged
        positions = Coded(np.arange(len(ragged.values)), ragged.offsets)
        rows, owner = ngram_windows(positions, int(self.n))
        values = ragged.values[rows].reshape(len(rows), ragged.values.shape[1] * int(self.n))
        return Ragged(values, offsets_of(np.bincount(owner, minlength=len(ragged))))


def _positions(X: Ragged) -> np.ndarray:
    return np.arange(int(X.offsets[-1])) - np.repeat(X.offsets[:-1], X.lengths)


def _nearness(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    every = np.arange(max(a.max(initial=0), b.max(initial=0)) + 1)
    table = np.exp(-0.5 * ((every[:, None] - every) / width) ** 2)  # positions are few, pairs are many
    return table[:, b][a]


def as_vectors(X: Any) -> Ragged:
    """Sequences of vectors, checked: one width, finite numbers."""
    if isinstance(X, Ragged):
        values, offsets = np.asarray(X.values, dtype=np.float64), X.offsets
        if values.ndim != 2:
            raise InputError(f"sample 0: expected vectors, got values of shape {values.shape}")
    else:
        arrays = []
        width = None
        for i, x in enumerate(X):
            try:
                array = np.asarray(x, dtype=np.float64)
            except (TypeError, ValueError):
                raise InputError(
                    "expected an array of numbers of shape (n, n_features)",
                    sample=i,
                ) from None
            if array.size == 0:
                array = array.reshape(0, width or 0)
            elif array.ndim != 2:
                raise InputError(
                    f"expected an array of shape (n, n_features), got shape {array.shape}",
                    sample=i,
                )
            elif width is None:
                width = array.shape[1]
            elif array.shape[1] != width:
                raise InputError(f"vectors of {array.shape[1]} numbers; expected {width}", sample=i)
            arrays.append(array)
        offsets = offsets_of([len(a) for a in arrays])
        filled = [a for a in arrays if len(a)]
        values = np.concatenate(filled) if filled else np.zeros((0, width or 0))
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        sample = int(np.searchsorted(offsets, bad, side="right")) - 1
        raise InputError("a vector holds NaN or infinity", sample=sample)
    return Ragged(values, offsets)
