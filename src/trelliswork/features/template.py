"""Features of one token, and the small language that lists them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable

__all__ = ["PLAIN", "USUAL_FLAGS", "Feature", "affix", "column", "flag", "parse_template"]

# The features of TokenWindow() and TokenWindow.tutorial() (the tests compare them).
NAMED = {
    "default": "bias, boundary; lower, suffix:2-3, flags @ -1..1",
    "tutorial": "bias, boundary; lower, suffix:3, suffix:2, bools, postag=col:1, postag=col:1[:2];"
    "lower, bool:title, bool:upper, postag=col:1, postag=col:1[:2] @ -1,1",
}
_FLAGS = ("alnum", "alpha", "ascii", "decimal", "digit", "lower", "numeric", "title", "upper")
USUAL_FLAGS = ("upper", "title", "digit")
_LONGEST, _DIGITS, _FARTHEST = 100, 15, 10**9
_REPEATS = re.compile(r"([^d])\1+|(d{4})d+")


class Feature(NamedTuple):
    """One feature of a token: ``stem`` + (``kind`` with ``arg``, applied to a column).

    Examples
    --------
    >>> Feature("word[-3:]=", "cut", (-3, None)).of(["casa", "la"])
    ['asa', 'la']
    """

    stem: str
    kind: str
    arg: Any = None
    column: int = 0

    def of(self, texts: Sequence[str]) -> list[str | None]:
        """What follows the stem for each text, or None where the feature is absent."""
        if self.kind == "cut":
            return list(map(itemgetter(slice(*self.arg)), texts))
        if self.kind == "lower":
            return list(map(str.lower, texts))
        if self.kind == "shape":
            return [_shape(text) for text in texts]
        if self.kind == "bias":
            return [""] * len(texts)
        answers = {True: "True", False: "False" if self.kind == "bool" else None}
        return list(map(answers.__getitem__, map(getattr(str, "is" + self.arg), texts)))


_WHOLE = (None, None)
PLAIN = {
    "word": Feature("word=", "cut", _WHOLE),
    "lower": Feature("word.lower=", "lower"),
    "shape": Feature("word.shape=", "shape"),
    "bias": Feature("bias", "bias"),
    "boundary": Feature("", "boundary"),
}


def _shape(text: str) -> str:
    """``Casa-1998`` -> ``Xx-dddd``: repeats collapse, digits are kept up to four."""
    marks = ["X" if c.isupper() else "d" if c.isdigit() else "x" if c.isalpha() else c for c in text]
    return _REPEATS.sub(r"\1\2", "".join(marks))


def affix(kind: str, n: int) -> Feature:
    """First (``prefix``) or last (``suffix``) letters of the word."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError(f"{kind} lengths must be whole numbers from 1, got {n!r}")
    if kind == "prefix":
        return Feature(f"word[:{n}]=", "cut", (None, int(n)))
    return Feature(f"word[-{n}:]=", "cut", (-int(n), None))


def flag(name: str, with_false: bool) -> Feature:
    """``str.isupper`` and the like; ``with_false`` makes a feature of False as well."""
    if name not in _FLAGS:
        raise InputError(f"unknown flag {name!r}; expected one of {', '.join(_FLAGS)}")
    return Feature(f"word.is{name}=", "bool" if with_false else "flag", name)


def column(name: str, number: int) -> Feature:
    """``postag[:2]`` of column 1: the name says what is cut out."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 0:
        raise InputError(f"column {name!r}: expected a column number from 0, got {number!r}")
    _, bracket, cut = name.partition("[")
    part = re.fullmatch(r"(-[1-9]\d{,8})?:([1-9]\d{,8})?\]", cut)
    if bracket and (part is None or (part[1] is None) == (part[2] is None)):
        raise InputError(f"column {name!r}: expected a name, NAME[:2] or NAME[-2:]")
    ends = _WHOLE if part is None else (part[1] and int(part[1]), part[2] and int(part[2]))
    return Feature(f"{name}=", "cut", ends, int(number))


def _span(first: str, last: str | None, piece: str) -> range:
    """Numbers from ``first`` to ``last``, both included."""
    if max(len(first), len(last or "")) > _DIGITS:
        raise InputError(f"template: {piece!r:.60} has a number of more than {_DIGITS} characters")
    numbers = range(int(first), int(last or first) + 1)
    if abs(numbers.start) > _FARTHEST:
        raise InputError(f"template: {piece!r} goes beyond {_FARTHEST:,}")
    if not 0 < len(numbers) <= _LONGEST:
        raise InputError(f"template: {piece!r} must count upwards, over at most {_LONGEST} numbers")
    return numbers


def _parse_feature(item: str) -> list[Feature]:
    """Features of one piece of a template."""
    if item in PLAIN:
        return [PLAIN[item]]
    if item in ("flags", "bools"):
        return [flag(f, item == "bools") for f in USUAL_FLAGS]
    if match := re.fullmatch(r"(flag|bool):(\w+)", item):
        return [flag(match[2], match[1] == "bool")]
    if match := re.fullmatch(r"(prefix|suffix):(\d+)(?:-(\d+))?", item):
        return [affix(match[1], n) for n in _span(match[2], match[3], item)]
    if match := re.fullmatch(r"(?:([^\s:=\[\]]+)=)?col:(\d+)(\[.*\])?", item):
        _span(match[2], None, item)
        name = match[1] or f"col{match[2]}"
        return [column(name + (match[3] or ""), int(match[2]))]
    raise InputError(
        f"template: cannot read the feature {item!r}; expected word, lower, shape, bias, boundary, flags, "
        "bools, flag:NAME, bool:NAME, prefix:N, suffix:N-M, col:N, col:N[:2] or NAME=col:N"
    )


def _parse_offsets(text: str) -> list[int]:
    out: list[int] = []
    for item in text.split(","):
        match = re.fullmatch(r"\s*([+-]?\d+)\s*(?:\.\.\s*([+-]?\d+)\s*)?", item)
        if not match:
            raise InputError(f"template: cannot read the offsets {item.strip()!r}; expected -1, 2 or -1..1")
        out.extend(_span(match[1], match[2], item.strip()))
    return out


@readable
def parse_template(text: str) -> dict[int, list[Feature]]:
    """Read a feature template: which features at which offsets.

    A template is a list of clauses separated by ``;`` or new lines. A clause is
    ``features @ offsets``, both separated by commas; without ``@`` the offset is 0.

    =================== =========================================================
    ``word``, ``lower`` the word as it is, in lower case
    ``prefix:3``        first letters; ``prefix:1-4`` is four features
    ``suffix:2-3``      last letters
    ``shape``           ``Casa-1998`` gives ``Xx-dddd``
    ``flag:upper``      ``word.isupper=True`` where it holds; any ``str.is...``
    ``bool:upper``      ``word.isupper=True`` or ``word.isupper=False``
    ``flags``           upper, title and digit; ``bools`` likewise
    ``col:1``           column 1 of the token (the word is column 0)
    ``col:1[:2]``       its first two letters; ``[-2:]`` its last two
    ``pos=col:1``       the same under a name
    ``bias``            always there
    ``boundary``        ``BOS`` at the first token, ``EOS`` at the last
    =================== =========================================================

    Offsets are numbers or ranges: ``-2, -1..1``. The clause ``default`` stands for
    ``TokenWindow()``, the clause ``tutorial`` for ``TokenWindow.tutorial()``.

    Parameters
    ----------
    text : str
        The template.

    Returns
    -------
    dict
        Offset -> list of features, without repeats.

    Examples
    --------
    >>> from trelliswork.features import parse_template
    >>> window = parse_template("bias; lower, suffix:2-3 @ 0; pos=col:1 @ -1..1")
    >>> {offset: [f.stem for f in features] for offset, features in window.items()}
    {-1: ['pos='], 0: ['bias', 'word.lower=', 'word[-2:]=', 'word[-3:]=', 'pos='], 1: ['pos=']}
    """
    if not isinstance(text, str):
        raise InputError(f"template: expected a string, got {type(text).__name__}")
    window: dict[int, list[Feature]] = {}
    clauses = [c.strip() for c in re.split(r"[;\n]", text)]
    for clause in chain.from_iterable(NAMED.get(c, c).split(";") for c in clauses if c):
        left, mark, right = clause.partition("@")
        offsets = _parse_offsets(right) if mark else [0]
        features = [f for item in left.split(",") for f in _parse_feature(item.strip())]
        if PLAIN["boundary"] in features and offsets != [0]:
            raise InputError(f"template: boundary goes with offset 0 only, not as in {clause.strip()!r}")
        for offset in offsets:
            window.setdefault(offset, []).extend(features)
    if not window:
        raise InputError("template: no features in it")
    return {offset: list(dict.fromkeys(window[offset])) for offset in sorted(window)}
