"""Second moments of samples in blocks."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork.shards import questions
from trelliswork.shards.recipes import Later, PerSample, Recipe
from trelliswork.structures.base import Parts
from trelliswork.structures.covariance import Covariance

if TYPE_CHECKING:
    from trelliswork.shards.batch import ShardedBatch

__all__ = ["ShardedCovariance"]


class ShardedCovariance(Covariance):
    """Sums of the second moments of blocks; solvers are those of the structure, made of sums."""

    batch: ShardedBatch

    def __init__(
        self,
        batch: ShardedBatch,
        scores: Parts | None,
        weights: np.ndarray | None = None,
        about: str = "mean",
    ):
        super().__init__(batch, scores, weights, about)
        self._key = f"law {uuid.uuid4().hex}"
        template = batch.template
        law = None if scores is None else template.scores(np.zeros(template.space.n_features))
        self._empty = template.covariance(law, None, about=about)  # what depends on the space alone
        self.exact_diagonal = self._empty.exact_diagonal

    @property
    def _scores(self) -> Later | None:
        return None if self.scores is None else Later(self.scores)

    def _sum(self, method: str, *args: Any) -> Any:
        return self.batch.summed(
            questions.law_sums, method, self._key, self._scores, self.about, args, weights=self.weights
        )

    def _recipe(self, method: str, weighted: bool, *args: Any, **more: Any) -> Recipe:
        weights = None if self.weights is None else PerSample(self.weights)
        return Recipe(
            questions.law_parts,
            method,
            self._key,
            self._scores,
            self.about,
            weights,
            *args,
            weighted=weighted,
            **more,
        )

    def size(self) -> float:
        """Size of all samples."""
        return float(self._sum("size"))

    def most_dense(self, size: float) -> int:
        """That of the structure."""
        return self._empty.most_dense(size)

    def marginals(self, *, weighted: bool = True, each: bool = False) -> Recipe:
        """Recipe for the expected use of parts."""
        return self._recipe("marginals", weighted, each=each)

    def tangent(self, direction: Parts, *, weighted: bool = True, each: bool = False) -> Recipe:
        """Recipe for the covariance of parts with a direction."""
        return self._recipe("tangent", weighted, direction, each=each)

    def product(self, v: np.ndarray) -> np.ndarray:
        """The matrix times a vector or the columns of a matrix."""
        return self._sum("product", v)

    def diagonal_sum(self) -> np.ndarray | None:
        """Diagonal, where blocks tell theirs."""
        return self._sum("diagonal_sum")

    def frequencies(self) -> Any:
        """Sums for a preconditioner."""
        return self._sum("frequencies")

    def gram(self, attributes: np.ndarray) -> np.ndarray:
        """Sum for some attributes."""
        return self._sum("gram", attributes)

    def preconditioner(
        self, lam: float, asked: Covariance | None = None
    ) -> Callable[[np.ndarray, np.ndarray], object] | None:
        """That of the structure."""
        return self._empty.preconditioner(lam, self)

    def direct_sums(self) -> Any:
        """Sums for a direct solver."""
        return self._sum("direct_sums")

    def direct(self, lam: float, asked: Covariance | None = None) -> Any:
        """That of the structure."""
        return self._empty.direct(lam, self)

    def spread(self) -> np.ndarray:
        """Sum of ``b b'``."""
        return self._sum("spread")

    def _covariance(self) -> np.ndarray:
        return self._sum("_covariance")

    def means(self) -> sp.csr_matrix:
        """Mean features of every sample."""
        return self.batch.rows(questions.law_rows, "means", self._key, self._scores, self.about, None)

    def deviations(self) -> sp.csr_matrix:
        """Gold less mean features of every sample."""
        return self.batch.rows(questions.law_rows, "deviations", self._key, self._scores, self.about, None)

    def deviation_rows(self) -> Any:
        """The same in the form of the structure's direct solver."""
        law = self._key, self._scores, self.about, None
        return self.batch.rows(questions.law_rows, "deviation_rows", *law)

    def deviation(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Sum of the deviations."""
        weights_each = None if self.weights is None else PerSample(self.weights)
        law = self._key, self._scores, self.about, weights_each
        return self.batch.summed(questions.law_deviation, *law, weights=weights)

    def turned(self, about: str) -> ShardedCovariance:
        """The same law, about another origin."""
        out = copy.copy(self)
        out.about = about
        out._empty = self._empty.turned(about)
        return out
