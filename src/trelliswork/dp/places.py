"""Places of values in sorted arrays; ``np.searchsorted`` takes seconds to compile."""

from __future__ import annotations

from trelliswork._jit import njit

__all__ = ["place_of"]


@njit(no_cpython_wrapper=True)
def place_of(values, start, stop, value):
    """First place from ``start`` on whose value is not below ``value``; ``stop`` if there is none before."""
    while start < stop:
        middle = (start + stop) // 2
        if values[middle] < value:
            start = middle + 1
        else:
            stop = middle
    return start
