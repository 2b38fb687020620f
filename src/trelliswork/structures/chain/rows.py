"""Label sequences in terms of their distinct tokens, for kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork.structures.abilities import RowView

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch

__all__ = ["row_view"]


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
