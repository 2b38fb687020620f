"""The factor graph of label sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork.structures.base import Parts
from trelliswork.structures.factors import Factors, largest_of, of_attributes, row_norms, signs

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch
    from trelliswork.structures.chain.joins import JointCells

__all__ = ["ChainFactors"]


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
        pieces = [of_attributes(space.emission_layout, used.T @ (token * contexts))]
        inner = self._position > 0
        if batch.joint is not None:
            cells = batch.joint
            share = 1.0 if own else contexts[cells.token] / float(k) ** (cells.length - 1)
            pieces.append((cells.matrix != 0).astype(np.float64).T @ (token[cells.token] * share))
        elif batch.edge is not None and space.edge_layout is not None:
            used = (batch.edge.token_matrix() != 0).astype(np.float64)
            rest = np.where(inner, token if own else token * contexts / k, 0.0)
            pieces.append(of_attributes(space.edge_layout, used.T @ rest))
        by_length = [0.0, 0.0]
        for n in range(2, space.order + 2):
            deep = self._position >= n - 1
            by_length.append(float(np.sum(token[deep] * (1.0 if own else contexts[deep] / k ** (n - 1)))))
        pieces.append(np.array([by_length[len(gram)] for gram in space.ngrams]))
        return np.concatenate(pieces)

    def largest(self) -> np.ndarray:
        """Largest value of the attribute; 1 for label n-grams."""
        batch, space = self.batch, self.batch.space
        pieces = [of_attributes(space.emission_layout, largest_of(batch.emission.token_matrix()))]
        if batch.joint is not None:
            pieces.append(largest_of(batch.joint.matrix))
        elif batch.edge is not None and space.edge_layout is not None:
            pieces.append(of_attributes(space.edge_layout, largest_of(batch.edge.token_matrix())))
        pieces.append(np.ones(len(space.ngrams)))
        return np.concatenate(pieces)

    def norm(self) -> float:
        """All attributes of a token, and the n-grams that end there."""
        batch = self.batch
        squares = row_norms(batch.emission.token_matrix()) + np.minimum(self._position, batch.space.order)
        if batch.edge is not None:
            # Every length of n-grams may bring the attributes of the token once.
            lengths = np.array(batch.space.joins.lengths)
            times = (self._position[:, None] >= lengths - 1).sum(axis=1)
            squares = squares + row_norms(batch.edge.token_matrix()) * times
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
            unary = signs(rng, (batch.n_tokens, k)) * root[:, None]
            if batch.joint is not None:
                edge = signs(rng, edge.shape) * root[batch.joint.token]
            elif edge is not None:
                edge = signs(rng, edge.shape) * root[:, None, None]
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
        for depth in range(levels.size):
            last = depth == levels.size - 1
            tokens = np.flatnonzero(self._position >= depth if last else self._position == depth)
            size = int(levels[depth] - levels[depth - 1]) if depth else 1
            step = max(1, 4_000_000 // (size * k))
            for start in range(0, tokens.size, step):
                chunk = tokens[start : start + step]
                drawn = signs(rng, (chunk.size, size, k)) * root[chunk, None, None]
                unary[chunk] = drawn.sum(axis=1)
                if depth:
                    trans[levels[depth - 1] : levels[depth]] += drawn.sum(axis=0)
                    if batch.joint is not None:
                        _add_to_cells(batch.joint, drawn, chunk, edge)
                    elif edge is not None:
                        edge[chunk] = drawn.reshape(chunk.size, -1, k, k).sum(axis=1)
        return batch.pull(Parts(unary=unary, trans=trans, edge=edge))


def _add_to_cells(cells: JointCells, drawn: np.ndarray, tokens: np.ndarray, out: np.ndarray) -> None:
    """Sums over the contexts of every cell of some tokens, in increasing order; ``drawn`` are their signs."""
    depth = round(np.log(drawn.shape[1]) / np.log(max(cells.n_labels, 2)))
    here = np.flatnonzero(np.isin(cells.token, tokens))
    row = np.searchsorted(tokens, cells.token[here])
    for n in cells.joins.lengths:
        if n <= depth + 1:
            chosen = cells.length[here] == n
            view = drawn.reshape(tokens.size, -1, cells.n_labels**n).sum(axis=1)
            out[here[chosen]] = view[row[chosen], cells.code[here[chosen]]]
