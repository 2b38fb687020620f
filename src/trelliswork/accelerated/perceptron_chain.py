"""The perceptron on label sequences."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING

import numpy as np

from trelliswork.dp.solvers.chain import Features, Limits, Sums, TrueLabels, Weights

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch

__all__ = ["passes"]


def passes(
    batch: ChainBatch,
    w: np.ndarray,
    u: np.ndarray,
    orders: Iterable[np.ndarray],
    weights: np.ndarray,
    clock: np.ndarray,
) -> Generator[int, None, None] | None:
    """Passes over chains of order 1 without edge observations or limits on tokens."""
    if batch.space.order != 1 or batch.edge is not None or batch.allowed is not None:
        return None
    return _passes(batch, w, u, orders, weights, clock)


def _passes(
    batch: ChainBatch,
    w: np.ndarray,
    u: np.ndarray,
    orders: Iterable[np.ndarray],
    weights: np.ndarray,
    clock: np.ndarray,
) -> Generator[int, None, None]:
    from trelliswork.dp.solvers import chain_perceptron

    space = batch.space
    matrix, rows = batch.emission.stacked()
    k, layout = space.n_labels, space.emission_layout
    tables = [layout.table(space.split(v)[0]).copy() for v in (w, u)]
    trans = [(space.ngram_matrix @ space.split(v)[2]).reshape(k, k) for v in (w, u)]
    stored = np.zeros((0, 0), dtype=bool)
    if layout.flat is not None:
        stored = np.zeros((layout.n_attributes, k), dtype=bool)
        stored.ravel()[layout.flat] = True
    everything = np.ones(k, dtype=bool)
    mask = np.where(space.context_mask, 0.0, -np.inf)
    start_ok = everything if space.start_mask is None else space.start_mask
    end_ok = everything if space.end_mask is None else space.end_mask
    data = matrix.data[:0] if np.all(matrix.data == 1.0) else matrix.data
    opened, possible = np.zeros(0, dtype=bool), np.zeros((0, k), dtype=bool)
    if batch.partly_known:
        opened, possible = np.zeros(len(batch), dtype=bool), batch.possible()
        opened[batch.open_samples] = True
    labels = TrueLabels(batch.offsets, batch.gold_codes.values.copy(), opened, possible)
    whole = not np.any(data % 1.0) and not np.any(weights % 1.0) and not np.any(tables[0] % 1.0)
    features = Features(matrix.indptr, matrix.indices, data, rows.astype(np.int32))
    limits, sums = Limits(mask, start_ok, end_ok), Sums(tables[1], trans[1])
    try:
        for order in orders:
            # Sums of whole numbers are exact in single precision too, in half the memory.
            small = whole and np.abs(tables[0]).max(initial=0.0) < 2**22
            tables[0] = tables[0].astype(np.float32 if small else np.float64, copy=False)
            now = Weights(tables[0], stored, trans[0])
            yield chain_perceptron.perceptron_pass(features, limits, labels, order, weights, now, sums, clock)
    finally:
        for target, table, step in ((w, tables[0], trans[0]), (u, tables[1], trans[1])):
            target[: space.n_emissions] = layout.gather(table)
            target[space.n_emissions + space.n_edges :] = space.ngram_matrix.T @ step.ravel()
