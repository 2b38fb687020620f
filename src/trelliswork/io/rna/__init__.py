"""Files of RNA sequences and secondary structures: FASTA, dot-bracket, Stockholm, bpseq, ct."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from trelliswork._lines import TextLines
from trelliswork._text import read_text
from trelliswork.io.rna.biopython import read_fasta, read_stockholm
from trelliswork.io.rna.data import RnaData
from trelliswork.io.rna.dot_bracket import Record, dot_bracket_records, read_dot_bracket, write_dot_bracket
from trelliswork.io.rna.evidence import read_constraints, read_shape
from trelliswork.io.rna.tables import read_bpseq, read_ct, write_bpseq, write_ct

__all__ = [
    "RnaData",
    "read_bpseq",
    "read_constraints",
    "read_ct",
    "read_dot_bracket",
    "read_fasta",
    "read_rna",
    "read_shape",
    "read_stockholm",
    "stream_rna",
    "write_bpseq",
    "write_ct",
    "write_dot_bracket",
]


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


def stream_rna(lines: TextLines) -> Iterator[Record]:
    """Records of a file of RNA sequences; those of FASTA and dot-bracket as they come.

    The other formats of :func:`read_rna` are read as a whole first.

    Parameters
    ----------
    lines : TextLines
        The file.
    """
    following = iter(lines)
    head: list[str] = []
    found: list[str] = []  # the first two lines that say something
    for line in following:
        head.append(line)
        if line.strip() and (line[0] not in "#;" or line.startswith("# STOCKHOLM")):
            found.append(line.strip())
        if len(found) == 2 or (found and not found[0].startswith(">")):
            break
    if len(found) == 2 and found[0].startswith(">") and not found[1].split()[0].isdigit():
        yield from dot_bracket_records(chain(head, following), lines.name)
        return
    stream = io.StringIO("\n".join(chain(head, following)))
    stream.name = lines.name  # for messages
    data = read_rna(stream)
    for i, (name, bases) in enumerate(zip(data.names, data.X, strict=True)):
        yield Record(name, bases, data.y[i] if data.y else "")
