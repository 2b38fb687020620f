"""Samples that are held out, to tell learners what suits the data.

What is chosen must not depend on the order of the samples, and a sample that is there twice must count like
one of twice the weight. So a sample's own content decides on which side it is, and copies are on one side.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from trelliswork.learners.asking import rows
from trelliswork.losses import as_loss
from trelliswork.structures.base import Batch, Parts

__all__ = ["Trial", "least_wrong", "row_trials", "trial", "wrong_parts"]

_PARTS = 3  # one of which is held out
_LEAST_ROWS, _FEW_ROWS, _MOST_ROWS = 12, 450, 1500  # samples with one label


class Trial(NamedTuple):
    """A part of the samples to learn from, and others as new data.

    Attributes
    ----------
    known, new : Batch
        The two parts.
    weights : ndarray or None
        Weights of the samples to learn from.
    share : ndarray
        Weights of the others.
    """

    known: Batch
    new: Batch
    weights: np.ndarray | None
    share: np.ndarray

    def wrong(self, scores: Parts) -> float:
        """Wrong parts of the best outputs of the new samples, by their scores.

        Parameters
        ----------
        scores : Parts
            Scores of the new samples.
        """
        return float(self.share @ rows(self.new, wrong_parts, scores))


def trial(
    batch: Batch, weights: np.ndarray | None, *, least: int, most: int, samples: int, part: int = 0
) -> Trial | None:
    """A third of the samples held out; None where there are too few.

    Samples with one output are on one side; where an output is a single label, samples with one input.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    weights : ndarray or None
        Weight of each sample.
    least, most : int
        Different outputs (inputs) below which there are too few, and how many are looked at.
    samples : int
        Largest number of samples that have them.
    part : int, default=0
        Which third.

    Examples
    --------
    >>> from trelliswork import Chain, Perceptron
    >>> from trelliswork.learners.trial import trial
    >>> X, y = [["the", "cat"] * n for n in range(1, 31)], [["D", "N"] * n for n in range(1, 31)]
    >>> batch = Perceptron(Chain()).fit(X, y).pack(X, y)
    >>> split = trial(batch, None, least=12, most=100, samples=100)
    >>> len(split.known), len(split.new)
    (20, 10)
    """
    used = np.arange(len(batch)) if weights is None else np.flatnonzero(weights)
    groups: dict[Any, list[int]] = {}
    keys = rows(batch, _labelled_rows if batch.one_label else _outputs)
    for i in used.tolist():
        groups.setdefault(keys[i], []).append(i)
    if len(groups) < least:
        return None
    order = [groups[key] for key in sorted(groups)]
    if batch.one_label and len(order) > most:  # in the order of labels; others are in any order
        order = [order[i] for i in np.sort(np.random.default_rng(0).permutation(len(order))[:most])]
    order = order[:most]
    while len(order) > least and sum(map(len, order)) > samples:
        order.pop()
    held = np.sort([i for number, group in enumerate(order) if number % _PARTS == part for i in group])
    rest = np.sort([i for number, group in enumerate(order) if number % _PARTS != part for i in group])
    known, new = batch.subset(rest), batch.subset(held)
    share = np.ones(held.size) if weights is None else weights[held]
    new = new.as_new(known.seen_attributes())
    return Trial(known, new, None if weights is None else weights[rest], share)


def row_trials(batch: Batch, weights: np.ndarray | None) -> list[Trial]:
    """Trials of samples with one label each: a third of up to 1,500, of few each third in turn.

    Parameters
    ----------
    batch : Batch
        Samples with their true labels.
    weights : ndarray or None
        Weight of each sample.
    """
    first = trial(batch, weights, least=_LEAST_ROWS, most=_MOST_ROWS, samples=2 * _MOST_ROWS)
    if first is None:
        return []
    if len(first.known) + len(first.new) > _FEW_ROWS:
        return [first]
    others = (
        trial(batch, weights, least=_LEAST_ROWS, most=_MOST_ROWS, samples=2 * _MOST_ROWS, part=part)
        for part in range(1, _PARTS)
    )
    return [first, *(split for split in others if split is not None)]


def least_wrong(
    strengths: Sequence[float], trials: Sequence[Callable[[float], float]], *, patience: int = 2
) -> float:
    """Strength with the fewest wrong parts, from strong to weak; 1 without trials.

    Parameters
    ----------
    strengths : sequence of float
        What is tried.
    trials : sequence of callable
        Each tells the wrong parts of its held-out samples for a strength.
    patience : int, default=2
        Strengths that may be worse than the best before the search ends.

    Examples
    --------
    >>> from trelliswork.learners.trial import least_wrong
    >>> least_wrong([10.0, 1.0, 0.1], [lambda strength: abs(strength - 1.0)])
    1.0
    """
    best, chosen, behind = np.inf, 1.0, 0
    for strength in strengths if trials else ():
        wrong = sum(ask(strength) for ask in trials)
        if wrong < best:
            best, chosen, behind = wrong, strength, 0
        elif wrong > best:
            behind += 1
        if behind == patience:
            break
    return chosen


def wrong_parts(batch: Batch, scores: Parts) -> np.ndarray:
    """Wrong parts of the best output of each sample.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    scores : Parts
        Part scores.
    """
    return as_loss("hamming").evaluate(batch, batch.argmax(scores).codes)


def _outputs(batch: Batch) -> list[bytes]:
    """What tells the outputs of samples apart."""
    return [_hash(repr(output).encode()) for output in batch.unpack(batch.gold_codes)]


def _labelled_rows(batch: Any) -> list[tuple[int, float]]:
    """Label and a number of each row, the same for rows that are multiples of each other.

    In this order every third sample is a share of every label.
    """
    matrix = batch.emission.token_matrix()
    names = [str(name).encode() for name in batch.space.attributes]
    direction = np.zeros(matrix.shape[1])
    direction[: len(names)] = [zlib.crc32(name) / 2**31 - 1.0 for name in names]
    norms = np.sqrt(np.asarray(matrix.power(2).sum(axis=1)).ravel())
    along = np.asarray(matrix @ direction).ravel() / np.where(norms > 0, norms, 1.0)
    return list(zip(batch.gold_codes.values.tolist(), along.tolist(), strict=True))


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=8).digest()
