"""The perceptron on alignments."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from trelliswork.structures.alignment.batch import AlignmentBatch

__all__ = ["passes"]


def passes(
    batch: AlignmentBatch,
    w: np.ndarray,
    u: np.ndarray,
    orders: Iterable[np.ndarray],
    weights: np.ndarray,
    clock: np.ndarray,
) -> Generator[int, None, None]:
    """Passes over pairs of sequences; the search is exact."""
    from trelliswork.dp.alignment import viterbi

    gold = batch.gold_codes
    pairs = batch.arrays()
    maps = batch.of_pair, batch.space.of_gap, batch.flags, batch.limits.traced_cells
    weights = np.asarray(weights, dtype=np.float64)
    for order in orders:
        order = np.asarray(order, dtype=np.int64)
        yield int(
            viterbi.perceptron_pass(pairs, *maps, gold.values, gold.offsets, order, weights, clock, w, u)
        )
