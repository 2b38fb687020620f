"""What is known about sequences beforehand: files of constraints and of SHAPE reactivities."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from trelliswork._errors import InputError
from trelliswork._text import read_text

__all__ = ["read_constraints", "read_shape"]


def _records(text: str, names: Sequence[str], source: str) -> Iterator[tuple[str | None, int, list[str]]]:
    """Name (or None), number of the first line, and lines of every record of a file with lines ``>name``."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InputError(f"several sequences are called {twice!r}; what is known goes by their names")
    name: str | None = None
    lines: list[str] = []
    first = 1
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip()
        if line.startswith(">"):
            if name is not None or lines:
                yield name, first, lines
            name, first, lines = (line[1:].split() or [""])[0], number, []
            if name not in names:
                raise InputError.at(source, number, f"there is no sequence {name!r}")
        elif line and not line.startswith("#"):
            lines.append(f"{number} {line}")
    if name is not None or lines:
        yield name, first, lines


def read_constraints(source: Any, names: Sequence[str], *, encoding: str = "utf-8") -> dict[str, str]:
    r"""Read constraints on structures: a line of marks per sequence.

    Parameters
    ----------
    source : path, "-" or open file
        Lines of marks in the order of the sequences; or each after a line ``>name``, for some of them.
    names : sequence of str
        Names of the sequences.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    dict
        Marks by name, see ``Evidence``.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io import read_constraints
    >>> read_constraints(io.StringIO(">two\n((..x\n))...\n"), ["one", "two"])
    {'two': '((..x))...'}
    """
    text, file = read_text(source, encoding)
    out: dict[str, str] = {}
    for name, first, lines in _records(text, names, file):
        marks = [line.split(" ", 1)[1] for line in lines]
        if name is None:
            if len(marks) != len(names):
                what = f"lines of constraints: {len(marks)}, sequences: {len(names)}; write >name before each"
                raise InputError.at(file, first, what)
            out.update(zip(names, marks, strict=True))
        elif name in out:
            raise InputError.at(file, first, f"a second constraint for {name}")
        else:
            out[name] = "".join(marks)
    if not out:
        raise InputError.at(file, 1, "no constraint in the file; expected marks ().x<>|? per sequence")
    return out


def read_shape(
    source: Any, names: Sequence[str], X: Sequence[str], *, encoding: str = "utf-8"
) -> dict[str, list[float]]:
    r"""Read SHAPE reactivities: lines of position (from 1) and reactivity, maybe with the base between them.

    Parameters
    ----------
    source : path, "-" or open file
        Lines of one sequence; those of several after lines ``>name``. Positions that are missing, ``NA`` and
        negative reactivities (such as -999) are not known.
    names, X : sequences of str
        Names and sequences.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    dict
        Reactivities by name, NaN where not known.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io import read_shape
    >>> read_shape(io.StringIO("1 0.5\n3 A 1.25\n"), ["one"], ["GCA"])
    {'one': [0.5, nan, 1.25]}
    """
    text, file = read_text(source, encoding)
    out: dict[str, list[float]] = {}
    for name, first, lines in _records(text, names, file):
        if name is None and len(names) != 1:
            what = f"reactivities for {len(names)} sequences; write >name before each"
            raise InputError.at(file, first, what)
        place = 0 if name is None else list(names).index(name)
        if names[place] in out:
            raise InputError.at(file, first, f"a second list of reactivities for {names[place]}")
        out[names[place]] = _reactivities(lines, X[place], file)
    if not out:
        raise InputError.at(file, 1, "no reactivity in the file; expected lines such as '1 0.25'")
    return out


def _reactivities(lines: list[str], x: str, file: str) -> list[float]:
    values = [math.nan] * len(x)
    seen: set[int] = set()
    for line in lines:
        number, *cells = line.split()
        if len(cells) not in (2, 3):
            raise InputError.at(file, int(number), f"{len(cells)} columns; expected position and reactivity")
        try:
            position = int(cells[0])
            value = math.nan if cells[-1].upper() in ("NA", "NAN") else float(cells[-1])
        except ValueError:
            raise InputError.at(file, int(number), "expected a position and a reactivity") from None
        if not 1 <= position <= len(x):
            raise InputError.at(file, int(number), f"position {position}; the sequence has {len(x)} bases")
        if position in seen:
            raise InputError.at(file, int(number), f"position {position} has two reactivities")
        base = x[position - 1].upper().replace("T", "U")
        if len(cells) == 3 and cells[1].upper().replace("T", "U") not in (base, "N"):
            what = f"base {cells[1]} at position {position}; the sequence has {base}"
            raise InputError.at(file, int(number), what)
        if math.isinf(value):
            raise InputError.at(file, int(number), "the reactivity is infinite")
        seen.add(position)
        values[position - 1] = value if value >= 0 else math.nan
    return values
