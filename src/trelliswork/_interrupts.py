"""Ctrl-C that waits until something is complete."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["held_back"]


@contextmanager
def held_back() -> Iterator[None]:
    """Hold interrupts back until the block has ended; only the main thread sees them at all.

    Examples
    --------
    >>> import signal
    >>> from trelliswork._interrupts import held_back
    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs of a shell may ignore it
    >>> done = []
    >>> try:
    ...     with held_back():
    ...         signal.raise_signal(signal.SIGINT)
    ...         done.append("all of it")
    ... except KeyboardInterrupt:
    ...     print(done)
    ['all of it']
    >>> _ = signal.signal(signal.SIGINT, before)
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    caught: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: caught.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    for number, frame in caught[:1]:
        handler(number, frame)
