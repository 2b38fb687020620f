"""Bases as numbers; secondary structures that a grammar can hold, and their repair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trelliswork._dotbracket import base_pairs, crossing
from trelliswork._errors import InputError
from trelliswork.dp.rna.rules import BASES, KIND, UNKNOWN

__all__ = ["MIN_LOOP", "encode", "enumerate_tables", "fitted"]

MIN_LOOP = 2  # least number of list elements inside a pair that is not stacked
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
        at = int(bad[0])
        hint = "; remove gaps first" if x[at] in "-.~_" else ""
        raise InputError(
            f"{x[at]!r} at position {at} is no base; expected A, C, G, U (or T), or an IUPAC "
            f"code such as N for an unknown base{hint}",
            sample=i,
        )
    return codes


def fitted(i: int, bases: np.ndarray, y: Any, invalid: str) -> np.ndarray | None:
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
    tight = list(_tight(table))
    if tight and invalid != "repair":
        a, b = tight[0]
        return _refuse(i, f"the pair ({a}, {b}) closes a loop of fewer than {MIN_LOOP} bases", invalid)
    for a, b in tight:
        table[a] = table[b] = -1
    return table


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


def enumerate_tables(bases: np.ndarray) -> Iterator[list[int]]:
    """Every structure of a tiny sequence, as pair tables; by plain recursion."""
    n = bases.size
    table = [-1] * n

    def fill(spans: list[tuple[int, int]]) -> Iterator[list[int]]:
        while spans and spans[-1][0] > spans[-1][1]:
            spans = spans[:-1]
        if not spans:
            if not list(_tight(np.array(table))):
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
