"""Minimisers of smooth convex functions, with or without an L1 penalty.

One limited-memory quasi-Newton method serves both cases: plain L-BFGS with a weak
Wolfe line search, and OWL-QN, its orthant-wise variant, when there is an L1 term.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.learners.optimize.stops import StopReason

__all__ = [
    "Minimum",
    "Narrow",
    "Pairs",
    "Stop",
    "check_finite",
    "gradient_norm",
    "lbfgs",
    "newton_cg",
    "pseudo_gradient",
]

Value = Callable[[np.ndarray], tuple[float, np.ndarray]]
Narrow = Callable[[np.ndarray, np.ndarray], Value | None]

_MODEL_STEPS = 12  # on a model before the function itself is asked again
_NARROW_UNTIL = 3e-4
_MISLED = 3  # models that led nowhere, after which there are no more
_MODEL_TOL = 0.03  # of the gradient that a model begins with: further steps are lost on what it leaves out

_PERIOD, _FLAT = 10, 100.0  # iterations that must lower the objective by so many squares of the tolerance


class Stop(Exception):
    """Raised by a callback to end the minimisation with the current point.

    Parameters
    ----------
    reason : StopReason
        Why, for programs.
    message : str
        Why, for people.
    """

    def __init__(self, reason: StopReason, message: str):
        super().__init__(message)
        self.reason, self.message = reason, message


@dataclass
class Minimum:
    """Result of a minimisation.

    Attributes
    ----------
    w : ndarray
        Best point found.
    objective : float
        Value there, penalty included.
    n_iter, n_evaluations : int
        Iterations and evaluations of the function.
    stop : StopReason
        Why it stopped, for programs.
    message : str
        Why it stopped, for people.
    """

    w: np.ndarray
    objective: float
    n_iter: int
    n_evaluations: int
    stop: StopReason
    message: str

    @property
    def converged(self) -> bool:
        """Whether the tolerance was met."""
        return self.stop == "converged"


def pseudo_gradient(w: np.ndarray, g: np.ndarray, l1: np.ndarray | float) -> np.ndarray:
    """Steepest-descent subgradient of f + l1 |w|."""
    signs = np.sign(w)
    return np.where(signs != 0, g + l1 * signs, g - np.clip(g, -l1, l1))


def gradient_norm(g: np.ndarray) -> float:
    """Euclidean norm; infinite, without a warning, where the squares are too large."""
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(g))


class Pairs:
    """The last pairs of steps and gradient changes, in two ring buffers.

    Those of millions of weights are kept in single precision: twenty such vectors would be more memory than
    all data of a fit, and a direction need not be exact.

    Parameters
    ----------
    size : int
        Number of pairs.
    d : int
        Number of weights.
    inverse : ndarray or None
        About the inverse of the curvature of every weight, up to a factor; None takes all as alike.
    long : int
        Number of weights from which pairs are kept in single precision.
    block : int
        Entries that are worked on at a time. The more, the more memory is taken on the way.
    """

    def __init__(
        self,
        size: int,
        d: int,
        inverse: np.ndarray | None = None,
        *,
        long: int = 1 << 21,
        block: int = 1 << 16,
    ):
        self.inverse, self.block = inverse, block
        kind = np.float64 if d < long else np.float32
        self.s, self.y = np.empty((size, d), kind), np.empty((size, d), kind)
        self.rho = np.empty(size)
        self.size, self.count = size, 0
        self.scale = 1.0

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Keep one more pair, unless it has no curvature."""
        curvature = self._dot(step, change)
        norm = self._dot(change, change if self.inverse is None else self.inverse * change)
        if curvature <= 1e-10 * norm:  # a pair without curvature would spoil the model
            return
        i = self.count % self.size
        self.s[i], self.y[i], self.rho[i] = step, change, 1.0 / curvature
        self.scale = curvature / norm
        self.count += 1

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Two-loop recursion: minus the approximate inverse Hessian times the gradient."""
        d = -gradient
        recent = range(max(0, self.count - self.size), self.count)
        alpha = {}
        for n in reversed(recent):
            i = n % self.size
            alpha[i] = self.rho[i] * self._dot(self.s[i], d)
            self._add(d, -alpha[i], self.y[i])
        d *= self.scale if self.inverse is None else self.scale * self.inverse
        for n in recent:
            i = n % self.size
            self._add(d, alpha[i] - self.rho[i] * self._dot(self.y[i], d), self.s[i])
        return d

    def _dot(self, a: np.ndarray, b: np.ndarray) -> float:
        """Product of two vectors, block by block: nothing as long as they are is made on the way."""
        size = self.block
        return float(sum(a[k : k + size] @ b[k : k + size] for k in range(0, a.size, size)))

    def _add(self, out: np.ndarray, factor: float, v: np.ndarray) -> None:
        """``out += factor * v``, block by block."""
        size = self.block
        for k in range(0, out.size, size):
            out[k : k + size] += np.multiply(v[k : k + size], factor, dtype=np.float64)


def lbfgs(
    value: Value,
    w: np.ndarray,
    *,
    l1: np.ndarray | float = 0.0,
    memory: int = 10,
    max_iter: int = 100,
    tol: float = 1e-4,
    reference: float | None = None,
    measure: Callable[[np.ndarray, np.ndarray, np.ndarray | float], float] | None = None,
    callback: Callable[[int, np.ndarray, float, float], Any] | None = None,
    narrow: Narrow | None = None,
    inverse: np.ndarray | None = None,
    pairs: Pairs | None = None,
) -> Minimum:
    """Minimise ``f(w) + sum(l1 * |w|)``.

    Parameters
    ----------
    value : callable
        ``f`` and its gradient.
    w : ndarray
        Start; not changed.
    l1 : float or ndarray
        Weight of the absolute values (zero for plain L-BFGS).
    memory, max_iter : int
        Number of pairs kept; maximum number of iterations.
    tol : float
        Stop when the norm of the (pseudo-)gradient falls to ``tol`` times ``reference``, or when ten
        iterations have lowered the objective by less than ``100 * tol**2``, relative to it.
    reference : float or None
        A gradient norm; None is the norm at the start, which a warm start makes too small.
    measure : callable or None
        ``measure(w, gradient of f, l1)`` to stop by; None is the norm of the (pseudo-)gradient.
    callback : callable or None
        Called as ``callback(iteration, w, objective, gradient_norm)``; may raise :class:`Stop`.
    narrow : callable or None
        ``narrow(w, gradient)`` is a cheap function with that gradient at ``w`` and nearly the curvature of
        ``f``, or None. An iteration then is some steps on it, and one evaluation of ``f`` where they end.
        It is not asked any more near the minimum.
    inverse : ndarray or None
        About the inverse of the curvature of every weight, up to a factor; for ``l1 = 0``.
    pairs : Pairs or None
        Steps and changes of the gradient to begin with, to which more are added.
    """
    sparse = bool(np.any(np.asarray(l1) > 0))
    w = w.copy()
    pairs = Pairs(memory, w.size, inverse) if pairs is None else pairs
    smooth, g = value(w)
    n_evaluations = 1
    objective = smooth + _penalty(w, l1, sparse)
    pseudo = pseudo_gradient(w, g, l1) if sparse else g
    norm = gradient_norm(pseudo) if measure is None else measure(w, g, l1)
    first = norm if reference is None else reference
    check_finite(objective, norm, first)
    n_iter, converged, message = 0, norm == 0.0 or norm <= tol * first, "the start is good enough"
    stop: StopReason = "converged"
    recent = deque([objective], maxlen=_PERIOD + 1)
    stalled = 0  # iterations without a decrease that rounding would let us see
    misled, n_misled = False, 0  # by a model, just now and so far
    while not converged:
        if n_iter >= max_iter:
            stop, message = "max_iter", f"stopped after max_iter={max_iter} iterations"
            break
        if stalled >= 3:
            stop, message = "no progress", "rounding hides any further decrease"
            break
        close = norm <= _NARROW_UNTIL * first  # what models leave out begins to count
        model = None if narrow is None or misled or close else narrow(w, g)
        misled = False
        if model is not None:
            point = _by_model(model, value, w, objective, g, l1, pairs)
            n_evaluations += point.n_evaluations
            if point.w is None:
                pairs.count, misled, n_misled = 0, True, n_misled + 1
                narrow = narrow if n_misled < _MISLED else None
                continue
        else:
            point = _one_step(value, w, objective, g, pseudo, l1, pairs)
            n_evaluations += point.n_evaluations
            if point.w is None:
                if pairs.count:
                    pairs.count = 0
                    continue
                stop, message = "no progress", "the line search found no lower point"
                break
            pairs.add(point.w - w, point.g - g)
        stalled = stalled + 1 if objective - point.objective <= 1e-15 * abs(objective) else 0
        w, objective, g = point.w, point.objective, point.g
        pseudo = pseudo_gradient(w, g, l1) if sparse else g
        norm = gradient_norm(pseudo) if measure is None else measure(w, g, l1)
        n_iter += 1
        if callback is not None:
            try:
                callback(n_iter, w, objective, norm)
            except Stop as ended:
                stop, message = ended.reason, ended.message
                break
        recent.append(objective)
        if norm <= tol * first:
            converged, message = True, f"gradient fell below {tol:g} of the reference"
        elif len(recent) > _PERIOD and recent[0] - objective <= _FLAT * tol**2 * abs(objective):
            converged = True
            message = f"{_PERIOD} iterations lowered the objective by less than {_FLAT * tol**2:g} of it"
    return Minimum(w, objective, n_iter, n_evaluations, stop, message)


def check_finite(objective: float, norm: float, reference: float) -> None:
    """Refuse to start a search where the objective or its gradient is not finite."""
    if not np.isfinite([objective, norm, reference]).all():
        raise InputError(
            f"the search cannot start: the objective is {objective:g}, the norm of its gradient "
            f"{max(norm, reference):g}; scale the features down"
        )


def _penalty(w: np.ndarray, l1: np.ndarray | float, sparse: bool) -> float:
    return float(np.sum(l1 * np.abs(w))) if sparse else 0.0


@dataclass
class _Found:
    w: np.ndarray | None
    objective: float
    g: np.ndarray
    n_evaluations: int


def _one_step(
    value: Value,
    w: np.ndarray,
    objective: float,
    g: np.ndarray,
    pseudo: np.ndarray,
    l1: np.ndarray | float,
    pairs: Pairs,
) -> _Found:
    """Direction from the pairs, and a search along it."""
    sparse = pseudo is not g
    d = pairs.direction(pseudo)
    if sparse:
        d[d * pseudo >= 0] = 0.0
    if float(d @ pseudo) >= 0:  # a broken model: start again from steepest descent
        pairs.count = 0
        d = -pseudo
    step = 1.0 if pairs.count else min(1.0, 1.0 / gradient_norm(pseudo))
    if pairs.count == 0 and pairs.inverse is not None:
        d = -pairs.inverse * pseudo
        step = min(1.0, 1.0 / np.sqrt(-float(d @ pseudo)))
    search = _orthant_search if sparse else _wolfe_search
    return search(value, w, objective, g, pseudo, d, step, l1)


def _by_model(
    model: Value,
    value: Value,
    w: np.ndarray,
    objective: float,
    g: np.ndarray,
    l1: np.ndarray | float,
    pairs: Pairs,
) -> _Found:
    """Where some steps on the model end, or a point on the way there."""
    end = lbfgs(model, w, l1=l1, max_iter=_MODEL_STEPS, tol=_MODEL_TOL, pairs=pairs).w
    slope = float(g @ (end - w)) + float(np.sum(l1 * (np.abs(end) - np.abs(w))))
    step = 1.0
    for n in range(1, 4):
        trial = w + step * (end - w)
        smooth, g_new = value(trial)
        new = smooth + float(np.sum(l1 * np.abs(trial)))
        if new <= objective + 1e-4 * step * slope and new < objective:
            return _Found(trial, new, g_new, n)
        step *= 0.25
    return _Found(None, objective, g, n)


def _orthant_search(
    value: Value,
    w: np.ndarray,
    objective: float,
    g: np.ndarray,
    pseudo: np.ndarray,
    d: np.ndarray,
    step: float,
    l1: np.ndarray | float,
) -> _Found:
    """Backtracking inside the orthant of ``w`` (or of minus the pseudo-gradient where w = 0)."""
    orthant = np.where(w != 0, np.sign(w), -np.sign(pseudo))
    for n in range(1, 31):
        trial = w + step * d
        trial[trial * orthant <= 0] = 0.0
        smooth, g_new = value(trial)
        new = smooth + _penalty(trial, l1, True)
        if new <= objective + 1e-4 * float(pseudo @ (trial - w)):
            return _Found(trial, new, g_new, n)
        step *= 0.5
    return _Found(None, objective, g, n)


def _wolfe_search(
    value: Value,
    w: np.ndarray,
    objective: float,
    g: np.ndarray,
    pseudo: np.ndarray,
    d: np.ndarray,
    step: float,
    l1: np.ndarray | float,
) -> _Found:
    """Bisection and doubling until the weak Wolfe conditions hold."""
    slope = float(d @ g)
    low, high = 0.0, np.inf
    best = _Found(None, objective, g, 0)
    for n in range(1, 31):
        trial = w + step * d
        new, g_new = value(trial)
        if not new <= objective + 1e-4 * step * slope:
            high = step
        else:
            best = _Found(trial, new, g_new, n)
            if float(d @ g_new) >= 0.9 * slope:
                return best
            low = step
        step = 2 * low if high == np.inf else (low + high) / 2
    best.n_evaluations = n
    return best


def newton_cg(
    value: Value,
    hessian_product: Callable[[np.ndarray, np.ndarray], np.ndarray],
    w: np.ndarray,
    *,
    max_iter: int = 100,
    tol: float = 1e-6,
    reference: float | None = None,
    max_cg: int = 200,
    callback: Callable[[int, np.ndarray, float, float], Any] | None = None,
) -> Minimum:
    """Truncated Newton: conjugate gradients on the Hessian, then a backtracking line search.

    ``hessian_product(w, v)`` is the Hessian at ``w`` times ``v``; other arguments as in
    :func:`lbfgs`.
    """
    w = w.copy()
    objective, g = value(w)
    n_evaluations = 1
    norm = gradient_norm(g)
    first = norm if reference is None else reference
    check_finite(objective, norm, first)
    n_iter, converged, message = 0, norm == 0.0 or norm <= tol * first, "the start is good enough"
    stop: StopReason = "converged"
    while not converged:
        if n_iter >= max_iter:
            stop, message = "max_iter", f"stopped after max_iter={max_iter} iterations"
            break
        forcing = min(0.5, np.sqrt(norm / first)) * norm
        d = np.zeros_like(w)
        r = -g
        p = r.copy()
        rr = float(r @ r)
        for _ in range(max_cg):
            hp = hessian_product(w, p)
            curvature = float(p @ hp)
            if curvature <= 0:
                d = d if d.any() else -g
                break
            alpha = rr / curvature
            d += alpha * p
            r -= alpha * hp
            rr_new = float(r @ r)
            if np.sqrt(rr_new) <= forcing:
                break
            p = r + (rr_new / rr) * p
            rr = rr_new
        slope = float(g @ d)
        step = 1.0
        for _ in range(40):
            trial = w + step * d
            new, g_new = value(trial)
            n_evaluations += 1
            if new <= objective + 1e-4 * step * slope:
                break
            step *= 0.5
        else:
            # Rounding hides any further decrease: this is as far as the numbers go.
            stop, message = "no progress", "the line search found no lower point"
            break
        w, objective, g = trial, new, g_new
        norm = gradient_norm(g)
        n_iter += 1
        if callback is not None:
            try:
                callback(n_iter, w, objective, norm)
            except Stop as ended:
                stop, message = ended.reason, ended.message
                break
        if norm <= tol * first:
            converged, message = True, f"gradient fell below {tol:g} of the reference"
    return Minimum(w, objective, n_iter, n_evaluations, stop, message)
