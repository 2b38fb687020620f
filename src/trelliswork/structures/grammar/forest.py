"""Packed forests of sentences, kept while there is room and built again otherwise."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork.structures.derivations.graph import Graph
from trelliswork.structures.grammar.tables import GrammarTables
from trelliswork.structures.limits import GrammarLimits

__all__ = ["Forest", "ForestStore", "Sites", "check_work"]


class Forest(NamedTuple):
    """All trees of one sentence.

    Attributes
    ----------
    graph : Graph
        Arrays of the derivation engine, for one graph.
    rule : ndarray
        Rule (of the recursions) of every edge.
    symbol, start, end : ndarray
        Symbol and words of every node; the root, the last node, has symbol -1.
    """

    graph: Graph
    rule: np.ndarray
    symbol: np.ndarray
    start: np.ndarray
    end: np.ndarray

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the root included."""
        return self.symbol.size

    def node_scores(self, values: np.ndarray) -> np.ndarray:
        """Values of nodes as values of the edges that derive them."""
        return np.repeat(values, np.diff(self.graph.node_ptr))

    def per_node(self, edges: np.ndarray) -> np.ndarray:
        """Values of edges, summed by the node that they derive."""
        owner = np.repeat(np.arange(self.n_nodes), np.diff(self.graph.node_ptr))
        return np.bincount(owner, edges, minlength=self.n_nodes)

    def find(self, symbol: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Nodes of given symbols and words; -1 where there is none, the root for symbol -1."""
        n, size = int(self.end[-1]) + 1, int(self.symbol.max(initial=0)) + 2
        keys = (self.end[:-1] * n + (n - self.start[:-1])) * size + self.symbol[:-1]
        wanted = (end * n + (n - start)) * size + symbol
        place = np.searchsorted(keys, wanted)
        known = (symbol < size - 1) & (place < keys.size)
        known[known] = keys[place[known]] == wanted[known]
        return np.where(symbol < 0, self.n_nodes - 1, np.where(known, place, -1))


class Sites(NamedTuple):
    """Rules at the nodes of a forest, whatever the words at which they split.

    Attributes
    ----------
    node, rule : ndarray of int64
        Node and rule (of the recursions) of every site, in this order.
    edge : ndarray of int64
        Site of every edge.
    """

    node: np.ndarray
    rule: np.ndarray
    edge: np.ndarray

    @classmethod
    def of(cls, forest: Forest, n_rules: int) -> Sites:
        """Sites of all edges of a forest; the recursions have so many rules."""
        owner = np.repeat(np.arange(forest.n_nodes), np.diff(forest.graph.node_ptr))
        keys, edge = np.unique(owner * n_rules + forest.rule, return_inverse=True)
        return cls(*np.divmod(keys, n_rules), edge.ravel())

    def find(self, node: np.ndarray, rule: np.ndarray, n_rules: int) -> np.ndarray:
        """Sites of given nodes and rules, which the forest has."""
        return np.searchsorted(self.node * n_rules + self.rule, node * n_rules + rule)


def check_work(sizes: Any, n_rules: int, limits: GrammarLimits) -> None:
    """Refuse a sentence that would take hours before anything is done.

    Parameters
    ----------
    sizes : sequence of int
        Words of every sentence.
    n_rules : int
        Rules of two symbols.
    limits : GrammarLimits
        How much work a sentence may take.
    """
    n_rules = max(n_rules, 1)
    most = math.floor((limits.sentence_work / n_rules) ** (1 / 3) * (1 + 1e-9))
    for i, size in enumerate(sizes):
        if size > most:
            raise InputError(
                f"a sentence of {size:,} words takes too long with {n_rules:,} or more rules (at most "
                f"{most:,} words); is it one sentence? Grammar.with_limits(sentence_work=...) allows more",
                sample=i,
            )


class ForestStore:
    """Forests of the sentences of a batch and of its subsets.

    Parameters
    ----------
    tables : GrammarTables
        The grammar.
    words : list of ndarray
        Words of every sentence.
    limits : GrammarLimits
        How much is built and kept.
    """

    everything = True  # whether forests hold all trees

    def __init__(self, tables: GrammarTables, words: list[np.ndarray], limits: GrammarLimits):
        self.tables = tables
        self.limits = limits
        self.words = words
        self.n_nodes = np.full(len(words), -1, dtype=np.int64)
        sizes = np.array([w.size for w in words], dtype=np.int64)
        check_work(sizes, int(tables.arrays.left_rule.size), limits)
        self.listed = np.cumsum(sizes**3) <= limits.listed_work
        self.counts: dict[tuple[int, bytes], tuple[int, np.ndarray, np.ndarray]] = {}  # of brackets
        self._kept: dict[int, Forest] = {}
        self.spans: dict[int, Any] = {}  # features of the words that nodes span
        self.sites: dict[int, Sites] = {}  # only where kernels compare rules
        self._room = limits.kept_edges

    def __getstate__(self) -> dict[str, object]:
        empty: dict[str, object] = {"_kept": {}, "counts": {}, "spans": {}, "sites": {}}
        return {**self.__dict__, **empty, "_room": self.limits.kept_edges}

    def get(self, i: int, sample: int) -> Forest:
        """Forest of sentence ``i``, which messages call ``sample``."""
        forest = self._kept.get(i)
        if forest is None:
            forest = self._build(i, sample)
            self.n_nodes[i] = forest.n_nodes
            if self._room >= forest.rule.size:
                self._room -= forest.rule.size
                self._kept[i] = forest
        return forest

    def _build(self, i: int, sample: int) -> Forest:
        from trelliswork.dp.grammar import forest as grammar_forest

        t = self.tables
        (node_ptr, tail_ptr, tails, rule, symbol, start, end), complete = grammar_forest.forest(
            t.arrays, t.context, t.word_class, self.words[i], self.limits.forest_edges
        )
        if not complete:
            raise InputError(
                f"a sentence of {self.words[i].size} words has too many trees to be listed "
                f"(over {self.limits.forest_edges:,} rules applied); predict, log_prob and CRF still work",
                sample=sample,
            )
        graph = Graph(np.array([0, symbol.size]), node_ptr, tail_ptr, tails)
        return Forest(graph, rule, symbol, start, end)
