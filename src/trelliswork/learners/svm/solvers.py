"""Solver of the dual problem with one block of variables for each sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.optimize.stops import StopReason
from trelliswork.learners.svm.planes import Shard
from trelliswork.learners.svm.weights import LinearWeights, Weights
from trelliswork.losses.oracle import Found

__all__ = ["Solution", "judge_blocks", "refuse_inseparable", "relative_gap", "solve_blocks"]

_IDLE_VISITS = 60  # constraints that were not in use for so long are forgotten
_FULL_EVERY, _SKIP, _FRESH = 5, 0.3, 2  # of the sweeps between rounds, see _polish
_EVER = 1 << 30
_INFEASIBLE = 1e4  # |w| R above this: no separating weights of any use


@dataclass
class Solution:
    """What a solver found.

    Attributes
    ----------
    primal, dual : float
        Objectives; the optimum lies between them.
    n_iter, n_constraints : int
        Rounds, and constraints that were ever added.
    stop : StopReason
        Why the solver stopped.
    weights : ndarray or None
        Best weights: of a linear model, or in the features of a ``RowView``.
    stretch : float
        Factor of the dual variables (hard margins: until every constraint holds).
    support : list
        Sample, output and dual variable of the constraints in use.
    """

    primal: float = np.inf
    dual: float = -np.inf
    n_iter: int = 0
    n_constraints: int = 0
    stop: StopReason = "max_iter"
    weights: np.ndarray | None = None
    stretch: float = 1.0
    support: list[tuple[int, Any, float]] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        """Whether the relative gap fell to ``tol``."""
        return self.stop == "converged"

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.primal, self.dual)


def relative_gap(primal: float, dual: float) -> float:
    """Gap as a share of the primal objective."""
    return (primal - dual) / max(abs(primal), 1e-12) if np.isfinite(primal) else np.inf


def solve_blocks(
    shards: list[Shard],
    weights: Weights,
    *,
    tol: float,
    max_iter: int,
    eager: bool,
    average: bool,
    rng: np.random.RandomState,
    progress: Progress,
    solution: Solution,
    epsilon: float | None = None,
) -> None:
    """Working sets, one block of dual variables per sample.

    Parameters
    ----------
    shards : list of Shard
        The samples.
    weights : Weights
        The solution that the shards share.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Rounds; each asks for the most violated output of every sample once.
    eager : bool
        Block-coordinate Frank-Wolfe: use what a shard has found before the next one is
        asked. Otherwise all answers of a round come from the same weights, and the
        problem over the working set is solved to the end before the next round.
    average : bool
        Return the weighted average of the iterates (linear models).
    rng : RandomState
        Order of visits.
    progress : Progress
        History.
    solution : Solution
        Updated in place, so that an interrupt loses nothing.
    epsilon : float or None
        Stop when no constraint is broken by more, instead of by the gap; then nothing is forgotten.
    """
    hard = shards[0].form.slack == "none"
    exact = all(shard.oracle.exact for shard in shards)
    averaged = weights.w.copy() if average and isinstance(weights, LinearWeights) else None
    expected = np.inf  # gap that the last round saw, on weights that moved meanwhile
    for number in range(1, max_iter + 1):
        solution.n_iter = number
        small = expected <= 1.5 * tol * max(abs(solution.dual), 1e-12)
        fixed = small or not eager or hard or number == max_iter
        outer = 0.0
        if fixed:
            views = [averaged if averaged is not None else weights.view(s.number) for s in shards]
            worst = [s.oracle.find(v) for s, v in zip(shards, views, strict=True)]
            _judge(shards, weights, worst, averaged, solution)
            if epsilon is not None:
                pairs = zip(shards, worst, strict=True)
                worst = [s.broken(outputs, weights, epsilon) for s, outputs in pairs]
                done = not any((outputs.value > 0).any() for outputs in worst)
            else:
                done = solution.gap <= tol
            if done:
                solution.stop = "converged"
            else:
                for shard, outputs in zip(shards, worst, strict=True):
                    solution.n_constraints += shard.add(outputs, weights)
                outer = sum(_sweep(shard, weights, rng) for shard in shards)
        else:
            for i in rng.permutation(len(shards)):
                shard = shards[i]
                solution.n_constraints += shard.add(shard.oracle.find(weights.view(shard.number)), weights)
                outer += _sweep(shard, weights, rng)
        expected = outer
        if not solution.converged:
            goal = outer * (0.1 if eager else 0.02)
            if epsilon is not None:
                goal = min(goal, 0.01 * epsilon * sum(float(shard.shares.sum()) for shard in shards))
            _polish(shards, weights, goal, rng, 20 if eager else 1000)
            if number % 5 == 0 and epsilon is None:
                for shard in shards:
                    shard.forget(_IDLE_VISITS)
        solution.dual = max(solution.dual, _dual(shards, weights))
        if averaged is not None:
            averaged += 2.0 / (number + 1.0) * (weights.view(0) - averaged)
        progress.step(
            primal=solution.primal,
            dual=solution.dual,
            gap=solution.gap if fixed else outer / max(abs(solution.dual), 1e-12),
            certified=fixed and exact,
            constraints=solution.n_constraints,
        )
        if hard:
            _check_separable(shards, weights)
        if solution.converged:
            break
    if not solution.converged and not isinstance(weights, LinearWeights):
        judge_blocks(shards, weights, solution)  # expansions are not kept: the last one is the answer


def _sweep(shard: Shard, weights: Weights, rng: np.random.RandomState) -> float:
    return shard.visit(weights, rng.permutation(shard.count.size))


def _polish(
    shards: list[Shard], weights: Weights, goal: float, rng: np.random.RandomState, max_sweeps: int
) -> None:
    """Ascend over the constraints at hand until their gap is below ``goal``.

    Blocks that were almost solved when last seen are left out of most sweeps, as are
    constraints that went out of use.
    """
    hard = shards[0].form.slack == "none"
    n = sum(shard.count.size for shard in shards)
    left = np.inf
    for number in range(max_sweeps):
        everything = hard or number % _FULL_EVERY == 0
        level = -np.inf if everything else _SKIP * left / n
        left = 0.0
        for i in rng.permutation(len(shards)):
            shard = shards[i]
            order = rng.permutation(np.flatnonzero(shard.gap > level))
            left += shard.visit(weights, order, _EVER if everything else _FRESH)
        if left <= goal and everything:
            break


def _dual(shards: list[Shard], weights: Weights) -> float:
    return sum(shard.dual() for shard in shards) - 0.5 * weights.squared_norm()


def judge_blocks(shards: list[Shard], weights: Weights, solution: Solution) -> None:
    """Exact objectives at the present weights, at the cost of one search."""
    worst = [shard.oracle.find(weights.view(shard.number)) for shard in shards]
    _judge(shards, weights, worst, None, solution)


def _judge(
    shards: list[Shard],
    weights: Weights,
    worst: list[Found],
    averaged: np.ndarray | None,
    solution: Solution,
) -> None:
    """Objectives from the most violated outputs at the present (or averaged) weights."""
    norm = weights.squared_norm() if averaged is None else float(averaged @ averaged)
    shrink = 1.0
    if shards[0].form.slack == "none":
        # Hard margins: weights count once they are scaled so that every constraint holds.
        used = [outputs.value[shard.shares > 0] for shard, outputs in zip(shards, worst, strict=True)]
        shrink = min((1.0 - float(value.max(initial=0.0)) for value in used), default=1.0)
        primal = 0.5 * norm / shrink**2 if shrink > 0 else np.inf
    else:
        slacks = sum(s.loss_term(outputs.value) for s, outputs in zip(shards, worst, strict=True))
        primal = 0.5 * norm + slacks
    solution.dual = max(solution.dual, _dual(shards, weights))
    if not isinstance(weights, LinearWeights):
        solution.primal = primal
        solution.stretch = 1.0 / shrink if shrink > 0 else 1.0
    elif primal < solution.primal:
        solution.primal = primal
        solution.weights = (weights.w if averaged is None else averaged) / shrink
        solution.stretch = 1.0 / shrink


def _check_separable(shards: list[Shard], weights: Weights) -> None:
    """Refuse hard margins where the dual proves that any solution is absurdly long.

    Feasible weights have ``|w*| >= sum(beta h) / |w(beta)|`` for every ``beta``.
    """
    total = sum(shard.dual() for shard in shards)
    longest = max(float(np.sqrt(shard.gram.max(initial=0.0))) for shard in shards)
    empty = any(
        bool(np.any(shard.in_use & (np.einsum("ipp->ip", shard.gram) == 0.0) & (shard.offset > 0)))
        for shard in shards
    )
    norm = float(np.sqrt(max(weights.squared_norm(), 0.0)))
    refuse_inseparable(np.inf if empty else total, longest, norm)


def refuse_inseparable(total: float, longest: float, norm: float) -> None:
    """Raise if ``sum(beta h) / |w|`` is too large, in units of the longest plane."""
    if total > 0 and total * longest > _INFEASIBLE * norm:
        raise InputError(
            "the training data cannot be separated with a hard margin (slack='none'); use slack='l1' or "
            "slack='l2', or more features"
        )
