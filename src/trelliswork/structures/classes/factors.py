"""The factor graph of single labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork.structures.base import Parts
from trelliswork.structures.factors import Factors, largest_of, of_attributes, row_norms, signs

if TYPE_CHECKING:
    from trelliswork.structures.classes.batch import ClassesBatch

__all__ = ["ClassesFactors"]


class ClassesFactors(Factors):
    """One factor per row; its values are the classes.

    Parameters
    ----------
    batch : ClassesBatch
        Packed rows.
    """

    def __init__(self, batch: ClassesBatch):
        self.batch = batch
        self.counts = np.ones(len(batch))
        self.values = np.full(len(batch), float(batch.space.n_labels))
        self._above = batch.space.above.toarray()

    def usage(self, weights: np.ndarray | None = None, *, own: bool = False) -> np.ndarray:
        """Rows with the attribute, times the classes below the node."""
        scale = self.counts if weights is None else weights
        used = (self.batch.emission.token_matrix() != 0).astype(np.float64).T @ scale
        attribute, node = self.batch.emission.layout.positions()
        return used[attribute] * (self._above > 0).sum(axis=0)[node]

    def largest(self) -> np.ndarray:
        """Largest value of the attribute, times what the node counts."""
        layout = self.batch.emission.layout
        values = of_attributes(layout, largest_of(self.batch.emission.token_matrix()))
        return values * self._above.max(axis=0)[layout.positions()[1]]

    def norm(self) -> float:
        """Longest row, once per node above a class."""
        rows = row_norms(self.batch.emission.token_matrix()).max(initial=0.0)
        return float(np.sqrt(rows * (self._above**2).sum(axis=1).max(initial=0.0)))

    def draw(
        self, rng: np.random.Generator, *, own: bool = False, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Signs of rows and classes."""
        drawn = signs(rng, (len(self.batch), self.batch.space.n_labels))
        return self.batch.pull(Parts(label=drawn * self._roots(weights)[:, None]))
