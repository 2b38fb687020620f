"""Parts of data sets, shared by the experiments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def take(items: Sequence[Any], index: Iterable[int] | np.ndarray) -> list[Any]:
    """The items with these numbers."""
    return [items[i] for i in index]


def folds(n: int, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test samples of every fold; fold f tests the samples f, f + k, f + 2 k, ..."""
    fold = np.arange(n) % k
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(k)]
