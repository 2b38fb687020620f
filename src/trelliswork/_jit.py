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

    Falls back to an uncached compilation where neither the package folder nor
    the user's cache folder can be written.
    """
    if function is None:
        return lambda f: njit(f, **options)
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy"} | options
    try:
        return numba.njit(cache=True, **settings)(function)
    except RuntimeError:  # "no locator available": nowhere to write the cache
        return numba.njit(**settings)(function)
