"""Zero-one loss: an output is right or wrong as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trelliswork.losses.automata import MAX_STATES, LossAutomaton, unfold
from trelliswork.losses.base import Loss, symbols_of

__all__ = ["ZeroOne"]


class ZeroOne(Loss):
    """1 for every output that is not wholly right.

    Margin and slack rescaling with this loss are the plain problem.

    Examples
    --------
    >>> from trelliswork.losses import ZeroOne
    >>> ZeroOne()(["D", "N"], ["D", "V"]), ZeroOne()("cat", "cat")
    (1.0, 0.0)
    """

    name = "zero-one"
    all_or_nothing = True

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """0 or 1."""
        if hasattr(y_true, "tolist") or hasattr(y_pred, "tolist"):
            return float(not np.array_equal(y_true, y_pred))
        return float(y_true != y_pred)

    def max_value(self, y_true: Any) -> float:
        """1."""
        return 1.0

    def automaton(
        self,
        y_true: Sequence[Any],
        alphabet: Sequence[Any],
        length: int,
        *,
        fixed: bool = True,
        limit: int = MAX_STATES,
    ) -> LossAutomaton:
        """Two states per position: equal so far, or not."""
        symbol, names = symbols_of(y_true, alphabet)
        return unfold(
            True,
            lambda same, t: [(same and t < len(y_true) and name == (y_true[t],), 0.0) for name in names],
            lambda same, t: float(not (same and t == len(y_true))),
            length,
            symbol,
            what="ZeroOne()",
            limit=limit,
        )
