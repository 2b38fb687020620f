"""The one ``njit`` of the package: disk cache, GIL released, IEEE semantics.

Recursions import Numba through this module only, so that a read-only
installation (no place for the cache) costs compile time, not an exception.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["njit"]


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a recursion with ``cache=True, nogil=True, error_model="numpy"``.

    Numbers that are written into a call of another recursion are types of their own, so that the other is
    compiled once more for each: pass ``np.int64(0)``, and start counters that are passed on so. Loops stand
    for ``.sum()`` and ``.all()``, whose checks of ``axis`` take seconds to compile.

    Falls back to an uncached compilation where neither the package folder nor
    the user's cache folder can be written.
    """
    if function is None:
        return lambda f: njit(f, **options)
    # Nothing calls recursions from C: no wrapper for that.
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True} | options
    try:
        return numba.njit(cache=True, **settings)(function)
    except RuntimeError:  # "no locator available": nowhere to write the cache
        return numba.njit(**settings)(function)
