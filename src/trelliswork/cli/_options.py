"""Options that several commands share, as Typer takes them, and how their texts are read and checked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from trelliswork._errors import InputError

__all__ = [
    "check_jobs",
    "check_output",
    "known_label",
    "parse_columns",
    "parse_separator",
    "read_template",
    "with_optional_values",
]

Columns = Annotated[
    str | None,
    typer.Option(
        help="Input columns, such as 0,2: counted from 0, or from the end if negative. "
        "The first is the word.",
        show_default=False,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="What separates columns: tab, space (exactly one) or any text. By default a tab if the first "
        "line has one, else any white space.",
        show_default=False,
    ),
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of the text; utf-8.", show_default=False)]
Comment = Annotated[
    str | None, typer.Option(help="Skip lines that start with this text.", show_default=False)
]
Jobs = Annotated[int | None, typer.Option(help="Threads; -1 uses every core.", show_default=False)]
Tune = Annotated[
    float | None,
    typer.Option(
        metavar="[SECONDS]",
        min=0,
        help="Choose the settings of the learner by cross-validation, or by --dev, within SECONDS.",
        show_default=False,
    ),
]
Output = Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="SCHEDULER",
        help="Work on a Dask cluster, given by the address of its scheduler, or local:N for N processes; "
        "files are given by a pattern in quotes.",
        show_default=False,
    ),
]
Unknown = Annotated[
    str | None,
    typer.Option(
        "--unknown",
        metavar="TEXT",
        help="Label that stands for one that is not known, such as ?; with it, A|B stands for A or B.",
        show_default=False,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Seed = Annotated[
    int | None, typer.Option(min=0, max=2**32 - 1, help="Seed of random choices.", show_default=False)
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file.", show_default=False)]


def known_label(text: Any, unknown: Collection[str], labels: Collection[Any] = ()) -> Any:
    """What a label of a file says where labels may be known in part: None, a set, or the label itself.

    Parameters
    ----------
    text : str or set
        The label; sets stay as they are.
    unknown : collection of str
        Labels that stand for one that is not known.
    labels : collection
        Labels that are none of these things, whatever they look like.

    Examples
    --------
    >>> from trelliswork.cli._options import known_label
    >>> known_label("?", ["?"]), sorted(known_label("N|V", ["?"])), known_label("N", ["?"])
    (None, ['N', 'V'], 'N')
    """
    if not isinstance(text, str) or text in labels:
        return text
    if text in unknown:
        return None
    return set(filter(None, text.split("|"))) if text.strip("|").count("|") else text


def parse_columns(text: str | None) -> list[int] | None:
    """Read the text of ``--columns``.

    Examples
    --------
    >>> from trelliswork.cli._options import parse_columns
    >>> parse_columns("0,-2"), parse_columns(None)
    ([0, -2], None)
    >>> parse_columns("word")
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: --columns: cannot read 'word'; expected numbers such as 0,2
    """
    if text is None:
        return None
    try:
        return [int(piece) for piece in text.split(",")]
    except ValueError:
        raise InputError(f"--columns: cannot read {text!r}; expected numbers such as 0,2") from None


def parse_separator(text: str | None) -> str | None:
    r"""Read the text of ``--separator``.

    Examples
    --------
    >>> from trelliswork.cli._options import parse_separator
    >>> parse_separator("tab"), parse_separator(r"\t"), parse_separator("space"), parse_separator("|")
    ('\t', '\t', ' ', '|')
    """
    if text is None:
        return None
    text = {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)
    if not text or "\n" in text or "\r" in text:
        raise InputError("--separator must be a text without line breaks, such as tab, space or ','")
    return text


def with_optional_values(args: Sequence[str]) -> list[str]:
    """Arguments in which ``--tune`` without a number has one: as long as it takes.

    Examples
    --------
    >>> from trelliswork.cli._options import with_optional_values
    >>> with_optional_values(["--tune", "60", "a"]), with_optional_values(["--tune", "-o", "a"])
    (['--tune', '60', 'a'], ['--tune=inf', '-o', 'a'])
    """
    out = list(args)
    for i, arg in enumerate(out):
        if arg == "--tune" and not _is_number(out[i + 1 : i + 2]):
            out[i] = "--tune=inf"
    return out


def _is_number(texts: list[str]) -> bool:
    try:
        return bool(texts) and float(texts[0]) >= 0
    except ValueError:
        return False


def check_jobs(jobs: int | None) -> int | None:
    """Refuse ``--jobs 0``."""
    if jobs == 0:
        raise InputError("--jobs must not be 0; expected a number of threads, or -1 for every core")
    return jobs


def read_template(text: str) -> str:
    """Text of ``--template``: itself, or that of the file after ``@``; checked.

    Examples
    --------
    >>> from trelliswork.cli._options import read_template
    >>> read_template("lower @ -1..1")
    'lower @ -1..1'
    """
    from trelliswork._text import read_text
    from trelliswork.features.template import parse_template

    source = "--template"
    if text.startswith("@"):
        text, source = read_text(text[1:])
    try:
        parse_template(text)
    except InputError as error:
        raise InputError(f"{source}: {str(error).removeprefix('template: ')}") from None
    return text


def check_output(path: str, *, model: bool = False) -> None:
    """Refuse an output file that cannot be written, before any work is done.

    Parameters
    ----------
    path : str
        The file; ``-`` (standard output) is always possible, except for a model.
    model : bool, default=False
        Whether a model is to be written, which takes a regular file.
    """
    if path == "-":
        if model:
            raise InputError("--output: a model cannot go to standard output; expected the path of a file")
        return
    if not path:
        raise InputError("--output: expected the path of a file")
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError.at(path, None, "is a directory; expected the path of a file to write")
    if target.exists():
        if model and not target.is_file():
            raise InputError.at(path, None, "is a device or pipe; a model needs a regular file")
        if not os.access(target, os.W_OK):
            raise InputError.at(path, None, "cannot be written: the file is read-only")
        if not model:
            return
    if not target.parent.is_dir():
        raise InputError.at(path, None, "cannot be written: there is no such folder")
    try:  # asking for permissions is not enough: the file system may be read-only
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise InputError.at(path, None, f"cannot be written: {error.strerror or error}") from None
