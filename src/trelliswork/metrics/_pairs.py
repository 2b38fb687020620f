"""Base pairs of predicted RNA structures: sensitivity, positive predictive value, F1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from trelliswork._brackets import base_pairs
from trelliswork._errors import InputError

__all__ = ["BasePairScores", "base_pair_f1", "base_pair_scores"]


class BasePairScores(NamedTuple):
    """How many base pairs are right.

    Attributes
    ----------
    right, predicted, true : float
        Numbers of pairs (sums of weights, where samples have weights).

    Examples
    --------
    >>> from trelliswork.metrics import BasePairScores
    >>> found = BasePairScores(right=3.0, predicted=4.0, true=6.0)
    >>> found.sensitivity, found.ppv, found.f1
    (0.5, 0.75, 0.6)
    """

    right: float
    predicted: float
    true: float

    @property
    def sensitivity(self) -> float:
        """Share of the true pairs that were predicted; 1 where there are none."""
        return self.right / self.true if self.true else 1.0

    @property
    def ppv(self) -> float:
        """Share of the predicted pairs that are true (older texts: specificity); 1 where there are none."""
        return self.right / self.predicted if self.predicted else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two; 1 where there are neither true nor predicted pairs."""
        both = self.predicted + self.true
        return 2.0 * self.right / both if both else 1.0


def base_pair_scores(y_true: Any, y_pred: Any, *, slip: int = 0, sample_weight: Any = None) -> BasePairScores:
    """Compare predicted with true structures, pair by pair, over all samples together.

    Parameters
    ----------
    y_true, y_pred : list of str
        Structures in dot-bracket or WUSS notation; pairs of pseudoknots count.
    slip : int, default=0
        A pair is right if one of its ends is shifted by at most this much; 1 is usual where the
        true structures come from comparison of sequences.
    sample_weight : array-like or None
        Weight of each sample.

    Returns
    -------
    BasePairScores

    Examples
    --------
    >>> from trelliswork.metrics import base_pair_scores
    >>> found = base_pair_scores(["((...))."], ["((....))"])
    >>> found.sensitivity, found.ppv, found.f1
    (0.0, 0.0, 0.0)
    >>> base_pair_scores(["((...))."], ["((....))"], slip=1).f1
    1.0
    """
    if len(y_true) != len(y_pred):
        raise InputError(f"y_true has {len(y_true)} structures but y_pred has {len(y_pred)}")
    weights = np.ones(len(y_true)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    moves = [(0, 0)] + [move for s in range(1, slip + 1) for move in ((s, 0), (-s, 0), (0, s), (0, -s))]
    totals = np.zeros(3)
    for i, (a, b) in enumerate(zip(y_true, y_pred, strict=True)):
        try:
            true, predicted = base_pairs(a), base_pairs(b)
        except InputError as error:
            raise InputError(f"sample {i}: {error}") from None
        if len(a) != len(b):
            raise InputError(f"sample {i}: the true structure has {len(a)} places but the other {len(b)}")
        left = set(true)
        right = 0
        for p, q in predicted:  # each true pair is matched once
            hit = next(((p + u, q + v) for u, v in moves if (p + u, q + v) in left), None)
            if hit is not None:
                left.remove(hit)
                right += 1
        totals += weights[i] * np.array([right, len(predicted), len(true)])
    return BasePairScores(*totals.tolist())


def base_pair_f1(y_true: Any, y_pred: Any, *, slip: int = 0) -> float:
    """F1 measure of base pairs over all samples together.

    Parameters
    ----------
    y_true, y_pred : list of str
        Structures.
    slip : int, default=0
        As in :func:`base_pair_scores`.

    Examples
    --------
    >>> from trelliswork.metrics import base_pair_f1
    >>> base_pair_f1(["(((...)))"], ["((.....))"])
    0.8
    """
    return base_pair_scores(y_true, y_pred, slip=slip).f1
