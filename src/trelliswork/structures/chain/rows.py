"""Label sequences seen through the eyes of margin methods: contrasts and distinct rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from trelliswork._ragged import Ragged
from trelliswork.dp.solvers.chain import Features
from trelliswork.structures.base import RowView

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch

__all__ = ["contrast", "row_view"]


def contrast(batch: ChainBatch, codes: Ragged, samples: np.ndarray) -> sp.csr_matrix:
    """Gold features minus those of given label sequences; for order 1 without edge features."""
    from trelliswork.dp.chain import contrast as chain_contrast

    space = batch.space
    matrix, rows = batch.emission.stacked()
    k, layout = space.n_labels, space.emission_layout
    flat = np.zeros(0, dtype=np.int64) if layout.flat is None else layout.flat
    pairs = np.full(k * k, -1, dtype=np.int64)
    grams = space.ngram_matrix.tocoo()
    pairs[grams.row] = grams.col + space.n_emissions
    tokens = (Features(matrix.indptr, matrix.indices, matrix.data, rows), batch.offsets)
    args = (*tokens, batch.gold_codes.values, codes.values, samples, k, flat, pairs)
    indptr = np.zeros(samples.size + 1, dtype=np.int64)
    chain_contrast.contrast(*args, indptr, np.zeros(0, dtype=np.int32), np.zeros(0), False)
    np.cumsum(indptr, out=indptr)
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    chain_contrast.contrast(*args, indptr, indices, data, True)
    return sp.csr_matrix((data, indices, indptr), shape=(samples.size, space.n_features))


def row_view(batch: ChainBatch) -> RowView:
    """The same sequences with one attribute per distinct token."""
    from trelliswork.structures.chain.batch import ChainBatch
    from trelliswork.structures.chain.structure import ChainSpace

    space = batch.space
    emission, rows = batch.emission.by_row(len(space.attributes))
    names = [str(i) for i in range(rows.shape[0])]
    by_row = ChainSpace(space.structure.complete(), space.labels, names, space.allowed)
    view = ChainBatch(by_row, batch.offsets, emission, None, batch._gold, batch.allowed, batch.n_jobs)
    first = np.searchsorted(batch.offsets, emission.first_tokens(rows.shape[0]), side="right") - 1
    return RowView(view, rows, space.n_labels, first)
