"""Alignments of two sequences."""

from __future__ import annotations

from typing import Any

from trelliswork._errors import InputError
from trelliswork.structures.alignment.path import AlignPath
from trelliswork.web.views.base import View, rounded

__all__ = ["AlignmentView", "pair_of"]


def pair_of(given: Any) -> tuple[Any, Any]:
    """Two sequences, from a list or from the lines of a text; FASTA headers are passed over."""
    if isinstance(given, str):
        if ">" in given:
            records = [record.partition("\n")[2] for record in given.split(">")[1:]]
            given = ["".join(record.split()) for record in records]
        else:
            given = given.split()
    if not isinstance(given, list) or len(given) != 2:
        raise InputError("expected two sequences, as a list or one a line")
    for sequence in given:
        if not isinstance(sequence, str) and not (
            isinstance(sequence, list) and all(isinstance(s, (str, int)) for s in sequence)
        ):
            raise InputError("expected two sequences that are texts or lists of symbols")
    return given[0], given[1]


class AlignmentView(View):
    """Pairs of sequences, aligned."""

    name = "alignment"
    hint = "two sequences, one per line, or FASTA"
    takes_known = True

    def read(self, given: Any) -> Any:
        """Two sequences; gaps are left out of texts."""
        gap = self.learner.structure.gap
        return tuple(s.replace(gap, "") if isinstance(s, str) else s for s in pair_of(given))

    def known(self, given: Any, x: Any) -> Any:
        """Columns ``[i, j]``, null for a residue without a partner."""
        if not isinstance(given, list) or not all(
            isinstance(column, list) and len(column) == 2 and all(i is None or type(i) is int for i in column)
            for column in given
        ):
            raise InputError("known must be a list of columns [i, j], null for none")
        return {tuple(column) for column in given}

    def seconds(self, x: Any) -> float:
        """By the number of cells."""
        return 5e-4 + 3e-8 * len(x[0]) * len(x[1])

    def factor(self, k: int, sums: bool) -> float:
        """Lists of alignments are found in graphs of all cells, which take much longer."""
        return 1.0 + (70.0 + 0.5 * k if k > 1 else 0.0) + (4.0 if sums else 0.0)

    def size(self, x: Any) -> int:
        """Symbols of both."""
        return len(x[0]) + len(x[1])

    def shown(self, x: Any) -> int:
        """One for every cell, and for every symbol without a partner."""
        return len(x[0]) * len(x[1]) + self.size(x)

    def input(self, x: Any) -> Any:
        """The sequences."""
        return list(x)

    def output(self, x: Any, y: Any) -> Any:
        """Two rows of symbols."""
        gap = self.learner.structure.gap
        rows = y.gapped(x[0], x[1], gap) if isinstance(y, AlignPath) else y
        return [row if isinstance(row, str) else [str(s) for s in row] for row in rows]

    def drawn(self, x: Any, y: Any) -> dict[str, Any]:
        """Columns ``[i, j]`` of the alignment, null for a gap."""
        gap = self.learner.structure.gap
        path = y if isinstance(y, AlignPath) else AlignPath.from_gapped(y[0], y[1], gap)
        (i, j), columns = path.start, []
        for move in path.moves():
            columns.append([None if move == "I" else i, None if move == "D" else j])
            i, j = i + (move != "I"), j + (move != "D")
        return {"columns": columns, "start": list(path.start), "cigar": path.to_cigar()}

    def marginals(self, x: Any, p: Any) -> Any:
        """``match`` (rows of the first sequence), and ``first``, ``second`` of having no partner."""
        return {name: rounded(values) for name, values in p.items()}
