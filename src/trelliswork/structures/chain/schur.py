"""Direct solver for ``(C + lam I) v = r`` of a chain under the uniform law.

The emission block of C is ``(P / K) (x) G``, G = sum of f f': the same D x D matrix for every
label, and it meets the transitions in two vectors only, the sums of f over the tokens that
a transition leaves and enters. With ``A = G / K + lam I`` solved for these two and for the
right-hand side, what remains is a system of K^2 unknowns.

A is easily solved when G is diagonal but for a few columns: one symbol per token (a hidden
Markov model's features) and start, end and unknown markers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork.structures.elimination import Solver, factored, symmetric_solve

if TYPE_CHECKING:
    from trelliswork.structures.chain.space import ChainSpace
    from trelliswork.structures.chain.uniform import UniformChain

__all__ = ["SchurSums", "schur_solver", "schur_sums"]


class _Gram(NamedTuple):
    """``A = G / K + lam I`` as a diagonal and a few full columns at its end."""

    diagonal: np.ndarray
    border: np.ndarray  # (n_symbols, n_markers)
    corner: np.ndarray

    def solve(self, r: np.ndarray) -> np.ndarray:
        """Solution for every column of ``r``; of least effort where A is singular."""
        n = self.diagonal.size
        inverse = _reciprocal(self.diagonal)[:, None]
        top = inverse * r[:n]
        if not self.corner.size:
            return top
        across = inverse * self.border
        low = symmetric_solve(self.corner - self.border.T @ across, r[n:] - self.border.T @ top)
        return np.concatenate([top - across @ low, low])


def _reciprocal(x: np.ndarray) -> np.ndarray:
    small = x <= np.finfo(float).eps * x.max(initial=0.0)
    return np.where(small, 0.0, 1.0 / np.where(small, 1.0, x))


class SchurSums(NamedTuple):
    """What the solver is made of; sums over samples.

    Attributes
    ----------
    squares : ndarray of shape (n_symbols,)
        Diagonal of G for symbols.
    border, corner : ndarray
        Its rows and its block for markers.
    ends : ndarray of shape (n_attributes, 2)
        Sums of f over the tokens that a transition leaves, and enters.
    pairs, triples : float
        Pairs and triples of neighbouring tokens.
    """

    squares: np.ndarray
    border: np.ndarray
    corner: np.ndarray
    ends: np.ndarray
    pairs: float
    triples: float


def schur_sums(chain: UniformChain) -> SchurSums | None:
    """Sums for :func:`schur_solver`; None where G has no such form."""
    batch, space = chain.batch, chain.batch.space
    k, n_real = space.n_labels, len(space.attributes)
    if batch.edge is not None or space.emission_layout.flat is not None or k > batch.limits.direct_labels:
        return None
    if batch.emission.counts(n_real).max(initial=0) > 1:  # before a matrix of the size of the data is made
        return None
    f = batch.emission.token_matrix()
    symbols = f[:, :n_real]
    symbols.eliminate_zeros()
    if np.diff(symbols.indptr).max(initial=0) > 1:
        return None
    weight = chain.token_weights()
    markers = f[:, n_real:].toarray() * weight[:, None]
    squares = sp.csr_matrix((symbols.data**2, symbols.indices, symbols.indptr), symbols.shape)
    inner = chain._inner()
    leaves = np.append(inner[1:], np.zeros(min(1, inner.size)))
    return SchurSums(
        squares.T @ weight,
        np.asarray(symbols.T @ markers),
        np.asarray(f[:, n_real:].T @ markers),
        np.stack([f.T @ (weight * leaves), f.T @ (weight * inner)], axis=1),  # lo, hi
        *chain._steps(),
    )


def schur_solver(space: ChainSpace, sums: SchurSums, lam: float) -> Solver:
    """Solver for the covariance about the mean plus ``lam``."""
    k, ends = space.n_labels, sums.ends
    gram = _Gram(
        sums.squares / k + lam, sums.border / k, sums.corner / k + lam * np.eye(sums.corner.shape[0])
    )
    solved = gram.solve(ends)
    core = _transition_core(k, sums.pairs, sums.triples) + lam * np.eye(k * k)
    core -= _eliminated(k, ends.T @ solved)
    factor = factored(core)

    def solve(r: np.ndarray) -> np.ndarray:
        columns = r if r.ndim == 2 else r[:, None]
        n = columns.shape[1]
        emission = columns[: space.n_emissions].reshape(-1, k, n)
        mean = emission.mean(axis=1, keepdims=True)  # C knows nothing of what all labels share
        y = gram.solve((emission - mean).reshape(emission.shape[0], -1))
        pulled = np.tensordot(ends, y.reshape(-1, k, n), axes=(0, 0)) / k**2  # (2, k, n)
        rest = columns[space.n_emissions :].reshape(k, k, n) - pulled[0][:, None] - pulled[1][None, :]
        trans = factor(rest.reshape(k * k, n)).reshape(k, k, n)
        sides = np.stack([trans.sum(axis=1), trans.sum(axis=0)])  # row sums, column sums
        sides -= sides.mean(axis=1, keepdims=True)
        v = y.reshape(-1, k, n) - np.einsum("qe,epn->qpn", solved, sides) / k**2
        if lam > 0:
            v = v + mean / lam
        out = np.concatenate([v.reshape(-1, n), trans.reshape(k * k, n)])
        return out if r.ndim == 2 else out[:, 0]

    return solve


def _transition_core(k: int, m1: float, m2: float) -> np.ndarray:
    """The block TT, rows and columns (from, to)."""
    eye, flat = np.eye(k), np.ones((k, k))
    same = np.einsum("pP,zZ->pzPZ", eye, eye) / k**2 - 1.0 / k**4
    chained = np.einsum("zP,pZ->pzPZ", eye, flat) / k**3 - 1.0 / k**4
    return (m1 * same + m2 * (chained + chained.transpose(2, 3, 0, 1))).reshape(k * k, k * k)


def _eliminated(k: int, products: np.ndarray) -> np.ndarray:
    """What emissions take from TT; ``products`` are lo, hi times their solutions."""
    centre, flat = np.eye(k) - 1.0 / k, np.ones((k, k))
    out = products[0, 0] * np.einsum("pP,zZ->pzPZ", centre, flat)
    out = out + products[0, 1] * np.einsum("pZ,zP->pzPZ", centre, flat)
    out = out + products[1, 0] * np.einsum("zP,pZ->pzPZ", centre, flat)
    out = out + products[1, 1] * np.einsum("zZ,pP->pzPZ", centre, flat)
    return out.reshape(k * k, k * k) / k**4
