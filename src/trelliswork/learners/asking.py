"""Questions of learners to samples, which may lie in blocks: calls only go down, answers come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trelliswork.structures.base import Batch

__all__ = ["derived", "rows", "summed"]


def summed(batch: Batch, question: Callable[..., Any], *args: Any, weights: np.ndarray | None = None) -> Any:
    """Answer to a question that adds up over samples, ``question(batch, *args, weights)``."""
    if batch.in_blocks:
        return batch.summed(question, *args, weights=weights)
    return question(batch, *args, weights)


def rows(batch: Batch, question: Callable[..., Any], *args: Any) -> Any:
    """Answer with one entry per sample, ``question(batch, *args)``."""
    return batch.rows(question, *args) if batch.in_blocks else question(batch, *args)


def derived(batch: Batch, make: Callable[..., Any], *args: Any) -> Any:
    """Batch that is made of another one, sample by sample, ``make(batch, *args)``."""
    return batch.derived(make, *args) if batch.in_blocks else make(batch, *args)
