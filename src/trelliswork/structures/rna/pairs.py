"""Bases as numbers; secondary structures that a grammar can hold, and their repair."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from trelliswork._dotbracket import OPEN, UNPAIRED, base_pairs, crossing, without_open
from trelliswork._dotbracket import is_open as open_text
from trelliswork._errors import InputError
from trelliswork.dp.rna.rules import BASES, KIND, UNKNOWN

__all__ = ["G6", "MIN_LOOP", "Bounds", "encode", "enumerate_tables", "fitted", "is_open", "open_marks"]

MIN_LOOP = 2  # least number of list elements inside a pair that is not stacked


class Bounds(NamedTuple):
    """What the loops of a structure may be.

    Attributes
    ----------
    min_hairpin : int
        Least number of unpaired bases in a hairpin loop.
    max_loop : int or None
        Most unpaired bases in a bulge or internal loop; None for grammars that have no limit, and that want
        two elements inside of a pair with no other stacked on it.
    widest : int
        Pairs are less than so many bases apart.
    """

    min_hairpin: int
    max_loop: int | None
    widest: int


G6 = Bounds(MIN_LOOP, None, sys.maxsize)

_CODES = {base: code for code, base in enumerate(BASES)}
_CODES["T"] = _CODES["U"]
_CODES.update(dict.fromkeys("RYSWKMBDHVNX", UNKNOWN))  # IUPAC's codes for several bases, X for any
_TABLE = np.full(256, -1, dtype=np.int64)
for _letter, _code in _CODES.items():
    _TABLE[ord(_letter)] = _TABLE[ord(_letter.lower())] = _code


def encode(i: int, x: Any) -> np.ndarray:
    """Bases of one sequence as numbers; refuses what is no sequence of bases."""
    x = getattr(x, "seq", x)  # Biopython's records
    if not isinstance(x, str):
        if not type(x).__module__.startswith("Bio."):
            raise InputError(
                f"expected an RNA sequence as a string such as 'GGAAACC', got {type(x).__name__}",
                sample=i,
            )
        x = str(x)
    if not x:
        raise InputError("the sequence is empty; leave it out", sample=i)
    raw = np.frombuffer(x.encode("latin-1", "replace"), dtype=np.uint8)
    codes = _TABLE[raw]
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        place = int(bad[0])
        hint = "; remove gaps first" if x[place] in "-.~_" else ""
        raise InputError(
            f"{x[place]!r} at position {place + 1} (from 1) is no base; expected A, C, G, U (or T), or an "
            f"IUPAC code such as N for an unknown base{hint}",
            sample=i,
        )
    return codes


def is_open(y: Any) -> bool:
    """Whether a structure is known in part: None, or text with ``?``, ``|`` or ``x`` (and no ``X``)."""
    return y is None or (isinstance(y, str) and open_text(y))


def open_marks(i: int, bases: np.ndarray, y: Any, invalid: str, bounds: Bounds = G6) -> str | None:
    """One mark per base for what is known of it: ``( ) x | < > ?``, as in constraints of folding tools.

    Parameters
    ----------
    i, bases
        As in :func:`fitted`.
    y : str or None
        What is known: dot-bracket notation in which ``?`` is a base of which nothing is known, ``|`` one
        that is paired, ``<`` (``>``) one that is paired with a later (earlier) one; None knows nothing.
    invalid, bounds
        As in :func:`fitted`; bases of pairs that are deleted are unknown.
    """
    if y is None:
        return "?" * bases.size
    table = fitted(i, bases, without_open(y), invalid, bounds, loops=False)
    if table is None:
        return None
    marks = []
    for place, (mark, partner) in enumerate(zip(y, table.tolist(), strict=True)):
        if partner >= 0:
            marks.append("(" if partner > place else ")")
        elif mark in OPEN:
            marks.append(mark)
        else:
            marks.append("x" if mark in UNPAIRED else "?")
    return "".join(marks)


def fitted(
    i: int, bases: np.ndarray, y: Any, invalid: str, bounds: Bounds = G6, *, loops: bool = True
) -> np.ndarray | None:
    """Pair table of a structure; None where the grammar does not have it and ``invalid`` is "mark".

    Parameters
    ----------
    i : int
        Number of the sample, for messages.
    bases : ndarray of int
        The sequence.
    y : str
        Dot-bracket or WUSS notation.
    invalid : {"strict", "repair", "mark"}
        What to do with pairs that the grammar cannot hold: refuse them, delete them, or give None.
    bounds : Bounds
        What the grammar can hold.
    loops : bool
        Whether loops must be complete, so that their sizes can be checked.
    """
    try:
        pairs = base_pairs(y)
    except InputError as error:
        raise InputError(error.message, sample=i) from None
    if len(y) != bases.size:
        raise InputError(f"the sequence has {bases.size} bases but the structure {len(y)} places", sample=i)
    kept = [(a, b) for a, b in pairs if KIND[bases[a], bases[b]] >= 0]
    if len(kept) < len(pairs) and invalid != "repair":
        a, b = next(pair for pair in pairs if pair not in kept)
        names = BASES + "N"
        what = f"the pair ({a}, {b}) is {names[bases[a]]}-{names[bases[b]]}; only AU, GC and GU pair"
        return _refuse(i, what, invalid)
    crossed = crossing(kept)
    if any(crossed):
        a, b = kept[crossed.index(True)]
        if invalid != "repair":
            return _refuse(i, f"the pair ({a}, {b}) crosses another one (a pseudoknot)", invalid)
        kept = [pair for pair, bad in zip(kept, crossed, strict=True) if not bad]
    table = np.full(bases.size, -1, dtype=np.int64)
    for a, b in kept:
        table[a], table[b] = b, a
    if not loops:
        return table
    what = _misfit(table, bounds)
    if what and invalid != "repair":
        return _refuse(i, what, invalid)
    while what:
        what = _misfit(table, bounds)
    return table


def _misfit(table: np.ndarray, bounds: Bounds) -> str:
    """Delete pairs that do not fit; says what was wrong with the first, nothing if all fit."""
    wide = np.flatnonzero(table - np.arange(table.size) >= bounds.widest)
    if wide.size:
        a, b = int(wide[0]), int(table[wide[0]])
        table[table[wide]] = table[wide] = -1
        return f"the pair ({a}, {b}) spans more than {bounds.widest} bases"
    tight = list(_tight(table)) if bounds.max_loop is None else list(_small(table, bounds.min_hairpin))
    for a, b in tight:
        table[a] = table[b] = -1
    if tight:
        a, b = tight[0]
        return f"the pair ({a}, {b}) closes a loop of fewer than {bounds.min_hairpin} bases"
    if bounds.max_loop is not None:
        for (a, b), (p, q) in _internal_loops(table):
            if p - a - 1 + b - q - 1 > bounds.max_loop:
                helices = _helix(table, a, b, -1), _helix(table, p, q, 1)
                for left, right in min(helices, key=len):
                    table[left] = table[right] = -1
                return f"the pair ({a}, {b}) closes a loop of more than {bounds.max_loop} unpaired bases"
    return ""


def _internal_loops(table: np.ndarray) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs that directly enclose exactly one other, with that one."""
    open_: list[list[int]] = []  # left end, number of pairs inside, left end of the last of them
    for j, i in enumerate(table.tolist()):
        if i > j:
            open_.append([j, 0, -1])
        elif i >= 0:
            _, inside, last = open_.pop()
            if inside == 1:
                yield (i, j), (last, int(table[last]))
            if open_:
                open_[-1][1] += 1
                open_[-1][2] = i


def _helix(table: np.ndarray, i: int, j: int, step: int) -> list[tuple[int, int]]:
    """Pairs stacked on (i, j), going inwards (1) or outwards (-1)."""
    stacked = []
    while 0 <= i < table.size and table[i] == j:
        stacked.append((i, j))
        i, j = i + step, j - step
    return stacked


def _small(table: np.ndarray, min_hairpin: int) -> Iterator[tuple[int, int]]:
    """Pairs around nothing but fewer unpaired bases than a hairpin loop needs; also after these are gone."""
    gone: set[int] = set()
    for j, i in enumerate(table.tolist()):
        if 0 <= i < j and j - i <= min_hairpin and all(table[k] < 0 or k in gone for k in range(i + 1, j)):
            gone |= {i, j}
            yield i, j


def _refuse(i: int, what: str, invalid: str) -> np.ndarray | None:
    if invalid == "strict":
        raise InputError(
            f"{what}, which the grammar cannot hold; use RNA(invalid='repair') or leave the sample out",
            sample=i,
        )
    return None


def _tight(table: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs to delete, innermost first, so that every pair encloses another directly or a list of two.

    What a deleted pair enclosed, and its ends, join the list around it.
    """
    partner = table.tolist()
    open_: list[list[int]] = []  # left end, elements so far, whether a pair
    for j, i in enumerate(partner):
        if i > j:
            open_.append([j, 0, 0])
            continue
        elements, pairs = 1, 0
        if i >= 0:
            _, inside, inner_pairs = open_.pop()
            stacked = inside == 1 and inner_pairs == 1
            if inside < MIN_LOOP and not stacked:
                yield i, j
                elements = inside + 2
            else:
                pairs = 1
        if open_:
            open_[-1][1] += elements
            open_[-1][2] += pairs


def enumerate_tables(bases: np.ndarray, bounds: Bounds = G6) -> Iterator[list[int]]:
    """Every structure of a tiny sequence, as pair tables; by plain recursion."""
    n = bases.size
    table = [-1] * n

    def fill(spans: list[tuple[int, int]]) -> Iterator[list[int]]:
        while spans and spans[-1][0] > spans[-1][1]:
            spans = spans[:-1]
        if not spans:
            if not _misfit(np.array(table), bounds):
                yield list(table)
            return
        (i, j), rest = spans[-1], spans[:-1]
        yield from fill([*rest, (i + 1, j)])
        for k in range(i + 1, j + 1):
            if KIND[bases[i], bases[k]] >= 0:
                table[i], table[k] = k, i
                yield from fill([*rest, (k + 1, j), (i + 1, k - 1)])
                table[i] = table[k] = -1

    return fill([(0, n - 1)])
