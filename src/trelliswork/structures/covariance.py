"""Second moments of the features under one law, as a matrix or as an operator."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.structures.elimination import Solver, woodbury
from trelliswork.structures.limits import Limits

if TYPE_CHECKING:
    from trelliswork.structures.base import Batch, Parts

__all__ = ["Covariance", "check_dense"]


def check_dense(n_features: int, max_bytes: int = Limits.matrix_bytes) -> None:
    """Refuse a dense covariance that would not fit, with its size and the alternative."""
    size = 8 * n_features**2
    if size > max_bytes:
        raise InputError(
            f"the covariance of {n_features:,} features takes {size / 2**30:,.0f} GiB as a matrix (at most "
            f"{max_bytes / 2**30:.0f}); use covariance_product, or solver='cg'"
        )


def _signs(names: list[Any]) -> np.ndarray:
    """Eight rows of random signs that belong to the names of features, not to their order."""
    bits = b"".join(hashlib.blake2b(repr(name).encode(), digest_size=1).digest() for name in names)
    return np.unpackbits(np.frombuffer(bits, dtype=np.uint8)[None], axis=0) * 2.0 - 1.0


class Covariance:
    """Sum over samples of the covariance of the features, under one law per sample.

    Parameters
    ----------
    batch : Batch
        Samples; with their outputs when ``about`` is "gold".
    scores : Parts or None
        Part scores of the Gibbs law; None is the uniform law over all outputs.
    weights : ndarray of shape (n_samples,) or None
        Weight of each sample.
    about : {"mean", "gold"}
        Moment about the mean (the covariance C), or about the gold output,
        ``C + sum of b b'`` with b = gold - mean features.
    """

    exact_diagonal = False

    def __init__(
        self, batch: Batch, scores: Parts | None, weights: np.ndarray | None = None, about: str = "mean"
    ):
        if about not in ("mean", "gold"):
            raise ValueError(f"about must be 'mean' or 'gold', got {about!r}")
        self.batch = batch
        self.scores = scores
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        self.about = about
        self._shift: Parts | None = None
        self._zeros: Parts | None = None
        self._solvers: Callable[[float], Solver | None] | None = None

    @property
    def n_features(self) -> int:
        """Order of the matrix."""
        return self.batch.space.n_features

    @property
    def max_dense(self) -> int:
        """Number of features up to which the matrix is cheaper than products with it."""
        return self.most_dense(self.size())

    def size(self) -> float:
        """Size of the samples, in a unit that :meth:`most_dense` knows; adds up over samples."""
        return 0.0

    def most_dense(self, size: float) -> int:
        """:attr:`max_dense` for samples of a size; here the same for all."""
        return self.batch.limits.matrix_features

    @property
    def law(self) -> Parts:
        """Part scores of the law, zeros for the uniform one."""
        if self.scores is not None:
            return self.scores
        if self._zeros is None:
            self._zeros = self.batch.scores(np.zeros(self.n_features))
        return self._zeros

    def marginals(self, *, weighted: bool = True, each: bool = False) -> Parts:
        """Expected use of the parts."""
        return self.batch.marginals(self.law, weights=self.weights if weighted else None, each=each)

    def tangent(self, direction: Parts, *, weighted: bool = True, each: bool = False) -> Parts:
        """Covariance of every part with the sum of a direction in part scores."""
        return self.batch.tangent(self.law, direction, weights=self.weights if weighted else None, each=each)

    def shift(self) -> Parts:
        """Parts of the gold output less their expected use, kept per sample."""
        if self._shift is None:
            gold = self.batch.indicators(self.batch.gold_codes, each=True)
            self._shift = gold - self.marginals(weighted=False, each=True)
        return self._shift

    def product(self, v: np.ndarray) -> np.ndarray:
        """The matrix times a vector (n_features,) or the columns of (n_features, k)."""
        if v.ndim == 2:
            columns = [self.product(np.ascontiguousarray(column)) for column in v.T]
            return np.stack(columns, axis=1) if columns else np.zeros((self.n_features, 0))
        direction = self.batch.scores(v)
        moved = self.batch.pull(self.tangent(direction))
        if self.about == "gold":
            lift = self.batch.dot_each(self.shift(), direction)
            lift = lift if self.weights is None else lift * self.weights
            moved += self.batch.pull(self.batch.scale(self.shift(), lift))
        return moved

    def diagonal_sum(self) -> np.ndarray | None:
        """Diagonal of the covariance about the mean, exact or not, as a sum over samples; here None."""
        return None

    def diagonal(self) -> np.ndarray:
        """Diagonal of the covariance about the mean; an estimate unless ``exact_diagonal``."""
        summed = self.diagonal_sum()
        if summed is not None:
            return summed
        plain = self.turned("mean")
        signs = _signs(self.batch.space.feature_names)
        estimate = np.mean([sign * plain.product(sign) for sign in signs], axis=0)
        return np.maximum(estimate, 0.1 * max(float(estimate.mean()), 0.0))

    def preconditioner(
        self, lam: float, asked: Covariance | None = None
    ) -> Callable[[np.ndarray, np.ndarray], object] | None:
        """Approximate inverse of the matrix plus ``lam`` times the identity, as a function.

        It is called with a vector and an array for the result. None: no better one is known than
        the inverse of the diagonal.

        Parameters
        ----------
        lam : float
            What is added to the diagonal.
        asked : Covariance or None
            Moments that are asked for what adds up over samples; None for these.
        """
        return None

    def frequencies(self) -> Any:
        """What a preconditioner has to know first, as sums over samples; here None."""
        return None

    def gram(self, attributes: np.ndarray) -> np.ndarray:
        """What it has to know of some attributes, as a sum over samples."""
        raise NotImplementedError

    def direct(self, lam: float, asked: Covariance | None = None) -> Any:
        """Direct solver for the matrix plus ``lam`` times the identity; None where there is none.

        Parameters
        ----------
        lam : float
            What is added to the diagonal.
        asked : Covariance or None
            Moments that are asked for what adds up over samples; None for these.
        """
        asked = self if asked is None else asked
        if self._solvers is None:
            sums = asked.direct_sums()
            if sums is None:
                return None
            if self.about == "mean":
                self._solvers = self._about_mean(sums)
            else:
                self._solvers = self._about_gold(sums, asked.deviation_rows(), asked.weights)
        return self._solvers(lam)

    def direct_sums(self) -> Any:
        """What a direct solver is made of, as sums over samples; None where there is no such solver."""
        return None

    def _about_mean(self, sums: Any) -> Callable[[float], Solver]:
        """Solvers for the matrix about the mean, by ``lam``; they share what does not depend on it."""
        raise NotImplementedError

    def _about_gold(
        self, sums: Any, rows: Any, weights: np.ndarray | None
    ) -> Callable[[float], Solver | None]:
        """The same about the gold outputs; ``rows`` is what :meth:`deviation_rows` gives."""
        if weights is not None:
            rows = sp.csr_matrix(sp.diags_array(np.sqrt(weights)) @ rows)
        solvers = self._about_mean(sums)
        return lambda lam: woodbury(solvers(lam), rows, self.batch.limits.deviation_floats)

    def deviation_rows(self) -> Any:
        """Deviations of samples in the form that a direct solver takes, with an entry per sample."""
        return self.deviations()

    def dense(self) -> np.ndarray:
        """The matrix; symmetric to the last bit."""
        check_dense(self.n_features, self.batch.limits.matrix_bytes)
        out = self._covariance()
        if self.about == "gold":
            out += self.spread()
        return (out + out.T) / 2

    def spread(self) -> np.ndarray:
        """Sum over samples of ``b b'`` with b = gold - mean features, as a matrix."""
        b = self.deviations()
        scaled = b if self.weights is None else sp.diags_array(self.weights) @ b
        return np.asarray((b.T @ scaled).toarray())

    def _covariance(self) -> np.ndarray:
        return self.turned("mean").product(np.eye(self.n_features))

    def means(self) -> sp.csr_matrix:
        """Mean features of every sample, not weighted."""
        return self.batch.pull_each(self.marginals(weighted=False, each=True))

    def deviations(self) -> sp.csr_matrix:
        """Gold less mean features of every sample, not weighted."""
        return sp.csr_matrix(self.batch.gold() - self.means())

    def deviation(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Sum of :meth:`deviations`, times the weights of the samples or other ones."""
        if weights is None:
            return self.batch.gold_sum(self.weights) - self.batch.pull(self.marginals())
        return self.batch.gold_sum(weights) - self.batch.pull(self.batch.marginals(self.law, weights=weights))

    def turned(self, about: str) -> Covariance:
        """The same law, about another origin; tables are shared."""
        out = copy.copy(self)
        out.about, out._solvers = about, None
        return out
