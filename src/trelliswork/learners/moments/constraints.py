"""Quadratic programs over moments with constraints from wrong outputs (Algorithm 3 of [1]_).

``min theta' H theta / 2`` so that ``theta . b >= 1`` and no wrong output beats the given one.
Constraints are found by decoding, one at a time; the dual is small and is solved by
coordinate ascent.

A reference model adds its own scores to those of theta, so that the length of theta matters and
``theta . b >= 1`` would be arbitrary. Then the program is ``min theta' H theta / 2 - theta . b``, whose
solution without constraints is that of the plain learner, and the constraints are on the sums of scores.

References
----------
.. [1] Ricci, De Bie, Cristianini (2008), Magic moments for structured output prediction, JMLR 9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.learners.base import warn_interrupted
from trelliswork.learners.contrast import contrast
from trelliswork.learners.moments.reference import reference_scores
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.optimize.ridge import Ridge
from trelliswork.learners.optimize.stops import StopReason
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
    added : bool, default=False
        Whether scores of a reference are added to those of theta.
    """

    def __init__(
        self, ridge: Ridge, b: np.ndarray, slack: str | None, penalties: np.ndarray, added: bool = False
    ):
        self.ridge, self.slack, self.penalties, self.added = ridge, slack, penalties, added
        self.rows: list[sp.csr_matrix] = []
        self.owners: list[int] = []
        self.leads: list[float] = []
        self.b = b
        self.solutions = [ridge.solve(b)]
        self.gram = np.array([[float(b @ self.solutions[0])]])
        self.alpha = np.array([1.0 if added else 1.0 / self.gram[0, 0]])
        self.theta = self.solutions[0] * self.alpha[0]

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, sample: int, row: sp.csr_matrix, lead: float = 0.0) -> None:
        """Demand ``theta . row + lead >= 0`` for an output of ``sample`` and solve again.

        ``lead`` is how far the given output is ahead in the scores of the reference, less the margin.
        """
        solution = self.ridge.solve(row.toarray().ravel())
        self.rows.append(row)
        self.owners.append(sample)
        self.leads.append(lead)
        self.solutions.append(solution)
        column = np.array([float(self.b @ solution), *(_times(r, solution) for r in self.rows)])
        n = column.size
        gram = np.empty((n, n))
        gram[:-1, :-1] = self.gram
        gram[:, -1] = gram[-1, :] = column
        self.gram = gram
        self.alpha = np.append(self.alpha, 0.0)
        self._solve()

    def _solve(self) -> None:
        owner = np.array(self.owners)
        gram = self.gram.copy()
        if self.slack == "quadratic":
            gram[1:, 1:] += (owner[:, None] == owner) / self.penalties[owner]
        if self.added or self.slack == "linear" or any(self.leads):
            self.alpha = self._climbed(gram, owner)
        else:
            self.alpha = self._homogeneous(gram)
        self.theta = np.zeros_like(self.b)
        for a, solution in zip(self.alpha, self.solutions, strict=True):
            if a:
                self.theta += a * solution

    def _homogeneous(self, gram: np.ndarray) -> np.ndarray:
        # The dual is homogeneous but for its linear term: with alpha = t (1, beta) it is enough to
        # minimise q(beta) = (1, beta)' J (1, beta), and t = 1 / q. No weights satisfy the constraints
        # exactly when q can be made zero.
        beta = _least_squares(gram[1:, 1:], -gram[1:, 0])
        if beta is None:
            beta = self._descended(gram)
        whole = np.append(1.0, beta)
        q = float(whole @ gram @ whole)
        if q <= 1e-8 * gram[0, 0]:
            raise self._infeasible()
        return whole / q

    def _descended(self, gram: np.ndarray) -> np.ndarray:
        from trelliswork.dp.solvers import dual

        beta = self.alpha[1:] / self.alpha[0]
        free, rest = np.full(beta.size, -1), np.ascontiguousarray(gram[1:, 1:])
        tol = 1e-10 * np.sqrt(gram[0, 0])
        dual.coordinate_ascent(rest, -gram[1:, 0], free, np.zeros(0), beta, tol, _SWEEPS)
        return beta

    def _climbed(self, gram: np.ndarray, owner: np.ndarray) -> np.ndarray:
        from trelliswork.dp.solvers import dual

        # In units of gram[0, 0], of which the first entry of alpha is the inverse or 1.
        unit = 1.0 if self.added else gram[0, 0]
        heights = unit * np.append(1.0, -np.array(self.leads))
        alpha, first = self.alpha * unit, 0
        group, cap = np.full(alpha.size, -1), np.zeros(0)
        if self.slack == "linear":
            groups, which = np.unique(owner, return_inverse=True)
            group, cap = np.append(-1, which), self.penalties[groups] * unit
        if self.added:  # the first entry stays at 1
            heights -= gram[:, 0]
            first = 1
        rest, free = np.ascontiguousarray(gram[first:, first:]), alpha[first:].copy()
        size = np.sqrt(gram[0, 0]) + float(np.abs(self.leads).max()) * unit
        exact = None if self.slack == "linear" else _least_squares(rest, heights[first:])
        if exact is None:
            dual.coordinate_ascent(rest, heights[first:], group[first:], cap, free, 1e-12 * size, _SWEEPS)
        else:
            free = exact
        # Without a solution the dual has no maximum: what is broken stays so, however long it climbs.
        broken = float((heights[first:] - rest @ free).max())
        if self.slack is None and broken > 1e-4 * (np.abs(heights[first:]).max() + size):
            raise self._infeasible()
        return np.append(alpha[:first], free) / unit

    def _infeasible(self) -> InputError:
        return InputError(
            f"no weights satisfy the {len(self)} hard constraints found so far (the data are not "
            "separable with these features); use constraints='slack'"
        )

    def slack_of(self, sample: int) -> float:
        """By how much the constraints of a sample may be broken, and are."""
        constraints = [j for j, owner in enumerate(self.owners) if owner == sample]
        if self.slack is None or not constraints:
            return 0.0
        if self.slack == "quadratic":
            return float(sum(self.alpha[j + 1] for j in constraints) / self.penalties[sample])
        return max(0.0, *(-_times(self.rows[j], self.theta) - self.leads[j] for j in constraints))


def _least_squares(gram: np.ndarray, linear: np.ndarray) -> np.ndarray | None:
    """Maximum of ``linear . alpha - alpha' gram alpha / 2`` over alpha >= 0; None where gram is singular."""
    import scipy.linalg as la  # slow to import
    from scipy.optimize import nnls  # slow to import

    try:
        root = la.cholesky(gram, lower=True)
        if root.diagonal().min() ** 2 <= 1e-10 * gram.diagonal().max():
            return None
        target = la.solve_triangular(root, linear, lower=True)
        return nnls(root.T, target, maxiter=50 * linear.size)[0]
    except (la.LinAlgError, RuntimeError):  # not definite; or cycles, which rounding can cause
        return None


def fit_constrained(
    batch: Batch,
    ridge: Ridge,
    b: np.ndarray,
    *,
    slack: str | None,
    penalty: float,
    weights: np.ndarray | None,
    margin: float = 0.0,
    epsilon: float = 0.0,
    reference: np.ndarray | None = None,
    tol: float = 1e-6,
    progress: Progress,
) -> tuple[WorkingSet, StopReason]:
    """Add constraints, sample by sample, until a pass finds none that is broken; and why it stopped.

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
    margin : float
        By how much the given output must be ahead, per wrong part.
    epsilon : float
        By how much another output may be ahead after all.
    reference : ndarray or None
        Weights of a reference model whose scores are added.
    tol : float
        A constraint counts as broken by more than ``tol`` times the norms of both sides.
    progress : Progress
        Gets one record per pass.
    """
    sample_weights = np.ones(len(batch)) if weights is None else weights
    working_set = WorkingSet(ridge, b, slack, penalty * sample_weights, added=reference is not None)
    samples = {int(i): batch.subset(np.array([i])) for i in np.flatnonzero(sample_weights > 0)}
    seen: set[tuple[int, bytes]] = set()
    stop: StopReason = "max_iter"
    try:
        for _ in range(_MAX_PASSES):
            added = 0
            for i, sample in samples.items():
                added += _visit(working_set, i, sample, (margin, epsilon), reference, seen, tol)
            progress.step(**_said(ridge), added=added, n_constraints=len(working_set))
            if not added:
                stop = "converged"
                break
    except KeyboardInterrupt:
        stop = "interrupted"
        warn_interrupted(f"{len(working_set)} constraints")
    return working_set, stop


def _visit(
    working_set: WorkingSet,
    i: int,
    sample: Batch,
    ahead_by: tuple[float, float],
    reference: np.ndarray | None,
    seen: set[tuple[int, bytes]],
    tol: float,
) -> bool:
    margin, epsilon = ahead_by
    scores = sample.scores(working_set.theta)
    fixed = None if reference is None else reference_scores(sample, reference)
    costs, constant = sample.mismatch() if margin else (None, 0.0)
    ahead = None if costs is None else costs * margin
    codes = sample.argmax(scores if fixed is None else scores + fixed, ahead).codes
    key = (i, codes.values.tobytes())
    if key in seen:
        return False
    row = contrast(sample, codes, np.zeros(1, dtype=np.int64))
    row.sum_duplicates()
    row.eliminate_zeros()
    lead = epsilon
    if fixed is not None:
        lead += float((sample.evaluate(sample.gold_codes, fixed) - sample.evaluate(codes, fixed))[0])
    if costs is not None:
        lead -= margin * float((sample.dot_each(sample.indicators(codes, each=True), costs) + constant)[0])
    norm = float(np.linalg.norm(row.data) * np.linalg.norm(working_set.theta)) + abs(lead)
    if not row.nnz or _times(row, working_set.theta) + lead >= -working_set.slack_of(i) - tol * norm:
        return False
    seen.add(key)
    working_set.add(i, row, lead)
    return True


def _times(row: sp.csr_matrix, v: np.ndarray) -> float:
    return float(row.data @ v[row.indices])  # a matrix product has far more to set up


def _said(ridge: Ridge) -> dict[str, Any]:
    return {"solver": ridge.said.get("solver", ridge.name), "lam": ridge.lam}
