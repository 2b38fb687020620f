"""Moments of label chains under Gibbs laws, and under uniform laws with constraints, by sweeps."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trelliswork._ragged import offsets_of
from trelliswork._threads import run
from trelliswork.structures.base import Parts
from trelliswork.structures.chain.sums import TokenSums
from trelliswork.structures.covariance import Covariance

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch

__all__ = ["GibbsChain", "PlainChain"]

_MOST_LANES = 16


class _Tables(NamedTuple):
    """Tables of a Gibbs law, see ``dp/chain/covariance.py``."""

    factors: np.ndarray
    members: np.ndarray
    base: np.ndarray
    ahead: np.ndarray
    rho: np.ndarray
    pairs: np.ndarray
    doubtful: np.ndarray


class GibbsChain(TokenSums):
    """Gibbs law, or uniform law under constraints, of an order-1 chain: sweeps over kept tables."""

    @cached_property
    def tables(self) -> Any:
        """Label probabilities and what the sweeps need; None for other chains than those."""
        from trelliswork.dp.chain import covariance

        batch, k = self.batch, self.batch.space.n_labels
        if batch.edge is not None or batch.space.order != 1:
            return None
        unary, trans, _, _ = batch._trellis(self.law, None)
        self._zeros = None  # of no use from here on
        if trans.shape[0] != 1:
            return None
        top = float(trans.max()) if np.isfinite(trans.max()) else 0.0
        factors = np.exp(trans[0] - top)
        unary = unary if self.scores is None else unary.copy()  # used up
        members, group_ptr, _ = batch._lanes()
        longest = np.diff(batch.offsets)[members[group_ptr[:-1]]]
        base = np.stack([offsets_of(longest * np.diff(group_ptr) * k), group_ptr], axis=1)
        ahead, rho = np.zeros((2, int(base[-1, 0])))
        chunks = self._groups(base)
        pairs = np.zeros((2, max(len(chunks), 1), k, k))
        args, w = (unary, factors, batch.offsets, members, base), self.sample_weights
        fine = run(
            lambda i, a, b: covariance.prepare(*args, a, b, ahead, rho, w, *pairs[:, i]),
            [(i, a, b) for i, (a, b) in enumerate(chunks)],
            batch._threads,
        )
        if not all(fine):
            return None
        return _Tables(factors, members, base, ahead, rho, *pairs.sum(axis=1))

    def _groups(self, base: np.ndarray) -> list[tuple[int, int]]:
        return self._few_chunks(base[:, 0], self.batch.space.n_labels)

    def _chunks(self) -> list[tuple[int, int]]:
        return self._groups(self.tables.base)

    def _rho(self) -> np.ndarray:
        """Label probabilities (n_tokens, n_labels)."""
        from trelliswork.dp.chain import covariance

        _, members, base, _, rho, _, _ = self.tables
        out = np.empty((self.batch.n_tokens, self.batch.space.n_labels))
        covariance.by_tokens(rho, self.batch.offsets, members, base, 0, base.shape[0] - 1, out)
        return out

    def marginals(self, *, weighted: bool = True, each: bool = False) -> Parts:
        """Label and transition probabilities."""
        if each or self.tables is None or (self.weights is not None and not weighted):
            return super().marginals(weighted=weighted, each=each)
        unary = self._rho()
        if self.weights is not None:
            unary *= self.token_weights()[:, None]
        return Parts(unary=unary, trans=self.tables.pairs, edge=None)

    def most_dense(self, size: float) -> int:
        """Number of features up to which the matrix is summed over graphs; more would take a sweep each."""
        return min(super().most_dense(size), self.batch.limits.increment_features)

    def product(self, v: np.ndarray) -> np.ndarray:
        """The matrix times a vector or the columns of a matrix."""
        return super().product(v) if self.tables is not None else Covariance.product(self, v)

    def _sweep(self, *arguments: Any) -> None:
        from trelliswork.dp.chain import covariance

        covariance.gibbs_product(*arguments, self.tables[:5])

    def _own_trans(self, trans: np.ndarray) -> np.ndarray:
        return self.tables.pairs * trans

    def _label_spread(self) -> np.ndarray | None:
        if self.tables is None:
            return None
        rho, weight = self._rho(), self.token_weights()
        return np.diag(weight @ rho) - rho.T @ (rho * weight[:, None])

    def diagonal_sum(self) -> np.ndarray | None:
        """Variances of the features if labels and transitions were independent, a preconditioner."""
        if self.tables is None:
            return None
        values = self._rho()
        values *= 1.0 - values
        values *= self.token_weights()[:, None]
        emissions = self._squares(values)
        tail = self.batch.space.ngram_matrix.T @ self.tables.doubtful.ravel()
        return np.concatenate([self.batch.emission.layout.gather(emissions), tail])

    def _covariance(self) -> np.ndarray:
        from trelliswork.structures.chain import graph

        if self.n_features > self.batch.limits.increment_features:
            return super()._covariance()
        return graph.moments(self.batch, self.law, self.weights).covariance


class _PlainTables(NamedTuple):
    """Tables of a law that depends on lengths alone, see ``dp/chain/covariance_by_length.py``."""

    members: np.ndarray
    group_ptr: np.ndarray
    group_base: np.ndarray
    moves: np.ndarray
    rho: np.ndarray
    pairs: np.ndarray
    doubtful: np.ndarray


class PlainChain(GibbsChain):
    """Uniform law over the label sequences that transitions and ends allow, the same for each token."""

    @staticmethod
    def fits(batch: ChainBatch) -> bool:
        """Whether the outputs of a sequence depend on its length alone."""
        return batch.space.order == 1 and batch.allowed is None and batch.edge is None

    @cached_property
    def tables(self) -> Any:
        """Probabilities by length, and groups of sequences of one length; None if nothing is allowed."""
        from trelliswork.dp.chain import covariance_by_length

        space, k = self.batch.space, self.batch.space.n_labels
        every = np.ones(k, dtype=bool)
        allowed = np.ones((k, k)) if space.everything_allowed else space.context_mask.astype(np.float64)
        starts, ends = (every if m is None else m for m in (space.start_mask, space.end_mask))
        by_sequence = np.diff(self.batch.offsets)
        lengths = np.unique(by_sequence[by_sequence > 0])
        base = offsets_of(lengths)
        moves = np.zeros((int(lengths[-1]) if lengths.size else 0, k, k))
        rho = np.zeros((int(base[-1]), k))
        covariance_by_length.prepare(
            allowed, starts.astype(np.float64), ends.astype(np.float64), lengths, base, moves, rho
        )
        if not rho[base[:-1]].sum(axis=1).all():
            return None
        order = np.argsort(by_sequence, kind="stable")
        order = order[by_sequence[order] > 0]
        bounds, sources = [0], []
        pairs, doubtful = np.zeros((2, k, k))
        for n, start in zip(lengths.tolist(), base.tolist(), strict=False):
            size = int(np.searchsorted(by_sequence[order], n, side="right")) - bounds[-1]
            joint = rho[start : start + n - 1, :, None] * moves[n - 1 : 0 : -1]
            total = float(self.sample_weights[order[bounds[-1] : bounds[-1] + size]].sum())
            pairs += total * joint.sum(axis=0)
            doubtful += total * (joint * (1.0 - joint)).sum(axis=0)
            cuts = range(_MOST_LANES, size, _MOST_LANES)
            sources += [start] * (len(cuts) + 1)
            bounds += [bounds[-1] + cut for cut in cuts] + [bounds[-1] + size]
        return _PlainTables(order, np.array(bounds), np.array(sources), moves, rho, pairs, doubtful)

    def _chunks(self) -> list[tuple[int, int]]:
        members, group_ptr = self.tables[:2]
        tokens = offsets_of(np.diff(self.batch.offsets)[members])[group_ptr]
        return self._few_chunks(tokens)

    def _rho(self) -> np.ndarray:
        members, group_ptr, group_base, _, rho, _, _ = self.tables
        lengths = np.diff(self.batch.offsets)
        first = np.zeros(len(self.batch), dtype=np.int64)
        first[members] = np.repeat(group_base, np.diff(group_ptr))
        return rho[np.repeat(first - self.batch.offsets[:-1], lengths) + np.arange(self.batch.n_tokens)]

    def _sweep(self, *arguments: Any) -> None:
        from trelliswork.dp.chain import covariance_by_length

        covariance_by_length.plain_product(*arguments, self.tables[:5])
