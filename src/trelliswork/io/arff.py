"""Rows of ARFF files (Weka, and the benchmarks of hierarchical classification)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import NamedTuple

from trelliswork._errors import InputError

__all__ = ["ArffTable", "hierarchy", "read_arff"]

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
            if not index.isdecimal() or int(index) >= len(kinds):
                raise InputError.at(
                    name, number, f"cannot read {item!r}; expected the number of an attribute"
                )
            cells[int(index)] = value.strip().strip("'\"")
        return cells
    cells = [cell.strip() for cell in next(csv.reader([line], quotechar="'", skipinitialspace=True))]
    if len(cells) != len(kinds):
        raise InputError.at(name, number, f"{len(cells)} values; expected {len(kinds)}, one per @attribute")
    return ["" if cell == "?" else cell for cell in cells]


def _is_numeric(kind: str) -> bool:
    return kind.lower() in ("numeric", "real", "integer")


def hierarchy(kind: str) -> tuple[dict[str, str], list[tuple[str, str]]] | None:
    """Labels of a ``hierarchical`` attribute, and links of their taxonomy; None for other kinds.

    Labels are paths such as ``4/6/2``. A path that others continue is an inner node; as a label it is the
    extra leaf ``4/6/-``.

    Parameters
    ----------
    kind : str
        What was declared.

    Returns
    -------
    dict of str to str, and list of (str, str)
        Leaf of every path, and (parent, child) pairs below ``ROOT``.

    Examples
    --------
    >>> from trelliswork.io.arff import hierarchy
    >>> hierarchy("hierarchical 1,1/2")
    ({'1': '1/-', '1/2': '1/2'}, [('ROOT', '1'), ('1', '1/2'), ('1', '1/-')])
    """
    word, _, listed = kind.partition(" ")
    if word.lower() != "hierarchical":
        return None
    links: dict[tuple[str, str], None] = dict.fromkeys(_links(listed))
    inner = {parent for parent, _ in links}
    nodes = [child for _, child in links]
    leaf = {path: f"{path}/-" if path in inner else path for path in nodes}
    links |= {(path, name): None for path, name in leaf.items() if name != path}
    return leaf, list(links)


def _links(listed: str) -> Iterator[tuple[str, str]]:
    for path in filter(None, (piece.strip() for piece in listed.split(","))):
        steps = path.split("/")
        for depth in range(len(steps)):
            yield "/".join(steps[:depth]) or "ROOT", "/".join(steps[: depth + 1])
