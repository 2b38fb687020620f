"""Base pairs of predicted RNA structures: sensitivity, positive predictive value, F1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from trelliswork._dotbracket import base_pairs
from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._validate import weights_or_ones

__all__ = ["BasePairScores", "base_pair_scores"]


class BasePairScores(NamedTuple):
    """How many base pairs are right.

    Attributes
    ----------
    right, predicted, true : float
        Numbers of pairs (sums of weights, where samples have weights).

    Examples
    --------
    >>> from trelliswork.metrics import BasePairScores
    >>> scores = BasePairScores(right=3.0, predicted=4.0, true=6.0)
    >>> scores.sensitivity, scores.ppv, scores.f1
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
        """Share of the predicted pairs that are true (specificity in older texts); 1 where there are none."""
        return self.right / self.predicted if self.predicted else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two; 1 where there are neither true nor predicted pairs."""
        size = self.predicted + self.true
        return 2.0 * self.right / size if size else 1.0


@readable
def base_pair_scores(y_true: Any, y_pred: Any, *, slip: int = 0, sample_weight: Any = None) -> BasePairScores:
    """Compare predicted with true structures, pair by pair, over all samples together.

    Parameters
    ----------
    y_true, y_pred : list of str
        Structures in dot-bracket or WUSS notation; pairs of pseudoknots count.
    slip : int, default=0
        A pair is also right if one of its ends is shifted by at most this much; 1 is usual where the
        true structures were inferred by comparing sequences. Every true pair makes at most one
        predicted pair right.
    sample_weight : array-like or None
        Weight of each sample.

    Returns
    -------
    BasePairScores

    Examples
    --------
    >>> from trelliswork.metrics import base_pair_scores
    >>> scores = base_pair_scores(["((...))."], ["((....))"])
    >>> scores.sensitivity, scores.ppv, scores.f1
    (0.0, 0.0, 0.0)
    >>> base_pair_scores(["((...))."], ["((....))"], slip=1).f1
    1.0
    """
    if len(y_true) != len(y_pred):
        raise InputError(f"y_true has {len(y_true)} structures but y_pred has {len(y_pred)}")
    if not isinstance(slip, (int, np.integer)) or isinstance(slip, bool) or slip < 0:
        raise InputError(f"slip must be a whole number >= 0, got {slip!r}")
    weights = weights_or_ones(sample_weight, len(y_true))
    moves = [(0, 0)] + [move for s in range(1, slip + 1) for move in ((s, 0), (-s, 0), (0, s), (0, -s))]
    totals = np.zeros(3)
    for i, (true_text, predicted_text) in enumerate(zip(y_true, y_pred, strict=True)):
        try:
            true, predicted = base_pairs(true_text), base_pairs(predicted_text)
        except InputError as error:
            raise InputError(error.message, sample=i) from None
        if len(true_text) != len(predicted_text):
            raise InputError(
                f"the true structure has {len(true_text)} positions, the predicted one {len(predicted_text)}",
                sample=i,
            )
        right = _matched(true, predicted, moves) if slip else len(set(true) & set(predicted))
        totals += weights[i] * np.array([right, len(predicted), len(true)])
    return BasePairScores(*totals.tolist())


def _matched(
    true: list[tuple[int, int]], predicted: list[tuple[int, int]], moves: list[tuple[int, int]]
) -> int:
    """Largest number of predicted pairs that can be matched, one to one, to true pairs within the moves."""
    import scipy.sparse as sp  # most metrics do without
    from scipy.sparse.csgraph import maximum_bipartite_matching

    place = {pair: t for t, pair in enumerate(true)}
    links = [
        (p, place[i + u, j + v])
        for p, (i, j) in enumerate(predicted)
        for u, v in moves
        if (i + u, j + v) in place
    ]
    if not links:
        return 0
    row, column = np.array(links).T
    near = sp.csr_matrix((np.ones(row.size), (row, column)), (len(predicted), len(true)))
    return int(np.count_nonzero(maximum_bipartite_matching(near) >= 0))
