"""Products of label chains with loss automata: a recursion of their own, and the general engine behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork._ragged import Ragged, gather_ranges, offsets_of
from trelliswork._threads import run
from trelliswork.dp.chain.trellis import Automata, Expected, ScaledTrellis
from trelliswork.structures.base import Decoded, Parts
from trelliswork.structures.chain.graph import chain_graph, edge_values, joint_cells, last_label
from trelliswork.structures.chain.trellis import NO_EDGES, TransitionTables, factors_of
from trelliswork.structures.derivations.product import GraphProduct

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch
    from trelliswork.structures.limits import ChainLimits

__all__ = ["ChainProduct", "ChainView"]


class ChainView:
    """Label sequences as derivation graphs, for :class:`GraphProduct`.

    Parameters
    ----------
    batch : ChainBatch
        Packed sequences.
    """

    def __init__(self, batch: ChainBatch):
        self.batch, self.n_jobs = batch, batch.n_jobs
        self.chain = chain_graph(batch)
        self.graph = self.chain.graph

    @property
    def limits(self) -> ChainLimits:
        """Those of the batch."""
        return self.batch.limits

    def reads(self, i: int) -> np.ndarray:
        """Label of each edge."""
        return self.chain.label[self.graph.edge_ptr[i] : self.graph.edge_ptr[i + 1]]

    def edge_scores(self, scores: Parts) -> np.ndarray:
        """Scores of all edges, -inf where a constraint forbids them."""
        return edge_values(self.chain, self.batch, *self.batch._trellis(scores, None))

    def collect(self, values: np.ndarray) -> Parts:
        """Token, transition (one table per sequence) and edge values."""
        batch, chain = self.batch, self.chain
        k, n_contexts = batch.space.n_labels, batch.space.successor.shape[0]
        with_token = np.flatnonzero(chain.token >= 0)
        flat = chain.token[with_token] * k + chain.label[with_token]
        unary = np.bincount(flat, values[with_token], minlength=batch.n_tokens * k).reshape(-1, k)
        with_context = np.flatnonzero(chain.context >= 0)
        context, label = chain.context[with_context], chain.label[with_context]
        flat = (chain.sequence[with_context] * n_contexts + context) * k + label
        trans = np.bincount(flat, values[with_context], minlength=len(batch) * n_contexts * k)
        edge = batch._no_edges()
        if batch.joint is not None:
            for cell in joint_cells(batch, chain, with_context):
                used = cell >= 0
                edge += np.bincount(cell[used], values[with_context][used], minlength=edge.size)
        elif batch.edge is not None:
            flat = (chain.token[with_context] * k + last_label(batch.space, context)) * k + label
            edge = np.bincount(flat, values[with_context], minlength=batch.n_tokens * k * k).reshape(-1, k, k)
        return Parts(unary=unary, trans=trans.reshape(-1, n_contexts, k), edge=edge)

    def decoded(self, edges: list[np.ndarray], values: np.ndarray) -> Decoded:
        """Label sequences of given edges."""
        rows = [self.chain.label[row + first] for row, first in zip(edges, self.graph.edge_ptr, strict=False)]
        labels = np.concatenate([np.zeros(0, dtype=np.int64), *(row[row >= 0] for row in rows)])
        return Decoded(Ragged(labels, self.batch.offsets), values)


class ChainProduct:
    """Product of label sequences with one automaton per sequence.

    Parameters
    ----------
    batch : ChainBatch
        Packed sequences.
    automata : sequence of LossAutomaton
        One per sequence.
    """

    def __init__(self, batch: ChainBatch, automata: Sequence[Any]):
        self.batch, self.automata = batch, list(automata)
        width = np.array([a.step.shape[1] for a in self.automata], dtype=np.int64)
        sizes = np.array([a.n_states for a in self.automata], dtype=np.int64)
        empty, none = np.zeros(0, dtype=np.int64), np.zeros(0)
        symbol = np.zeros((len(batch), batch.space.n_labels), dtype=np.int64)
        for i, automaton in enumerate(self.automata):
            symbol[i] = automaton.symbol
        self._tables = Automata(
            np.concatenate([empty, *(a.layers for a in self.automata)]),
            width,
            symbol,
            offsets_of(sizes * width),
            offsets_of(sizes),
            np.concatenate([empty, *(a.step.ravel() for a in self.automata)]),
            np.concatenate([none, *(a.cost.ravel() for a in self.automata)]),
            np.concatenate([none, *(a.final for a in self.automata)]),
        )

    def _sums(
        self, scores: Parts, scale: float, weights: np.ndarray | None, risk_law: bool, inside_only: bool
    ) -> tuple[np.ndarray, np.ndarray, Parts]:
        from trelliswork.dp.chain import automaton as chain_automaton

        batch = self.batch
        if batch.joint is not None:  # scores of long n-grams: the general engine
            product = GraphProduct(ChainView(batch), self.automata)
            parts = Parts(unary=None, trans=None, edge=None)
            if not inside_only:
                parts = product.marginals(scores, scale, weights=weights, risk=risk_law)
                parts = Parts(unary=parts.unary, trans=parts.trans.sum(axis=0), edge=parts.edge)
            return product.log_partition(scores, scale), product.risk(scores), parts
        trellis = batch._trellis(scores, None)
        factors, top, room = factors_of(trellis.trans)
        n = len(batch)
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        log_z, risk, failed = np.empty(n), np.empty(n), np.zeros(n, dtype=bool)
        unary = np.zeros((0 if inside_only else batch.n_tokens, batch.space.n_labels))
        edge = NO_EDGES if inside_only or batch.edge is None else np.zeros_like(trellis.edge)
        tables = TransitionTables(batch, False)
        scaled = ScaledTrellis(trellis.unary, factors, top, room, trellis.which)
        args = (scaled, trellis.edge, batch._graph(), self._tables, scale, risk_law)
        tables.run(
            lambda part, out, into: chain_automaton.marginals(
                *args, part, w, log_z, risk, Expected(unary, out, into, edge), failed
            )
        )
        trans = tables.result()
        again = np.flatnonzero(failed)
        if again.size:  # scores or losses too far apart for scaled numbers
            part = batch.subset(again)
            product = GraphProduct(ChainView(part), [self.automata[i] for i in again])
            part_scores = _scores_of(batch, scores, again)
            log_z[again], risk[again] = product.log_partition(part_scores, scale), product.risk(part_scores)
            batch._check_possible(log_z)
            if not inside_only:
                parts = product.marginals(part_scores, scale, weights=w[again], risk=risk_law)
                tokens = gather_ranges(batch.offsets, again)
                unary[tokens] = parts.unary
                trans = trans + parts.trans.sum(axis=0)
                if edge.size:
                    edge[tokens] = parts.edge
        batch._check_possible(log_z)
        return log_z, risk, Parts(unary=unary, trans=trans, edge=edge if edge.size else None)

    def log_partition(self, scores: Parts, scale: float = 1.0) -> np.ndarray:
        """Log of the sum over label sequences."""
        return self._sums(scores, scale, None, False, True)[0]

    def risk(self, scores: Parts) -> np.ndarray:
        """Expected loss of every sequence."""
        return self._sums(scores, 0.0, None, False, True)[1]

    def expect(
        self, scores: Parts, scale: float = 1.0, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, Parts]:
        """Log partitions and expected parts in one pass."""
        log_z, _, parts = self._sums(scores, scale, weights, False, False)
        return log_z, parts

    def marginals(
        self, scores: Parts, scale: float = 1.0, *, weights: np.ndarray | None = None, risk: bool = False
    ) -> Parts:
        """Expected parts; with ``risk`` under the law times the loss."""
        return self._sums(scores, scale, weights, risk, False)[2]

    def argmax(self, scores: Parts, scale: float = 1.0) -> Decoded:
        """Best label sequences, by score plus loss."""
        from trelliswork.dp.chain import automaton as chain_automaton

        batch = self.batch
        if batch.joint is not None:
            return GraphProduct(ChainView(batch), self.automata).argmax(scores, scale)
        trellis = batch._trellis(scores, None)
        labels, value = np.empty(batch.n_tokens, dtype=np.int64), np.empty(len(batch))
        run(
            lambda part: chain_automaton.viterbi(
                trellis, batch._graph(), self._tables, scale, part, labels, value
            ),
            batch._sequence_chunks(),
            batch._threads,
        )
        batch._check_possible(value)
        return Decoded(Ragged(labels, batch.offsets), value)


def _scores_of(batch: ChainBatch, scores: Parts, index: np.ndarray) -> Parts:
    """Scores of some of the sequences."""
    tokens = gather_ranges(batch.offsets, index)
    return Parts(
        unary=scores.unary[tokens],
        trans=scores.trans if scores.trans.ndim == 2 else scores.trans[index],
        edge=None if scores.edge is None else scores.edge[tokens],
    )
