"""The factor graph of derivations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork.structures.factors import Factors, largest_of, row_norms, signs

if TYPE_CHECKING:
    from trelliswork.structures.derivations.batch import DerivationBatch

__all__ = ["DerivationFactors"]


class DerivationFactors(Factors):
    """One factor per node of the derivation graph; its values are the edges.

    Parameters
    ----------
    batch : DerivationBatch
        Packed graphs.
    """

    def __init__(self, batch: DerivationBatch):
        self.batch = batch
        graph = batch.graph
        filled = np.append(np.diff(graph.node_ptr) > 0, False)
        self.counts = np.add.reduceat(filled.astype(np.float64), graph.graph_ptr[:-1])
        self._edges = np.diff(batch.edge_ptr)
        self.values = self._edges.astype(np.float64)

    def usage(self, weights: np.ndarray | None = None, *, own: bool = False) -> np.ndarray:
        """Edges with the feature."""
        scale = self.counts if weights is None else self.counts * weights
        return (self.batch.phi != 0).astype(np.float64).T @ np.repeat(scale, self._edges)

    def largest(self) -> np.ndarray:
        """Largest value on an edge."""
        return largest_of(self.batch.phi)

    def norm(self) -> float:
        """Longest feature vector of an edge."""
        return float(np.sqrt(row_norms(self.batch.phi).max(initial=0.0)))

    def draw(
        self, rng: np.random.Generator, *, own: bool = False, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Signs of the edges."""
        drawn = signs(rng, (self.batch.n_edges,))
        return self.batch.phi.T @ (drawn * np.repeat(self._roots(weights), self._edges))
