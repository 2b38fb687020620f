"""Driver of the compiled dual ascents of structures."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.accelerated import find
from trelliswork.accelerated.ascent import Ascent, DualProblem
from trelliswork.kernels import Kernel
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.svm.solvers import Solution, refuse_inseparable
from trelliswork.losses import Loss
from trelliswork.losses.forms import Form
from trelliswork.structures.abilities import Rows, RowView, require
from trelliswork.structures.base import Batch

__all__ = ["KERNEL_SHARE", "dual_problem", "judge_ascent", "solve_ascent", "start_ascent"]

_SWEEPS = 10  # over active samples, per round
_HARD_SWEEPS, _HARD_ENOUGH = 100, 0.01  # what cannot be separated shows in how far the dual gets
_ACTIVE, _ENOUGH = 1.0, 0.3
_INDEFINITE = 1e-6
KERNEL_SHARE = 0.75  # of the cache goes to kernel matrices


def start_ascent(
    batch: Batch, loss: Loss, form: Form, shares: np.ndarray, cache_mb: float, kernel: Kernel | None = None
) -> tuple[Ascent, RowView | None] | None:
    """Compiled ascent for a problem, if the structure has one; with a kernel also the rows it is about."""
    problem = dual_problem(batch, loss, form, shares)
    if problem is None:
        return None
    view = None if kernel is None else require(batch, Rows).row_view()
    if view is None:
        ascent = find("svm", batch)(batch, problem, cache_mb)
    else:
        ascent = find("kernel svm", view.batch)(view.batch, view, kernel, problem, KERNEL_SHARE * cache_mb)
    return None if ascent is None else (ascent, view)


def dual_problem(batch: Batch, loss: Loss, form: Form, shares: np.ndarray) -> DualProblem | None:
    """The dual in terms of labels or parts, or None where the loss has no such form."""
    height: Any
    scale: Any
    if loss.signed:
        return None
    if batch.one_label:  # any function of the loss of a label is a table
        height, scale = form.plane(loss.label_table(batch.space))
    elif form.rescale == "margin" and form.slack == "l1" and not loss.all_or_nothing:
        costs = loss.part_costs(batch)
        if costs is None or costs[1].any():
            return None
        height, scale = costs[0], None
    else:
        return None
    cap = shares.copy() if form.slack == "l1" else np.where(shares > 0, np.inf, 0.0)
    return DualProblem(height, scale, cap, curvature_of(form, shares))


def curvature_of(form: Form, shares: np.ndarray) -> np.ndarray:
    """Weight of the squared dual mass of each sample: the inverse share for squared slacks."""
    curvature = np.zeros(shares.size)
    if form.slack == "l2":
        curvature[shares > 0] = 1.0 / shares[shares > 0]
    return curvature


def solve_ascent(
    ascent: Ascent,
    form: Form,
    shares: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
    progress: Progress,
    solution: Solution,
) -> None:
    """Sweeps over all samples, each followed by sweeps over those that still move.

    Parameters as in ``solve_blocks``; a round is one sweep that looks for new outputs.
    """
    usable, hard = np.flatnonzero(shares > 0), form.slack == "none"
    for number in range(1, max_iter + 1):
        solution.n_iter = number
        ascent.sweep(rng.permutation(usable), True)
        seen = float(ascent.gap[usable].sum())
        left = seen
        for _ in range(_HARD_SWEEPS if hard else _SWEEPS):
            # Hard margins: samples that contradict each other take turns, so all are visited.
            active = usable if hard else usable[ascent.gap[usable] > _ACTIVE * left / max(usable.size, 1)]
            if not active.size:
                break
            ascent.sweep(rng.permutation(active), False)
            left = float(ascent.gap[active].sum())
            if left <= (_HARD_ENOUGH if hard else _ENOUGH) * seen:
                break
        solution.dual = _dual(ascent, form, shares)
        certified = hard or seen <= 3.0 * tol * abs(solution.dual) or number == max_iter
        if certified:
            judge_ascent(ascent, form, shares, solution)
        solution.n_constraints = ascent.n_constraints
        progress.step(
            primal=solution.primal,
            dual=solution.dual,
            gap=solution.gap if certified else seen / max(abs(solution.dual), 1e-12),
            certified=certified,
            constraints=solution.n_constraints,
        )
        if certified and solution.gap <= tol:
            solution.stop = "converged"
            break


def _not_a_kernel(why: str) -> InputError:
    return InputError(
        f"the kernel is not positive semidefinite ({why}), so there is no optimum to find; take another "
        "kernel, or add a constant to its diagonal"
    )


def _dual(ascent: Ascent, form: Form, shares: np.ndarray) -> float:
    squares = ascent.squared_norm() + float(curvature_of(form, shares) @ ascent.masses() ** 2)
    return ascent.linear_term() - 0.5 * squares


def judge_ascent(ascent: Ascent, form: Form, shares: np.ndarray, solution: Solution) -> None:
    """Exact objectives at the present weights, at the cost of one search."""
    used = shares > 0
    slack = np.maximum(ascent.violations()[used], 0.0)
    squared, shrink = ascent.squared_norm(), 1.0
    if not np.isfinite(squared) or squared < -_INDEFINITE * abs(ascent.linear_term()):
        raise _not_a_kernel(f"|w|^2 = {squared:.3g}")
    if form.slack == "none":
        # Hard margins: weights count once they are scaled so that every constraint holds.
        shrink = 1.0 - float(slack.max(initial=0.0))
        primal = 0.5 * squared / shrink**2 if shrink > 0 else np.inf
        total = np.inf if ascent.contradictory() else ascent.linear_term()
        refuse_inseparable(total, ascent.longest(), float(np.sqrt(max(squared, 0.0))))
    else:
        primal = 0.5 * squared + float(shares[used] @ (slack if form.slack == "l1" else 0.5 * slack**2))
    solution.dual = _dual(ascent, form, shares)
    if solution.dual > primal + _INDEFINITE * max(abs(primal), abs(solution.dual)):
        raise _not_a_kernel(f"the dual objective {solution.dual:.6g} is above the primal {primal:.6g}")
    if primal < solution.primal:
        ascent.keep()
        solution.stretch = 1.0 / shrink
        solution.primal, solution.weights = primal, ascent.weights() / shrink
