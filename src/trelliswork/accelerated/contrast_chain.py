"""Features of true label sequences less those of guesses, without the features of either."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from trelliswork._ragged import Ragged
from trelliswork.dp.solvers.chain import Features

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch

__all__ = ["contrast"]


def contrast(batch: ChainBatch, codes: Ragged, samples: np.ndarray) -> sp.csr_matrix | None:
    """Rows of some of the samples; for chains of order 1 without edge features."""
    from trelliswork.dp.chain import contrast as chain_contrast

    if batch.space.order != 1 or batch.edge is not None:
        return None

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
