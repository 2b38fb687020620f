"""Weights from counts where outputs are not made by the choices of a generative model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork._errors import InputError

if TYPE_CHECKING:
    from trelliswork.structures.batch import Batch

__all__ = ["log_odds"]


def log_odds(
    batch: Batch, smoothing: float, weights: np.ndarray | None = None, counts: np.ndarray | None = None
) -> np.ndarray:
    """Logarithms of how often features occur in true outputs, against how often they do in all outputs.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    smoothing : float
        Count added to every feature.
    weights : ndarray or None
        Weight of each sample.
    counts : ndarray or None
        Features of the true outputs, summed, where these are expectations; None counts them.

    Examples
    --------
    >>> from trelliswork import Classes
    >>> from trelliswork.structures.log_odds import log_odds
    >>> _, batch = Classes().compile([{"tail": 1}, {"wing": 1}], ["cat", "bird"])
    >>> log_odds(batch, 1.0).round(2).tolist()[:2]
    [-0.41, 0.29]
    """
    gold = batch.gold_sum(weights) if counts is None else counts
    uniform = batch.scores(np.zeros(batch.space.n_features))
    everywhere = batch.pull(batch.marginals(uniform, weights=weights))
    if min(gold.min(initial=0.0), everywhere.min(initial=0.0)) < 0:
        raise InputError(
            "Negative values in data: Generative needs counts, the features must not be negative"
        )
    return np.log((gold + smoothing) / (everywhere + smoothing))
