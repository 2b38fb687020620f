"""Kernel regression: outputs without a structure."""

from __future__ import annotations

from typing import Any

from trelliswork._errors import InputError
from trelliswork.web.views.base import View, numbers_of

__all__ = ["RegressionView"]


class RegressionView(View):
    """Strings, or rows of numbers, with what they become."""

    name = "strings"
    hint = "a string"

    @property
    def abilities(self) -> list[str]:
        """Candidates, where outputs are found from n-grams."""
        from trelliswork.learners.regression.codes import NGramCode

        return ["kbest"] if isinstance(getattr(self.learner, "code_", None), NGramCode) else []

    def read(self, given: Any) -> Any:
        """A text, a list of symbols, or rows of numbers."""
        if isinstance(given, str):
            units = self.opened.info.get("units")
            return given.split() if isinstance(units, list) and units[:1] == ["word"] else given
        if isinstance(given, list) and all(isinstance(symbol, str) for symbol in given):
            return given
        wanted = "a text, a list of symbols or rows of numbers"
        rows = numbers_of(given, wanted)
        if not rows.ndim:
            raise InputError(f"expected {wanted}")
        return rows

    def seconds(self, x: Any) -> float:
        """By the number of training inputs that are compared with, and the search for a string."""
        n_basis = self.learner.dual_coef_.shape[0] if hasattr(self.learner, "dual_coef_") else 0
        return 5e-3 + len(x) * (1e-4 + 2e-7 * n_basis) + 1e-8 * len(x) ** 3

    def input(self, x: Any) -> Any:
        """The string."""
        return x if isinstance(x, (str, list)) else x.tolist()

    def output(self, x: Any, y: Any) -> Any:
        """Text, or symbols separated by blanks."""
        if isinstance(y, str):
            return y
        return " ".join(map(str, y)) if hasattr(y, "__iter__") else float(y)
