"""Newton's method on the likelihood, with the moments of a learner as its matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork.learners.base import warn_interrupted
from trelliswork.learners.moments.sums import BatchMoments
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.optimize.ridge import Ridge
from trelliswork.learners.optimize.stops import StopReason
from trelliswork.structures.base import Batch, Parts

__all__ = ["newton_steps"]

_HALVINGS = 40
_CONVERGED = 1e-10


def newton_steps(
    batch: Batch,
    offset: Parts | None,
    weights: np.ndarray | None,
    lam: float,
    *,
    about: str,
    n_steps: int,
    options: dict[str, Any],
    progress: Progress,
) -> tuple[np.ndarray, StopReason]:
    """Weights after up to ``n_steps`` steps, each with a line search on the likelihood; and why they stopped.

    Minimises ``sum of (log Z - score of the gold output) + lam |w|^2 / 2``; part scores are
    ``offset`` plus those of the weights.

    Parameters
    ----------
    batch : Batch
        Samples with their outputs.
    offset : Parts or None
        Part scores of the reference.
    weights : ndarray or None
        Weight of each sample.
    lam : float
        Ridge.
    about : {"mean", "gold"}
        Which second moment is the matrix; "mean" is the Hessian.
    n_steps : int
        Maximum number of steps.
    options : dict
        Options of :class:`Ridge`.
    progress : Progress
        Gets one record per step.
    """

    def scores(w: np.ndarray) -> Parts:
        of_weights = batch.scores(w)
        return of_weights if offset is None else of_weights + offset

    def value(w: np.ndarray) -> float:
        parts = scores(w)
        each = batch.log_partition(parts) - batch.evaluate(batch.gold_codes, parts)
        return float(each.sum() if weights is None else each @ weights) + lam * float(w @ w) / 2

    w = np.zeros(batch.space.n_features)
    objective = value(w)
    first = 0.0
    stop: StopReason = "max_iter"
    try:
        for step in range(n_steps):
            moments = BatchMoments(batch, offset if step == 0 else scores(w), weights)
            slope = moments.deviation - lam * w
            norm = float(np.linalg.norm(slope))
            first = first or norm
            if norm <= _CONVERGED * first:
                stop = "converged"
                break
            ridge = Ridge(moments.covariance if about == "mean" else moments.second, lam, **options)
            d = ridge.solve(slope)
            gain = float(slope @ d)
            size = 1.0
            for _ in range(_HALVINGS):
                new = value(w + size * d)
                if new <= objective - 1e-4 * size * gain:
                    break
                size /= 2
            else:  # rounding hides any further decrease
                stop = "no progress"
                break
            w = w + size * d
            objective = new
            progress.step(objective=objective, gradient=norm, step=size, lam=lam, **ridge.said)
            if ridge.stop == "interrupted":  # the solver has told; its direction was still worth a step
                stop = "interrupted"
                break
    except KeyboardInterrupt:
        stop = "interrupted"
        warn_interrupted(f"Newton's method after {len(progress.history)} steps")
    return w, stop
