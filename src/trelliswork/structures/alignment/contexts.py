"""Matches of two residues with the residues around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork.structures.contexts import PartContexts, distinct_codes, one_hot, windows

if TYPE_CHECKING:
    from trelliswork.structures.alignment.batch import AlignmentBatch

__all__ = ["match_contexts"]


def match_contexts(batch: AlignmentBatch) -> PartContexts:
    """Contexts of all cells: a window of the first sequence and one of the second.

    Parameters
    ----------
    batch : AlignmentBatch
        Packed pairs.
    """
    unknown = len(batch.space.symbols)
    radius, n_codes = int(batch.space.structure.context), unknown + 2
    first, second = (
        windows(np.minimum(s.values, unknown), s.offsets, radius, unknown + 1)
        for s in (batch.first, batch.second)
    )
    n = batch.second.lengths
    owner = np.repeat(np.arange(len(batch)), np.diff(batch.cell_ptr))
    cell = np.arange(owner.size) - batch.cell_ptr[owner]
    a, b = np.divmod(cell, np.maximum(n, 1)[owner])
    rows = np.concatenate(
        [first[batch.first.offsets[owner] + a], second[batch.second.offsets[owner] + b]], axis=1
    )
    found, met, place = distinct_codes(rows, n_codes)
    return PartContexts("cell", one_hot(found, n_codes), place, np.zeros_like(place), 1, owner[met])
