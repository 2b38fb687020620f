"""The derivation of a given output."""

from __future__ import annotations

from typing import Any

from trelliswork.structures.derivations.graph import Graph

__all__ = ["derivation_of"]


def derivation_of(graph: Graph, sample: int, parts: list[Any], wanted: list[Any]) -> list[int] | None:
    """Local edges of the first derivation whose parts are exactly ``wanted``, or None.

    A goal (v, i) asks where the parts of derivations of node ``v`` can end when they start
    at ``wanted[i]``. Only goals that the root leads to are opened, each once; a goal that
    waits for another is tried again when that one is known.
    """
    shift, base = int(graph.edge_ptr[sample]), int(graph.graph_ptr[sample])
    known: dict[tuple[int, int], dict[int, tuple[int, list[int]]]] = {}  # end -> edge, ends of its tails
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


def _tails(graph: Graph, e: int, base: int) -> list[int]:
    return (graph.tails[graph.tail_ptr[e] : graph.tail_ptr[e + 1]] - base).tolist()
