"""Objectives of voted models and their minimisation, for a packed batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork.learners.base import warn_interrupted
from trelliswork.learners.known import Target
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.optimize.proximal import LazyAdaGrad, fista, proximal_norm
from trelliswork.learners.optimize.smooth import Minimum, Stop, Value, lbfgs
from trelliswork.learners.voted.maxima import minimise_maxima
from trelliswork.learners.voted.problem import Problem
from trelliswork.losses.inside import Inside, inside
from trelliswork.structures.families import Families

__all__ = ["fit_structboost", "fit_vcrf", "stream_vcrf"]

_HUGE = 600.0  # exponents beyond which the objective counts as infinite
_FALL = 7.0  # the common log scale is renewed when the objective has fallen by this power of e
_MAX_STAGES = 100


def _vcrf_value(problem: Problem, made: Inside) -> Value:
    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        w = problem.whole(v)
        total, expected = made.expected(w, problem.share)
        log_known, wanted = problem.target(w)
        return total - log_known + problem.l2 * float(v @ v), expected - wanted + (2.0 * problem.l2) * v

    return value


def fit_vcrf(
    problem: Problem,
    start: np.ndarray,
    *,
    solver: str = "owlqn",
    max_iter: int = 200,
    tol: float = 1e-4,
    memory: int = 10,
    progress: Progress | None = None,
) -> Minimum:
    """Minimise the mean of ``log sum_y exp(L(y) - margin(y))`` plus the voted penalty.

    Parameters
    ----------
    problem : Problem
        Data and penalty.
    start : ndarray
        First weights, less the origin.
    solver : {"owlqn", "fista"}
        Orthant-wise quasi-Newton, or accelerated proximal gradient.
    max_iter, tol, memory
        As in :class:`~trelliswork.VotedCRF`.
    progress : Progress or None
        Gets one record per iteration.
    """
    search = _Search("VotedCRF", solver, max_iter, tol, memory, progress)
    value = _vcrf_value(problem, inside(problem.batch, problem.loss))
    reference = None
    if start.any():
        origin = np.zeros_like(start)
        reference = proximal_norm(origin, value(origin)[1], problem.l1)
    return _minimise(problem.families, _Objective(value, problem.l1, reference), start, search)


class _Objective(NamedTuple):
    """What is minimised: ``exp(-log_scale)`` times the objective, so that it stays within floating point.

    Attributes
    ----------
    value : callable
        The smooth part and its gradient.
    l1 : ndarray
        Penalty of every weight.
    reference : float or None
        Gradient norm that ``tol`` is relative to; None is that of the start.
    log_scale : float
        Log of the factor that is left out, of all of them.
    """

    value: Value
    l1: np.ndarray
    reference: float | None
    log_scale: float = 0.0


class _Search(NamedTuple):
    """How it is minimised; arguments as in :func:`fit_vcrf`, and the name of the learner."""

    title: str
    solver: str
    max_iter: int
    tol: float
    memory: int
    progress: Progress | None


def _minimise(
    families: Families,
    objective: _Objective,
    start: np.ndarray,
    search: _Search,
    enough: Callable[[float], bool] | None = None,
) -> Minimum:
    """Search from ``start``, at most until ``enough`` says so of the value reached."""
    scale = float(np.exp(min(objective.log_scale, _HUGE)))
    best: dict[str, Any] = {"w": start, "objective": np.inf, "n": 0}

    def callback(n: int, w: np.ndarray, reached: float, norm: float) -> None:
        best.update(w=w, objective=reached, n=n)
        if search.progress is not None:
            used = families.sizes(w != 0)
            search.progress.step(
                objective=float(scale * reached),
                gradient=float(scale * norm),
                nonzero=int(used.sum()),
                families=used.tolist(),
            )
        if enough is not None and enough(reached):
            raise Stop("max_iter", "the objective fell far below the scale that was chosen for it")

    shared: dict[str, Any] = {
        "l1": objective.l1,
        "max_iter": search.max_iter,
        "tol": search.tol,
        "reference": objective.reference,
        "callback": callback,
    }
    try:
        if search.solver == "fista":
            return fista(objective.value, start, **shared)
        return lbfgs(objective.value, start, memory=search.memory, measure=proximal_norm, **shared)
    except KeyboardInterrupt:
        warn_interrupted(f"{search.title} after {best['n']} iterations")
        return Minimum(best["w"], best["objective"], best["n"], 0, "interrupted", "interrupted")


# -- boosting: sums of loss * exp(-margin); maxima are in their own module -------------------------


# Logs of the terms of every sample at some weights, and the features that go with given shares of them.
Terms = Callable[[np.ndarray], tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]]


def _boost_terms(made: Inside) -> Terms:
    """Terms of ``sum_y L(y) exp(-margin(y))``."""
    batch = made.batch

    def sums(w: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        scores = batch.scores(w)
        logs = made.log_risk(scores) - batch.evaluate(batch.gold_codes, scores)
        return logs, lambda each: made.risk_features(scores, each)

    return sums


def _boost_value(problem: Problem, terms: Terms, log_scale: float) -> Value:
    """Objective and gradient times ``exp(-log_scale)``."""
    with np.errstate(divide="ignore"):
        log_share = np.log(problem.share)

    def value(w: np.ndarray) -> tuple[float, np.ndarray]:
        logs, features = terms(problem.whole(w))
        logs = logs + log_share - log_scale
        if logs.max(initial=-np.inf) > _HUGE:
            return np.inf, np.zeros_like(w)
        each = np.exp(logs)
        l2 = problem.l2 * np.exp(-log_scale)
        gradient = features(each) - problem.batch.gold_sum(each) + (2.0 * l2) * w
        return float(each.sum()) + l2 * float(w @ w), gradient

    return value


def fit_structboost(
    problem: Problem,
    start: np.ndarray,
    *,
    form: str = "sum",
    max_iter: int = 200,
    tol: float = 1e-4,
    memory: int = 10,
    progress: Progress | None = None,
) -> tuple[Minimum, float | None]:
    """Minimise the mean of the sum (or maximum) of ``L(y) exp(-margin(y))`` plus the voted penalty.

    Parameters
    ----------
    problem : Problem
        Data and penalty; the loss must not be None.
    start : ndarray
        First weights, less the origin; best those of a fitted CRF.
    form : {"sum", "max"}
        Over outputs.
    max_iter, tol, memory
        As in :class:`~trelliswork.StructBoost`.
    progress : Progress or None
        Gets one record per iteration.

    Returns
    -------
    minimum : Minimum
        The weights.
    gap : float or None
        Relative gap of the maximum; None for the sum.
    """
    made = inside(problem.batch, problem.loss)
    _check_loss(problem, made)
    live = np.flatnonzero(made.largest() > 1e-12)
    if not live.size:
        return Minimum(np.zeros_like(start), 0.0, 0, 0, "converged", "no output has a loss"), None
    if live.size < len(problem.batch):  # no other output, or none that is worse
        made = inside(problem.batch.subset(live), problem.loss)
        problem = replace(problem, batch=made.batch, share=problem.share[live])
    if form == "max":
        return minimise_maxima(problem, start, max_iter=max_iter, tol=tol, progress=progress)
    return _minimise_sums(problem, made, start, max_iter, tol, memory, progress), None


def _minimise_sums(
    problem: Problem,
    made: Inside,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    memory: int,
    progress: Progress | None,
) -> Minimum:
    """Objective and gradient carry one common log scale, which is renewed as the objective falls."""
    terms = _boost_terms(made)
    w, n_iter, n_evaluations = start, 0, 0
    # At a minimum the gradient balances the penalties: their norm is the scale to stop by.
    reference = float(np.linalg.norm(problem.l1))
    for _ in range(_MAX_STAGES):
        log_scale = max(_log_level(problem, terms, w), 0.0)
        shrink = np.exp(-log_scale)
        value = _boost_value(problem, terms, log_scale)
        objective = _Objective(value, problem.l1 * shrink, reference * shrink, log_scale)
        search = _Search("StructBoost", "owlqn", max_iter - n_iter, tol, memory, progress)
        fall = _Fall(log_scale)
        minimum = _minimise(problem.families, objective, w, search, fall)
        w, n_iter = minimum.w, n_iter + minimum.n_iter
        n_evaluations += minimum.n_evaluations
        if not fall.complete:
            break
    reached = minimum.objective * float(np.exp(min(log_scale, _HUGE)))
    return replace(minimum, objective=reached, n_iter=n_iter, n_evaluations=n_evaluations)


def _check_loss(problem: Problem, made: Inside) -> None:
    """Refuse losses that are not 0 for the truth, or negative somewhere."""
    truth = made.loss_of(problem.batch.gold_codes)
    if (np.abs(truth) > 1e-9).any():
        i = int(np.argmax(np.abs(truth)))
        raise InputError(
            f"{problem.loss!r} is {truth[i]:g} for the true output; StructBoost needs a loss that is 0 there",
            sample=i,
        )
    least = made.smallest()
    if (least < -1e-9).any():
        i = int(np.argmin(least))
        raise InputError(
            f"{problem.loss!r} is negative, {least[i]:g}, for some output; StructBoost needs a "
            "loss that is not",
            sample=i,
        )


def _log_level(problem: Problem, terms: Terms, w: np.ndarray) -> float:
    """Log of the largest term of the objective."""
    with np.errstate(divide="ignore"):
        return float(np.max(terms(problem.whole(w))[0] + np.log(problem.share)))


class _Fall:
    """Ends a search whose objective has fallen so far that it needs a new scale.

    Attributes
    ----------
    complete : bool
        Whether it has.
    """

    def __init__(self, log_scale: float):
        self.complete = False
        self._level = float(np.exp(-min(_FALL, log_scale))) if log_scale > 0.0 else -np.inf

    def __call__(self, reached: float) -> bool:
        self.complete = reached < self._level
        return self.complete


# -- streams ---------------------------------------------------------------------------------------


def stream_vcrf(
    problem: Problem,
    w: np.ndarray,
    squares: np.ndarray,
    *,
    step: float,
    batch_size: int,
    order: np.ndarray,
) -> float:
    """One pass of lazy proximal AdaGrad; changes ``w`` and ``squares``, returns the mean loss on the way.

    Parameters
    ----------
    problem : Problem
        Data and penalty.
    w, squares : ndarray
        Weights and sums of squared gradients.
    step : float
        Size of the first step of a weight.
    batch_size : int
        Samples per step.
    order : ndarray of int
        Order of the samples.
    """
    solver = LazyAdaGrad(w, squares, problem.l1, step, problem.l2)
    total = 0.0
    for first in range(0, order.size, batch_size):
        part = problem.batch.subset(order[first : first + batch_size])
        # Means over the part; shares stay what they are among all samples.
        share = problem.share[order[first : first + batch_size]] * (order.size / len(part))
        # The uniform law uses every part: its mean features are the weights that matter here.
        features = np.unique(part.means().indices)
        solver.catch_up(features)
        made = inside(part, problem.loss)
        log_sum, expected = made.expected(w, share)
        log_known, wanted = Target(part, share)(w)
        total += (log_sum - log_known) * share.size
        solver.update(features, expected[features] - wanted[features])
    solver.finish()
    return total / max(order.size, 1)
