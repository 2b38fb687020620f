"""Factor graphs of packed samples: what complexity bounds and voted penalties ask of features.

A *factor* is a place where a choice is made (a token of a chain, a node of a derivation graph, the
class of a row) and its *values* are the choices there. In a chain of order k a value is a label
with the k labels before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from trelliswork.structures.tokens import Layout

__all__ = ["Factors", "largest_of", "of_attributes", "row_norms", "signs"]


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
