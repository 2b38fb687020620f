"""Threads of BLAS: one while a solver runs.

The matrix products of a solver would otherwise start a thread per core, whatever ``n_jobs`` says: they wait
for the threads of the recursions and for whatever else the machine does, and the number of threads changes
the last bits of their sums.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController  # comes with scikit-learn

__all__ = ["one_blas_thread"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _OneThread(threading.local):
    """A limit that is taken by the outermost call of every thread.

    Some builds of BLAS keep one number of threads for all threads of a process, others one for each that sets
    it; so every thread sets back what it has set, to what held before the first of them began.
    """

    lock = threading.Lock()
    n_holders = 0
    libraries: list[Any] | None = None
    before: list[int] = []  # noqa: RUF012 - what all threads share

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1
        if self.depth > 1:
            return
        shared = _OneThread
        with shared.lock:
            if shared.libraries is None:  # looks through the loaded libraries, once
                controllers = ThreadpoolController().lib_controllers
                shared.libraries = [library for library in controllers if library.user_api == "blas"]
            if shared.n_holders == 0:
                shared.before = [library.num_threads for library in shared.libraries]
            shared.n_holders += 1
            for library in shared.libraries:
                library.set_num_threads(1)

    def __exit__(self, *exception: object) -> None:
        self.depth -= 1
        if self.depth:
            return
        shared = _OneThread
        with shared.lock:
            shared.n_holders -= 1
            for library, n_threads in zip(shared.libraries or (), shared.before):
                library.set_num_threads(n_threads)


_ONE_THREAD = _OneThread()


def one_blas_thread(function: _Function) -> _Function:
    """The function with BLAS limited to one thread while it runs.

    Examples
    --------
    >>> from trelliswork._blas import one_blas_thread
    >>> @one_blas_thread
    ... def solve(a):
    ...     return a + 1
    >>> solve(1)
    2
    """

    @functools.wraps(function)
    def limited(*args: Any, **more: Any) -> Any:
        with _ONE_THREAD:
            return function(*args, **more)

    return limited  # type: ignore[return-value]
