"""The verbs of label sequences: scores under constraints, handed to the recursions chunk by chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, gather_ranges, offsets_of
from trelliswork._threads import balanced_chunks, run
from trelliswork.dp.chain.trellis import Contexts, Expected, Groups, ScaledTrellis, Sums, Trellis
from trelliswork.structures.base import Decoded, Parts
from trelliswork.structures.chain.backoff import sparse_best, sparse_sums
from trelliswork.structures.chain.parts import ChainParts
from trelliswork.structures.chain.trellis import (
    NO_EDGES,
    Lanes,
    TransitionTables,
    arrange,
    factors_of,
)
from trelliswork.structures.scratch import Scratch
from trelliswork.structures.spread import Spread
from trelliswork.structures.tokens import TokenMap

if TYPE_CHECKING:
    from trelliswork.structures.chain.space import ChainSpace

__all__ = ["ChainVerbs"]


class _Piece(NamedTuple):
    """Some sequences of a batch in numbers of their own, and where they are in the whole."""

    trellis: Trellis
    graph: Contexts
    tokens: slice
    sequences: slice
    part: np.ndarray


def _viterbi(piece: _Piece, labels: np.ndarray, value: np.ndarray) -> None:
    from trelliswork.dp.chain import any_order

    any_order.viterbi(piece.trellis, piece.graph, piece.part, labels[piece.tokens], value[piece.sequences])


class ChainVerbs(ChainParts):
    """Packed label sequences and what every batch is asked; see :class:`ChainParts` for the parts."""

    def __init__(
        self,
        space: ChainSpace,
        offsets: np.ndarray,
        emission: TokenMap,
        edge: TokenMap | None,
        gold: Ragged | None,
        allowed: np.ndarray | None,
        n_jobs: int | None,
    ):
        super().__init__(space, offsets, emission, edge, gold, allowed, n_jobs)
        self._by_symbols: np.ndarray | None = None
        self._lane_cache: Lanes | None = None
        self._scratch: tuple[np.ndarray, np.ndarray] | None = None

    # -- hard constraints -------------------------------------------------------------------

    @property
    def allowed(self) -> np.ndarray | None:
        """Labels (n_tokens, n_labels) that the user and the symbols of a token allow; None for all."""
        mask = self.space.symbol_mask
        if mask is None:
            return self.user_allowed
        if self._by_symbols is None:
            forbidden = np.zeros((self.space.emission_layout.n_attributes, self.space.n_labels))
            forbidden[: mask.shape[0]] = ~mask
            used = (self.emission.token_matrix() != 0).astype(np.float64)
            given = self.user_allowed
            self._by_symbols = used @ forbidden == 0
            if given is not None:
                self._by_symbols &= given
            unary, trans = np.zeros(self._by_symbols.shape), np.zeros(self.space.successor.shape)
            zeros = Parts(unary=unary, trans=trans, edge=None)
            stuck = gather_ranges(self.offsets, np.flatnonzero(self.log_partition(zeros) == -np.inf))
            self._by_symbols[stuck] = True if given is None else given[stuck]
        return self._by_symbols

    def _trellis(self, scores: Parts, costs: Parts | None, *, in_place: bool = False) -> Trellis:
        """Scores plus costs with forbidden parts at -inf; ``in_place`` allows changing ``scores``."""
        space = self.space
        if costs is not None:
            scores = scores + costs
            in_place = in_place or costs.unary is not None
        unary, trans, edge = scores.unary, scores.trans, scores.edge
        if edge is None:  # None stands for zeros; the parts may be there
            edge = self._no_edges()
        limited = self.allowed is not None or space.start_mask is not None or space.end_mask is not None
        if limited:
            unary = unary if in_place else unary.copy()
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
        return Trellis(
            unary,
            np.ascontiguousarray(trans[None] if shared else trans),
            which,
            NO_EDGES if edge is None or not edge.size else np.ascontiguousarray(edge),
        )

    def _is_shared(self, trellis: Trellis) -> bool:
        return trellis.trans.shape[0] == 1 and trellis.edge.size == 0 and self.space.sparse is None

    def _is_sparse(self, trellis: Trellis) -> bool:
        """Whether contexts are kept as observed, with steps that those that end alike share."""
        return trellis.trans.shape[0] == 1 and self.space.sparse is not None

    def _scales(self, trellis: Trellis) -> bool:
        """Whether the recursions with scaled probabilities apply, which know all contexts by arithmetic."""
        return not trellis.edge.size and self.space.sparse is None

    def _graph(self) -> Contexts:
        return Contexts(self.space.successor, self.space.level_ptr, self.offsets)

    def _lanes(self) -> Lanes:
        if self._lane_cache is None:
            self._lane_cache = arrange(self.offsets, self.space.n_labels**self.space.order, self.limits)
        return self._lane_cache

    def sequence_ranges(self) -> list[tuple[int, int]]:
        """Ranges of sequences that one thread takes at a time."""
        return balanced_chunks(self.offsets, self.limits.tokens_per_chunk)

    def _sequence_chunks(self) -> list[tuple[np.ndarray]]:
        chunks = self.sequence_ranges()
        if self.joint is not None:
            size = self.limits.joined_floats // (self.joint.width * self.space.n_labels)
            chunks = balanced_chunks(self.offsets, max(size, 1))
        return [(np.arange(a, b),) for a, b in chunks]

    def _piece(self, trellis: Trellis, part: np.ndarray) -> _Piece:
        """What the recursions need for some sequences: all, or where n-grams are joined only theirs."""
        joint = self.joint
        if joint is None or not part.size or not trellis.edge.size:
            return _Piece(trellis, self._graph(), slice(None), slice(None), part)
        first, last = int(part[0]), int(part[-1]) + 1
        lo, hi = int(self.offsets[first]), int(self.offsets[last])
        piece = Trellis(
            trellis.unary[lo:hi], trellis.trans, trellis.which[first:last], joint.dense(trellis.edge, lo, hi)
        )
        graph = Contexts(self.space.successor, self.space.level_ptr, self.offsets[first : last + 1] - lo)
        return _Piece(piece, graph, slice(lo, hi), slice(first, last), part - first)

    # -- verbs ---------------------------------------------------------------------------------

    def argmax(self, scores: Parts, costs: Parts | None = None) -> Decoded:
        """Best label sequences; refuses sequences for which nothing is allowed."""
        from trelliswork.dp.chain import first_order

        trellis = self._trellis(scores, costs)
        labels = np.empty(self.n_tokens, dtype=np.int64)
        value = np.empty(len(self))
        if self.space.order == 1 and self._is_shared(trellis):
            run(
                lambda a, b: first_order.viterbi(
                    trellis.unary, trellis.trans[0], self.offsets, a, b, labels, value
                ),
                self.sequence_ranges(),
                self._threads,
            )
        elif self._is_sparse(trellis):
            sparse_best(self, trellis, labels, value)
        else:
            run(
                lambda part: _viterbi(self._piece(trellis, part), labels, value),
                self._sequence_chunks(),
                self._threads,
            )
        self._check_possible(value)
        return Decoded(Ragged(labels, self.offsets), value)

    def mea(self, scores: Parts) -> Decoded:
        """Allowed label sequences with the most right labels, in expectation."""
        unary = self.marginals(scores).unary
        trans = np.zeros(self.space.successor.shape)
        return self.argmax(Parts(unary=unary, trans=trans, edge=None), scores.forbidden())

    def kbest(self, scores: Parts, k: int, costs: Parts | None = None) -> list[Decoded]:
        """Up to ``k`` best label sequences of each sample."""
        from trelliswork.dp.chain import any_order

        trellis = self._trellis(scores, costs)

        def best_of(s: int) -> Decoded:
            (unary, trans, which, edge), (successor, level_ptr, offsets), _, _, number = self._piece(
                trellis, np.array([s])
            )
            lo, hi = offsets[number[0]], offsets[number[0] + 1]
            edge = edge[lo:hi] if edge.size else edge
            labels, value = any_order.kbest(
                unary[lo:hi], trans[which[number[0]]], edge, successor, level_ptr, k
            )
            return Decoded(Ragged(labels.ravel(), offsets_of(np.full(len(value), hi - lo))), value)

        best = run(best_of, [(s,) for s in range(len(self))], self._threads)
        self._check_possible(np.array([d.values[0] if d.values.size else -np.inf for d in best]))
        return best

    def log_partition(self, scores: Parts, costs: Parts | None = None) -> np.ndarray:
        """Log of the sum over all allowed label sequences."""
        from trelliswork.dp.chain import any_order
        from trelliswork.dp.chain import scaled as chain_scaled

        trellis = self._trellis(scores, costs)
        if self._is_sparse(trellis):
            return sparse_sums(self, trellis, None, None)[0]
        if self._is_shared(trellis):
            return self._forward_backward(trellis, None, np.zeros((0, self.space.n_labels)))[0]
        log_z = np.empty(len(self))
        chunks = self._sequence_chunks()
        if self._scales(trellis):
            factors, top, room = factors_of(trellis.trans)
            failed = np.zeros(len(self), dtype=bool)
            args = (ScaledTrellis(trellis.unary, factors, top, room, trellis.which), self._graph())
            run(lambda part: chain_scaled.inside(*args, part, log_z, failed), chunks, self._threads)
            chunks = [(np.flatnonzero(failed),)]

        def task(part: np.ndarray) -> None:
            piece, graph, _, sequences, part = self._piece(trellis, part)
            any_order.inside(piece, graph, part, log_z[sequences])

        run(task, chunks, self._threads)
        return log_z

    def marginals(
        self,
        scores: Parts,
        costs: Parts | None = None,
        *,
        weights: np.ndarray | None = None,
        each: bool = False,
    ) -> Parts:
        """Label and context probabilities (times the weight of their sequence).

        Where n-grams are kept as observed, a step counts for the context that makes it, which may be a suffix
        of the one it was taken from; with ``each`` for the latter.
        """
        log_z, parts = self._expected(self._trellis(scores, costs), weights, each)
        self._check_possible(log_z)
        return parts

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partitions and summed expected features, in one pass."""
        log_z, parts = self._scratch_expected(w, costs, weights)
        return log_z, self.pull(parts)

    def spread_expected(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[float, Spread]:
        """The same summed, with the features of these sequences."""
        log_z, parts = self._scratch_expected(w, costs, weights)
        return float(log_z.sum() if weights is None else log_z @ weights), self.pull_spread(parts)

    def _scratch_expected(
        self, w: np.ndarray, costs: Parts | None, weights: np.ndarray | None
    ) -> tuple[np.ndarray, Parts]:
        if self._scratch is None or self.scratch is not None:
            scratch = Scratch() if self.scratch is None else self.scratch
            self._scratch = scratch.pair((self.n_tokens, self.space.n_labels))
        trellis = self._trellis(self.scores(w, out=self._scratch[0]), costs, in_place=True)
        return self._expected(trellis, weights, False, out=self._scratch[1])

    def _expected(
        self, trellis: Trellis, weights: np.ndarray | None, each: bool, out: np.ndarray | None = None
    ) -> tuple[np.ndarray, Parts]:
        sparse = self._is_sparse(trellis)
        if (sparse or self._is_shared(trellis)) and not each:
            out = np.empty_like(trellis.unary) if out is None else out
            sums = sparse_sums if sparse else type(self)._forward_backward
            log_z, trans = sums(self, trellis, weights, out)
            return log_z, Parts(unary=out, trans=trans, edge=None)
        return self._any_order_expected(trellis, weights, each)

    def _forward_backward(
        self, trellis: Trellis, weights: np.ndarray | None, out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scaled recursion, and log space for the sequences on which it fails."""
        from trelliswork.dp.chain import any_order, first_order
        from trelliswork.dp.chain import lanes as chain_lanes

        n = len(self)
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        lanes = self._lanes()
        log_z = np.empty(n)
        failed = np.zeros(n, dtype=bool)
        trans = np.zeros((len(lanes.chunks) + 1, *trellis.trans.shape[1:]))
        factors, top, room = factors_of(trellis.trans)

        def task(number: int, first: int, last: int) -> None:
            where = (Groups(self.offsets, lanes.members, lanes.group_ptr), first, last)
            sums = Sums(log_z, out, trans[number], failed)
            if self.space.order == 1:
                first_order.forward_backward(trellis.unary, trellis.trans[0], *where, w, sums)
            else:
                scaled = (factors[0], top[0], room[0], self.space.level_ptr)
                chain_lanes.forward_backward(trellis.unary, *scaled, *where, w, sums)

        run(task, [(i, a, b) for i, (a, b) in enumerate(lanes.chunks)], self._threads)
        again = np.flatnonzero(failed)
        if again.size:
            if not out.size:
                any_order.inside(trellis, self._graph(), again, log_z)
            else:
                into = np.zeros(n, dtype=np.int64)
                expected = Expected(out, trans[-1:], into, NO_EDGES)
                any_order.marginals(trellis, self._graph(), again, w, log_z, expected)
        return log_z, trans.sum(axis=0)

    def _any_order_expected(
        self, trellis: Trellis, weights: np.ndarray | None, each: bool
    ) -> tuple[np.ndarray, Parts]:
        from trelliswork.dp.chain import any_order
        from trelliswork.dp.chain import scaled as chain_scaled

        n = len(self)
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        log_z = np.empty(n)
        unary = np.empty_like(trellis.unary)
        edge = np.empty_like(trellis.edge)
        tables = TransitionTables(self, each)
        failed = np.ones(n, dtype=bool)
        if self._scales(trellis):
            factors, top, room = factors_of(trellis.trans)
            args = (ScaledTrellis(trellis.unary, factors, top, room, trellis.which), self._graph())
            tables.run(
                lambda part, out, into: chain_scaled.marginals(
                    *args, part, w, log_z, Expected(unary, out, into, edge), failed
                )
            )

        def task(part: np.ndarray, out: np.ndarray, into: np.ndarray) -> None:
            piece, graph, tokens, sequences, number = self._piece(trellis, part)
            expected = edge if piece is trellis else np.empty_like(piece.edge)
            where = number[failed[part]]
            results = Expected(unary[tokens], out, into[sequences], expected)
            any_order.marginals(piece, graph, where, w[sequences], log_z[sequences], results)
            if self.joint is not None and piece is not trellis:
                self.joint.gather(expected, tokens.start, tokens.stop, edge)

        if failed.any():
            tables.run(task)
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
        from trelliswork.dp.chain import any_order
        from trelliswork.dp.chain import scaled as chain_scaled

        trellis = self._trellis(scores, costs)
        n, k = len(self), self.space.n_labels
        n_contexts = self.space.successor.shape[0]
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        d_unary = np.zeros_like(trellis.unary) if direction.unary is None else direction.unary
        d_trans = np.zeros((n_contexts, k)) if direction.trans is None else direction.trans
        shared = d_trans.ndim == 2
        d_which = np.zeros(n, dtype=np.int64) if shared else np.arange(n)
        d_trans = np.ascontiguousarray(d_trans[None] if shared else d_trans)
        d_edge = self._no_edges() if direction.edge is None else np.ascontiguousarray(direction.edge)
        d_edge = NO_EDGES if d_edge is None or not d_edge.size else d_edge
        d_unary = np.ascontiguousarray(d_unary)
        slope = np.empty(n)
        unary = np.empty_like(trellis.unary)
        edge = self._no_edges()
        tables = TransitionTables(self, each)
        failed = np.ones(n, dtype=bool)
        moved = Trellis(d_unary, d_trans, d_which, NO_EDGES)
        if self.edge is None and self._scales(trellis):
            factors, top, room = factors_of(trellis.trans)
            scaled = ScaledTrellis(trellis.unary, factors, top, room, trellis.which)
            tables.run(
                lambda part, out, into: chain_scaled.tangent(
                    scaled, moved, self._graph(), part, w, slope, Expected(unary, out, into, NO_EDGES), failed
                )
            )

        def task(part: np.ndarray, out: np.ndarray, into: np.ndarray) -> None:
            piece, graph, tokens, sequences, number = self._piece(trellis, part)
            change, turn = edge if edge is not None and edge.size else NO_EDGES, d_edge
            if self.joint is not None and piece is not trellis:
                change = np.empty_like(piece.edge)
                turn = self.joint.dense(d_edge, tokens.start, tokens.stop)
            direction = Trellis(d_unary[tokens], d_trans, d_which[sequences], turn)
            results = Expected(unary[tokens], out, into[sequences], change)
            where = number[failed[part]]
            any_order.tangent(piece, direction, graph, where, w[sequences], slope[sequences], results)
            if self.joint is not None and piece is not trellis:
                self.joint.gather(change, tokens.start, tokens.stop, edge)

        if failed.any():
            tables.run(task)
        return Parts(unary=unary, trans=tables.result(), edge=edge)

    def sample(self, scores: Parts, n: int, rng: np.random.Generator) -> list[Ragged]:
        """Independent label sequences from the Gibbs law of the scores."""
        from trelliswork.dp.chain import any_order

        trellis = self._trellis(scores, None)
        uniforms = rng.random((n, self.n_tokens))
        labels = np.empty((n, self.n_tokens), dtype=np.int64)

        def task(part: np.ndarray) -> None:
            piece, graph, tokens, _, number = self._piece(trellis, part)
            if piece is trellis:
                any_order.sample(piece, graph, number, uniforms, labels)
                return
            drawn = np.empty((n, piece.unary.shape[0]), dtype=np.int64)
            any_order.sample(piece, graph, number, np.ascontiguousarray(uniforms[:, tokens]), drawn)
            labels[:, tokens] = drawn

        run(task, self._sequence_chunks(), self._threads)
        if n and labels.size and labels.min() < 0:
            self._check_possible(self.log_partition(scores))
        return [Ragged(row, self.offsets) for row in labels]

    def evaluate(self, codes: Ragged, scores: Parts) -> np.ndarray:
        """Score of given label sequences; -inf where a label is unknown or forbidden."""
        trellis = self._trellis(scores, None)
        known = codes.values >= 0
        labels = np.where(known, codes.values, 0)
        total = np.where(known, trellis.unary[np.arange(self.n_tokens), labels], -np.inf)
        before = self.space.contexts_before(labels, self.offsets)
        inner = np.flatnonzero(before >= 0)
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        total[inner] += trellis.trans[trellis.which[owner[inner]], before[inner], labels[inner]]
        if self.joint is not None:
            cells, tokens = self.joint.of_labels(labels, self.offsets)
            np.add.at(total, tokens, trellis.edge[cells] if cells.size else 0.0)
        elif trellis.edge.size:
            total[inner] += trellis.edge[inner, labels[inner - 1], labels[inner]]
        # reduceat gives an empty sequence the first term of the next one, possibly -inf.
        sums = np.add.reduceat(np.append(total, 0.0), self.offsets[:-1])
        return np.where(np.diff(self.offsets) > 0, sums, 0.0)

    def _check_possible(self, value: np.ndarray) -> None:
        bad = np.flatnonzero(~np.isfinite(value))
        if not bad.size:
            return
        sample = self.subset(bad[:1])
        if sample.log_partition(sample.scores(np.zeros(self.space.n_features)))[0] == -np.inf:
            raise InputError(
                "no label sequence is allowed under the constraints (transitions, scheme, allowed labels)",
                sample=int(bad[0]),
            )
        if self.known is not None and value[bad[0]] == -np.inf:
            raise InputError("no label sequence agrees with what is known of this one", sample=int(bad[0]))
        raise InputError("the scores overflow; scale the weights or the features down", sample=int(bad[0]))
