"""How far weights should go from a generative law, and with which loss: told by samples that are held out.

A generative law is seldom right about how sure it is, and the mean and the covariance of scores under it say
in which direction to correct it rather than how far. Weights that a part of the samples gives are therefore
tried on others, times several lengths; what predicts these with the fewest errors is taken for all samples.
Their probability breaks ties only: it would hold large margins back, which are too sure and yet predict well.
Of few samples every part is held out in turn, and their probability decides: errors are too few to tell.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from trelliswork.learners.asking import rows
from trelliswork.learners.moments.reference import reference_scores
from trelliswork.learners.trial import Trial, least_wrong, row_trials, trial, wrong_parts
from trelliswork.structures.base import Batch, Parts

__all__ = ["Setting", "told_by_others", "told_ridge"]

_LEAST_KNOWING = 12  # different outputs, below which there are too few for a law that knows much already
_DIGITS = 9  # of errors and log-probabilities that count
_FEW = 30  # samples, up to which every third is held out in turn
# Different outputs, below which there are too few to tell, those that are looked at, samples that have them.
_SIZES = {"least": 5, "most": 150, "samples": 600}
_CHAIN_SIZES = {"least": 5, "most": 300, "samples": 1200}
_RIDGES = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3)  # of single labels, from strong to weak
_CHAIN_RIDGES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
_LENGTHS = (1.0, 2.0, 4.0, 8.0, 0.5, 0.25, 0.125)
_SHORTER = (1 / 16, 1 / 64)
_BETWEEN = (1.4, 2.8, 5.6, 11.0, 16.0, 0.7)  # also tried on chains, whose outputs are found quickly


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
    ridge : float
        Factor of the ridge that "auto" stands for.
    """

    loss: Any
    margin: float | None = None
    length: float = 1.0
    ridge: float = 1.0


# Looks at some samples; then gives weights for a setting, and those of the reference law.
Solve = Callable[[Batch, np.ndarray | None], Callable[[Setting], tuple[np.ndarray, np.ndarray]]]
# Part scores of new samples for a factor of the ridge, after learning from others.
Scores = Callable[[float], Parts]


def told_by_others(
    batch: Batch,
    weights: np.ndarray | None,
    settings: Sequence[Setting],
    solve: Solve,
    *,
    in_turn: bool = False,
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
        Looks at samples, and then makes weights for a setting.
    in_turn : bool, default=False
        Whether every third of the outputs is held out in turn, not only one: for a law that knows much
        already, where a few samples do not tell by how little it should be corrected.

    Examples
    --------
    >>> from trelliswork import Chain, SODA
    >>> X, y = [["the", "cat"] * n for n in range(1, 30)], [["D", "N"] * n for n in range(1, 30)]
    >>> model = SODA(Chain()).fit(X, y)
    >>> model.length_ in (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0, 0.7, 0.5, 0.25, 0.125)
    True
    """
    trials = _trials(batch, weights, in_turn)
    if not trials:
        return settings[0]
    # Errors of few samples say less than their probability, unless the law knows much already.
    by_errors = in_turn or len(trials) == 1
    lengths = (*_LENGTHS, *(_BETWEEN if batch.fixed_length else ()), *(_SHORTER if in_turn else ()))
    best, chosen = (-np.inf, -np.inf), settings[0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "conjugate gradients stopped")  # a look need not be exact
        solved = [solve(split.known, split.weights) for split in trials]
        for setting in settings:
            found = [_reached(split, lengths, *weigh(setting)) for split, weigh in zip(trials, solved)]
            total = np.round(np.sum(found, axis=0), _DIGITS)  # ties are ties, whatever the order of the sums
            for length, (right, log_prob) in zip(lengths, total.tolist(), strict=True):
                reached = (right, log_prob) if by_errors else (log_prob, right)
                if reached > best:
                    best, chosen = reached, setting._replace(length=length)
    return chosen


def told_ridge(
    batch: Batch, weights: np.ndarray | None, learn: Callable[[Trial], tuple[Trial, Scores]]
) -> float:
    """Factor of the ridge with which held-out samples are predicted best, of single labels and of chains.

    From strong to weak: of single labels until two are worse, of chains all of them; 1 with few samples.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    weights : ndarray or None
        Weight of each sample.
    learn : callable
        Learns from a part of the samples, for several ridges; also gives the trial with the new samples as
        the scores are for.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork import Classes, ZScore
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> y = np.where(X[:, 0] > 0, "a", "b").tolist()
    >>> ZScore(Classes()).fit(X, y).score(X, y) > 0.9
    True
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "conjugate gradients stopped")
        if batch.one_label:
            asked = [partial(_wrong, *learn(split)) for split in row_trials(batch, weights)]
            return least_wrong(_RIDGES, asked)
        asked = [partial(_wrong, *learn(split)) for split in _trials(batch, weights, False)]
        return least_wrong(_CHAIN_RIDGES, asked, patience=len(_CHAIN_RIDGES))


def _wrong(split: Trial, scores: Scores, factor: float) -> float:
    return split.wrong(scores(factor))


def _trials(batch: Batch, weights: np.ndarray | None, in_turn: bool) -> list[Trial]:
    """A third of the samples held out; where asked for, and of few samples, each third in turn."""
    sizes = _CHAIN_SIZES if batch.fixed_length else _SIZES
    if in_turn:
        sizes = sizes | {"least": _LEAST_KNOWING}
    first = trial(batch, weights, **sizes)
    if first is None:
        return []
    if len(first.known) + len(first.new) > _FEW and not in_turn:
        return [first]
    others = (trial(batch, weights, part=part, **sizes) for part in (1, 2))
    return [first, *(split for split in others if split is not None)]


def _reached(split: Trial, lengths: Sequence[float], found: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Wrong parts, with a minus sign, and log-probability of held-out samples, for every length."""
    offset, change = reference_scores(split.new, reference), split.new.scores(found)
    reached = rows(split.new, _at_lengths, offset, change, tuple(lengths))
    out = [float(split.share @ column) for column in np.ascontiguousarray(reached.T)]
    return np.array(out).reshape(-1, 2)


def _at_lengths(batch: Batch, offset: Parts, change: Parts, lengths: Sequence[float]) -> np.ndarray:
    """The same for each sample, two columns per length: in one question, for which parts are made once."""
    columns = []
    for length in lengths:
        scores = offset + length * change
        columns.append(-wrong_parts(batch, scores))
        columns.append(batch.evaluate(batch.gold_codes, scores) - batch.log_partition(scores))
    return np.stack(columns, axis=1)
