"""Systems of linear equations by elimination, where their matrix has a form that makes it cheap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

__all__ = ["Solver", "factored", "symmetric_solve", "woodbury"]

_COLUMNS = 32  # that are solved for at a time: elimination needs several copies of them

Solver = Callable[[np.ndarray], np.ndarray]


def symmetric_solve(matrix: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Least-squares solution for a positive semidefinite matrix."""
    import scipy.linalg as la  # slow to import

    matrix = (matrix + matrix.T) / 2
    try:
        return la.cho_solve(la.cho_factor(matrix), r)
    except la.LinAlgError:
        values, vectors = la.eigh(matrix)
        cut = np.finfo(float).eps * values.size * max(float(values[-1]), 0.0)
        inverse = np.where(values > cut, 1.0 / np.where(values > cut, values, 1.0), 0.0)
        return (
            vectors @ (inverse[:, None] * (vectors.T @ r))
            if r.ndim == 2
            else vectors @ (inverse * (vectors.T @ r))
        )


def factored(matrix: np.ndarray) -> Solver:
    """Solver for a symmetric positive semidefinite matrix, which is decomposed once."""
    import scipy.linalg as la  # slow to import

    matrix = (matrix + matrix.T) / 2
    try:
        factor = la.cho_factor(matrix)
    except la.LinAlgError:
        return lambda r: symmetric_solve(matrix, r)
    return lambda r: la.cho_solve(factor, r)


def woodbury(solve: Solver, b: sp.csr_matrix, max_floats: int) -> Solver | None:
    """Solver for ``H + b' b`` from one for H; None where ``b`` has over ``max_floats`` entries."""
    b = b[np.diff(b.indptr) > 0]  # samples with one output only say nothing
    n, d = b.shape
    if n == 0:
        return solve
    if n * d > max_floats:
        return None
    z = np.empty((d, n))
    for first in range(0, n, _COLUMNS):
        z[:, first : first + _COLUMNS] = solve(b[first : first + _COLUMNS].T.toarray())
    small = np.eye(n) + np.asarray(b @ z)
    factor = factored(small)

    def both(r: np.ndarray) -> np.ndarray:
        y = solve(r)
        return y - z @ factor(np.asarray(b @ y))

    return both
