"""RNA structures."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork._dotbracket import base_pairs, crossing
from trelliswork._errors import InputError
from trelliswork.plots._radial import radial
from trelliswork.web.limits import Refused
from trelliswork.web.views.base import View, text_of

__all__ = ["RNAView"]

_LONGEST_DRAWING = 1500
_LISTED = 20_000  # pairs with their probabilities


class RNAView(View):
    """Sequences with their structures, as dot-bracket text and as places in the plane."""

    name = "rna"
    hint = "a sequence of bases: A, C, G, U"
    takes_known = True

    def read(self, given: Any) -> Any:
        """A sequence, blanks and line ends left out."""
        text = "".join(text_of(given, self.hint).split())
        if not text:
            raise InputError("the sequence is empty; expected bases such as GGGAAACCC")
        return text

    def known(self, given: Any, x: Any) -> Any:
        """A mark for every base: ``? . x | < > ( )``."""
        return "".join(text_of(given, "a mark for every base").split())

    def seconds(self, x: Any) -> float:
        """By the square and the cube of the length."""
        n = len(x)
        return 1e-3 + 2e-7 * n**2 + 1e-10 * n**3

    def shown(self, x: Any) -> int:
        """The likely ones of all pairs."""
        return min(_LISTED, len(x) * (len(x) - 1) // 2)

    def check_shown(self, x: Any) -> None:
        """Pairs are sent as a list, but come from a square."""
        if len(x) > 6000:
            raise Refused(422, f"{len(x):,} bases are too many to send all pairs of; at most 6,000")

    def drawn(self, x: Any, y: Any) -> dict[str, Any]:
        """Pairs, and places of the bases."""
        pairs = base_pairs(y)
        out: dict[str, Any] = {"pairs": pairs}
        if len(x) <= _LONGEST_DRAWING:
            table = [-1] * len(x)
            for (i, j), bad in zip(pairs, crossing(pairs), strict=True):
                if not bad:
                    table[i], table[j] = j, i
            places = radial(table)
            out["places"] = np.round(np.stack([places.real, places.imag], axis=1), 2).tolist()
        return out

    def marginals(self, x: Any, p: Any) -> Any:
        """``[i, j, probability]`` of every pair of bases, counted from 0, the likely ones."""
        if hasattr(p, "tocoo"):
            entries = p.tocoo()
            rows, columns, values = entries.row, entries.col, entries.data
            keep = (rows < columns) & (values >= 1e-3)
            rows, columns, values = rows[keep], columns[keep], values[keep]
        else:
            rows, columns = np.nonzero(np.triu(p >= 1e-3, 1))
            values = p[rows, columns]
        order = np.argsort(-values, kind="stable")[:_LISTED]
        return [
            [int(i), int(j), round(float(v), 5)]
            for i, j, v in zip(rows[order], columns[order], values[order])
        ]
