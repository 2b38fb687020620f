"""Formats that Biopython reads: FASTA and Stockholm."""

from __future__ import annotations

import importlib
import io
from typing import Any

from trelliswork._dotbracket import base_pairs, dot_bracket
from trelliswork._errors import InputError
from trelliswork._text import read_text
from trelliswork.io.rna.data import GAPS, RnaData, check_any, check_bases

__all__ = ["read_fasta", "read_stockholm"]


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
    X = []
    for record, number in zip(records, starts, strict=True):
        try:
            X.append(str(record.seq))
        except UnicodeDecodeError:
            raise InputError.at(name, number, f"{record.id}: expected letters of bases") from None
        check_bases(X[-1], name, number, record.id)
    return RnaData([r.id for r in records], X, None)


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
                X.append("".join(base for base in row if base not in GAPS))
                y.append(None if marks is None else _projected(marks, row, name, record.id))
    except InputError:
        raise
    except (ValueError, TypeError, AssertionError, LookupError) as error:  # what the parser says, in one line
        raise InputError.at(name, None, f"not a Stockholm file that can be read ({error})") from None
    check_any(X, name, "# STOCKHOLM 1.0")
    if all(marks is None for marks in y):
        return RnaData(names, X, None)
    return RnaData(names, X, ["." * len(x) if m is None else m for x, m in zip(X, y, strict=True)])


def _projected(marks: str, row: str, source: str, record: str) -> str:
    """Structure over columns to one over the bases of a row."""
    if len(marks) != len(row):
        raise InputError.at(source, None, f"{record}: {len(row)} columns but {len(marks)} marks")
    place, n = {}, 0
    for column, base in enumerate(row):
        if base not in GAPS:
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


def _biopython(module: str) -> Any:
    try:
        return importlib.import_module(f"Bio.{module}")
    except ImportError:
        raise ImportError("this format is read by Biopython; pip install 'trelliswork[bio]'") from None
