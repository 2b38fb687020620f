"""Ridge regression whose weights W (n_outputs, n_features) obey soft linear constraints.

Minimises ``|F W' - Y|^2 + ridge |W|^2 + sum_c <A_c, W>^2``. The constraints are the rows of a
sparse matrix ``A`` of shape (n_constraints, n_outputs * n_features), each ``A_c`` written row by row
and multiplied by the root of its strength. With ``U = F'F + ridge I`` and ``M = Y'F``, W solves
``W U + sum_c <A_c, W> A_c = M``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.learners.regression.solvers import solve_definite

__all__ = ["Solved", "power_bound", "solve_cg", "solve_closed", "solve_iteration", "solve_masks"]

CLOSED_LIMIT = 2000  # constraints up to which the closed form is taken


class Solved(NamedTuple):
    """Weights and how many steps they took.

    Attributes
    ----------
    W : ndarray of shape (n_outputs, n_features)
        Weights.
    n_iter : int
        Steps; 0 for direct solutions.
    residual : float
        Relative size of the gradient that is left.
    """

    W: np.ndarray
    n_iter: int = 0
    residual: float = 0.0


def solve_masks(F: np.ndarray, Y: np.ndarray, ridge: float, masks: np.ndarray, eta: float) -> np.ndarray:
    """Penalty ``eta W_rs^2`` wherever ``masks[r, s]``: rows decouple, one Cholesky per distinct mask.

    Each row solves ``w (F'F + ridge I + eta diag(mask)) = M_r``, by samples or by features, whichever are
    fewer. ``eta = inf`` removes the masked features of a row.

    Parameters
    ----------
    F, Y : ndarrays of shape (n, n_features) and (n, n_outputs)
        Features and targets.
    ridge : float
        Above 0.
    masks : bool array of shape (n_outputs, n_features)
        What is penalised.
    eta : float
        Strength.
    """
    n, p = F.shape
    W = np.zeros((Y.shape[1], p))
    # Masks are compared by their packed bits: sorting rows of thousands of booleans would be slow.
    groups: dict[bytes, list[int]] = {}
    for r in range(len(masks)):
        groups.setdefault(np.packbits(masks[r]).tobytes(), []).append(r)
    weak = 0.0 if np.isinf(eta) else 1.0 / (ridge + eta)
    dual = n <= p
    gram = F @ F.T if dual and weak else None
    U = None if dual else F.T @ F
    for rows in groups.values():
        free = ~masks[rows[0]]
        if dual:
            inner = F[:, free]
            K = (1.0 / ridge - weak) * (inner @ inner.T)
            if gram is not None:
                K += weak * gram
            K[np.diag_indices(n)] += 1.0
            dual_coef = _solved(K, Y[:, rows])
            W[rows] = dual_coef.T @ F * np.where(free, 1.0 / ridge, weak)
        elif np.isinf(eta):
            assert U is not None
            block = U[np.ix_(free, free)]
            block[np.diag_indices_from(block)] += ridge
            W[np.ix_(np.array(rows), np.flatnonzero(free))] = _solved(block, F[:, free].T @ Y[:, rows]).T
        else:
            assert U is not None
            block = U + np.diag(ridge + eta * ~free)
            W[rows] = _solved(block, F.T @ Y[:, rows]).T
    return W


def _solved(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    solution = solve_definite(np.ascontiguousarray(A), B)
    if solution is None:
        raise InputError("ridge is too small for these features: the system is singular; use a larger ridge")
    return solution


class _System:
    """U factored, M, and the constraints."""

    def __init__(self, F: np.ndarray, Y: np.ndarray, ridge: float, A: sp.csr_matrix):
        from scipy.linalg import cho_factor  # slow to import

        self.shape = (Y.shape[1], F.shape[1])
        if A.shape[1] != self.shape[0] * self.shape[1]:
            raise InputError(f"constraints have {A.shape[1]} columns; expected {self.shape}")
        self.U = F.T @ F
        self.U[np.diag_indices_from(self.U)] += ridge
        try:
            self.factor = cho_factor(self.U)
        except np.linalg.LinAlgError:
            raise InputError(
                "ridge is too small for these features: the system is singular; use a larger ridge"
            ) from None
        self.M = Y.T @ F
        self.A = A.tocsr()

    def inverse(self, X: np.ndarray) -> np.ndarray:
        """``X U^-1``."""
        from scipy.linalg import cho_solve

        return cho_solve(self.factor, X.T).T

    def penalty(self, X: np.ndarray) -> np.ndarray:
        """``sum_c <A_c, X> A_c``."""
        return (self.A.T @ (self.A @ X.ravel())).reshape(self.shape)


def solve_closed(F: np.ndarray, Y: np.ndarray, ridge: float, A: sp.csr_matrix) -> Solved:
    """Closed form: ``a = (Q + I)^-1 q``, ``W = (M - sum_c a_c A_c) U^-1``."""
    system = _System(F, Y, ridge, A)
    n_constraints = A.shape[0]
    n_outputs, p = system.shape
    Q = np.zeros((n_constraints, n_constraints))
    by_output = system.A.tocsc()
    for r in range(n_outputs):  # <A_c, A_d U^-1> is a sum over the outputs that both touch
        block = by_output[:, r * p : (r + 1) * p].tocsr()
        touched = np.flatnonzero(np.diff(block.indptr))
        if touched.size:
            rows = block[touched].toarray()
            Q[np.ix_(touched, touched)] += rows @ system.inverse(rows).T
    q = system.A @ system.inverse(system.M).ravel()
    a = np.linalg.solve(Q + np.eye(n_constraints), q)
    W = system.inverse(system.M - (system.A.T @ a).reshape(system.shape))
    return Solved(W)


def solve_cg(
    F: np.ndarray, Y: np.ndarray, ridge: float, A: sp.csr_matrix, tol: float = 1e-10, max_iter: int = 1000
) -> Solved:
    """Conjugate gradients on ``X U + sum_c <A_c, X> A_c = M``, preconditioned by ``U^-1``."""
    system = _System(F, Y, ridge, A)
    W = system.inverse(system.M)
    residual = -system.penalty(W)
    size = float(np.linalg.norm(system.M)) or 1.0
    step = better = system.inverse(residual)
    inner = float(np.vdot(residual, better))
    n_iter = 0
    while n_iter < max_iter and np.linalg.norm(residual) > tol * size and inner > 0:
        image = step @ system.U + system.penalty(step)
        length = inner / float(np.vdot(step, image))
        W = W + length * step
        residual = residual - length * image
        better = system.inverse(residual)
        inner, before = float(np.vdot(residual, better)), inner
        step = better + (inner / before) * step
        n_iter += 1
    return Solved(W, n_iter, float(np.linalg.norm(residual)) / size)


def power_bound(apply: Callable[[np.ndarray], np.ndarray], U: np.ndarray, start: np.ndarray) -> float:
    """Largest eigenvalue of ``P X = sum_c <A_c, X> A_c U^-1``, self-adjoint in ``tr(X U Y')``, by powers."""
    x, value = start, 0.0
    for _ in range(50):
        x = x / np.sqrt(max(float(np.vdot(x @ U, x)), 1e-300))
        image = apply(x)
        value, before = float(np.vdot(image @ U, x)), value
        if abs(value - before) <= 1e-6 * max(value, 1e-300):
            break
        x = image
        if not np.any(x):
            break
    return value


def solve_iteration(
    F: np.ndarray,
    Y: np.ndarray,
    ridge: float,
    A: sp.csr_matrix,
    step: float | None = None,
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> Solved:
    """The original iteration ``W <- (1 - s) W + s (M - sum_c <A_c, W> A_c) U^-1`` from ``M U^-1``.

    It converges for ``0 < s < 2 / (1 + l)``, l the largest eigenvalue of the constraints in the metric of
    U; without ``step`` it takes ``1 / (1 + 1.05 l)``, l by power steps.
    """
    system = _System(F, Y, ridge, A)
    start = system.inverse(system.M)
    if step is None:
        begin = np.random.default_rng(0).standard_normal(system.shape)
        top = power_bound(lambda x: system.inverse(system.penalty(x)), system.U, begin)
        step = 1.0 / (1.0 + 1.05 * top)
    W = start
    size = float(np.linalg.norm(start)) or 1.0
    n_iter, gap = 0, np.inf
    while n_iter < max_iter and gap > tol:
        move = start - system.inverse(system.penalty(W)) - W
        gap = float(np.linalg.norm(move)) / size
        if not np.isfinite(gap) or gap > 1e12:
            raise InputError(
                f"the iteration diverges with step {step:g}; use a smaller step, or None to have it chosen"
            )
        W = W + step * move
        n_iter += 1
    return Solved(W, n_iter, gap)


def solve_constraints(
    F: np.ndarray, Y: np.ndarray, ridge: float, A: Any, method: str = "auto", step: float | None = None
) -> Solved:
    """General constraints by the named method; "auto" takes the closed form while it is small."""
    A = sp.csr_matrix(A)
    if method == "auto":
        method = "closed" if A.shape[0] <= CLOSED_LIMIT else "cg"
    if method == "closed":
        return solve_closed(F, Y, ridge, A)
    if method == "cg":
        return solve_cg(F, Y, ridge, A)
    if method == "iteration":
        return solve_iteration(F, Y, ridge, A, step)
    raise InputError(f"constraint_solver must be auto, closed, cg or iteration, got {method!r}")
