"""Products of derivation graphs with deterministic loss automata.

In the product the loss is a sum over edges, so the derivation engine answers everything. A node
(v, q) stands for the derivations below ``v`` that are read from state ``q`` on; where derivations
branch, what comes later has to know the state after them: (v, q, q'). Symbols are read top-down
and left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import offsets_of
from trelliswork._threads import balanced_chunks, n_threads, run
from trelliswork.structures.base import Decoded, Parts
from trelliswork.structures.derivations.graph import Graph
from trelliswork.structures.limits import Limits

__all__ = ["GraphProduct", "GraphView", "longest_reading"]

_TINY = np.finfo(np.float64).tiny  # less is zero: its inverse is not finite


class GraphView(Protocol):
    """What a product has to know of a batch of derivation graphs."""

    graph: Graph
    n_jobs: int | None

    @property
    def limits(self) -> Limits:
        """Bounds on memory and on the work done at a time."""

    def reads(self, i: int) -> np.ndarray:
        """Position in the alphabet of what each edge of sample ``i`` reads; -1 for nothing."""

    def edge_scores(self, scores: Parts) -> np.ndarray:
        """Scores of all edges."""

    def collect(self, values: np.ndarray) -> Parts:
        """Values of edges to parts; the adjoint of ``edge_scores``."""

    def decoded(self, edges: list[np.ndarray], values: np.ndarray) -> Decoded:
        """Outputs of given edges, numbered within each sample."""


def longest_reading(graph: Graph, reads: np.ndarray) -> np.ndarray:
    """Most symbols of any derivation, per graph."""
    from trelliswork.dp.derivations import hypergraph

    n = graph.graph_ptr.size - 1
    best = np.empty(graph.graph_ptr[-1])
    back = np.empty(best.size, dtype=np.int64)
    hypergraph.viterbi(*graph, (reads >= 0).astype(np.float64), 0, n, best, back)
    longest = best[graph.graph_ptr[1:] - 1]
    return np.where(np.isfinite(longest), longest, 0).astype(np.int64)


class _Pieces(NamedTuple):
    """Product graph of one sample: degrees, arities, tails, base edges and losses."""

    degrees: list[int]
    arity: list[int]
    tails: list[int]
    base: list[int]
    loss: list[float]


class GraphProduct:
    """Product of a batch of derivation graphs with one automaton per sample.

    Parameters
    ----------
    view : GraphView
        The graphs.
    automata : sequence of LossAutomaton
        One per sample.
    """

    def __init__(self, view: GraphView, automata: Sequence[Any]):
        self.view = view
        graph, most = view.graph, view.limits.product_edges
        pieces, total = [], 0
        for i, automaton in enumerate(automata):
            nodes = range(int(graph.graph_ptr[i]), int(graph.graph_ptr[i + 1]))
            edges = slice(graph.node_ptr[nodes.start], graph.node_ptr[nodes.stop])
            arity = np.diff(graph.tail_ptr)[edges]
            build = _linear if arity.max(initial=0) <= 1 else _branching
            pieces.append(build(graph, nodes, view.reads(i), automaton))
            total += len(pieces[-1].base)
            if total > most:
                raise InputError(
                    f"the product of the derivations with the loss automata has over "
                    f"{most:,} edges; lower the cap of the loss, or take fewer or shorter samples",
                    sample=i,
                )
        graph_ptr = offsets_of([len(p.degrees) for p in pieces])
        shift = np.repeat(graph_ptr[:-1], [len(p.tails) for p in pieces])
        first = np.repeat(graph.edge_ptr[:-1], [len(p.base) for p in pieces])
        base = _joined([p.base for p in pieces])
        self.graph = Graph(
            graph_ptr,
            offsets_of(_joined([p.degrees for p in pieces])),
            offsets_of(_joined([p.arity for p in pieces])),
            _joined([p.tails for p in pieces]) + shift,
        )
        self.base = np.where(base >= 0, base + first, -1)
        self.loss = np.concatenate([np.zeros(0), *(np.array(p.loss) for p in pieces)])

    def _run(self, task: Any) -> list[Any]:
        chunks = balanced_chunks(self.graph.edge_ptr, self.view.limits.edges_per_chunk)
        return run(task, chunks, n_threads(self.view.n_jobs))

    def _scores(self, scores: Parts, scale: float) -> np.ndarray:
        padded = np.append(self.view.edge_scores(scores), 0.0)  # the last for edges without base
        base_scores = padded[self.base]
        return base_scores + scale * self.loss if scale else base_scores

    def _inside(self, score: np.ndarray) -> np.ndarray:
        from trelliswork.dp.derivations import hypergraph

        log_beta = np.empty(self.graph.graph_ptr[-1])
        self._run(lambda a, b: hypergraph.inside(*self.graph, score, a, b, log_beta))
        return log_beta

    def _usage(self, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from trelliswork.dp.derivations import hypergraph

        log_beta = self._inside(score)
        rho_node, rho = np.empty(log_beta.size), np.empty(score.size)
        self._run(lambda a, b: hypergraph.marginals(*self.graph, score, a, b, log_beta, rho_node, rho))
        return log_beta, rho

    def log_partition(self, scores: Parts, scale: float = 1.0) -> np.ndarray:
        """Log of the sum over outputs, per sample."""
        return self._inside(self._scores(scores, scale))[self.graph.graph_ptr[1:] - 1]

    def expect(
        self, scores: Parts, scale: float = 1.0, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, Parts]:
        """Log partitions and expected parts."""
        return self.log_partition(scores, scale), self.marginals(scores, scale, weights=weights)

    def risk(self, scores: Parts) -> np.ndarray:
        """Expected loss, per sample."""
        _, rho = self._usage(self._scores(scores, 0.0))
        return np.add.reduceat(np.append(rho * self.loss, 0.0), self.graph.edge_ptr[:-1])

    def marginals(
        self, scores: Parts, scale: float = 1.0, *, weights: np.ndarray | None = None, risk: bool = False
    ) -> Parts:
        """Expected parts; with ``risk`` under the law times the loss."""
        from trelliswork.dp.derivations import hypergraph

        score = self._scores(scores, scale)
        log_beta, rho = self._usage(score)
        sizes = np.diff(self.graph.edge_ptr)
        if risk:
            slope, moved = np.empty(sizes.size), np.empty(score.size)
            self._run(
                lambda a, b: hypergraph.tangent(
                    *self.graph, score, a, b, log_beta, rho, self.loss, slope, moved
                )
            )
            mean = np.add.reduceat(np.append(rho * self.loss, 0.0), self.graph.edge_ptr[:-1])
            share = np.divide(1.0, mean, out=np.zeros_like(mean), where=mean >= _TINY)
            rho = rho * np.repeat(mean >= _TINY, sizes) + moved * np.repeat(share, sizes)
        if weights is not None:
            rho = rho * np.repeat(np.asarray(weights, dtype=np.float64), sizes)
        n_edges = int(self.view.graph.edge_ptr[-1])
        used = self.base >= 0
        return self.view.collect(np.bincount(self.base[used], rho[used], minlength=n_edges))

    def argmax(self, scores: Parts, scale: float = 1.0) -> Decoded:
        """Best output, by score plus loss."""
        from trelliswork.dp.derivations import hypergraph

        score = self._scores(scores, scale)
        best = np.empty(self.graph.graph_ptr[-1])
        back = np.empty(best.size, dtype=np.int64)
        self._run(lambda a, b: hypergraph.viterbi(*self.graph, score, a, b, best, back))
        n = self.graph.graph_ptr.size - 1
        edge_ptr, edges = hypergraph.derivations(
            self.graph.graph_ptr, self.graph.tail_ptr, self.graph.tails, 0, n, back
        )
        outputs = []
        for i in range(n):
            bases = self.base[edges[edge_ptr[i] : edge_ptr[i + 1]]]
            outputs.append(bases[bases >= 0] - self.view.graph.edge_ptr[i])
        return self.view.decoded(outputs, best[self.graph.graph_ptr[1:] - 1])


def _joined(lists: list[list[int]]) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *(np.array(x, dtype=np.int64) for x in lists)])


def _read(automaton: Any, state: int, label: int) -> tuple[int, float]:
    """State after a label (or nothing), and its cost; -1 where no output is so long."""
    if label < 0:
        return state, 0.0
    symbol = automaton.symbol[label]
    return int(automaton.step[state, symbol]), float(automaton.cost[state, symbol])


def _linear(graph: Graph, nodes: range, reads: np.ndarray, automaton: Any) -> _Pieces:
    """Product where every edge has at most one tail: the final cost goes to the last edge."""
    first_edge = int(graph.node_ptr[nodes.start])
    states: dict[int, set[int]] = {nodes[-1]: {0}}
    for v in reversed(nodes):
        for q in states.get(v, ()):
            for e in range(graph.node_ptr[v], graph.node_ptr[v + 1]):
                target, _ = _read(automaton, q, reads[e - first_edge])
                if target >= 0:
                    for tail in graph.tails[graph.tail_ptr[e] : graph.tail_ptr[e + 1]]:
                        states.setdefault(int(tail), set()).add(target)
    out = _Pieces([], [], [], [], [])
    number: dict[tuple[int, int], int] = {}
    for v in nodes:
        for q in sorted(states.get(v, ())):
            number[v, q] = len(number)
            before = len(out.base)
            for e in range(graph.node_ptr[v], graph.node_ptr[v + 1]):
                target, cost = _read(automaton, q, reads[e - first_edge])
                if target < 0:
                    continue
                tails = graph.tails[graph.tail_ptr[e] : graph.tail_ptr[e + 1]].tolist()
                out.tails.extend(number[tail, target] for tail in tails)
                out.arity.append(len(tails))
                out.base.append(e - first_edge)
                out.loss.append(cost if tails else cost + float(automaton.final[target]))
            out.degrees.append(len(out.base) - before)
    return out


def _branching(graph: Graph, nodes: range, reads: np.ndarray, automaton: Any) -> _Pieces:
    """Product of any graph: nodes know the states before and after what they derive."""
    first_edge = int(graph.node_ptr[nodes.start])
    after: dict[tuple[int, int], list[int]] = {}  # (v, q) -> states after the derivations of v
    edges: dict[tuple[int, int, int], list[tuple[int, float, list[tuple[int, int, int]]]]] = {}
    for v in nodes:
        for q in range(automaton.n_states):
            ends: dict[int, None] = {}
            for e in range(graph.node_ptr[v], graph.node_ptr[v + 1]):
                state, cost = _read(automaton, q, reads[e - first_edge])
                if state < 0:
                    continue
                partial: list[tuple[int, list[tuple[int, int, int]]]] = [(state, [])]
                for tail in graph.tails[graph.tail_ptr[e] : graph.tail_ptr[e + 1]].tolist():
                    partial = [
                        (end, [*below, (tail, middle, end)])
                        for middle, below in partial
                        for end in after.get((tail, middle), ())
                    ]
                for end, below in partial:
                    ends[end] = None
                    edges.setdefault((v, q, end), []).append((e - first_edge, cost, below))
            if ends:
                after[v, q] = sorted(ends)
    root = nodes[-1]
    used = {(root, 0, end) for end in after.get((root, 0), ())}
    for key in sorted(edges, reverse=True):  # heads come after their tails
        if key in used:
            used.update(node for _, _, below in edges[key] for node in below)
    out = _Pieces([], [], [], [], [])
    number: dict[tuple[int, int, int], int] = {}
    for key in sorted(used):
        number[key] = len(number)
        out.degrees.append(len(edges[key]))
        for e, cost, below in edges[key]:
            out.tails.extend(number[node] for node in below)
            out.arity.append(len(below))
            out.base.append(e)
            out.loss.append(cost)
    finals = after.get((root, 0), [])
    out.degrees.append(len(finals))
    for end in finals:
        out.tails.append(number[root, 0, end])
        out.arity.append(1)
        out.base.append(-1)
        out.loss.append(float(automaton.final[end]))
    return out
