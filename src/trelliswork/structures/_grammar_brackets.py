"""What the nodes of packed forests bracket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trelliswork.structures._grammar_forest import Forest
from trelliswork.structures._grammar_tables import GrammarTables

__all__ = ["Brackets", "Span"]

Span = tuple[str, int, int]  # label, first word, word after the last


class Brackets:
    """Labelled spans of the nodes of forests.

    A symbol that derives words is taken for a tag where it covers one word.

    Parameters
    ----------
    grammar : GrammarTables
        The rules.
    """

    def __init__(self, grammar: GrammarTables):
        self.labels = grammar.labels
        lexical = {rule[1] for rule in grammar.dp_rules if rule[0] == "lexical"}
        self.is_tag = np.array([symbol in lexical for symbol in grammar.symbols], dtype=np.bool_)

    def _node_labels(self, forest: Forest) -> Iterator[tuple[int, tuple[str, ...], bool]]:
        """Nodes with the labels that they bracket, and whether the last of these is a tag."""
        labels, one_word = self.labels, forest.end - forest.start == 1
        for v, symbol in enumerate(forest.symbol[:-1].tolist()):
            if labels[symbol]:
                yield v, labels[symbol], bool(one_word[v] and self.is_tag[symbol])

    def totals(self, forest: Forest, values: np.ndarray) -> dict[Span, float]:
        """Values of nodes, summed by labelled span, tags included."""
        out: dict[Span, float] = {}
        start, end, value = forest.start.tolist(), forest.end.tolist(), values.tolist()
        for v, labels, _ in self._node_labels(forest):
            for label in labels:
                key = (label, start[v], end[v])
                out[key] = out.get(key, 0.0) + value[v]
        return out

    def expected(self, forest: Forest, values: np.ndarray) -> np.ndarray:
        """For each node the sum of the totals of what it brackets."""
        totals = self.totals(forest, values)
        out = np.zeros(forest.n_nodes)
        start, end = forest.start.tolist(), forest.end.tolist()
        for v, labels, _ in self._node_labels(forest):
            out[v] = sum(totals[label, start[v], end[v]] for label in labels)
        return out

    def of_nodes(self, forest: Forest, nodes: np.ndarray) -> dict[Span, bool]:
        """Labelled spans of some nodes; True for phrases, False for tags."""
        chosen = set(nodes.tolist())
        out: dict[Span, bool] = {}
        for v, labels, tagged in self._node_labels(forest):
            if v in chosen:
                for place, label in enumerate(labels):
                    is_tag = tagged and place == len(labels) - 1
                    key = (label, int(forest.start[v]), int(forest.end[v]))
                    out[key] = out.get(key, False) or not is_tag
        return out

    def missing(
        self,
        forest: Forest,
        gold: Mapping[Span, bool],
        label_weight: Mapping[Any, float] | None,
    ) -> np.ndarray:
        """Weight of the brackets and tags of each node that the gold tree lacks."""
        out = np.zeros(forest.n_nodes)
        start, end = forest.start.tolist(), forest.end.tolist()
        for v, labels, _ in self._node_labels(forest):
            for label in labels:
                if (label, start[v], end[v]) not in gold:
                    out[v] += 1.0 if label_weight is None else float(label_weight.get(label, 1.0))
        return out
