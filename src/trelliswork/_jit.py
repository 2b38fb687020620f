"""The one ``njit`` of the package: disk cache, GIL released, IEEE semantics.

Recursions import Numba through this module only, so that a read-only
installation (no place for the cache) costs compile time, not an exception.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from trelliswork._interrupts import held_back

with held_back():  # Numba that is imported by half cannot be imported again
    import numba
    from numba.core import event

    from trelliswork._code_cache import CodeCache

__all__ = ["njit"]

_PATIENCE = 2.0  # seconds of compiling before a word is said


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a recursion with a cache on disk, ``nogil=True, error_model="numpy"``.

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
    compiled = numba.njit(**settings)(function)
    if hasattr(compiled, "enable_caching"):  # not with NUMBA_DISABLE_JIT
        with contextlib.suppress(RuntimeError):  # "no locator available": nowhere to write the cache
            compiled._cache = CodeCache(function)
    return compiled


class _Compiling(event.Listener):
    """Says on a terminal, once, that code is being compiled, when that has taken a while."""

    def __init__(self) -> None:
        self.depth = 0
        self.spent = self.started = 0.0
        self.said = False
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """Begin to wait, unless this is compiled for something that is being compiled."""
        self.depth += 1
        if self.depth > 1 or self.said or not sys.stderr.isatty():
            return
        self.started = time.perf_counter()
        name = getattr(event.data["dispatcher"], "__name__", "a recursion")
        self.timer = threading.Timer(max(_PATIENCE - self.spent, 0.0), self.say, [name])
        self.timer.daemon = True
        self.timer.start()

    def on_end(self, event: Any) -> None:
        """Stop waiting."""
        self.depth -= 1
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()
            self.timer = None
            self.spent += time.perf_counter() - self.started

    def say(self, name: str) -> None:
        """Write the line."""
        self.said = True
        print(f"compiling, once: {name} and others; later runs find them in the cache", file=sys.stderr)


event.register("numba:compile", _Compiling())
