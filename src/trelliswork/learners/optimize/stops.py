"""Why a search stopped: the values of the attribute ``stop_`` of learners that search."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["STOP_REASONS", "StopReason"]

# Within the tolerance; out of iterations; no better development score for long enough; Ctrl-C; no better
# point within the precision of the numbers.
StopReason = Literal["converged", "max_iter", "patience", "interrupted", "no progress"]
STOP_REASONS: tuple[StopReason, ...] = get_args(StopReason)
