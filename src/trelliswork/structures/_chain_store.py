"""Packed label sequences: into another space, joined, as plain arrays and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import offsets_of
from trelliswork.structures._tokenmap import Block, Layout, TokenMap

if TYPE_CHECKING:
    from trelliswork.structures._chain_batch import ChainBatch
    from trelliswork.structures.chain import ChainSpace

__all__ = ["batch_state", "into_space", "joined", "restored"]


def into_space(batch: ChainBatch, space: ChainSpace) -> ChainBatch:
    """The same sequences with the numbering (and the limits) of a space that has all their names."""
    from trelliswork.structures._chain_batch import ChainBatch

    old = batch.space
    place = {label: i for i, label in enumerate(space.labels)}
    codes = np.array([place[label] for label in old.labels], dtype=np.int64)
    n_old, n_new = len(old.attributes), len(space.attributes)
    target = np.array([space.columns[a] for a in old.attributes], dtype=np.int64)
    target = np.concatenate([target, n_new + np.arange(old.n_markers)])
    emission = _renumbered(batch.emission, space.emission_layout, target)
    edge = None
    if batch.edge is not None and space.edge_layout is not None:
        pairs = np.array([space.edge_columns[a] for a in old.edge_columns], dtype=np.int64)
        edge = _renumbered(batch.edge, space.edge_layout, pairs)
    gold = None if not batch.has_gold else codes[batch.gold_codes.values]
    allowed = None
    if batch.user_allowed is not None:
        allowed = np.ones((batch.n_tokens, space.n_labels), dtype=bool)
        allowed[:, codes] = batch.user_allowed
    assert target.size == n_old + space.n_markers
    return ChainBatch(space, batch.offsets, emission, edge, gold, allowed, batch.n_jobs)


def _renumbered(tokens: TokenMap, layout: Layout, target: np.ndarray) -> TokenMap:
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


def joined(one: ChainBatch, other: ChainBatch) -> ChainBatch:
    """Sequences of two batches of one space, one after the other."""
    from trelliswork.structures._chain_batch import ChainBatch

    both = (one, other)
    gold = None
    if one.has_gold and other.has_gold:
        gold = np.concatenate([b.gold_codes.values for b in both])
    allowed = None
    if any(b.user_allowed is not None for b in both):
        shape = one.space.n_labels
        allowed = np.concatenate(
            [
                np.ones((b.n_tokens, shape), dtype=bool) if b.user_allowed is None else b.user_allowed
                for b in both
            ]
        )
    edge = None
    if one.edge is not None and other.edge is not None:
        edge = _stacked(one.edge, other.edge)
    lengths = np.concatenate([np.diff(b.offsets) for b in both])
    emission = _stacked(one.emission, other.emission)
    return ChainBatch(one.space, offsets_of(lengths), emission, edge, gold, allowed, one.n_jobs)


def _stacked(one: TokenMap, other: TokenMap) -> TokenMap:
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


# -- plain arrays ------------------------------------------------------------------------------


def batch_state(batch: ChainBatch) -> dict[str, Any]:
    """Arrays of a batch; its space is stored elsewhere."""
    state: dict[str, Any] = {
        "lengths": np.diff(batch.offsets),
        "emission": _map_state(batch.emission),
        "gold": batch.gold_codes.values,
    }
    if batch.edge is not None:
        state["edge"] = _map_state(batch.edge)
    if batch.user_allowed is not None:
        state["allowed"] = batch.user_allowed
    return state


def _map_state(tokens: TokenMap) -> list[dict[str, Any]]:
    out = []
    for block in tokens.blocks:
        entry = {"matrix": block.matrix, "rows": block.index}
        if block.columns is not None:
            entry["columns"] = block.columns
        out.append(entry)
    return out


def restored(space: ChainSpace, state: Mapping[str, Any], n_jobs: int | None) -> ChainBatch:
    """Inverse of :func:`batch_state`; a file is not trusted, so everything is checked."""
    from trelliswork.structures._chain_batch import ChainBatch

    lengths = _whole(state["lengths"], 0, None)
    n_tokens = int(lengths.sum())
    gold = _whole(state["gold"], 0, space.n_labels)
    if gold.size != n_tokens:
        raise InputError("stored labels do not fit the lengths")
    emission = _map_restored(state["emission"], space.emission_layout, n_tokens)
    edge = None
    if space.edge_layout is not None:
        edge = _map_restored(state["edge"], space.edge_layout, n_tokens)
    allowed = state.get("allowed")
    if allowed is not None and (allowed.shape != (n_tokens, space.n_labels) or allowed.dtype != bool):
        raise InputError("stored limits of labels do not fit")
    return ChainBatch(space, offsets_of(lengths), emission, edge, gold, allowed, n_jobs)


def _map_restored(entries: Any, layout: Layout, n_tokens: int) -> TokenMap:
    blocks = []
    for entry in entries:
        matrix, columns = entry["matrix"], entry.get("columns")
        width = layout.n_attributes
        if columns is not None:
            columns = _whole(columns, 0, layout.n_attributes)
            width = columns.size
        elif not sp.issparse(matrix):
            raise InputError("a stored table of features has no columns")
        if matrix.ndim != 2 or matrix.shape[1] != width or matrix.dtype != np.float64:
            raise InputError("a stored table of features does not fit")
        index = _whole(entry["rows"], -1, matrix.shape[0]).astype(np.int32)
        if index.size != n_tokens:
            raise InputError("stored rows of tokens do not fit the lengths")
        if columns is None:
            matrix = sp.csr_matrix(
                (matrix.data, matrix.indices.astype(np.int32), matrix.indptr), matrix.shape
            )
        identity = index.size == matrix.shape[0] and bool(np.all(index == np.arange(index.size)))
        blocks.append(Block(matrix, index, columns, identity))
    return TokenMap(layout, blocks, n_tokens)


def _whole(values: Any, low: int, high: int | None) -> np.ndarray:
    """Array of int64 whose entries lie in [low, high)."""
    values = np.asarray(values)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise InputError("whole numbers were expected")
    values = values.astype(np.int64)
    if values.size and (values.min() < low or (high is not None and values.max() >= high)):
        raise InputError("stored numbers lie outside their range")
    return values
