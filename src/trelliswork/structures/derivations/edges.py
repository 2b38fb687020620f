"""Edges as users write them, checked and numbered: the derivation graph of one input."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._validate import as_number

__all__ = ["Edge", "Sample", "compiled"]


class Edge(NamedTuple):
    """One way to derive a node from other nodes.

    Attributes
    ----------
    head : hashable
        Name of the node that is derived.
    tails : sequence of hashable
        Nodes that it is derived from, left to right; none at a leaf.
    features : sequence of hashable, or mapping from hashable to float
        Features that the edge fires: names (value 1 each) or values by name.
    part : hashable
        What the edge contributes to the output; None for nothing.

    Examples
    --------
    >>> from trelliswork import Edge
    >>> Edge("S", ("NP", "VP"), ["S -> NP VP"])
    Edge(head='S', tails=('NP', 'VP'), features=['S -> NP VP'], part=None)
    """

    head: Hashable
    tails: Sequence[Hashable] = ()
    features: Sequence[Hashable] | Mapping[Hashable, float] = ()
    part: Hashable = None


class Sample(NamedTuple):
    """Graph of one input: nodes in topological order, edges grouped by head."""

    x: Any
    degrees: np.ndarray  # edges of each node
    arity: np.ndarray  # tails of each edge
    tails: np.ndarray
    feat_ptr: np.ndarray
    feat_idx: np.ndarray  # numbers of names in `alphabet`
    feat_val: np.ndarray
    alphabet: dict[Hashable, int]  # shared by the samples that were prepared together
    parts: list[Any]  # of each edge
    dead_end: Any  # name of a node without edges in a tuple, or None; for messages


def compiled(i: int, x: Any, edges: list[Any], alphabet: dict[Hashable, int]) -> Sample:
    """Check and number the edges that the root reaches."""
    by_head: dict[Hashable, list[Edge]] = {}
    root: Any = None
    for number, item in enumerate(edges):
        edge = _as_edge(i, number, item)
        root = edge.head
        by_head.setdefault(root, []).append(edge)
    order = _topological(i, root, by_head)
    place = {node: v for v, node in enumerate(order)}
    degrees, arity, tails = array("q"), array("q"), array("q")
    feat_ptr, feat_idx, feat_val = array("q", [0]), array("q"), array("d")
    parts: list[Any] = []
    for node in order:
        choices = by_head.get(node, ())
        degrees.append(len(choices))
        for edge in choices:
            arity.append(len(edge.tails))
            tails.extend([place[u] for u in edge.tails])
            parts.append(edge.part)
            for name, value in _named_values(i, edge):
                feat_idx.append(alphabet.setdefault(name, len(alphabet)))
                feat_val.append(value)
            feat_ptr.append(len(feat_idx))
    dead = next(((node,) for node in order if node not in by_head), None)
    return Sample(
        x,
        np.array(degrees, dtype=np.int64),
        np.array(arity, dtype=np.int64),
        np.array(tails, dtype=np.int64),
        np.array(feat_ptr, dtype=np.int64),
        np.array(feat_idx, dtype=np.int64),
        np.array(feat_val, dtype=np.float64),
        alphabet,
        parts,
        dead,
    )


def _as_edge(i: int, number: int, item: Any) -> Edge:
    try:
        edge = item if isinstance(item, Edge) else Edge(*item)
        hash(edge.head)
        hash(edge.part)
    except TypeError as error:
        raise InputError(
            f"edge {number} of build(x): expected Edge(head, tails, features, part) with "
            f"hashable names, got {item!r} ({error})",
            sample=i,
        ) from None
    if isinstance(edge.tails, (str, bytes)) or not isinstance(edge.tails, Sequence):
        raise InputError(f"edge {number} of build(x): tails must be a list, got {edge.tails!r}", sample=i)
    return edge


def _named_values(i: int, edge: Edge) -> Iterator[tuple[Hashable, float]]:
    features = edge.features
    if isinstance(features, (str, bytes)):
        raise InputError(f"features of {edge.head!r} must be a list or a dict, got {features!r}", sample=i)
    pairs = features.items() if isinstance(features, Mapping) else ((name, 1.0) for name in features)
    for name, value in pairs:
        if not isinstance(name, Hashable):
            raise InputError(f"a feature name must be hashable, got {name!r}", sample=i)
        yield name, as_number(f"feature {name!r}", value, sample=i)


def _topological(i: int, root: Any, by_head: Mapping[Hashable, list[Edge]]) -> list[Any]:
    """Nodes that the root reaches, each after the nodes below it."""
    order: list[Any] = []
    done: dict[Any, bool] = {root: False}  # False: on the way down to it
    stack = [(root, _children(by_head.get(root, ())))]
    while stack:
        node, rest = stack[-1]
        for child in rest:
            finished = done.get(child)
            if finished is None:
                done[child] = False
                stack.append((child, _children(by_head.get(child, ()))))
                break
            if not finished:
                raise InputError(f"build(x) makes a cycle through node {child!r}", sample=i)
        else:
            done[node] = True
            order.append(node)
            stack.pop()
    return order


def _children(edges: Iterable[Edge]) -> Iterator[Hashable]:
    return (u for edge in edges for u in edge.tails)
