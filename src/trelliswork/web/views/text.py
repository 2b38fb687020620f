"""Structures that are shown as text: retrieval, derivations, structures of other packages."""

from __future__ import annotations

from typing import Any

from trelliswork._errors import InputError
from trelliswork.web.views.alignment import pair_of
from trelliswork.web.views.base import View, rounded

__all__ = ["RetrievalView", "TextView"]


class TextView(View):
    """Any structure: inputs as they come, outputs as text."""

    hint = "an input, as text or JSON"
    foreign = True

    def seconds(self, x: Any) -> float:
        """Nothing is known of the structure; by the square of the size."""
        return 1e-3 + 1e-6 * self.size(x) ** 2


class RetrievalView(View):
    """A sequence among whose candidates the relative is looked for."""

    hint = "a sequence, then its candidates, one per line"

    def read(self, given: Any) -> Any:
        """``[query, [candidate, ...]]``, or lines of text, the query first."""
        if isinstance(given, str):
            lines = given.split()
            given = [lines[0], lines[1:]] if lines else given
        if not isinstance(given, list) or len(given) != 2 or not isinstance(given[1], list) or not given[1]:
            raise InputError("expected a query and a list of candidates")
        for candidate in given[1]:
            pair_of([given[0], candidate])
        return given[0], given[1]

    def seconds(self, x: Any) -> float:
        """By the number of cells of all alignments."""
        return 1e-3 + 3e-8 * len(x[0]) * sum(len(candidate) for candidate in x[1])

    def factor(self, k: int, sums: bool) -> float:
        """As for alignments."""
        return 1.0 + (70.0 + 0.5 * k if k > 1 else 0.0) + (4.0 if sums else 0.0)

    def size(self, x: Any) -> int:
        """Symbols of all sequences."""
        return len(x[0]) + sum(len(candidate) for candidate in x[1])

    def shown(self, x: Any) -> int:
        """One for every candidate."""
        return len(x[1])

    def input(self, x: Any) -> Any:
        """The query and its candidates."""
        return [x[0], x[1]]

    def output(self, x: Any, y: Any) -> Any:
        """The candidate, counted from 1, and the alignment with it."""
        return f"candidate {y[0] + 1}: {' / '.join(map(str, y[1]))}"

    def marginals(self, x: Any, p: Any) -> Any:
        """Candidates with their probabilities."""
        return [[str(candidate), v] for candidate, v in zip(x[1], rounded(p), strict=True)]
