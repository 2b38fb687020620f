"""Trees of which some brackets are known: forests with the trees that have them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import gather_ranges, offsets_of
from trelliswork.structures.derivations.graph import Graph
from trelliswork.structures.grammar.brackets import Brackets
from trelliswork.structures.grammar.forest import Forest, ForestStore

__all__ = ["KnownBrackets", "RestrictedStore", "forbidden_nodes", "is_open", "read_brackets"]

KnownBrackets = tuple[tuple[str | None, int, int], ...]


def is_open(tree: Any) -> bool:
    """Whether a tree is known in part: a set of brackets, or None."""
    return tree is None or isinstance(tree, Set)


def read_brackets(i: int, known: Any, n_words: int) -> KnownBrackets:
    """Brackets (label or None, first word, word after the last) of sentence ``i``, checked and in order."""
    for bracket in known or ():
        label, start, end = bracket if isinstance(bracket, tuple) and len(bracket) == 3 else (0, 0, 0)
        whole = isinstance(start, (int, np.integer)) and isinstance(end, (int, np.integer))
        if not (label is None or isinstance(label, str)) or not whole or not 0 <= start < end <= n_words:
            raise InputError(
                f"{bracket!r:.60} is no bracket of a sentence of {n_words} words; expected (label or None, "
                "first word, word after the last), counted from 0",
                sample=i,
            )
    return tuple(sorted(known or (), key=lambda b: (b[1], -b[2], b[0] or "")))


def _crossing(forest: Forest, start: int, end: int) -> np.ndarray:
    """Nodes whose words overlap with others, but neither hold all of them nor are among them."""
    a, b = forest.start, forest.end
    return ((a < start) & (start < b) & (b < end)) | ((start < a) & (a < end) & (end < b))


def _by_span(known: KnownBrackets) -> dict[tuple[int, int], list[str | None]]:
    """Labels that are wanted, by the words that they are over."""
    wanted: dict[tuple[int, int], list[str | None]] = {}
    for label, start, end in known:
        wanted.setdefault((start, end), []).append(label)
    return {span: list(dict.fromkeys(labels)) for span, labels in wanted.items()}


def _bits(labels: Sequence[str], wanted: Sequence[str | None]) -> int:
    """Which of the wanted labels a node has; None is any."""
    return sum(1 << k for k, label in enumerate(wanted) if (labels if label is None else label in labels))


def _levels(forest: Forest) -> np.ndarray:
    """Whether an edge leads to one node over the same words."""
    g = forest.graph
    head = np.repeat(np.arange(forest.n_nodes), np.diff(g.node_ptr))
    arity = np.diff(g.tail_ptr)
    child = np.append(g.tails, 0)[np.minimum(g.tail_ptr[:-1], g.tails.size)]
    same = (forest.start[head] == forest.start[child]) & (forest.end[head] == forest.end[child])
    return (arity == 1) & same & (head < forest.n_nodes - 1)


def forbidden_nodes(forest: Forest, known: KnownBrackets, brackets: Brackets) -> np.ndarray:
    """Nodes that no tree with the known brackets has.

    Where there may be several nodes over the same words it cannot be said of a single one.
    """
    bad = np.zeros(forest.n_nodes, dtype=bool)
    head = np.repeat(np.arange(forest.n_nodes), np.diff(forest.graph.node_ptr))
    stacked = np.zeros(forest.n_nodes, dtype=bool)
    stacked[head[_levels(forest)]] = True
    for (start, end), wanted in _by_span(known).items():
        bad |= _crossing(forest, start, end)
        here = np.flatnonzero((forest.start[:-1] == start) & (forest.end[:-1] == end))
        if not stacked[here].any():
            full = (1 << len(wanted)) - 1
            bad[here] = [_bits(brackets.labels[s], wanted) != full for s in forest.symbol[here]]
    bad[-1] = False
    return bad


def restricted(forest: Forest, known: KnownBrackets, brackets: Brackets) -> tuple[Forest, np.ndarray]:
    """The trees of a forest that have all known brackets, and the node that each of theirs is a copy of.

    No node of such a tree crosses a known bracket; all rules being binary or unary (but those with words at
    both ends), some node is then over exactly its words. Nodes over known words are split by which of the
    wanted labels they or nodes below them over the same words have, and only those with all are used above.
    """
    g, n = forest.graph, forest.n_nodes
    head = np.repeat(np.arange(n), np.diff(g.node_ptr))
    usable = np.ones(head.size, dtype=bool)
    spans = _by_span(known)
    arity, level = np.diff(g.tail_ptr), _levels(forest)
    child = np.append(g.tails, 0)[np.minimum(g.tail_ptr[:-1], g.tails.size)]
    wraps = (arity == 1) & ~level & (head < n - 1)
    states: dict[int, dict[int, list[tuple[int, int]]]] = {}  # node -> labels seen -> edges, labels below
    full: dict[int, int] = {}
    for start, end in spans:
        usable &= ~_crossing(forest, start, end)[head]
        inside = (forest.start[head] <= start) & (end <= forest.end[head])
        inside &= (forest.start[head] < start) | (end < forest.end[head])
        below = (forest.start[child] <= start) & (end <= forest.end[child])
        usable &= ~(wraps & inside & ~below)
    for (start, end), wanted in spans.items():
        for v in np.flatnonzero((forest.start[:-1] == start) & (forest.end[:-1] == end)).tolist():
            here = _bits(brackets.labels[forest.symbol[v]], wanted)
            reached: dict[int, list[tuple[int, int]]] = {}
            full[v] = (1 << len(wanted)) - 1
            for e in range(g.node_ptr[v], g.node_ptr[v + 1]):
                if not usable[e]:
                    continue
                for seen in states[int(child[e])] if level[e] else (0,):
                    reached.setdefault(here | seen, []).append((e, seen))
            states[v] = reached
    copies = np.ones(n, dtype=np.int64)
    copies[list(states)] = [len(reached) for reached in states.values()]
    first = offsets_of(copies)
    number = first[:-1].copy()  # of the node that is used over other words
    place: dict[tuple[int, int], int] = {}
    for v, reached in states.items():
        for k, seen in enumerate(sorted(reached)):
            place[v, seen] = int(first[v]) + k
        number[v] = place.get((v, full[v]), -1)
    split = np.isin(head, list(states))
    edges, heads, lower = [np.flatnonzero(usable & ~split)], [], []
    heads.append(number[head[edges[0]]])
    lower.append(np.full(edges[0].size, -1))
    for v, reached in states.items():
        for seen, ways in reached.items():
            edges.append(np.array([e for e, _ in ways]))
            heads.append(np.full(len(ways), place[v, seen]))
            lower.append(np.array([place[int(child[e]), b] if level[e] else -1 for e, b in ways]))
    edge, new_head, new_child = map(np.concatenate, (edges, heads, lower))
    tails = number[g.tails[gather_ranges(g.tail_ptr, edge)]]
    ptr = offsets_of(arity[edge])
    fixed = np.flatnonzero(new_child >= 0)
    tails[ptr[fixed]] = new_child[fixed]
    dead = np.zeros(edge.size, dtype=bool)
    dead[np.repeat(np.arange(edge.size), arity[edge])[tails < 0]] = True
    order = np.flatnonzero(~dead)[np.argsort(new_head[~dead], kind="stable")]
    node_ptr = offsets_of(np.bincount(new_head[order], minlength=int(first[-1])))
    graph = Graph(
        np.array([0, first[-1]]), node_ptr, offsets_of(arity[edge[order]]), tails[gather_ranges(ptr, order)]
    )
    of = np.repeat(np.arange(n), copies)
    left = Forest(graph, forest.rule[edge[order]], forest.symbol[of], forest.start[of], forest.end[of])
    return left, of


class RestrictedStore(ForestStore):
    """Forests of which only the trees with known brackets are left.

    Parameters
    ----------
    store : ForestStore
        All trees.
    index : ndarray of int
        Place of every sample in that store.
    known : list
        Brackets of every sample, None for those that are not restricted.
    brackets : Brackets
        What nodes bracket.
    """

    everything = False

    def __init__(
        self, store: ForestStore, index: np.ndarray, known: list[KnownBrackets | None], brackets: Brackets
    ):
        super().__init__(store.tables, [store.words[i] for i in index], store.limits)
        self.listed[:] = True
        self._origins: dict[int, np.ndarray] = {}
        self._source, self._index, self._known, self._brackets = store, index, known, brackets

    def _build(self, i: int, sample: int) -> Forest:
        forest, known = self._source.get(int(self._index[i]), sample), self._known[i]
        if known is None:
            self._origins[i] = np.arange(forest.n_nodes)
            return forest
        built, self._origins[i] = restricted(forest, known, self._brackets)
        return built

    def origins(self, i: int) -> np.ndarray:
        """Node of all trees that every node of the forest of sample ``i`` is a copy of."""
        if i not in self._origins:
            self.get(i, i)
        return self._origins[i]
