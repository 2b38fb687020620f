"""Ridge regression with many outputs: dual, primal, paths of ridges, leave-one-out errors.

``K`` is a Gram matrix (n, n), ``F`` a feature matrix (n, p), ``Y`` the targets (n, q).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trelliswork._errors import InputError

__all__ = ["Path", "check_gram", "solve_definite", "solve_dual", "spectral_dual", "spectral_primal"]

_SYMMETRY = 1e-8


def check_gram(K: np.ndarray) -> np.ndarray:
    """A Gram matrix from outside: square, finite, symmetric up to rounding."""
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InputError(f"a precomputed Gram matrix must be square, got shape {K.shape}")
    if not np.isfinite(K).all():
        row = int(np.flatnonzero(~np.isfinite(K).all(axis=1))[0])
        raise InputError("its row of the Gram matrix holds NaN or infinity", sample=row)
    gap = np.abs(K - K.T)
    if gap.max(initial=0.0) > _SYMMETRY * max(np.abs(K).max(initial=0.0), 1e-300):
        i, j = np.unravel_index(int(gap.argmax()), K.shape)
        raise InputError(
            f"the Gram matrix is not symmetric, k({i}, {j}) = {K[i, j]:g} but k({j}, {i}) = {K[j, i]:g}",
            sample=i,
        )
    return K


def solve_definite(A: np.ndarray, B: np.ndarray) -> np.ndarray | None:
    """``A^-1 B`` by Cholesky; None where A is not positive definite up to rounding.

    The lower triangle and the diagonal of the C-ordered, symmetric ``A`` are overwritten: it is its own
    transpose, so LAPACK works in place and nothing is copied.
    """
    from scipy.linalg import lapack  # slow to import

    if not A.size or not B.size:
        return np.zeros(B.shape)
    factor, info = lapack.dpotrf(A.T, lower=False, overwrite_a=True, clean=False)
    pivots = factor.diagonal() ** 2
    if info or pivots.min() <= len(A) * np.finfo(float).eps * pivots.max():
        return None
    solved, _ = lapack.dpotrs(factor, B, lower=False)
    return np.ascontiguousarray(solved)


def solve_dual(K: np.ndarray, Y: np.ndarray, ridge: float) -> np.ndarray:
    """Coefficients ``(K + ridge I)^-1 Y``; ``K`` is overwritten.

    With ``ridge = 0`` and a singular matrix this is the least-norm solution. A matrix with a
    negative eigenvalue beyond ``ridge`` is no Gram matrix and refused.
    """
    K = np.ascontiguousarray(K)
    diagonal = K.diagonal().copy()
    K[np.diag_indices_from(K)] += ridge
    solution = solve_definite(K, Y)
    if solution is not None:
        return solution
    K = np.triu(K, 1)  # what the factorisation has left as it was
    K += K.T
    K[np.diag_indices_from(K)] = diagonal
    return spectral_dual(K, Y, np.array([ridge])).solve(0)


class Path(NamedTuple):
    """One decomposition that answers for every ridge.

    Attributes
    ----------
    basis : ndarray of shape (n, r)
        Orthonormal columns.
    values : ndarray of shape (r,)
        Eigenvalues of the Gram matrix.
    rotated : ndarray of shape (r, q)
        ``basis.T @ Y``.
    back : ndarray of shape (p, r)
        From rotated solutions to coefficients.
    ridges : ndarray
        The values of the path.
    targets : ndarray of shape (n, q)
        ``Y``.
    """

    basis: np.ndarray
    values: np.ndarray
    rotated: np.ndarray
    back: np.ndarray
    ridges: np.ndarray
    targets: np.ndarray

    def solve(self, i: int) -> np.ndarray:
        """Coefficients for ridge ``i``."""
        return self.back @ (self.rotated / (self.values + self.ridges[i])[:, None])

    def loo(self, i: int) -> np.ndarray:
        """Leave-one-out residuals (n, q): what each sample is missed by when it is left out."""
        shrink = self.values / (self.values + self.ridges[i])
        hat = np.einsum("ij,j,ij->i", self.basis, shrink, self.basis)
        residual = self.targets - self.basis @ (shrink[:, None] * self.rotated)
        return residual / np.maximum(1.0 - hat, 1e-12)[:, None]


def spectral_dual(K: np.ndarray, Y: np.ndarray, ridges: np.ndarray) -> Path:
    """Decompose a Gram matrix once; coefficients of the path are those of the samples."""
    values, vectors = np.linalg.eigh(K)
    top = max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
    noise = top * len(K) * np.finfo(float).eps
    if values.size and values[0] < -max(noise, 1e-8 * top) and values[0] + float(np.min(ridges)) <= noise:
        raise InputError(
            f"the Gram matrix is not positive semi-definite: its least eigenvalue is {values[0]:.4g}; use a "
            f"positive definite kernel, or a ridge above {-values[0]:.4g}"
        )
    good = values + float(np.min(ridges)) > noise  # at ridge 0: the least-norm solution
    basis = vectors[:, good]
    return Path(basis, values[good], basis.T @ Y, basis, np.asarray(ridges, dtype=float), np.asarray(Y))


def spectral_primal(F: np.ndarray, Y: np.ndarray, ridges: np.ndarray) -> Path:
    """Decompose a feature matrix once; coefficients of the path are those of the features."""
    left, singular, right = np.linalg.svd(F, full_matrices=False)
    top = max(float(singular.max(initial=0.0)), np.finfo(float).tiny)
    good = singular > top * max(F.shape) * np.finfo(float).eps
    basis, singular = left[:, good], singular[good]
    back = right[good].T * singular
    return Path(
        basis, singular**2, basis.T @ Y, back, np.asarray(ridges, dtype=float), np.asarray(Y, dtype=float)
    )
