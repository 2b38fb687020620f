"""Base pairs and unpaired bases with the bases around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork.dp.rna.rules import BASES, KIND
from trelliswork.structures.contexts import PartContexts, distinct_codes, one_hot, windows

if TYPE_CHECKING:
    from trelliswork.structures.rna.batch import RNABatch

__all__ = ["cell_contexts"]

_BORDER = len(BASES) + 1  # after the unknown base
_PAIR, _UNPAIRED = 0, 1  # types


def cell_contexts(batch: RNABatch) -> PartContexts:
    """Contexts of the pairs that may form, a window around either base, and of unpaired bases.

    Parameters
    ----------
    batch : RNABatch
        Packed sequences.
    """
    around = windows(batch.bases.values, batch.bases.offsets, int(batch.space.structure.context), _BORDER)
    places, owners, rows, types = [], [], [], []
    for i, bases in enumerate(batch.bases):
        left, right = batch.cells(bases.size)
        unpaired = left == right
        used = np.flatnonzero(unpaired | (KIND[bases[left], bases[right]] >= 0))
        start = batch.bases.offsets[i]
        other = np.where(unpaired[used, None], -1, around[start + right[used]])
        places.append(batch.pair_ptr[i] + used)
        owners.append(np.full(used.size, i))
        rows.append(np.concatenate([around[start + left[used]], other], axis=1))
        types.append(np.where(unpaired[used], _UNPAIRED, _PAIR))
    row, column = np.full(batch.pair_ptr[-1], -1), np.zeros(batch.pair_ptr[-1], dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    codes = np.concatenate([np.zeros((0, 2 * around.shape[1]), dtype=np.int64), *rows])
    found, first, place = distinct_codes(codes, _BORDER + 1)
    at = np.concatenate([none, *places])
    row[at], column[at] = place, np.concatenate([none, *types])
    owner = np.concatenate([none, *owners])[first]
    return PartContexts("pair", one_hot(found, _BORDER + 1), row, column, 2, owner)
