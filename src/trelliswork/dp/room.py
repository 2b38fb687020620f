"""Arrays that grow while a recursion fills them."""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

__all__ = ["reserve"]


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
