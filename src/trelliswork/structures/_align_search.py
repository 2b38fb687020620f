"""Search for best alignments: which arithmetic, which recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork._ragged import Ragged

if TYPE_CHECKING:
    from trelliswork.structures._align_batch import AlignmentBatch, Law
    from trelliswork.structures.base import Parts

__all__ = ["best_paths", "best_scores"]

_TRACED_CELLS = 1 << 24  # of one pair, whose trace is kept in one piece


def best_paths(batch: AlignmentBatch, law: Law, fast: bool) -> Ragged:
    """Columns of the best alignment of every pair."""
    from trelliswork.dp import _grid
    from trelliswork.structures._align_batch import rows_at

    n = len(batch)
    offsets = batch.first.offsets + batch.second.offsets
    values, lengths, codes = np.empty(n), np.empty(n, dtype=np.int64), np.empty(offsets[-1], dtype=np.int64)
    arrays = batch._arrays(law)
    batch._run(lambda a, b: _grid.viterbi(*arrays, a, b, _TRACED_CELLS, values, codes, lengths))
    return rows_at(codes, offsets, lengths)


def best_scores(batch: AlignmentBatch, law: Law, scores: Parts) -> np.ndarray:
    """Score of the best alignment of every pair."""
    return batch.evaluate(best_paths(batch, law, True), scores)
