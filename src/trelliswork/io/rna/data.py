"""What the readers of all RNA formats return, and the checks that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from trelliswork._dotbracket import base_pairs, is_open, without_open
from trelliswork._errors import InputError

__all__ = ["GAPS", "RnaData", "check_any", "check_bases", "check_structure"]

GAPS = frozenset("-.~_")


class RnaData(NamedTuple):
    """Sequences with names and, where the file has them, structures.

    Attributes
    ----------
    names : list of str
        Names of the sequences.
    X : list of str
        Sequences.
    y : list of str or None
        Structures in dot-bracket notation; known in part where they have ``?``, ``|`` or ``x``.

    Examples
    --------
    >>> from trelliswork.io import RnaData
    >>> RnaData(["hairpin"], ["GGAAACC"], ["((...))"]).y
    ['((...))']
    """

    names: list[str]
    X: list[str]
    y: list[str] | None


def check_bases(bases: str, source: str, line: int, record: str) -> None:
    """Refuse a record without a sequence."""
    if not bases:
        raise InputError.at(source, line, f"{record}: no bases; expected a sequence after the name")


def check_structure(marks: str, bases: str, source: str, line: int, record: str) -> None:
    """Refuse a structure that is not well formed, or not of the length of its sequence."""
    try:
        base_pairs(without_open(marks) if is_open(marks) else marks)
    except InputError as error:
        raise InputError.at(source, line, f"{record}: {error}") from None
    if len(marks) != len(bases):
        raise InputError.at(source, line, f"{record}: {len(bases)} bases but {len(marks)} marks")


def check_any(records: Sequence[Any], source: str, start: str) -> None:
    """Refuse a file without records; ``start`` shows how one begins."""
    if not records:
        raise InputError.at(source, 1, f"no sequence in the file; expected records such as {start!r} ...")
