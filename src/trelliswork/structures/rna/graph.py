"""Derivation graphs of short RNA sequences: best structures for every value of a loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import offsets_of
from trelliswork.structures.derivations import graph as derivations_graph
from trelliswork.structures.derivations.graph import Graph

if TYPE_CHECKING:
    from trelliswork.structures.base import Parts
    from trelliswork.structures.rna.batch import RNABatch

__all__ = ["RNAGraph", "best_at", "check_size", "edge_features", "graphs", "overlap_costs", "profile"]


class RNAGraph(NamedTuple):
    """Graph of one sequence with scores and costs of its edges.

    Attributes
    ----------
    n : int
        Number of bases.
    graph : Graph
        Arrays of the derivation engine.
    rules, places : ndarray of int64
        Rule of each edge (``depth * 19 + column``, or -1) and entry of the upper triangle (or -1).
    scores : ndarray
        Scores of edges.
    costs : ndarray of int64
        Costs of edges.
    """

    n: int
    graph: Graph
    rules: np.ndarray
    places: np.ndarray
    scores: np.ndarray
    costs: np.ndarray


def graphs(batch: RNABatch, scores: Parts, costs: Parts | None = None) -> Iterator[RNAGraph]:
    """Graph of every sequence, one at a time."""
    from trelliswork.dp.rna import graph as rna_graph

    tables, pairs = batch._arrays(scores)
    cost = np.zeros(0, dtype=np.int64)
    if costs is not None and costs.pair is not None:
        cost = derivations_graph.integer_costs(costs.pair)
    for i, seq in enumerate(batch.bases):
        check_size(seq.size, batch.limits.graph_bases, i)
        node_ptr, tail_ptr, tails, rules, places = rna_graph.derivation_graph(seq, batch.space.n_depths)
        table = tables[i if tables.shape[0] > 1 else 0].ravel()
        value = np.where(rules >= 0, table[rules], 0.0)
        paired = places >= 0
        cells = batch.pair_ptr[i] + places[paired]
        if pairs.size:
            value[paired] += pairs[cells]
        loss = np.zeros(rules.size, dtype=np.int64)
        if cost.size:
            loss[paired] = cost[cells]
        graph = Graph(np.array([0, node_ptr.size - 1]), node_ptr, tail_ptr, tails)
        yield RNAGraph(seq.size, graph, rules, places, value, loss)


def check_size(n: int, most: int, i: int) -> None:
    """Refuse a sequence with too many bases for a graph."""
    if n > most:
        raise InputError(
            f"{n} bases are too many for a table of all losses (at most {most}); use margin rescaling with "
            "L1 slacks, or approx=True",
            sample=i,
        )


def profile(graph: RNAGraph, max_loss: int) -> np.ndarray:
    """Best score for every cost 0 .. ``max_loss``."""
    return derivations_graph.loss_profile(graph.graph, graph.scores, graph.costs, max_loss)[0]


def best_at(graph: RNAGraph, loss: int, i: int) -> tuple[np.ndarray, float]:
    """Pair table and score of the best structure with the given cost; ``i`` is its number in messages."""
    [edges], values = derivations_graph.argmax_at_loss(
        graph.graph, graph.scores, graph.costs, np.array([loss]), i
    )
    n = graph.n
    used = graph.places[edges]
    used = used[used >= 0]
    starts = offsets_of(np.arange(n, 0, -1))
    left = np.searchsorted(starts, used, side="right") - 1
    right = used - starts[left] + left
    table = np.full(n, -1, dtype=np.int64)
    paired = left < right
    table[left[paired]], table[right[paired]] = right[paired], left[paired]
    return table, float(values[0])


def overlap_costs(graph: RNAGraph, gold: np.ndarray) -> tuple[RNAGraph, tuple[int, int]]:
    """Graph whose cost counts pairs: predicted ones, plus ``width`` for each that is also in ``gold``.

    Returns the graph and the shape (right + 1, predicted + 1 = width) of a table of both.
    """
    n = graph.n
    i, j = np.triu_indices(n)
    right = gold[i] == j
    shape = int(np.count_nonzero(gold > np.arange(n))) + 1, n // 2 + 1
    cost = np.where(i < j, 1 + shape[1] * right, 0)
    paired = graph.places >= 0
    costs = np.zeros_like(graph.costs)
    costs[paired] = cost[graph.places[paired]]
    return graph._replace(costs=costs), shape


def edge_features(batch: RNABatch) -> Iterator[tuple[int, np.ndarray]]:
    """Number of nodes that have edges, and the feature of every edge, of every sequence."""
    d = batch.space.n_features
    for made in graphs(batch, batch.scores(np.zeros(d))):
        place = np.full(int(batch.space.columns.max(initial=0)) + 2, d)
        place[batch.space.columns] = np.arange(d)
        yield int(np.count_nonzero(np.diff(made.graph.node_ptr))), place[made.rules]
