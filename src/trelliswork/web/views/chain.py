"""Label sequences."""

from __future__ import annotations

import json
from typing import Any

from trelliswork._errors import InputError
from trelliswork.io import tokenize
from trelliswork.web.views.base import View, numbers_of, rounded

__all__ = ["ChainView"]


class ChainView(View):
    """Tokens with a label each.

    An input is a text, which is cut into tokens, or a list of tokens: texts, lists of texts or numbers, or
    objects with features. Where a token is more than a word, a text has one token a line.
    """

    name = "chain"
    takes_known = True

    def __init__(self, opened: Any):
        super().__init__(opened)
        self.columns = max((getattr(step, "n_columns", 1) for step in opened.transformers[:1]), default=1)
        space, structure = self.learner.space_, self.learner.structure
        self.width = getattr(space, "width", None)
        order = int(getattr(structure, "order", 1))
        states = len(space.labels) ** min(order, 3)
        self._step = 1e-6 + (2e-9 if order == 1 else 1.2e-8) * states * len(space.labels)

    @property
    def hint(self) -> str:  # type: ignore[override]
        """What an input looks like."""
        if self.width is not None:
            return f"one token per line: {self.width} numbers"
        if self.columns > 1:
            return f"one token per line: {self.columns} columns, the word first"
        return "a sentence, or a list of tokens as JSON"

    def read(self, given: Any) -> Any:
        """Tokens of a text or of a list."""
        if isinstance(given, str):
            given = self._from_text(given)
        if not isinstance(given, list):
            raise InputError(f"expected {self.hint}, got {type(given).__name__}")
        if self.width is not None:
            wanted = f"a list of rows of {self.width} numbers each, or lines of them"
            rows = numbers_of(given, wanted)
            if given and rows.shape != (len(given), self.width):
                raise InputError(f"expected {wanted}")
            return rows.reshape(-1, self.width)
        if not all(isinstance(token, (str, list, dict)) for token in given):
            raise InputError("expected tokens that are texts, lists or objects")
        if self.columns > 1:
            return [tuple(token) if isinstance(token, list) else token for token in given]
        return given

    def _from_text(self, text: str) -> Any:
        if text.lstrip()[:1] == "[":
            try:
                listed = json.loads(text)
            except (ValueError, RecursionError):
                listed = None
            if isinstance(listed, list) and listed and all(isinstance(t, (list, dict)) for t in listed):
                return listed
        if self.columns == 1 and self.width is None:
            return tokenize(text)
        lines = [line.replace(",", " ").split() if self.width else line.split() for line in text.splitlines()]
        return [cells for cells in lines if cells]

    def known(self, given: Any, x: Any) -> Any:
        """Per token null, a label, or a list of labels."""
        if not isinstance(given, list) or len(given) != len(x):
            raise InputError(f"known must be a list of {len(x)} entries: null, a label or a list of labels")
        return [
            None if a is None else {self.label(b) for b in a} if isinstance(a, list) else self.label(a)
            for a in given
        ]

    def seconds(self, x: Any) -> float:
        """By the number of tokens and of pairs of labels."""
        return len(x) * self._step

    def shown(self, x: Any) -> int:
        """One for every token and label."""
        return len(x) * len(self.labels or ())

    def input(self, x: Any) -> Any:
        """Tokens, of rows of numbers their places."""
        if self.width is not None:
            return [f"#{t + 1}" for t in range(len(x))]
        return [token if isinstance(token, str) else _shown(token) for token in x]

    def output(self, x: Any, y: Any) -> Any:
        """Labels as texts."""
        return [a if type(a) is str else str(a) for a in y]

    def marginals(self, x: Any, p: Any) -> Any:
        """A row per token, a column per label, as in ``labels``."""
        return rounded(p)


def _shown(token: Any) -> str:
    items = (
        [f"{k}={v}" for k, v in token.items()] if isinstance(token, dict) else [str(item) for item in token]
    )
    return items[0] if items else ""
