"""Proximal methods for smooth functions plus a weighted L1 norm: accelerated, and lazy on streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trelliswork.learners.optimize.smooth import Minimum, Stop, Value, check_finite, gradient_norm
from trelliswork.learners.optimize.stops import StopReason

__all__ = ["LazyAdaGrad", "fista", "proximal_norm", "shrink"]


def shrink(w: np.ndarray, threshold: np.ndarray | float) -> np.ndarray:
    """Proximal step of the L1 norm: move towards zero by ``threshold``, not beyond."""
    return np.sign(w) * np.maximum(np.abs(w) - threshold, 0.0)


def proximal_norm(w: np.ndarray, g: np.ndarray, l1: np.ndarray | float) -> float:
    """Norm of the proximal gradient ``w - shrink(w - g, l1)``; zero at a minimum and only there."""
    return gradient_norm(w - shrink(w - g, l1))


def fista(
    value: Value,
    w: np.ndarray,
    *,
    l1: np.ndarray | float,
    max_iter: int = 100,
    tol: float = 1e-4,
    reference: float | None = None,
    callback: Callable[[int, np.ndarray, float, float], Any] | None = None,
) -> Minimum:
    """Accelerated proximal gradient descent with backtracking and restarts.

    Arguments as in :func:`~trelliswork.learners.optimize.smooth.lbfgs`.
    """
    smooth, g = value(w)
    w, n_evaluations, step = w.copy(), 1, 1.0
    objective = smooth + float(np.sum(l1 * np.abs(w)))
    norm = proximal_norm(w, g, l1)
    first = norm if reference is None else reference
    check_finite(objective, norm, first)
    ahead, f_ahead, g_ahead, momentum = w, smooth, g, 1.0
    n_iter, converged, message = 0, norm <= tol * first, "the start is good enough"
    stop: StopReason = "converged"
    while not converged:
        if n_iter >= max_iter:
            stop, message = "max_iter", f"stopped after max_iter={max_iter} iterations"
            break
        step *= 1.5  # the curvature may have become smaller
        for _ in range(60):
            new = shrink(ahead - step * g_ahead, step * l1)
            f_new, g_new = value(new)
            n_evaluations += 1
            move = new - ahead
            bound = f_ahead + float(g_ahead @ move) + float(move @ move) / (2 * step)
            if f_new <= bound + 1e-12 * abs(f_ahead):
                break
            step *= 0.5
        total = f_new + float(np.sum(l1 * np.abs(new)))
        if total > objective and ahead is not w:
            ahead, f_ahead, g_ahead, momentum = w, smooth, g, 1.0  # restart from the last good point
            continue
        if total > objective:
            stop, message = "no progress", "rounding hides any further decrease"
            break
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = new + (momentum - 1.0) / following * (new - w)
        w, smooth, g, objective, momentum = new, f_new, g_new, total, following
        f_ahead, g_ahead = value(ahead)
        n_evaluations += 1
        norm = proximal_norm(w, g, l1)
        n_iter += 1
        if callback is not None:
            try:
                callback(n_iter, w, objective, norm)
            except Stop as ended:
                stop, message = ended.reason, ended.message
                break
        if norm <= tol * first:
            converged, message = True, f"proximal gradient fell below {tol:g} of the reference"
    return Minimum(w, objective, n_iter, n_evaluations, stop, message)


class LazyAdaGrad:
    """Proximal AdaGrad that touches only the weights a sample has features for.

    Between two samples that have a feature its gradient is zero and its step size constant, so the
    proximal steps in between are one shrinking by their sum: done when the weight is next needed.

    Parameters
    ----------
    w : ndarray
        Weights; changed in place.
    squares : ndarray
        Sums of squared gradients so far; changed in place.
    l1 : ndarray
        Penalty of every weight.
    step : float
        Size of the first step of a weight.
    l2 : float, default=0.0
        Penalty of the squared weights.
    """

    def __init__(self, w: np.ndarray, squares: np.ndarray, l1: np.ndarray, step: float, l2: float = 0.0):
        self.w, self.squares, self.l1, self.step, self.l2 = w, squares, l1, step, l2
        self.clock = 0
        self.seen = np.zeros(w.size, dtype=np.int64)

    def _rate(self, features: Any) -> np.ndarray:
        root = np.sqrt(self.squares[features])
        # Before its first gradient a weight has no step size, and is zero unless it was given.
        return np.divide(self.step, root, out=np.zeros_like(root), where=root > 0)

    def catch_up(self, features: Any) -> None:
        """Make the proximal steps that some weights have waited for."""
        waited = self.clock - self.seen[features]
        self.w[features] = self._pulled(features, self.w[features], waited)
        self.seen[features] = self.clock

    def update(self, features: np.ndarray, gradient: np.ndarray) -> None:
        """Step along a sparse gradient; ``features`` are up to date."""
        self.squares[features] += gradient**2
        self.w[features] = self._pulled(features, self.w[features] - self._rate(features) * gradient, 1)
        self.clock += 1
        self.seen[features] = self.clock

    def _pulled(self, features: Any, w: np.ndarray, n_steps: Any) -> np.ndarray:
        """Weights after so many steps ``w -> (w - rate l1) / (1 + 2 rate l2)``, which end at 0."""
        rate = self._rate(features)
        kept = 1.0 / (1.0 + 2.0 * self.l2 * rate)
        left = kept**n_steps
        # The sum of the powers of ``kept`` from the first to the last step.
        many = np.divide(kept * (1.0 - left), 1.0 - kept, out=n_steps * np.ones_like(rate), where=kept < 1.0)
        return shrink(w * left, rate * self.l1[features] * many)

    def finish(self) -> None:
        """Bring all weights up to date."""
        self.catch_up(slice(None))
