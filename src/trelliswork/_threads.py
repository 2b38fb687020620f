"""Threads over fixed chunks of work: same bits whatever the number of threads."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from trelliswork._errors import InputError

__all__ = ["balanced_chunks", "even_chunks", "n_threads", "run"]

_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def n_threads(n_jobs: int | None) -> int:
    """Number of threads for scikit-learn's ``n_jobs``: None is 1, -1 is every core."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise InputError(f"n_jobs must be None, a number of threads, or -1 for all cores; got {n_jobs!r}")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def run(task: Callable[..., Any], chunks: Sequence[tuple[Any, ...]], threads: int) -> list[Any]:
    """``[task(*chunk) for chunk in chunks]``, on several threads when that can help."""
    if threads <= 1 or len(chunks) <= 1:
        return [task(*chunk) for chunk in chunks]
    key = (os.getpid(), threads)  # a forked child must not inherit its parent's threads
    pool = _pools.get(key)
    if pool is None:
        pool = _pools[key] = ThreadPoolExecutor(threads, thread_name_prefix="trelliswork")
    return list(pool.map(lambda chunk: task(*chunk), chunks))


def balanced_chunks(offsets: np.ndarray, target: int) -> list[tuple[int, int]]:
    """Ranges of consecutive pieces with about ``target`` rows each; depends on the data alone."""
    n = offsets.size - 1
    if n <= 0:
        return []
    total = int(offsets[-1])
    n_chunks = max(1, min(n, -(-total // target)))
    if n_chunks == 1:
        return [(0, n)]
    marks = np.searchsorted(offsets, np.linspace(0, total, n_chunks + 1)[1:-1], side="left")
    bounds = np.unique(np.concatenate([[0], marks, [n]]))
    return [(int(a), int(b)) for a, b in itertools.pairwise(bounds)]


def even_chunks(n: int, size: int) -> list[tuple[int, int]]:
    """Ranges of at most ``size`` consecutive items."""
    return [(i, min(i + size, n)) for i in range(0, n, size)]
