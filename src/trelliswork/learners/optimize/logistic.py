"""Logistic regression of one multinomial on features of the input.

Minimises ``- sum_i w_i sum_l T_il log softmax_l(F_i) + reg |W|^2`` with ``F = Z W + offset (+ bias)``:
``T`` are target shares, ``Z`` features whose inner products are the kernel, so that ``|W|`` is the
norm of the functions. At the minimum ``F = K A + offset (+ bias)`` with ``A = w (T - P) / (2 reg)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trelliswork.learners.optimize.smooth import lbfgs, newton_cg
from trelliswork.learners.optimize.stops import StopReason

__all__ = ["Logistic", "factor", "fit_logistic", "log_softmax"]


class Logistic(NamedTuple):
    """Solution.

    Attributes
    ----------
    weights : ndarray of shape (n_features, n_outcomes)
        Weights ``W``.
    bias : ndarray of shape (n_outcomes,)
        Free bias; zeros without.
    dual : ndarray of shape (n_samples, n_outcomes)
        ``w (T - P) / (2 reg)``: coefficients of the samples.
    objective : float
        Value reached.
    n_iter : int
        Iterations.
    stop : StopReason
        Why the search stopped.
    """

    weights: np.ndarray
    bias: np.ndarray
    dual: np.ndarray
    objective: float
    n_iter: int
    stop: StopReason


def log_softmax(F: np.ndarray) -> np.ndarray:
    """Logs of the shares of ``exp(F)`` in each row."""
    F = F - F.max(axis=1, keepdims=True)
    return F - np.log(np.exp(F).sum(axis=1, keepdims=True))


def factor(gram: np.ndarray) -> np.ndarray:
    """``Z`` with ``Z Z' = gram``, with as many columns as the matrix has rank."""
    from scipy.linalg.lapack import dpstrf  # slow to import

    packed, pivots, rank, _ = dpstrf(gram, lower=1)
    lower = np.tril(packed)[:, :rank]
    out = np.empty_like(lower)
    out[pivots - 1] = lower
    return out


def fit_logistic(
    Z: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    offset: np.ndarray,
    reg: float,
    *,
    bias: bool = False,
    solver: str = "newton-cg",
    tol: float = 1e-6,
    max_iter: int = 100,
) -> Logistic:
    """Solve one regression.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
        Features.
    targets : ndarray of shape (n_samples, n_outcomes)
        Shares; rows sum to 1.
    weights : ndarray of shape (n_samples,)
        Weight of each sample, > 0.
    offset : ndarray of shape (n_outcomes,)
        Constant part of the scores.
    reg : float
        Penalty.
    bias : bool
        Whether a constant without penalty is added.
    solver : {"newton-cg", "lbfgs"}
        Method.
    tol : float
        Ends when the norm of the gradient falls below ``tol`` times that of the start.
    max_iter : int
        Maximum number of iterations.
    """
    n_features, n_outcomes = Z.shape[1], targets.shape[1]
    size = n_features * n_outcomes

    def split(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return flat[:size].reshape(n_features, n_outcomes), flat[size:]

    def linear(flat: np.ndarray) -> np.ndarray:
        W, b = split(flat)
        return Z @ W + b if bias else Z @ W

    def adjoint(R: np.ndarray, penalised: np.ndarray) -> np.ndarray:
        slopes = (Z.T @ R + 2.0 * reg * penalised).ravel()
        return np.concatenate([slopes, R.sum(axis=0)]) if bias else slopes

    last: dict[str, np.ndarray] = {}  # the point of the last evaluation, whose shares the Hessian needs

    def shares(flat: np.ndarray) -> np.ndarray:
        if last.get("w") is not flat:
            last.update(w=flat, log_p=log_softmax(linear(flat) + offset))
        return last["log_p"]

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        log_p, W = shares(flat), split(flat)[0]
        loss = -float(weights @ np.einsum("ij,ij->i", targets, log_p))
        gradient = adjoint(weights[:, None] * (np.exp(log_p) - targets), W)
        return loss + reg * float(np.vdot(W, W)), gradient

    def hessian_product(flat: np.ndarray, v: np.ndarray) -> np.ndarray:
        P = np.exp(shares(flat))
        U = P * linear(v)
        U -= P * U.sum(axis=1, keepdims=True)
        U *= weights[:, None]
        return adjoint(U, split(v)[0])

    start = np.zeros(size + n_outcomes * bias)
    if bias:
        mean = weights @ targets / weights.sum()
        start[size:] = np.log(mean) - offset
    if solver == "lbfgs":
        minimum = lbfgs(value, start, max_iter=max_iter, tol=tol)
    else:
        minimum = newton_cg(value, hessian_product, start, max_iter=max_iter, tol=tol)
    W, b = split(minimum.w)
    dual = weights[:, None] * (targets - np.exp(shares(minimum.w))) / (2.0 * reg)
    centred = b - b.mean() if bias else np.zeros(n_outcomes)
    return Logistic(W, centred, dual, minimum.objective, minimum.n_iter, minimum.stop)
