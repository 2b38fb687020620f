"""Room for what a recursion fills: arrays that grow, and how long the longest sample is."""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

__all__ = ["longest", "longest_of", "reserve"]


@njit(no_cpython_wrapper=True)
def reserve(buffer, needed):
    """``buffer``, or a copy at least twice as long when ``needed`` rows do not fit."""
    if needed <= buffer.shape[0]:
        return buffer
    larger = np.empty((max(needed, 2 * buffer.shape[0]),) + buffer.shape[1:], buffer.dtype)
    old, new = buffer.ravel(), larger.ravel()
    for k in range(old.size):  # an assignment of arrays takes seconds to compile, for its error message
        new[k] = old[k]
    return larger


@njit(no_cpython_wrapper=True)
def longest(offsets, start, stop):
    """Most items of the samples ``start .. stop - 1``."""
    most = 0
    for i in range(start, stop):
        most = max(most, offsets[i + 1] - offsets[i])
    return most


@njit(no_cpython_wrapper=True)
def longest_of(offsets, samples):
    """Most items of some samples."""
    most = 0
    for i in samples:
        most = max(most, offsets[i + 1] - offsets[i])
    return most
