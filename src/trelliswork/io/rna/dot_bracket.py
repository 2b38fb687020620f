"""Dot-bracket files, as folding programs write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._text import read_text, write_text
from trelliswork.io.rna.data import GAPS, RnaData, check_any, check_bases, check_structure

__all__ = ["Record", "dot_bracket_records", "read_dot_bracket", "write_dot_bracket"]

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
    records = list(dot_bracket_records(text.split("\n"), name))
    structures = [marks for _, _, marks in records if marks]
    return RnaData([one.name for one in records], [one.bases for one in records], structures or None)


class Record(NamedTuple):
    """Name, sequence and structure, which may be empty."""

    name: str
    bases: str
    marks: str


def dot_bracket_records(lines: Iterable[str], source: str) -> Iterator[Record]:
    """Records of FASTA or dot-bracket lines, each as soon as it is complete; errors name the line.

    Parameters
    ----------
    lines : iterable of str
        Lines without their ends.
    source : str
        The file, for messages.
    """
    name = ""
    bases: list[str] = []
    marks: list[str] = []
    n_records = start = 0
    nameless: list[int] = []  # lines of the first record, where it has no name
    known: bool | None = None  # whether records have structures, as the first says
    for number, line in enumerate(lines, start=1):
        line = line.strip()
        if not line or line.startswith((";", "#")):
            continue
        named = line.startswith(">")
        if named or not n_records:
            if n_records:
                yield _checked(name, bases, marks, known, nameless, source, start)
                known, nameless = bool(marks), []
            n_records, start, bases, marks = n_records + 1, number, [], []
            name = ((line[1:].split() if named else []) or [f"sequence {n_records}"])[0]
            if named:
                continue
        if nameless or start == number:
            nameless.append(number)
        cells = line.split()
        letters = "".join(base for base in "".join(cells) if base not in _PLAIN_GAPS)
        in_structure = bool(marks)
        if not letters and not in_structure:
            what = "gaps only: bases or a structure? Leave gaps out; write '.' for unpaired bases"
            raise InputError.at(source, number, what)
        # Capital letters also open pairs of pseudoknots.
        gapped = letters.isalpha() and not in_structure
        if not (line[0].isalpha() or gapped) or (bases and _MARKS.intersection(cells[0])):
            marks.append(cells[0])
        elif in_structure:
            what = "bases after the structure; expected a line >name before them"
            raise InputError.at(source, number, what)
        else:
            bases += cells
    check_any([start] * n_records, source, ">")
    yield _checked(name, bases, marks, known, nameless, source, start)


def _checked(
    name: str,
    bases: list[str],
    marks: list[str],
    known: bool | None,
    nameless: list[int],
    file: str,
    line: int,
) -> Record:
    """A record that is complete."""
    done = Record(name, "".join(bases), "".join(marks))
    if len(nameless) > 1 and not done.marks:
        what = "a second line of bases without a name; expected >name before each sequence"
        raise InputError.at(file, nameless[1], what)
    check_bases(done.bases, file, line, name)
    if known is not None and known != bool(done.marks):
        what = "no structure, but other records have one"
        what = "a structure, but records before it have none" if done.marks else what
        raise InputError.at(file, line, f"{name}: {what}")
    if done.marks:
        check_structure(done.marks, done.bases, file, line, name)
    return done


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
