"""Generative scores of alignments: log-odds of pairs, gap weights by search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork._ragged import Ragged
from trelliswork.structures.alignment.columns import Columns

if TYPE_CHECKING:
    from trelliswork.structures.alignment.batch import AlignmentBatch

__all__ = ["generative_weights"]

# Gap weights that are tried, relative to the mean log-odds of the true pairs.
_GAPS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0)
_EXTENSIONS = (0.02, 0.05, 0.1, 0.2, 0.5)


def generative_weights(
    batch: AlignmentBatch, smoothing: float, weights: np.ndarray | None = None
) -> np.ndarray:
    """Log P(a, b) / (P(a) P(b)) with ``smoothing`` added to the count of every pair of symbols.

    Gap weights are those, of a small grid, with which most true pairs are found again.
    """
    n = len(batch.space.symbols)
    counts = batch.summed(_pair_counts, weights=weights)
    if not batch.space.structure.model.startswith("ordered"):
        counts = counts + counts.T
    joint = counts + smoothing
    joint /= joint.sum()
    by_chance = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    w = np.zeros(batch.space.n_features)
    of_pair = batch.space.of_pair
    if batch.space.by_symbol:
        w[of_pair] = np.log(joint / by_chance)
    else:
        for feature in (0, 1):
            inside = of_pair == feature
            if inside.any():
                w[feature] = np.log(joint[inside].sum() / by_chance[inside].sum())
    typical = float(np.sum(joint * w[of_pair])) if n else 1.0
    return _with_gaps(batch, w, max(typical, 0.1), weights)


def _pair_counts(batch: AlignmentBatch, weights: np.ndarray | None) -> np.ndarray:
    """How often every symbol is matched with every other in the true alignments."""
    n = len(batch.space.symbols)
    columns = Columns.of(batch, batch.gold_codes)
    sample_weight = np.ones(len(batch)) if weights is None else np.asarray(weights, dtype=np.float64)
    a = batch.first.values[batch.first.offsets[:-1][columns.owner] + columns.first]
    b = batch.second.values[batch.second.offsets[:-1][columns.owner] + columns.second]
    known = (a < n) & (b < n)
    counts = np.zeros((n, n))
    np.add.at(counts, (a[known], b[known]), sample_weight[columns.owner][known])
    return counts


def _with_gaps(
    batch: AlignmentBatch, w: np.ndarray, typical: float, weights: np.ndarray | None
) -> np.ndarray:
    open_, extend = batch.space.of_gap.tolist()
    affine = open_ != extend
    grid = [(g, e) for g in _GAPS for e in (_EXTENSIONS if affine else (1.0,))]
    best, share = w, -1.0
    for g, e in grid:
        w = w.copy()
        w[open_] = -g * typical
        if affine:
            w[extend] = -g * typical * e
        right = batch.summed(_pairs_found, w, weights=weights)
        if right > share + 1e-9:
            best, share = w, right
    return best


def _pairs_found(batch: AlignmentBatch, w: np.ndarray, weights: np.ndarray | None) -> float:
    """Shares of the true pairs that the best alignments have, summed."""
    shares = _recovered(batch, batch.argmax(batch.scores(w)).codes)
    return float(shares @ (np.ones(len(batch)) if weights is None else np.asarray(weights)))


def _recovered(batch: AlignmentBatch, codes: Ragged) -> np.ndarray:
    """Share of the true pairs of every sample that given alignments have."""
    columns = Columns.of(batch, codes)
    row = batch.first.offsets[:-1][columns.owner] + columns.first
    right = np.bincount(columns.owner, batch.partner[row] == columns.second, minlength=len(batch))
    owner = np.repeat(np.arange(len(batch)), batch.first.lengths)
    total = np.bincount(owner, batch.partner >= 0, minlength=len(batch))
    return right / np.maximum(total, 1)
