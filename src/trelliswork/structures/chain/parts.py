"""Packed label sequences: features to part scores and back, labels to codes and back."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from trelliswork._ragged import Ragged
from trelliswork._threads import n_threads
from trelliswork.structures.base import Batch, Parts
from trelliswork.structures.chain.joins import JointCells
from trelliswork.structures.labels import same_label
from trelliswork.structures.spread import Spread
from trelliswork.structures.tokens import TokenMap

if TYPE_CHECKING:
    from trelliswork.structures.chain.space import ChainSpace
    from trelliswork.structures.limits import ChainLimits

__all__ = ["ChainParts"]


class ChainParts(Batch):
    """Packed label sequences: their features, and parts of label sequences.

    Part arrays: ``unary`` (n_tokens, n_labels); ``trans`` (n_contexts, n_labels), shared,
    or (n_sequences, n_contexts, n_labels); ``edge`` (n_tokens, n_labels, n_labels) or None, or
    with longer n-grams one value per cell of ``joint``.
    """

    fixed_length: ClassVar[bool] = True
    shared_parts: ClassVar[Mapping[str, int]] = {"trans": 2}

    space: ChainSpace

    def __init__(
        self,
        space: ChainSpace,
        offsets: np.ndarray,
        emission: TokenMap,
        edge: TokenMap | None,
        gold: Ragged | None,
        allowed: np.ndarray | None,
        n_jobs: int | None,
    ):
        super().__init__(space, gold, n_jobs)
        self.offsets = offsets
        self.emission = emission
        self.edge = edge
        self.user_allowed = allowed
        self._joint: JointCells | None = None
        self._places: np.ndarray | None = None  # weights of features that the tokens have, if not all

    def sameness(self, codes: Ragged) -> str | None:
        """Outputs with one label for all tokens."""
        return same_label(codes, self.space.labels, "token")

    def cautions(self, names: Sequence[str] | None = None) -> list[str]:
        """An attribute that dwarfs the others.

        Parameters
        ----------
        names : sequence of str or None
            Not used: attributes of tokens have their own.
        """
        return self.emission.cautions(self.space.attributes)

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def n_tokens(self) -> int:
        """Tokens of all sequences together."""
        return int(self.offsets[-1])

    @property
    def limits(self) -> ChainLimits:
        """Bounds on memory and on the work done at a time."""
        return self.space.structure.limits

    @property
    def _threads(self) -> int:
        return n_threads(self.n_jobs)

    @property
    def joint(self) -> JointCells | None:
        """Where attributes are joined with label n-grams longer than pairs; None if nowhere."""
        if self._joint is None and self.space.sparse_joins:
            self._joint = JointCells(self)
        return self._joint

    def _no_edges(self) -> Any:
        """Zeros in the shape of the edge part; None if there is none."""
        if self.joint is not None:
            return np.zeros(self.joint.token.size)
        k = self.space.n_labels
        return None if self.edge is None else np.zeros((self.n_tokens, k, k))

    # -- linear maps ------------------------------------------------------------------------

    def scores(self, w: np.ndarray, out: np.ndarray | None = None) -> Parts:
        """Token and context scores of a weight vector."""
        emission, edge, grams = self.space.split(np.asarray(w, dtype=np.float64))
        k = self.space.n_labels
        trans = (self.space.ngram_matrix @ grams).reshape(-1, k)
        unary = self.emission.scores(emission, self._threads, self.limits.rows_per_chunk, out)
        pairs = None
        if self.joint is not None:
            pairs = self.joint.matrix @ edge
        elif self.edge is not None:
            pairs = self.edge.scores(edge, self._threads, self.limits.rows_per_chunk).reshape(-1, k, k)
        return Parts(unary=unary, trans=trans, edge=pairs)

    def pull(self, parts: Parts) -> np.ndarray:
        """Part values to features, summed over sequences."""
        return self.pull_spread(parts).dense()

    def pull_spread(self, parts: Parts) -> Spread:
        """The same, with weights of the attributes that the tokens have alone."""
        trans = parts.trans if parts.trans.ndim == 2 else parts.trans.sum(axis=0)
        emission = self.emission.pull_spread(parts.unary, self._threads, self.limits.rows_per_chunk)
        pieces = [emission.values]
        if self.edge is not None:
            pieces.append(self._pull_edges(parts.edge))
        pieces.append(self.space.ngram_matrix.T @ trans.ravel())
        values = np.concatenate(pieces)
        if emission.index is not None and self._places is None:
            rest = np.arange(emission.size, self.space.n_features)
            self._places = np.concatenate([emission.index, rest])
        return Spread(values, self._places, self.space.n_features)

    def _pull_edges(self, edge: np.ndarray | None) -> np.ndarray:
        assert self.edge is not None
        if edge is None:
            return np.zeros(self.space.n_edges)
        if self.joint is not None:
            return self.joint.matrix.T @ edge
        return self.edge.pull(self._inner_edges(edge), self._threads, self.limits.rows_per_chunk)

    def _inner_edges(self, edge: np.ndarray) -> np.ndarray:
        # A first token has no previous label: whatever stands there is not a part.
        flat = edge.reshape(self.n_tokens, self.space.n_labels**2).copy()
        flat[self.offsets[:-1][np.diff(self.offsets) > 0]] = 0.0
        return flat

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Part values to features, one row per sequence."""
        n = len(self)
        if parts.trans.ndim != 3:
            raise ValueError("pull_each needs parts made with each=True")
        pieces = [self.emission.pull_each(parts.unary, self.offsets)]
        if self.edge is not None:
            if parts.edge is None:
                pieces.append(sp.csr_matrix((n, self.space.n_edges)))
            elif self.joint is not None:
                cells = np.arange(parts.edge.size)
                rows = sp.csr_matrix((parts.edge, cells, self.joint.offsets), shape=(n, parts.edge.size))
                pieces.append(rows @ self.joint.matrix)
            else:
                pieces.append(self.edge.pull_each(self._inner_edges(parts.edge), self.offsets))
        pieces.append(sp.csr_matrix(parts.trans.reshape(n, -1)) @ self.space.ngram_matrix)
        return sp.hstack(pieces, format="csr")

    def features(self, codes: Ragged) -> sp.csr_matrix:
        """Features of given label sequences, one row each."""
        if self.space.sparse is None:
            return super().features(codes)
        # A table of contexts and labels for every sequence would be far too large.
        labels, k = codes.values, self.space.n_labels
        before = self.space.contexts_before(labels, self.offsets)
        later = np.flatnonzero(before >= 0)
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))[later]
        shape = (len(self), self.space.successor.size)
        cells = sp.csr_matrix((np.ones(later.size), (owner, before[later] * k + labels[later])), shape)
        unary = np.zeros((self.n_tokens, k))
        unary[np.arange(self.n_tokens), labels] = 1.0
        pieces = [self.emission.pull_each(unary, self.offsets), cells @ self.space.ngram_matrix]
        return sp.hstack(pieces, format="csr")

    def indicators(self, codes: Ragged, weights: np.ndarray | None = None, *, each: bool = False) -> Parts:
        """Parts of given label sequences."""
        k, n_contexts = self.space.n_labels, self.space.successor.shape[0]
        labels = codes.values
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        value = np.ones(self.n_tokens) if weights is None else np.asarray(weights, dtype=np.float64)[owner]
        unary = np.zeros((self.n_tokens, k))
        unary[np.arange(self.n_tokens), labels] = value
        before = self.space.contexts_before(labels, self.offsets)
        inner = np.flatnonzero(before >= 0)
        flat = before[inner] * k + labels[inner]
        size = n_contexts * k
        if each:
            flat = flat + owner[inner] * size
        n_tables = len(self) if each else 1
        trans = np.bincount(flat, weights=value[inner], minlength=n_tables * size)
        trans = trans.reshape(n_tables, n_contexts, k)
        edge = self._no_edges()
        if self.joint is not None:
            cells, tokens = self.joint.of_labels(labels, self.offsets)
            edge[cells] = value[tokens]
        elif edge is not None:
            edge[inner, labels[inner - 1], labels[inner]] = value[inner]
        return Parts(unary=unary, trans=trans if each else trans[0], edge=edge)

    def norm_sums(self, weights: np.ndarray | None = None) -> tuple[float, float]:
        """Squared norms of the features of all tokens, with one for each label n-gram that ends there."""
        norms = self.emission.squared_norms(len(self.space.attributes)) + self.space.structure.order
        if self.edge is not None:
            norms += self.edge.squared_norms(self.edge.layout.n_attributes)
        if weights is None:
            return float(norms.sum()), float(norms.size)
        share = np.repeat(weights, np.diff(self.offsets))
        return float(share @ norms), float(share.sum())

    def part_offsets(self) -> Mapping[str, np.ndarray]:
        """Tokens (and cells) of every sequence."""
        return {"unary": self.offsets, "edge": self.offsets if self.joint is None else self.joint.offsets}

    # -- outputs ---------------------------------------------------------------------------------

    def unpack(self, codes: Ragged) -> list[list[Any]]:
        """Codes to lists of labels."""
        # Object arrays hand out the labels themselves; a loop over codes is five times slower.
        labels = np.empty(self.space.n_labels, dtype=object)
        for i, label in enumerate(self.space.labels):
            labels[i] = label
        flat = labels[codes.values].tolist()
        bounds = codes.offsets.tolist()
        return [flat[a:b] for a, b in itertools.pairwise(bounds)]

    def unpack_sample(self, i: int, codes: Ragged) -> list[list[Any]]:
        """Several label sequences of sample ``i``; labels do not depend on the sample."""
        return self.unpack(codes)

    def unpack_marginals(self, parts: Parts) -> list[np.ndarray]:
        """Label probabilities, one array (n_tokens, n_labels) per sequence."""
        return [parts.unary[a:b] for a, b in itertools.pairwise(self.offsets.tolist())]

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Cost 1 (or the weight of the gold label) for every token with another label."""
        gold = self.gold_codes.values
        cost = np.ones(self.n_tokens)
        if label_weight is not None:
            cost = np.array([float(label_weight.get(label, 1.0)) for label in self.space.labels])[gold]
        unary = np.repeat(cost[:, None], self.space.n_labels, axis=1)
        unary[np.arange(self.n_tokens), gold] = 0.0
        for i, mask in enumerate(self.known or ()):
            if mask is not None:  # a label that is possible costs nothing
                unary[self.offsets[i] : self.offsets[i + 1]][mask] = 0.0
        return Parts(unary=unary, trans=None, edge=None), np.zeros(len(self))
