"""What the nodes of packed forests bracket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from trelliswork.dp.grammar.rules import LEXICAL
from trelliswork.structures.grammar.forest import Forest
from trelliswork.structures.grammar.tables import GrammarTables

__all__ = ["Brackets", "Span"]

Span = tuple[str, int, int]  # label, first word, word after the last


class Brackets:
    """Labelled spans of the nodes of forests: phrases, and tags right above words.

    Parameters
    ----------
    grammar : GrammarTables
        The rules.
    """

    def __init__(self, grammar: GrammarTables):
        self.grammar = grammar
        self.labels = grammar.labels
        self.n_labels = np.array([*map(len, grammar.labels), 0], dtype=np.int64)  # the last: of the root
        self.lexical = grammar.arrays.kind == LEXICAL

    @cached_property
    def repeat(self) -> bool:
        """Whether different nodes over the same words may have the same label, one above the other.

        How many of them a gold tree has is then no sum over nodes.
        """
        number = self.grammar.number
        children: list[list[int]] = [[] for _ in self.labels]
        for rule in self.grammar.dp_rules:
            if rule[0] == "unary":
                children[number[rule[1]]].append(number[rule[2]])
        below: list[set[str]] = []
        for labels, symbols in zip(self.labels, children):  # children come before their heads
            below.append({label for c in symbols for label in (*self.labels[c], *below[c])})
            if below[-1].intersection(labels):
                return True
        return False

    def _spans(self, forest: Forest) -> Iterator[tuple[int, list[Span]]]:
        """Nodes that bracket something, and what, from the top."""
        places = zip(forest.symbol[:-1].tolist(), forest.start.tolist(), forest.end.tolist())
        for v, (symbol, start, end) in enumerate(places):
            if self.labels[symbol]:
                yield v, [(label, start, end) for label in self.labels[symbol]]

    def totals(self, forest: Forest, values: np.ndarray) -> dict[Span, float]:
        """Values of nodes, summed by labelled span, tags included."""
        out: dict[Span, float] = {}
        value = values.tolist()
        for v, spans in self._spans(forest):
            for span in spans:
                out[span] = out.get(span, 0.0) + value[v]
        return out

    def expected(self, forest: Forest, values: np.ndarray) -> np.ndarray:
        """For each node the sum of the totals of what it brackets."""
        totals = self.totals(forest, values)
        out = np.zeros(forest.n_nodes)
        for v, spans in self._spans(forest):
            out[v] = sum(totals[span] for span in spans)
        return out

    def sizes(self, forest: Forest) -> np.ndarray:
        """Number of brackets and tags of each node."""
        return self.n_labels[forest.symbol]

    def of_nodes(self, forest: Forest, nodes: np.ndarray) -> set[Span]:
        """Labelled spans of some nodes, tags included."""
        chosen = set(nodes.tolist())
        return {span for v, spans in self._spans(forest) if v in chosen for span in spans}

    def missing(
        self, forest: Forest, gold: set[Span], label_weight: Mapping[Any, float] | None
    ) -> np.ndarray:
        """Weight of the brackets and tags of each node that the gold tree lacks."""
        out = np.zeros(forest.n_nodes)
        for v, spans in self._spans(forest):
            for span in spans:
                if span not in gold:
                    out[v] += 1.0 if label_weight is None else float(label_weight.get(span[0], 1.0))
        return out

    def right(self, forest: Forest, nodes: np.ndarray) -> np.ndarray:
        """Number of brackets and tags of each node that the gold tree of some nodes has as often."""
        spans_of = dict(self._spans(forest))
        gold = Counter(span for v in nodes.tolist() for span in spans_of.get(v, []))
        out = np.zeros(forest.n_nodes)
        for v, spans in spans_of.items():
            out[v] = (gold & Counter(spans)).total()
        return out

    def phrase_counts(
        self, forest: Forest, nodes: np.ndarray, rules: np.ndarray
    ) -> tuple[int, np.ndarray, np.ndarray]:
        """Phrases of a gold tree; per edge of the forest, its phrases and how many of them are right.

        Parameters
        ----------
        forest : Forest
            The forest.
        nodes, rules : ndarray
            Nodes and rules of the gold tree.
        """
        spans_of = dict(self._spans(forest))
        gold: Counter[Span] = Counter()
        for v, tagged in zip(nodes.tolist(), self.lexical[rules].tolist()):
            gold.update(spans_of.get(v, [])[: len(spans_of.get(v, [])) - tagged])
        n_true = gold.total()
        among, last = np.zeros(forest.n_nodes, dtype=np.int64), np.zeros(forest.n_nodes, dtype=np.int64)
        for v, spans in spans_of.items():
            among[v] = (gold & Counter(spans)).total()
            last[v] = among[v] - (gold & Counter(spans[:-1])).total()
        tagged = self.lexical[forest.rule]
        size = forest.node_scores(self.sizes(forest)) - tagged
        right = forest.node_scores(among) - np.where(tagged, forest.node_scores(last), 0)
        return n_true, np.maximum(size, 0), right
