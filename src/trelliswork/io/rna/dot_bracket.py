"""Dot-bracket files, as folding programs write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._text import read_text, write_text
from trelliswork.io.rna.data import GAPS, RnaData, check_any, check_bases, check_structure

__all__ = ["read_dot_bracket", "write_dot_bracket"]

_PLAIN_GAPS = GAPS - {"."}  # a dot is an unpaired base
_MARKS = frozenset(".()<>[]{}?|")


def read_dot_bracket(source: Any, *, encoding: str = "utf-8") -> RnaData:
    r"""Read sequences and structures as folding programs write them.

    A record is a line ``>name`` (which may be missing in front of the first), lines of bases, in which blanks
    are passed over, and lines of dots and brackets; what follows a blank on these, such as an energy, is
    passed over. Without lines of brackets in any record, this is FASTA; gaps (``-``, ``~``, ``_``) beside
    letters are then part of the sequence. Refused are a line of nothing but gaps before the structure, and
    several lines of bases without name and structure, which may be one sequence or several.

    Parameters
    ----------
    source : path, "-" or open file
        Plain text or gzip.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    RnaData
        ``y`` is None if there is no structure in the file.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io import read_dot_bracket
    >>> data = read_dot_bracket(io.StringIO(">hairpin\nGGAAACC\n((...)) (-1.20)\n"))
    >>> data.names, data.X, data.y
    (['hairpin'], ['GGAAACC'], ['((...))'])
    """
    text, name = read_text(source, encoding)
    names: list[str] = []
    X: list[str] = []
    y: list[str] = []
    starts: list[int] = []
    nameless: list[int] = []  # lines of bases before any name
    named = False
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip()
        if not line or line.startswith((";", "#")):
            continue
        if line.startswith(">"):
            named = True
            names.append((line[1:].split() or [f"sequence {len(names) + 1}"])[0])
        if line.startswith(">") or not names:
            starts.append(number)
            X.append("")
            y.append("")
            if line.startswith(">"):
                continue
            names.append("sequence 1")
        cells = line.split()
        letters = "".join(base for base in "".join(cells) if base not in _PLAIN_GAPS)
        if not letters and not y[-1]:
            raise InputError.at(
                name, number, "gaps only: bases or a structure? Leave gaps out; write '.' for unpaired bases"
            )
        # Capital letters also open pairs of pseudoknots.
        gapped = letters.isalpha() and not y[-1]
        if not (line[0].isalpha() or gapped) or (X[-1] and _MARKS.intersection(cells[0])):
            y[-1] += cells[0]
        elif y[-1]:
            raise InputError.at(name, number, "bases after the structure; expected a line >name before them")
        else:
            X[-1] += "".join(cells)
            if not named:
                nameless.append(number)
    check_any(X, name, ">")
    if len(nameless) > 1 and not y[0]:
        raise InputError.at(
            name, nameless[1], "a second line of bases without a name; expected >name before each sequence"
        )
    given = sum(map(bool, y))
    for i, (bases, marks) in enumerate(zip(X, y, strict=True)):
        check_bases(bases, name, starts[i], names[i])
        if given and not marks:
            raise InputError.at(name, starts[i], f"{names[i]}: no structure, but other records have one")
        if given:
            check_structure(marks, bases, name, starts[i], names[i])
    return RnaData(names, X, y if given else None)


@readable
def write_dot_bracket(
    target: Any,
    names: Sequence[str],
    X: Sequence[str],
    y: Sequence[str],
    *,
    notes: Sequence[str] | None = None,
) -> None:
    """Write records of name, sequence and structure.

    Parameters
    ----------
    target : path, "-" or open file
        Where to; gzip when the name ends in ``.gz``.
    names, X, y : sequences of str
        Names, sequences, structures.
    notes : sequence of str or None
        What to write behind each structure.

    Examples
    --------
    >>> import sys
    >>> from trelliswork.io import write_dot_bracket
    >>> write_dot_bracket(sys.stdout, ["hairpin"], ["GGAAACC"], ["((...))"])
    >hairpin
    GGAAACC
    ((...))
    """
    behind = ["" if not note else f" {note}" for note in notes or [""] * len(names)]
    rows = zip(names, X, y, behind, strict=True)
    write_text(target, "".join(f">{name}\n{bases}\n{marks}{note}\n" for name, bases, marks, note in rows))
