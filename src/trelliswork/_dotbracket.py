"""Secondary structures as text and as pair tables.

Text is dot-bracket notation, or WUSS as in Rfam: ``() <> [] {}`` are pairs, a capital letter and the same
small letter are pairs of a pseudoknot, ``. , : ; _ - ~`` are unpaired. A pair table holds the partner
of every position, counted from 0, or -1.
"""

from __future__ import annotations

import string
from collections.abc import Sequence

from trelliswork._errors import InputError

__all__ = [
    "OPEN",
    "UNPAIRED",
    "base_pairs",
    "crossing",
    "dot_bracket",
    "is_open",
    "pair_table",
    "without_open",
]

_OPENING = "(<[{" + string.ascii_uppercase
_CLOSING = dict(zip(")>]}" + string.ascii_lowercase, _OPENING, strict=True))
UNPAIRED = frozenset(".,:;_-~")
OPEN = "?x|<>"  # marks of bases of which not all is known, and of unpaired ones beside them
_AS_DOTS = str.maketrans(dict.fromkeys(OPEN, "."))
_SHOWN = ("()", "[]", "{}", "<>", *(a + a.lower() for a in string.ascii_uppercase))


def is_open(text: str) -> bool:
    """Whether a structure is known in part: text with ``?``, ``|`` or ``x`` (and no ``X``).

    Parameters
    ----------
    text : str
        A structure.

    Examples
    --------
    >>> from trelliswork._dotbracket import is_open
    >>> is_open("((...))"), is_open("(?...?)"), is_open("<<...>>"), is_open("<x...x>")
    (False, True, False, True)
    """
    return "?" in text or "|" in text or ("x" in text and "X" not in text)


def without_open(text: str) -> str:
    """The known pairs of a structure that is known in part, with dots for all other bases."""
    return text.translate(_AS_DOTS)


def base_pairs(text: str) -> list[tuple[int, int]]:
    """Pairs of a structure; those of ``()`` come first, then ``<>``, ``[]``, ``{}``, letters.

    Parameters
    ----------
    text : str
        Dot-bracket or WUSS notation.

    Returns
    -------
    list of (int, int)
        Left and right end, counted from 0.

    Examples
    --------
    >>> from trelliswork.structures import base_pairs
    >>> base_pairs("<((..))>..")
    [(1, 6), (2, 5), (0, 7)]
    >>> base_pairs("((..)")
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: unbalanced brackets: '(' at position 1 (from 1) is never closed
    """
    if not isinstance(text, str):
        raise InputError(f"expected a structure in dot-bracket notation, got {type(text).__name__}")
    pairs_of: dict[str, list[tuple[int, int]]] = {kind: [] for kind in _OPENING}
    open_: dict[str, list[int]] = {kind: [] for kind in _OPENING}
    for j, mark in enumerate(text):
        if mark in open_:
            open_[mark].append(j)
        elif mark in _CLOSING:
            kind = _CLOSING[mark]
            if not open_[kind]:
                raise InputError(f"unbalanced brackets: {mark!r} at position {j + 1} (from 1) closes nothing")
            pairs_of[kind].append((open_[kind].pop(), j))
        elif mark not in UNPAIRED:
            raise InputError(
                f"{mark!r} at position {j + 1} (from 1) is no mark of a structure; expected dots and brackets"
            )
    for kind, places in open_.items():
        if places:
            raise InputError(
                f"unbalanced brackets: {kind!r} at position {places[0] + 1} (from 1) is never closed"
            )
    return [pair for pairs in pairs_of.values() for pair in sorted(pairs)]


def pair_table(text: str) -> list[int]:
    """Partner of every position, or -1.

    Parameters
    ----------
    text : str
        Dot-bracket or WUSS notation.

    Examples
    --------
    >>> from trelliswork.structures import pair_table
    >>> pair_table("((..)).")
    [5, 4, -1, -1, 1, 0, -1]
    """
    table = [-1] * len(text)
    for i, j in base_pairs(text):
        table[i], table[j] = j, i
    return table


def crossing(pairs: Sequence[tuple[int, int]]) -> list[bool]:
    """Whether each pair crosses an earlier one of the list, pairs that cross others left aside."""
    if _nested(pairs):
        return [False] * len(pairs)
    out = []
    # Pairs that are kept are nested: the innermost one around a position tells all.
    around: dict[int, tuple[int, int]] = {}
    for i, j in pairs:
        inside = around.get(i)
        out.append(inside != around.get(j))
        if not out[-1]:
            for k in range(i, j + 1):
                if around.get(k) == inside:
                    around[k] = (i, j)
    return out


def _nested(pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether no two pairs cross."""
    ends: list[int] = []
    for i, j in sorted(pairs):
        while ends and ends[-1] < i:
            ends.pop()
        if ends and ends[-1] < j:
            return False
        ends.append(j)
    return True


def dot_bracket(table: Sequence[int]) -> str:
    """Text of a pair table; pairs that cross others get brackets of their own.

    Parameters
    ----------
    table : sequence of int
        Partner of every position, or -1.

    Examples
    --------
    >>> from trelliswork.structures import dot_bracket
    >>> dot_bracket([5, 4, -1, -1, 1, 0, -1])
    '((..)).'
    >>> dot_bracket([2, 3, 0, 1])
    '([)]'
    """
    marks = ["."] * len(table)
    left = []
    for i, j in enumerate(table):
        if j < 0:
            continue
        if j >= len(table) or table[j] != i or i == j:
            raise InputError(f"not a pair table: position {i} has partner {j}, which has another")
        if i < j:
            left.append((i, j))
    for brackets in _SHOWN:
        rest = []
        for (i, j), crossed in zip(left, crossing(left), strict=True):
            if crossed:
                rest.append((i, j))
            else:
                marks[i], marks[j] = brackets[0], brackets[1]
        left = rest
    if left:
        raise InputError(f"pairs cross at more than {len(_SHOWN)} levels")
    return "".join(marks)
