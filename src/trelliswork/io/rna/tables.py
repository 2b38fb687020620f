"""Tables of positions and partners: bpseq and connect tables (ct)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from trelliswork._dotbracket import dot_bracket, pair_table
from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._text import read_text, write_text
from trelliswork.io.rna.data import RnaData, check_any

__all__ = ["read_bpseq", "read_ct", "write_bpseq", "write_ct"]

_ENERGY = re.compile(r"\b(ENERGY|dG) ?= ?[+-]?[\d.]+( \[initially [^]]*\])? ?", re.IGNORECASE)


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
        if len(base) != 1:
            raise InputError.at(
                source, number, f"{base!r:.40} is no base; expected one letter for a position"
            )
        X[-1] += base
        tables[-1].append(partner - 1)
    check_any(X, source, "1 G 0")
    for title, table in zip(names, tables, strict=True):
        for i, j in enumerate(table):
            if j >= len(table) or j == i or (j >= 0 and table[j] != i):
                what = f"{title}: base {i + 1} is paired with {j + 1}, but base {j + 1} not with it"
                raise InputError.at(source, None, what)
    try:
        return RnaData(names, X, [dot_bracket(table) for table in tables])
    except InputError as error:
        raise InputError.at(source, None, str(error)) from None


def _whole(text: str, source: str, line: int) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError.at(source, line, f"{text!r} is not a whole number") from None


@readable
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


@readable
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
