"""Sums over blocks in an order that the number of blocks alone decides.

Blocks are the leaves of a tree. A node of more than eight leaves has two children, each with one half of
them; the sum of a node is that of its left child plus that of its right one. A node of at most eight leaves
is a group: it is added up from the left, so that one vector takes what each of its leaves has to say. Whoever
has some of the leaves adds up what is complete and hands the rest on, so that the result is the same to the
last bit, however leaves are shared out and in whatever order they come. Halves and quarters of the leaves are
nodes, so that two or four workers hand on one sum each.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from trelliswork.structures.spread import Spread

__all__ = ["SKIPPED", "TreeSum", "added", "groups_of"]

_GROUP = 8  # leaves that are added up from the left, at most
_Node = tuple[int, int]  # first leaf, and the one after the last

SKIPPED = "skipped"  # the value of a leaf that has nothing to say


def added(a: Any, b: Any) -> Any:
    """Sum of two answers: numbers, arrays, tuples of them; None where one is missing.

    Examples
    --------
    >>> from trelliswork.shards.tree import added
    >>> added((1.0, [2, 3]), (4.0, [5, 6])), added(None, 1.0)
    ((5.0, [7, 9]), None)
    """
    if isinstance(a, str) and a == SKIPPED:
        return b
    if isinstance(b, str) and b == SKIPPED:
        return a
    if a is None or b is None:
        return None
    if isinstance(a, (tuple, list)):
        pairs = [added(x, y) for x, y in zip(a, b, strict=True)]
        return type(a)(*pairs) if hasattr(a, "_fields") else type(a)(pairs)
    return a + b


class _Tree(NamedTuple):
    """The tree over some number of leaves."""

    groups: list[_Node]
    group_of: list[int]  # number of the group of a leaf
    above: dict[_Node, tuple[_Node, _Node]]  # the node beside a node, and the one above both


@functools.lru_cache(maxsize=64)
def _tree(n_leaves: int) -> _Tree:
    groups: list[_Node] = []
    above: dict[_Node, tuple[_Node, _Node]] = {}
    below = [(0, n_leaves)]
    while below:
        node = first, last = below.pop()
        if last - first <= _GROUP:
            groups.append(node)
            continue
        middle = first + (last - first + 1) // 2
        left, right = (first, middle), (middle, last)
        above[left], above[right] = (right, node), (left, node)
        below += [right, left]
    return _Tree(groups, [g for g, (a, b) in enumerate(groups) for _ in range(a, b)], above)


def groups_of(n_leaves: int) -> list[tuple[int, int]]:
    """Groups of leaves that are added up from the left: the first of each, and the one after its last.

    Examples
    --------
    >>> from trelliswork.shards.tree import groups_of
    >>> groups_of(20)
    [(0, 5), (5, 10), (10, 15), (15, 20)]
    """
    return list(_tree(n_leaves).groups)


class TreeSum:
    """Sums of the nodes that are known so far.

    Parameters
    ----------
    n_leaves : int
        Number of blocks.

    Examples
    --------
    >>> from trelliswork.shards.tree import TreeSum
    >>> one, other = TreeSum(3), TreeSum(3)
    >>> other.add(2, 0.3), one.add(1, 0.2), one.add(0, 0.1)
    (None, None, None)
    >>> one.merged(other).result == (0.1 + 0.2) + 0.3
    True
    """

    def __init__(self, n_leaves: int):
        self.n_leaves = n_leaves
        self.nodes: dict[_Node, Any] = {}  # complete, and the node beside is not
        self.begun: dict[int, tuple[int, Any]] = {}  # by group: the leaf that is next, and the sum before it
        self.waiting: dict[int, Any] = {}  # leaves that come later in their groups

    def add(self, leaf: int, value: Any) -> None:
        """Take the value of a leaf."""
        self.waiting[leaf] = value
        self._advance(_tree(self.n_leaves).group_of[leaf])

    def _advance(self, group: int) -> None:
        """Add up what is there from the left."""
        first, last = _tree(self.n_leaves).groups[group]
        leaf, total = self.begun.pop(group, (first, SKIPPED))
        while leaf < last and leaf in self.waiting:
            total = added(total, self.waiting.pop(leaf))
            leaf += 1
        if leaf == last:
            self._put((first, last), total)
        elif leaf > first:
            self.begun[group] = leaf, total

    def _put(self, node: _Node, value: Any) -> None:
        above = _tree(self.n_leaves).above
        while node in above:
            beside, parent = above[node]
            if beside not in self.nodes:
                break
            other = self.nodes.pop(beside)
            value = added(value, other) if node < beside else added(other, value)
            node = parent
        self.nodes[node] = value

    def merged(self, other: TreeSum) -> TreeSum:
        """These nodes and those of another; both are used up."""
        for node, value in other.nodes.items():
            self._put(node, value)
        self.waiting.update(other.waiting)
        self.begun.update(other.begun)  # a group is begun by whoever has its first leaf
        group_of = _tree(self.n_leaves).group_of
        for group in sorted({group_of[leaf] for leaf in self.waiting} | set(other.begun)):
            self._advance(group)
        return self

    def copied(self) -> TreeSum:
        """The same, for additions that leave this one as it is."""
        same = TreeSum(self.n_leaves)
        same.nodes = {place: _copied(value) for place, value in self.nodes.items()}
        same.begun = {group: (leaf, _copied(value)) for group, (leaf, value) in self.begun.items()}
        same.waiting = {leaf: _copied(value) for leaf, value in self.waiting.items()}
        return same

    @property
    def result(self) -> Any:
        """The sum of all leaves, when all are there."""
        if self.begun or self.waiting or list(self.nodes) != [(0, self.n_leaves)]:
            raise ValueError("leaves are missing")
        return self.nodes[0, self.n_leaves]


def _copied(value: Any) -> Any:
    """A sum whose vectors may be added to in place."""
    if isinstance(value, tuple):
        parts = [_copied(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.copied() if isinstance(value, Spread) else value
