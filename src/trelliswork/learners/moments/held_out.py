"""How far weights should go from a generative law, and with which loss: told by samples that are held out.

A generative law is seldom right about how sure it is, and the mean and the covariance of scores under it say
in which direction to correct it rather than how far. Weights that a part of the samples gives are therefore
tried on others, times several lengths; what makes these most probable is taken for all samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from trelliswork.learners.moments.reference import reference_scores
from trelliswork.structures.base import Batch

__all__ = ["Setting", "told_by_others"]

_HELD = 3  # every third sample is held out
_LEAST = 12  # samples, below which there are too few to tell
_MOST = 150  # samples that are looked at, and at most every other one
_LENGTHS = (1.0, 2.0, 4.0, 8.0, 0.5, 0.25, 0.125)


class Setting(NamedTuple):
    """What margins are asked for, and the factor of the weights.

    Attributes
    ----------
    loss : object or None
        Loss that margins are equal to.
    margin : float or None
        Margin per unit of the loss, of the scores of the whole model; None: of the weights alone.
    length : float
        Factor of the weights that are found.
    """

    loss: Any
    margin: float | None = None
    length: float = 1.0


# Weights of some samples, and those of their reference law.
Solve = Callable[[Batch, np.ndarray | None, Setting], tuple[np.ndarray, np.ndarray]]


def told_by_others(
    batch: Batch, weights: np.ndarray | None, settings: Sequence[Setting], solve: Solve
) -> Setting:
    """The setting, with a length, that makes held-out samples most probable; the first with few samples.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    weights : ndarray or None
        Weight of each sample.
    settings : sequence of Setting
        What is tried.
    solve : callable
        Makes weights.

    Examples
    --------
    >>> from trelliswork import Chain, SODA
    >>> X, y = [["the", "cat"], ["a", "dog"]] * 10, [["D", "N"], ["D", "N"]] * 10
    >>> model = SODA(Chain()).fit(X, y)
    >>> model.loss_, model.total_margin_, model.length_
    ('hamming', None, 8.0)
    """
    used = np.arange(len(batch)) if weights is None else np.flatnonzero(weights)
    if used.size < _LEAST:
        return settings[0]
    size = min(_MOST, max(used.size // 2, _LEAST))
    order = used[np.random.default_rng(0).permutation(used.size)[:size]]
    held, rest = np.sort(order[::_HELD]), np.sort(np.delete(order, np.s_[::_HELD]))
    known, new = batch.subset(rest), batch.subset(held)
    new = new.as_new(known)
    share = np.ones(held.size) if weights is None else weights[held]
    best, chosen = -np.inf, settings[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a look need not be exact
        for setting in settings:
            found, reference = solve(known, None if weights is None else weights[rest], setting)
            offset, change = reference_scores(new, reference), new.scores(found)
            for length in _LENGTHS:
                scores = offset + length * change
                each = new.evaluate(new.gold_codes, scores) - new.log_partition(scores)
                reached = float(share @ each)
                if reached > best:
                    best, chosen = reached, setting._replace(length=length)
    return chosen
