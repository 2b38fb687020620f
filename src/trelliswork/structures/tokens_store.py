"""Token maps: into another numbering, joined, as plain arrays and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.structures.tokens import Block, Layout, TokenMap

__all__ = ["map_restored", "map_state", "renumbered", "stacked", "whole_numbers"]


def renumbered(tokens: TokenMap, layout: Layout, target: np.ndarray) -> TokenMap:
    """The same features under other numbers: attribute ``a`` becomes ``target[a]``."""
    blocks = []
    for block in tokens.blocks:
        if block.columns is not None:
            blocks.append(Block(block.matrix, block.index, target[block.columns], block.identity))
            continue
        m = block.matrix
        moved = sp.csr_matrix(
            (m.data, target[m.indices].astype(np.int32), m.indptr), shape=(m.shape[0], layout.n_attributes)
        )
        blocks.append(Block(moved, block.index, None, block.identity))
    return TokenMap(layout, blocks, tokens.n_tokens)


def stacked(one: TokenMap, other: TokenMap) -> TokenMap:
    """Tokens of two maps of one layout, one after the other."""
    blocks = []
    for i in range(max(len(one.blocks), len(other.blocks))):
        a = one.blocks[i] if i < len(one.blocks) else None
        b = other.blocks[i] if i < len(other.blocks) else None
        index = [
            np.full(tokens.n_tokens, -1, dtype=np.int32) if block is None else block.index
            for tokens, block in ((one, a), (other, b))
        ]
        n_rows = 0 if a is None else a.matrix.shape[0]
        index[1] = np.where(index[1] < 0, -1, index[1] + n_rows).astype(np.int32)
        place = np.concatenate(index)
        columns = None
        dense = a is not None and b is not None and a.columns is not None and b.columns is not None
        if a and b and dense and np.array_equal(a.columns, b.columns):  # type: ignore[arg-type]
            matrix, columns = np.concatenate([a.matrix, b.matrix]), a.columns
        else:
            found = [_sparse(block, one.layout) for block in (a, b) if block is not None]
            matrix = sp.vstack(found, format="csr")
        identity = place.size == matrix.shape[0] and bool(np.all(place == np.arange(place.size)))
        blocks.append(Block(matrix, place, columns, identity))
    return TokenMap(one.layout, blocks, one.n_tokens + other.n_tokens)


def _sparse(block: Block, layout: Layout) -> sp.csr_matrix:
    if block.columns is None:
        return block.matrix
    wide = sp.csr_matrix(block.matrix)
    shape = (wide.shape[0], layout.n_attributes)
    return sp.csr_matrix((wide.data, block.columns[wide.indices].astype(np.int32), wide.indptr), shape=shape)


def map_state(tokens: TokenMap) -> list[dict[str, Any]]:
    """Distinct rows and the rows of tokens, as arrays."""
    out = []
    for block in tokens.blocks:
        entry = {"matrix": block.matrix, "rows": block.index}
        if block.columns is not None:
            entry["columns"] = block.columns
        out.append(entry)
    return out


def map_restored(entries: Any, layout: Layout, n_tokens: int) -> TokenMap:
    """Inverse of :func:`map_state`; a file is not trusted, so everything is checked."""
    blocks = []
    for entry in entries:
        matrix, columns = entry["matrix"], entry.get("columns")
        width = layout.n_attributes
        if columns is not None:
            columns = whole_numbers(columns, 0, layout.n_attributes)
            width = columns.size
        elif not sp.issparse(matrix):
            raise InputError("a stored table of features has no columns")
        if matrix.ndim != 2 or matrix.shape[1] != width or matrix.dtype != np.float64:
            raise InputError("a stored table of features does not fit")
        index = whole_numbers(entry["rows"], -1, matrix.shape[0]).astype(np.int32)
        if index.size != n_tokens:
            raise InputError("stored rows of tokens do not fit the lengths")
        if columns is None:
            matrix = sp.csr_matrix(
                (matrix.data, matrix.indices.astype(np.int32), matrix.indptr), matrix.shape
            )
        identity = index.size == matrix.shape[0] and bool(np.all(index == np.arange(index.size)))
        blocks.append(Block(matrix, index, columns, identity))
    return TokenMap(layout, blocks, n_tokens)


def whole_numbers(values: Any, low: int, high: int | None) -> np.ndarray:
    """Array of int64 whose entries lie in [low, high)."""
    values = np.asarray(values)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise InputError("whole numbers were expected")
    values = values.astype(np.int64)
    if values.size and (values.min() < low or (high is not None and values.max() >= high)):
        raise InputError("stored numbers lie outside their range")
    return values
