"""Second moments of the rules of RNA grammars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from trelliswork.dp.rna.rules import BASE, BASES, F_LS, F_PAIR, L_PAIR, PAIRS, S_L, S_LS
from trelliswork.structures.covariance import Covariance

if TYPE_CHECKING:
    from trelliswork.structures.rna.batch import RNABatch

__all__ = ["RuleCovariance"]


class RuleCovariance(Covariance):
    """Second moments of rule counts."""

    batch: RNABatch

    def means(self) -> sp.csr_matrix:
        """Mean features of every sample, not weighted."""
        return sp.csr_matrix(self.batch._expect("expect", self.law)[1])

    def deviation(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Sum of gold less mean features, times the weights of the samples or other ones."""
        rows = self.batch._expect("expect", self.law)[1]
        if weights is not None:
            return self.batch.gold_sum(weights) - weights @ rows
        return self.batch.gold_sum(self.weights) - self._summed(rows)

    def _summed(self, rows: np.ndarray) -> np.ndarray:
        return rows.sum(axis=0) if self.weights is None else self.weights @ rows

    def product(self, v: np.ndarray) -> np.ndarray:
        """The matrix times a vector, or times columns."""
        if v.ndim == 2:
            return super().product(v)
        moved = self._summed(self.batch._expect("tangent", self.law, direction=self.batch.scores(v))[1])
        if self.about == "gold":
            b = self.deviations()
            lift = b @ v
            moved = moved + b.T @ (lift if self.weights is None else lift * self.weights)
        return moved

    def _covariance(self) -> np.ndarray:
        """Without depths: one tangent per pair rule, the other rules follow from these.

        What is not paired is unpaired; there are as many ``F -> L S`` as ``L -> pair``, as many ``S -> L``
        but for one, and the other elements take ``S -> L S``.
        """
        d = self.n_features
        if self.batch.space.n_depths > 1:
            return super()._covariance()
        plain = self.turned("mean")
        rows = np.array([plain.product(np.eye(d)[j])[L_PAIR:] for j in range(L_PAIR, d)])
        follow = np.vstack([np.zeros((L_PAIR, d - L_PAIR)), np.eye(d - L_PAIR)])
        for kind, bases in enumerate(PAIRS):
            for base in bases:
                follow[BASE + BASES.index(base), [kind, kind + len(PAIRS)]] -= 1.0
        opened = follow[L_PAIR:F_PAIR].sum(axis=0)
        follow[[F_LS, S_L]] = opened
        follow[S_LS] = follow[BASE:L_PAIR].sum(axis=0) + opened - 2 * opened
        return follow @ rows @ follow.T
