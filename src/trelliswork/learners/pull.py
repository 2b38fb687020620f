"""How strongly weights are pulled towards a prior, told by samples that are held out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trelliswork.learners.known import Target, known_in_part
from trelliswork.structures.base import Batch

__all__ = ["Fit", "Pull", "chosen_pull"]

# Weights that minimise the loss of some samples: ``fit(samples, start, pull)``.
Fit = Callable[[np.ndarray, np.ndarray, "Pull"], np.ndarray]

_FACTORS = (256.0, 64.0, 16.0, 4.0, 1.0)  # of the unit, from strong to weak
_PARTS = 3  # one of which is held out
_LEAST = 3  # samples, below which there are too few to tell
_TELLING = 12  # samples held out, below which their spread says little
_FEW = 60  # samples, up to which every part is held out in turn
_MOST = 150  # samples that are looked at


class Pull(NamedTuple):
    """Strength of a penalty, and the weights that it pulls to; None is zero."""

    strength: float
    prior: np.ndarray | None


def chosen_pull(batch: Batch, prior: np.ndarray, unit: float, fit: Fit, weights: np.ndarray | None) -> Pull:
    """Strongest pull with which held-out samples are as probable as with any, by all that they can tell.

    Towards the prior it is one of five multiples of ``unit``; towards zero it is ``unit`` itself. Samples
    that are like each other say more about new ones than a prior does, and samples of all kinds say less:
    then the pull is weak, or strong. Where they are also unlike all that the prior was made of, it is in the
    way. The search goes from strong to weak, each fit begins with the last one, and it ends when held-out
    samples become less probable; what is best so far is then compared with a fit from nothing. Between pulls
    to the prior, differences within one standard error (of 12 and more samples) count as none: new samples
    may be of other kinds than these, which a prior may know.

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
    Pull
        The strength and the prior, or ``unit`` and None; the largest strength with fewer than three samples.

    Examples
    --------
    >>> from trelliswork import CRF, RNA
    >>> model = CRF(RNA()).fit(["GGGAAACCC", "GCGCAAAGCGC"], ["(((...)))", "((((...))))"])
    >>> model.prior_coef_.shape, bool(model.l2_ > 1)
    ((1059,), True)
    """
    n = len(batch)
    pulls = [Pull(unit * factor, prior) for factor in _FACTORS]
    if n < _LEAST:
        return pulls[0]
    order = np.random.default_rng(0).permutation(n)[:_MOST]
    trials = [_Trial(batch, order, part, prior, fit, weights) for part in range(_PARTS if n <= _FEW else 1)]
    reached: list[np.ndarray] = []
    for pull in pulls:
        reached.append(np.concatenate([trial(pull) for trial in trials]))
        if len(reached) > 1 and not reached[-1].sum() > reached[-2].sum():
            break
    best = max(reached, key=np.sum)
    chosen = next(number for number, each in enumerate(reached) if not _clearly(best - each))
    nothing = Pull(unit, None)
    from_nothing = np.concatenate([trial(nothing) for trial in trials])
    return nothing if from_nothing.sum() > best.sum() else pulls[chosen]


def _clearly(gains: np.ndarray) -> bool:
    """Whether the sum of some gains is positive by more than a standard error, of a few by anything."""
    error = gains.std() * gains.size**0.5 if gains.size >= _TELLING else 0.0
    return bool(gains.sum() > error)


class _Trial:
    """Fits without some samples, each from the weights of the last; a call: how probable each of those is."""

    def __init__(
        self,
        batch: Batch,
        order: np.ndarray,
        part: int,
        start: np.ndarray,
        fit: Fit,
        weights: np.ndarray | None,
    ):
        held = np.sort(order[part::_PARTS])
        self.rest = np.sort(np.delete(order, np.s_[part::_PARTS]))
        self.share = np.ones(held.size) if weights is None else weights[held]
        self.samples, self.w, self.fit = batch.subset(held), start, fit

    def __call__(self, pull: Pull) -> np.ndarray:
        start = self.w if pull.prior is not None else np.zeros_like(self.w)
        self.w = self.fit(self.rest, start, pull)
        log_z = self.samples.log_partition(self.samples.scores(self.w))
        return self.share * (self._true() - log_z)

    def _true(self) -> np.ndarray:
        """Scores of the true outputs, or logs of the sums over all that agree with what is known of them."""
        if known_in_part(self.samples) is None:
            return np.asarray(self.samples.gold() @ self.w)
        singles = (self.samples.subset([i]) for i in range(len(self.samples)))
        return np.array([Target(single)(self.w)[0] for single in singles])
