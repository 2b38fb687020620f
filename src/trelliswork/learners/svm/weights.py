"""The solution of the dual, as shards of samples see it: a weight vector, or a kernel expansion."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.kernels import Kernel
from trelliswork.kernels._compose import similarities
from trelliswork.structures.abilities import RowView

__all__ = ["Expansion", "KernelWeights", "LinearWeights", "Weights"]

_NO_KERNEL = np.zeros((0, 0))


class Weights(Protocol):
    """The solution, as the shards see it."""

    repeats: int  # visits of a shard before the others are told

    def view(self, number: int) -> np.ndarray:
        """Weights in the features of the batch of a shard."""

    def work(self, number: int) -> np.ndarray:
        """What planes of a shard are multiplied with; changes in place count."""

    def place(self, number: int, indices: np.ndarray) -> np.ndarray:
        """Coordinates of features in :meth:`work`."""

    def metric(self, number: int) -> tuple[np.ndarray, int, np.ndarray]:
        """Kernel matrix of the rows of a shard, number of columns, place for changes of the solution."""

    def settle(self, number: int) -> None:
        """Tell the other shards about the changes of one."""

    def squared_norm(self) -> float:
        """``|w|^2``."""


class LinearWeights:
    """One weight vector.

    Parameters
    ----------
    n_features : int
        Its length.
    """

    repeats = 1

    def __init__(self, n_features: int):
        self.w = np.zeros(n_features)

    def view(self, number: int) -> np.ndarray:
        """The weights."""
        return self.w

    work = view

    def place(self, number: int, indices: np.ndarray) -> np.ndarray:
        """The features themselves."""
        return indices

    def metric(self, number: int) -> tuple[np.ndarray, int, np.ndarray]:
        """No kernel."""
        return _NO_KERNEL, 1, np.zeros(0)

    def settle(self, number: int) -> None:
        """Nothing to do: all shards share the vector."""

    def squared_norm(self) -> float:
        """``|w|^2``."""
        return float(self.w @ self.w)


class Expansion(NamedTuple):
    """A kernel model.

    Attributes
    ----------
    rows : ndarray or csr_matrix
        Rows with a coefficient.
    coef : ndarray of shape (n_rows, n_columns)
        Their coefficients.
    rest : ndarray
        Weights of the features without rows.
    """

    rows: Any
    coef: np.ndarray
    rest: np.ndarray

    @classmethod
    def of(cls, view: RowView, w: np.ndarray) -> Expansion:
        """From coefficients of the features of a view."""
        stop = view.rows.shape[0] * view.n_columns
        table = w[:stop].reshape(-1, view.n_columns)
        used = np.flatnonzero(table.any(axis=1))
        return cls(view.rows[used], table[used], w[stop:].copy())

    def weights(self, view: RowView, kernel: Kernel, rows_at_a_time: int = 2048) -> np.ndarray:
        """The model in the features of a view, which bounds how many kernel values there are at a time."""
        n_other = view.batch.n_features - view.rows.shape[0] * view.n_columns
        if self.coef.shape[1] != view.n_columns or self.rest.size != n_other:
            raise InputError("the kernel model is damaged: its coefficients do not fit its labels")
        values = np.empty((view.rows.shape[0], view.n_columns))
        for first in range(0, values.shape[0], rows_at_a_time):
            part = slice(first, first + rows_at_a_time)
            values[part] = similarities(kernel, view.rows[part], self.rows, view.first[part]) @ self.coef
        return np.concatenate([values.ravel(), self.rest])


class KernelWeights:
    """Coefficients of rows, and their products with the rows of every shard.

    Both are kept column by column (label by label), so that a change runs along a row of
    the kernel matrix; the features of a batch go row by row.

    Parameters
    ----------
    views : list of RowView
        Rows of every shard.
    samples : list of ndarray
        Samples of every shard, for messages.
    kernel : Kernel
        Similarity of rows.
    cache_mb : float
        Kernel matrices are kept up to this size.
    """

    def __init__(self, views: list[RowView], samples: list[np.ndarray], kernel: Kernel, cache_mb: float):
        self.repeats = 8 if len(views) > 1 else 1  # telling the others is what costs
        self.rows = [view.rows for view in views]
        self._names = [part[view.first] for part, view in zip(samples, views, strict=True)]
        self.n_columns = views[0].n_columns
        self.kernel = kernel
        pairs = [rows.shape[0] * self.n_columns for rows in self.rows]
        n_rest = views[0].batch.n_features - pairs[0]
        self.solution = [np.zeros(n + n_rest) for n in pairs]
        self.rest = np.zeros(n_rest)
        self._products = [np.zeros(n + n_rest) for n in pairs]
        self._changes = [np.zeros(n + n_rest) for n in pairs]
        self._room = int(cache_mb * 2**20)
        self._cache: dict[tuple[int, int], np.ndarray] = {}

    def _values(self, a: int, b: int, used: np.ndarray | slice = slice(None)) -> np.ndarray:
        return similarities(self.kernel, self.rows[a][used], self.rows[b], self._names[a][used])

    def _matrix(self, a: int, b: int) -> np.ndarray | None:
        """Kernel matrix of the rows of two shards, ``a <= b``, if there is room for it."""
        matrix = self._cache.get((a, b))
        size = 8 * self.rows[a].shape[0] * self.rows[b].shape[0]
        # First come, first kept: shards are visited in turn, where the last used is the worst to drop.
        if matrix is None and (a == b or size <= self._room):
            matrix = np.ascontiguousarray(self._values(a, b))
            if size <= self._room:
                self._room -= size
                self._cache[a, b] = matrix
        return matrix

    def _spread(self, number: int, other: int, table: np.ndarray) -> np.ndarray:
        """Products of the rows of another shard with coefficients of the rows of one."""
        matrix = self._matrix(min(number, other), max(number, other))
        if matrix is not None:
            return table @ (matrix if number < other else matrix.T)
        used = np.flatnonzero(table.any(axis=0))
        return table[:, used] @ self._values(number, other, used)

    def _table(self, values: np.ndarray) -> np.ndarray:
        """Part of a vector that belongs to rows, shape (n_columns, n_rows)."""
        return values[: values.size - self.rest.size].reshape(self.n_columns, -1)

    def view(self, number: int) -> np.ndarray:
        """Products of the solution with the rows of a shard, then the weights without rows."""
        return np.concatenate([self._table(self._products[number]).T.ravel(), self.rest])

    def work(self, number: int) -> np.ndarray:
        """The same, label by label."""
        products = self._products[number]
        products[products.size - self.rest.size :] = self.rest
        return products

    def place(self, number: int, indices: np.ndarray) -> np.ndarray:
        """From row by row to label by label."""
        n_rows = self.rows[number].shape[0]
        row, column = np.divmod(indices, self.n_columns)
        return np.where(indices < n_rows * self.n_columns, column * n_rows + row, indices)

    def metric(self, number: int) -> tuple[np.ndarray, int, np.ndarray]:
        """Kernel matrix of the shard."""
        matrix = self._matrix(number, number)
        assert matrix is not None
        return matrix, self.n_columns, self._changes[number]

    def settle(self, number: int) -> None:
        """Add the changes of one shard to the products of the others."""
        change = self._changes[number]
        if not change.any():
            return
        n_rest = self.rest.size
        self.rest += change[change.size - n_rest :]
        table = self._table(change)
        for other, products in enumerate(self._products):
            if other != number:
                products[: products.size - n_rest] += self._spread(number, other, table).ravel()
        self.solution[number] += change
        change[:] = 0.0

    def squared_norm(self) -> float:
        """Norm in the space of the kernel."""
        total = float(self.rest @ self.rest)
        n_rest = self.rest.size
        for coefficients, products in zip(self.solution, self._products, strict=True):
            stop = coefficients.size - n_rest
            total += float(coefficients[:stop] @ products[:stop])
        return total

    def stretch(self, factor: float) -> None:
        """Multiply the solution by a number."""
        if factor != 1.0:
            self.rest *= factor
            for values in (*self.solution, *self._products):
                values *= factor

    def expansion(self) -> Expansion:
        """Rows with a coefficient, and what else there is."""
        tables = [self._table(coefficients).T for coefficients in self.solution]
        used = [np.flatnonzero(table.any(axis=1)) for table in tables]
        rows = [rows[kept] for rows, kept in zip(self.rows, used, strict=True)]
        stacked = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
        coef = np.concatenate([table[kept] for table, kept in zip(tables, used, strict=True)])
        return Expansion(stacked, coef, self.rest)
