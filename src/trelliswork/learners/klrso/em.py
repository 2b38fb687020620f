"""Counts of choices where outputs are known in part: their expectations over the outputs that agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import Unsupported
from trelliswork.learners.generative import em_weights
from trelliswork.structures.abilities import PartlyKnown
from trelliswork.structures.base import Batch, Parts

__all__ = ["LEAST_GAIN", "MAX_ROUNDS", "expected_counts", "first_counts"]

MAX_ROUNDS, LEAST_GAIN = 100, 1e-6


def _check_law(batch: PartlyKnown) -> None:
    """Refuse structures whose generative model is no law of outputs: expectations would be of another."""
    if batch.in_blocks:
        raise Unsupported("fill_in='em' needs all samples in memory; use fill_in='crf'")
    if not batch.is_generative:
        name = type(batch.space.structure).__name__
        raise Unsupported(
            f"the generative model of {name} is not made of probabilities, which fill_in='em' needs; use "
            "fill_in='crf'"
        )


def expected_counts(
    batch: PartlyKnown, scores_of: Callable[[PartlyKnown, np.ndarray], Parts], samples_at_a_time: int
) -> sp.csc_matrix:
    """Features of the outputs that are known as a whole, and expected ones of those known in part.

    Parameters
    ----------
    batch : PartlyKnown
        Samples.
    scores_of : callable
        Part scores of some samples: ``scores_of(batch of them, their numbers)``.
    samples_at_a_time : int
        Most samples that have their scores at the same time.
    """
    numbers = batch.open_samples
    known = np.setdiff1d(np.arange(len(batch)), numbers)
    pieces, order = [], [known]
    if known.size:
        pieces.append(batch.subset(known).gold())
    for first in range(0, numbers.size, samples_at_a_time):
        part = numbers[first : first + samples_at_a_time]
        agreeing, limits = batch.subset(part).restricted()
        scores = scores_of(agreeing, part)  # type: ignore[arg-type]
        pieces.append(agreeing.pull_each(agreeing.marginals(scores, limits, each=True)))
        order.append(part)
    counts = sp.vstack(pieces, format="csr")[np.argsort(np.concatenate(order))]
    return sp.csc_matrix(counts)


def first_counts(
    batch: Batch, partly: PartlyKnown | None, smoothing: float, weights: np.ndarray | None
) -> tuple[Any, np.ndarray | None]:
    """Counts of every sample, and their sums where they are expectations of the generative model."""
    if partly is None:
        return sp.csc_matrix(batch.gold()), None
    _check_law(partly)
    w, _ = em_weights(partly, smoothing, weights)
    counts = expected_counts(partly, lambda some, _: some.scores(w), len(batch))
    share = np.ones(len(batch)) if weights is None else weights
    return counts, np.asarray(counts.T @ share).ravel()
