"""Packed label sequences and their verbs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, gather_ranges, offsets_of
from trelliswork._threads import balanced_chunks, n_threads, run
from trelliswork._validate import as_number
from trelliswork.structures import _chain_store
from trelliswork.structures._chain_counts import hmm_scores, hmm_weights
from trelliswork.structures._contexts import context_before
from trelliswork.structures._covariance import Covariance
from trelliswork.structures._tokenmap import TokenMap
from trelliswork.structures.base import Ascent, Batch, Decoded, Parts, RowView, Space

if TYPE_CHECKING:
    from trelliswork.structures.chain import ChainSpace

__all__ = ["ChainBatch"]

_TOKENS_PER_CHUNK = 16384
_TOKENS_OF_DRAWS = 200_000
_MAX_LANES = 32
_LANE_FLOATS = 4_000_000  # a group of lanes holds at most this many scores at a time
_NO_EDGES = np.zeros((0, 0, 0))


class _Trellis(NamedTuple):
    """Scores with costs added and everything forbidden at -inf."""

    unary: np.ndarray
    trans: np.ndarray  # (n_tables, n_contexts, n_labels)
    which: np.ndarray  # table of each sequence
    edge: np.ndarray  # (n_tokens, n_labels, n_labels) or empty


class _Lanes(NamedTuple):
    """Sequences sorted into groups of similar length, and groups into chunks."""

    members: np.ndarray
    group_ptr: np.ndarray
    chunks: list[tuple[int, int]]


class ChainBatch(Batch):
    """Packed label sequences.

    Part arrays: ``unary`` (n_tokens, n_labels); ``trans`` (n_contexts, n_labels), shared,
    or (n_sequences, n_contexts, n_labels); ``edge`` (n_tokens, n_labels, n_labels) or None.
    """

    space: ChainSpace

    def __init__(
        self,
        space: ChainSpace,
        offsets: np.ndarray,
        emission: TokenMap,
        edge: TokenMap | None,
        gold: np.ndarray | None,
        allowed: np.ndarray | None,
        n_jobs: int | None,
    ):
        self.space = space
        self.offsets = offsets
        self.emission = emission
        self.edge = edge
        self._gold = gold
        self.user_allowed = allowed
        self.n_jobs = n_jobs
        self._lane_cache: _Lanes | None = None
        self._scratch: tuple[np.ndarray, np.ndarray] | None = None
        self._limits: np.ndarray | None = None

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_scratch": None, "_lane_cache": None}  # cheap to build again

    @property
    def allowed(self) -> np.ndarray | None:
        """Labels (n_tokens, n_labels) that the user and the symbols of a token allow; None for all."""
        mask = self.space.symbol_mask
        if mask is None:
            return self.user_allowed
        if self._limits is None:
            forbidden = np.zeros((self.space.emission_layout.n_attributes, self.space.n_labels))
            forbidden[: mask.shape[0]] = ~mask
            used = (self.emission.token_matrix() != 0).astype(np.float64)
            own = self.user_allowed
            self._limits = used @ forbidden == 0
            if own is not None:
                self._limits &= own
            unary, trans = np.zeros(self._limits.shape), np.zeros(self.space.successor.shape)
            zeros = Parts(unary=unary, trans=trans, edge=None)
            stuck = gather_ranges(self.offsets, np.flatnonzero(self.log_partition(zeros) == -np.inf))
            self._limits[stuck] = True if own is None else own[stuck]
        return self._limits

    @property
    def has_gold(self) -> bool:
        """Whether labels were given."""
        return self._gold is not None

    @property
    def gold_codes(self) -> Ragged:
        """Codes of the given labels."""
        if self._gold is None:
            raise InputError("these sequences were packed without labels")
        return Ragged(self._gold, self.offsets)

    @property
    def n_tokens(self) -> int:
        """Tokens of all sequences together."""
        return int(self.offsets[-1])

    @property
    def _threads(self) -> int:
        return n_threads(self.n_jobs)

    def subset(self, index: np.ndarray) -> ChainBatch:
        """Batch of some of the sequences."""
        index = np.asarray(index)
        tokens = gather_ranges(self.offsets, index)
        part = ChainBatch(
            self.space,
            offsets_of(np.diff(self.offsets)[index]),
            self.emission.subset(tokens),
            None if self.edge is None else self.edge.subset(tokens),
            None if self._gold is None else self._gold[tokens],
            None if self.user_allowed is None else self.user_allowed[tokens],
            self.n_jobs,
        )
        part._limits = None if self._limits is None else self._limits[tokens]
        return part

    def into(self, space: Space) -> ChainBatch:
        """The same sequences in a larger or restricted space."""
        return _chain_store.into_space(self, cast("ChainSpace", space))

    def joined(self, other: Batch) -> ChainBatch:
        """Sequences of two batches."""
        return _chain_store.joined(self, cast("ChainBatch", other))

    def state(self) -> dict[str, Any]:
        """Distinct rows, rows of tokens, labels."""
        return _chain_store.batch_state(self)

    # -- linear maps ------------------------------------------------------------------------

    def scores(self, w: np.ndarray, out: np.ndarray | None = None) -> Parts:
        """Token and context scores of a weight vector."""
        emission, edge, grams = self.space.split(np.asarray(w, dtype=np.float64))
        k = self.space.n_labels
        trans = (self.space.ngram_matrix @ grams).reshape(-1, k)
        unary = self.emission.scores(emission, self._threads, out)
        pairs = None
        if self.edge is not None:
            pairs = self.edge.scores(edge, self._threads).reshape(-1, k, k)
        return Parts(unary=unary, trans=trans, edge=pairs)

    def pull(self, parts: Parts) -> np.ndarray:
        """Part values to features, summed over sequences."""
        trans = parts.trans if parts.trans.ndim == 2 else parts.trans.sum(axis=0)
        pieces = [self.emission.pull(parts.unary, self._threads)]
        if self.edge is not None:
            pieces.append(self._pull_edges(parts.edge))
        pieces.append(self.space.ngram_matrix.T @ trans.ravel())
        return np.concatenate(pieces)

    def _pull_edges(self, edge: np.ndarray | None) -> np.ndarray:
        assert self.edge is not None
        if edge is None:
            return np.zeros(self.space.n_edges)
        return self.edge.pull(self._inner_edges(edge), self._threads)

    def _inner_edges(self, edge: np.ndarray) -> np.ndarray:
        # A first token has no previous label: whatever stands there is not a part.
        flat = edge.reshape(self.n_tokens, self.space.n_labels**2).copy()
        flat[self.offsets[:-1][np.diff(self.offsets) > 0]] = 0.0
        return flat

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """Part values to features, one row per sequence."""
        n = len(self)
        if parts.trans.ndim != 3:
            raise ValueError("pull_each needs parts made with each=True")
        pieces = [self.emission.pull_each(parts.unary, self.offsets)]
        if self.edge is not None:
            if parts.edge is None:
                pieces.append(sp.csr_matrix((n, self.space.n_edges)))
            else:
                pieces.append(self.edge.pull_each(self._inner_edges(parts.edge), self.offsets))
        pieces.append(sp.csr_matrix(parts.trans.reshape(n, -1)) @ self.space.ngram_matrix)
        return sp.hstack(pieces, format="csr")

    def indicators(self, codes: Ragged, weights: np.ndarray | None = None, *, each: bool = False) -> Parts:
        """Parts of given label sequences."""
        k, n_contexts = self.space.n_labels, self.space.successor.shape[0]
        labels = codes.values
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        value = np.ones(self.n_tokens) if weights is None else np.asarray(weights, dtype=np.float64)[owner]
        unary = np.zeros((self.n_tokens, k))
        unary[np.arange(self.n_tokens), labels] = value
        before = context_before(labels, self.offsets, k, self.space.order)
        at = np.flatnonzero(before >= 0)
        flat = before[at] * k + labels[at]
        size = n_contexts * k
        if each:
            flat = flat + owner[at] * size
        n_tables = len(self) if each else 1
        trans = np.bincount(flat, weights=value[at], minlength=n_tables * size)
        trans = trans.reshape(n_tables, n_contexts, k)
        edge = None
        if self.edge is not None:
            edge = np.zeros((self.n_tokens, k, k))
            edge[at, labels[at - 1], labels[at]] = value[at]
        return Parts(unary=unary, trans=trans if each else trans[0], edge=edge)

    def dot_each(self, parts: Parts, other: Parts) -> np.ndarray:
        """Products of part values, summed per sequence."""
        out = np.zeros(len(self))
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        for name in ("unary", "edge"):
            a, b = getattr(parts, name), getattr(other, name)
            if a is not None and b is not None:
                rows = np.einsum("tk,tk->t", a.reshape(a.shape[0], -1), b.reshape(b.shape[0], -1))
                out += np.bincount(owner, rows, minlength=len(self))
        if parts.trans is not None and other.trans is not None:
            out += np.einsum("nck,nck->n", parts.trans, np.broadcast_to(other.trans, parts.trans.shape))
        return out

    def scaled(self, parts: Parts, weights: np.ndarray) -> Parts:
        """Part values times a weight per sequence."""
        tokens = np.repeat(weights, np.diff(self.offsets))
        return Parts(
            unary=None if parts.unary is None else parts.unary * tokens[:, None],
            trans=None if parts.trans is None else parts.trans * weights[:, None, None],
            edge=None if parts.edge is None else parts.edge * tokens[:, None, None],
        )

    # -- hard constraints -------------------------------------------------------------------

    def _trellis(self, scores: Parts, costs: Parts | None, *, own: bool = False) -> _Trellis:
        """Scores plus costs with forbidden parts at -inf; ``own`` allows changing ``scores``."""
        space = self.space
        if costs is not None:
            scores = scores + costs
            own = own or costs.unary is not None
        unary, trans, edge = scores.unary, scores.trans, scores.edge
        if self.edge is not None and edge is None:  # None stands for zeros; the parts are there
            edge = np.zeros((self.n_tokens, space.n_labels, space.n_labels))
        limited = self.allowed is not None or space.start_mask is not None or space.end_mask is not None
        if limited:
            unary = unary if own else unary.copy()
            filled = np.diff(self.offsets) > 0
            if self.allowed is not None:
                unary[~self.allowed] = -np.inf
            for mask, tokens in (
                (space.start_mask, self.offsets[:-1][filled]),
                (space.end_mask, self.offsets[1:][filled] - 1),
            ):
                if mask is not None:
                    unary[tokens[:, None], np.flatnonzero(~mask)] = -np.inf
        unary = np.ascontiguousarray(unary)
        if not space.everything_allowed:
            trans = np.where(space.context_mask, trans, -np.inf)
        shared = trans.ndim == 2
        which = np.zeros(len(self), dtype=np.int64) if shared else np.arange(len(self))
        return _Trellis(
            unary,
            np.ascontiguousarray(trans[None] if shared else trans),
            which,
            _NO_EDGES if edge is None else np.ascontiguousarray(edge),
        )

    def _is_simple(self, trellis: _Trellis) -> bool:
        return self.space.order == 1 and trellis.trans.shape[0] == 1 and trellis.edge.size == 0

    def _graph(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.space.successor, self.space.level_ptr, self.offsets

    def _lanes(self) -> _Lanes:
        if self._lane_cache is None:
            self._lane_cache = _arrange(self.offsets, self.space.n_labels)
        return self._lane_cache

    def _sequence_chunks(self) -> list[tuple[np.ndarray]]:
        return [(np.arange(a, b),) for a, b in balanced_chunks(self.offsets, _TOKENS_PER_CHUNK)]

    # -- verbs ---------------------------------------------------------------------------------

    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best label sequences; refuses sequences for which nothing is allowed."""
        from trelliswork.dp import _chain, _context

        trellis = self._trellis(scores, costs)
        labels = np.empty(self.n_tokens, dtype=np.int64)
        value = np.empty(len(self))
        if self._is_simple(trellis):
            run(
                lambda a, b: _chain.viterbi(
                    trellis.unary, trellis.trans[0], self.offsets, a, b, labels, value
                ),
                balanced_chunks(self.offsets, _TOKENS_PER_CHUNK),
                self._threads,
            )
        else:
            run(
                lambda part: _context.viterbi(*trellis, *self._graph(), part, labels, value),
                self._sequence_chunks(),
                self._threads,
            )
        self._check_possible(value)
        return Decoded(Ragged(labels, self.offsets), value)

    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Up to ``k`` best label sequences of each sample."""
        from trelliswork.dp import _context

        trellis = self._trellis(scores, costs)
        successor, level_ptr, offsets = self._graph()

        def one(s: int) -> Decoded:
            lo, hi = offsets[s], offsets[s + 1]
            edge = trellis.edge[lo:hi] if trellis.edge.size else trellis.edge
            labels, value = _context.kbest(
                trellis.unary[lo:hi], trellis.trans[trellis.which[s]], edge, successor, level_ptr, k
            )
            return Decoded(Ragged(labels.ravel(), offsets_of(np.full(len(value), hi - lo))), value)

        found = run(one, [(s,) for s in range(len(self))], self._threads)
        self._check_possible(np.array([d.values[0] if d.values.size else -np.inf for d in found]))
        return found

    def log_partition(self, scores: Parts, costs: Parts | None = None) -> np.ndarray:
        """Log of the sum over all allowed label sequences."""
        from trelliswork.dp import _context, _scaled

        trellis = self._trellis(scores, costs)
        if self._is_simple(trellis):
            return self._forward_backward(trellis, None, np.zeros((0, self.space.n_labels)))[0]
        log_z = np.empty(len(self))
        chunks = self._sequence_chunks()
        if not trellis.edge.size:
            factors, top, room = _factors(trellis.trans)
            failed = np.zeros(len(self), dtype=bool)
            args = (trellis.unary, factors, top, room, trellis.which, *self._graph())
            run(lambda part: _scaled.inside(*args, part, log_z, failed), chunks, self._threads)
            chunks = [(np.flatnonzero(failed),)]
        run(lambda part: _context.inside(*trellis, *self._graph(), part, log_z), chunks, self._threads)
        return log_z

    def marginals(
        self,
        scores: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Label and context probabilities (times the weight of their sequence)."""
        log_z, parts = self._expected(self._trellis(scores, costs), weights, each)
        self._check_possible(log_z)
        return parts

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partitions and summed expected features, in one pass."""
        # Fresh arrays of this size cost more in page faults than the recursion: keep two.
        shape = (self.n_tokens, self.space.n_labels)
        if self._scratch is None:
            self._scratch = (np.empty(shape), np.empty(shape))
        trellis = self._trellis(self.scores(w, out=self._scratch[0]), costs, own=True)
        log_z, parts = self._expected(trellis, weights, False, out=self._scratch[1])
        return log_z, self.pull(parts)

    def _expected(
        self, trellis: _Trellis, weights: np.ndarray | None, each: bool, out: np.ndarray | None = None
    ) -> tuple[np.ndarray, Parts]:
        if self._is_simple(trellis) and not each:
            out = np.empty_like(trellis.unary) if out is None else out
            log_z, trans = self._forward_backward(trellis, weights, out)
            return log_z, Parts(unary=out, trans=trans, edge=None)
        return self._any_order_expected(trellis, weights, each)

    def _forward_backward(
        self, trellis: _Trellis, weights: np.ndarray | None, out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scaled recursion, and log space for the sequences on which it fails."""
        from trelliswork.dp import _chain, _context

        n, k = len(self), self.space.n_labels
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        lanes = self._lanes()
        log_z = np.empty(n)
        failed = np.zeros(n, dtype=bool)
        trans = np.zeros((len(lanes.chunks) + 1, k, k))

        def task(number: int, first: int, last: int) -> None:
            _chain.forward_backward(
                trellis.unary,
                trellis.trans[0],
                self.offsets,
                lanes.members,
                lanes.group_ptr,
                first,
                last,
                w,
                log_z,
                out,
                trans[number],
                failed,
            )

        run(task, [(i, a, b) for i, (a, b) in enumerate(lanes.chunks)], self._threads)
        again = np.flatnonzero(failed)
        if again.size:
            if not out.size:
                _context.inside(*trellis, *self._graph(), again, log_z)
            else:
                into = np.zeros(n, dtype=np.int64)
                _context.marginals(
                    *trellis, *self._graph(), again, w, log_z, out, trans[-1:], into, _NO_EDGES
                )
        return log_z, trans.sum(axis=0)

    def _any_order_expected(
        self, trellis: _Trellis, weights: np.ndarray | None, each: bool
    ) -> tuple[np.ndarray, Parts]:
        from trelliswork.dp import _context, _scaled

        n = len(self)
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        log_z = np.empty(n)
        unary = np.empty_like(trellis.unary)
        edge = np.empty_like(trellis.edge)
        tables = _Tables(self, each)
        failed = np.ones(n, dtype=bool)
        if not trellis.edge.size:
            factors, top, room = _factors(trellis.trans)
            args = (trellis.unary, factors, top, room, trellis.which, *self._graph())
            tables.run(
                lambda part, out, into: _scaled.marginals(*args, part, w, log_z, unary, out, into, failed)
            )
        if failed.any():
            tables.run(
                lambda part, out, into: _context.marginals(
                    *trellis, *self._graph(), part[failed[part]], w, log_z, unary, out, into, edge
                )
            )
        return log_z, Parts(
            unary=unary,
            trans=tables.result(),
            edge=edge if self.edge is not None and trellis.edge.size else None,
        )

    def tangent(
        self,
        scores: Parts,
        direction: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Derivative of the marginals along a direction in part scores."""
        from trelliswork.dp import _context, _scaled

        trellis = self._trellis(scores, costs)
        n, k = len(self), self.space.n_labels
        n_contexts = self.space.successor.shape[0]
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        d_unary = np.zeros_like(trellis.unary) if direction.unary is None else direction.unary
        d_trans = np.zeros((n_contexts, k)) if direction.trans is None else direction.trans
        shared = d_trans.ndim == 2
        d_which = np.zeros(n, dtype=np.int64) if shared else np.arange(n)
        d_trans = np.ascontiguousarray(d_trans[None] if shared else d_trans)
        d_edge = _NO_EDGES if direction.edge is None else np.ascontiguousarray(direction.edge)
        d_unary = np.ascontiguousarray(d_unary)
        slope = np.empty(n)
        unary = np.empty_like(trellis.unary)
        edge = np.empty((self.n_tokens, k, k)) if self.edge is not None else _NO_EDGES
        tables = _Tables(self, each)
        failed = np.ones(n, dtype=bool)
        moved = (d_unary, d_trans, d_which)
        if self.edge is None:
            factors, _, room = _factors(trellis.trans)
            args = (trellis.unary, factors, room, trellis.which, *moved, *self._graph())
            tables.run(
                lambda part, out, into: _scaled.tangent(*args, part, w, slope, unary, out, into, failed)
            )
        if failed.any():
            tables.run(
                lambda part, out, into: _context.tangent(
                    *trellis,
                    *moved,
                    d_edge,
                    *self._graph(),
                    part[failed[part]],
                    w,
                    slope,
                    unary,
                    out,
                    into,
                    edge,
                )
            )
        return Parts(unary=unary, trans=tables.result(), edge=edge if self.edge is not None else None)

    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """Independent label sequences from the Gibbs law of the scores."""
        from trelliswork.dp import _context

        trellis = self._trellis(scores, None)
        uniforms = rng.random((n, self.n_tokens))
        labels = np.empty((n, self.n_tokens), dtype=np.int64)
        run(
            lambda part: _context.sample(*trellis, *self._graph(), part, uniforms, labels),
            self._sequence_chunks(),
            self._threads,
        )
        if n and labels.size and labels.min() < 0:
            self._check_possible(self.log_partition(scores))
        return [Ragged(row, self.offsets) for row in labels]

    def loss_profile(self, scores: Parts, costs: Parts, max_loss: int) -> np.ndarray:
        """Best score for every total of integer costs, shape (n_sequences, max_loss + 1)."""
        from trelliswork.structures import _chain_graph

        return _chain_graph.loss_profile(self, scores, costs, max_loss)

    def argmax_at_loss(self, scores: Parts, costs: Parts, losses: np.ndarray) -> Decoded:
        """Best label sequences among those with the given total cost."""
        from trelliswork.structures import _chain_graph

        return _chain_graph.argmax_at_loss(self, scores, costs, losses)

    def covariance(
        self, scores: Parts | None = None, weights: np.ndarray | None = None, *, about: str = "mean"
    ) -> Covariance:
        """Second moments; in closed form for the uniform law over all label sequences."""
        from trelliswork.structures import _chain_moments

        if scores is None and _chain_moments.is_free(self):
            return _chain_moments.UniformChain(self, None, weights, about)
        return _chain_moments.GibbsChain(self, scores, weights, about)

    def features_of_draws(self, draws: Sequence[Ragged]) -> sp.csr_matrix:
        """Feature vectors of several label sequences per sample, many draws at a time."""
        step = max(1, _TOKENS_OF_DRAWS // max(self.n_tokens, 1))
        pieces = []
        for first in range(0, len(draws), step):
            part = draws[first : first + step]
            repeated = self.subset(np.tile(np.arange(len(self)), len(part)))
            codes = np.concatenate([codes.values for codes in part])
            pieces.append(repeated.features(Ragged(codes, repeated.offsets)))
        return sp.vstack(pieces, format="csr")

    # -- outputs ---------------------------------------------------------------------------------

    def evaluate(self, codes: Ragged, scores: Parts) -> np.ndarray:
        """Score of given label sequences; -inf where a label is unknown or forbidden."""
        trellis = self._trellis(scores, None)
        k = self.space.n_labels
        known = codes.values >= 0
        labels = np.where(known, codes.values, 0)
        total = np.where(known, trellis.unary[np.arange(self.n_tokens), labels], -np.inf)
        before = context_before(labels, self.offsets, k, self.space.order)
        at = np.flatnonzero(before >= 0)
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        total[at] += trellis.trans[trellis.which[owner[at]], before[at], labels[at]]
        if trellis.edge.size:
            total[at] += trellis.edge[at, labels[at - 1], labels[at]]
        # reduceat gives an empty sequence the first term of the next one, possibly -inf.
        sums = np.add.reduceat(np.append(total, 0.0), self.offsets[:-1])
        return np.where(np.diff(self.offsets) > 0, sums, 0.0)

    def unpack(self, codes: Ragged) -> list[list[Any]]:
        """Codes to lists of labels."""
        # Object arrays hand out the labels themselves; a loop over codes is five times slower.
        labels = np.empty(self.space.n_labels, dtype=object)
        for i, label in enumerate(self.space.labels):
            labels[i] = label
        flat = labels[codes.values].tolist()
        bounds = codes.offsets.tolist()
        return [flat[a:b] for a, b in itertools.pairwise(bounds)]

    def unpack_sample(self, i: int, codes: Ragged) -> list[list[Any]]:
        """Several label sequences of sample ``i``; labels do not depend on the sample."""
        return self.unpack(codes)

    def unpack_marginals(self, parts: Parts) -> list[np.ndarray]:
        """Label probabilities, one array (n_tokens, n_labels) per sequence."""
        return [parts.unary[a:b] for a, b in itertools.pairwise(self.offsets.tolist())]

    def class_weights(self, class_weight: Any) -> np.ndarray:
        """Mean weight of the labels of each sequence; "balanced" is inverse to frequency."""
        k = self.space.n_labels
        gold = self.gold_codes.values
        if isinstance(class_weight, str):
            if class_weight != "balanced":
                raise InputError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}")
            counts = np.bincount(gold, minlength=k)
            by_label = gold.size / (k * np.maximum(counts, 1))
        else:
            if not isinstance(class_weight, Mapping):
                raise InputError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}")
            # A fold may lack some of the labels, but hardly all of them.
            if class_weight and not any(label in self.space.labels for label in class_weight):
                raise InputError(
                    f"class_weight: {list(class_weight)!r:.80} are not labels of the data; the labels are "
                    f"{self.space.labels!r:.80}"
                )
            by_label = np.ones(k)
            for i, label in enumerate(self.space.labels):
                by_label[i] = as_number(f"class_weight of {label!r}", class_weight.get(label, 1.0))
                if by_label[i] < 0:
                    raise InputError(f"class_weight of {label!r} is {by_label[i]}; it must be >= 0")
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        total = np.bincount(owner, weights=by_label[gold], minlength=len(self))
        return total / np.maximum(np.diff(self.offsets), 1)

    def generative_weights(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Weights of a hidden Markov model."""
        return hmm_weights(self, smoothing, weights)

    def reference_weights(self, smoothing: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Weights of a hidden Markov model in which symbols that were never seen say nothing."""
        w = hmm_weights(self, smoothing, weights)
        if "unknown" in self.space.marker_names and self.emission.blocks[-1].index.max(initial=-1) < 0:
            # Smoothing alone would make rare labels likely at unknown symbols.
            self.space.split(w)[0].reshape(-1, self.space.n_labels)[-1] = 0.0
        return w

    def reference_scores(self, w: np.ndarray) -> Parts:
        """Scores of a hidden Markov model; the attributes of a token are averaged, not added."""
        return hmm_scores(self, w)

    def perceptron_passes(
        self,
        w: np.ndarray,
        u: np.ndarray,
        orders: Iterable[np.ndarray],
        weights: np.ndarray,
        clock: np.ndarray,
    ) -> Generator[int, None, None]:
        """Passes of the perceptron, compiled for chains of order 1."""
        from trelliswork.dp import _online

        space = self.space
        if space.order != 1 or self.edge is not None or self.allowed is not None:
            yield from super().perceptron_passes(w, u, orders, weights, clock)
            return
        matrix, rows = self.emission.stacked()
        k, layout = space.n_labels, space.emission_layout
        tables = [layout.table(space.split(v)[0]).copy() for v in (w, u)]
        trans = [(space.ngram_matrix @ space.split(v)[2]).reshape(k, k) for v in (w, u)]
        stored = np.zeros((0, 0), dtype=bool)
        if layout.flat is not None:
            stored = np.zeros((layout.n_attributes, k), dtype=bool)
            stored.ravel()[layout.flat] = True
        everything = np.ones(k, dtype=bool)
        mask = np.where(space.context_mask, 0.0, -np.inf)
        start_ok = everything if space.start_mask is None else space.start_mask
        end_ok = everything if space.end_mask is None else space.end_mask
        data = matrix.data[:0] if np.all(matrix.data == 1.0) else matrix.data
        whole = not np.any(data % 1.0) and not np.any(weights % 1.0) and not np.any(tables[0] % 1.0)
        arrays = (matrix.indptr, matrix.indices, data, rows.astype(np.int32), self.offsets)
        try:
            for order in orders:
                # Sums of whole numbers are exact in single precision too, in half the memory.
                small = whole and np.abs(tables[0]).max(initial=0.0) < 2**22
                tables[0] = tables[0].astype(np.float32 if small else np.float64, copy=False)
                yield _online.perceptron_pass(
                    *arrays,
                    self.gold_codes.values,
                    order,
                    weights,
                    tables[0],
                    tables[1],
                    stored,
                    trans[0],
                    trans[1],
                    mask,
                    start_ok,
                    end_ok,
                    clock,
                )
        finally:
            for target, table, step in ((w, tables[0], trans[0]), (u, tables[1], trans[1])):
                target[: space.n_emissions] = layout.gather(table)
                target[space.n_emissions + space.n_edges :] = space.ngram_matrix.T @ step.ravel()

    def mismatch(self, label_weight: Mapping[Any, float] | None = None) -> tuple[Parts, np.ndarray]:
        """Cost 1 (or the weight of the gold label) for every token with another label."""
        gold = self.gold_codes.values
        cost = np.ones(self.n_tokens)
        if label_weight is not None:
            cost = np.array([float(label_weight.get(label, 1.0)) for label in self.space.labels])[gold]
        unary = np.repeat(cost[:, None], self.space.n_labels, axis=1)
        unary[np.arange(self.n_tokens), gold] = 0.0
        return Parts(unary=unary, trans=None, edge=None), np.zeros(len(self))

    def label_costs(self, table: np.ndarray) -> tuple[Parts, np.ndarray]:
        """Cost ``table[gold, label]`` of every token."""
        unary = np.asarray(table, dtype=np.float64)[self.gold_codes.values]
        return Parts(unary=unary, trans=None, edge=None), np.zeros(len(self))

    def scale(self, parts: Parts, factors: np.ndarray) -> Parts:
        """Part values times a factor per sequence."""
        factors = np.asarray(factors, dtype=np.float64)
        by_token = np.repeat(factors, np.diff(self.offsets))
        unary, trans, edge = parts.unary, parts.trans, parts.edge
        return Parts(
            unary=None if unary is None else unary * by_token[:, None],
            trans=None if trans is None else trans * factors[:, None, None],
            edge=None if edge is None else edge * by_token[:, None, None],
        )

    def contrast(self, codes: Ragged, samples: np.ndarray) -> sp.csr_matrix:
        """Gold features minus those of given label sequences; compiled for chains of order 1."""
        from trelliswork.structures import _chain_views

        if self.space.order != 1 or self.edge is not None:
            return super().contrast(codes, samples)
        return _chain_views.contrast(self, codes, samples)

    def ascent(
        self,
        height: Parts,
        scale: Parts | None,
        cap: np.ndarray,
        curvature: np.ndarray,
        cache_mb: float = 1000.0,
    ) -> Ascent | None:
        """Block-coordinate Frank-Wolfe with remembered label sequences, for chains of order 1."""
        from trelliswork.structures._chain_ascent import ChainAscent

        simple = self.space.order == 1 and self.edge is None and self.allowed is None
        if not simple or scale is not None or height.trans is not None or curvature.any():
            return None
        return ChainAscent(self, height, cap, cache_mb) if np.isfinite(cap).all() else None

    def row_view(self) -> RowView:
        """The same sequences with one attribute per distinct token."""
        from trelliswork.structures import _chain_views

        if self.edge is not None:
            raise self._unsupported("row_view")
        return _chain_views.row_view(self)

    def _check_possible(self, value: np.ndarray) -> None:
        bad = np.flatnonzero(~np.isfinite(value))
        if not bad.size:
            return
        one = self.subset(bad[:1])
        if one.log_partition(one.scores(np.zeros(self.space.n_features)))[0] == -np.inf:
            raise InputError(
                f"sample {int(bad[0])}: no label sequence is allowed under the constraints "
                "(transitions, scheme, allowed labels)"
            )
        raise InputError(f"sample {int(bad[0])}: the scores overflow; scale the weights or the features down")


def _factors(trans: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``exp(trans - top)``, the largest entry ``top`` of each table, and the room left for token scores."""
    from trelliswork.dp._scaled import WIDEST

    flat = trans.reshape(trans.shape[0], -1)
    top = flat.max(axis=1)
    top = np.where(np.isfinite(top), top, 0.0)
    bottom = np.where(np.isfinite(flat), flat, np.inf).min(axis=1)
    room = WIDEST - np.maximum(top - bottom, 0.0)
    return np.exp(trans - top[:, None, None]), top, room


class _Tables:
    """Expected transitions: one table per sequence, or one per chunk, summed in a fixed order."""

    def __init__(self, batch: ChainBatch, each: bool):
        self.batch = batch
        self.each = each
        self.chunks = [part for (part,) in batch._sequence_chunks()]
        shape = batch.space.successor.shape
        self.values = np.zeros((len(batch) if each else max(len(self.chunks), 1), *shape))

    def run(self, task: Callable[[np.ndarray, np.ndarray, np.ndarray], None]) -> None:
        """Call ``task(sequences, tables, table of each sequence)`` for every chunk."""
        n = len(self.batch)
        into = np.arange(n)

        def one(number: int, part: np.ndarray) -> None:
            task(part, self.values, into if self.each else np.full(n, number))

        run(one, list(enumerate(self.chunks)), self.batch._threads)

    def result(self) -> np.ndarray:
        """The tables, or their sum."""
        return self.values if self.each else self.values.sum(axis=0)


def _arrange(offsets: np.ndarray, n_labels: int) -> _Lanes:
    """Sort the sequences of each chunk by falling length and cut them into groups."""
    lengths = np.diff(offsets)
    members, bounds, chunks = [], [0], []
    for first, last in balanced_chunks(offsets, _TOKENS_PER_CHUNK):
        order = first + np.argsort(-lengths[first:last], kind="stable")
        members.append(order)
        group_first = len(bounds) - 1
        longest, lanes = 0, 0
        for length in lengths[order].tolist():
            if lanes and (
                lanes == _MAX_LANES or 2 * length < longest or (lanes + 1) * longest * n_labels > _LANE_FLOATS
            ):
                bounds.append(bounds[-1] + lanes)
                lanes = 0
            if lanes == 0:
                longest = length
            lanes += 1
        if lanes:
            bounds.append(bounds[-1] + lanes)
        chunks.append((group_first, len(bounds) - 1))
    flat = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
    return _Lanes(flat.astype(np.int64), np.array(bounds, dtype=np.int64), chunks)
