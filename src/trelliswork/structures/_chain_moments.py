"""Moments of label chains: closed forms for the uniform law, fast sweeps for Gibbs laws.

Without constraints the labels of a uniform sequence are independent, so means and
covariances need no recursion. Let ``f`` be the features of a token, ``g`` those of a pair,
K the number of labels, P = I - 11'/K, and sums run over tokens::

    EE = (P / K) (x) sum f f'                      ET, TT: sums of f over the tokens that a
    XX, EX: sums of g g', g g(next)', f g'         transition leaves (lo) and enters (hi)

Start, end and unknown markers are columns of ``f`` like any other.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._ragged import offsets_of
from trelliswork._threads import balanced_chunks, run
from trelliswork.structures._covariance import Covariance
from trelliswork.structures.base import Parts

if TYPE_CHECKING:
    from trelliswork.structures._chain_batch import ChainBatch

__all__ = ["GibbsChain", "UniformChain", "is_free"]

_MAX_PARTIAL = 4
_TOKENS_PER_PARTIAL = 65536
_SMALL_BLOCK = 8  # blocks with at most so many different rows are merged


def is_free(batch: ChainBatch) -> bool:
    """Whether every label sequence of an order-1 chain is allowed."""
    space = batch.space
    limited = batch.allowed is not None or space.start_mask is not None or space.end_mask is not None
    return space.order == 1 and space.everything_allowed and not limited


class _TokenSums(Covariance):
    """Products through the distinct rows of a token map; order 1, no edge observations."""

    batch: ChainBatch

    def __init__(self, batch: ChainBatch, scores: Parts | None, weights: Any = None, about: str = "mean"):
        super().__init__(batch, scores, weights, about)
        self._rows: tuple[sp.csr_matrix, np.ndarray] | None = None
        self._transposed: sp.csr_matrix | None = None

    @property
    def sample_weights(self) -> np.ndarray:
        """Weights as an array."""
        return np.ones(len(self.batch)) if self.weights is None else self.weights

    def token_weights(self) -> np.ndarray:
        """Weight of the sequence of each token."""
        return np.repeat(self.sample_weights, np.diff(self.batch.offsets))

    def product(self, v: np.ndarray) -> np.ndarray:
        """The matrix times a vector or the columns of a matrix."""
        if v.ndim == 2 or self.batch.edge is not None:
            return super().product(v)
        batch, space = self.batch, self.batch.space
        _, index = self._distinct()
        emission, _, grams = space.split(np.asarray(v, dtype=np.float64))
        trans = (space.ngram_matrix @ grams).reshape(-1, space.n_labels)
        rows = self._times(np.ascontiguousarray(space.emission_layout.table(emission)))
        gold = batch.gold_codes.values if self.about == "gold" else np.zeros(0, dtype=np.int64)

        def task(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
            out = np.zeros_like(rows), np.zeros_like(trans)
            self._sweep(rows, index, gold, trans, a, b, *out)
            return out

        summed, moved = np.zeros_like(rows), self._own_trans(trans)
        chunks = self._chunks()
        for i in range(0, len(chunks), batch._threads):  # no more partial sums at a time than threads
            for part_rows, part_trans in run(task, chunks[i : i + batch._threads], batch._threads):
                summed += part_rows
                moved += part_trans
        table = self._adjoint(summed)
        tail = space.ngram_matrix.T @ moved.ravel()
        return np.concatenate([space.emission_layout.gather(table), tail])

    def _chunks(self) -> list[tuple[int, int]]:
        """Ranges of sequences, or whatever a sweep goes over; few, since each has its own sums."""
        size = max(_TOKENS_PER_PARTIAL, -(-self.batch.n_tokens // _MAX_PARTIAL))
        return balanced_chunks(self.batch.offsets, size)

    def _sweep(
        self,
        rows: np.ndarray,
        index: np.ndarray,
        gold: np.ndarray,
        trans: np.ndarray,
        first: int,
        last: int,
        out_rows: np.ndarray,
        out_trans: np.ndarray,
    ) -> None:
        """Add the products of a range to ``out_rows`` and ``out_trans``."""
        raise NotImplementedError

    def _own_trans(self, trans: np.ndarray) -> np.ndarray:
        """What the direction adds to the transitions beside the sweep."""
        return np.zeros_like(trans)

    def _distinct(self) -> tuple[sp.csr_matrix, np.ndarray]:
        if self._rows is None:
            # Not kept in the token map, too: nothing else needs it then.
            matrix, index = _few_blocks(*self.batch.emission._stack())
            self._rows = matrix, index
            self._transposed = matrix.T.tocsr()
        return self._rows

    def _times(self, table: np.ndarray) -> np.ndarray:
        from trelliswork.dp import _rows

        matrix, _ = self._distinct()
        out = np.empty((matrix.shape[0], table.shape[1]))
        run(
            lambda a, b: _rows.times(matrix.indptr, matrix.indices, matrix.data, table, out, a, b),
            balanced_chunks(matrix.indptr, 2 * _TOKENS_PER_PARTIAL),
            self.batch._threads,
        )
        return out

    def _adjoint(self, rows: np.ndarray) -> np.ndarray:
        from trelliswork.dp import _rows

        self._distinct()
        m = self._transposed
        assert m is not None
        out = np.empty((m.shape[0], rows.shape[1]))
        run(
            lambda a, b: _rows.times(m.indptr, m.indices, m.data, rows, out, a, b),
            balanced_chunks(m.indptr, 2 * _TOKENS_PER_PARTIAL),
            self.batch._threads,
        )
        return out

    def _squares(self, values: np.ndarray) -> np.ndarray:
        """Table of the sums of ``f ** 2 * values`` over tokens; no two blocks of a map share an attribute."""
        from trelliswork.dp import _rows

        matrix, index = self._distinct()
        collected, part = (
            np.zeros((matrix.shape[0], values.shape[1])),
            np.empty((matrix.shape[0], values.shape[1])),
        )
        for block in index.T:
            _rows.collect(np.ascontiguousarray(block), values, part)
            collected += part
        squared = sp.csr_matrix((matrix.data**2, matrix.indices, matrix.indptr), shape=matrix.shape)
        return np.asarray(squared.T @ collected)


class UniformChain(_TokenSums):
    """Uniform law over all label sequences of an order-1 chain, in closed form."""

    max_dense = 3000
    exact_diagonal = True

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

    def _sweep(
        self,
        rows: np.ndarray,
        index: np.ndarray,
        gold: np.ndarray,
        trans: np.ndarray,
        first: int,
        last: int,
        out_rows: np.ndarray,
        out_trans: np.ndarray,
    ) -> None:
        from trelliswork.dp import _covariance

        _covariance.uniform_product(
            rows,
            index,
            self.batch.offsets,
            gold,
            gold.size > 0,
            self.sample_weights,
            np.ascontiguousarray(trans),
            first,
            last,
            out_rows,
            out_trans,
        )

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

    def diagonal(self) -> np.ndarray:
        """Exact diagonal of the covariance."""
        batch, k = self.batch, self.batch.space.n_labels
        weight = self.token_weights()
        own = self._squares((weight * (k - 1) / k**2)[:, None])
        pieces = [batch.emission.layout.gather(np.repeat(own, k, axis=1))]
        if batch.edge is not None:
            s0, s1, _, _ = self._pair_sums(batch.edge.token_matrix())
            pieces.append(batch.edge.layout.gather(_pair_diagonal(k, s0.diagonal(), s1.diagonal())))
        m1, m2 = self._steps()
        pieces.append(batch.space.ngram_matrix.T @ _pair_diagonal(k, np.array([m1]), np.array([m2])).ravel())
        return np.concatenate(pieces)

    def direct(self, lam: float) -> Any:
        """Solver for the matrix plus ``lam`` times the identity, for one symbol per token; else None."""
        from trelliswork.structures import _chain_schur

        solve = _chain_schur.schur_solver(self, lam)
        if solve is None or self.about == "mean":
            return solve
        return _chain_schur.woodbury(solve, _chain_schur.weighted_rows(self.deviations(), self.weights))

    def _steps(self) -> tuple[float, float]:
        lengths = np.diff(self.batch.offsets)
        weight = self.sample_weights
        return float(weight @ np.maximum(lengths - 1, 0)), float(weight @ np.maximum(lengths - 2, 0))

    def _pair_sums(self, g: sp.csr_matrix) -> tuple[sp.csr_matrix, sp.csr_matrix, Any, Any]:
        """Weighted sums of g g', g g(next)', f(before) g' and f g' over the pairs of tokens."""
        f, inner, weight = self.batch.emission.token_matrix(), self._inner(), self.token_weights()
        at = np.flatnonzero(inner)
        both = at[inner[at - 1] > 0]  # the pair before is in the same sequence
        w = sp.diags_array(weight[at]).tocsr()
        s0 = g[at].T @ w @ g[at]
        s1 = g[both - 1].T @ sp.diags_array(weight[both]).tocsr() @ g[both]
        return s0, s1, f[at - 1].T @ w @ g[at], f[at].T @ w @ g[at]

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
            own = self.batch.edge.token_matrix()
            names = [own.shape[1], 1]
            g = sp.csr_matrix(sp.hstack([own, g]))
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


def _few_blocks(matrix: sp.csr_matrix, index: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray]:
    """Distinct rows with markers and the like merged into one block, and a row of zeros for "none"."""
    sizes = [int(np.unique(column).size) for column in index.T]
    small = [j for j, size in enumerate(sizes) if size <= _SMALL_BLOCK]
    large = [j for j in range(index.shape[1]) if j not in small]
    zero = sp.csr_matrix((1, matrix.shape[1]))
    if len(small) < 2:
        rows = sp.vstack([matrix, zero], format="csr")
        return rows, np.where(index < 0, matrix.shape[0], index).astype(np.int32)
    combined, which = np.unique(index[:, small], axis=0, return_inverse=True)
    member, place = np.nonzero(combined >= 0)
    select = sp.csr_matrix(
        (np.ones(member.size), (member, combined[member, place])), shape=(combined.shape[0], matrix.shape[0])
    )
    rows = sp.vstack([matrix, select @ matrix, zero], format="csr")
    columns = [index[:, j] for j in large] + [which.ravel() + matrix.shape[0]]
    merged = np.stack(columns, axis=1)
    return rows, np.where(merged < 0, rows.shape[0] - 1, merged).astype(np.int32)


def _pair_diagonal(k: int, s0: np.ndarray, s1: np.ndarray) -> np.ndarray:
    """Variances of pair features, shape (n_features, K * K)."""
    same = np.eye(k).ravel()
    return s0[:, None] * (1 / k**2 - 1 / k**4) + 2 * s1[:, None] * (same / k**3 - 1 / k**4)


class _Tables(NamedTuple):
    """Tables of a Gibbs law, see ``dp/_covariance.py``."""

    factors: np.ndarray
    members: np.ndarray
    base: np.ndarray
    ahead: np.ndarray
    rho: np.ndarray
    pairs: np.ndarray
    doubtful: np.ndarray


class GibbsChain(_TokenSums):
    """Gibbs law, or uniform law under constraints, of an order-1 chain: sweeps over kept tables."""

    @cached_property
    def tables(self) -> _Tables | None:
        """Label probabilities and what the sweeps need; None for other chains than those."""
        from trelliswork.dp import _covariance

        batch, k = self.batch, self.batch.space.n_labels
        if batch.edge is not None or batch.space.order != 1:
            return None
        unary, trans, _, _ = batch._trellis(self.law, None)
        self._zeros = None  # of no use from here on
        if trans.shape[0] != 1:
            return None
        top = float(trans.max()) if np.isfinite(trans.max()) else 0.0
        factors = np.exp(trans[0] - top)
        unary = unary if self.scores is None else unary.copy()  # used up
        members, group_ptr, _ = batch._lanes()
        longest = np.diff(batch.offsets)[members[group_ptr[:-1]]]
        base = np.stack([offsets_of(longest * np.diff(group_ptr) * k), group_ptr], axis=1)
        ahead, rho = np.zeros((2, int(base[-1, 0])))
        chunks = self._groups(base)
        pairs = np.zeros((2, max(len(chunks), 1), k, k))
        args, w = (unary, factors, batch.offsets, members, base), self.sample_weights
        fine = run(
            lambda i, a, b: _covariance.prepare(*args, a, b, ahead, rho, w, *pairs[:, i]),
            [(i, a, b) for i, (a, b) in enumerate(chunks)],
            batch._threads,
        )
        if not all(fine):
            return None
        return _Tables(factors, members, base, ahead, rho, *pairs.sum(axis=1))

    def _groups(self, base: np.ndarray) -> list[tuple[int, int]]:
        size = max(_TOKENS_PER_PARTIAL * self.batch.space.n_labels, -(-int(base[-1, 0]) // _MAX_PARTIAL))
        return balanced_chunks(base[:, 0], size)

    def _chunks(self) -> list[tuple[int, int]]:
        assert self.tables is not None
        return self._groups(self.tables.base)

    def _rho(self) -> np.ndarray:
        """Label probabilities (n_tokens, n_labels)."""
        from trelliswork.dp import _covariance

        assert self.tables is not None
        _, members, base, _, rho, _, _ = self.tables
        out = np.empty((self.batch.n_tokens, self.batch.space.n_labels))
        _covariance.by_tokens(rho, self.batch.offsets, members, base, 0, base.shape[0] - 1, out)
        return out

    def marginals(self, *, weighted: bool = True, each: bool = False) -> Parts:
        """Label and transition probabilities."""
        if each or self.tables is None or (self.weights is not None and not weighted):
            return super().marginals(weighted=weighted, each=each)
        unary = self._rho()
        if self.weights is not None:
            unary *= self.token_weights()[:, None]
        return Parts(unary=unary, trans=self.tables.pairs, edge=None)

    def product(self, v: np.ndarray) -> np.ndarray:
        """The matrix times a vector or the columns of a matrix."""
        return super().product(v) if self.tables is not None else Covariance.product(self, v)

    def _sweep(
        self,
        rows: np.ndarray,
        index: np.ndarray,
        gold: np.ndarray,
        trans: np.ndarray,
        first: int,
        last: int,
        out_rows: np.ndarray,
        out_trans: np.ndarray,
    ) -> None:
        from trelliswork.dp import _covariance

        assert self.tables is not None
        _covariance.gibbs_product(
            rows,
            index,
            self.batch.offsets,
            gold,
            gold.size > 0,
            self.sample_weights,
            np.ascontiguousarray(trans),
            first,
            last,
            out_rows,
            out_trans,
            *self.tables[:5],
        )

    def _own_trans(self, trans: np.ndarray) -> np.ndarray:
        assert self.tables is not None
        return self.tables.pairs * trans

    def diagonal(self) -> np.ndarray:
        """Variances of the features if labels and transitions were independent, a preconditioner."""
        if self.tables is None:
            return super().diagonal()
        rho = self._rho()
        own = self._squares(rho * (1.0 - rho) * self.token_weights()[:, None])
        tail = self.batch.space.ngram_matrix.T @ self.tables.doubtful.ravel()
        return np.concatenate([self.batch.emission.layout.gather(own), tail])

    def _covariance(self) -> np.ndarray:
        from trelliswork.structures import _chain_graph

        if self.n_features > _chain_graph.MAX_DENSE:
            return super()._covariance()
        return _chain_graph.moments(self.batch, self.law, self.weights).covariance
