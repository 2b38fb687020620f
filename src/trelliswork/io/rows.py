"""Labelled rows: svmlight, CSV, JSON lines and ARFF."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from trelliswork._errors import InputError
from trelliswork._text import read_text
from trelliswork.io._cells import (
    decimal_comma,
    found_separator,
    is_decimal,
    names_rows,
    numbers_rows,
    spoilt_number,
)
from trelliswork.io.arff import hierarchy, most_specific, read_arff

__all__ = ["FORMATS", "Rows", "read_rows", "words_of"]

FORMATS = ("svmlight", "csv", "jsonl", "arff")
_SVMLIGHT = re.compile(r"\S+(\s+(?:qid|\d+):\S+)*\s*(?:#.*)?")
_SIGNED = re.compile(r"\+[\d.]+")  # "+1" and "1" are one class
_WORD = re.compile(r"\w+")


class Rows(NamedTuple):
    """What :func:`read_rows` returns.

    Attributes
    ----------
    X : list of dict
        Features of every row, as :class:`~trelliswork.Classes` takes them.
    y : list of str (or sets of str) or None
        Labels; None where the file has none.
    records : list
        The rows as they were: lines, lists of cells or objects.
    header : list of str or None
        Names of the columns of a CSV file.
    lines : list of int
        Line of each row.
    format : str
        One of ``FORMATS``.
    name : str
        Name of the file.
    separator : str
        What separates the cells of a CSV file.
    taxonomy : list of (str, str) or None
        Links of the labels of an ARFF file whose class is ``hierarchical``.
    numbers : list of str or None
        Columns of a CSV file that hold numbers and nothing else.
    notes : tuple of str
        What a user should know about how the file was read.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io.rows import read_rows
    >>> read_rows(io.StringIO("cat 1:0.5 7:2")).X
    [{'1': 0.5, '7': 2.0}]
    """

    X: list[dict[str, Any]]
    y: list[Any] | None
    records: list[Any]
    header: list[str] | None
    lines: list[int]
    format: str
    name: str
    separator: str = ","
    taxonomy: list[tuple[str, str]] | None = None
    numbers: list[str] | None = None
    notes: tuple[str, ...] = ()

    def located(self, error: InputError) -> InputError:
        """The error with the line of its sample instead of its number.

        Parameters
        ----------
        error : InputError
            An error about one of these rows.
        """
        return error.placed(self.name, self.lines)

    def identifiers(self) -> list[str]:
        r"""Columns or keys that number the rows, such as ``id``: by name, and as distinct whole numbers.

        Examples
        --------
        >>> import io
        >>> from trelliswork.io import read_rows
        >>> read_rows(io.StringIO("id,size,label\n17,2,cat\n18,3,dog\n")).identifiers()
        ['id']
        """
        keys = filter(names_rows, dict.fromkeys(key for row in self.X for key in row))
        return [key for key in keys if numbers_rows(self._column(key))]

    def without(self, left_out: Sequence[str]) -> Rows:
        r"""The rows without some columns or keys among their features.

        Parameters
        ----------
        left_out : sequence of str
            The columns; those that there are not are passed over.

        Examples
        --------
        >>> import io
        >>> from trelliswork.io import read_rows
        >>> read_rows(io.StringIO("id,size,label\n17,2,cat\n")).without(["id"]).X
        [{'size': 2.0}]
        """
        if not left_out:
            return self
        X = [{key: value for key, value in row.items() if key not in left_out} for row in self.X]
        return self._replace(X=X)

    def _column(self, key: str) -> list[str]:
        """Cells of a column as they were written, since long numbers may be one as floats."""
        if self.format == "jsonl":
            return [str(item.get(key, "")) for item in self.records]
        if self.header is None or key not in self.header:
            return []
        place = self.header.index(key)
        return [cells[place].strip() for cells in self.records]


def read_rows(
    source: Any,
    format: str | None = None,
    *,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    text: Sequence[str] = (),
    separator: str | None = None,
    encoding: str = "utf-8",
    unlabelled: bool = False,
    numbers: Sequence[str] | None = None,
    left_out: Sequence[str] = (),
) -> Rows:
    r"""Read labelled rows from a file.

    Parameters
    ----------
    source : path, "-" or open file
        The file, plain or gzip.
    format : {"svmlight", "csv", "jsonl", "arff"} or None
        ``label index:value ...`` per line; a header and cells; one JSON object per line; or ARFF, where a
        ``hierarchical`` class gives a taxonomy (the label is the most
        specific path; several, joined by ``@``, are a set: one of them).
        None looks at the first line.
    label : str or None
        Column or key of the labels; by default ``label`` if there is one, else (CSV) the last
        column.
    columns : list of str or None
        Columns or keys to read beside ``text``; by default all others, and none if there is ``text``.
    text : list of str
        Columns or keys that hold text: their words become features, ``1 + log(count)``, scaled to
        length 1.
    separator : str or None
        Between cells; by default the tab, comma or semicolon that splits the header and the first rows alike.
    encoding : str, default="utf-8"
        Encoding of the file.
    unlabelled : bool, default=False
        Whether labels may be missing.
    numbers : list of str or None
        Columns of a CSV file in which a comma may be decimal, as in ``1,5``, unless commas separate cells.
        None finds them: all cells are numbers, one of them with such a comma.
    left_out : list of str
        Columns or keys to leave out where the file has them.

    Returns
    -------
    Rows

    Examples
    --------
    >>> import io
    >>> from trelliswork.io.rows import read_rows
    >>> rows = read_rows(io.StringIO("size,colour,label\n2.5,red,cat\n,blue,dog\n"))
    >>> rows.X, rows.y
    ([{'size': 2.5, 'colour': 'red'}, {'colour': 'blue'}], ['cat', 'dog'])
    """
    content, name = read_text(source, encoding)
    lines = [(number, line) for number, line in enumerate(content.split("\n"), 1) if line.strip()]
    if not lines:
        raise InputError.at(name, 1, "no row in the file")
    kind = _guessed([line for _, line in lines]) if format is None else format
    if kind not in FORMATS:
        raise InputError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    if columns is None and text:
        columns = list(text)
    elif columns is not None:
        columns = list(dict.fromkeys([*columns, *text]))
    if kind == "arff":
        rows = _arff(lines, name, label, columns, unlabelled)
    elif kind == "svmlight":
        rows = _svmlight(lines, name, unlabelled)
    elif kind == "csv":
        rows = _csv(content, name, label, columns, text, separator, unlabelled, numbers)
    else:
        rows = _jsonl(lines, name, label, columns, text, unlabelled)
    return rows.without(left_out)


def _guessed(lines: list[str]) -> str:
    """Format by the first lines; svmlight may begin with comments, and its rows may have no features."""
    some = [line.strip() for line in lines if not line.lstrip().startswith("#")][:20]
    if some and some[0].startswith("{"):
        return "jsonl"
    if some and some[0].lower().startswith(("@relation", "@attribute", "%")):
        return "arff"
    rows = [_SVMLIGHT.fullmatch(line) for line in some]
    return "svmlight" if some and rows[0] and any(row and row[1] for row in rows) else "csv"


def _svmlight(lines: list[tuple[int, str]], name: str, unlabelled: bool) -> Rows:
    X, y, records, numbers = [], [], [], []
    for number, line in lines:
        fields = line.split("#", 1)[0].split()
        if not fields:
            continue
        if ":" in fields[0]:
            if not unlabelled:
                raise InputError.at(name, number, f"starts with {fields[0]!r}; expected a label")
            fields.insert(0, "?")
        row: dict[str, Any] = {}
        for field in fields[1:]:
            index, _, value = field.partition(":")
            if index == "qid":
                continue
            if not index.isdigit() or not value:
                raise InputError.at(name, number, f"cannot read {field!r}; expected index:value")
            if index in row:
                raise InputError.at(name, number, f"index {index} occurs twice")
            row[index] = _number(value, name, number, f"index {index}")
        X.append(row)
        y.append(fields[0].removeprefix("+") if _SIGNED.fullmatch(fields[0]) else fields[0])
        records.append(line)
        numbers.append(number)
    if not X:
        raise InputError.at(name, 1, "no row in the file")
    return Rows(X, None if "?" in y else y, records, None, numbers, "svmlight", name)


def _number(value: str, name: str, line: int, where: str) -> float:
    try:
        number = float(value)
    except ValueError:
        raise InputError.at(name, line, f"{where}: cannot read {value!r}; expected a number") from None
    if not math.isfinite(number):
        raise InputError.at(name, line, f"{where}: {value} is not a finite number")
    return number


def _csv(
    content: str,
    name: str,
    label: str | None,
    columns: Sequence[str] | None,
    text: Sequence[str],
    separator: str | None,
    unlabelled: bool,
    numbers: Sequence[str] | None,
) -> Rows:
    between = separator or found_separator(content)
    table = _table(content, name, between)
    line, header = table[0]
    target = label or ("label" if "label" in header else None if unlabelled else header[-1])
    _check_names(header, [*(columns or ()), *text], name, line)
    if target not in header:
        if not unlabelled:
            raise InputError.at(name, line, f"no column {target!r}; there are {_listed(header)}")
        target = None
    wanted = {c: header.index(c) for c in (columns or header) if c != target}
    if not wanted:
        raise InputError.at(name, line, "no column beside the label")
    _check_lengths(table, name)
    plain = [key for key in wanted if key not in text]
    commas, spoilt = (set(), {}) if between == "," else _with_commas(table[1:], wanted, plain, numbers)
    X, texts = _features(table[1:], name, wanted, text, commas)
    if numbers is not None:
        spoilt = {key: texts[key] for key in numbers if key in texts}
    filled: set[str] = set().union(*X)
    return Rows(
        X,
        None if target is None else [_label(c[header.index(target)], name, n) for n, c in table[1:]],
        [cells for _, cells in table[1:]],
        header,
        [number for number, _ in table[1:]],
        "csv",
        name,
        between,
        numbers=[key for key in plain if key in filled and key not in texts],
        notes=_notes(name, spoilt, trained=numbers is not None),
    )


def _table(content: str, name: str, separator: str) -> list[tuple[int, list[str]]]:
    """Line and cells of the header and of the rows that are not blank."""
    if len(separator) != 1:
        raise InputError(f"a CSV file needs a separator of one character, got {separator!r}")
    reader = csv.reader(io.StringIO(content), delimiter=separator, strict=True)
    table = [(number, cells) for number, cells in _cells(reader, name) if any(c.strip() for c in cells)]
    if not table:
        raise InputError.at(name, None, "no row; expected a header and rows below it")
    line, header = table[0][0], [cell.strip() for cell in table[0][1]]
    if len(set(header)) < len(header):
        twice = next(cell for cell in header if header.count(cell) > 1)
        raise InputError.at(name, line, f"column {twice!r} occurs twice")
    if len(table) == 1:
        raise InputError.at(name, line, "no row below the header")
    return [(line, header), *table[1:]]


def _check_lengths(table: list[tuple[int, list[str]]], name: str) -> None:
    expected = len(table[0][1])
    for number, cells in table[1:]:
        if len(cells) != expected:
            raise InputError.at(name, number, f"{len(cells)} columns; expected {expected}, as in the header")


def _with_commas(
    table: list[tuple[int, list[str]]],
    places: dict[str, int],
    keys: Sequence[str],
    numbers: Sequence[str] | None,
) -> tuple[set[str], dict[str, str]]:
    """Columns in which a comma is decimal, and what others, which are nearly such, hold beside numbers."""
    if numbers is not None:
        return set(numbers), {}
    commas, spoilt = set(), {}
    for key in keys:
        column = [cells[places[key]].strip() for _, cells in table]
        if decimal_comma(column):
            commas.add(key)
        elif (cell := spoilt_number(column)) is not None:
            spoilt[key] = cell
    return commas, spoilt


def _features(
    table: list[tuple[int, list[str]]],
    name: str,
    places: dict[str, int],
    text: Sequence[str],
    commas: set[str],
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Features of the rows of a CSV file, and the first cell of each column that is no number."""
    X: list[dict[str, Any]] = []
    texts: dict[str, str] = {}
    for number, cells in table:
        row: dict[str, Any] = {}
        for key, place in places.items():
            cell = cells[place].strip()
            if key in text:
                row |= words_of(cell, key)
            elif cell:
                row[key] = value = _cell(cell, name, number, key, key in commas)
                if isinstance(value, str):
                    texts.setdefault(key, cell)
        X.append(row)
    return X, texts


def _notes(name: str, spoilt: dict[str, str], *, trained: bool) -> tuple[str, ...]:
    """One line about columns that are read as text, though most cells, or all in training, are numbers."""
    if not spoilt:
        return ()
    key, cell = next(iter(spoilt.items()))
    named = f"column {key!r}" + (f" (also {_listed(list(spoilt)[1:])})" if len(spoilt) > 1 else "")
    said = (
        "unlike in training, and is read as text" if trained else "so that the whole column is read as text"
    )
    hint = "write numbers without separators of thousands, and leave cells of missing ones empty"
    return (f"{name}: {named}: {cell!r:.60} is no number, {said}; {hint}",)


def _cells(reader: Any, name: str) -> Iterator[tuple[int, list[str]]]:
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise InputError.at(name, reader.line_num, f"broken CSV ({error})") from None


def _cell(cell: str, name: str, line: int, key: str, comma: bool = False) -> Any:
    """The number in a cell, or its text, which becomes a feature of its own."""
    if comma and is_decimal(cell):
        cell = cell.replace(",", ".")
    try:
        value = float(cell)
    except ValueError:
        return cell
    if not math.isfinite(value):
        raise InputError.at(name, line, f"column {key!r}: {cell} is not a finite number")
    return value


def _arff(
    lines: list[tuple[int, str]],
    name: str,
    label: str | None,
    columns: Sequence[str] | None,
    unlabelled: bool,
) -> Rows:
    table = read_arff(lines, name)
    header = table.header
    target = label or next((c for c in ("class", "label") if c in header), header[-1])
    _check_names(header, [target, *(columns or ())], name, None)
    place = header.index(target)
    wanted = [k for k, c in enumerate(header) if c != target and (columns is None or c in columns)]
    declared = hierarchy(table.kinds[place])
    nodes = (
        {child for _, child in declared}
        if declared is not None
        else {cells[place] for _, cells in table.rows}
    )
    X: list[dict[str, Any]] = []
    y: list[Any] = []
    for number, cells in table.rows:
        X.append({header[k]: _cell(cells[k], name, number, header[k]) for k in wanted if cells[k]})
        paths = [cells[place]] if declared is None else most_specific(cells[place].split("@"))
        for path in paths:
            if path and path not in nodes:
                raise InputError.at(name, number, f"the class {path!r} is not in the declared hierarchy")
        if any(paths):
            y.append(paths[0] if len(paths) == 1 else frozenset(paths))
        elif not unlabelled:
            y.append(_label(paths[0], name, number))
    complete = len(y) == len(X)
    return Rows(
        X,
        y if complete else None,
        [cells for _, cells in table.rows],
        header,
        [number for number, _ in table.rows],
        "arff",
        name,
        taxonomy=declared,
    )


def _jsonl(
    lines: list[tuple[int, str]],
    name: str,
    label: str | None,
    columns: Sequence[str] | None,
    text: Sequence[str],
    unlabelled: bool,
) -> Rows:
    target = label or "label"
    X, y, records = [], [], []
    for number, line in lines:
        try:
            item = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError.at(name, number, f"cannot read JSON ({error.msg})") from None
        except RecursionError:
            raise InputError.at(name, number, "cannot read JSON (nested too deep)") from None
        except ValueError:  # Python's limit on the digits of whole numbers
            raise InputError.at(name, number, "cannot read JSON (a number of too many digits)") from None
        if not isinstance(item, dict):
            raise InputError.at(name, number, f"expected a JSON object, got {type(item).__name__}")
        if target in item:
            y.append(_label(item[target], name, number))
        elif not unlabelled:
            raise InputError.at(name, number, f"no key {target!r}; there are {_listed(list(item))}")
        row: dict[str, Any] = {}
        for key in columns or item:
            if key == target or item.get(key) is None:
                continue
            value = item[key]
            if key in text:
                if not isinstance(value, str):
                    raise InputError.at(name, number, f"key {key!r}: expected text, got {value!r:.60}")
                row |= words_of(value, key)
            else:
                row[key] = _value(value, name, number, key)
        X.append(row)
        records.append(item)
    _check_names({key for item in records for key in item}, [*(columns or ()), *text], name, None)
    complete = len(y) == len(X)
    return Rows(X, y if complete else None, records, None, [n for n, _ in lines], "jsonl", name)


def _value(value: Any, name: str, line: int, key: str) -> Any:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
    for item in inner:
        if isinstance(item, float) and not math.isfinite(item):
            raise InputError.at(name, line, f"key {key!r}: {item} is not a finite number")
        if item is not None and not isinstance(item, (str, bool, int, float)):
            raise InputError.at(
                name, line, f"key {key!r}: expected a number, a text or a list of texts, got {value!r:.60}"
            )
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        raise InputError.at(name, line, f"key {key!r}: a list must hold texts, got {value!r:.60}")
    return value


def _label(value: Any, name: str, line: int) -> str:
    if isinstance(value, (str, int)) and str(value).strip():
        return str(value).strip()
    raise InputError.at(name, line, f"the label must be a text or a whole number, got {value!r:.60}")


def _check_names(known: Any, asked: Sequence[str], name: str, line: int | None) -> None:
    for key in asked:
        if key not in known:
            raise InputError.at(name, line, f"no column {key!r}; there are {_listed(sorted(known))}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")


def words_of(text: str, key: str) -> dict[str, float]:
    """Words of a text as features: ``1 + log(count)``, scaled to length 1.

    Parameters
    ----------
    text : str
        The text.
    key : str
        Its column or key, with which the names of the features begin.

    Examples
    --------
    >>> from trelliswork.io.rows import words_of
    >>> sorted(words_of("The cat, the dog", "body"))
    ['body:cat', 'body:dog', 'body:the']
    """
    counts = Counter(_WORD.findall(text.lower()))
    values = {f"{key}:{word}": 1.0 + math.log(n) for word, n in counts.items()}
    norm = math.sqrt(sum(v * v for v in values.values()))
    return {word: value / norm for word, value in values.items()}
