"""Low-rank approximations of Gram matrices: which few training samples stand for all.

Nothing here forms the whole matrix: ``columns(j)`` gives the similarities of all samples
with the samples ``j``, as an array of shape (n_samples, len(j)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ["Basis", "Nystrom", "greedy_basis", "nystrom", "pivoted_cholesky", "random_basis"]

Columns = Callable[[np.ndarray], np.ndarray]
_DEPENDENT = 1e-12  # a column that keeps less than this share of its size adds nothing but noise


class Basis(NamedTuple):
    """Chosen samples.

    Attributes
    ----------
    chosen : int array of shape (n_basis,)
        Their numbers, in the order of choice.
    columns : ndarray of shape (n_samples, n_basis)
        Similarities of all samples with them.
    """

    chosen: np.ndarray
    columns: np.ndarray


def pivoted_cholesky(
    columns: Columns, diagonal: np.ndarray, n_basis: int, tol: float = 0.0
) -> tuple[Basis, np.ndarray]:
    """Incomplete Cholesky factor with the largest remaining diagonal as the pivot.

    Parameters
    ----------
    columns : function
        Columns of the Gram matrix.
    diagonal : ndarray of shape (n_samples,)
        Its diagonal.
    n_basis : int
        Largest rank.
    tol : float
        Stop when the trace of what is left falls below ``tol`` times the whole trace.

    Returns
    -------
    basis : Basis
        The pivots.
    factor : ndarray of shape (n_samples, rank)
        ``factor @ factor.T`` is the approximation.
    """
    left = np.array(diagonal, dtype=np.float64)
    n, total, top = left.size, float(left.sum()), float(left.max(initial=0.0))
    rank = min(n_basis, n)
    factor = np.zeros((n, rank), order="F")
    kept = np.zeros((n, rank), order="F")
    index = np.empty(rank, dtype=np.int64)
    for k in range(rank):
        j = int(np.argmax(left))
        if left[j] <= _DEPENDENT * top or left.sum() <= tol * total:
            rank = k
            break
        column = columns(np.array([j]))[:, 0]
        kept[:, k], index[k] = column, j
        new = column - factor[:, :k] @ factor[j, :k]
        new /= np.sqrt(left[j])
        new[index[:k]] = 0.0
        factor[:, k] = new
        left -= new * new
        np.maximum(left, 0.0, out=left)
        left[index[: k + 1]] = 0.0
    return Basis(index[:rank], kept[:, :rank]), factor[:, :rank]


def greedy_basis(columns: Columns, targets: np.ndarray, n_basis: int, ridge: float) -> Basis:
    """Basis functions by the largest residual, all outputs refitted after each choice.

    With the Cholesky factor R of ``K_S* K_*S + ridge K_SS``, the fitted values are ``V V' Y``,
    ``V = K_*S R^-1``: a new sample adds one column to R and V, so that n choices cost
    O(n^2 m + n m n_outputs) and no system is solved twice.

    Parameters
    ----------
    columns : function
        Columns of the Gram matrix.
    targets : ndarray of shape (n_samples, n_outputs)
        What is to be fitted.
    n_basis : int
        Number of basis functions.
    ridge : float
        Penalty on the squared norm of the functions.
    """
    from scipy.linalg import solve_triangular  # slow to import

    residual = np.array(targets, dtype=np.float64)
    n = len(residual)
    rank = min(n_basis, n)
    kept = np.zeros((n, rank), order="F")
    V = np.zeros((n, rank), order="F")
    R = np.zeros((rank, rank))
    index = np.empty(rank, dtype=np.int64)
    open_ = np.ones(n, dtype=bool)
    k = 0
    size = np.einsum("ij,ij->i", residual, residual)
    while k < rank and open_.any():
        j = int(np.argmax(np.where(open_, size, -1.0)))
        open_[j] = False
        column = columns(np.array([j]))[:, 0]
        cross = kept[:, :k].T @ column + ridge * column[index[:k]]
        whole = float(column @ column + ridge * column[j])
        u = solve_triangular(R[:k, :k], cross, trans="T", check_finite=False) if k else cross
        rest = whole - float(u @ u)
        if rest <= _DEPENDENT * max(whole, np.finfo(float).tiny):
            continue  # it is a combination of those already there
        root = np.sqrt(rest)
        R[:k, k], R[k, k] = u, root
        V[:, k] = (column - V[:, :k] @ u) / root
        kept[:, k], index[k] = column, j
        residual -= np.outer(V[:, k], V[:, k] @ targets)
        size = np.einsum("ij,ij->i", residual, residual)
        k += 1
    return Basis(index[:k], kept[:, :k])


def random_basis(columns: Columns, n_samples: int, n_basis: int, rng: np.random.Generator) -> Basis:
    """Samples at random, without repetition."""
    index = np.sort(rng.choice(n_samples, size=min(n_basis, n_samples), replace=False))
    return Basis(index, columns(index))


class Nystrom(NamedTuple):
    """Explicit features of a basis.

    Attributes
    ----------
    features : ndarray of shape (n_samples, rank)
        ``features @ features.T`` approximates the Gram matrix.
    back : ndarray of shape (n_basis, rank)
        Weights of the features as coefficients of the basis functions.
    """

    features: np.ndarray
    back: np.ndarray


def nystrom(basis: Basis) -> Nystrom:
    """Orthonormal features in the span of basis functions, without directions that are noise."""
    square = basis.columns[basis.chosen]
    values, vectors = np.linalg.eigh(0.5 * (square + square.T))
    good = values > _DEPENDENT * max(float(values.max(initial=0.0)), np.finfo(float).tiny)
    back = vectors[:, good] / np.sqrt(values[good])
    return Nystrom(basis.columns @ back, back)
