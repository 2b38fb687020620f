"""One label, perhaps of a taxonomy."""

from __future__ import annotations

import json
from typing import Any

from trelliswork._errors import InputError
from trelliswork.web.views.base import View, numbers_of, rounded

__all__ = ["ClassesView"]


class ClassesView(View):
    """Rows with a label each."""

    name = "classes"
    takes_known = True

    def __init__(self, opened: Any):
        super().__init__(opened)
        self.width = getattr(self.learner.space_, "width", None)
        self.taxonomy = getattr(self.learner.space_, "taxonomy", None)
        layout = opened.info.get("rows")
        self._texts = layout.get("text") or [] if isinstance(layout, dict) else []

    @property
    def hint(self) -> str:  # type: ignore[override]
        """What an input looks like."""
        if self.width is not None:
            return f"{self.width} numbers"
        if len(self._texts) == 1:
            return "a text"
        return "features such as fur legs=4, or a JSON object"

    def read(self, given: Any) -> Any:
        """An object or a list of numbers; JSON in a text is read, and words of a text column are counted."""
        if isinstance(given, str) and given.lstrip()[:1] in ("{", "["):
            try:
                given = json.loads(given)
            except ValueError:
                raise InputError(f"expected {self.hint}") from None
        if isinstance(given, str):
            given = self._from_text(given)
        if isinstance(given, dict):
            if not all(isinstance(v, (str, int, float, bool, list)) for v in given.values()):
                raise InputError("expected texts, numbers and lists of texts as values")
            return self._words(given)
        if isinstance(given, list) and given and all(type(v) in (int, float) for v in given):
            return numbers_of(given, self.hint).tolist()
        if isinstance(given, list) and all(isinstance(v, str) for v in given):
            return given
        raise InputError(f"expected {self.hint}")

    def _from_text(self, text: str) -> Any:
        if len(self._texts) == 1:
            return {self._texts[0]: text}
        try:
            return [float(cell) for cell in text.replace(",", " ").split()]
        except ValueError:
            return dict(self._cell(cell) for cell in text.replace(",", " ").split())

    def _cell(self, cell: str) -> tuple[str, Any]:
        """``name=value``, or a name that is there."""
        name, equals, value = cell.partition("=")
        try:
            return name, float(value) if equals else 1.0
        except ValueError:
            return name, value

    def _words(self, row: dict[str, Any]) -> dict[str, Any]:
        """Words of text columns as the reader of files counts them."""
        from trelliswork.io.rows import words_of

        out: dict[str, Any] = {}
        for name, value in row.items():
            if name in self._texts and isinstance(value, str):
                out |= words_of(value, name)
            else:
                out[name] = value
        return out

    def known(self, given: Any, x: Any) -> Any:
        """A label or an inner node, a list of labels, or null."""
        if given is None:
            return None
        if isinstance(given, list):
            return {self.label(a) for a in given}
        if self.taxonomy is not None and isinstance(given, str):
            for node in self.taxonomy.children:
                if str(node) == given:
                    return node
        return self.label(given)

    def seconds(self, x: Any) -> float:
        """By the number of labels."""
        return 2e-4 + 2e-7 * len(self.labels or ())

    def shown(self, x: Any) -> int:
        """One for every label."""
        return len(self.labels or ())

    def input(self, x: Any) -> Any:
        """The row."""
        return x

    def output(self, x: Any, y: Any) -> Any:
        """The label."""
        return str(y)

    def marginals(self, x: Any, p: Any) -> Any:
        """A number for every label, as in ``labels``."""
        return rounded(p)

    def tree(self) -> Any:
        """The taxonomy as links of texts; None without one."""
        return None if self.taxonomy is None else [[str(a), str(b)] for a, b in self.taxonomy.edges]
