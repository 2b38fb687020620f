"""Outputs among the best paths of lattices: paths that write the same are one output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork._ragged import Ragged, offsets_of

if TYPE_CHECKING:
    from trelliswork.structures.transducer.batch import TransducerBatch

__all__ = ["PATHS", "merged"]

PATHS = 8  # paths that are looked at for every output asked for


def merged(
    batch: TransducerBatch, paths: tuple[np.ndarray, np.ndarray, Ragged], k: int
) -> tuple[np.ndarray, np.ndarray, Ragged]:
    """The ``k`` best outputs of every sample, from its best paths; codes are those of the best path of
    each.

    Paths and outputs are given as where those of each sample begin, values, and codes.
    """
    from trelliswork.dp.transducer.paths import merge_paths

    ptr, values, codes = paths
    sample = np.repeat(np.arange(len(batch)), np.diff(ptr))
    written = batch.written_pieces(sample, codes)
    leader, total = merge_paths(ptr, values, codes.offsets, written, *batch.inventory)
    first = np.flatnonzero(leader == np.arange(leader.size))
    order = first[np.lexsort((-total[first], sample[first]))]
    rank = np.arange(order.size) - offsets_of(np.bincount(sample[first], minlength=len(batch)))[sample[order]]
    best = order[rank < k]
    return offsets_of(np.bincount(sample[best], minlength=len(batch))), total[best], codes[best]
