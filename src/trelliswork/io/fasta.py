"""Pairs of sequences in FASTA files, with gaps or without."""

from __future__ import annotations

from typing import Any, NamedTuple

from trelliswork._errors import InputError
from trelliswork._text import read_text

__all__ = ["FastaPairs", "read_fasta_pairs"]


class FastaPairs(NamedTuple):
    r"""Sequences of a FASTA file, two by two.

    Attributes
    ----------
    X : list of (str, str)
        Pairs of sequences, gaps left out.
    y : list of (str, str)
        The same with gaps, as they are in the file.
    names : list of (str, str)
        Headers.
    lines : list of int
        Line of the first header of each pair.
    name : str
        The file, for messages.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io import read_fasta_pairs
    >>> read_fasta_pairs(io.StringIO(">a\nGA-TT\n>b\nGACTT\n")).X
    [('GATT', 'GACTT')]
    """

    X: list[tuple[str, str]]
    y: list[tuple[str, str]]
    names: list[tuple[str, str]]
    lines: list[int]
    name: str

    def aligned(self) -> FastaPairs:
        """The same pairs, checked to be alignments; errors name the line."""
        for (first, second), line in zip(self.y, self.lines, strict=True):
            if len(first) != len(second):
                raise InputError.at(
                    self.name,
                    line,
                    f"the two sequences have {len(first)} and {len(second)} columns; expected equal numbers",
                )
            for k, (a, b) in enumerate(zip(first, second, strict=True)):
                if a == b == "-":
                    raise InputError.at(
                        self.name, line, f"column {k + 1} (from 1) is a gap in both sequences; leave it out"
                    )
        return self


def read_fasta_pairs(source: Any, encoding: str = "utf-8") -> FastaPairs:
    r"""Read a FASTA file whose sequences belong together two by two.

    Sequences may run over several lines; ``-`` and ``.`` are gaps, white space is dropped.

    Parameters
    ----------
    source : path, "-" or file
        Plain or gzip.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    FastaPairs
        Sequences with and without gaps, headers and lines.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io import read_fasta_pairs
    >>> pairs = read_fasta_pairs(io.StringIO(">a 1\nGA.TT\n>b\nGACTT\n"))
    >>> pairs.y, pairs.names
    ([('GA-TT', 'GACTT')], [('a 1', 'b')])
    """
    text, name = read_text(source, encoding)
    heads: list[tuple[str, int]] = []
    rows: list[list[str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if line.startswith(">"):
            heads.append((line[1:].strip(), number))
            rows.append([])
        elif line and not line.startswith(";"):
            if not heads:
                raise InputError.at(
                    name, number, f"expected a header that starts with '>', got {line[:40]!r}"
                )
            rows[-1].append("".join(line.split()).replace(".", "-"))
    if not heads:
        raise InputError.at(name, None, "no sequence; expected a FASTA file with pairs of sequences")
    if len(heads) % 2:
        raise InputError.at(name, heads[-1][1], f"{len(heads)} sequences; pairs need an even number")
    texts = ["".join(row) for row in rows]
    y = list(zip(texts[::2], texts[1::2], strict=True))
    X = [(a.replace("-", ""), b.replace("-", "")) for a, b in y]
    names = [(a[0], b[0]) for a, b in zip(heads[::2], heads[1::2], strict=True)]
    return FastaPairs(X, y, names, [number for _, number in heads[::2]], name)
