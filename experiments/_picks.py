"""What was chosen from grids of numbers, and which choices are at the end of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

_NUMBERS = ("reg", "smoothing", "l2", "C", "max_iter")


class Picks:
    """How often each value of a grid was chosen.

    A choice at an end says that a value beyond might be better, so it has to be named.
    """

    def __init__(self) -> None:
        self._grids: dict[str, list[float]] = {}
        self._seen: dict[str, Counter[float]] = {}

    def note(self, name: str, value: float, grid: Sequence[float]) -> None:
        """One choice, for instance ``note("CRF l2", 0.1, (0.01, 0.1, 1))``."""
        self._grids.setdefault(name, sorted(grid))
        self._seen.setdefault(name, Counter())[value] += 1

    def model(self, name: str, chosen: Any, candidates: Sequence[Any]) -> None:
        """The numbers in which the candidates for a learner differ."""
        for number in _NUMBERS:
            grid = sorted({getattr(c, number) for c in candidates if hasattr(c, number)})
            if len(grid) > 1:
                self.note(f"{name} {number}", getattr(chosen, number), grid)

    def add(self, other: Picks) -> None:
        """Choices that were made elsewhere, in another process for instance."""
        for name, seen in other._seen.items():
            self._grids.setdefault(name, other._grids[name])
            self._seen.setdefault(name, Counter()).update(seen)

    def text(self) -> str:
        """Every grid, and how often each of its values was chosen."""
        parts = []
        for name, grid in self._grids.items():
            values = ", ".join(f"{value:g}" for value in grid)
            parts.append(f"{name} of {values}: {_shown(self._seen[name], grid)}")
        return f'How often each value was chosen ("end": the first or last of its grid): {"; ".join(parts)}.'


def _shown(seen: Counter[float], grid: Sequence[float]) -> str:
    ends = (grid[0], grid[-1])
    return ", ".join(f"{value:g} ({seen[value]}{', end' if value in ends else ''})" for value in sorted(seen))
