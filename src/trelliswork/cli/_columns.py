"""Column files as the task ``tag`` sees them: what each column means, and on which line a token is."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from trelliswork._errors import InputError, ModelFileError
from trelliswork._text import read_text, write_text
from trelliswork.io.conll import CONLLU_FIELDS, DOCSTART, read_conll

__all__ = ["Document", "Layout"]

_TOKEN = re.compile(r"\btoken (\d+)\b")
_FORM, _UPOS, _MISC = (CONLLU_FIELDS.index(field) for field in ("form", "upos", "misc"))


@dataclass(frozen=True)
class Layout:
    """Meaning of the columns of a training file, kept with the model.

    Attributes
    ----------
    n_columns : int or None
        Columns of the training file; None for models that did not come from one.
    inputs : tuple of int
        Input columns, counted from 0; the word first.
    label : int or None
        Column of the labels.
    separator, comment : str or None
        As in :func:`~trelliswork.io.read_conll`.
    encoding : str
        Encoding of the bytes.

    Examples
    --------
    >>> from trelliswork.cli._columns import Layout
    >>> layout = Layout(n_columns=3, inputs=(0, 1), label=2)
    >>> Layout.from_info("m.tw", layout.to_info()) == layout
    True
    """

    n_columns: int | None
    inputs: tuple[int, ...]
    label: int | None
    separator: str | None = None
    comment: str | None = None
    encoding: str = "utf-8"

    def to_info(self) -> dict[str, Any]:
        """JSON values for the model file."""
        return {**vars(self), "inputs": list(self.inputs)}

    @classmethod
    def from_info(cls, model: str, info: Any) -> Layout:
        """Inverse of :meth:`to_info`; the file is not trusted."""
        try:
            layout = cls(**{**info, "inputs": tuple(info["inputs"])})
            numbers = [*layout.inputs, *(n for n in (layout.n_columns, layout.label) if n is not None)]
            texts = [layout.encoding, *(t for t in (layout.separator, layout.comment) if t is not None)]
            good = all(type(n) is int and n >= 0 for n in numbers) and all(
                type(t) is str and t for t in texts
            )
        except (TypeError, KeyError, ValueError):
            good = False
        if not good or not layout.inputs:
            raise ModelFileError(f"{model}: its description of columns cannot be read")
        return layout

    def changed(
        self, separator: str | None = None, comment: str | None = None, encoding: str | None = None
    ) -> Layout:
        """The layout with the values that were given; None leaves a value as it is."""
        return replace(
            self,
            separator=separator or self.separator,
            comment=comment or self.comment,
            encoding=encoding or self.encoding,
        )

    def read(self, source: Any) -> Document:
        """Read a file whose columns are separated as in this layout."""
        return Document(source, separator=self.separator, comment=self.comment, encoding=self.encoding)


class Document:
    r"""A column file, read whole; every column is kept.

    CoNLL-U is known by its ten columns: comments, multiword tokens and empty nodes are then no tokens.

    Parameters
    ----------
    source : str or file
        Plain or gzip; ``"-"`` is standard input.
    separator, comment, encoding
        As in :func:`~trelliswork.io.read_conll`.

    Attributes
    ----------
    name : str
        What messages call the file.
    n_columns : int
        Columns of every line.
    n_tokens : int
        Lines that are tokens.
    conllu : bool
        Whether the file is CoNLL-U.

    Examples
    --------
    >>> import io
    >>> from trelliswork.cli._columns import Document
    >>> document = Document(io.StringIO("Ana NP\nduerme V\n\nSí I\n"))
    >>> document.take([0]), document.take([1, 0])[1]
    ([['Ana', 'duerme'], ['Sí']], [('I', 'Sí')])
    """

    def __init__(
        self,
        source: Any,
        *,
        separator: str | None = None,
        comment: str | None = None,
        encoding: str = "utf-8",
    ):
        text, self.name = read_text(source, encoding)
        self._lines = text.split("\n")
        self.conllu = separator in (None, "\t") and _is_conllu(self._lines)
        if self.conllu:
            separator, comment = "\t", "#"
            text = "\n".join("#" if _no_word(line) else line for line in self._lines)
        self.encoding, self.comment = encoding, comment
        data = read_conll(_NamedText(text, self.name), label=None, separator=separator, comment=comment)
        self.n_columns = data.n_columns
        self.n_tokens = sum(map(len, data.X))
        self._rows = data.X
        if self.conllu and self.n_columns != len(CONLLU_FIELDS):
            wrong = f"{self.n_columns} column{'s' * (self.n_columns != 1)}"
            raise InputError.at(self.name, self.first_line, f"{wrong}; a word of CoNLL-U has ten")
        first = next(line for line in self._lines if self._is_plain(line))
        self.separator = separator or ("\t" if "\t" in first else None)

    def __len__(self) -> int:
        return len(self._rows)

    # -- columns -------------------------------------------------------------------------

    def take(self, columns: Sequence[int]) -> list[list[Any]]:
        """Sentences of the given columns: strings for one column, tuples for several."""
        if self.n_columns == 1:
            if len(columns) == 1:
                return self._rows
            return [[(token,) * len(columns) for token in row] for row in self._rows]
        pick = itemgetter(*columns)
        return [list(map(pick, row)) for row in self._rows]

    def usual_columns(self, label: int) -> list[int]:
        """Input columns without ``--columns``: all but the label; of CoNLL-U the form."""
        return [_FORM] if self.conllu else [c for c in range(self.n_columns) if c != label]

    @property
    def usual_label(self) -> int:
        """Label column without ``--label``: the last one; of CoNLL-U the part of speech."""
        return _UPOS if self.conllu else self.n_columns - 1

    def resolve(self, column: int, what: str) -> int:
        """Number of a column from 0; one line when the file has no such column."""
        if not -self.n_columns <= column < self.n_columns:
            columns = "1 column" if self.n_columns == 1 else f"{self.n_columns} columns"
            raise InputError.at(
                self.name, self.first_line, f"{what} column {column} asked for; the file has {columns}"
            )
        return column % self.n_columns

    def match(self, layout: Layout, columns: Sequence[int] | None = None) -> tuple[list[int], int | None]:
        """Input columns and label column of this file, for a model with the given layout.

        Columns are found by their place when the file has as many columns as the training
        file, or one less (then without the label); else it must have the input columns
        alone. ``columns`` says it outright.
        """
        n, expected = self.n_columns, layout.n_columns
        if columns is not None:
            if len(columns) != len(layout.inputs):
                raise InputError(
                    f"--columns: {len(columns)} given; the model takes {len(layout.inputs)} "
                    "(the word first, in the order of training)"
                )
            return [self.resolve(c, "input") for c in columns], layout.label if n == expected else None
        if self.conllu and n != expected and len(layout.inputs) == 1:
            return [_FORM], _UPOS
        if expected is None:  # a model from Python: the first columns; the label is the last one
            if n >= len(layout.inputs):
                return list(layout.inputs), n - 1 if n > len(layout.inputs) else None
        elif n == expected:
            return list(layout.inputs), layout.label
        elif n == expected - 1 and layout.label is not None and layout.label not in layout.inputs:
            return [c - (c > layout.label) for c in layout.inputs], None
        if n == len(layout.inputs):
            return list(range(n)), None
        n_inputs = len(layout.inputs)
        wanted = _counts([n_inputs] if expected is None else [expected, expected - 1, n_inputs])
        raise InputError.at(
            self.name,
            self.first_line,
            f"{n} column{'s' * (n != 1)}; the model expects {wanted}, or --columns to name its inputs",
        )

    # -- lines ---------------------------------------------------------------------------

    @property
    def first_line(self) -> int:
        """Number of the first token line, from 1."""
        return next(i for i, line in enumerate(self._lines, 1) if self._is_token(line))

    def located(self, error: InputError) -> InputError:
        """The same error with ``FILE:LINE:`` instead of the number of the sample."""
        text = error.message
        if error.sample is None:
            return error if text.startswith(self.name) else InputError.at(self.name, None, text)
        token = _TOKEN.search(text)
        before = sum(map(len, self._rows[: error.sample])) + (int(token[1]) if token else 0)
        token_lines = [i for i, line in enumerate(self._lines, 1) if self._is_token(line)]
        return InputError.at(self.name, token_lines[min(before, len(token_lines) - 1)], text)

    def write(self, target: Any, columns: dict[str, list[str]], label: int | None = None) -> None:
        """Write the file with more columns; lines that are no tokens stay as they are.

        Parameters
        ----------
        target : str or file
            ``"-"`` is standard output; a path that ends in ``.gz`` is compressed.
        columns : dict of str to list of n_tokens strings
            Columns to add. A CoNLL-U file keeps its ten: the first takes the place of the label, the others
            go to the last column under their names.
        label : int or None
            Column of the labels.
        """
        between = self.separator or " "
        unsafe = re.compile(r"[ \t]" if self.separator is None else re.escape(between))
        for value in sorted({value for column in columns.values() for value in set(column)}):
            if not value or unsafe.search(value):
                raise InputError.at(
                    self.name, None, f"the label {value!r} cannot be a column here; use another --separator"
                )
        added = zip(*columns.values())
        out = []
        for line in self._lines:
            if self._is_token(line):
                values = next(added)
                if self.conllu:
                    line = _filled(line, dict(zip(columns, values)), _UPOS if label is None else label)
                else:
                    line = between.join([line if self.separator else line.rstrip(" \t"), *values])
            out.append(line)
        text = "\n".join(out)
        name = "<stdout>" if target == "-" else target
        try:
            write_text(target, text if text.endswith("\n") else text + "\n", self.encoding)
        except UnicodeEncodeError as error:
            shown = error.object[error.start : error.end]
            raise InputError.at(name, None, f"{shown!r} cannot be written in {self.encoding}") from None
        except BrokenPipeError:
            raise
        except OSError as error:
            raise InputError.at(name, None, f"cannot be written: {error.strerror or error}") from None

    def _is_skipped(self, line: str) -> bool:
        comment = self.comment is not None and line.startswith(self.comment)
        return comment or (self.conllu and _no_word(line))

    def _is_plain(self, line: str) -> bool:
        """Whether a line is a token on the face of it; the reader has seen to its columns."""
        return not self._is_skipped(line) and bool(line.strip(" \t")) and not line.startswith(DOCSTART)

    def _is_token(self, line: str) -> bool:
        if self._is_plain(line):
            return True
        if self._is_skipped(line):
            return False
        fields = line.split(self.separator) if self.separator else line.split()
        return len(fields) == self.n_columns and bool(fields[0]) and fields[0] != DOCSTART


def _is_conllu(lines: list[str]) -> bool:
    """Whether the first token line is one of CoNLL-U: ten columns, an identifier, a head."""
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    fields = first.split("\t")
    return (
        len(fields) == len(CONLLU_FIELDS)
        and re.fullmatch(r"\d+([-.]\d+)?", fields[0]) is not None
        and re.fullmatch(r"\d+|_", fields[CONLLU_FIELDS.index("head")]) is not None
    )


def _no_word(line: str) -> bool:
    """Whether a line of CoNLL-U is a comment, a multiword token (``3-4``) or an empty node (``8.1``)."""
    return line.startswith("#") or (bool(line.strip()) and not line.partition("\t")[0].isdecimal())


def _filled(line: str, values: dict[str, str], label: int) -> str:
    """A token of CoNLL-U with a label in its column and everything else in the last one."""
    fields = line.split("\t")
    (_, fields[label]), *others = values.items()
    if others:
        kept = [] if fields[_MISC] == "_" else [fields[_MISC]]
        fields[_MISC] = "|".join([*kept, *(f"{name.title()}={value}" for name, value in others)])
    return "\t".join(fields)


class _NamedText(io.StringIO):
    def __init__(self, text: str, name: str):
        super().__init__(text)
        self.name = name


def _counts(numbers: list[int]) -> str:
    """``3, 2 or 1``, for messages."""
    texts = [str(n) for n in dict.fromkeys(numbers)]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
