"""How strongly weights are pulled towards a prior, told by samples that are held out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trelliswork.learners.known import Target
from trelliswork.structures.base import Batch

__all__ = ["Fit", "chosen_pull"]

# Weights that minimise the loss of some samples: ``fit(samples, start, strength)``.
Fit = Callable[[np.ndarray, np.ndarray, float], np.ndarray]

_FACTORS = (256.0, 64.0, 16.0, 4.0, 1.0)  # of the unit, from strong to weak
_HELD = 3  # every third sample is held out
_LEAST = 6  # samples, below which there are too few to tell
_MOST = 150  # samples that are looked at


def chosen_pull(batch: Batch, prior: np.ndarray, unit: float, fit: Fit, weights: np.ndarray | None) -> float:
    """Strength with which held-out samples are most probable, one of five multiples of ``unit``.

    Samples that are like each other say more about new ones than a prior does, and samples of all kinds say
    less. The search goes from strong to weak, each fit begins with the last one, and it ends when held-out
    samples become less probable.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    prior : ndarray of shape (n_features,)
        The prior.
    unit : float
        Strength that would be used without a prior.
    fit : callable
        Makes weights.
    weights : ndarray or None
        Weight of each sample.

    Returns
    -------
    float
        The strength; the largest with fewer than six samples.

    Examples
    --------
    >>> from trelliswork import CRF, RNA
    >>> model = CRF(RNA()).fit(["GGGAAACCC", "GCGCAAAGCGC"], ["(((...)))", "((((...))))"])
    >>> model.prior_coef_.shape, bool(model.l2_ > 1)
    ((1059,), True)
    """
    n = len(batch)
    if n < _LEAST:
        return unit * _FACTORS[0]
    order = np.random.default_rng(0).permutation(n)[:_MOST]
    held, rest = np.sort(order[::_HELD]), np.sort(np.delete(order, np.s_[::_HELD]))
    share = np.ones(held.size) if weights is None else weights[held]
    samples = batch.subset(held)
    target = Target(samples, share)
    best, chosen, w = -np.inf, _FACTORS[0], prior
    for factor in _FACTORS:
        w = fit(rest, w, unit * factor)
        reached = target(w)[0] - float(share @ samples.log_partition(samples.scores(w)))
        if not reached > best:
            break
        best, chosen = reached, factor
    return unit * chosen
