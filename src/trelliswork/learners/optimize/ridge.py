"""Solve ``(M + lam I) x = b`` for a positive semidefinite M, whatever its size and rank."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from trelliswork._errors import InputError, convergence_warning
from trelliswork.learners.base import warn_interrupted
from trelliswork.learners.optimize.stops import StopReason
from trelliswork.structures.covariance import check_dense

__all__ = ["SOLVERS", "Matrix", "Ridge", "SecondMoment", "conjugate_gradients"]

SOLVERS = ("auto", "direct", "cholesky", "cg")
Preconditioner = Callable[[np.ndarray, np.ndarray], object]
_POOR = 1e-6  # residual above which a direct solution is not trusted


class SecondMoment(Protocol):
    """What the solver asks of a matrix; see :class:`trelliswork.structures.covariance.Covariance`."""

    exact_diagonal: bool

    @property
    def max_dense(self) -> int:
        """Number of features up to which the matrix is cheaper than products with it."""

    @property
    def n_features(self) -> int:
        """Order of the matrix."""

    def product(self, v: np.ndarray) -> np.ndarray:
        """The matrix times a vector."""

    def diagonal(self) -> np.ndarray:
        """Its diagonal, exact or estimated."""

    def dense(self) -> np.ndarray:
        """The matrix as an array."""

    def direct(self, lam: float) -> Any:
        """A direct solver for the matrix plus ``lam`` times the identity, or None."""

    def preconditioner(self, lam: float) -> Preconditioner | None:
        """An approximate inverse, or None."""


class Matrix:
    """A given dense matrix as a second moment.

    Parameters
    ----------
    values : ndarray of shape (n_features, n_features)
        The matrix.
    """

    exact_diagonal = True

    def __init__(self, values: np.ndarray):
        self.values = values
        self.max_dense = values.shape[0]

    @property
    def n_features(self) -> int:
        """Order of the matrix."""
        return self.values.shape[0]

    def product(self, v: np.ndarray) -> np.ndarray:
        """Matrix times vector."""
        return self.values @ v

    def diagonal(self) -> np.ndarray:
        """Its diagonal."""
        return self.values.diagonal()

    def dense(self) -> np.ndarray:
        """The matrix itself."""
        return self.values

    def direct(self, lam: float) -> Any:
        """No other form is known."""
        return None

    def preconditioner(self, lam: float) -> Preconditioner | None:
        """The diagonal does."""
        return None


class Ridge:
    """A system ``(M + lam I) x = b`` that is prepared once and solved for several ``b``.

    Parameters
    ----------
    moment : SecondMoment
        M, as a matrix or as an operator.
    lam : float
        Ridge; 0 gives a least-norm or least-squares solution.
    solver : {"auto", "direct", "cholesky", "cg"}
        "auto" takes the first that fits: the structure's own direct solver, Cholesky for
        small M, conjugate gradients.
    tol : float
        Residual, relative to ``b``, at which conjugate gradients stop.
    max_iter : int or None
        Maximum number of their iterations; None is ``1000 + 10 sqrt(d)``.

    Attributes
    ----------
    said : dict
        Solver, relative residual and iterations of the last solution.
    stop : StopReason
        How the last solution ended; "interrupted" if any of them was.
    """

    def __init__(
        self,
        moment: SecondMoment,
        lam: float,
        *,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int | None = None,
    ):
        self.moment, self.lam, self.tol = moment, lam, tol
        d = moment.n_features
        self.max_iter = int(1000 + 10 * np.sqrt(d)) if max_iter is None else max_iter
        self.said: dict[str, Any] = {}
        self.stop: StopReason = "converged"
        self._warned = False
        self._preconditioner: Preconditioner | None = None
        self._solve: Callable[[np.ndarray], np.ndarray] | None = None
        self.name = "cg"
        if solver in ("auto", "direct"):
            self._solve, self.name = moment.direct(lam), "direct"
            if self._solve is None and solver == "direct":
                raise InputError(
                    "solver='direct' needs a chain with one symbol per token, or classes with at most 3,000 "
                    "attributes, uniform reference and exact moments; use solver='auto'"
                )
        if self._solve is None:
            small = solver == "auto" and d <= moment.max_dense
            self.name = "cholesky" if small or solver == "cholesky" else "cg"
            if self.name == "cholesky":
                check_dense(d)
                self._factor(moment.dense())

    def _factor(self, matrix: np.ndarray) -> None:
        import scipy.linalg as la  # slow to import

        if not np.isfinite(matrix).all():
            raise InputError("the moments overflow; scale the features down")
        try:
            factor = la.cho_factor(matrix + self.lam * np.eye(matrix.shape[0]))
        except la.LinAlgError:
            pass
        else:
            self._solve = lambda b: la.cho_solve(factor, b)
            return
        values, vectors = la.eigh(matrix)
        cut = np.finfo(float).eps * values.size * max(float(values[-1]), 0.0) if values.size else 0.0
        shifted = np.where(values > cut, values, 0.0) + self.lam
        inverse = np.where(shifted > cut, 1.0 / np.where(shifted > cut, shifted, 1.0), 0.0)
        self.name = "eigenvalues"
        self._solve = lambda b: vectors @ (inverse * (vectors.T @ b))

    def product(self, x: np.ndarray) -> np.ndarray:
        """``(M + lam I) x``."""
        out = self.moment.product(x)
        out += self.lam * x
        return out

    def solve(self, b: np.ndarray, *, loose: bool = False, overwrite: bool = False) -> np.ndarray:
        """Solution for one right-hand side; always finite.

        ``loose`` takes the root of the tolerance; ``overwrite`` may use ``b`` for something else.
        """
        norm = float(np.linalg.norm(b))
        if norm == 0.0:
            self.said = {"solver": self.name, "residual": 0.0}
            return np.zeros_like(b)
        if self._solve is not None:
            x = self._solve(b)
            residual = float(np.linalg.norm(self.product(x) - b)) / norm
            if np.isfinite(residual) and residual <= _POOR:
                self.said = {"solver": self.name, "residual": residual}
                return x
            # Too close to singular for elimination; iterations stay in the range of M.
        if self._preconditioner is None:
            self._preconditioner = self.moment.preconditioner(self.lam) or self._jacobi()
        tol = float(np.sqrt(self.tol)) if loose else self.tol
        solved = conjugate_gradients(
            self.product,
            b,
            self._preconditioner,
            tol=tol,
            max_iter=self.max_iter,
            keep_best=self.lam == 0.0,
            overwrite=overwrite,
        )
        residual = solved.residual / norm
        self.said = {"solver": "cg", "residual": residual, "cg_iterations": solved.n_iter}
        if self.stop != "interrupted":
            self.stop = solved.stop
        if solved.stop == "max_iter":
            self._warn(residual, tol)
        return solved.x

    def _warn(self, residual: float, tol: float) -> None:
        """Tell once that conjugate gradients were cut short, and what helps."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"conjugate gradients stopped after max_iter={self.max_iter} iterations at a relative "
                f"residual of {residual:.2g}, above {tol:.2g}; raise max_iter, tol or the ridge reg",
                convergence_warning(),
                stacklevel=3,
            )

    def _jacobi(self) -> Preconditioner:
        diagonal = np.maximum(self.moment.diagonal(), 0.0) + self.lam
        smallest = 1e-12 * float(diagonal.max(initial=0.0))
        inverse = np.where(diagonal > smallest, 1.0 / np.maximum(diagonal, 1e-300), 0.0)
        if not inverse.any():
            inverse[:] = 1.0
        return lambda r, out: np.multiply(inverse, r, out=out)


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    # Not by BLAS: its threads cost more than they bring here, and change the last bits with their number.
    return float(np.einsum("i,i->", a, b))


class Solved(NamedTuple):
    """Where conjugate gradients ended.

    Attributes
    ----------
    x : ndarray
        Solution.
    residual : float
        Norm of its residual.
    n_iter : int
        Iterations made.
    stop : StopReason
        Why they stopped.
    """

    x: np.ndarray
    residual: float
    n_iter: int
    stop: StopReason


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    b: np.ndarray,
    preconditioner: Preconditioner,
    *,
    tol: float,
    max_iter: int,
    keep_best: bool = False,
    overwrite: bool = False,
) -> Solved:
    """Preconditioned conjugate gradients from zero for a positive semidefinite matrix.

    Parameters
    ----------
    product : callable
        The matrix times a vector.
    b : ndarray
        Right-hand side, in the range of the matrix.
    preconditioner : callable
        Writes an approximate inverse times its first argument into its second.
    tol : float
        Stop when the residual falls to this part of ``b``.
    max_iter : int
        Maximum number of iterations.
    keep_best : bool, default=False
        Whether to return the iterate with the smallest residual: on a singular matrix rounding may
        drive the last ones away. Else the last one, which is closest to the solution.
    overwrite : bool, default=False
        Whether ``b`` may be used for the residual.
    """
    x = np.zeros_like(b)
    r = b if overwrite else b.copy()
    z = np.empty_like(b)
    preconditioner(r, z)
    p = z.copy()
    rz = _dot(r, z)
    norm = best = np.sqrt(_dot(b, b))
    target = tol * norm
    best_x = x.copy() if keep_best else x
    n_iter, interrupted = 0, False
    try:
        for n_iter in range(1, max_iter + 1):
            q = product(p)
            curvature = _dot(p, q)
            if not curvature > 0.0:  # only null directions are left
                n_iter -= 1
                break
            alpha = rz / curvature
            x += alpha * p
            q *= alpha
            r -= q
            del q  # the next product needs the place
            norm = np.sqrt(_dot(r, r))
            if keep_best and norm < best:
                best = norm
                best_x[:] = x
            if not np.isfinite(norm) or norm <= target:
                break
            preconditioner(r, z)
            rz_new = _dot(r, z)
            if rz_new == 0.0:
                break
            p *= rz_new / rz
            p += z
            rz = rz_new
    except KeyboardInterrupt:
        interrupted = True
        warn_interrupted(f"conjugate gradients after {n_iter - 1} iterations")
    x, residual = (best_x, best) if keep_best else (x, norm)
    stop: StopReason = "interrupted" if interrupted else "converged" if residual <= target else "no progress"
    if stop == "no progress" and n_iter >= max_iter:
        stop = "max_iter"
    return Solved(x, residual, n_iter, stop)
