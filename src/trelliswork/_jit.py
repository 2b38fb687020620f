"""The one ``njit`` of the package: disk cache, GIL released, IEEE semantics.

Recursions import Numba through this module only, so that a read-only
installation (no place for the cache) costs compile time, not an exception.
"""

from __future__ import annotations

import contextlib
import gc
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

__all__ = ["compiled_elsewhere", "njit"]


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a recursion with a cache on disk, ``nogil=True, error_model="numpy"``.

    To Numba a literal number in a call is a type of its own, so that the called recursion would be compiled
    once more for every one of them; recursions made here are compiled for numbers, whatever they are. Write
    loops instead of ``.sum()`` and ``.all()``, whose checks of ``axis`` take seconds to compile.

    A recursion whose name begins with an underscore, or that is made with ``no_cpython_wrapper=True``, is
    there for other recursions only: what Python needs to call it, which takes long to compile, is left out.

    Falls back to an uncached compilation where neither the package folder nor
    the user's cache folder can be written.
    """
    if function is None:
        return lambda f: njit(f, **options)
    settings: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "no_cfunc_wrapper": True,  # for calls from C: there are none
        "no_cpython_wrapper": function.__name__.startswith("_"),
        **options,
    }
    recursion = numba.njit(**settings)(function)
    if hasattr(recursion, "get_call_template"):  # not a plain function, as with NUMBA_DISABLE_JIT=1
        with contextlib.suppress(RuntimeError):  # "no locator available": nowhere to write the cache
            recursion._cache = CodeCache(function)
        resolve = recursion.get_call_template
        recursion.get_call_template = lambda args, kws: resolve(
            tuple(map(numba.types.unliteral, args)), {k: numba.types.unliteral(v) for k, v in kws.items()}
        )
    return recursion


def compiled_elsewhere(recursion: Any) -> bool:
    """Whether all that the cache has of a recursion was compiled for other processors."""
    try:  # what Numba tells nobody: the index of the cache, from (types, processor, code) to files
        index = recursion._cache._cache_file._load_index()
        here = recursion.targetctx.codegen().magic_tuple()
    except (AttributeError, OSError):
        return False
    return bool(index) and all(key[1] != here for key in index)


class _Compiling(event.Listener):
    """Says on a terminal, once, that code is being compiled, when that has taken a while.

    Meanwhile no garbage is collected: the compiler makes millions of objects, hardly any of them garbage.
    """

    def __init__(self, patience: float = 2.0):
        self.patience = patience  # seconds of compiling before a word is said
        self.depth = 0
        self.collects = False
        self.spent = self.started = 0.0
        self.said = False
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """Begin to wait, unless this is compiled for something that is being compiled."""
        self.depth += 1
        if self.depth == 1:
            self.collects = gc.isenabled()
            gc.disable()
        if self.depth > 1 or self.said or not sys.stderr.isatty():
            return
        self.started = time.perf_counter()
        recursion = event.data["dispatcher"]
        name = getattr(recursion, "__name__", "a recursion")
        facts = [name, compiled_elsewhere(recursion)]
        self.timer = threading.Timer(max(self.patience - self.spent, 0.0), self.say, facts)
        self.timer.daemon = True
        self.timer.start()

    def on_end(self, event: Any) -> None:
        """Stop waiting."""
        self.depth -= 1
        if self.depth == 0 and self.collects:
            gc.enable()
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()
            self.timer = None
            self.spent += time.perf_counter() - self.started

    def say(self, name: str, elsewhere: bool) -> None:
        """Write the line; ``elsewhere`` says why a cache that is there is of no use."""
        self.said = True
        why = " (those in the cache were compiled for another processor)" if elsewhere else ""
        print(f"compiling, once: {name} and others{why}; later runs find them in the cache", file=sys.stderr)


event.register("numba:compile", _Compiling())
