"""Cutting planes: one slack variable for all samples together."""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

import numpy as np

from trelliswork._ragged import Ragged
from trelliswork.learners.asking import summed
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.svm.solvers import Solution
from trelliswork.learners.svm.weights import LinearWeights
from trelliswork.losses import Loss
from trelliswork.losses.forms import Form
from trelliswork.losses.oracle import Found, Oracle
from trelliswork.shards.recipes import joined_rows
from trelliswork.structures.base import Batch

__all__ = ["Violated", "Violations", "most_violated", "solve_one_slack"]

_IDLE_CUTS, _FEWEST_CUTS = 50, 20  # rounds without use after which cuts are forgotten; least number kept


class Violated(NamedTuple):
    """The most violated outputs of samples as one constraint.

    Attributes
    ----------
    cut : ndarray of shape (n_features,)
        Features of true outputs less those of the most violated ones, times the shares of their samples.
    height : float
        What their product with the weights should reach.
    slack : float
        Price of the slacks.
    exact : bool
        Whether the outputs are certain to be the most violated ones.
    outputs : Found or None
        The outputs; None where they stay with blocks of samples.
    """

    cut: np.ndarray
    height: float
    slack: float
    exact: bool
    outputs: Found | None


class Violations:
    """Finds the most violated outputs of all samples, wherever these are.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    loss, form, approx
        As in ``Oracle``.
    shares : ndarray
        Share of each sample in the price of slacks.
    keep : bool
        Whether the outputs are wanted, for a support set.
    """

    def __init__(
        self, batch: Batch, loss: Loss, form: Form, approx: bool, shares: np.ndarray, keep: bool = True
    ):
        self.batch, self.form, self.shares = batch, form, shares
        self._problem = f"most violated outputs {uuid.uuid4().hex}", loss, form, approx, keep

    def find(self, w: np.ndarray) -> Violated:
        """The most violated outputs under the weights ``w``."""
        cut, height, slack, inexact, outputs = summed(
            self.batch, most_violated, *self._problem, w, weights=self.shares
        )
        return Violated(cut, height, slack, not inexact, None if outputs is None else outputs.joined())


class _Outputs:
    """Outputs that leaves of a sum found, which follow one another."""

    def __init__(self, found: list[Found]):
        self.found = found

    def __add__(self, other: _Outputs) -> _Outputs:
        return _Outputs(self.found + other.found)

    def joined(self) -> Found:
        """Those of all samples."""
        return joined_rows(self.found)


def most_violated(
    batch: Batch,
    key: str,
    loss: Loss,
    form: Form,
    approx: bool,
    keep: bool,
    w: np.ndarray,
    weights: np.ndarray,
) -> tuple[np.ndarray, float, float, int, _Outputs | None]:
    """Sums of some samples, and the outputs if they are to be kept; the oracle of a batch is made once."""
    oracle = batch.remembered(key, lambda: Oracle(batch, loss, form, approx=approx))
    worst = oracle.find(w)
    h, s = form.plane(worst.loss)
    share = np.where(worst.value > 0, weights, 0.0)
    step = batch.indicators(batch.gold_codes, share * s) - batch.indicators(worst.codes, share * s)
    slack = float(weights @ np.maximum(worst.value, 0.0))
    return (
        batch.pull(step),
        float(share @ h),
        slack,
        int(not oracle.exact),
        _Outputs([worst]) if keep else None,
    )


def solve_one_slack(
    violations: Violations,
    weights: LinearWeights,
    C: float,
    *,
    cache_mb: float,
    tol: float,
    max_iter: int,
    progress: Progress,
    solution: Solution,
) -> None:
    """Cutting planes with one slack variable for all samples (L1 slacks).

    Every round adds one constraint, the mean of the most violated ones. The dual has one
    variable per cut and is solved by the same ascent as a block of ``solve_blocks``.
    """
    cuts = _Cuts(weights.w.size, cache_mb)
    try:
        for number in range(1, max_iter + 1):
            solution.n_iter = number
            worst = violations.find(weights.w)
            _judge(weights, worst, float(cuts.beta @ cuts.heights), solution)
            progress.step(
                primal=solution.primal,
                dual=solution.dual,
                gap=solution.gap,
                certified=worst.exact,
                constraints=number - 1,
            )
            if solution.gap <= tol:
                solution.stop = "converged"
                break
            cuts.add(worst.cut / C, worst.height / C, worst.outputs)
            solution.n_constraints += 1
            cuts.solve(C, 0.01 * (solution.primal - solution.dual) / C)
            weights.w[:] = cuts.beta @ cuts.rows
    finally:
        solution.support = _support(violations, cuts, C)


class _Cuts:
    """Constraints of the one-slack problem; memory is bounded, the least useful are forgotten."""

    def __init__(self, n_features: int, cache_mb: float):
        self.rows, self.heights = np.zeros((0, n_features)), np.zeros(0)
        self.beta, self.gram = np.zeros(0), np.zeros((0, 0))
        self.idle = np.zeros(0, dtype=np.int64)
        self.outputs: list[Found | None] = []
        self.mass, self._bytes = 0.0, cache_mb * 2**20

    def add(self, cut: np.ndarray, height: float, worst: Found | None) -> None:
        """Take up one more cut, the mean of the constraints of the most violated outputs."""
        # Twice: the tables are copied when they grow.
        kept = 0 if worst is None else worst.codes.values.size + 3 * worst.loss.size
        size = 8 * (2 * cut.size + kept)
        room = max(int(self._bytes / size), _FEWEST_CUTS)
        if self.beta.size >= room:
            order = np.lexsort((-self.idle, self.beta))  # idle ones first, then the smallest
            self._keep(np.sort(order[self.beta.size - room + 1 :]))
        cross = self.rows @ cut
        self.gram = np.block([[self.gram, cross[:, None]], [cross[None, :], np.array([[cut @ cut]])]])
        self.rows, self.heights = np.vstack([self.rows, cut]), np.append(self.heights, height)
        self.beta, self.idle = np.append(self.beta, 0.0), np.append(self.idle, 0)
        self.outputs.append(worst)

    def solve(self, C: float, goal: float) -> None:
        """Dual variables of all cuts."""
        from trelliswork.dp.solvers import planes

        top = self.heights - self.gram @ self.beta
        self.mass = planes.solve(self.gram, top, self.beta, self.mass, C, 200_000, goal)
        self.idle = np.where(self.beta > 0, 0, self.idle + 1)
        self._keep(np.flatnonzero(self.idle < _IDLE_CUTS))

    def _keep(self, index: np.ndarray) -> None:
        if index.size == self.beta.size:
            return
        self.rows, self.heights, self.idle = self.rows[index], self.heights[index], self.idle[index]
        self.beta = self.beta[index]
        self.mass = float(self.beta.sum())
        self.gram = np.ascontiguousarray(self.gram[np.ix_(index, index)])
        self.outputs = [self.outputs[i] for i in index]


def _judge(weights: LinearWeights, worst: Violated, height: float, solution: Solution) -> None:
    norm = weights.squared_norm()
    solution.dual = max(solution.dual, height - 0.5 * norm)
    primal = 0.5 * norm + worst.slack
    if primal < solution.primal:
        solution.primal, solution.weights = primal, weights.w.copy()


def _support(violations: Violations, cuts: _Cuts, C: float) -> list[tuple[int, Any, float]]:
    """Dual variables of single outputs: every cut spreads its own over all samples."""
    total: dict[tuple[int, bytes], list[Any]] = {}
    for worst, beta in zip(cuts.outputs, cuts.beta.tolist(), strict=True):
        if beta <= 0 or worst is None:
            continue
        s = violations.form.plane(worst.loss)[1]
        for i in np.flatnonzero(worst.value > 0):
            codes = worst.codes[int(i)]
            entry = total.setdefault((int(i), codes.tobytes()), [codes, 0.0])
            entry[1] += beta * violations.shares[i] / C * s[i]
    if not total:
        return []
    order = sorted(total)
    samples, found = [sample for sample, _ in order], [total[place] for place in order]
    codes = Ragged.from_list([codes for codes, _ in found])
    outputs = violations.batch.subset(samples).unpack(codes)
    return [
        (sample, output, float(alpha))
        for sample, output, (_, alpha) in zip(samples, outputs, found, strict=True)
    ]
