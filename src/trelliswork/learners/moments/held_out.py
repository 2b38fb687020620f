"""How far weights should go from a generative law, and with which loss: told by samples that are held out.

A generative law is seldom right about how sure it is, and the mean and the covariance of scores under it say
in which direction to correct it rather than how far. Weights that a part of the samples gives are therefore
tried on others, times several lengths; what predicts these with the fewest errors is taken for all samples.
Their probability breaks ties only: it would hold large margins back, which are too sure and yet predict well.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from trelliswork.learners.asking import rows
from trelliswork.learners.moments.reference import reference_scores
from trelliswork.losses import as_loss
from trelliswork.structures.base import Batch, Parts

__all__ = ["Setting", "told_by_others"]

_HELD = 3  # every third output is held out
_LEAST = 12  # different outputs, below which there are too few to tell
_MOST = 150  # different outputs that are looked at
_SAMPLES = 4 * _MOST  # that have them
_LENGTHS = (1.0, 2.0, 4.0, 8.0, 0.5, 0.25, 0.125)
_SHORTER = (1 / 16, 1 / 64)


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
        Makes weights.
    in_turn : bool, default=False
        Whether every third of the outputs is held out in turn, not only one: for a law that knows much
        already, where a few samples do not tell by how little it should be corrected.

    Examples
    --------
    >>> from trelliswork import Chain, SODA
    >>> X, y = [["the", "cat"] * n for n in range(1, 30)], [["D", "N"] * n for n in range(1, 30)]
    >>> model = SODA(Chain()).fit(X, y)
    >>> model.loss_, model.total_margin_, model.length_
    ('hamming', 8.0, 0.125)
    """
    totals: dict[Setting, np.ndarray] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a look need not be exact
        for turn in range(_HELD if in_turn else 1):
            held, rest = _split(batch, weights, turn)
            if not held.size:
                return settings[0]
            known, new = batch.subset(rest), batch.subset(held)
            new = new.as_new(known.seen_attributes())
            share = np.ones(held.size) if weights is None else weights[held]
            for setting in settings:
                found, reference = solve(known, None if weights is None else weights[rest], setting)
                offset, change = reference_scores(new, reference), new.scores(found)
                for length in (*_LENGTHS, *(_SHORTER if in_turn else ())):
                    scores = offset + length * change
                    wrong = rows(new, _errors, scores)
                    log_prob = new.evaluate(new.gold_codes, scores) - new.log_partition(scores)
                    tried = setting._replace(length=length)
                    total = totals.setdefault(tried, np.zeros(2))
                    total += (-float(share @ wrong), float(share @ log_prob))
    return max(totals, key=lambda tried: tuple(totals[tried]))


def _split(batch: Batch, weights: np.ndarray | None, turn: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples to be tried on and samples to learn from; none where there are too few.

    Samples with one output are on one side, which a hash of the output tells: so neither their order nor
    whether a sample is there twice or has twice the weight changes anything.
    """
    used = np.arange(len(batch)) if weights is None else np.flatnonzero(weights)
    sides: dict[bytes, list[int]] = {}
    hashes = rows(batch, _hashes)
    for i in used.tolist():
        sides.setdefault(hashes[i], []).append(i)
    if len(sides) < _LEAST:
        return used[:0], used
    order = [sides[key] for key in sorted(sides)][:_MOST]
    while len(order) > _LEAST and sum(map(len, order)) > _SAMPLES:
        order.pop()
    held = [i for number, group in enumerate(order) if number % _HELD == turn for i in group]
    rest = [i for number, group in enumerate(order) if number % _HELD != turn for i in group]
    return np.sort(held), np.sort(rest)


def _errors(batch: Batch, scores: Parts) -> np.ndarray:
    """Wrong parts of the best output of each sample."""
    return as_loss("hamming").evaluate(batch, batch.argmax(scores).codes)


def _hashes(batch: Batch) -> list[bytes]:
    """What tells the outputs of samples apart."""
    outputs = batch.unpack(batch.gold_codes)
    return [hashlib.blake2b(repr(output).encode(), digest_size=8).digest() for output in outputs]
