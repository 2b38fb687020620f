"""Fit of a structural support vector machine to a packed batch: the solver that suits the problem."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from trelliswork._errors import FitWarning, InputError, convergence_warning
from trelliswork._validate import random_numbers
from trelliswork.accelerated.ascent import Ascent
from trelliswork.learners.advice import WIDE_GAP
from trelliswork.learners.base import warn_interrupted
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.svm.ascent import KERNEL_SHARE, judge_ascent, solve_ascent, start_ascent
from trelliswork.learners.svm.one_slack import Violations, solve_one_slack
from trelliswork.learners.svm.planes import Shard
from trelliswork.learners.svm.solvers import Solution, judge_blocks, solve_blocks
from trelliswork.learners.svm.start import Start, as_start
from trelliswork.learners.svm.weights import Expansion, KernelWeights, LinearWeights
from trelliswork.losses import Loss
from trelliswork.losses.forms import Form
from trelliswork.structures.abilities import Rows, RowView, require
from trelliswork.structures.base import Batch

__all__ = ["fit_svm", "tell_no_optimum"]

_MAX_SHARDS = 8


def fit_svm(
    batch: Batch,
    C: float,
    loss: Loss,
    form: Form,
    *,
    weights: np.ndarray | None = None,
    solver: str = "auto",
    kernel: Any = None,
    tol: float = 1e-3,
    epsilon: float | None = None,
    max_iter: int = 1000,
    average: bool = False,
    approx: bool = False,
    cache_mb: float = 1000.0,
    random_state: Any = 0,
    warm: tuple[Any, list[tuple[int, Any, float]]] | None = None,
    progress: Progress | None = None,
    keep_outputs: bool = True,
    samples_per_shard: int = 64,
    rows_per_shard: int = 1000,
) -> tuple[Solution, np.ndarray | Expansion]:
    """Solve the problem of :class:`~trelliswork.StructuredSVM` for a packed batch.

    Parameters
    ----------
    batch : Batch
        Samples with their outputs.
    C, loss, form
        As in :class:`~trelliswork.StructuredSVM`, checked.
    weights : ndarray or None
        Weight of each sample.
    solver, kernel, tol, epsilon, max_iter, average, approx, cache_mb, random_state
        As in :class:`~trelliswork.StructuredSVM`, checked.
    warm : tuple or None
        Inputs and support set of an earlier solution, to start from.
    progress : Progress or None
        Gets one record per round.
    keep_outputs : bool
        Whether the support set is wanted where samples are in blocks.
    samples_per_shard, rows_per_shard : int
        Size of the parts of the data that are solved in turn: samples of a linear model, rows of a
        kernel model whose kernel matrix does not fit into memory.

    Returns
    -------
    solution : Solution
        Objectives, support set, why the solver stopped.
    model : ndarray or Expansion
        Weight vector, or kernel expansion.
    """
    loss.check(batch.space)
    progress = Progress("StructuredSVM", max_iter, 0) if progress is None else progress
    share = np.ones(len(batch)) if weights is None else weights
    shares = C * share / share.sum()
    rng = random_numbers(random_state)
    solution = Solution()
    if batch.in_blocks:
        solver = "one-slack"  # all others keep what they found of every sample
    start = None if warm is None else as_start(warm[0], batch, warm[1], loss, form, shares)
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "progress": progress, "solution": solution}
    direct = not average and epsilon is None and solver in ("auto", "bcfw")
    compiled = start_ascent(batch, loss, form, shares, cache_mb, kernel) if direct else None
    model: np.ndarray | Expansion
    if compiled is not None:
        model = _fit_ascent(*compiled, form, shares, start, rng, options)
    elif solver == "one-slack":
        violations = Violations(batch, loss, form, approx, shares, keep_outputs)
        model = _fit_one_slack(violations, C, cache_mb, options)
    else:
        if kernel is not None:
            n_shards = _kernel_shards(batch, KERNEL_SHARE * cache_mb, rows_per_shard)
        else:
            n_shards = max(1, min(_MAX_SHARDS, len(batch) // samples_per_shard))
        samples = [np.sort(part) for part in np.array_split(rng.permutation(len(batch)), n_shards)]
        batches, shared, cache_mb = _shared_weights(batch, samples, kernel, cache_mb)
        shards = [
            Shard(number, part, part_batch, loss, form, approx, shares[part], cache_mb / n_shards)
            for number, (part, part_batch) in enumerate(zip(samples, batches, strict=True))
        ]
        if start is not None:
            for shard in shards:
                shard.start_from(start.part(shard.samples), shared)
        eager = solver != "working-set" and epsilon is None
        options |= {"eager": eager, "average": average, "rng": rng, "epsilon": epsilon}
        model = _fit_blocks(shards, shared, options)
    if solution.stretch != 1.0:
        solution.support = [(i, output, alpha * solution.stretch) for i, output, alpha in solution.support]
    if solution.stop == "interrupted":
        warn_interrupted(f"StructuredSVM after {solution.n_iter} rounds")
    elif not solution.converged and form.slack == "none" and not np.isfinite(solution.primal):
        raise InputError(
            f"no separating weights after max_iter={max_iter} rounds; use slack='l1' or slack='l2', or "
            "raise max_iter"
        )
    return solution, model


def _fit_ascent(
    ascent: Ascent,
    view: RowView | None,
    form: Form,
    shares: np.ndarray,
    start: Start | None,
    rng: np.random.RandomState,
    options: dict[str, Any],
) -> np.ndarray | Expansion:
    """Run the compiled ascent of a structure."""
    solution: Solution = options["solution"]
    if start is not None:
        ascent.start_from(start)
    try:
        solve_ascent(ascent, form, shares, rng=rng, **options)
    except KeyboardInterrupt:
        solution.stop = "interrupted"
        judge_ascent(ascent, form, shares, solution)
    w = ascent.weights() if solution.weights is None else solution.weights
    solution.support = ascent.support()
    return w if view is None else Expansion.of(view, w)


def _fit_one_slack(violations: Violations, C: float, cache_mb: float, options: dict[str, Any]) -> np.ndarray:
    """Add cutting planes; the solver fills in the support set itself."""
    solution: Solution = options["solution"]
    weights = LinearWeights(violations.batch.space.n_features)
    try:
        solve_one_slack(violations, weights, C, cache_mb=cache_mb, **options)
    except KeyboardInterrupt:
        solution.stop = "interrupted"
    return weights.w if solution.weights is None else solution.weights


def _fit_blocks(
    shards: list[Shard], weights: LinearWeights | KernelWeights, options: dict[str, Any]
) -> np.ndarray | Expansion:
    """Solve the blocks of single samples in turn."""
    solution: Solution = options["solution"]
    try:
        solve_blocks(shards, weights, **options)
    except KeyboardInterrupt:
        solution.stop = "interrupted"
        judge_blocks(shards, weights, solution)
    support = (entry for shard in shards for entry in shard.support())
    solution.support = sorted(support, key=lambda entry: entry[0])
    if isinstance(weights, KernelWeights):
        weights.stretch(solution.stretch)
        return weights.expansion()
    return weights.w if solution.weights is None else solution.weights


def _shared_weights(
    batch: Batch, samples: list[np.ndarray], kernel: Any, cache_mb: float
) -> tuple[list[Batch], LinearWeights | KernelWeights, float]:
    """Batches of the shards, the solution that they share, and the memory left for constraints."""
    batches = [batch.subset(part) for part in samples]
    if kernel is None:
        return batches, LinearWeights(batch.space.n_features), cache_mb
    views = [require(part, Rows).row_view() for part in batches]
    weights = KernelWeights(views, samples, kernel, KERNEL_SHARE * cache_mb)
    return [view.batch for view in views], weights, cache_mb * (1.0 - KERNEL_SHARE)


def _kernel_shards(batch: Batch, cache_mb: float, rows_per_shard: int) -> int:
    """One shard where its kernel matrix fits into memory, else shards of a size that always does."""
    n_rows = int(require(batch, Rows).row_view().rows.shape[0])
    if 8 * n_rows**2 <= cache_mb * 2**20:
        return 1
    return max(1, min(len(batch), -(-n_rows // rows_per_shard)))


def tell_no_optimum(solution: Solution, tol: float, epsilon: float | None) -> None:
    """Warn the caller of ``fit`` that the tolerance was not met.

    Parameters
    ----------
    solution : Solution
        The one that is kept.
    tol, epsilon
        As in :class:`~trelliswork.StructuredSVM`.
    """
    if solution.converged or solution.stop == "interrupted":
        return
    missed = f"above tol={tol:g}" if epsilon is None else f"before epsilon={epsilon:g} was met"
    warnings.warn(
        f"StructuredSVM stopped after {solution.n_iter} rounds at a relative gap of {solution.gap:.2g}, "
        f"{missed}; raise max_iter, or lower C",
        FitWarning if solution.gap > WIDE_GAP else convergence_warning(),
        stacklevel=6,
    )
