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

    def located(self, error: InputError) -> InputError:
        """The error with the line of its sample instead of its number.

        Parameters
        ----------
        error : InputError
            An error about one of these rows.
        """
        return error.placed(self.name, self.lines)


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
        Between cells; by default a tab if the header has one, else a comma or a semicolon.
    encoding : str, default="utf-8"
        Encoding of the file.
    unlabelled : bool, default=False
        Whether labels may be missing.

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
        return _arff(lines, name, label, columns, unlabelled)
    if kind == "svmlight":
        return _svmlight(lines, name, unlabelled)
    if kind == "csv":
        return _csv(content, name, label, columns, text, separator, unlabelled)
    return _jsonl(lines, name, label, columns, text, unlabelled)


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
) -> Rows:
    first = content.lstrip("\n").split("\n", 1)[0]
    between = separator or next((c for c in "\t,;" if c in first), ",")
    if len(between) != 1:
        raise InputError(f"a CSV file needs a separator of one character, got {between!r}")
    reader = csv.reader(io.StringIO(content), delimiter=between, strict=True)
    table = [(number, cells) for number, cells in _cells(reader, name) if any(c.strip() for c in cells)]
    if not table:
        raise InputError.at(name, None, "no row; expected a header and rows below it")
    header = [cell.strip() for cell in table[0][1]]
    if len(set(header)) < len(header):
        twice = next(cell for cell in header if header.count(cell) > 1)
        raise InputError.at(name, table[0][0], f"column {twice!r} occurs twice")
    if len(table) == 1:
        raise InputError.at(name, table[0][0], "no row below the header")
    target = label or ("label" if "label" in header else None if unlabelled else header[-1])
    _check_names(header, [*(columns or ()), *text], name, table[0][0])
    if target not in header:
        if not unlabelled:
            raise InputError.at(name, table[0][0], f"no column {target!r}; there are {_listed(header)}")
        target = None
    wanted = [c for c in (columns or header) if c != target]
    if not wanted:
        raise InputError.at(name, table[0][0], "no column beside the label")
    X, y = [], []
    for number, cells in table[1:]:
        if len(cells) != len(header):
            raise InputError.at(
                name, number, f"{len(cells)} columns; expected {len(header)}, as in the header"
            )
        values = dict(zip(header, cells, strict=True))
        if target is not None:
            y.append(_label(values[target], name, number))
        row: dict[str, Any] = {}
        for key in wanted:
            cell = values[key].strip()
            if key in text:
                row |= words_of(cell, key)
            elif cell:
                row[key] = _cell(cell, name, number, key)
        X.append(row)
    records = [cells for _, cells in table[1:]]
    return Rows(X, y if target else None, records, header, [n for n, _ in table[1:]], "csv", name, between)


def _cells(reader: Any, name: str) -> Iterator[tuple[int, list[str]]]:
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise InputError.at(name, reader.line_num, f"broken CSV ({error})") from None


def _cell(cell: str, name: str, line: int, key: str) -> Any:
    """The number in a cell, or its text, which becomes a feature of its own."""
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
