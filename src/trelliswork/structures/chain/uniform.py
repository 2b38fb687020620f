"""Moments of label chains under the uniform law over all label sequences, in closed form.

Without constraints the labels of a uniform sequence are independent, so means and
covariances need no recursion. Let ``f`` be the features of a token, ``g`` those of a pair,
K the number of labels, P = I - 11'/K, and sums run over tokens::

    EE = (P / K) (x) sum f f'                      ET, TT: sums of f over the tokens that a
    XX, EX: sums of g g', g g(next)', f g'         transition leaves (lo) and enters (hi)

Start, end and unknown markers are columns of ``f`` like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork.structures.base import Parts
from trelliswork.structures.chain.schur import SchurSums, schur_solver, schur_sums
from trelliswork.structures.chain.sums import TokenSums
from trelliswork.structures.elimination import Solver

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch

__all__ = ["UniformChain", "is_free"]


def is_free(batch: ChainBatch) -> bool:
    """Whether every label sequence of an order-1 chain is allowed."""
    space = batch.space
    limited = batch.allowed is not None or space.start_mask is not None or space.end_mask is not None
    return space.order == 1 and space.everything_allowed and not limited


class UniformChain(TokenSums):
    """Uniform law over all label sequences of an order-1 chain, in closed form."""

    exact_diagonal = True

    def most_dense(self, size: float) -> int:
        """Number of features up to which the matrix, in closed form, is cheaper than products with it."""
        return self.batch.limits.uniform_matrix_features

    # -- marginals and tangents of parts ---------------------------------------------------

    def marginals(self, *, weighted: bool = True, each: bool = False) -> Parts:
        """1/K per label and 1/K^2 per transition."""
        batch, k = self.batch, self.batch.space.n_labels
        weight = self.sample_weights if weighted else np.ones(len(batch))
        lengths = np.diff(batch.offsets)
        steps = weight * np.maximum(lengths - 1, 0) / k**2
        trans = np.broadcast_to(steps[:, None, None], (len(batch), k, k))
        edge = None
        if batch.edge is not None:
            inner = self._inner() * (np.repeat(weight, lengths) / k**2)
            edge = np.broadcast_to(inner[:, None, None], (batch.n_tokens, k, k)).copy()
        unary = np.repeat(weight / k, lengths)[:, None] * np.ones(k)
        return Parts(unary=unary, trans=trans.copy() if each else trans.sum(axis=0), edge=edge)

    def _inner(self) -> np.ndarray:
        """1 for tokens that have a token before them."""
        inner = np.ones(self.batch.n_tokens)
        filled = np.diff(self.batch.offsets) > 0
        inner[self.batch.offsets[:-1][filled]] = 0.0
        return inner

    def tangent(self, direction: Parts, *, weighted: bool = True, each: bool = False) -> Parts:
        """Covariance of every part with a direction: conditional means, centred."""
        batch, k = self.batch, self.batch.space.n_labels
        lengths = np.diff(batch.offsets)
        weight = self.sample_weights if weighted else np.ones(len(batch))
        unary = np.zeros((batch.n_tokens, k)) if direction.unary is None else direction.unary
        u = unary - unary.mean(axis=1, keepdims=True)
        trans = np.zeros((k, k)) if direction.trans is None else direction.trans
        trans = trans[None] if trans.ndim == 2 else trans
        which = np.repeat(np.arange(len(batch)) * (trans.shape[0] > 1), lengths)
        if batch.edge is not None:
            pairs = trans[which] if direction.edge is None else trans[which] + direction.edge
            return self._pair_tangent(u, pairs, np.repeat(weight, lengths), each)
        trans = trans - trans.mean(axis=(1, 2), keepdims=True)
        into, out_of = trans.mean(axis=1), trans.mean(axis=2)  # given the second, given the first label
        inner = self._inner()
        leaves = np.append(inner[1:], np.zeros(min(1, batch.n_tokens)))
        before, after = self._sums_over(leaves, weight, u), self._sums_over(inner, weight, u)
        if direction.trans is not None:
            u += inner[:, None] * into[which]
            u += leaves[:, None] * out_of[which]
        u *= np.repeat(weight / k, lengths)[:, None]
        m1 = (weight * np.maximum(lengths - 1, 0))[:, None, None]
        m2 = (weight * np.maximum(lengths - 2, 0))[:, None, None]
        if not each and trans.shape[0] == 1:
            before, after, m1, m2 = (x.sum(axis=0, keepdims=True) for x in (before, after, m1, m2))
        moved = before[:, :, None] + after[:, None, :] + m1 * trans
        moved += m2 * (into[:, :, None] + out_of[:, None, :])
        moved /= k**2
        return Parts(unary=u, trans=moved if each else moved.sum(axis=0), edge=None)

    def _sums_over(self, tokens: np.ndarray, weight: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Sums over the tokens of each sequence, times a factor per token and per sequence."""
        batch = self.batch
        factors = np.repeat(weight, np.diff(batch.offsets)) * tokens
        shape = (len(batch), batch.n_tokens)
        return sp.csr_matrix((factors, np.arange(batch.n_tokens), batch.offsets), shape) @ values

    def _pair_tangent(self, u: np.ndarray, pairs: np.ndarray, weight: np.ndarray, each: bool) -> Parts:
        """The same with one table per pair of tokens."""
        batch, k, inner = self.batch, self.batch.space.n_labels, self._inner()
        pairs = pairs * inner[:, None, None]
        pairs -= pairs.mean(axis=(1, 2), keepdims=True)
        into, out_of = pairs.mean(axis=1), pairs.mean(axis=2)
        follow = np.zeros_like(u)  # what the next transition adds, given the label
        follow[:-1] = out_of[1:] * inner[1:, None]
        h = u + into + follow
        moved = pairs + (u + follow)[:, None, :]
        moved[1:] += (u + into)[:-1, :, None]
        moved *= (inner * weight / k**2)[:, None, None]
        owner = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))
        trans = np.zeros((len(batch), k, k))
        np.add.at(trans, owner, moved)
        return Parts(unary=h * (weight / k)[:, None], trans=trans if each else trans.sum(axis=0), edge=moved)

    def _sweep(self, *arguments: Any) -> None:
        from trelliswork.dp.chain import covariance

        covariance.uniform_product(*arguments)

    def _label_spread(self) -> np.ndarray:
        k = self.batch.space.n_labels
        return float(self.token_weights().sum()) * (np.eye(k) - 1.0 / k) / k

    # -- matrices ---------------------------------------------------------------------------

    def deviation(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Weighted sum of gold less mean features; one array of the size of the data."""
        if self.batch.edge is not None:
            return super().deviation(weights)
        k, lengths = self.batch.space.n_labels, np.diff(self.batch.offsets)
        weights = self.sample_weights if weights is None else weights
        parts = self.batch.indicators(self.batch.gold_codes, weights)
        unary = parts.unary
        unary -= np.repeat(weights / k, lengths)[:, None]
        steps = float(weights @ np.maximum(lengths - 1, 0))
        return self.batch.pull(Parts(unary=unary, trans=parts.trans - steps / k**2, edge=None))

    def diagonal_sum(self) -> np.ndarray:
        """Exact diagonal of the covariance."""
        batch, k = self.batch, self.batch.space.n_labels
        weight = self.token_weights()
        emissions = self._squares((weight * (k - 1) / k**2)[:, None])
        pieces = [batch.emission.layout.gather(np.repeat(emissions, k, axis=1))]
        if batch.edge is not None:
            s0, s1, _, _ = self._pair_sums(batch.edge.token_matrix())
            pieces.append(batch.edge.layout.gather(_pair_diagonal(k, s0.diagonal(), s1.diagonal())))
        m1, m2 = self._steps()
        pieces.append(batch.space.ngram_matrix.T @ _pair_diagonal(k, np.array([m1]), np.array([m2])).ravel())
        return np.concatenate(pieces)

    def direct_sums(self) -> SchurSums | None:
        """Sums for one symbol per token; else None."""
        return schur_sums(self)

    def _about_mean(self, sums: SchurSums) -> Callable[[float], Solver]:
        return partial(schur_solver, self.batch.space, sums)

    def _steps(self) -> tuple[float, float]:
        lengths = np.diff(self.batch.offsets)
        weight = self.sample_weights
        return float(weight @ np.maximum(lengths - 1, 0)), float(weight @ np.maximum(lengths - 2, 0))

    def _pair_sums(self, g: sp.csr_matrix) -> tuple[sp.csr_matrix, sp.csr_matrix, Any, Any]:
        """Weighted sums of g g', g g(next)', f(before) g' and f g' over the pairs of tokens."""
        f, inner, weight = self.batch.emission.token_matrix(), self._inner(), self.token_weights()
        tokens = np.flatnonzero(inner)
        middle = tokens[inner[tokens - 1] > 0]  # the pair before is in the same sequence
        w = sp.diags_array(weight[tokens]).tocsr()
        s0 = g[tokens].T @ w @ g[tokens]
        s1 = g[middle - 1].T @ sp.diags_array(weight[middle]).tocsr() @ g[middle]
        return s0, s1, f[tokens - 1].T @ w @ g[tokens], f[tokens].T @ w @ g[tokens]

    def _covariance(self) -> np.ndarray:
        """EE, EX, XX blocks; plain transitions are pairs with the one feature g = 1."""
        space, k = self.batch.space, self.batch.space.n_labels
        f = self.batch.emission.token_matrix()
        gram = (f.T @ sp.diags_array(self.token_weights()) @ f).toarray()
        centre = np.eye(k) - 1.0 / k
        first = np.einsum("pP,qQ->qpQP", centre / k, gram)
        g = sp.csr_matrix(np.ones((self.batch.n_tokens, 1)))
        names = [1]
        if self.batch.edge is not None:
            edges = self.batch.edge.token_matrix()
            names = [edges.shape[1], 1]
            g = sp.csr_matrix(sp.hstack([edges, g]))
        s0, s1, before, here = (m.toarray() for m in self._pair_sums(g))
        eye, flat = np.eye(k), np.ones((k, k))
        unit = np.ones(k)
        to_first = np.einsum("pP,Z->pPZ", eye, unit) / k**2 - 1.0 / k**3
        to_second = np.einsum("pZ,P->pPZ", eye, unit) / k**2 - 1.0 / k**3
        cross = np.einsum("pPZ,qr->qprPZ", to_first, before) + np.einsum("pPZ,qr->qprPZ", to_second, here)
        same = np.einsum("pP,zZ->pzPZ", eye, eye) / k**2 - 1.0 / k**4
        chained = np.einsum("zP,pZ->pzPZ", eye, flat) / k**3 - 1.0 / k**4  # second label = next first label
        last = np.einsum("pzPZ,rR->rpzRPZ", same, s0) + np.einsum("pzPZ,rR->rpzRPZ", chained, s1)
        last += np.einsum("PZpz,Rr->rpzRPZ", chained, s1)
        n_e, n_x = gram.shape[0] * k, g.shape[1] * k * k
        whole = np.empty((n_e + n_x, n_e + n_x))
        whole[:n_e, :n_e] = first.reshape(n_e, n_e)
        whole[:n_e, n_e:] = cross.reshape(n_e, n_x)
        whole[n_e:, :n_e] = whole[:n_e, n_e:].T
        whole[n_e:, n_e:] = last.reshape(n_x, n_x)
        keep = [np.arange(n_e) if space.emission_layout.flat is None else space.emission_layout.flat]
        if space.edge_layout is not None:
            every = np.arange(names[0] * k * k)
            keep.append(n_e + (every if space.edge_layout.flat is None else space.edge_layout.flat))
        keep.append(np.arange(whole.shape[0] - k * k, whole.shape[0]))
        chosen = np.concatenate(keep)
        return whole[np.ix_(chosen, chosen)]


def _pair_diagonal(k: int, s0: np.ndarray, s1: np.ndarray) -> np.ndarray:
    """Variances of pair features, shape (n_features, K * K)."""
    same = np.eye(k).ravel()
    return s0[:, None] * (1 / k**2 - 1 / k**4) + 2 * s1[:, None] * (same / k**3 - 1 / k**4)
