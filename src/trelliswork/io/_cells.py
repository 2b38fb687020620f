"""What the cells of a CSV file tell: their separator, decimal commas, columns that number the rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from itertools import islice

__all__ = ["decimal_comma", "found_separator", "is_decimal", "names_rows", "numbers_rows", "spoilt_number"]

_LOOKED_AT = 50  # rows: enough to see a rule, and quick in files of any size
_DECIMAL = re.compile(r"[+-]?(?:\d+,?\d*|,\d+)(?:[eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:[.'\u2019\s]\d{3})+(?:,\d+)?")
_WHOLE = re.compile(r"[+-]?\d+(?:\.0*)?")
_IDENTIFIER = re.compile(
    r"(?i:id|idx|index|no\.?|nr\.?|\#|row|row[ _]?(?:id|index|no\.?|nr\.?|number)|unnamed: ?\d+|.*[ _.-]id)"
    r"|.*[a-z](?:Id|ID)|"
)


def found_separator(content: str) -> str:
    r"""What separates the cells of a CSV file: a tab, a comma or a semicolon.

    It splits the header, and most rows into as many cells as the header. Among several such characters
    it is the one that leaves more numbers. Separators in quotes do not count.

    Parameters
    ----------
    content : str
        Text of the file.

    Examples
    --------
    >>> from trelliswork.io._cells import found_separator
    >>> found_separator("size, cm;weight, kg;kind\n1,5;2,25;a\n")
    ';'
    """
    tables = {separator: _first_rows(content, separator) for separator in "\t,;"}
    # In a file of one column a comma inside of a number is no separator: the rows would have two cells.
    several = [separator for separator, rows in tables.items() if rows and len(rows[0]) > 1]
    return max(several or ",;", key=lambda separator: _fitness(tables[separator], separator))


def _first_rows(content: str, separator: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for cells in islice(csv.reader(io.StringIO(content), delimiter=separator), _LOOKED_AT):
            if any(cell.strip() for cell in cells):
                rows.append(cells)
    except csv.Error:  # a wrong separator may leave a quote open up to the limit of the length of a cell
        pass
    return rows


def _fitness(rows: list[list[str]], separator: str) -> tuple[float, int]:
    """Share of the rows that are as long as the header, and how many numbers are in these."""
    regular = [cells for cells in rows[1:] if len(cells) == len(rows[0])]
    found = sum(_is_number(cell.strip(), separator) for cells in regular for cell in cells)
    return len(regular) / max(len(rows) - 1, 1), found


def _is_number(cell: str, separator: str) -> bool:
    if separator != "," and is_decimal(cell):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def is_decimal(cell: str) -> bool:
    """Whether a cell is a number that may have a decimal comma, and no other mark.

    Parameters
    ----------
    cell : str
        Text of the cell.

    Examples
    --------
    >>> from trelliswork.io._cells import is_decimal
    >>> [is_decimal(cell) for cell in ("1,5", "-2", "1,5e-3", "1.5", "1.234,5", "1,2,3")]
    [True, True, True, False, False, False]
    """
    return _DECIMAL.fullmatch(cell) is not None


def decimal_comma(column: Sequence[str]) -> bool:
    """Whether a column holds numbers with decimal commas and nothing else.

    Parameters
    ----------
    column : sequence of str
        Its cells; empty ones are passed over.

    Examples
    --------
    >>> from trelliswork.io._cells import decimal_comma
    >>> decimal_comma(["1,5", "", "2"]), decimal_comma(["1", "2"]), decimal_comma(["1,5", "2.5"])
    (True, False, False)
    """
    return any("," in cell for cell in column) and all(is_decimal(cell) for cell in column if cell)


def spoilt_number(column: Sequence[str]) -> str | None:
    """The cell for which a column, numbers with decimal commas for the most part, is none of numbers.

    Parameters
    ----------
    column : sequence of str
        Its cells; empty ones are passed over.

    Examples
    --------
    >>> from trelliswork.io._cells import spoilt_number
    >>> spoilt_number(["12,5", "1.234,5", "3"]), spoilt_number(["12,5", "red", "blue"])
    ('1.234,5', None)
    """
    if not any("," in cell for cell in column):
        return None
    filled = [cell for cell in column if cell]
    others = [cell for cell in filled if not is_decimal(cell)]
    numeric = len(filled) - len(others) + sum(_THOUSANDS.fullmatch(cell) is not None for cell in others)
    return others[0] if others and 2 * numeric > len(filled) else None


def names_rows(name: str) -> bool:
    """Whether the name of a column is one of numbers of rows rather than of measurements.

    Parameters
    ----------
    name : str
        The name; files that were written with an index have an empty one, or ``Unnamed: 0``.

    Examples
    --------
    >>> from trelliswork.io._cells import names_rows
    >>> [names_rows(name) for name in ("user_id", "PassengerId", "No.", "", "paid", "body mass index")]
    [True, True, True, True, False, False]
    """
    return _IDENTIFIER.fullmatch(name) is not None


def numbers_rows(column: Sequence[str]) -> bool:
    """Whether the cells of a column are whole numbers and all different.

    Parameters
    ----------
    column : sequence of str
        Its cells.

    Examples
    --------
    >>> from trelliswork.io._cells import numbers_rows
    >>> [numbers_rows(cells) for cells in (["7", "3"], ["7", "7"], ["7", ""], ["7.5", "3"])]
    [True, False, False, False]
    """
    whole = all(_WHOLE.fullmatch(cell) for cell in column)
    return whole and len(column) > 1 and len(set(column)) == len(column)
