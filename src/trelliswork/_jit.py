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

    To Numba a literal number in a call is a type of its own, so that the called recursion is compiled once
    more for it: pass ``np.int64(0)`` instead, and start counters that are passed on with it. Write loops
    instead of ``.sum()`` and ``.all()``, whose checks of ``axis`` take seconds to compile.

    Falls back to an uncached compilation where neither the package folder nor
    the user's cache folder can be written.
    """
    if function is None:
        return lambda f: njit(f, **options)
    # No wrappers for calls from C: there are none.
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True} | options
    try:
        return numba.njit(cache=True, **settings)(function)
    except RuntimeError:  # "no locator available": nowhere to write the cache
        return numba.njit(**settings)(function)
