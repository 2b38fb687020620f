"""Outputs that are known in part, filled in by a first model."""

from __future__ import annotations

import copy

import numpy as np

from trelliswork._ragged import Ragged
from trelliswork.learners.asking import derived
from trelliswork.learners.crf import fit_crf
from trelliswork.learners.known import known_in_part
from trelliswork.learners.strength import DataScale
from trelliswork.structures.abilities import PartlyKnown
from trelliswork.structures.base import Batch, Parts

__all__ = ["FIRST_MODEL", "best_completion", "filled_in", "first_completion"]

FIRST_MODEL = "crf"  # what fills in outputs for learners that need them as a whole
_MAX_ITER, _TOL = 50, 1e-2
_GRID_BITS = 20


def first_completion(batch: PartlyKnown, weights: np.ndarray | None = None) -> PartlyKnown:
    """The same samples with the best completions under a conditional random field that was fitted to them.

    Where the codes of the outputs come from elsewhere and are good already (a reference alignment of which
    the core counts, the best alignment of a string), they stay.
    """
    if batch.known is None:
        return batch
    start = np.zeros(batch.space.n_features)
    l2 = DataScale.of(batch, weights).l2
    minimum, _ = fit_crf(batch, start, l1=0.0, l2=l2, weights=weights, max_iter=_MAX_ITER, tol=_TOL)
    return best_completion(batch, _on_a_grid(minimum.w))


def _on_a_grid(w: np.ndarray) -> np.ndarray:
    """Weights rounded to multiples of a power of two, about a millionth of the largest.

    Scores are then sums without rounding, so that completions which are equally good have equal scores and
    the choice among them is the rule of the structure's search, not the last bit of a sum: the same on all
    machines, and for samples that are repeated instead of weighted.
    """
    largest = float(np.abs(w).max(initial=0.0))
    if largest == 0.0:
        return w
    unit = 2.0 ** (np.frexp(largest)[1] - _GRID_BITS)
    return np.round(w / unit) * unit


def best_completion(batch: PartlyKnown, w: np.ndarray | None, scores: Parts | None = None) -> PartlyKnown:
    """The same samples with the best completions under given weights, or scores of all samples."""
    if scores is None:
        return derived(batch, _completed_by, np.asarray(w))
    return derived(batch, _completed_with, scores)


def _completed_with(batch: PartlyKnown, scores: Parts) -> PartlyKnown:
    return _with_outputs(batch, batch.completion(scores).codes[batch.open_samples])


def _completed_by(batch: PartlyKnown, w: np.ndarray) -> PartlyKnown:
    if not batch.partly_known:
        return batch
    part = batch.subset(batch.open_samples)
    return _with_outputs(batch, part.completion(part.scores(w)).codes)


def _with_outputs(batch: PartlyKnown, completions: Ragged) -> PartlyKnown:
    """The same samples with other true outputs of those that are known in part."""
    rows = list(batch.gold_codes)
    for i, codes in zip(batch.open_samples, completions, strict=True):
        rows[i] = codes
    return batch.completed(Ragged.from_list(rows, np.int64))


def filled_in(batch: Batch, weights: np.ndarray | None = None) -> tuple[Batch, str | None]:
    """Samples whose outputs count as known as a whole, and what filled them in; None where nothing had to."""
    partly = known_in_part(batch)
    if partly is None or partly.known is None:
        return batch, None
    return derived(first_completion(partly, weights), _as_whole), FIRST_MODEL


def _as_whole(batch: PartlyKnown) -> PartlyKnown:
    done = copy.copy(batch)
    done.known = None
    return done
