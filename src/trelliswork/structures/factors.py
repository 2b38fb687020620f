"""Factor graphs of packed samples: what complexity bounds and voted penalties ask of features.

A *factor* is a place where a choice is made (a token of a chain, a node of a derivation graph, the
class of a row) and its *values* are the choices there. In a chain of order k a value is a label
with the k labels before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from trelliswork.structures.tokens import Layout

__all__ = ["EdgeFactors", "Factors", "RuleFactors", "largest_of", "of_attributes", "row_norms", "signs"]


class Factors(ABC):
    """Factors of all samples of a batch.

    Attributes
    ----------
    counts : ndarray of shape (n_samples,)
        Number of factors of every sample.
    values : ndarray of shape (n_samples,)
        Number of values of all factors of every sample together.
    """

    counts: np.ndarray
    values: np.ndarray

    @abstractmethod
    def usage(self, weights: np.ndarray | None = None, *, own: bool = False) -> np.ndarray:
        """For every feature the sum of the factor counts over the (factor, value) pairs that have it.

        Parameters
        ----------
        weights : ndarray or None
            Weight of every sample.
        own : bool
            Count the values of a feature's own order (label n-grams of its length), not of the
            order of the whole chain.
        """

    @abstractmethod
    def largest(self) -> np.ndarray:
        """Largest absolute value of every feature."""

    @abstractmethod
    def norm(self) -> float:
        """Largest Euclidean norm of the features of one (factor, value) pair, or an upper bound."""

    @abstractmethod
    def draw(
        self, rng: np.random.Generator, *, own: bool = False, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Features of all (factor, value) pairs with random signs, times the root of the factor counts.

        Parameters
        ----------
        rng : Generator
            Source of the signs.
        own : bool
            As in :meth:`usage`.
        weights : ndarray or None
            Weight of every sample: its part is multiplied by the root, as the sum over that many
            copies would grow.
        """

    def _roots(self, weights: np.ndarray | None) -> np.ndarray:
        return np.sqrt(self.counts if weights is None else self.counts * weights)


class EdgeFactors(Factors):
    """One factor per node of a derivation graph; its values are the edges, of which many have equal features.

    Parameters
    ----------
    counts, values : ndarray of shape (n_samples,)
        Nodes that have edges, and edges.
    edges : csr_matrix of shape (n_samples, n_kinds)
        How many edges of every sample have the features of each kind.
    features : csr_matrix of shape (n_kinds, n_features)
        These features.
    """

    def __init__(self, counts: Any, values: Any, edges: sp.csr_matrix, features: sp.csr_matrix):
        self.counts = np.asarray(counts, dtype=np.float64)
        self.values = np.asarray(values, dtype=np.float64)
        self._edges, self._features = edges, features

    def usage(self, weights: np.ndarray | None = None, *, own: bool = False) -> np.ndarray:
        """Edges with the feature."""
        by_kind = self._edges.T @ (self.counts if weights is None else self.counts * weights)
        return (self._features != 0).astype(np.float64).T @ by_kind

    def _used(self) -> sp.csr_matrix:
        return self._features[self._edges.T @ np.ones(self._edges.shape[0]) > 0]

    def largest(self) -> np.ndarray:
        """Largest value on an edge."""
        return largest_of(self._used())

    def norm(self) -> float:
        """Longest feature vector of an edge."""
        return float(np.sqrt(row_norms(self._used()).max(initial=0.0)))

    def draw(
        self, rng: np.random.Generator, *, own: bool = False, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Signs of the edges; those of one kind of a sample add up to a binomial number."""
        drawn = self._edges.copy()
        drawn.data = 2.0 * rng.binomial(drawn.data.astype(np.int64), 0.5) - drawn.data
        return self._features.T @ (drawn.T @ self._roots(weights))


class RuleFactors(EdgeFactors):
    """The same where every edge has one feature or none.

    Parameters
    ----------
    samples : iterable of (int, int, ndarray of float)
        For every sample, the nodes that have edges, the edges, and how many of these have each feature.
    n_features : int
        Number of features.
    """

    def __init__(self, samples: Iterable[tuple[int, int, np.ndarray]], n_features: int):
        counts, values, rows = [], [], [sp.csr_matrix((0, n_features))]
        for n_nodes, n_edges, used in samples:
            counts.append(n_nodes)
            values.append(n_edges)
            rows.append(sp.csr_matrix(used))
        edges = sp.vstack(rows, format="csr")
        super().__init__(counts, values, edges, sp.identity(n_features, format="csr"))


def signs(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Random signs of a shape."""
    return rng.integers(0, 2, shape, dtype=np.int8) * 2.0 - 1.0


def of_attributes(layout: Layout, by_attribute: np.ndarray) -> np.ndarray:
    """Values of attributes as values of the weights of a layout."""
    return by_attribute[layout.positions()[0]]


def largest_of(matrix: sp.csr_matrix) -> np.ndarray:
    """Largest absolute value of every column."""
    if matrix.shape[0] == 0:
        return np.zeros(matrix.shape[1])
    return np.abs(matrix).max(axis=0).toarray().ravel()


def row_norms(matrix: sp.csr_matrix) -> np.ndarray:
    """Squared norm of every row."""
    return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
