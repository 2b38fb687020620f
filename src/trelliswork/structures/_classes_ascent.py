"""State of the compiled dual ascent on single classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork.structures.base import Parts

if TYPE_CHECKING:
    from trelliswork.structures._classes_batch import ClassesBatch

__all__ = ["ClassesAscent"]

_BLOCK_STEPS = 100


class ClassesAscent:
    """Dual variables of all classes and weights; see ``structures.base.Ascent``.

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
        rows, above = batch.emission.token_matrix(), batch.space.above
        rows.sum_duplicates()
        self.gold = batch.gold_codes.values
        self._rows = (rows.indptr, rows.indices, rows.data)
        self._above = (above.indptr, above.indices, above.data)
        self._norm = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        self._common = (above @ above.T).toarray()
        n = self.gold.size
        self.table = np.zeros((rows.shape[1], above.shape[1]))
        self.beta = np.zeros((n, batch.space.n_labels))
        self.mass, self.gap = np.zeros(n), np.zeros(n)

    @classmethod
    def start(
        cls,
        batch: ClassesBatch,
        height: np.ndarray,
        scale: np.ndarray,
        cap: np.ndarray,
        curvature: np.ndarray,
    ) -> ClassesAscent | None:
        """Ascent, if the constraints depend on the true class alone."""
        gold, n_labels = batch.gold_codes.values, batch.space.n_labels
        seen, first = np.unique(gold, return_index=True)
        tables = []
        for values in (height, scale):
            table = np.zeros((n_labels, n_labels))
            table[seen] = values[first]
            if not np.array_equal(table[gold], values):
                return None
            tables.append(table)
        return cls(batch, tables[0], tables[1], cap, curvature)

    @property
    def n_constraints(self) -> int:
        """Number of constraints in use."""
        return int(np.count_nonzero(self.beta))

    def start_from(self, start: Any) -> None:
        """Begin with given dual variables."""
        k = start.codes.values
        self.beta[start.sample, k] = start.beta
        self.mass[:] = self.beta.sum(axis=1)
        moves = self.beta * self.scale[self.gold]
        parts = -moves
        parts[np.arange(self.gold.size), self.gold] += moves.sum(axis=1)
        self.table[:] = self.batch.pull(Parts(label=parts)).reshape(self.table.shape)

    def sweep(self, order: np.ndarray, search: bool) -> None:
        """Visit samples in turn; every class is at hand, so there is nothing to search for."""
        from trelliswork.dp import _multiclass

        _multiclass.sweep(
            order,
            *self._rows,
            self._norm,
            self.gold,
            *self._above,
            self._common,
            self.height,
            self.scale,
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
        from trelliswork.dp import _multiclass

        top = np.empty(self.gold.size)
        _multiclass.largest(*self._rows, self.gold, *self._above, self.height, self.scale, self.table, top)
        return top

    def weights(self) -> np.ndarray:
        """The present weights."""
        return self.table.ravel().copy()

    def linear_term(self) -> float:
        """Sum of dual variables times heights."""
        return float(np.vdot(self.beta, self.height[self.gold]))

    def masses(self) -> np.ndarray:
        """Sum of the dual variables of every sample."""
        return self.mass

    def longest(self) -> float:
        """Upper bound on the norm of a plane."""
        norm = float(self._norm.max(initial=0.0))
        return float(np.sqrt(2.0 * norm * self._common.max())) * float(self.scale.max(initial=0.0))

    def support(self) -> list[tuple[int, Any, float]]:
        """Sample, class and dual variable of all constraints in use."""
        labels = self.batch.space.labels
        i, k = np.nonzero(self.beta)
        alpha = self.beta[i, k] * self.scale[self.gold[i], k]
        return [(int(a), labels[b], float(c)) for a, b, c in zip(i, k, alpha, strict=True)]
