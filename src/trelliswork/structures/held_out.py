"""Weights that are judged by samples which they were not made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trelliswork.structures.batch import Batch

__all__ = ["ENOUGH", "most_accurate_of"]

ENOUGH = 12  # samples, below which there are too few to tell
_PARTS = 3  # each of which is held out once
_MOST = 150  # samples that are looked at

# Weights that could be taken, made of some samples and their weights, always as many.
Candidates = Callable[[Batch, "np.ndarray | None"], Sequence[np.ndarray]]


def most_accurate_of(batch: Batch, weights: np.ndarray | None, candidates: Candidates) -> int:
    """Which of several candidates predicts samples best that are held out; the first of equally good ones.

    By the accuracy that the structure itself measures (RNA: F1 of pairs, over all samples together). Each
    third of the samples is held out in turn, of up to 150 samples.

    Parameters
    ----------
    batch : Batch
        At least 12 samples with their true outputs.
    weights : ndarray or None
        Weight of each sample.
    candidates : callable
        ``candidates(samples, weights)``: weight vectors; the ones to be preferred first.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork import Chain
    >>> from trelliswork.structures.held_out import most_accurate_of
    >>> X, y = [["a", "b"]] * 12, [["A", "B"]] * 12
    >>> batch = Chain().bind(X, y).pack(X, y)
    >>> most_accurate_of(batch, None, lambda some, _: [np.zeros(some.space.n_features), some.gold_sum()])
    1
    """
    n = len(batch)
    order = np.random.default_rng(0).permutation(n)[:_MOST]
    true: list[Any] = []
    share: list[float] = []
    found: list[list[Any]] = []
    for part in range(_PARTS):
        held, rest = np.sort(order[part::_PARTS]), np.sort(np.delete(order, np.s_[part::_PARTS]))
        made = candidates(batch.subset(rest), None if weights is None else weights[rest])
        new = batch.subset(held)
        true += new.rows(_outputs)
        share += [1.0] * held.size if weights is None else weights[held].tolist()
        found = found or [[] for _ in made]
        for outputs, w in zip(found, made, strict=True):
            outputs += new.rows(_predicted, w)
    measure = batch.space.structure.accuracy
    return int(np.argmax([measure(true, outputs, np.array(share)) for outputs in found]))


def _outputs(batch: Batch) -> list[Any]:
    """True outputs."""
    return list(batch.unpack(batch.gold_codes))


def _predicted(batch: Batch, w: np.ndarray) -> list[Any]:
    """Best outputs for some weights."""
    return list(batch.unpack(batch.argmax(batch.scores(w)).codes))
