"""Second moments of the features of alignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from trelliswork._ragged import offsets_of
from trelliswork._threads import balanced_chunks, even_chunks, n_threads, run
from trelliswork.dp.alignment.flags import LOCAL
from trelliswork.structures.alignment.sample import PairLaw
from trelliswork.structures.base import Parts
from trelliswork.structures.covariance import Covariance

if TYPE_CHECKING:
    from trelliswork.structures.alignment.batch import AlignmentBatch, Law

__all__ = ["AlignmentCovariance"]


class AlignmentCovariance(Covariance):
    """Second moments by two vector sweeps over the grid, see ``dp/alignment/moments.py``."""

    batch: AlignmentBatch

    def marginals(self, *, weighted: bool = True, each: bool = False) -> Parts:
        """Expected use of the parts, without the posteriors of cells."""
        law = self.batch._law(self.law, sums=True)
        return self.batch._sums(law, self.weights if weighted else None, each, False)[1]

    def tangent(self, direction: Parts, *, weighted: bool = True, each: bool = False) -> Parts:
        """Covariance of the parts with a direction, without those of cells."""
        law = self.batch._law(self.law, sums=True)
        along = self.batch._law(direction)
        return self.batch._sums(law, self.weights if weighted else None, each, False, along)[1]

    def means(self) -> sp.csr_matrix:
        """Mean features of every pair."""
        return sp.csr_matrix(self.marginals(weighted=False, each=True).feature)

    def _covariance(self) -> np.ndarray:
        batch, d = self.batch, self.n_features
        law = batch._law(self.law, sums=True)
        weight = np.ones(len(batch)) if self.weights is None else self.weights
        sizes = (batch.first.lengths + 1) * (batch.second.lengths + 1)
        chunks = balanced_chunks(offsets_of(sizes), batch.limits.moment_cells_per_chunk)

        def task(a: int, b: int) -> np.ndarray:
            total = np.zeros((d, d))
            for p in range(a, b):
                _add_pair(batch, law, p, float(weight[p]), total)
            return total

        out = np.zeros((d, d))
        for part in run(task, chunks, n_threads(batch.n_jobs)):
            out += part
        return out


def _add_pair(batch: AlignmentBatch, law: Law, p: int, weight: float, total: np.ndarray) -> None:
    """Add the covariance of one pair, over the features that it can fire."""
    pair = PairLaw(batch, law, p)
    used = np.unique(batch.of_pair[np.ix_(np.unique(pair.first), np.unique(pair.second))])
    used = used[used >= 0]
    local = np.full(batch.space.n_features + 1, -1, dtype=np.int64)  # the last is -1, no feature
    local[used] = np.arange(used.size)
    gaps = np.unique(batch.space.of_gap)
    of_gap = used.size + np.searchsorted(gaps, batch.space.of_gap)
    features = np.concatenate([used, gaps])
    covariance = np.zeros((features.size, features.size))
    for c, stop in even_chunks(used.size, batch.limits.moment_features):
        _add_columns(pair, local[batch.of_pair], of_gap, c, stop, False, covariance)
    # Matches know their covariance with gaps, so that gaps need only theirs with gaps.
    _add_columns(pair, local[batch.of_pair], of_gap, used.size, features.size, True, covariance)
    covariance[used.size :, : used.size] = covariance[: used.size, used.size :].T
    total[np.ix_(features, features)] += weight * covariance


def _add_columns(
    pair: PairLaw,
    of_pair: np.ndarray,
    of_gap: np.ndarray,
    c: int,
    stop: int,
    with_gaps: bool,
    covariance: np.ndarray,
) -> None:
    """Add the covariances with the features c .. stop - 1: a sweep upwards, and one downwards."""
    from trelliswork.dp.alignment import moments

    n1, n2, step, width = pair.first.size, pair.second.size, pair.step, stop - c
    local = bool(pair.flags & LOCAL)
    kept = np.zeros((pair.n_blocks + 1, 2, n2 + 2, width))  # means of the first row of every block
    M, D, N = (np.zeros((step + 1, n2 + 2, width)) for _ in range(3))
    means = moments.Means(M, D, N)
    grid = moments.Grid(pair.first, pair.second, of_pair, of_gap, c, pair.flags)
    mean = np.zeros(width)
    m, d = np.zeros((2, n2 + 2)), np.zeros((2, n2 + 2))
    got_m, got_d = np.zeros((2, n2 + 2, width)), np.zeros((2, n2 + 2, width))
    collected = moments.Collected(m, d, got_m, got_d)
    m[0, 0] = 0.0 if local else 1.0
    upwards = list(range(pair.n_blocks - 1, -1, -1))
    for turn, q in enumerate(upwards + upwards[::-1]):
        low, high = pair.block(q)
        if turn != pair.n_blocks:  # the first block downwards is the last upwards
            M[high - low], D[high - low] = kept[q + 1]
            moments.mean_block(grid, low, high, pair.moves, means)
        if turn < pair.n_blocks:
            kept[q, 0], kept[q, 1] = M[0], D[0]
            if local:
                mean += _mean_of_starts(pair, of_pair, c, width, low, min(high, n1), M)
            elif q == 0:
                mean = M[0, 0].copy()
            continue
        block = (low, high, pair.moves, pair.entry)
        moments.collect_block(grid, *block, means, mean, collected, 1.0, with_gaps, covariance)


def _mean_of_starts(
    pair: PairLaw, of_pair: np.ndarray, c: int, width: int, low: int, high: int, M: np.ndarray
) -> np.ndarray:
    """Share in the mean of the local alignments that start in some rows."""
    starts = pair.entry[: high - low]
    mean = np.einsum("ij,ijf->f", starts, M[1 : high - low + 1, 1 : pair.second.size + 1])
    fired = of_pair[np.ix_(pair.first[low:high], pair.second)] - c
    inside = (fired >= 0) & (fired < width)
    return mean + np.bincount(fired[inside], starts[inside], minlength=width)
