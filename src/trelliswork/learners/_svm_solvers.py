"""Solvers of the dual problem: blocks of samples, and one slack for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged
from trelliswork.learners._progress import Progress
from trelliswork.learners._svm_oracle import Found
from trelliswork.learners._svm_planes import Shard
from trelliswork.learners._svm_weights import LinearWeights, Weights

__all__ = ["Solution", "judge_blocks", "solve_blocks", "solve_one_slack"]

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
    converged, interrupted : bool
        Whether the relative gap fell to ``tol``; whether the user stopped the solver.
    weights : ndarray or None
        Best weights of a linear model.
    support : list
        Sample, output and dual variable of the constraints in use.
    """

    primal: float = np.inf
    dual: float = -np.inf
    n_iter: int = 0
    n_constraints: int = 0
    converged: bool = False
    interrupted: bool = False
    weights: np.ndarray | None = None
    support: list[tuple[int, Any, float]] = field(default_factory=list)

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
    """
    hard = shards[0].form.slack == "none"
    averaged = weights.w.copy() if average and isinstance(weights, LinearWeights) else None
    expected = np.inf  # gap that the last round saw, on weights that moved meanwhile
    for number in range(1, max_iter + 1):
        solution.n_iter = number
        small = expected <= 1.5 * tol * max(abs(solution.dual), 1e-12)
        fixed = small or not eager or hard or number == max_iter
        outer = 0.0
        if fixed:
            views = [averaged if averaged is not None else weights.view(s.number) for s in shards]
            found = [s.oracle.find(v) for s, v in zip(shards, views, strict=True)]
            _judge(shards, weights, found, averaged, solution)
            if solution.gap <= tol:
                solution.converged = True
            else:
                for shard, one in zip(shards, found, strict=True):
                    solution.n_constraints += shard.add(one, weights)
                outer = sum(_sweep(shard, weights, rng) for shard in shards)
        else:
            for i in rng.permutation(len(shards)):
                shard = shards[i]
                solution.n_constraints += shard.add(shard.oracle.find(weights.view(shard.number)), weights)
                outer += _sweep(shard, weights, rng)
        expected = outer
        if not solution.converged:
            _polish(shards, weights, outer * (0.1 if eager else 0.02), rng, 20 if eager else 1000)
            if number % 5 == 0:
                for shard in shards:
                    shard.forget(_IDLE_VISITS)
        solution.dual = max(solution.dual, _dual(shards, weights))
        if averaged is not None:
            averaged += 2.0 / (number + 1.0) * (weights.view(0) - averaged)
        progress.step(
            primal=solution.primal,
            dual=solution.dual,
            gap=solution.gap if fixed else outer / max(abs(solution.dual), 1e-12),
            certified=fixed,
            constraints=solution.n_constraints,
        )
        if hard:
            _check_separable(shards, weights)
        if solution.converged:
            break


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
    found = [shard.oracle.find(weights.view(shard.number)) for shard in shards]
    _judge(shards, weights, found, None, solution)


def _judge(
    shards: list[Shard],
    weights: Weights,
    found: list[Found],
    averaged: np.ndarray | None,
    solution: Solution,
) -> None:
    """Objectives from the most violated outputs at the present (or averaged) weights."""
    norm = weights.squared_norm() if averaged is None else float(averaged @ averaged)
    shrink = 1.0
    if shards[0].form.slack == "none":
        # Hard margins: weights count once they are scaled so that every constraint holds.
        shrink = min((1.0 - float(one.value.max(initial=0.0)) for one in found), default=1.0)
        primal = 0.5 * norm / shrink**2 if shrink > 0 else np.inf
    else:
        primal = 0.5 * norm + sum(s.loss_term(one.value) for s, one in zip(shards, found, strict=True))
    solution.dual = max(solution.dual, _dual(shards, weights))
    if primal < solution.primal:
        solution.primal = primal
        if isinstance(weights, LinearWeights):
            solution.weights = (weights.w if averaged is None else averaged) / shrink


def _check_separable(shards: list[Shard], weights: Weights) -> None:
    """Refuse hard margins where the dual proves that any solution is absurdly long.

    Feasible weights have ``|w*| >= sum(beta h) / |w(beta)|`` for every ``beta``.
    """
    total = sum(shard.dual() for shard in shards)
    longest = max(float(np.sqrt(shard.gram.max(initial=0.0))) for shard in shards)
    empty = any(
        bool(np.any((shard.gram[i, p, p] == 0.0) & (shard.offset[i, p] > 0)))
        for shard in shards
        for i, p in zip(*np.nonzero(np.arange(shard.beta.shape[1]) < shard.count[:, None]), strict=True)
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


def solve_one_slack(
    shards: list[Shard],
    weights: LinearWeights,
    C: float,
    *,
    tol: float,
    max_iter: int,
    progress: Progress,
    solution: Solution,
) -> None:
    """Cutting planes with one slack variable for all samples (L1 slacks).

    Every round adds one constraint, the mean of the most violated ones. The dual has one
    variable per cut and is solved by the same ascent as a block of :func:`solve_blocks`.
    """
    from trelliswork.dp import _planes

    d = weights.w.size
    cuts, heights = np.zeros((0, d)), np.zeros(0)
    beta, gram = np.zeros(0), np.zeros((0, 0))
    idle = np.zeros(0, dtype=np.int64)
    outputs: list[list[Found]] = []
    mass = 0.0
    for number in range(1, max_iter + 1):
        solution.n_iter = number
        found = [s.oracle.find(weights.w) for s in shards]
        _judge_one(shards, weights, found, float(beta @ heights), solution)
        progress.step(
            primal=solution.primal,
            dual=solution.dual,
            gap=solution.gap,
            certified=True,
            constraints=number - 1,
        )
        if solution.gap <= tol:
            solution.converged = True
            break
        cut, height = np.zeros(d), 0.0
        for shard, one in zip(shards, found, strict=True):
            a, h = _mean_cut(shard, one)
            cut += a / C
            height += h / C
        cross = cuts @ cut
        gram = np.block([[gram, cross[:, None]], [cross[None, :], np.array([[cut @ cut]])]])
        cuts, heights = np.vstack([cuts, cut]), np.append(heights, height)
        beta, idle = np.append(beta, 0.0), np.append(idle, 0)
        outputs.append(found)
        solution.n_constraints += 1
        top = heights - cuts @ weights.w
        goal = 0.01 * (solution.primal - solution.dual) / C
        mass = _planes.solve(gram, top, beta, mass, C, 200_000, goal)
        idle = np.where(beta > 0, 0, idle + 1)
        keep = np.flatnonzero(idle < 50)
        if keep.size < idle.size:
            cuts, heights, beta, idle = cuts[keep], heights[keep], beta[keep], idle[keep]
            gram = np.ascontiguousarray(gram[np.ix_(keep, keep)])
            outputs = [outputs[i] for i in keep]
        weights.w[:] = beta @ cuts
    solution.support = _cut_support(shards, outputs, beta, C)


def _judge_one(
    shards: list[Shard], weights: LinearWeights, found: list[Found], height: float, solution: Solution
) -> None:
    norm = weights.squared_norm()
    solution.dual = max(solution.dual, height - 0.5 * norm)
    primal = 0.5 * norm + sum(s.loss_term(one.value) for s, one in zip(shards, found, strict=True))
    if primal < solution.primal:
        solution.primal, solution.weights = primal, weights.w.copy()


def _mean_cut(shard: Shard, found: Found) -> tuple[np.ndarray, float]:
    """Sum of the violated constraints, times the share of each sample."""
    h, s = shard.form.plane(found.loss)
    share = np.where(found.value > 0, shard.shares, 0.0)
    batch = shard.batch
    step = batch.indicators(batch.gold_codes, share * s) - batch.indicators(found.codes, share * s)
    return batch.pull(step), float(share @ h)


def _cut_support(
    shards: list[Shard], outputs: list[list[Found]], beta: np.ndarray, C: float
) -> list[tuple[int, Any, float]]:
    """Dual variables of single outputs: every cut spreads its own over all samples."""
    total: dict[tuple[int, bytes], list[Any]] = {}
    for cut, own in zip(outputs, beta.tolist(), strict=True):
        if own <= 0:
            continue
        for shard, found in zip(shards, cut, strict=True):
            s = shard.form.plane(found.loss)[1]
            for i in np.flatnonzero(found.value > 0):
                codes = found.codes[int(i)]
                entry = total.setdefault(
                    (int(shard.samples[i]), codes.tobytes()), [shard, int(i), codes, 0.0]
                )
                entry[3] += own * shard.shares[i] / C * s[i]
    out = []
    for (sample, _), (shard, i, codes, alpha) in sorted(total.items(), key=lambda item: item[0]):
        [output] = shard.batch.unpack_sample(i, Ragged(codes, [0, codes.size]))
        out.append((sample, output, float(alpha)))
    return out
