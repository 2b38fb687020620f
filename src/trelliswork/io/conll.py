"""Column files of the CoNLL tasks: one token per line, a blank line after every sentence."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._text import read_text, write_text

__all__ = ["ConllData", "read_conll", "read_conllu", "write_conll"]

DOCSTART = "-DOCSTART-"
CONLLU_FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
# White space that str.split() would cut at although it belongs to the token (no-break space, ...).
_OTHER_SPACE = [chr(c) for c in range(0x3001) if chr(c).isspace() and chr(c) not in " \t\n"]


@dataclass
class ConllData:
    """Sentences and labels of a column file.

    Attributes
    ----------
    X : list of list of str, or list of list of tuple of str
        Sentences. A token is a string when there is one input column, otherwise
        the tuple of its input columns.
    y : list of list of str, or None
        Labels, None when no label column was asked for.
    n_columns : int
        Columns in the file, the label among them.
    lines : list of int
        Line of the first token of every sentence.

    Examples
    --------
    >>> from trelliswork.io.conll import ConllData
    >>> data = ConllData(X=[["a", "dog"]], y=[["D", "N"]], n_columns=2)
    >>> len(data), data
    (1, ConllData(1 sentences, 2 tokens, 2 columns))
    """

    X: list[list[Any]]
    y: list[list[str]] | None
    n_columns: int
    lines: list[int] = dataclasses.field(default_factory=list, compare=False)

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        n_tokens = sum(map(len, self.X))
        return f"ConllData({len(self.X)} sentences, {n_tokens} tokens, {self.n_columns} columns)"


def read_conll(
    path_or_file: Any,
    *,
    columns: Sequence[int] | None = None,
    label: int | None = -1,
    separator: str | None = None,
    comment: str | None = None,
    docstart: bool = True,
    encoding: str = "utf-8",
) -> ConllData:
    r"""Read a file of one token per line, columns separated by tabs or white space.

    Parameters
    ----------
    path_or_file : str, path or file object
        Plain or gzip (recognised by its first bytes). ``"-"`` is standard input.
    columns : sequence of int, optional
        Input columns, counted from 0 or, negative, from the end. By default all but
        the label.
    label : int or None, default=-1
        Column of the labels; None when there is none.
    separator : str, optional
        What separates columns, exactly. By default a tab if the first token line has
        one, else any run of spaces and tabs.
    comment : str, optional
        Lines that start with this are skipped. By default none are, because ``#`` is a
        token in many files.
    docstart : bool, default=True
        Skip ``-DOCSTART-`` lines; they end a sentence as a blank line does.
    encoding : str, default="utf-8"
        Encoding of the bytes.

    Returns
    -------
    ConllData
        ``X``, ``y`` and ``n_columns``.

    Raises
    ------
    InputError
        One line, ``FILE:LINE: what was wrong; what was expected``: no such file, a directory,
        undecodable bytes, no token, a line whose number of columns differs from the first,
        a column that does not exist.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io.conll import read_conll
    >>> text = "Ana NP B-PER\nduerme V O\n\nSí I O\n"
    >>> data = read_conll(io.StringIO(text), columns=[0])
    >>> data.X, data.y
    ([['Ana', 'duerme'], ['Sí']], [['B-PER', 'O'], ['O']])
    >>> read_conll(io.StringIO(text)).X[1]
    [('Sí', 'I')]
    """
    if separator == "" or comment == "":
        raise ValueError("separator and comment must not be empty; leave them None for the default")
    text, name = read_text(path_or_file, encoding)
    lines = text.split("\n")
    first = _first_token_line(lines, comment, docstart)
    if first is None:
        raise InputError.at(name, 1, "no token in the file; expected one token per line")
    if separator is None and "\t" in lines[first]:
        separator = "\t"
    split = _splitter(separator, text)
    n_columns = len(split(lines[first]))
    sentences, begin = _sentences(lines, split, n_columns, first + 1, comment, docstart, name)
    inputs, label = _choose(n_columns, columns, label, f"{name}:{first + 1}")

    # Equal strings become one object: less than half the memory, and quicker look-ups later.
    intern = sys.intern
    X: list[list[Any]] = []
    y: list[list[str]] = []
    for flat in sentences:
        table = [list(map(intern, flat[c::n_columns])) for c in range(n_columns)]
        X.append(table[inputs[0]] if len(inputs) == 1 else list(zip(*(table[c] for c in inputs))))
        if label is not None:
            y.append(list(table[label]) if label in inputs else table[label])
    return ConllData(X, None if label is None else y, n_columns, begin)


def _first_token_line(lines: list[str], comment: str | None, docstart: bool) -> int | None:
    for number, line in enumerate(lines):
        skip = (comment is not None and line.startswith(comment)) or (docstart and line.startswith(DOCSTART))
        if not skip and line.strip(" \t"):
            return number
    return None


def _splitter(separator: str | None, text: str) -> Callable[[str], list[str]]:
    """Function that cuts a line into columns; a blank line gives an empty list or [""]."""
    if separator is not None:
        return lambda line: line.split(separator)
    if not any(space in text for space in _OTHER_SPACE):
        return str.split
    run = re.compile("[ \t]+")
    return lambda line: run.split(line.strip(" \t"))


def _sentences(
    lines: list[str],
    split: Callable[[str], list[str]],
    n_columns: int,
    first: int,
    comment: str | None,
    docstart: bool,
    name: str,
) -> tuple[list[list[str]], list[int]]:
    """Fields of every sentence, row after row of ``n_columns``, and the line that each begins in."""
    sentences, begin = [], []
    flat: list[str] = []
    for number, line in enumerate(lines, 1):
        if comment is not None and line.startswith(comment):
            continue
        fields = split(line)
        if len(fields) == n_columns and fields[0].strip() and (fields[0] != DOCSTART or not docstart):
            if not flat:
                begin.append(number)
            flat += fields
        elif not line.strip(" \t") or (docstart and line.startswith(DOCSTART)):
            if flat:
                sentences.append(flat)
                flat = []
        elif len(fields) == n_columns:  # an empty first column
            if not flat:
                begin.append(number)
            flat += fields
        else:
            raise InputError.at(
                name, number, f"{_count(len(fields), 'column')}; expected {n_columns}, as in line {first}"
            )
    if flat:
        sentences.append(flat)
    return sentences, begin


def _choose(
    n_columns: int, columns: Sequence[int] | None, label: int | None, place: str
) -> tuple[list[int], int | None]:
    """Input columns and label column, counted from 0."""

    def find(column: int, what: str) -> int:
        if not -n_columns <= column < n_columns:
            raise InputError(
                f"{place}: {what} column {column} asked for; expected 0 to {n_columns - 1} "
                f"or -{n_columns} to -1, as the file has {_count(n_columns, 'column')}"
            )
        return column % n_columns

    label = None if label is None else find(label, "label")
    if columns is not None:
        inputs = [find(c, "input") for c in columns]
    else:
        inputs = [c for c in range(n_columns) if c != label]
    if not inputs:
        raise InputError(
            f"{place}: no input column beside the label; expected at least 2 columns, or label=None "
            f"(the file has {_count(n_columns, 'column')})"
        )
    return inputs, label


def read_conllu(
    path_or_file: Any,
    *,
    columns: Sequence[str] = ("form",),
    label: str | None = "upos",
    encoding: str = "utf-8",
) -> ConllData:
    r"""Read a CoNLL-U file (Universal Dependencies) with the ``conllu`` library.

    Only syntactic words are kept: lines of multiword tokens (``3-4``) and empty nodes
    (``8.1``) are skipped. Values are the texts of the file, ``_`` where there is none.

    Parameters
    ----------
    path_or_file : str, path or file object
        As in :func:`read_conll`.
    columns : sequence of str, default=("form",)
        Input fields, out of id, form, lemma, upos, xpos, feats, head, deprel, deps, misc.
    label : str or None, default="upos"
        Field of the labels; None for no labels.
    encoding : str, default="utf-8"
        Encoding of the bytes.

    Returns
    -------
    ConllData
        ``X``, ``y`` and ``n_columns`` (10).

    Raises
    ------
    ImportError
        When ``conllu`` is not installed.
    InputError
        When the file is not CoNLL-U; see :func:`read_conll`.

    Examples
    --------
    >>> import io
    >>> from trelliswork.io.conll import read_conllu
    >>> rest = "\t_" * 6
    >>> text = f"# text = del mar\n1-2\tdel\t_\t_{rest}\n1\tde\t_\tADP{rest}\n2\tel\t_\tDET{rest}\n"
    >>> data = read_conllu(io.StringIO(text))
    >>> data.X, data.y
    ([['de', 'el']], [['ADP', 'DET']])
    """
    try:
        import conllu
    except ImportError:
        raise ImportError(
            'reading CoNLL-U needs the conllu library: pip install "trelliswork[text]"'
        ) from None
    if isinstance(columns, str):
        columns = (columns,)
    for field in [*columns, *([] if label is None else [label])]:
        if field not in CONLLU_FIELDS:
            raise ValueError(f"no CoNLL-U field {field!r}; expected one of {', '.join(CONLLU_FIELDS)}")
    if not columns:
        raise ValueError("columns must name at least one CoNLL-U field")
    text, name = read_text(path_or_file, encoding)
    as_written = {field: lambda row, i: row[i] for field in CONLLU_FIELDS if field != "id"}
    X: list[list[Any]] = []
    y: list[list[str]] = []
    for number, block in _conllu_blocks(text, name):
        try:
            parsed = conllu.parse(block, fields=CONLLU_FIELDS, field_parsers=as_written)
        except conllu.exceptions.ParseException as e:
            raise InputError.at(name, number, f"{e} Expected a CoNLL-U sentence to start here") from None
        except ValueError:  # numbers of thousands of digits
            raise InputError.at(name, number, "an id of a word is no number") from None
        words = [w for sentence in parsed for w in sentence if isinstance(w["id"], int)]
        if not words:
            continue
        if "id" in columns or label == "id":
            for w in words:
                w["id"] = str(w["id"])
        first = columns[0]
        X.append(
            [w[first] for w in words] if len(columns) == 1 else [tuple(w[c] for c in columns) for w in words]
        )
        if label is not None:
            y.append([sys.intern(w[label]) for w in words])
    if not X:
        raise InputError.at(name, 1, "no token in the file; expected CoNLL-U sentences")
    return ConllData(X, None if label is None else y, len(CONLLU_FIELDS))


def _conllu_blocks(text: str, name: str) -> list[tuple[int, str]]:
    """First line number and text of every sentence, column counts checked."""
    blocks = []
    block: list[str] = []
    for number, line in enumerate(text.split("\n") + [""], 1):
        if not line.strip():
            if block:
                blocks.append((number - len(block), "\n".join(block)))
                block = []
            continue
        n_columns = line.count("\t") + 1
        if not line.startswith("#"):
            if n_columns != len(CONLLU_FIELDS):
                raise InputError.at(
                    name,
                    number,
                    f"{_count(n_columns, 'column')}; expected the 10 tab-separated ones of CoNLL-U",
                )
            if "  " in line:  # the conllu library would take them for a tab
                raise InputError.at(name, number, "two spaces in a row; expected at most one within a field")
        block.append(line)
    return blocks


@readable
def write_conll(
    path_or_file: Any, X: Any, *labels: Any, separator: str = " ", encoding: str = "utf-8"
) -> None:
    r"""Write sentences with label columns, as :func:`read_conll` reads them.

    With the true and then the predicted labels the result is what the CoNLL script
    ``conlleval`` takes.

    Parameters
    ----------
    path_or_file : str, path or file object
        ``"-"`` is standard output; a path that ends in ``.gz`` is compressed.
    X : list of sentences
        A token is a string or a tuple of columns, as in :class:`ConllData`.
    *labels : lists of label sequences
        Each adds one column.
    separator : str, default=" "
        Between columns. Use a tab when tokens hold spaces.
    encoding : str, default="utf-8"
        Encoding of the bytes.

    Raises
    ------
    ValueError
        When lengths differ, or a value is empty or holds the separator or a line break. The
        message names the sample, and nothing is written.

    Examples
    --------
    >>> import sys
    >>> from trelliswork.io.conll import write_conll
    >>> write_conll(sys.stdout, [["Ana", "duerme"]], [["B-PER", "O"]], [["O", "O"]])
    Ana B-PER O
    duerme O O
    <BLANKLINE>
    """
    if not separator:
        raise ValueError("separator must not be empty")
    n_samples = len(X)
    for k, y in enumerate(labels):
        if len(y) != n_samples:
            raise ValueError(f"X has {n_samples} sentences, label column {k} has {len(y)}")
    unsafe = re.compile(r"[\r\n]|" + (r"[ \t]" if separator == " " else re.escape(separator)))
    lines = []
    for i, (sentence, *tags) in enumerate(zip(X, *labels)):
        for k, sequence in enumerate(tags):
            if len(sequence) != len(sentence):
                raise InputError(
                    f"{len(sentence)} tokens, but label column {k} has {len(sequence)} labels", sample=i
                )
        for token, *values in zip(sentence, *tags):
            fields = (
                [str(f) for f in (*token, *values)]
                if isinstance(token, tuple)
                else [str(token), *map(str, values)]
            )
            for field in fields:
                if not field or unsafe.search(field):
                    raise InputError(
                        f"{field!r} cannot be a column; expected text without {separator!r} or line breaks",
                        sample=i,
                    )
            lines.append(separator.join(fields))
        lines.append("")
    write_text(path_or_file, "".join(line + "\n" for line in lines), encoding)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
