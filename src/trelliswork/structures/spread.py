"""Sums over some of the weights: leaves of a sum touch few of many features."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Spread"]


class Spread:
    """A vector that is zero but for some places.

    Parameters
    ----------
    values : ndarray
        Entries; taken over, and changed by later additions where there are no places.
    index : ndarray or None
        Their places, ascending; None for all.
    size : int or None
        Length of the vector; None for that of ``values``.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.structures.spread import Spread
    >>> one, other = Spread(np.ones(1), np.array([2]), 3), Spread(np.array([5.0, 6.0]), np.array([0, 2]), 3)
    >>> (one + other).dense()
    array([5., 0., 7.])
    """

    def __init__(self, values: np.ndarray, index: np.ndarray | None = None, size: int | None = None):
        self.values, self.index = values, index
        self.size = values.size if size is None else size

    def dense(self) -> np.ndarray:
        """The whole vector."""
        if self.index is None:
            return self.values
        out = np.zeros(self.size)
        out[self.index] = self.values
        return out

    def __add__(self, other: Any) -> Spread:
        from trelliswork.dp.rows import add_at

        whole = self.dense()
        if other.index is None:
            whole += other.values
        else:
            add_at(whole, other.index, other.values)
        return Spread(whole)

    def copied(self) -> Spread:
        """The same with values of its own."""
        return Spread(self.values.copy(), self.index, self.size)
