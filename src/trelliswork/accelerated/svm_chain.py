"""State of the compiled dual ascent on label chains of order 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork._ragged import Ragged, gather_ranges, offsets_of
from trelliswork.accelerated.ascent import DualProblem
from trelliswork.dp.solvers.chain import Features, Limits, Planes, Sequences, Weights
from trelliswork.structures.base import Parts

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch

__all__ = ["ChainAscent", "ascent"]

_FIRST_SLOTS = 8
_BLOCK_STEPS = 10


class ChainAscent:
    """Label sequences met so far, dual variables and weights; see ``accelerated.ascent.Ascent``.

    Parameters
    ----------
    batch : ChainBatch
        Sequences with labels; order 1, no edge features, no limits on single tokens.
    costs : Parts
        Loss of labels; no costs of transitions.
    cap : ndarray
        Bound on the dual mass of each sequence.
    cache_mb : float
        Bound on the memory for label sequences, in megabytes.
    """

    def __init__(self, batch: ChainBatch, costs: Parts, cap: np.ndarray, cache_mb: float):
        space = batch.space
        n, k, layout = len(batch), space.n_labels, space.emission_layout
        self.batch, self.costs, self.cap = batch, costs, cap
        matrix, rows = batch.emission.stacked()
        gold = batch.gold_codes.values
        self._features = Features(matrix.indptr, matrix.indices, matrix.data, rows)
        self._sequences = Sequences(batch.offsets, gold, costs.unary)
        self.emission = np.zeros((layout.n_attributes, k))
        self.trans = np.zeros((k, k))
        stored = np.zeros((0, 0), dtype=bool)
        if layout.flat is not None:
            stored = np.zeros((layout.n_attributes, k), dtype=bool)
            stored.ravel()[layout.flat] = True
        everything = np.ones(k, dtype=bool)
        self._stored = stored
        self._limits = Limits(
            np.where(space.context_mask, 0.0, -np.inf),
            everything if space.start_mask is None else space.start_mask,
            everything if space.end_mask is None else space.end_mask,
        )
        self.gap, self.mass = np.zeros(n), np.zeros(n)
        self.count = np.zeros(n, dtype=np.int64)
        self.labels = np.zeros((_FIRST_SLOTS, batch.n_tokens), dtype=np.int32)
        self.height, self.beta = np.zeros((n, _FIRST_SLOTS)), np.zeros((n, _FIRST_SLOTS))
        self.gram = np.zeros((n, _FIRST_SLOTS, _FIRST_SLOTS))
        self.idle = np.zeros((n, _FIRST_SLOTS), dtype=np.int32)
        self.n_constraints = 0
        self._bytes = cache_mb * 2**20
        self._kept: list[tuple[np.ndarray, Ragged, np.ndarray]] | None = None

    def start_from(self, start: Any) -> None:
        """Begin with given dual variables; of each sequence as many as there is room for."""
        while int(start.rank.max(initial=-1)) >= self.beta.shape[1] and self._can_grow():
            self._grow()
        used = np.flatnonzero(start.rank < self.beta.shape[1])
        samples, rank, beta = start.sample[used], start.rank[used], start.beta[used]
        codes = start.codes[used]
        place = gather_ranges(self.batch.offsets, samples)
        self.labels[np.repeat(rank, codes.lengths), place] = codes.values
        self.height[samples, rank], self.beta[samples, rank] = start.loss[used], beta
        self.count[:] = np.bincount(samples, minlength=self.count.size)
        self.mass[:] = np.bincount(samples, beta, minlength=self.mass.size)
        part = self.batch.subset(samples)
        planes = (part.gold() - part.features(codes)).tocsr()
        order = np.argsort(samples, kind="stable")
        ends = np.searchsorted(samples[order], np.arange(self.count.size + 1))
        for i in np.unique(samples):
            slots = order[ends[i] : ends[i + 1]]
            rows = planes[slots]
            self.gram[np.ix_([i], rank[slots], rank[slots])] = (rows @ rows.T).toarray()
        w, layout = planes.T @ beta, self.batch.space.emission_layout
        if layout.flat is None:
            self.emission[:] = w[: self.emission.size].reshape(self.emission.shape)
        else:
            self.emission.ravel()[layout.flat] = w[: layout.flat.size]
        grams = self.batch.space.ngram_matrix
        self.trans[:] = (grams @ w[w.size - grams.shape[1] :]).reshape(self.trans.shape)
        self.n_constraints += used.size

    def sweep(self, order: np.ndarray, search: bool) -> None:
        """Visit sequences in turn."""
        from trelliswork.dp.solvers import chain_ascent

        new, full = chain_ascent.sweep(
            order,
            search,
            self._features,
            self._sequences,
            Weights(self.emission, self._stored, self.trans),
            self._limits,
            self.cap,
            Planes(self.count, self.labels, self.height, self.beta, self.gram, self.idle, self.mass),
            self.gap,
            _BLOCK_STEPS,
            not self._can_grow(),
        )
        self.n_constraints += new
        # With all slots in use a sequence is solved over what it has; it gets more for next time.
        if full and self._can_grow():
            self._grow()

    def _can_grow(self) -> bool:
        n, slots = self.beta.shape
        return 2 * slots * (16 * n * slots + 4 * self.batch.n_tokens) <= self._bytes

    def _grow(self) -> None:
        slots = self.beta.shape[1]
        for name in ("height", "beta", "idle"):
            setattr(self, name, np.pad(getattr(self, name), ((0, 0), (0, slots))))
        self.gram = np.pad(self.gram, ((0, 0), (0, slots), (0, slots)))
        self.labels = np.pad(self.labels, ((0, slots), (0, 0)))

    def violations(self) -> np.ndarray:
        """Largest violation of every sequence at the present weights."""
        scores = self.batch.scores(self.weights())
        gold = self.batch.evaluate(self.batch.gold_codes, scores)
        return self.batch.argmax(scores, self.costs).values - gold

    def weights(self) -> np.ndarray:
        """The present weights."""
        space = self.batch.space
        grams = space.ngram_matrix.T @ self.trans.ravel()
        return np.concatenate([space.emission_layout.gather(self.emission), grams])

    def squared_norm(self) -> float:
        """``|w|^2``."""
        w = self.weights()
        return float(w @ w)

    def linear_term(self) -> float:
        """Sum of dual variables times heights."""
        return float(np.vdot(self.beta, self.height))

    def masses(self) -> np.ndarray:
        """Sum of the dual variables of every sequence."""
        return self.mass

    def longest(self) -> float:
        """Norm of the longest plane."""
        return float(np.sqrt(self.gram.max(initial=0.0)))

    def contradictory(self) -> bool:
        """Whether a plane in use is zero."""
        squares = np.einsum("ipp->ip", self.gram)
        return bool(np.any((self.beta > 0) & (squares == 0.0) & (self.height > 0)))

    def keep(self) -> None:
        """Remember the present dual variables and their sequences."""
        offsets = self.batch.offsets
        kept: list[tuple[np.ndarray, Ragged, np.ndarray]] = []
        for p in range(self.beta.shape[1]):
            samples = np.flatnonzero(self.beta[:, p] > 0)
            if samples.size:
                codes = Ragged(
                    self.labels[p, gather_ranges(offsets, samples)], offsets_of(np.diff(offsets)[samples])
                )
                kept.append((samples, codes, self.beta[samples, p]))
        self._kept = kept

    def support(self) -> list[tuple[int, Any, float]]:
        """Sequence, labels and dual variable of the planes in use when :meth:`keep` was called last."""
        if self._kept is None:
            self.keep()
        planes: list[tuple[int, Any, float]] = []
        for samples, codes, beta in self._kept or []:
            outputs = self.batch.unpack(Ragged(codes.values.astype(np.int64), codes.offsets))
            planes.extend(zip(samples.tolist(), outputs, beta.tolist(), strict=True))
        return sorted(planes, key=lambda entry: entry[0])


def ascent(batch: ChainBatch, problem: DualProblem, cache_mb: float) -> ChainAscent | None:
    """Block-coordinate Frank-Wolfe with remembered label sequences, for margin rescaling and order 1.

    Parameters
    ----------
    batch : ChainBatch
        Sequences with labels.
    problem : DualProblem
        The dual; only absolute slacks and costs of labels.
    cache_mb : float
        Bound on the memory for label sequences, in megabytes.
    """
    simple = batch.space.order == 1 and batch.edge is None and batch.allowed is None
    if not simple or problem.scale is not None or problem.height.trans is not None:
        return None
    if problem.curvature.any() or not np.isfinite(problem.cap).all():
        return None
    return ChainAscent(batch, problem.height, problem.cap, cache_mb)
