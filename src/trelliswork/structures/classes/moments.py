"""Moments of single labels: closed forms, and a direct solver for the uniform law.

The features of class ``c`` are ``above[c] (x) x``, x the row of the sample, so that the covariance of
a sample is ``S (x) x x'`` with S the covariance of ``above`` under the law of its classes. Under the
uniform law S is the same for all samples and ``C = S (x) G``, G = sum of x x'. The deviation of a sample
from its mean is ``t (x) x``, t that of its class, so that the inner products of deviations, which the moments
about the true classes need, are sums over attributes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from trelliswork.structures.covariance import Covariance
from trelliswork.structures.elimination import Solver, factored

if TYPE_CHECKING:
    from trelliswork.structures.classes.batch import ClassesBatch

__all__ = ["ClassCovariance"]


class ClassCovariance(Covariance):
    """Second moments of the features of classes, flat or with a taxonomy."""

    batch: ClassesBatch
    exact_diagonal = True

    def _sample_weights(self) -> np.ndarray:
        return np.ones(len(self.batch)) if self.weights is None else self.weights

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Probability of every class, and mean attribute of every node."""
        p = self.marginals(weighted=False).label
        return p, np.asarray(p @ self.batch.space.above)

    def diagonal_sum(self) -> np.ndarray:
        """Exact diagonal of the covariance."""
        p, node = self._nodes()
        second = np.asarray(p @ self.batch.space.above.power(2))
        variance = (second - node**2) * self._sample_weights()[:, None]
        squares = self.batch.emission.token_matrix().power(2)
        return np.maximum(np.asarray(squares.T @ variance), 0.0).ravel()

    def _covariance(self) -> np.ndarray:
        f = self.batch.emission.token_matrix()
        weight = self._sample_weights()
        n_nodes, d = len(self.batch.space.nodes), self.n_features
        if self.scores is None:
            gram = (f.T @ sp.diags_array(weight) @ f).toarray()
            return np.einsum("ij,ab->iajb", gram, self._spread()).reshape(d, d)
        p, node = self._nodes()
        above = self.batch.space.above.toarray()
        out = np.empty((f.shape[1], n_nodes, f.shape[1], n_nodes))
        for a in range(n_nodes):
            for b in range(a + 1):
                covariance = p @ (above[:, a] * above[:, b]) - node[:, a] * node[:, b]
                block = (f.T @ sp.diags_array(weight * covariance) @ f).toarray()
                out[:, a, :, b] = block
                out[:, b, :, a] = block
        return out.reshape(d, d)

    def _spread(self) -> np.ndarray:
        """Covariance of the nodes under the uniform law."""
        above = self.batch.space.above.toarray()
        centred = above - above.mean(axis=0)
        return centred.T @ centred / above.shape[0]

    def direct_sums(self) -> np.ndarray | None:
        """G, whose eigenvectors with those of S make a solver; None for a Gibbs law and many attributes."""
        f = self.batch.emission.token_matrix()
        if self.scores is not None or f.shape[1] > self.batch.limits.gram_attributes:
            return None
        return np.asarray((f.T @ sp.diags_array(self._sample_weights()) @ f).toarray())

    def _about_mean(self, sums: np.ndarray) -> Callable[[float], Solver]:
        return _Kronecker(sums, self._spread()).solver

    def deviation_rows(self) -> tuple[sp.csr_matrix, np.ndarray]:
        """Attributes and classes."""
        return self.batch.emission.token_matrix(), self.batch.gold_codes.values

    def _about_gold(
        self, sums: np.ndarray, rows: tuple[sp.csr_matrix, np.ndarray], weights: np.ndarray | None
    ) -> Callable[[float], Solver | None]:
        f, labels = rows
        if f.shape[0] * max(f.shape) > self.batch.limits.deviation_floats:
            return lambda lam: None
        if weights is not None:
            f = sp.csr_matrix(sp.diags_array(np.sqrt(weights)) @ f)
        above = self.batch.space.above.toarray()
        order = np.argsort(labels, kind="stable")
        moved = above - above.mean(axis=0)
        return _Kronecker(sums, self._spread()).about_gold(f[order], labels[order], moved)


class _Kronecker:
    """Solvers for ``left (x) right + lam I``, both positive semidefinite; of least norm where singular."""

    def __init__(self, left: np.ndarray, right: np.ndarray):
        import scipy.linalg as la  # slow to import

        (self.g, self.v), (self.s, self.u) = la.eigh(left), la.eigh(right)
        products = np.outer(self.g.clip(0.0), self.s.clip(0.0))
        cut = np.finfo(float).eps * products.size * products.max(initial=0.0)
        self.products = np.where(products > cut, products, 0.0)

    def _inverse(self, lam: float) -> np.ndarray:
        values = self.products + lam
        return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0.0)

    def solver(self, lam: float) -> Solver:
        """Solver for a ridge."""
        inverse, u, v = self._inverse(lam), self.u, self.v

        def solve(r: np.ndarray) -> np.ndarray:
            table = r.reshape(self.g.size, self.s.size, -1)
            turned = np.einsum("ia,ijn,jb->abn", v, table, u, optimize=True) * inverse[:, :, None]
            return np.einsum("ia,abn,jb->ijn", v, turned, u, optimize=True).reshape(r.shape)

        return solve

    def about_gold(
        self, f: sp.csr_matrix, labels: np.ndarray, moved: np.ndarray
    ) -> Callable[[float], Solver]:
        """Solvers for the matrix plus the sum of ``b b'``, b = x (x) moved[label]; labels ascend."""
        turned, nodes = np.asarray(f @ self.v), moved @ self.u
        own = moved[labels]

        def solver(lam: float) -> Solver:
            inverse, solve = self._inverse(lam), self.solver(lam)
            small = np.eye(labels.size)
            for label in np.unique(labels):  # inner products of its samples with those up to it
                first, last = np.searchsorted(labels, [label, label + 1])
                between = (inverse * nodes[label]) @ nodes[: label + 1].T
                small[first:last, :last] += turned[first:last] @ (between[:, labels[:last]] * turned[:last].T)
            factor = factored(np.tril(small) + np.tril(small, -1).T)

            def both(r: np.ndarray) -> np.ndarray:
                y = solve(r)
                along = np.sum(np.asarray(f @ y.reshape(self.g.size, -1)) * own, axis=1)
                return y - solve(np.asarray(f.T @ (factor(along)[:, None] * own)).ravel())

            return both

        return solver
