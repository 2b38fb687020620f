"""The linear map between emission weights and token scores, and its adjoint.

``D`` attributes and ``C`` columns (labels, or pairs of labels). Weights are stored for
all ``D * C`` pairs, or only for the pairs listed in ``flat`` (those seen in training).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._names import Alphabet
from trelliswork._stored import fitting, whole
from trelliswork._stored import matrix as matrix_of
from trelliswork._threads import balanced_chunks, even_chunks, run
from trelliswork._tokens import TokenTable
from trelliswork._validate import warn_nothing_known
from trelliswork.structures.spread import Spread
from trelliswork.structures.token_rows import Block, Layout, Own, in_order_of_use, is_identity

__all__ = ["Block", "Layout", "TokenMap"]

_OWN_SHARE = 0.7  # of all attributes: with more, their numbers are as good as numbers of one's own

_DWARFS = 1000.0
_STORED = {
    "matrix": matrix_of("rows", "columns of the table"),
    "rows": whole("tokens", low=-1, high="rows"),  # -1 for tokens without a row
    "columns": whole("columns of the table", high="attributes", optional=True),
}


def _check_known(table: TokenTable, columns: Alphabet) -> None:
    """Warn where no name at all is known: words to a model of dicts, say."""
    if len(columns) and all((target < 0).all() for target in table.columns_in(columns)):
        names = [name for block in table.blocks for name in block.names]
        warn_nothing_known("attributes", len(names), names[0] if names else None, next(iter(columns)))


class TokenMap:
    """Token features of one batch in the columns of a space.

    Parameters
    ----------
    layout : Layout
        Where the weights are.
    blocks : list of Block
        Compiled features.
    n_tokens : int
        Number of tokens.
    """

    def __init__(self, layout: Layout, blocks: list[Block], n_tokens: int):
        self.layout = layout
        self.blocks = blocks
        self.n_tokens = n_tokens
        self.own: Own | None = None
        self._stacked: tuple[sp.csr_matrix, np.ndarray] | None = None

    @classmethod
    def compile(cls, layout: Layout, table: TokenTable, columns: Alphabet) -> TokenMap:
        """Map the names of a token table to the columns of a space; unknown names drop out."""
        _check_known(table, columns)
        blocks = []
        for (names, matrix, index), target in zip(table.blocks, table.columns_in(columns), strict=True):
            known = np.flatnonzero(target >= 0)
            identity = is_identity(index, matrix)
            if not sp.issparse(matrix):
                dense = matrix if known.size == len(names) else np.ascontiguousarray(matrix[:, known])
                blocks.append(Block(dense, index, target[known], identity))
                continue
            entries = target[matrix.indices]
            keep = entries >= 0
            indptr = np.concatenate([[0], np.cumsum(keep)])[matrix.indptr]
            mapped = sp.csr_matrix(
                (matrix.data[keep], entries[keep].astype(np.int32), indptr),
                shape=(matrix.shape[0], layout.n_attributes),
            )
            blocks.append(Block(mapped, index, None, identity))
        return cls(layout, blocks, len(table))

    def squared_norms(self, n_real: int) -> np.ndarray:
        """Squared norm of the attributes of every token.

        Markers, with numbers from ``n_real`` on, count at all tokens: so do the strengths that are measured
        by these norms.
        """
        out = np.zeros(self.n_tokens)
        for block in self.blocks:
            if block.dense:
                rows = np.einsum("ij,ij->i", block.matrix, block.matrix)
            else:
                rows = np.asarray(block.matrix.multiply(block.matrix).sum(axis=1)).ravel()
            marks = not block.dense and block.matrix.nnz > 0 and block.matrix.indices.min() >= n_real
            out += np.append(rows, rows[0] if marks else 0.0)[block.index]  # the last entry serves -1
        return out

    def cautions(self, names: Sequence[str]) -> list[str]:
        """A line about an attribute whose values dwarf those of the others; ``names`` are all but markers."""
        squares, counts = np.zeros(self.layout.n_attributes), np.zeros(self.layout.n_attributes)
        for block in self.blocks:
            rows = block.sparse(self.layout.n_attributes)
            squares += np.bincount(rows.indices, rows.data**2, minlength=squares.size)
            counts += np.bincount(rows.indices, minlength=counts.size)
        used = np.flatnonzero(counts[: len(names)])
        if used.size < 2:
            return []
        sizes = np.sqrt(squares[used] / counts[used])
        largest = int(sizes.argmax())
        others = float(np.median(np.delete(sizes, largest)))
        if not sizes[largest] > _DWARFS * others:
            return []
        return [
            f"the attribute {names[used[largest]]!r} has values of about {sizes[largest]:.1g}, the others of "
            f"about {others:.1g}: it dwarfs them; leave it out, or use StandardScaler of scikit-learn"
        ]

    def subset(self, tokens: np.ndarray) -> TokenMap:
        """Map of some of the tokens; rows that few of them use are left behind."""
        blocks = []
        for b in self.blocks:
            matrix, index = b.matrix, b.index[tokens]
            if 2 * tokens.size < matrix.shape[0]:
                used, index = np.unique(np.append(index, -1), return_inverse=True)
                matrix, index = matrix[used[1:]], index[:-1].astype(np.int32) - 1
            blocks.append(Block(matrix, index, b.columns))
        return TokenMap(self.layout, blocks, tokens.size)

    def scores(
        self, w: np.ndarray, threads: int, rows_per_chunk: int, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores (n_tokens, C) of emission weights."""
        from trelliswork.dp import rows as dp_rows

        own = self.own
        table = np.ascontiguousarray(self.layout.table(w) if own is None else own.table(w))
        if out is None:
            out = np.empty((self.n_tokens, self.layout.n_columns))
        token_chunks = even_chunks(self.n_tokens, rows_per_chunk)
        for number, block in enumerate(self.blocks if own is None else own.blocks):
            add = number > 0
            m = block.matrix
            if block.dense:
                rows = m @ table[block.columns]
            else:
                in_place = block.identity and not add
                rows = out if in_place else np.empty((m.shape[0], self.layout.n_columns))
                chunks = balanced_chunks(m.indptr, 8 * rows_per_chunk)
                run(
                    lambda a, b, m=m, rows=rows: dp_rows.times(
                        m.indptr, m.indices, m.data, table, rows, a, b
                    ),
                    chunks,
                    threads,
                )
                if in_place:
                    continue
            run(
                lambda a, b, rows=rows, index=block.index, add=add: dp_rows.gather(
                    rows, index, out, add, a, b
                ),
                token_chunks,
                threads,
            )
        return out

    def pull(self, values: np.ndarray, threads: int, rows_per_chunk: int) -> np.ndarray:
        """Adjoint of :meth:`scores`."""
        return self.pull_spread(values, threads, rows_per_chunk).dense()

    def pull_spread(self, values: np.ndarray, threads: int, rows_per_chunk: int) -> Spread:
        """The same, as far as the tokens have something to say."""
        layout, own = self.layout, self.own
        blocks = self.blocks if own is None else own.blocks
        values = np.ascontiguousarray(values)
        n_attributes = layout.n_attributes if own is None else own.attributes.size
        table = np.zeros((n_attributes, layout.n_columns))
        shared = [block for block in blocks if not block.rarely_shared]
        sums = dict(
            zip(map(id, shared), run(lambda block: block.collect(values), [(b,) for b in shared], threads))
        )
        for block in blocks:
            if block.rarely_shared:
                summed = block.collect_by_row(values, threads, rows_per_chunk)
            else:
                summed = sums.pop(id(block))
            block.add_adjoint(summed, table, threads, rows_per_chunk)
        return Spread(layout.gather(table)) if own is None else own.spread(table)

    def pull_each(self, values: np.ndarray, offsets: np.ndarray) -> sp.csr_matrix:
        """Adjoint per sequence: (n_sequences, n_weights) with the tokens of each summed."""
        n, n_columns = offsets.size - 1, self.layout.n_columns
        owner = np.repeat(np.arange(n), np.diff(offsets))
        token, column = np.nonzero(values)
        cell = owner[token] * n_columns + column
        # One product for all columns, with a row for each of every sequence: each matrix has much to set up.
        shape = (n * n_columns, self.n_tokens)
        summed = sp.csr_matrix((values[token, column], (cell, token)), shape=shape) @ self.token_matrix()
        column = np.repeat(np.tile(np.arange(n_columns), n), np.diff(summed.indptr))
        flat, value = summed.indices.astype(np.int64) * n_columns + column, summed.data
        indptr = summed.indptr[np.arange(n + 1) * n_columns]
        if self.layout.flat is not None:
            place = np.searchsorted(self.layout.flat, flat)
            place = np.minimum(place, max(self.layout.flat.size - 1, 0))
            known = self.layout.flat[place] == flat if self.layout.flat.size else np.zeros(flat.size, bool)
            flat, value = place[known], value[known]
            indptr = np.append(0, np.cumsum(known))[indptr]
        out = sp.csr_matrix((value, flat, indptr), shape=(n, self.layout.n_weights))
        out.sort_indices()
        return out

    def token_matrix(self) -> sp.csr_matrix:
        """Features of every token, shape (n_tokens, D)."""
        matrix, rows = self.stacked()
        used = rows >= 0
        indptr = np.append(0, np.cumsum(used.sum(axis=1)))
        select = sp.csr_matrix(
            (np.ones(indptr[-1]), rows[used], indptr), shape=(self.n_tokens, matrix.shape[0])
        )
        return select @ matrix

    def used(self) -> np.ndarray:
        """Which attributes some token has, shape (n_attributes,)."""
        out = np.zeros(self.layout.n_attributes, dtype=bool)
        for block in self.blocks:
            rows = np.unique(block.index[block.index >= 0])
            if block.columns is not None:
                out[block.columns] |= np.any(block.matrix[rows] != 0, axis=0)
            else:
                part = block.matrix[rows]
                out[part.indices[part.data != 0]] = True
        return out

    def canonical(self) -> TokenMap:
        """The same map in a form that tokens and layout alone decide, however the map came about.

        Every distinct row is there once, rows are numbered by the first token that has them, and their
        entries by attribute. Rows of arrays are those of the tokens, one each.
        """
        blocks = [in_order_of_use(block) for block in self.blocks]
        return TokenMap(self.layout, blocks, self.n_tokens).with_own()

    def with_own(self) -> TokenMap:
        """The same map; where tokens have few of all attributes, it works with tables of these alone."""
        used = np.zeros(self.layout.n_attributes, dtype=bool)
        for block in self.blocks:
            used[block.matrix.indices if block.columns is None else block.columns] = True
        if used.sum() <= _OWN_SHARE * used.size:
            self.own = Own.of(self.layout, self.blocks, np.flatnonzero(used))
        return self

    def keeping(self, kept: np.ndarray) -> TokenMap:
        """The same tokens without the attributes that a mask does not have, but for those of arrays."""
        blocks = []
        for block in self.blocks:
            if block.columns is None:
                m = block.matrix
                entries = kept[m.indices]
                indptr = np.append(0, np.cumsum(entries))[m.indptr].astype(m.indptr.dtype)
                matrix = sp.csr_matrix((m.data[entries], m.indices[entries], indptr), m.shape)
                block = Block(matrix, block.index, None, block.identity)
            blocks.append(block)
        return TokenMap(self.layout, blocks, self.n_tokens)

    @property
    def holds_counts(self) -> bool:
        """Whether all values are whole numbers of at least 0."""
        values = (b.matrix if b.dense else b.matrix.data for b in self.blocks)
        return all(bool(np.all((v >= 0) & (v == np.floor(v)))) for v in values)

    def dense_rows(self, n_real: int) -> np.ndarray:
        """Rows of arrays of every token, shape (n_tokens, n_real)."""
        out = np.zeros((self.n_tokens, n_real))
        for block in self.blocks:
            if block.columns is not None:
                known = np.flatnonzero(block.index >= 0)
                out[np.ix_(known, block.columns)] += block.matrix[block.index[known]]
        return out

    def counts(self, n_real: int | None = None) -> np.ndarray:
        """Number of attributes of every token, of all or of those with a number below ``n_real``."""
        n = np.zeros(self.n_tokens, dtype=np.int64)
        for block in self.blocks:
            if block.dense:
                sizes = (block.matrix != 0).sum(axis=1)
            elif n_real is None:
                sizes = np.diff(block.matrix.indptr)
            else:
                real = np.append(0, np.cumsum(block.matrix.indices < n_real))
                sizes = np.diff(real[block.matrix.indptr])
            sizes = np.append(np.asarray(sizes).ravel(), 0)  # the last entry serves the index -1
            n += sizes[block.index]
        return n

    def value_sums(self, n_real: int, weights: np.ndarray | None) -> tuple[float, float]:
        """Sum of the values other than 0 of the attributes with a number below ``n_real``, and their number.

        ``weights`` are those of the tokens.
        """
        entries = self.token_matrix().tocoo()
        used = (entries.col < n_real) & (entries.data != 0)
        share = np.ones(int(used.sum())) if weights is None else weights[entries.row[used]]
        return float(share @ np.abs(entries.data[used])), float(share.sum())

    def empty_tokens(self) -> np.ndarray:
        """Tokens without any known attribute."""
        return np.flatnonzero(self.counts() == 0)

    def mark(self, attribute: int, tokens: np.ndarray) -> None:
        """Give one more attribute the value 1 at some tokens."""
        index = np.full(self.n_tokens, -1, dtype=np.int32)
        index[tokens] = 0
        entry = (np.ones(1), np.array([attribute], dtype=np.int32), np.array([0, 1], dtype=np.int32))
        self.blocks.append(Block(sp.csr_matrix(entry, shape=(1, self.layout.n_attributes)), index))
        self._stacked = self.own = None

    def stacked(self) -> tuple[sp.csr_matrix, np.ndarray]:
        """All distinct rows in one matrix, and the rows (n_tokens, n_blocks) of every token."""
        if self._stacked is None:
            self._stacked = self._stack()
        return self._stacked

    def _stack(self) -> tuple[sp.csr_matrix, np.ndarray]:
        matrices, rows, base = [], [], 0
        for block in self.blocks:
            matrix = block.sparse(self.layout.n_attributes)
            matrices.append(matrix)
            rows.append(np.where(block.index < 0, -1, block.index + base).astype(np.int32))
            base += matrix.shape[0]
        stacked = matrices[0] if len(matrices) == 1 else sp.vstack(matrices, format="csr")
        return stacked, np.stack(rows, axis=1)

    def first_tokens(self, n_rows: int) -> np.ndarray:
        """First token with each of the rows of a map made by :meth:`by_row`."""
        index = self.blocks[0].index
        known = np.flatnonzero(index >= 0)[::-1]
        out = np.zeros(n_rows, dtype=np.int64)
        out[index[known]] = known  # the last to be written is the first token
        return out

    def by_row(self, n_real: int) -> tuple[TokenMap, Any]:
        """Map with one attribute per distinct row, and those rows over the first ``n_real`` attributes.

        Other attributes (markers) follow the rows.
        """
        real = [b for b in self.blocks if b.dense or not b.matrix.nnz or b.matrix.indices.max() < n_real]
        others = [b for b in self.blocks if not any(b is r for r in real)]
        rows, index = _distinct_rows(real, n_real)
        n_rows, n_markers = rows.shape[0], self.layout.n_attributes - n_real
        layout = Layout(n_rows + n_markers, self.layout.n_columns)
        shape = (n_rows, layout.n_attributes)
        units = (np.ones(n_rows), np.arange(n_rows, dtype=np.int32), np.arange(n_rows + 1, dtype=np.int32))
        blocks = [Block(sp.csr_matrix(units, shape=shape), index)]
        for b in others:
            m = b.matrix
            moved = (m.data, m.indices + np.int32(n_rows - n_real), m.indptr)
            blocks.append(Block(sp.csr_matrix(moved, shape=(m.shape[0], layout.n_attributes)), b.index))
        return TokenMap(layout, blocks, self.n_tokens), rows

    # -- other numberings, other tokens, files ------------------------------------------------

    def renumbered(self, layout: Layout, target: np.ndarray) -> TokenMap:
        """The same features under other numbers: attribute ``a`` becomes ``target[a]``."""
        blocks = []
        for block in self.blocks:
            if block.columns is not None:
                blocks.append(Block(block.matrix, block.index, target[block.columns], block.identity))
                continue
            m = block.matrix
            indices = target[m.indices].astype(np.int32)
            moved = sp.csr_matrix((m.data, indices, m.indptr), shape=(m.shape[0], layout.n_attributes))
            blocks.append(Block(moved, block.index, None, block.identity))
        return TokenMap(layout, blocks, self.n_tokens)

    def joined(self, other: TokenMap) -> TokenMap:
        """Tokens of two maps of one layout, one after the other."""
        blocks = []
        for a, b in itertools.zip_longest(self.blocks, other.blocks):
            first = np.full(self.n_tokens, -1, dtype=np.int32) if a is None else a.index
            second = np.full(other.n_tokens, -1, dtype=np.int32) if b is None else b.index
            n_rows = 0 if a is None else a.matrix.shape[0]
            index = np.concatenate([first, np.where(second < 0, -1, second + n_rows).astype(np.int32)])
            present = [block for block in (a, b) if block is not None]
            matrix, columns = _rows_of_all(present, self.layout.n_attributes)
            blocks.append(Block(matrix, index, columns, is_identity(index, matrix)))
        return TokenMap(self.layout, blocks, self.n_tokens + other.n_tokens)

    def state(self) -> list[dict[str, Any]]:
        """Distinct rows and the rows of tokens, as arrays."""
        entries = []
        for block in self.blocks:
            entry = {"matrix": block.matrix, "rows": block.index}
            if block.columns is not None:
                entry["columns"] = block.columns
            entries.append(entry)
        return entries

    @classmethod
    def restored(cls, entries: Any, layout: Layout, n_tokens: int, n_columns: int | None = None) -> TokenMap:
        """Inverse of :meth:`state`; a file is not trusted, so everything is checked.

        ``n_columns`` is the number of attributes that columns of arrays may be, by default all.
        """
        blocks = []
        for entry in entries:
            stored = fitting(entry, _STORED, "features", tokens=n_tokens, attributes=layout.n_attributes)
            matrix, columns = stored["matrix"], stored.get("columns")
            if sp.issparse(matrix) != (columns is None) or (
                columns is None and matrix.shape[1] != layout.n_attributes
            ):
                raise InputError("a stored table of features does not fit the attributes of the model")
            if columns is not None and n_columns is not None and columns.max(initial=-1) >= n_columns:
                raise InputError("a stored column is none of the attributes of the model")
            index = stored["rows"].astype(np.int32)
            if columns is None:
                indices = matrix.indices.astype(np.int32)
                matrix = sp.csr_matrix((matrix.data, indices, matrix.indptr), matrix.shape)
            blocks.append(Block(matrix, index, columns, is_identity(index, matrix)))
        return cls(layout, blocks, n_tokens)


def _rows_of_all(blocks: list[Block], n_attributes: int) -> tuple[Any, np.ndarray | None]:
    """Rows of blocks one after the other: dense, with their columns, if two blocks have the same columns."""
    columns = [block.columns for block in blocks if block.columns is not None]
    if len(columns) == 2 and np.array_equal(columns[0], columns[1]):
        return np.concatenate([block.matrix for block in blocks]), columns[0]
    return sp.vstack([block.sparse(n_attributes) for block in blocks], format="csr"), None


def _distinct_rows(blocks: list[Block], n_attributes: int) -> tuple[Any, np.ndarray]:
    """Distinct sums of the rows of blocks, and the one of every token (-1 for none)."""
    index = np.stack([b.index for b in blocks], axis=1)
    combos, place = np.unique(index, axis=0, return_inverse=True)
    place = place.ravel()
    nothing = np.flatnonzero(np.all(combos < 0, axis=1))  # at most one
    if nothing.size:
        combos = np.delete(combos, nothing[0], axis=0)
        place = np.where(place == nothing[0], -1, place - (place > nothing[0]))
    if len(blocks) == 1 and blocks[0].dense and combos.size and n_attributes:
        dense = np.zeros((combos.shape[0], n_attributes))
        dense[:, blocks[0].columns] = blocks[0].matrix[combos[:, 0]]
        as_bytes = np.ascontiguousarray(dense).view(np.dtype((np.void, 8 * n_attributes))).ravel()
        _, first, same = np.unique(as_bytes, return_index=True, return_inverse=True)
        return dense[first], np.where(place < 0, -1, same[place]).astype(np.int32)
    total = sp.csr_matrix((combos.shape[0], n_attributes))
    for b, number in zip(blocks, combos.T, strict=True):
        rows = np.flatnonzero(number >= 0)
        select = sp.csr_matrix(
            (np.ones(rows.size), (rows, number[rows])), shape=(number.size, b.matrix.shape[0])
        )
        matrix = sp.csr_matrix(b.matrix)
        if b.columns is not None:
            indices = b.columns[matrix.indices]
            matrix = sp.csr_matrix((matrix.data, indices, matrix.indptr), (matrix.shape[0], n_attributes))
        total = total + select @ matrix[:, :n_attributes]
    return sp.csr_matrix(total), place.astype(np.int32)
