"""Boosting by the worst output: a bundle method with a certified gap."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from trelliswork.dp.solvers.exponentials import ascend
from trelliswork.learners.base import warn_interrupted
from trelliswork.learners.contrast import contrast
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.optimize.smooth import Minimum
from trelliswork.learners.optimize.stops import StopReason
from trelliswork.learners.voted.problem import Problem
from trelliswork.losses.forms import LogForm
from trelliswork.losses.oracle import Found, Oracle

__all__ = ["minimise_maxima"]

_SERIOUS = 0.05  # part of the promised decrease that moves the centre
_KEPT = 30  # rounds that a plane without weight is kept
_SWEEPS, _MAX_BURSTS = 20, 100  # of the dual ascent, between two looks at its gap
_LONGEST = 60.0  # logs of the objective beyond which a point is not worth a plane


def minimise_maxima(
    problem: Problem, start: np.ndarray, *, max_iter: int, tol: float, progress: Progress | None
) -> tuple[Minimum, float]:
    """Minimise the mean of ``max_y L(y) exp(-margin(y))`` plus the voted penalty.

    Every round adds the worst output of each sample to a model of the objective, which is the same sum of
    maxima over the outputs added so far. The next point minimises the model plus a quadratic distance to the
    best point; this is done in the dual, which also bounds the minimum from below.

    Parameters
    ----------
    problem : Problem
        Data and penalty.
    start : ndarray
        First weights; zero is used where it is better.
    max_iter, tol
        Rounds; relative gap at which to stop.
    progress : Progress or None
        Gets one record per round.

    Returns
    -------
    minimum : Minimum
        The best point.
    gap : float
        Objective less a lower bound of the minimum, relative to the objective.
    """
    bundle = _Bundle(problem)
    centre, reached, lower = np.zeros_like(start), bundle.visit(np.zeros_like(start)), 0.0
    if start.any():
        at_start = bundle.visit(start)
        if at_start < reached:
            centre, reached = start, at_start
    rho = bundle.first_stiffness(reached)
    stop: StopReason = "max_iter"
    n, n_null = 0, 0
    try:
        while n < max_iter:
            n += 1
            model, w = bundle.solve(centre, rho, reached, tol)
            lower = max(lower, bundle.lower_bound())
            value = bundle.visit(w)
            if reached - value >= _SERIOUS * (reached - model):
                # A model that was trusted and right may be trusted farther.
                rho *= 0.5
                centre, reached, n_null = w, value, 0
            else:
                n_null += 1
                rho *= 1.5 if n_null % 10 == 0 else 1.0
            gap = max(reached - lower, 0.0) / reached
            if progress is not None:
                used = problem.families.sizes(centre != 0)
                progress.step(
                    objective=reached,
                    gap=gap,
                    nonzero=int(used.sum()),
                    families=used.tolist(),
                    planes=len(bundle),
                )
            if gap <= tol:
                stop = "converged"
                break
    except KeyboardInterrupt:
        warn_interrupted(f"StructBoost after {n} rounds")
        stop = "interrupted"
    gap = max(reached - lower, 0.0) / reached
    message = f"relative gap {gap:.2g} after {n} rounds, {len(bundle)} planes"
    return Minimum(centre, reached, n, bundle.n_visits, stop, message), gap


class _Bundle:
    """The outputs found so far, as exponentials of linear functions of the weights."""

    def __init__(self, problem: Problem):
        assert problem.loss is not None
        self.problem, self.oracle = problem, Oracle(problem.batch, problem.loss, LogForm())
        with np.errstate(divide="ignore"):
            self.log_share = np.log(problem.share)
        d = problem.l1.size
        self.rows, self.owner = sp.csr_matrix((0, d)), np.empty(0, dtype=np.int64)
        self.log_factor, self.alpha = np.empty(0), np.empty(0)
        self.idle = np.empty(0, dtype=np.int64)
        self.n_visits = 0

    def __len__(self) -> int:
        return self.owner.size

    def visit(self, w: np.ndarray) -> float:
        """Objective at ``w``; adds the outputs that the model did not know to be that bad."""
        self.n_visits += 1
        worst = self.oracle.find(w)
        logs = worst.value + self.log_share
        known = self._known(w)
        new = np.flatnonzero((logs > known + 1e-10) & np.isfinite(logs) & (logs < _LONGEST))
        if new.size:
            self._add(worst, new)
        if logs.max(initial=-np.inf) > _LONGEST:
            return np.inf
        return float(np.exp(logs).sum()) + self._penalty(w)

    def _known(self, w: np.ndarray) -> np.ndarray:
        """Log of every sample's maximum over the outputs of the model."""
        known = np.full(len(self.problem.batch), -np.inf)
        np.maximum.at(known, self.owner, self.log_factor - self.rows @ w)
        return known

    def _penalty(self, w: np.ndarray) -> float:
        return self.problem.penalty(w) + self.problem.l2 * float(w @ w)

    def _add(self, worst: Found, samples: np.ndarray) -> None:
        rows = contrast(self.problem.batch, worst.codes, samples)
        rows.sum_duplicates()
        self.rows = sp.vstack([self.rows, rows], format="csr")
        self.owner = np.concatenate([self.owner, samples])
        factors = np.log(worst.loss[samples]) + self.log_share[samples]
        self.log_factor = np.concatenate([self.log_factor, factors])
        self.alpha = np.concatenate([self.alpha, np.zeros(samples.size)])
        self.idle = np.concatenate([self.idle, np.zeros(samples.size, dtype=np.int64)])

    def first_stiffness(self, level: float) -> float:
        """Curvature of the objective, roughly: its level times the mean squared length of a plane."""
        return 0.1 * level * float(self.rows.multiply(self.rows).sum() / max(len(self), 1)) + 1e-12

    def solve(self, centre: np.ndarray, rho: float, reached: float, tol: float) -> tuple[float, np.ndarray]:
        """Value of the model, without the distance, and weights near its minimum with the distance.

        Sweeps until the gap of this problem is a small part of the decrease that it promises.
        """
        self._forget()
        l1, stiff = self.problem.l1, rho + 2.0 * self.problem.l2
        rows = self.rows
        planes = (
            self.owner,
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int64),
            np.ascontiguousarray(rows.data, dtype=np.float64),
            self.log_factor,
        )
        for _ in range(_MAX_BURSTS):
            total = np.bincount(self.owner, self.alpha, len(self.problem.batch))
            pull = rho * centre + rows.T @ self.alpha
            ascend(*planes, self.alpha, total, pull, l1, stiff, 1e-12, _SWEEPS)
            pull = rho * centre + rows.T @ self.alpha
            w = np.sign(pull) * np.maximum(np.abs(pull) - l1, 0.0) / stiff
            known = self._known(w)
            model = float(np.exp(known[np.isfinite(known)]).sum()) + self._penalty(w)
            distance = 0.5 * rho * float((w - centre) @ (w - centre))
            # The dual: what the penalties and the distance leave of the pull, and the exponentials.
            dual = self._entropy(self.alpha) + 0.5 * rho * float(centre @ centre) - 0.5 * stiff * float(w @ w)
            if model + distance - dual <= 0.1 * max(reached - model, tol * reached):
                break
        return model, w

    def _entropy(self, alpha: np.ndarray) -> float:
        total = np.bincount(self.owner, alpha, len(self.problem.batch))
        total = total[total > 0]
        return float(total.sum() - total @ np.log(total) + alpha @ self.log_factor)

    def lower_bound(self) -> float:
        """Value of the dual at the multiple of alpha that the penalties allow."""
        l1, l2 = self.problem.l1, self.problem.l2
        pull = self.rows.T @ self.alpha
        excess = np.abs(pull) > l1
        scale = 1.0
        if l2 == 0.0 and excess.any():
            scale = float(np.min(l1[excess] / np.abs(pull[excess])))
        over = np.maximum(scale * np.abs(pull) - l1, 0.0) if l2 else np.zeros(0)
        return self._entropy(scale * self.alpha) - (float(over @ over) / (4.0 * l2) if l2 else 0.0)

    def _forget(self) -> None:
        self.idle = np.where(self.alpha > 0, 0, self.idle + 1)
        keep = self.idle <= _KEPT
        if keep.sum() < 0.8 * len(self):
            self.rows, self.owner = self.rows[keep], self.owner[keep]
            self.log_factor, self.alpha, self.idle = self.log_factor[keep], self.alpha[keep], self.idle[keep]
