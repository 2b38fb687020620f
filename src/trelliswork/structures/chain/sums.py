"""Second moments of label chains through the distinct rows of their token features."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._threads import balanced_chunks, run
from trelliswork.structures.base import Parts
from trelliswork.structures.covariance import Covariance

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch

__all__ = ["Frequencies", "TokenSums"]

_MAX_PARTIAL = 4
_LEAST = 1e-12  # of the largest entry: what preconditioners add to the others at least
_SMALL_BLOCK = 8  # blocks with at most so many different rows are merged


class Frequencies(NamedTuple):
    """What a preconditioner has to know first; sums over tokens.

    Attributes
    ----------
    tokens, weight : float
        Number of tokens, and sum of their weights.
    labels : ndarray of shape (n_labels, n_labels)
        Covariance of the label indicators.
    squares : ndarray of shape (n_attributes,)
        Squares of the values of every attribute.
    """

    tokens: float
    weight: float
    labels: np.ndarray
    squares: np.ndarray


class TokenSums(Covariance):
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
        trans = np.ascontiguousarray((space.ngram_matrix @ grams).reshape(-1, space.n_labels))
        rows = self._times(np.ascontiguousarray(space.emission_layout.table(emission)))
        gold = batch.gold_codes.values if self.about == "gold" else np.zeros(0, dtype=np.int64)
        law = (rows, index, batch.offsets, gold, gold.size > 0, self.sample_weights, trans)
        summed, moved = np.zeros_like(rows), self._own_trans(trans)
        self._sweep_all(law, summed, moved)
        del law, rows
        out = np.empty(space.n_features)
        n_emissions = space.emission_layout.n_weights
        if space.emission_layout.flat is None:
            self._adjoint(summed, out[:n_emissions].reshape(-1, space.n_labels))
        else:
            table = np.empty((space.emission_layout.n_attributes, space.n_labels))
            self._adjoint(summed, table)
            out[:n_emissions] = space.emission_layout.gather(table)
        out[n_emissions:] = space.ngram_matrix.T @ moved.ravel()
        return out

    def _sweep_all(self, law: Any, summed: np.ndarray, moved: np.ndarray) -> None:
        chunks, threads = self._chunks(), self.batch._threads

        def task(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
            out = np.zeros_like(summed), np.zeros_like(moved)
            self._sweep(*law, a, b, *out)
            return out

        for i in range(0, len(chunks), threads):  # no more partial sums at a time than threads
            for part_rows, part_trans in run(task, chunks[i : i + threads], threads):
                summed += part_rows
                moved += part_trans

    def _chunks(self) -> list[tuple[int, int]]:
        """Ranges of sequences, or whatever a sweep goes over; few, since each has its own sums."""
        return self._few_chunks(self.batch.offsets)

    def _few_chunks(self, offsets: np.ndarray, per_token: int = 1) -> list[tuple[int, int]]:
        """Ranges of about the same size, few since each has its own sums; ``per_token`` entries a token."""
        size = self.batch.limits.tokens_per_sum * per_token
        return balanced_chunks(offsets, max(size, -(-int(offsets[-1]) // _MAX_PARTIAL)))

    def _sweep(self, *arguments: Any) -> None:
        """Add the products of a range to the last two arguments, see ``dp/chain/covariance.py``."""
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
        from trelliswork.dp import rows as dp_rows

        matrix, _ = self._distinct()
        out = np.empty((matrix.shape[0], table.shape[1]))
        run(
            lambda a, b: dp_rows.times(matrix.indptr, matrix.indices, matrix.data, table, out, a, b),
            balanced_chunks(matrix.indptr, 2 * self.batch.limits.tokens_per_sum),
            self.batch._threads,
        )
        return out

    def _adjoint(self, rows: np.ndarray, out: np.ndarray) -> None:
        from trelliswork.dp import rows as dp_rows

        self._distinct()
        m = self._transposed
        assert m is not None
        run(
            lambda a, b: dp_rows.times(m.indptr, m.indices, m.data, rows, out, a, b),
            balanced_chunks(m.indptr, 2 * self.batch.limits.tokens_per_sum),
            self.batch._threads,
        )

    def frequencies(self) -> Frequencies | None:
        """Sums over tokens; None where labels have no covariance at hand, or weights are not a table."""
        if self.batch.space.emission_layout.flat is not None or self.batch.edge is not None:
            return None
        spread = self._label_spread()
        if spread is None:
            return None
        weight = self.token_weights()
        size = self._squares(weight[:, None]).ravel()
        return Frequencies(float(weight.size), float(weight.sum()), spread, size)

    def preconditioner(
        self, lam: float, asked: Covariance | None = None
    ) -> Callable[[np.ndarray, np.ndarray], object] | None:
        """The block of the most frequent attributes as a Kronecker product, the rest by its diagonal.

        Frequent attributes hold the correlations that slow conjugate gradients down. Their block is
        near ``G (x) S`` with the products of attributes G and the mean covariance of the labels of a
        token S, whose inverse is two eigenvalue problems.
        """
        import scipy.linalg as la  # slow to import

        from trelliswork.dp import rows as dp_rows

        space, k = self.batch.space, self.batch.space.n_labels
        layout, limits = space.emission_layout, self.batch.limits
        asked = self if asked is None else asked
        sums = asked.frequencies() if lam > 0.0 else None
        if sums is None or sums.tokens < limits.tokens_per_frequent:
            return None
        most = min(limits.frequent_attributes, int(sums.tokens) // limits.tokens_per_frequent)
        top = np.argsort(-sums.squares, kind="stable")[:most]
        values, vectors = la.eigh(asked.gram(top))
        label_values, label_vectors = la.eigh(sums.labels / max(sums.weight, 1e-300))
        products = np.maximum(np.outer(values, label_values), 0.0)
        diagonal = asked.diagonal().clip(0.0)
        # In units of the largest entry, since single precision has few sizes; and never nearly singular,
        # since directions without variance would hold nothing but rounding, blown up.
        unit = max(float(products.max(initial=0.0)), float(diagonal.max(initial=0.0)), lam)
        floor = max(lam / unit, _LEAST)
        inverse = 1.0 / (products / unit + floor)
        vectors = np.ascontiguousarray(vectors)
        diagonal /= unit
        diagonal += floor
        rest = (1.0 / diagonal).astype(np.float32)
        del diagonal
        turned, held = np.empty((2, top.size, k))

        def apply(r: np.ndarray, out: np.ndarray) -> None:
            np.multiply(r, rest, out=out)
            block = r[: layout.n_weights].reshape(-1, k)[top]
            dp_rows.dense_times(vectors, True, block, turned)
            dp_rows.dense_times(turned, False, label_vectors, held)
            np.multiply(held, inverse, out=held)
            dp_rows.dense_times(vectors, False, held, turned)
            dp_rows.dense_times(turned, False, np.ascontiguousarray(label_vectors.T), held)
            out[: layout.n_weights].reshape(-1, k)[top] = held

        return apply

    def _label_spread(self) -> np.ndarray | None:
        """Covariance of the label indicators of a token, summed over tokens; None if not at hand."""
        return None

    def gram(self, attributes: np.ndarray) -> np.ndarray:
        """Weighted sum of ``f f'`` over tokens for some attributes."""
        matrix, index = self._distinct()
        rows, weights = sp.csr_matrix(matrix[:, attributes]), self.token_weights()
        out = np.zeros((attributes.size, attributes.size))
        size = self.batch.limits.tokens_per_sum
        for lo in range(0, index.shape[0], size):
            some = slice(lo, lo + size)
            f = sp.csr_matrix((index[some].shape[0], attributes.size))
            for block in index[some].T:
                f = f + rows[block]
            out += (f.T @ sp.diags_array(weights[some]) @ f).toarray()
        return out

    def _squares(self, values: np.ndarray) -> np.ndarray:
        """Table of the sums of ``f ** 2 * values`` over tokens; no two blocks of a map share an attribute."""
        from trelliswork.dp import rows as dp_rows

        matrix, index = self._distinct()
        collected, part = (
            np.zeros((matrix.shape[0], values.shape[1])),
            np.empty((matrix.shape[0], values.shape[1])),
        )
        for block in index.T:
            dp_rows.collect(np.ascontiguousarray(block), values, part)
            collected += part
        squared = sp.csr_matrix((matrix.data**2, matrix.indices, matrix.indptr), shape=matrix.shape)
        return np.asarray(squared.T @ collected)


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
