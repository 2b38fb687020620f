"""How far weights should go from a generative law, and with which loss: told by samples that are held out.

A generative law is seldom right about how sure it is, and the mean and the covariance of scores under it say
in which direction to correct it rather than how far. Weights that a part of the samples gives are therefore
tried on others, times several lengths; what predicts these with the fewest errors is taken for all samples.
Their probability breaks ties only: it would hold large margins back, which are too sure and yet predict well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from trelliswork.learners.moments.reference import reference_scores
from trelliswork.learners.trial import trial
from trelliswork.structures.base import Batch

__all__ = ["Setting", "told_by_others"]

_LEAST = 12  # different outputs, below which there are too few to tell
_MOST = 150  # different outputs that are looked at
_SAMPLES = 4 * _MOST  # that have them
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
    """The setting, with a length, that predicts held-out samples best; the first with few samples.

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
    >>> X, y = [["the", "cat"] * n for n in range(1, 30)], [["D", "N"] * n for n in range(1, 30)]
    >>> model = SODA(Chain()).fit(X, y)
    >>> model.loss_, model.total_margin_, model.length_
    ('hamming', 8.0, 0.125)
    """
    split = trial(batch, weights, least=_LEAST, most=_MOST, samples=_SAMPLES)
    if split is None:
        return settings[0]
    new = split.new
    best, chosen = (-np.inf, -np.inf), settings[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a look need not be exact
        for setting in settings:
            found, reference = solve(split.known, split.weights, setting)
            offset, change = reference_scores(new, reference), new.scores(found)
            for length in _LENGTHS:
                scores = offset + length * change
                log_prob = new.evaluate(new.gold_codes, scores) - new.log_partition(scores)
                reached = (-split.wrong(scores), float(split.share @ log_prob))
                if reached > best:
                    best, chosen = reached, setting._replace(length=length)
    return chosen
