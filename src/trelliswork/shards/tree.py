"""Sums over blocks in an order that the number of blocks alone decides.

Blocks are the leaves of a tree. Groups of eight neighbouring leaves are added up from the left, so that one
vector takes what each of them has to say; groups are the leaves of a binary tree, where the sum of a node is
that of its left child plus that of its right one. Whoever has some of the leaves adds up what is complete and
hands the rest on, so that the result is the same to the last bit, however leaves are shared out and in
whatever order they come.
"""

from __future__ import annotations

from typing import Any

from trelliswork.structures.spread import Spread

__all__ = ["GROUP", "SKIPPED", "TreeSum", "added"]

GROUP = 8  # leaves that are added up from the left

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
        self.n_groups = -(-n_leaves // GROUP)
        self.nodes: dict[tuple[int, int], Any] = {}  # by level and number; groups are level 0
        self.begun: dict[int, tuple[int, Any]] = {}  # by group: the leaf that is next, and the sum before it
        self.waiting: dict[int, Any] = {}  # leaves that come later in their groups

    def add(self, leaf: int, value: Any) -> None:
        """Take the value of a leaf."""
        self.waiting[leaf] = value
        self._advance(leaf // GROUP)

    def _advance(self, group: int) -> None:
        """Add up what is there from the left."""
        leaf, total = self.begun.pop(group, (group * GROUP, SKIPPED))
        last = min(group * GROUP + GROUP, self.n_leaves)
        while leaf in self.waiting:
            total = added(total, self.waiting.pop(leaf))
            leaf += 1
        if leaf == last:
            self._put(0, group, total)
        elif leaf > group * GROUP:
            self.begun[group] = leaf, total

    def _put(self, level: int, i: int, value: Any) -> None:
        while True:
            n_nodes = -(-self.n_groups >> level)
            beside = i ^ 1
            if n_nodes <= 1 or (beside < n_nodes and (level, beside) not in self.nodes):
                self.nodes[level, i] = value
                return
            if beside < n_nodes:
                other = self.nodes.pop((level, beside))
                value = added(value, other) if i < beside else added(other, value)
            level, i = level + 1, i >> 1

    def merged(self, other: TreeSum) -> TreeSum:
        """These nodes and those of another; both are used up."""
        for (level, i), value in other.nodes.items():
            self._put(level, i, value)
        self.waiting.update(other.waiting)
        self.begun.update(other.begun)  # a group is begun by whoever has its first leaf
        for group in sorted({leaf // GROUP for leaf in self.waiting} | set(other.begun)):
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
        if self.begun or self.waiting or len(self.nodes) != 1:
            raise ValueError("leaves are missing")
        [(place, value)] = self.nodes.items()
        if -(-self.n_groups >> place[0]) > 1:
            raise ValueError("leaves are missing")
        return value


def _copied(value: Any) -> Any:
    """A sum whose vectors may be added to in place."""
    if isinstance(value, tuple):
        parts = [_copied(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.copied() if isinstance(value, Spread) else value
