"""The derivations of a given output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from trelliswork.structures.derivations.graph import Graph

__all__ = ["Shared", "derivation_of", "derivations_of"]

# By node and first part: where the parts can end, each with an edge and the ends of its tails.
Ends = dict[tuple[int, int], dict[int, tuple[int, list[int]]]]


class Shared(NamedTuple):
    """All derivations of one output: a graph whose nodes are those of the sample, each with a stretch of the
    output, in topological order; the root is the last.
    """

    degrees: np.ndarray  # edges of each node
    arity: np.ndarray  # tails of each edge
    tails: np.ndarray
    edges: np.ndarray  # of the sample, that the edges here are


def derivation_of(graph: Graph, sample: int, parts: list[Any], wanted: list[Any]) -> list[int] | None:
    """Local edges of the first derivation whose parts are exactly ``wanted``, or None."""
    shift, base = int(graph.edge_ptr[sample]), int(graph.graph_ptr[sample])
    root = int(graph.graph_ptr[sample + 1]) - 1 - base
    known = _ends(graph, sample, parts, wanted)
    if len(wanted) not in known[root, 0]:
        return None
    out, todo = [], [(root, 0, len(wanted))]
    while todo:
        v, start, end = todo.pop()
        e, path = known[v, start][end]
        out.append(e)
        first = start + (parts[e] is not None)
        todo.extend(reversed(list(zip(_tails(graph, e + shift, base), [first, *path], path))))
    return out


def derivations_of(graph: Graph, sample: int, parts: list[Any], wanted: list[Any]) -> Shared:
    """All derivations whose parts are exactly ``wanted``; the root has no edge where there is none."""
    shift, base = int(graph.edge_ptr[sample]), int(graph.graph_ptr[sample])
    known = _ends(graph, sample, parts, wanted)
    top = (int(graph.graph_ptr[sample + 1]) - 1 - base, 0, len(wanted))
    degrees: list[int] = []
    arity: list[int] = []
    tails: list[int] = []
    edges: list[int] = []
    place: dict[tuple[int, int, int], int] = {}
    opened: dict[tuple[int, int, int], list[tuple[int, list[tuple[int, int, int]]]]] = {}
    stack = [top]
    while stack:
        goal = stack[-1]
        if goal in place:
            stack.pop()
            continue
        v, start, end = goal
        if goal not in opened:
            opened[goal] = []
            for e in range(graph.node_ptr[base + v] - shift, graph.node_ptr[base + v + 1] - shift):
                first = start + (parts[e] is not None)
                if first > start and (start >= end or parts[e] != wanted[start]):
                    continue
                for below in _splits(known, _tails(graph, e + shift, base), first, end):
                    opened[goal].append((e, below))
            stack.extend(u for _, below in opened[goal] for u in below if u not in place)
            continue
        place[goal] = len(degrees)
        ways = opened.pop(goal)
        degrees.append(len(ways))
        for e, below in ways:
            edges.append(e)
            arity.append(len(below))
            tails.extend(place[u] for u in below)
        stack.pop()
    return Shared(*(np.array(a, dtype=np.int64) for a in (degrees, arity, tails, edges)))


def _splits(known: Ends, tails: list[int], start: int, end: int) -> Iterator[list[tuple[int, int, int]]]:
    """Ways to share the parts ``start .. end - 1`` out among tails, left to right."""
    if not tails:
        if start == end:
            yield []
        return
    for middle in known.get((tails[0], start), ()):
        if middle <= end and (len(tails) > 1 or middle == end):
            for rest in _splits(known, tails[1:], middle, end):
                yield [(tails[0], start, middle), *rest]


def _ends(graph: Graph, sample: int, parts: list[Any], wanted: list[Any]) -> Ends:
    """Where the parts of derivations of a node can end when they start at a part of ``wanted``.

    Only goals, a node and a first part, that the root leads to are opened, each once; a goal that waits for
    another is tried again when that one is known.
    """
    shift, base = int(graph.edge_ptr[sample]), int(graph.graph_ptr[sample])
    known: Ends = {}
    root = int(graph.graph_ptr[sample + 1]) - 1 - base
    stack = [(root, 0)]
    while stack:
        v, start = stack[-1]
        if (v, start) in known:
            stack.pop()
            continue
        ends: dict[int, tuple[int, list[int]]] = {}
        missing = None
        for e in range(graph.node_ptr[base + v] - shift, graph.node_ptr[base + v + 1] - shift):
            reached = start
            if parts[e] is not None:
                if start >= len(wanted) or parts[e] != wanted[start]:
                    continue
                reached += 1
            fronts: dict[int, list[int]] = {reached: []}  # end so far -> ends of the tails so far
            for u in _tails(graph, e + shift, base):
                ahead: dict[int, list[int]] = {}
                for middle, path in fronts.items():
                    below = known.get((u, middle))
                    if below is None:
                        missing = (u, middle)
                        break
                    for end in below:
                        ahead.setdefault(end, [*path, end])
                if missing is not None:
                    break
                fronts = ahead
            if missing is not None:
                break
            for end, path in fronts.items():
                ends.setdefault(end, (e, path))
        if missing is not None:
            stack.append(missing)
            continue
        known[v, start] = ends
        stack.pop()
    return known


def _tails(graph: Graph, e: int, base: int) -> list[int]:
    return (graph.tails[graph.tail_ptr[e] : graph.tail_ptr[e + 1]] - base).tolist()
