"""Rows of ARFF files (Weka, and the benchmarks of hierarchical classification)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import NamedTuple

from trelliswork._errors import InputError

__all__ = ["ArffTable", "hierarchy", "most_specific", "read_arff"]

_ATTRIBUTE = re.compile(r"@attribute\s+(?:'([^']+)'|\"([^\"]+)\"|(\S+))\s+(.+)", re.IGNORECASE)


class ArffTable(NamedTuple):
    """An ARFF file.

    Attributes
    ----------
    header : list of str
        Names of the attributes.
    kinds : list of str
        What was declared for each, such as ``"numeric"`` or ``"{yes,no}"``.
    rows : list of (int, list of str)
        Line and cells of every row; a missing value is ``""``.
    """

    header: list[str]
    kinds: list[str]
    rows: list[tuple[int, list[str]]]


def read_arff(lines: list[tuple[int, str]], name: str) -> ArffTable:
    """Read the lines of an ARFF file, dense or sparse.

    Parameters
    ----------
    lines : list of (int, str)
        Numbers and texts of lines that are not blank.
    name : str
        The file, for messages.
    """
    header: list[str] = []
    kinds: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    in_data = False
    for number, line in lines:
        line = line.strip()
        if line.startswith("%"):
            continue
        if in_data:
            rows.append((number, _cells(line, kinds, name, number)))
        elif line.lower().startswith("@data"):
            in_data = True
        elif declared := _ATTRIBUTE.fullmatch(line):
            header.append(declared[1] or declared[2] or declared[3])
            kinds.append(declared[4].strip())
        elif not line.lower().startswith("@relation"):
            raise InputError.at(name, number, f"expected @attribute or @data, got {line[:40]!r}")
    if not header:
        raise InputError.at(name, None, "no @attribute in the file; expected ARFF")
    if not rows:
        raise InputError.at(name, None, "no row after @data")
    return ArffTable(header, kinds, rows)


def _cells(line: str, kinds: list[str], name: str, number: int) -> list[str]:
    if line.startswith("{"):
        cells = ["0" if _is_numeric(kind) else "" for kind in kinds]
        for item in filter(None, map(str.strip, line.strip("{} ").split(","))):
            index, _, value = item.partition(" ")
            if not index.isdecimal() or len(index) > 9 or int(index) >= len(kinds):
                raise InputError.at(
                    name, number, f"cannot read {item[:40]!r}; expected the number of an attribute"
                )
            cells[int(index)] = value.strip().strip("'\"")
        return cells
    cells = [cell.strip() for cell in next(csv.reader([line], quotechar="'", skipinitialspace=True))]
    if len(cells) != len(kinds):
        raise InputError.at(name, number, f"{len(cells)} values; expected {len(kinds)}, one per @attribute")
    return ["" if cell == "?" else cell for cell in cells]


def _is_numeric(kind: str) -> bool:
    return kind.lower() in ("numeric", "real", "integer")


def hierarchy(kind: str) -> list[tuple[str, str]] | None:
    """Links of the taxonomy of a ``hierarchical`` attribute; None for other kinds.

    Parameters
    ----------
    kind : str
        What was declared.

    Returns
    -------
    list of (str, str) or None
        (parent, child) pairs of paths such as ``4/6/2``, below ``ROOT``.

    Examples
    --------
    >>> from trelliswork.io.arff import hierarchy
    >>> hierarchy("hierarchical 1,1/2")
    [('ROOT', '1'), ('1', '1/2')]
    """
    word, _, listed = kind.partition(" ")
    return None if word.lower() != "hierarchical" else list(dict.fromkeys(_links(listed)))


def most_specific(paths: list[str]) -> list[str]:
    """Paths that no other one continues.

    Parameters
    ----------
    paths : list of str
        Paths such as ``4/6/2``.

    Examples
    --------
    >>> from trelliswork.io.arff import most_specific
    >>> most_specific(["6", "6/2", "6/2/0", "1/1"])
    ['6/2/0', '1/1']
    """
    return [path for path in dict.fromkeys(paths) if not any(other.startswith(f"{path}/") for other in paths)]


def _links(listed: str) -> Iterator[tuple[str, str]]:
    for path in filter(None, (piece.strip() for piece in listed.split(","))):
        steps = path.split("/")
        for depth in range(len(steps)):
            yield "/".join(steps[:depth]) or "ROOT", "/".join(steps[: depth + 1])
