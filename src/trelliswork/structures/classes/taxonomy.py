"""Class taxonomies: trees and acyclic graphs with one root."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._text import read_text

__all__ = ["Taxonomy"]

_ROOT = "<root>"  # of a nested dict with several top nodes


class Taxonomy:
    """Nodes and their parents; one root, no cycles.

    Parameters
    ----------
    edges : iterable of (parent, child)
        All links, in any order. A child may have several parents.
    """

    def __init__(self, edges: Iterable[tuple[Hashable, Hashable]]):
        self.edges = list(dict.fromkeys(_checked(edges)))
        self.children: dict[Any, list[Any]] = {}
        self.parents: dict[Any, list[Any]] = {}
        for parent, child in self.edges:
            self.children.setdefault(parent, []).append(child)
            self.children.setdefault(child, [])
            self.parents.setdefault(child, []).append(parent)
            self.parents.setdefault(parent, [])
        if not self.edges:
            raise InputError("the taxonomy is empty; expected (parent, child) pairs")
        order = self._bottom_up()
        roots = [node for node, above in self.parents.items() if not above]
        if len(roots) > 1:
            shown = ", ".join(map(repr, roots[:4]))
            raise InputError(f"the taxonomy has {len(roots)} roots ({shown}); join them under one node")
        self.root = roots[0]
        self.heights: dict[Any, int] = {}
        for node in order:
            self.heights[node] = max((self.heights[c] + 1 for c in self.children[node]), default=0)
        self._above: dict[Any, frozenset[Any]] = {}
        for node in reversed(order):
            above: set[Any] = {node}
            for parent in self.parents[node]:
                above |= self._above[parent]
            self._above[node] = frozenset(above)

    @classmethod
    def read(cls, source: Any) -> Taxonomy:
        """Taxonomy from pairs, a nested dict, a graph with ``edges`` (networkx) or a TSV file."""
        if isinstance(source, Taxonomy):
            return source
        if isinstance(source, (str, os.PathLike)):
            return cls(_from_file(source))
        if isinstance(source, Mapping):
            return cls(_from_dict(source))
        if hasattr(source, "edges"):
            if hasattr(source, "is_directed") and not source.is_directed():
                raise InputError("the taxonomy graph must be directed, from parent to child")
            return cls((edge[0], edge[1]) for edge in source.edges)
        if isinstance(source, Collection):
            return cls(source)
        raise InputError(
            "taxonomy must be a list of (parent, child) pairs, a nested dict, a directed graph or the path "
            f"of a TSV file, got {type(source).__name__}"
        )

    def _bottom_up(self) -> list[Any]:
        """Nodes, each after its children."""
        waiting = {node: len(below) for node, below in self.children.items()}
        order = [node for node, n in waiting.items() if n == 0]
        for node in order:
            for parent in self.parents[node]:
                waiting[parent] -= 1
                if waiting[parent] == 0:
                    order.append(parent)
        if len(order) < len(waiting):
            node = next(node for node, n in waiting.items() if n > 0)
            path = [node]
            while True:  # every waiting node has a waiting child, so this ends in a cycle
                node = next(c for c in self.children[node] if waiting[c] > 0)
                if node in path:
                    cycle = " -> ".join(map(repr, [*path[path.index(node) :], node]))
                    raise InputError(f"the taxonomy has a cycle: {cycle}")
                path.append(node)
        return order

    @property
    def height(self) -> int:
        """Height of the root."""
        return self.heights[self.root]

    @property
    def is_tree(self) -> bool:
        """Whether every node has one way from the root."""
        return all(len(parents) <= 1 for parents in self.parents.values())

    @property
    def leaves(self) -> list[Any]:
        """Nodes without children."""
        return [node for node, below in self.children.items() if not below]

    def leaves_below(self, node: Any) -> list[Any]:
        """Leaves below a node, in the order of the links; the node itself if it is a leaf."""
        leaves: dict[Any, None] = {}
        stack = [node]
        while stack:
            here = stack.pop()
            if not self.children[here]:
                leaves[here] = None
            stack.extend(reversed(self.children[here]))
        return list(leaves)

    def check_classes(self, labels: Iterable[Any]) -> None:
        """Refuse classes that are not leaves."""
        for label in labels:
            label = label.item() if isinstance(label, np.generic) else label  # as people write it
            if label not in self.children:
                hint = f"; it has the text {str(label)!r}" if str(label) in self.children else ""
                raise InputError(f"class {label!r} is not in the taxonomy{hint}")
            if self.children[label]:
                raise InputError(
                    f"class {label!r} is an inner node of the taxonomy and has no leaf of its own; "
                    f"add a leaf for it, for instance ({label!r}, '{label} (other)')"
                )

    def lineage(self, label: Any) -> frozenset[Any]:
        """A label and all that is above it but the root; of an unknown label itself alone."""
        return self._above.get(label, frozenset([label])) - {self.root}

    def height_of_meeting(self, a: Any, b: Any) -> float:
        """Height of the lowest common ancestor; 0 for a class and itself."""
        for label in (a, b):
            if label not in self._above:
                raise InputError(f"class {label!r} is not in the taxonomy")
        if a == b:
            return 0.0
        return float(min(self.heights[node] for node in self._above[a] & self._above[b]))

    def meeting_heights(self, labels: Sequence[Any]) -> np.ndarray:
        """:meth:`height_of_meeting` of all pairs of labels."""
        return np.array([[self.height_of_meeting(a, b) for b in labels] for a in labels], dtype=np.float64)

    def nodes_above(self, labels: Sequence[Any], weight: Any = 1.0) -> tuple[list[Any], sp.csr_matrix]:
        """Nodes other than the root that are or lie above the labels, and their attributes.

        Labels come first, in their order. The root, above every label, tells nothing.

        Parameters
        ----------
        labels : list
            Classes.
        weight : float or dict
            Value of the attribute of an ancestor, or values by node (others have 1). Labels have
            1; ancestors of weight 0 are left out.
        """
        classes = set(labels)
        weights = self.ancestor_weights(weight)
        above = [self._above[label] for label in labels]
        inner = {node for nodes in above for node in nodes if weights.get(node, 0.0) > 0.0} - classes
        nodes = [*labels, *(node for node in self.children if node in inner)]
        place = {node: j for j, node in enumerate(nodes)}
        pairs = [(i, place[node]) for i, ancestors in enumerate(above) for node in ancestors if node in place]
        row, column = np.array(sorted(pairs), dtype=np.int64).T
        values = np.array([1.0 if node in classes else weights[node] for node in nodes])[column]
        return nodes, sp.csr_matrix((values, (row, column)), shape=(len(labels), len(nodes)))

    def ancestor_weights(self, weight: Any) -> dict[Any, float]:
        """Weight of every inner node other than the root, from one number or from numbers by node."""
        inner = [node for node, below in self.children.items() if below and node != self.root]
        if not isinstance(weight, Mapping):
            return dict.fromkeys(inner, _as_weight(weight, ""))
        for node in weight:
            if not self.children.get(node):
                known = "a class, and classes have 1" if node in self.children else "not in the taxonomy"
                raise InputError(f"ancestor_weight: {node!r} is {known}; name inner nodes of the taxonomy")
        return {node: _as_weight(weight.get(node, 1.0), f" for {node!r}") for node in inner}


def _as_weight(value: Any, where: str) -> float:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not 0.0 <= value < np.inf:
        raise InputError(f"ancestor_weight must be a finite number >= 0{where}, got {value!r}")
    return float(value)


def _checked(edges: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    for number, edge in enumerate(edges):
        if isinstance(edge, (str, bytes)) or not hasattr(edge, "__len__") or len(edge) != 2:
            raise InputError(f"taxonomy: item {number} must be a (parent, child) pair, got {edge!r}")
        try:
            hash(edge[0]), hash(edge[1])
        except TypeError as error:
            raise InputError(f"taxonomy: item {number}: nodes must be hashable ({error})") from None
        yield edge[0], edge[1]


def _from_dict(tree: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    below = {child for children in tree.values() for child in _children(children)}
    top = [node for node in tree if node not in below]
    if len(top) > 1:  # {"a": {...}, "b": {...}} is the natural way to write a forest
        root = _ROOT
        while root in tree or root in below:
            root += "'"
        yield from ((root, node) for node in top)
    stack: list[tuple[Any, Any]] = list(tree.items())
    while stack:
        parent, children = stack.pop(0)
        yield from ((parent, child) for child in _children(children))
        if isinstance(children, Mapping):
            stack.extend(children.items())


def _children(children: Any) -> Iterable[Any]:
    if children is None:
        return ()
    if isinstance(children, (str, bytes)) or not isinstance(children, Iterable):
        raise InputError(f"taxonomy: expected a dict or a list of children, got {children!r}")
    return children


def _from_file(path: Any) -> Iterator[tuple[str, str]]:
    text, name = read_text(path)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 2:
            raise InputError.at(name, number, f"{len(fields)} columns; expected parent TAB child")
        yield fields[0].strip(), fields[1].strip()
