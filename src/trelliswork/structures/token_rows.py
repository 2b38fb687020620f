"""Weights of (attribute, column) pairs, and the distinct rows of features that tokens share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._threads import balanced_chunks, run
from trelliswork.structures.spread import Spread

__all__ = ["Block", "Layout", "Own", "in_order_of_use", "is_identity"]

_SCATTER_FROM = 8  # entries per attribute
_PARTIAL_TABLES = (1, 2, 4)  # threads share these evenly
_ENTRIES_PER_TABLE = 12  # and attribute, else adding the tables up costs more than filling them
_MIXERS = tuple(
    tuple(map(np.uint64, numbers))
    for numbers in (
        (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F),
        (0x8EBC6AF09C88C6E3, 0xE7037ED1A0B428DB, 0x589965CC75374CC3),
    )
)


@dataclass(frozen=True)
class Layout:
    """Which (attribute, column) pairs have a weight.

    Attributes
    ----------
    n_attributes, n_columns : int
        ``D`` and ``C``.
    flat : ndarray of int64 or None
        Sorted positions ``attribute * C + column`` that have a weight; None for all.
    """

    n_attributes: int
    n_columns: int
    flat: np.ndarray | None = None

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return self.n_attributes * self.n_columns if self.flat is None else self.flat.size

    def table(self, w: np.ndarray) -> np.ndarray:
        """Weights as a dense table (D, C)."""
        if self.flat is None:
            return w.reshape(self.n_attributes, self.n_columns)
        dense = np.zeros(self.n_attributes * self.n_columns)
        dense[self.flat] = w
        return dense.reshape(self.n_attributes, self.n_columns)

    def gather(self, table: np.ndarray) -> np.ndarray:
        """Adjoint of :meth:`table`."""
        return table.ravel() if self.flat is None else table.ravel()[self.flat]

    def positions(self) -> tuple[np.ndarray, np.ndarray]:
        """Attribute and column of every weight."""
        flat = np.arange(self.n_attributes * self.n_columns) if self.flat is None else self.flat
        return flat // self.n_columns, flat % self.n_columns

    def limited(self, flat: Any) -> Layout:
        """The layout with weights at the given positions of its table only."""
        flat = np.asarray(flat)
        if flat.ndim != 1 or flat.dtype.kind not in "iu" or np.any(flat[1:] <= flat[:-1]):
            raise InputError("positions of weights must be increasing whole numbers")
        if flat.size and (flat[0] < 0 or flat[-1] >= self.n_attributes * self.n_columns):
            raise InputError("positions of weights lie outside the table")
        return Layout(self.n_attributes, self.n_columns, flat.astype(np.int64))


@dataclass
class Block:
    """One token block with global columns."""

    matrix: Any  # csr_matrix with D columns, or a dense array over `columns`
    index: np.ndarray
    columns: np.ndarray | None = None  # dense blocks only
    identity: bool = False
    cache: dict[str, Any] = field(default_factory=dict)

    @property
    def dense(self) -> bool:
        """Whether the rows are a dense array."""
        return self.columns is not None

    def transposed(self) -> sp.csr_matrix:
        """The rows as columns, computed once."""
        if "transposed" not in self.cache:
            self.cache["transposed"] = self.matrix.T.tocsr()
        return self.cache["transposed"]

    def sparse(self, n_attributes: int) -> sp.csr_matrix:
        """The rows as a sparse matrix with a column for every attribute."""
        if self.columns is None:
            return self.matrix
        rows = sp.csr_matrix(self.matrix)
        indices = self.columns[rows.indices].astype(np.int32)
        return sp.csr_matrix((rows.data, indices, rows.indptr), shape=(rows.shape[0], n_attributes))

    @property
    def rarely_shared(self) -> bool:
        """Whether most rows are those of one token each."""
        return not self.identity and 2 * self.matrix.shape[0] > self.index.size

    def collect(self, values: np.ndarray) -> np.ndarray:
        """Sum of the values of all tokens that share a row."""
        from trelliswork.dp import rows as dp_rows

        if self.identity:
            return values
        out = np.empty((self.matrix.shape[0], values.shape[1]))
        dp_rows.collect(self.index, values, out)
        return out

    def collect_by_row(self, values: np.ndarray, threads: int, rows_per_chunk: int) -> np.ndarray:
        """The same row by row: quicker where rows are rarely shared, and on several threads."""
        from trelliswork.dp import rows as dp_rows

        tokens, bounds = self._tokens_of_rows()
        out = np.empty((self.matrix.shape[0], values.shape[1]))
        run(
            lambda a, b: dp_rows.sum_rows(bounds, tokens, values, out, a, b),
            balanced_chunks(bounds - bounds[0], rows_per_chunk),
            threads,
        )
        return out

    def _tokens_of_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Tokens by their row, in their order, and where those of each row begin; computed once."""
        if "tokens" not in self.cache:
            order = np.argsort(self.index, kind="stable").astype(np.int32)
            bounds = np.searchsorted(self.index[order], np.arange(self.matrix.shape[0] + 1))
            self.cache["tokens"] = order, bounds.astype(np.int64)
        return self.cache["tokens"]

    def add_adjoint(self, rows: np.ndarray, table: np.ndarray, threads: int, rows_per_chunk: int) -> None:
        """``table += matrix.T @ rows``."""
        from trelliswork.dp import rows as dp_rows

        m = self.matrix
        if self.dense:
            table[self.columns] += m.T @ rows
        elif m.nnz > _SCATTER_FROM * m.shape[1]:
            # Many entries per attribute: walking the rows in order and adding into the table is
            # kinder to the caches than gathering. A fixed number of partial tables, one order.
            wanted = m.nnz // (_ENTRIES_PER_TABLE * m.shape[1])
            n_tables = max(n for n in _PARTIAL_TABLES if n <= max(wanted, 1))
            chunks = balanced_chunks(m.indptr, -(-m.nnz // n_tables))
            partial = np.zeros((len(chunks) - 1, *table.shape))
            tables = [table, *partial]
            run(
                lambda i, a, b: dp_rows.scatter_times(m.indptr, m.indices, m.data, rows, tables[i], a, b),
                [(i, a, b) for i, (a, b) in enumerate(chunks)],
                threads,
            )
            for summed in partial:
                table += summed
        else:
            m = self.transposed()
            run(
                lambda a, b: dp_rows.add_times(m.indptr, m.indices, m.data, rows, table, a, b),
                balanced_chunks(m.indptr, 8 * rows_per_chunk),
                threads,
            )


@dataclass(frozen=True)
class Own:
    """Attributes that some tokens have, in numbers of their own.

    Attributes
    ----------
    attributes : ndarray
        Numbers among all, ascending.
    blocks : list of Block
        Token blocks with the numbers here.
    positions : ndarray
        Weights of these attributes among all emission weights, ascending.
    flat : ndarray or None
        Their places in the table of these attributes; None for all places in order.
    layout : Layout
        That of all attributes.
    """

    attributes: np.ndarray
    blocks: list[Block]
    positions: np.ndarray
    flat: np.ndarray | None
    layout: Layout

    @classmethod
    def of(cls, layout: Layout, blocks: list[Block], attributes: np.ndarray) -> Own:
        """Give attributes numbers of their own."""
        number = np.full(layout.n_attributes, -1, dtype=np.int32)
        number[attributes] = np.arange(attributes.size, dtype=np.int32)
        mine = []
        for block in blocks:
            m, columns = block.matrix, block.columns
            if columns is None:
                m = sp.csr_matrix((m.data, number[m.indices], m.indptr), (m.shape[0], attributes.size))
            else:
                columns = number[columns]
            mine.append(Block(m, block.index, columns, block.identity))
        k = layout.n_columns
        if layout.flat is None:
            positions, flat = (attributes[:, None] * k + np.arange(k)).ravel(), None
        else:
            positions = np.flatnonzero(number[layout.flat // k] >= 0)
            pairs = layout.flat[positions]
            flat = number[pairs // k].astype(np.int64) * k + pairs % k
        return cls(attributes, mine, positions, flat, layout)

    def table(self, w: np.ndarray) -> np.ndarray:
        """Weights of these attributes as a dense table."""
        k = self.layout.n_columns
        if self.flat is None:
            return w.reshape(-1, k).take(self.attributes, axis=0)
        dense = np.zeros(self.attributes.size * k)
        dense[self.flat] = w[self.positions]
        return dense.reshape(-1, k)

    def spread(self, table: np.ndarray) -> Spread:
        """Adjoint of :meth:`table`."""
        values = table.ravel() if self.flat is None else table.ravel()[self.flat]
        return Spread(values, self.positions, self.layout.n_weights)


def is_identity(index: np.ndarray, matrix: Any) -> bool:
    """Whether token ``i`` has row ``i``, for all rows and tokens."""
    return index.size == matrix.shape[0] and bool(np.all(index == np.arange(index.size)))


def in_order_of_use(block: Block) -> Block:
    """The block with distinct rows, numbered by the first token that has them; of arrays a row per token."""
    known = np.flatnonzero(block.index >= 0)
    index = np.full(block.index.size, -1, dtype=np.int32)
    if block.columns is not None:
        index[known] = np.arange(known.size, dtype=np.int32)
        order = np.argsort(block.columns)
        matrix = np.ascontiguousarray(block.matrix[block.index[known]][:, order])
        return Block(matrix, index, block.columns[order], known.size == index.size)
    rows, marks = block.index[known], _marks_of_rows(block.matrix)
    if not known.size and np.unique(marks).size == 1:  # a marker is one even where no token has it
        return Block(block.matrix[:1], index)
    _, kind = np.unique(marks, return_inverse=True)  # the same number for the same row
    kinds = kind.ravel()[rows]
    first = np.full(kind.size, known.size)
    first[kinds[::-1]] = np.arange(known.size)[::-1]  # the last to be written is the first token
    used = np.flatnonzero(first < known.size)
    used = used[np.argsort(first[used])]
    number = np.empty(kind.size, dtype=np.int32)
    number[used] = np.arange(used.size, dtype=np.int32)
    index[known] = number[kinds]
    matrix = block.matrix[rows[first[used]]]
    matrix.sort_indices()
    return Block(matrix, index, None, is_identity(index, matrix))


def _marks_of_rows(matrix: sp.csr_matrix) -> np.ndarray:
    """Numbers of 128 bits, the same for rows with the same entries in any order; others differ."""
    marks = np.empty((matrix.shape[0], 2), dtype=np.uint64)
    entries = matrix.indices.astype(np.uint64), matrix.data.view(np.uint64)
    for column, (a, b, c) in enumerate(_MIXERS):
        mixed = (entries[0] + a) * b ^ (entries[1] * c)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        sums = np.append(np.uint64(0), np.cumsum(mixed, dtype=np.uint64))
        marks[:, column] = sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]]
    return marks.view([("a", np.uint64), ("b", np.uint64)]).ravel()
