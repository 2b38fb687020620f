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

from trelliswork.structures.base import Parts

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch
    from trelliswork.structures.chain.joins import JointCells
    from trelliswork.structures.classes.batch import ClassesBatch
    from trelliswork.structures.derivations.batch import DerivationBatch
    from trelliswork.structures.tokens import Layout

__all__ = ["ChainFactors", "ClassesFactors", "DerivationFactors", "Factors"]


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


def _signs(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(0, 2, shape, dtype=np.int8) * 2.0 - 1.0


def _of_attributes(layout: Layout, by_attribute: np.ndarray) -> np.ndarray:
    return by_attribute[layout.positions()[0]]


def _largest_of(matrix: sp.csr_matrix) -> np.ndarray:
    if matrix.shape[0] == 0:
        return np.zeros(matrix.shape[1])
    return np.abs(matrix).max(axis=0).toarray().ravel()


def _row_norms(matrix: sp.csr_matrix) -> np.ndarray:
    return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()


class ChainFactors(Factors):
    """One factor per token.

    Parameters
    ----------
    batch : ChainBatch
        Packed sequences.
    """

    def __init__(self, batch: ChainBatch):
        self.batch = batch
        lengths = np.diff(batch.offsets)
        self.counts = lengths.astype(np.float64)
        self._owner = np.repeat(np.arange(len(batch)), lengths)
        self._position = np.arange(batch.n_tokens) - np.repeat(batch.offsets[:-1], lengths)
        k, order = batch.space.n_labels, batch.space.order
        # Contexts before each token: every value of its factor is a context and a label.
        self._contexts = float(k) ** np.minimum(self._position, order)
        self.values = np.bincount(self._owner, self._contexts * k, minlength=len(batch))

    def usage(self, weights: np.ndarray | None = None, *, own: bool = False) -> np.ndarray:
        """Tokens with the attribute, or all tokens for label n-grams."""
        batch, space = self.batch, self.batch.space
        k = space.n_labels
        scale = self.counts if weights is None else self.counts * weights
        token = scale[self._owner]
        contexts = np.ones_like(token) if own else self._contexts
        used = (batch.emission.token_matrix() != 0).astype(np.float64)
        pieces = [_of_attributes(space.emission_layout, used.T @ (token * contexts))]
        inner = self._position > 0
        if batch.joint is not None:
            cells = batch.joint
            share = 1.0 if own else contexts[cells.token] / float(k) ** (cells.length - 1)
            pieces.append((cells.matrix != 0).astype(np.float64).T @ (token[cells.token] * share))
        elif batch.edge is not None and space.edge_layout is not None:
            used = (batch.edge.token_matrix() != 0).astype(np.float64)
            rest = np.where(inner, token if own else token * contexts / k, 0.0)
            pieces.append(_of_attributes(space.edge_layout, used.T @ rest))
        by_length = [0.0, 0.0]
        for n in range(2, space.order + 2):
            at = self._position >= n - 1
            by_length.append(float(np.sum(token[at] * (1.0 if own else contexts[at] / k ** (n - 1)))))
        pieces.append(np.array([by_length[len(gram)] for gram in space.ngrams]))
        return np.concatenate(pieces)

    def largest(self) -> np.ndarray:
        """Largest value of the attribute; 1 for label n-grams."""
        batch, space = self.batch, self.batch.space
        pieces = [_of_attributes(space.emission_layout, _largest_of(batch.emission.token_matrix()))]
        if batch.joint is not None:
            pieces.append(_largest_of(batch.joint.matrix))
        elif batch.edge is not None and space.edge_layout is not None:
            pieces.append(_of_attributes(space.edge_layout, _largest_of(batch.edge.token_matrix())))
        pieces.append(np.ones(len(space.ngrams)))
        return np.concatenate(pieces)

    def norm(self) -> float:
        """All attributes of a token, and the n-grams that end there."""
        batch = self.batch
        squares = _row_norms(batch.emission.token_matrix()) + np.minimum(self._position, batch.space.order)
        if batch.edge is not None:
            # Every length of n-grams may bring the attributes of the token once.
            lengths = np.array(batch.space.joins.lengths)
            times = (self._position[:, None] >= lengths - 1).sum(axis=1)
            squares = squares + _row_norms(batch.edge.token_matrix()) * times
        return float(np.sqrt(squares.max(initial=0.0)))

    def draw(
        self, rng: np.random.Generator, *, own: bool = False, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Signs of every token, context and label, summed to parts."""
        batch, space = self.batch, self.batch.space
        k, n_contexts = space.n_labels, space.successor.shape[0]
        roots = self._roots(weights)
        root = roots[self._owner]
        edge = batch._no_edges()
        if own:
            unary = _signs(rng, (batch.n_tokens, k)) * root[:, None]
            if batch.joint is not None:
                edge = _signs(rng, edge.shape) * root[batch.joint.token]
            elif edge is not None:
                edge = _signs(rng, edge.shape) * root[:, None, None]
            trans = np.zeros((n_contexts, k))
            out = batch.pull(Parts(unary=unary, trans=trans, edge=edge))
            first = space.n_features - len(space.ngrams)
            for i, gram in enumerate(space.ngrams):
                places = np.maximum(self.counts - len(gram) + 1, 0).astype(np.int64)
                out[first + i] = float(roots @ (2.0 * rng.binomial(places, 0.5) - places))
            return out
        unary = np.zeros((batch.n_tokens, k))
        trans = np.zeros((n_contexts, k))
        levels = space.level_ptr
        for depth in range(space.order + 1):
            last = depth == space.order
            tokens = np.flatnonzero(self._position >= depth if last else self._position == depth)
            size = k**depth
            step = max(1, 4_000_000 // (size * k))
            for start in range(0, tokens.size, step):
                at = tokens[start : start + step]
                signs = _signs(rng, (at.size, size, k)) * root[at, None, None]
                unary[at] = signs.sum(axis=1)
                if depth:
                    trans[levels[depth - 1] : levels[depth]] += signs.sum(axis=0)
                    if batch.joint is not None:
                        _add_to_cells(batch.joint, signs, at, edge)
                    elif edge is not None:
                        edge[at] = signs.reshape(at.size, -1, k, k).sum(axis=1)
        return batch.pull(Parts(unary=unary, trans=trans, edge=edge))


def _add_to_cells(cells: JointCells, signs: np.ndarray, tokens: np.ndarray, out: np.ndarray) -> None:
    """Sums over the contexts of every cell of some tokens, in increasing order; ``signs`` are theirs."""
    depth = round(np.log(signs.shape[1]) / np.log(max(cells.n_labels, 2)))
    here = np.flatnonzero(np.isin(cells.token, tokens))
    row = np.searchsorted(tokens, cells.token[here])
    for n in cells.joins.lengths:
        if n <= depth + 1:
            chosen = cells.length[here] == n
            view = signs.reshape(tokens.size, -1, cells.n_labels**n).sum(axis=1)
            out[here[chosen]] = view[row[chosen], cells.code[here[chosen]]]


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
        return _largest_of(self.batch.phi)

    def norm(self) -> float:
        """Longest feature vector of an edge."""
        return float(np.sqrt(_row_norms(self.batch.phi).max(initial=0.0)))

    def draw(
        self, rng: np.random.Generator, *, own: bool = False, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Signs of the edges."""
        signs = _signs(rng, (self.batch.n_edges,))
        return self.batch.phi.T @ (signs * np.repeat(self._roots(weights), self._edges))


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
        values = _of_attributes(layout, _largest_of(self.batch.emission.token_matrix()))
        return values * self._above.max(axis=0)[layout.positions()[1]]

    def norm(self) -> float:
        """Longest row, once per node above a class."""
        rows = _row_norms(self.batch.emission.token_matrix()).max(initial=0.0)
        return float(np.sqrt(rows * (self._above**2).sum(axis=1).max(initial=0.0)))

    def draw(
        self, rng: np.random.Generator, *, own: bool = False, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Signs of rows and classes."""
        signs = _signs(rng, (len(self.batch), self.batch.space.n_labels))
        return self.batch.pull(Parts(label=signs * self._roots(weights)[:, None]))
