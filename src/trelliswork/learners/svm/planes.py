"""Constraints found so far, in shards of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._ragged import Ragged, offsets_of
from trelliswork.dp.solvers.constraints import Metric, Planes
from trelliswork.learners.contrast import contrast
from trelliswork.learners.svm.start import Start
from trelliswork.learners.svm.weights import Weights
from trelliswork.losses import Loss
from trelliswork.losses.forms import Form
from trelliswork.losses.oracle import Found, Oracle
from trelliswork.structures.base import Batch

__all__ = ["Shard"]

_FIRST_SLOTS, _LEAST_SLOTS = 4, 8
_PER_SLOT, _PER_OUTPUT = 60, 120  # bytes beside the Gram matrix, and beside the codes
_BLOCK_STEPS = 50
_EVER = 1 << 30


class Shard:
    """Some of the samples, the constraints found for them and their dual variables.

    Parameters
    ----------
    number : int
        Number of the shard.
    samples : ndarray
        Its samples in the training data.
    batch : Batch
        The samples.
    loss, form, approx
        As in ``Oracle``.
    caps : ndarray
        Bound on the dual mass of each sample: its share of ``C``.
    cache_mb : float
        Bound on the memory for constraints.
    """

    def __init__(
        self,
        number: int,
        samples: np.ndarray,
        batch: Batch,
        loss: Loss,
        form: Form,
        approx: bool,
        caps: np.ndarray,
        cache_mb: float,
    ):
        n = len(batch)
        self.number, self.samples, self.batch, self.form = number, samples, batch, form
        self.oracle = Oracle(batch, loss, form, approx=approx)
        self.shares = caps
        self.cap = caps.copy() if form.slack == "l1" else np.where(caps > 0, np.inf, 0.0)
        self.inv_c = np.zeros(n)
        if form.slack == "l2":
            self.inv_c[caps > 0] = 1.0 / caps[caps > 0]
        self.count = np.zeros(n, dtype=np.int64)
        self.mass, self.gap = np.zeros(n), np.zeros(n)
        self.n_added = 0
        self._tables(_FIRST_SLOTS)
        self._idx, self._val = np.zeros(1024, dtype=np.int32), np.zeros(1024)
        self._filled = 0
        self._work = np.zeros(batch.n_features)
        self._bytes = int(cache_mb * 2**20)
        self._rng = np.random.default_rng(0)
        self._hash = self._rng.integers(1, 2**62, 64)
        self._codes: dict[int, np.ndarray] = {}  # outputs by serial number

    def _tables(self, slots: int) -> None:
        n = self.count.size
        old = dict(vars(self))
        shapes = {"start": np.int64, "size": np.int64, "offset": float, "factor": float, "beta": float}
        for name, kind in {**shapes, "idle": np.int32, "serial": np.int64, "key": np.int64}.items():
            table = np.zeros((n, slots), dtype=kind)
            if name in old:
                table[:, : old[name].shape[1]] = old[name]
            setattr(self, name, table)
        gram = np.zeros((n, slots, slots))
        if "gram" in old:
            width = old["gram"].shape[1]
            gram[:, :width, :width] = old["gram"]
        self.gram = gram

    @property
    def in_use(self) -> np.ndarray:
        """Which slots hold a constraint, shape (n_samples, n_slots)."""
        return np.arange(self.beta.shape[1]) < self.count[:, None]

    @property
    def nbytes(self) -> int:
        """Memory for constraints: tables, features and outputs."""
        tables = (
            self.start,
            self.size,
            self.offset,
            self.factor,
            self.beta,
            self.idle,
            self.serial,
            self.key,
        )
        codes = sum(row.nbytes + _PER_OUTPUT for row in self._codes.values())
        return sum(a.nbytes for a in (*tables, self.gram, self._idx, self._val)) + codes

    start: np.ndarray
    size: np.ndarray
    offset: np.ndarray
    factor: np.ndarray
    beta: np.ndarray
    idle: np.ndarray
    serial: np.ndarray
    key: np.ndarray

    # -- constraints --------------------------------------------------------------------------

    def add(self, violated: Found, weights: Weights) -> int:
        """Take up the constraints that are violated; returns how many are new."""
        keys = self._keys(violated.codes)
        known = (self.key == keys[:, None]) & self.in_use
        samples = np.flatnonzero((violated.value > 0) & (self.shares > 0) & ~known.any(axis=1))
        if not samples.size:
            return 0
        h, s = self.form.plane(violated.loss)
        rows = contrast(self.batch, violated.codes, samples)
        rows.data = rows.data * np.repeat(s[samples], np.diff(rows.indptr))
        self._make_room(samples, rows.nnz, weights)
        slot = self._insert(samples, rows, h[samples], weights)
        while np.any(slot == -2):
            # Every slot is in use: more slots, or, at the bound on memory, give up the smallest plane.
            full = np.flatnonzero(slot == -2)
            slots = self.beta.shape[1]
            more = self.count.size * slots * (24 * slots + _PER_SLOT)
            if slots < _LEAST_SLOTS or self.nbytes + more <= self._bytes:
                self._tables(2 * slots)
            else:
                self._release(samples[full], weights)
            slot[full] = self._insert(samples[full], rows[full], h[samples[full]], weights)
        new = np.flatnonzero(slot >= 0)
        self.factor[samples[new], slot[new]] = s[samples[new]]
        self.key[samples[new], slot[new]] = keys[samples[new]]
        serial = self.n_added + np.arange(new.size)
        self.serial[samples[new], slot[new]] = serial
        for number, i in zip(serial.tolist(), samples[new].tolist(), strict=True):
            self._codes[number] = violated.codes[i].astype(np.int32)
        self.n_added += new.size
        if len(self._codes) > 2 * int(self.count.sum()) + 64:
            self._drop_codes()
        return int(new.size)

    def broken(self, worst: Found, weights: Weights, epsilon: float) -> Found:
        """The same outputs, with the value 0 where the slack of a sample and ``epsilon`` suffice."""
        i, p = np.nonzero(self.in_use)
        size = self.size[i, p]
        owner = np.repeat(np.arange(i.size), size)
        entries = np.arange(owner.size) + (self.start[i, p] - offsets_of(size)[:-1])[owner]
        values = self._val[entries] * weights.work(self.number)[self._idx[entries]]
        slack = np.zeros(self.count.size)
        np.maximum.at(slack, i, self.offset[i, p] - np.bincount(owner, values, i.size))
        met = (worst.value <= slack + epsilon) | (self.shares == 0)
        return worst._replace(value=np.where(met, 0.0, worst.value))

    def start_from(self, start: Start, weights: Weights) -> None:
        """Begin with given dual variables; ``start.sample`` counts the samples of this shard."""
        from trelliswork.dp.solvers import planes as solvers_planes

        gold = self.batch.gold_codes
        for rank in range(int(start.rank.max(initial=-1)) + 1):
            chosen = np.flatnonzero(start.rank == rank)
            samples = start.sample[chosen]
            rows = [gold[i] for i in range(len(self.batch))]
            value, loss = np.zeros(len(rows)), np.zeros(len(rows))
            for entry, i in zip(chosen.tolist(), samples.tolist(), strict=True):
                rows[i], value[i], loss[i] = start.codes[entry], 1.0, start.loss[entry]
            codes = Ragged(np.concatenate(rows), offsets_of([row.size for row in rows]))
            self.add(Found(codes, loss, value), weights)
            match = (self.key[samples] == self._keys(codes)[samples, None]) & self.in_use[samples]
            there, slot = np.nonzero(match)
            metric = Metric(weights.work(self.number), *weights.metric(self.number))
            solvers_planes.shift(samples[there], slot, start.beta[chosen[there]], self._planes(), metric)
            weights.settle(self.number)

    def _make_room(self, samples: np.ndarray, n_entries: int, weights: Weights) -> None:
        """Stay below the bound on memory: first idle constraints go, then the smallest of crowded samples."""
        if self._filled + n_entries <= self._idx.size or self.nbytes + 24 * n_entries <= self._bytes:
            return
        self.forget(1)
        self._compact(n_entries)
        if self.nbytes <= self._bytes:
            return
        crowded = samples[self.count[samples] >= _LEAST_SLOTS]
        if crowded.size:
            self._release(crowded, weights)
            self.forget(_EVER)
            self._compact(n_entries)

    def _drop_codes(self) -> None:
        alive = self.serial[self.in_use].tolist()
        self._codes = {number: self._codes[number] for number in alive}

    def _keys(self, codes: Ragged) -> np.ndarray:
        """A number for every output, different for different outputs of a sample."""
        longest = int(codes.lengths.max(initial=0))
        while self._hash.size < longest:
            self._hash = np.concatenate([self._hash, self._rng.integers(1, 2**62, self._hash.size)])
        place = np.arange(codes.values.size) - np.repeat(codes.offsets[:-1], codes.lengths)
        terms = np.append((codes.values + 1) * self._hash[place], 0)  # wraps around
        sums = np.add.reduceat(terms, codes.offsets[:-1]) if len(codes) else np.zeros(0, dtype=np.int64)
        return np.where(codes.lengths > 0, sums, 0)

    def _insert(
        self, samples: np.ndarray, rows: sp.csr_matrix, h: np.ndarray, weights: Weights
    ) -> np.ndarray:
        from trelliswork.dp.solvers import planes as solvers_planes

        self._reserve(rows.nnz)
        base = self._filled
        self._idx[base : base + rows.nnz] = weights.place(self.number, rows.indices)
        self._val[base : base + rows.nnz] = rows.data
        self._filled += rows.nnz
        slot = np.empty(samples.size, dtype=np.int64)
        kernel, n_columns, _ = weights.metric(self.number)
        solvers_planes.insert(
            samples,
            rows.indptr.astype(np.int64),
            base,
            h,
            self._planes(),
            kernel,
            n_columns,
            self._work,
            slot,
        )
        return slot

    def _release(self, samples: np.ndarray, weights: Weights) -> None:
        from trelliswork.dp.solvers import planes as solvers_planes

        metric = Metric(weights.work(self.number), *weights.metric(self.number))
        solvers_planes.release(samples, self._planes(), metric)
        weights.settle(self.number)

    def _planes(self) -> Planes:
        """The constraints as the compiled ascent wants them."""
        entries = (self.count, self.start, self.size, self._idx, self._val)
        return Planes(*entries, self.offset, self.beta, self.gram, self.idle, self.mass)

    def _reserve(self, more: int) -> None:
        if self._filled + more > self._idx.size:
            self._compact(more)

    def _compact(self, more: int) -> None:
        """Move the features of all constraints together, with room for ``more`` entries."""
        from trelliswork.dp.solvers import planes as solvers_planes

        alive = int(self.size[self.in_use].sum())
        # Doubling saves copies; near the bound on memory, what is needed must do.
        spare = alive if 24 * (alive + more) <= self._bytes // 2 else 0
        capacity = max(alive + more + spare, 1024)
        idx, val = np.empty(capacity, dtype=np.int32), np.empty(capacity)
        self._filled = solvers_planes.compact(self._planes(), idx, val)
        self._idx, self._val = idx, val

    def forget(self, limit: int) -> None:
        """Drop constraints that were not in use for ``limit`` visits."""
        from trelliswork.dp.solvers import planes as solvers_planes

        solvers_planes.drop_idle(limit, self._planes(), self.serial, self.factor, self.key)
        self._drop_codes()

    # -- ascent ---------------------------------------------------------------------------------

    def visit(self, weights: Weights, order: np.ndarray, max_idle: int = _EVER) -> float:
        """Solve the block of every sample of ``order``; returns the sum of their gaps before."""
        from trelliswork.dp.solvers import planes as solvers_planes

        metric = Metric(weights.work(self.number), *weights.metric(self.number))
        problem = (order, self._planes(), self.cap, self.inv_c, metric)
        seen = np.inf
        for _ in range(weights.repeats):
            solvers_planes.visit(*problem, _BLOCK_STEPS, 1e-12, max_idle, self.gap)
            if seen == np.inf:
                gap = self.gap[order]
                seen = float(gap.max(initial=0.0) if self.form.slack == "none" else gap.sum())
        weights.settle(self.number)
        return seen

    def dual(self) -> float:
        """Linear and slack terms of the dual objective."""
        total = float((self.beta * self.offset)[self.in_use].sum())
        return total - 0.5 * float(self.inv_c @ self.mass**2)

    def loss_term(self, value: np.ndarray) -> float:
        """Slack term of the primal objective, from the largest violations."""
        slack = np.maximum(value, 0.0)
        if self.form.slack == "l2":
            return 0.5 * float(self.shares @ slack**2)
        return float(self.shares @ slack)

    def support(self) -> list[tuple[int, Any, float]]:
        """Constraints in use: sample, output, dual variable in the scale of the textbook problem."""
        i, p = np.nonzero((self.beta > 0) & self.in_use)
        rows = [self._codes[number].astype(np.int64) for number in self.serial[i, p].tolist()]
        codes = Ragged(
            np.concatenate([np.zeros(0, dtype=np.int64), *rows]), offsets_of([row.size for row in rows])
        )
        outputs = self.batch.subset(i).unpack(codes) if i.size else []
        alpha = self.beta[i, p] * self.factor[i, p]
        return [
            (int(self.samples[a]), output, float(b)) for a, output, b in zip(i, outputs, alpha, strict=True)
        ]
