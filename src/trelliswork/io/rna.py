"""Files of RNA sequences and secondary structures: FASTA, dot-bracket, Stockholm, bpseq, ct."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from trelliswork._dotbracket import base_pairs, dot_bracket, pair_table
from trelliswork._errors import InputError
from trelliswork._text import read_text, write_text

__all__ = [
    "RnaData",
    "read_bpseq",
    "read_ct",
    "read_dot_bracket",
    "read_fasta",
    "read_rna",
    "read_stockholm",
    "write_bpseq",
    "write_ct",
    "write_dot_bracket",
]

_GAPS = frozenset("-.~_")
_PLAIN_GAPS = _GAPS - {"."}  # a dot is an unpaired base
_MARKS = frozenset(".()<>[]{}")
_ENERGY = re.compile(r"\b(ENERGY|dG) ?= ?[+-]?[\d.]+( \[initially [^]]*\])? ?", re.IGNORECASE)


class RnaData(NamedTuple):
    """Sequences with names and, where the file has them, structures.

    Attributes
    ----------
    names : list of str
        Names of the sequences.
    X : list of str
        Sequences.
    y : list of str or None
        Structures in dot-bracket notation.

    Examples
    --------
    >>> from trelliswork.io import RnaData
    >>> RnaData(["hairpin"], ["GGAAACC"], ["((...))"]).y
    ['((...))']
    """

    names: list[str]
    X: list[str]
    y: list[str] | None


def read_fasta(source: Any, *, encoding: str = "utf-8") -> RnaData:
    r"""Read sequences from FASTA, with Biopython (``pip install trelliswork[bio]``).

    Parameters
    ----------
    source : path, "-" or open file
        Plain text or gzip; ``"-"`` is standard input.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    RnaData
        Without structures.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io import read_fasta
    >>> read_fasta(io.StringIO(">one\nGGAA\nACC\n>two\nACGU\n")).X
    ['GGAAACC', 'ACGU']
    """
    text, name = read_text(source, encoding)
    parse = _biopython("SeqIO").parse
    body = text.lstrip()
    if not body.startswith(">"):
        raise InputError.at(name, 1, "expected a FASTA file, which starts with '>name'")
    records = list(parse(io.StringIO(body), "fasta"))
    first = text[: -len(body)].count("\n") + 1
    starts = (number for number, line in enumerate(body.split("\n"), first) if line.startswith(">"))
    for record, number in zip(records, starts, strict=True):
        _check_bases(str(record.seq), name, number, record.id)
    return RnaData([r.id for r in records], [str(r.seq) for r in records], None)


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
    _check_any(X, name, ">")
    if len(nameless) > 1 and not y[0]:
        raise InputError.at(
            name, nameless[1], "a second line of bases without a name; expected >name before each sequence"
        )
    given = sum(map(bool, y))
    for i, (bases, marks) in enumerate(zip(X, y, strict=True)):
        _check_bases(bases, name, starts[i], names[i])
        if given and not marks:
            raise InputError.at(name, starts[i], f"{names[i]}: no structure, but other records have one")
        if given:
            _check_structure(marks, bases, name, starts[i], names[i])
    return RnaData(names, X, y if given else None)


def read_stockholm(source: Any, *, encoding: str = "utf-8") -> RnaData:
    r"""Read the sequences of Stockholm alignments without their gaps, with Biopython.

    The structure of a sequence is its own (``#=GR name SS``) or else the consensus of its
    alignment (``#=GC SS_cons``) without the columns in which the sequence has a gap; a pair that
    loses an end is dropped. Pairs of bases that do not pair are kept: see ``RNA(invalid="repair")``.

    Parameters
    ----------
    source : path, "-" or open file
        One or more alignments, plain text or gzip.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    RnaData
        ``y`` is None if no alignment has a structure; sequences of alignments without one are then
        unpaired throughout.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io import read_stockholm
    >>> text = "# STOCKHOLM 1.0\none GGA-AACC\ntwo GG-AAAC-\n#=GC SS_cons <<....>>\n//\n"
    >>> read_stockholm(io.StringIO(text))
    RnaData(names=['one', 'two'], X=['GGAAACC', 'GGAAAC'], y=['((...))', '.(...)'])
    """
    text, name = read_text(source, encoding)
    if not text.lstrip().startswith("# STOCKHOLM"):
        raise InputError.at(name, 1, "expected a Stockholm file, which starts with '# STOCKHOLM 1.0'")
    parse = _biopython("AlignIO").parse
    names: list[str] = []
    X: list[str] = []
    y: list[str | None] = []
    try:
        for alignment in parse(io.StringIO(text.lstrip()), "stockholm"):
            consensus = alignment.column_annotations.get("secondary_structure")
            for record in alignment:
                row = str(record.seq)
                marks = record.letter_annotations.get("secondary_structure", consensus)
                names.append(record.id)
                X.append("".join(base for base in row if base not in _GAPS))
                y.append(None if marks is None else _projected(marks, row, name, record.id))
    except InputError:
        raise
    except (ValueError, AssertionError, KeyError, IndexError) as error:  # what the parser says, in one line
        raise InputError.at(name, None, f"not a Stockholm file that can be read ({error})") from None
    _check_any(X, name, "# STOCKHOLM 1.0")
    if all(marks is None for marks in y):
        return RnaData(names, X, None)
    return RnaData(names, X, ["." * len(x) if m is None else m for x, m in zip(X, y, strict=True)])


def _projected(marks: str, row: str, source: str, record: str) -> str:
    """Structure over columns to one over the bases of a row."""
    if len(marks) != len(row):
        raise InputError.at(source, None, f"{record}: {len(row)} columns but {len(marks)} marks")
    place, n = {}, 0
    for column, base in enumerate(row):
        if base not in _GAPS:
            place[column], n = n, n + 1
    table = [-1] * n
    try:
        pairs = base_pairs(marks)
    except InputError as error:
        raise InputError.at(source, None, f"{record}: {error}") from None
    for i, j in pairs:
        if i in place and j in place:
            table[place[i]], table[place[j]] = place[j], place[i]
    return dot_bracket(table)


def read_bpseq(source: Any, *, encoding: str = "utf-8") -> RnaData:
    r"""Read structures from bpseq: lines of position, base and partner (0 for none), counted from 1.

    Parameters
    ----------
    source : path, "-" or open file
        Records start at position 1; a line ``# name`` before one is its name.
    encoding : str, default="utf-8"
        Encoding of the text.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io import read_bpseq
    >>> read_bpseq(io.StringIO("# tiny\n1 G 4\n2 A 0\n3 A 0\n4 C 1\n"))
    RnaData(names=['tiny'], X=['GAAC'], y=['(..)'])
    """
    text, name = read_text(source, encoding)
    return _tabular(_bpseq_lines(text, name), name)


def _bpseq_lines(text: str, source: str) -> Iterator[tuple[int, str, int, str, int]]:
    title = ""
    for number, line in enumerate(text.split("\n"), start=1):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 3 or not cells[0].isdigit():
            if cells[0].isdigit():
                columns = f"{len(cells)} column{'s' * (len(cells) != 1)}"
                raise InputError.at(source, number, f"{columns}; expected 3: position, base, partner")
            if line.startswith("#"):
                title = line[1:].strip() or title
            continue  # headers of the Comparative RNA Web Site
        yield number, title, _whole(cells[0], source, number), cells[1], _whole(cells[2], source, number)


def read_ct(source: Any, *, encoding: str = "utf-8") -> RnaData:
    r"""Read structures from connect tables (ct): a header ``length name``, then six columns.

    An energy in the header, ``ENERGY = -1.2`` or ``dG = -1.2``, is passed over.

    Parameters
    ----------
    source : path, "-" or open file
        One or more structures.
    encoding : str, default="utf-8"
        Encoding of the text.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io import read_ct
    >>> text = "4 tiny\n1 G 0 2 4 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 C 3 0 1 4\n"
    >>> read_ct(io.StringIO(text))
    RnaData(names=['tiny'], X=['GAAC'], y=['(..)'])
    """
    text, name = read_text(source, encoding)
    return _tabular(_ct_lines(text, name), name)


def _ct_lines(text: str, source: str) -> Iterator[tuple[int, str, int, str, int]]:
    title, left = "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        cells = line.split()
        if not cells or line.startswith("#"):
            continue
        if left == 0:
            left, title = _whole(cells[0], source, number), _ENERGY.sub("", " ".join(cells[1:])).strip()
            continue
        if len(cells) < 6:
            raise InputError.at(source, number, f"{len(cells)} columns; expected 6: number, base, ...")
        left -= 1
        yield number, title, _whole(cells[0], source, number), cells[1], _whole(cells[4], source, number)
    if left:
        raise InputError.at(source, None, f"{title}: {left} bases are missing at the end")


def _tabular(lines: Iterator[tuple[int, str, int, str, int]], source: str) -> RnaData:
    """Records from lines of position, base and partner."""
    names: list[str] = []
    X: list[str] = []
    tables: list[list[int]] = []
    for number, title, position, base, partner in lines:
        if position == 1:
            names.append(title or f"sequence {len(names) + 1}")
            X.append("")
            tables.append([])
        if not X or position != len(X[-1]) + 1:
            raise InputError.at(source, number, f"position {position} out of order; positions count from 1")
        if partner < 0:
            raise InputError.at(source, number, f"partner {partner}; expected a position, or 0 for none")
        X[-1] += base
        tables[-1].append(partner - 1)
    _check_any(X, source, "1 G 0")
    try:
        return RnaData(names, X, [dot_bracket(table) for table in tables])
    except InputError as error:
        raise InputError.at(source, None, str(error)) from None


def read_rna(source: Any, *, encoding: str = "utf-8") -> RnaData:
    r"""Read sequences and structures from any of the formats here, told apart by their contents.

    Parameters
    ----------
    source : path, "-" or open file
        Stockholm, FASTA, dot-bracket, bpseq or ct.
    encoding : str, default="utf-8"
        Encoding of the text.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io import read_rna
    >>> read_rna(io.StringIO("GGAAACC\n((...))\n")).y
    ['((...))']
    """
    text, name = read_text(source, encoding)
    stream = io.StringIO(text)
    stream.name = name  # for messages
    lines = [line.split() for line in text.split("\n") if line.strip() and line[0] not in "#;"]
    if text.lstrip().startswith("# STOCKHOLM"):
        return read_stockholm(stream)
    first = next((cells for cells in lines if cells[0].isdigit()), [])  # bpseq may have lines before it
    if len(first) == 3 and first[0] == "1" and re.fullmatch(r"[+-]?\d+", first[2]):
        return read_bpseq(stream)
    if first and first is lines[0]:
        return read_ct(stream)
    return read_dot_bracket(stream)


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


def write_bpseq(target: Any, names: Sequence[str], X: Sequence[str], y: Sequence[str]) -> None:
    """Write structures as bpseq, see :func:`read_bpseq`.

    Parameters
    ----------
    target : path, "-" or open file
        Where to.
    names, X, y : sequences of str
        Names, sequences, structures.

    Examples
    --------
    >>> import sys
    >>> from trelliswork.io import write_bpseq
    >>> write_bpseq(sys.stdout, ["tiny"], ["GAAC"], ["(..)"])
    # tiny
    1 G 4
    2 A 0
    3 A 0
    4 C 1
    """
    out = []
    for name, bases, marks in zip(names, X, y, strict=True):
        out.append(f"# {name}\n")
        rows = enumerate(zip(bases, pair_table(marks), strict=True), start=1)
        out += [f"{i} {base} {partner + 1}\n" for i, (base, partner) in rows]
    write_text(target, "".join(out))


def write_ct(target: Any, names: Sequence[str], X: Sequence[str], y: Sequence[str]) -> None:
    """Write structures as connect tables, see :func:`read_ct`.

    Parameters
    ----------
    target : path, "-" or open file
        Where to.
    names, X, y : sequences of str
        Names, sequences, structures.

    Examples
    --------
    >>> import sys
    >>> from trelliswork.io import write_ct
    >>> write_ct(sys.stdout, ["tiny"], ["GAAC"], ["(..)"])
    4 tiny
    1 G 0 2 4 1
    2 A 1 3 0 2
    3 A 2 4 0 3
    4 C 3 0 1 4
    """
    out = []
    for name, bases, marks in zip(names, X, y, strict=True):
        n = len(bases)
        out.append(f"{n} {name}\n")
        for i, (base, partner) in enumerate(zip(bases, pair_table(marks), strict=True), start=1):
            out.append(f"{i} {base} {i - 1} {(i + 1) % (n + 1)} {partner + 1} {i}\n")
    write_text(target, "".join(out))


def _check_bases(bases: str, source: str, line: int, record: str) -> None:
    if not bases:
        raise InputError.at(source, line, f"{record}: no bases; expected a sequence after the name")


def _check_structure(marks: str, bases: str, source: str, line: int, record: str) -> None:
    try:
        base_pairs(marks)
    except InputError as error:
        raise InputError.at(source, line, f"{record}: {error}") from None
    if len(marks) != len(bases):
        raise InputError.at(source, line, f"{record}: {len(bases)} bases but {len(marks)} marks")


def _check_any(records: Sequence[Any], source: str, start: str) -> None:
    if not records:
        raise InputError.at(source, 1, f"no sequence in the file; expected records such as {start!r} ...")


def _whole(text: str, source: str, line: int) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError.at(source, line, f"{text!r} is no whole number") from None


def _biopython(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(f"Bio.{module}")
    except ImportError:
        raise ImportError("this format is read by Biopython; pip install 'trelliswork[bio]'") from None
