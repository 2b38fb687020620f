"""Outputs that are known in part, filled in by a first model."""

from __future__ import annotations

import numpy as np

from trelliswork._ragged import Ragged
from trelliswork.learners.crf import fit_crf
from trelliswork.learners.known import known_in_part
from trelliswork.learners.strength import DataScale
from trelliswork.structures.abilities import PartlyKnown
from trelliswork.structures.base import Batch, Parts

__all__ = ["FIRST_MODEL", "best_completion", "filled_in", "first_completion"]

FIRST_MODEL = "crf"  # what fills in outputs for learners that need them as a whole
_MAX_ITER, _TOL = 50, 1e-2


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
    return best_completion(batch, minimum.w)


def best_completion(batch: PartlyKnown, w: np.ndarray | None, scores: Parts | None = None) -> PartlyKnown:
    """The same samples with the best completions under given weights, or scores of all samples."""
    index = batch.open_samples
    if scores is None:
        part = batch.subset(index)
        completions = part.completion(part.scores(np.asarray(w))).codes
    else:
        completions = batch.completion(scores).codes[index]
    rows = list(batch.gold_codes)
    for i, codes in zip(index, completions, strict=True):
        rows[i] = codes
    return batch.completed(Ragged.from_list(rows, np.int64))


def filled_in(batch: Batch, weights: np.ndarray | None = None) -> tuple[Batch, str | None]:
    """Samples whose outputs count as known as a whole, and what filled them in; None where nothing had to."""
    partly = known_in_part(batch)
    if partly is None or partly.known is None:
        return batch, None
    done = first_completion(partly, weights)
    done.known = None
    return done, FIRST_MODEL
