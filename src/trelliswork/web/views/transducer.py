"""Strings to strings."""

from __future__ import annotations

from typing import Any

from trelliswork._errors import InputError
from trelliswork.web.views.base import View

__all__ = ["TransducerView"]


class TransducerView(View):
    """Strings with what they are written as."""

    name = "transducer"
    hint = "a string"
    takes_known = True

    def __init__(self, opened: Any):
        super().__init__(opened)
        space = self.learner.space_
        self._text = bool(space.text[0])

    def read(self, given: Any) -> Any:
        """A text, or a list of symbols."""
        if isinstance(given, str):
            return given if self._text else given.split()
        if not isinstance(given, list) or not all(isinstance(symbol, str) for symbol in given):
            raise InputError("expected a text or a list of symbols")
        return given

    def known(self, given: Any, x: Any) -> Any:
        """The only output that is possible, or a list of such outputs."""
        outputs = [given] if isinstance(given, str) else given
        if not isinstance(outputs, list) or not outputs or not all(isinstance(y, str) for y in outputs):
            raise InputError("known must be an output, or a list of outputs, as texts")
        if self.learner.space_.text[1]:
            return set(outputs)
        return tuple(y.split() for y in outputs)

    def seconds(self, x: Any) -> float:
        """By the length; pieces and their contexts are bounded."""
        return 2e-3 + 2e-4 * len(x)

    def output(self, x: Any, y: Any) -> Any:
        """Text, or symbols separated by blanks."""
        return y if isinstance(y, str) else " ".join(str(symbol) for symbol in y)

    def pieces(self, x: Any, outputs: list[str]) -> list[list[list[str]]]:
        """Outputs as pieces, by the best alignment of each: what is written as what.

        Parameters
        ----------
        x : object
            The input.
        outputs : list of str
            Its outputs.
        """
        X = self.opened.features([x] * len(outputs))
        batch, scores = self.learner._asked(X, {"known": [self.known(y, x) for y in outputs]})
        codes = batch.argmax(scores).codes
        return [
            [[self.output(x, side) for side in piece] for piece in row] for row in batch.alignments(codes)
        ]

    def marginals(self, x: Any, p: Any) -> Any:
        """``[input, output, expected number]`` of every piece."""
        rows = sorted(p.items(), key=lambda item: -item[1])[:1000]
        return [
            [*(self.output(x, side) for side in piece), round(float(v), 5)] for piece, v in rows if v >= 1e-3
        ]
