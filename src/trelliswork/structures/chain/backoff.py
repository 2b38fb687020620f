"""Sums over chains whose contexts are kept as observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trelliswork._threads import run
from trelliswork.dp.chain.trellis import Expected, Trellis
from trelliswork.structures.chain.sparse import Failures
from trelliswork.structures.chain.trellis import NO_EDGES, arrange, factors_of

if TYPE_CHECKING:
    from trelliswork.structures.chain.verbs import ChainVerbs

__all__ = ["Entries", "sparse_best", "sparse_sums"]

_STEEPEST = 1e5  # how many times smaller a step may be than that of its suffix in differences


class Entries(NamedTuple):
    """Steps as entries of a sparse product, for the recursion of ``dp/chain/backoff.py``.

    Attributes
    ----------
    suffix, last : ndarray of shape (n_contexts,)
        Context without its first label (-1 for single labels); last label.
    order : ndarray of shape (n_contexts,)
        Contexts as they are visited: those that lead to the same contexts one after the other.
    ptr : ndarray of shape (n_contexts + 1,)
        Where the entries of each of ``order`` begin.
    target : ndarray of shape (n_entries,)
        Context after.
    plus, minus : ndarray of shape (n_entries,)
        Steps (see :class:`Failures`) whose factor is added and taken away; -1 for none.
    """

    suffix: np.ndarray
    last: np.ndarray
    order: np.ndarray
    ptr: np.ndarray
    target: np.ndarray
    plus: np.ndarray
    minus: np.ndarray

    @classmethod
    def of(cls, failures: Failures, last: np.ndarray) -> Entries:
        """Entries of given steps."""
        suffix, pair_ptr, _, target, up, _, _ = failures
        n, pair = suffix.size, np.arange(target.size)
        order = np.lexsort((np.arange(n), suffix))  # those of shorter suffixes first, so shorter ones first
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
        row = rank[np.repeat(np.arange(n), np.diff(pair_ptr))]
        apart = (up >= 0) & (target[up] != target)  # the suffix has led elsewhere
        rows = np.concatenate([row, row[apart]])
        targets = np.concatenate([target, target[up[apart]]])
        plus = np.concatenate([pair, np.full(np.count_nonzero(apart), -1)])
        minus = np.concatenate([np.where(apart, -1, up), up[apart]])
        by = np.lexsort((targets, rows))
        ptr = np.searchsorted(rows[by], np.arange(n + 1)).astype(np.int64)
        return cls(suffix, last, order, ptr, targets[by], plus[by], minus[by])

    def values(self, step: np.ndarray) -> np.ndarray:
        """Factors of entries from those of steps."""
        with_none = np.append(step, 0.0)
        return with_none[self.plus] - with_none[self.minus]

    def steps(self, used: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Expected steps from expected entries without their factors."""
        size = step.size + 1
        counts = np.bincount(self.plus % size, used, minlength=size)
        counts -= np.bincount(self.minus % size, used, minlength=size)
        return np.maximum(counts[:-1] * step, 0.0)


def sparse_sums(
    batch: ChainVerbs, trellis: Trellis, weights: np.ndarray | None, out: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Log sums, expected labels (into ``out``) and expected steps where contexts are kept as observed; steps
    count for the contexts that make them. Without ``out`` the sums alone.
    """
    from trelliswork.dp.chain import any_order

    space, n = batch.space, len(batch)
    assert space.sparse is not None
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    first = space.n_labels
    factors, top, _ = factors_of(trellis.trans)
    failures, labels = space.sparse.failures, np.zeros((0, space.n_labels)) if out is None else out
    maker = np.repeat(np.arange(failures.suffix.size), np.diff(failures.pair_ptr))
    step = factors[0, first:][maker, failures.label]
    log_z, failed = np.empty(n), np.zeros(n, dtype=bool)
    trans = np.zeros((space.successor.shape[0], first if out is not None else 0))
    smaller = failures.up >= 0
    flat = np.all(step[failures.up[smaller]] <= _STEEPEST * step[smaller])
    sums = _by_products if flat else _by_groups
    counts = sums(batch, trellis.unary, step, float(top[0]), w, (log_z, labels, failed))
    if out is not None:
        trans[first + maker, failures.label] = counts
    again = np.flatnonzero(failed)
    if again.size and out is None:
        any_order.inside(trellis, batch._graph(), again, log_z)
    elif again.size:
        expected = Expected(labels, trans[None], np.zeros(n, dtype=np.int64), NO_EDGES)
        any_order.marginals(trellis, batch._graph(), again, w, log_z, expected)
    return log_z, trans


def sparse_best(batch: ChainVerbs, trellis: Trellis, labels: np.ndarray, value: np.ndarray) -> None:
    """Best label sequences and their scores, into ``labels`` and ``value``."""
    from trelliswork.dp.chain import sparse

    contexts, first = batch.space.sparse, batch.space.n_labels
    assert contexts is not None
    trans = np.ascontiguousarray(trellis.trans[0, first:])
    tables = (tuple(contexts.failures), contexts.steps, batch.offsets)
    run(
        lambda a, b: sparse.viterbi(trellis.unary, trans, *tables, a, b, labels, value),
        batch.sequence_ranges(),
        batch._threads,
    )


def _by_products(
    batch: ChainVerbs,
    unary: np.ndarray,
    step: np.ndarray,
    top: float,
    weights: np.ndarray,
    sums: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> np.ndarray:
    """Expected steps by sparse products; fills ``sums``: log sums, expected labels, what failed."""
    from trelliswork.dp.chain import backoff

    assert batch.space.sparse is not None
    entries = batch.space.sparse.entries
    lanes = arrange(batch.offsets, 0, batch.limits, backoff.LANES)
    limits = batch.limits
    room = max(limits.kept_floats // (entries.suffix.size * backoff.LANES), limits.fewest_kept)
    groups, value = (lanes.members, lanes.group_ptr), entries.values(step)
    used = np.zeros((len(lanes.chunks), value.size))

    def task(number: int, first: int, last: int) -> None:
        backoff.sums(
            unary,
            batch.offsets,
            tuple(entries[:5]),
            value,
            top,
            groups,
            (first, last),
            weights,
            room,
            sums,
            used[number],
        )

    run(task, [(i, a, b) for i, (a, b) in enumerate(lanes.chunks)], batch._threads)
    return entries.steps(used.sum(axis=0), step)


def _by_groups(
    batch: ChainVerbs,
    unary: np.ndarray,
    step: np.ndarray,
    top: float,
    weights: np.ndarray,
    sums: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> np.ndarray:
    """The same for steps of very different size: no difference that leaves little is trusted."""
    from trelliswork.dp.chain import sparse

    assert batch.space.sparse is not None
    failures = batch.space.sparse.failures
    log_z, labels, failed = sums
    chunks = [(int(part[0]), int(part[-1]) + 1) for (part,) in batch._sequence_chunks() if part.size]
    used = np.zeros((len(chunks), step.size))

    def task(number: int, a: int, b: int) -> None:
        where = (batch.offsets, a, b, weights)
        sparse.expect(unary, step, top, tuple(failures), *where, log_z, labels, used[number], failed)

    run(task, [(i, a, b) for i, (a, b) in enumerate(chunks)], batch._threads)
    return used.sum(axis=0)
