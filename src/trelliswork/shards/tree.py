"""Sums over blocks in an order that the number of blocks alone decides.

Blocks are the leaves of a binary tree, and the sum of a node is that of its left child plus that of its right
one. Whoever has some of the leaves adds up what is complete and hands the rest on, so that the result is the
same to the last bit, however leaves are shared out and in whatever order they come.
"""

from __future__ import annotations

from typing import Any

__all__ = ["SKIPPED", "TreeSum", "added"]

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
        self.nodes: dict[tuple[int, int], Any] = {}

    def add(self, leaf: int, value: Any) -> None:
        """Take the value of a leaf."""
        self._put(0, leaf, value)

    def _put(self, level: int, i: int, value: Any) -> None:
        while True:
            n_nodes = -(-self.n_leaves >> level)
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
        return self

    @property
    def result(self) -> Any:
        """The sum of all leaves, when all are there."""
        [(place, value)] = self.nodes.items()
        if -(-self.n_leaves >> place[0]) > 1:
            raise ValueError("leaves are missing")
        return value
