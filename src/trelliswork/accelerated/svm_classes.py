"""State of the compiled dual ascent on single classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.accelerated.ascent import DualProblem
from trelliswork.dp.solvers.classes import Classes, Rows
from trelliswork.kernels import Kernel
from trelliswork.kernels._compose import similarities
from trelliswork.structures.abilities import RowView
from trelliswork.structures.base import Parts

if TYPE_CHECKING:
    from trelliswork.structures.classes.batch import ClassesBatch

__all__ = ["ClassesAscent", "GramAscent", "RowAscent", "ascent", "kernel_ascent"]

_BLOCK_STEPS = 100
_GRAM_FROM = 8.0  # entries of a row times nodes, per sample: above this scores are cheaper than weights
_GRAM_SHARE = 0.5  # of the cache goes to inner products
_DENSE_FROM = 0.1
_ROWS_AT_A_TIME = 512


class ClassesAscent:
    """Dual variables of all classes: what the two ascents of ``accelerated.ascent.Ascent`` share.

    Parameters
    ----------
    batch : ClassesBatch
        Samples with labels.
    height, scale : ndarray of shape (n_labels, n_labels)
        Constraints by true and other class.
    cap, curvature : ndarray
        Bound on the dual mass of each sample, and weight of its square.
    """

    def __init__(
        self,
        batch: ClassesBatch,
        height: np.ndarray,
        scale: np.ndarray,
        cap: np.ndarray,
        curvature: np.ndarray,
    ):
        self.batch, self.height, self.scale, self.cap, self.curvature = batch, height, scale, cap, curvature
        above = batch.space.above
        self.gold = batch.gold_codes.values
        self._common = (above @ above.T).toarray()
        self._classes = Classes(above.indptr, above.indices, above.data, self._common, height, scale)
        n = self.gold.size
        self.beta = np.zeros((n, batch.space.n_labels))
        self.mass, self.gap = np.zeros(n), np.zeros(n)
        self._kept: np.ndarray | None = None

    @property
    def n_constraints(self) -> int:
        """Number of constraints in use."""
        return int(np.count_nonzero(self.beta))

    def start_from(self, start: Any) -> None:
        """Begin with given dual variables."""
        self.beta[start.sample, start.codes.values] = start.beta
        self.mass[:] = self.beta.sum(axis=1)

    def coefficients(self) -> np.ndarray:
        """By how much each sample counts for each class, shape (n_samples, n_labels)."""
        moves = self.beta * self.scale[self.gold]
        coefficients = -moves
        coefficients[np.arange(self.gold.size), self.gold] += moves.sum(axis=1)
        return coefficients

    def linear_term(self) -> float:
        """Sum of dual variables times heights."""
        return float(np.vdot(self.beta, self.height[self.gold]))

    def masses(self) -> np.ndarray:
        """Sum of the dual variables of every sample."""
        return self.mass

    def _longest(self, norms: np.ndarray) -> float:
        norm = float(norms.max(initial=0.0))
        return float(np.sqrt(2.0 * norm * self._common.max())) * float(self.scale.max(initial=0.0))

    def _contradictory(self, norms: np.ndarray) -> bool:
        depth = np.diagonal(self._common)
        apart = depth[:, None] - 2.0 * self._common + depth
        reached = np.where(norms[:, None] > 0.0, apart[self.gold], 0.0) > 0.0
        wanted = (self.height[self.gold] > 0.0) & (self.cap > 0.0)[:, None]
        wanted[np.arange(self.gold.size), self.gold] = False
        return bool(np.any(wanted & ~reached))

    def keep(self) -> None:
        """Remember the present dual variables."""
        self._kept = self.beta.copy()

    def support(self) -> list[tuple[int, Any, float]]:
        """Sample, class and dual variable of the constraints in use when :meth:`keep` was called last."""
        beta, labels = self.beta if self._kept is None else self._kept, self.batch.space.labels
        i, k = np.nonzero(beta)
        alpha = beta[i, k] * self.scale[self.gold[i], k]
        return [(int(a), labels[b], float(c)) for a, b, c in zip(i, k, alpha, strict=True)]


class RowAscent(ClassesAscent):
    """Ascent that keeps the weights: a visit costs the entries of a row times the nodes."""

    def __init__(self, batch: ClassesBatch, rows: sp.csr_matrix, *problem: np.ndarray):
        super().__init__(batch, *problem)
        self._rows = Rows(rows.indptr, rows.indices, rows.data)
        self._norm = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        self.table = np.zeros((rows.shape[1], batch.space.above.shape[1]))

    def start_from(self, start: Any) -> None:
        """Begin with given dual variables."""
        super().start_from(start)
        self.table[:] = self.batch.pull(Parts(label=self.coefficients())).reshape(self.table.shape)

    def sweep(self, order: np.ndarray, search: bool) -> None:
        """Visit samples in turn; every class is at hand, so there is nothing to search for."""
        from trelliswork.dp.solvers import classes_ascent

        classes_ascent.sweep(
            order,
            self._rows,
            self._norm,
            self.gold,
            self._classes,
            self.table,
            self.beta,
            self.mass,
            self.cap,
            self.curvature,
            _BLOCK_STEPS,
            self.gap,
        )

    def violations(self) -> np.ndarray:
        """Largest violation of every sample at the present weights."""
        from trelliswork.dp.solvers import classes_ascent

        top = np.empty(self.gold.size)
        classes_ascent.largest(self._rows, self.gold, self._classes, self.table, top)
        return top

    def weights(self) -> np.ndarray:
        """The present weights."""
        return self.table.ravel().copy()

    def squared_norm(self) -> float:
        """``|w|^2``."""
        return float(np.vdot(self.table, self.table))

    def longest(self) -> float:
        """Upper bound on the norm of a plane."""
        return self._longest(self._norm)

    def contradictory(self) -> bool:
        """Whether a plane is zero that must not be."""
        return self._contradictory(self._norm)


class GramAscent(ClassesAscent):
    """Ascent that keeps the scores: a visit costs the samples times the nodes that change.

    Parameters
    ----------
    batch : ClassesBatch
        Samples with labels.
    gram : ndarray of shape (n_samples, n_samples)
        Inner products of the samples, whatever the space.
    *problem : ndarray
        As for ``ClassesAscent``.
    """

    def __init__(self, batch: ClassesBatch, gram: np.ndarray, *problem: np.ndarray):
        super().__init__(batch, *problem)
        self._gram = np.ascontiguousarray(gram)
        self._scores = np.zeros((batch.space.above.shape[1], self.gold.size))

    def _by_node(self) -> np.ndarray:
        return np.ascontiguousarray((self.coefficients() @ self.batch.space.above).T)

    def start_from(self, start: Any) -> None:
        """Begin with given dual variables."""
        super().start_from(start)
        np.matmul(self._by_node(), self._gram, out=self._scores)

    def sweep(self, order: np.ndarray, search: bool) -> None:
        """Visit samples in turn."""
        from trelliswork.dp.solvers import classes_ascent

        classes_ascent.sweep_gram(
            order,
            self._gram,
            self.gold,
            self._classes,
            self._scores,
            self.beta,
            self.mass,
            self.cap,
            self.curvature,
            _BLOCK_STEPS,
            self.gap,
        )

    def violations(self) -> np.ndarray:
        """Largest violation of every sample at the present solution."""
        from trelliswork.dp.solvers import classes_ascent

        top = np.empty(self.gold.size)
        classes_ascent.largest_gram(self.gold, self._classes, self._scores, top)
        return top

    def weights(self) -> np.ndarray:
        """The present solution in the features of the batch."""
        return self.batch.pull(Parts(label=self.coefficients()))

    def squared_norm(self) -> float:
        """Norm in the space of the inner products."""
        return float(np.vdot(self._by_node(), self._scores))

    def longest(self) -> float:
        """Upper bound on the norm of a plane."""
        return self._longest(np.diagonal(self._gram))

    def contradictory(self) -> bool:
        """Whether a plane is zero that must not be."""
        return self._contradictory(np.diagonal(self._gram))


def table_bytes(batch: ClassesBatch) -> int:
    """Memory of an ascent beside the weights or inner products."""
    n, k, n_nodes = len(batch), batch.space.n_labels, batch.space.above.shape[1]
    return 8 * (3 * k * k + 2 * n * k + n * n_nodes)


def linear_ascent(
    batch: ClassesBatch, cache_mb: float, problem: DualProblem, gram_from: float
) -> RowAscent | GramAscent:
    """The cheaper of the two ascents for a linear model."""
    rows = batch.emission.token_matrix()
    rows.sum_duplicates()
    n, n_nodes = rows.shape[0], batch.space.above.shape[1]
    if rows.nnz * n_nodes <= gram_from * n * n or 8 * n * n > _GRAM_SHARE * cache_mb * 2**20:
        return RowAscent(batch, rows, *problem)
    if rows.nnz > _DENSE_FROM * n * rows.shape[1]:
        dense = rows.toarray()
        return GramAscent(batch, dense @ dense.T, *problem)
    gram = np.empty((n, n))
    for first in range(0, n, _ROWS_AT_A_TIME):  # nearly full, so a sparse product would be larger yet
        part = slice(first, first + _ROWS_AT_A_TIME)
        gram[part] = (rows[part] @ rows.T).toarray()
    return GramAscent(batch, gram, *problem)


def gram_of(
    batch: ClassesBatch, view: RowView, kernel: Any, rows_at_a_time: int = _ROWS_AT_A_TIME
) -> np.ndarray:
    """Inner products of the samples of a view of classes: a kernel of rows, and markers."""
    rows, n, n_rows = view.rows, len(batch), view.rows.shape[0]
    matrix = batch.emission.token_matrix()
    row_of, markers = matrix[:, :n_rows].tocsr(), matrix[:, n_rows:].toarray()
    known = np.flatnonzero(np.diff(row_of.indptr))  # samples that have a row
    repeated = n_rows < known.size
    products = similarities(kernel, rows, rows, view.first) if repeated else None  # each row once
    ordered = rows if repeated else rows[row_of.indices]
    gram = np.zeros((n, n))
    for first in range(0, n, rows_at_a_time):  # in parts, to have no second matrix of that size
        part = slice(first, first + rows_at_a_time)
        low, high = np.searchsorted(known, [part.start, part.stop])
        if products is None:
            values = similarities(kernel, ordered[low:high], ordered, known[low:high])
        else:
            values = np.take(products[row_of.indices[low:high]], row_of.indices, axis=1)
        if known.size == n:
            gram[low:high] = values
        else:
            gram[np.ix_(known[low:high], known)] = values
        gram[part] += markers[part] @ markers.T
    bad = np.flatnonzero(np.diagonal(gram) < 0.0)
    if bad.size:
        raise InputError(
            f"the kernel gives {gram[bad[0], bad[0]]:.3g} for it and itself, so it is not positive "
            "semidefinite; take another kernel",
            sample=bad[0],
        )
    return gram


def ascent(
    batch: ClassesBatch, problem: DualProblem, cache_mb: float, *, gram_from: float = _GRAM_FROM
) -> ClassesAscent | None:
    """Sequential dual method over samples, with all classes at hand.

    Parameters
    ----------
    batch : ClassesBatch
        Samples with labels.
    problem : DualProblem
        The dual.
    cache_mb : float
        Bound on the memory, in megabytes.
    gram_from : float
        Entries of a row times nodes, per sample, above which scores are kept instead of weights.
    """
    if table_bytes(batch) > cache_mb * 2**20:
        return None
    return linear_ascent(batch, cache_mb, problem, gram_from)


def kernel_ascent(
    batch: ClassesBatch, view: RowView, kernel: Kernel, problem: DualProblem, cache_mb: float
) -> GramAscent | None:
    """The same from inner products of samples.

    Parameters
    ----------
    batch : ClassesBatch
        The batch of the view.
    view : RowView
        Samples in terms of their distinct rows.
    kernel : Kernel
        Similarity of rows.
    problem : DualProblem
        The dual.
    cache_mb : float
        Bound on the memory for the kernel matrix, in megabytes.
    """
    n, n_rows = len(batch), view.rows.shape[0]
    matrices = 8 * (n**2 + (n_rows**2 if n_rows < n else 0))
    if matrices + table_bytes(batch) > cache_mb * 2**20:
        return None
    return GramAscent(batch, gram_of(batch, view, kernel), *problem)
