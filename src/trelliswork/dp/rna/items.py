"""Lists of items of best-first searches. Edit the callers too: compiled caches do not see this file."""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

__all__ = ["append_row", "offer"]


@njit(no_cpython_wrapper=True)
def append_row(pool, n_rows, a, b, c, d, e):
    """Append a row to a growing table; returns the table."""
    if n_rows == pool.shape[0]:
        grown = np.empty((2 * n_rows, 5), np.int64)
        for r in range(n_rows):
            for x in range(5):
                grown[r, x] = pool[r, x]
        pool = grown
    pool[n_rows, 0], pool[n_rows, 1], pool[n_rows, 2], pool[n_rows, 3], pool[n_rows, 4] = a, b, c, d, e
    return pool


@njit
def offer(values, ids, n_items, limit, value, item):
    """Insert an item into the descending list of at most ``limit``; returns the new length."""
    place = min(n_items, limit - 1)
    while place > 0 and values[place - 1] < value:
        values[place], ids[place] = values[place - 1], ids[place - 1]
        place -= 1
    values[place], ids[place] = value, item
    return min(n_items + 1, limit)
