"""Quadratic programs over moments with constraints from wrong outputs (Algorithm 3 of [1]_).

``min theta' H theta / 2`` so that ``theta . b >= 1`` and no wrong output beats the given one.
Constraints are found by decoding, one at a time; the dual is small and is solved by
coordinate ascent.

References
----------
.. [1] Ricci, De Bie, Cristianini (2008), Magic moments for structured output prediction, JMLR 9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.learners._progress import Progress
from trelliswork.learners._ridge import Ridge
from trelliswork.learners.base import warn_interrupted
from trelliswork.structures.base import Batch

__all__ = ["WorkingSet", "fit_constrained"]

_SWEEPS = 20_000
_MAX_PASSES = 200


class WorkingSet:
    """Constraints found so far, and the solution under them.

    Parameters
    ----------
    ridge : Ridge
        Solver for H.
    b : ndarray
        Direction whose product with theta must reach 1.
    slack : None, "quadratic" or "linear"
        None for hard constraints.
    penalties : ndarray of shape (n_samples,)
        Price of slack of each sample.
    """

    def __init__(self, ridge: Ridge, b: np.ndarray, slack: str | None, penalties: np.ndarray):
        self.ridge, self.slack, self.penalties = ridge, slack, penalties
        self.rows: list[sp.csr_matrix] = []
        self.owners: list[int] = []
        self.b = b
        self.solutions = [ridge.solve(b)]
        self.gram = np.array([[float(b @ self.solutions[0])]])
        self.alpha = np.array([1.0 / self.gram[0, 0]])
        self.theta = self.solutions[0] * self.alpha[0]

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, sample: int, row: sp.csr_matrix) -> None:
        """Demand ``theta . row >= 0`` for an output of ``sample`` and solve again."""
        solution = self.ridge.solve(row.toarray().ravel())
        self.rows.append(row)
        self.owners.append(sample)
        self.solutions.append(solution)
        column = np.array([float(self.b @ solution), *(float((r @ solution)[0]) for r in self.rows)])
        n = column.size
        gram = np.empty((n, n))
        gram[:-1, :-1] = self.gram
        gram[:, -1] = gram[-1, :] = column
        self.gram = gram
        self.alpha = np.append(self.alpha, 0.0)
        self._solve()

    def _solve(self) -> None:
        from trelliswork.dp import _dual

        owner = np.array(self.owners)
        gram = self.gram.copy()
        if self.slack == "quadratic":
            gram[1:, 1:] += (owner[:, None] == owner) / self.penalties[owner]
        scale = gram[0, 0]
        free = np.full(owner.size, -1)
        if self.slack == "linear":
            groups, group = np.unique(owner, return_inverse=True)
            cap = self.penalties[groups] * scale
            start = self.alpha * scale
            linear = np.zeros(owner.size + 1)
            linear[0] = scale
            _dual.coordinate_ascent(
                gram, linear, np.append(-1, group), cap, start, 1e-12 * np.sqrt(scale), _SWEEPS
            )
            self.alpha = start / scale
        else:
            # The dual is homogeneous but for its linear term: with alpha = t (1, beta) it is enough to
            # minimise q(beta) = (1, beta)' J (1, beta), and t = 1 / q. No weights satisfy the constraints
            # exactly when q can be made zero.
            beta = self.alpha[1:] / self.alpha[0]
            rest = np.ascontiguousarray(gram[1:, 1:])
            _dual.coordinate_ascent(
                rest, -gram[1:, 0], free, np.zeros(0), beta, 1e-10 * np.sqrt(scale), _SWEEPS
            )
            whole = np.append(1.0, beta)
            q = float(whole @ gram @ whole)
            if q <= 1e-8 * scale:
                raise InputError(
                    f"no weights satisfy the {len(self)} hard constraints found so far (the data are not "
                    "separable with these features); use constraints='slack'"
                )
            self.alpha = whole / q
        self.theta = np.zeros_like(self.b)
        for a, solution in zip(self.alpha, self.solutions, strict=True):
            if a:
                self.theta += a * solution

    def slack_of(self, sample: int) -> float:
        """By how much the constraints of a sample may be broken, and are."""
        own = [j for j, owner in enumerate(self.owners) if owner == sample]
        if self.slack is None or not own:
            return 0.0
        if self.slack == "quadratic":
            return float(sum(self.alpha[j + 1] for j in own) / self.penalties[sample])
        return max(0.0, *(-float((self.rows[j] @ self.theta)[0]) for j in own))


def fit_constrained(
    batch: Batch,
    ridge: Ridge,
    b: np.ndarray,
    *,
    slack: str | None,
    penalty: float,
    weights: np.ndarray | None,
    tol: float = 1e-6,
    progress: Progress,
) -> WorkingSet:
    """Add constraints, sample by sample, until a pass finds none that is broken.

    Parameters
    ----------
    batch : Batch
        Samples with their outputs; those of weight 0 are left out.
    ridge, b, slack
        As in :class:`WorkingSet`.
    penalty : float
        Price of slack, times the weight of a sample.
    weights : ndarray or None
        Weight of each sample.
    tol : float
        A constraint counts as broken by more than ``tol`` times the norms of both sides.
    progress : Progress
        Gets one record per pass.
    """
    own = np.ones(len(batch)) if weights is None else weights
    found = WorkingSet(ridge, b, slack, penalty * own)
    singles = {int(i): batch.subset(np.array([i])) for i in np.flatnonzero(own > 0)}
    seen: set[tuple[int, bytes]] = set()
    try:
        for _ in range(_MAX_PASSES):
            added = 0
            for i, one in singles.items():
                added += _visit(found, i, one, seen, tol)
            progress.step(**_said(ridge), added=added, n_constraints=len(found))
            if not added:
                break
    except KeyboardInterrupt:
        warn_interrupted(f"{len(found)} constraints")
    return found


def _visit(found: WorkingSet, i: int, one: Batch, seen: set[tuple[int, bytes]], tol: float) -> bool:
    codes = one.argmax(one.scores(found.theta)).codes
    key = (i, codes.values.tobytes())
    if key in seen:
        return False
    row = sp.csr_matrix(one.gold() - one.features(codes))
    row.eliminate_zeros()
    norm = float(np.sqrt(row.multiply(row).sum()) * np.linalg.norm(found.theta))
    if not row.nnz or float((row @ found.theta)[0]) >= -found.slack_of(i) - tol * norm:
        return False
    seen.add(key)
    found.add(i, row)
    return True


def _said(ridge: Ridge) -> dict[str, Any]:
    return {"solver": ridge.said.get("solver", ridge.name), "lam": ridge.lam}
