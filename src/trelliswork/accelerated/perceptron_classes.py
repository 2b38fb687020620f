"""The perceptron on classes."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from trelliswork.structures.classes.batch import ClassesBatch

__all__ = ["passes"]


def passes(
    batch: ClassesBatch,
    w: np.ndarray,
    u: np.ndarray,
    orders: Iterable[np.ndarray],
    weights: np.ndarray,
    clock: np.ndarray,
) -> Generator[int, None, None] | None:
    """Passes over rows whose classes are all known."""
    if batch.partly_known:
        return None
    return _passes(batch, w, u, orders, weights, clock)


def _passes(
    batch: ClassesBatch,
    w: np.ndarray,
    u: np.ndarray,
    orders: Iterable[np.ndarray],
    weights: np.ndarray,
    clock: np.ndarray,
) -> Generator[int, None, None]:
    from trelliswork.dp.solvers import classes_perceptron

    matrix, above, layout = batch.emission.token_matrix(), batch.space.above.tocsr(), batch.space.layout
    features, classes = (
        (m.indptr.astype(np.int64), m.indices.astype(np.int64), m.data.astype(np.float64))
        for m in (matrix, above)
    )
    shape = layout.n_attributes, layout.n_columns
    tables = w.reshape(shape), u.reshape(shape)  # views: the weights change in place
    gold, weights = batch.gold_codes.values.astype(np.int64), np.asarray(weights, dtype=np.float64)
    for order in orders:
        order = np.asarray(order, dtype=np.int64)
        yield int(classes_perceptron.perceptron_pass(features, classes, gold, order, weights, clock, *tables))
