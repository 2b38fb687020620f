"""Radial layout of RNA structures: every loop is a polygon with its corners on a circle."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

__all__ = ["radial"]

_PAIR = 1.5  # distance of paired bases; neighbours in the chain have distance 1
_NEAR = 1.0  # bases of two branches that are nearer overlap
_ABOVE = 1.5  # height above the chain of what hangs down to it
_STRETCH = 1.3  # growth of the shortest gaps between branches as long as branches overlap
_MOST_STRETCHES = 18
_LARGE = 6.0  # gap from which on helices are continued instead


def radial(table: Sequence[int]) -> np.ndarray:
    """Coordinates of the bases, as complex numbers.

    Helices are straight. Where branches of a multiloop would overlap, the gaps between them grow, the
    shortest first. Where they would have to grow much, helices on both sides of a bulge or an internal loop
    continue each other, though its sides have not the same number of bases: arms that bend more and more
    end in each other. Where lines cross even so, the branches of the outermost loops stand side by side.
    Outside of all pairs the chain runs from left to right; a helix with branches that hang down to it
    stands above it.

    Parameters
    ----------
    table : sequence of int
        Partner of every base, or -1.
    """
    bent, largest = _layout(table, straight=False)
    if largest > _LARGE:
        unbent, other = _layout(table, straight=True)
        bent = unbent if other < largest else bent
    if not _crossed(bent, table):
        return bent
    levels = _levels(table)
    for flat in range(1, max(levels) + 1):
        for straight in (False, True):
            places, _ = _layout(table, straight=straight, flat=[level <= flat for level in levels])
            if not _crossed(places, table):
                return places
    return bent


def _levels(table: Sequence[int]) -> list[int]:
    """For every left end of a pair, how many multiloops there are from the outside to its loop."""
    out, closed = [0] * len(table), list[int]()
    for i, j in enumerate(table):
        if j > i:
            out[i] = (out[closed[-1]] if closed else 0) + (_n_branches(table, i) > 1)
            closed.append(i)
        elif j >= 0:
            closed.pop()
    return out


def _n_branches(table: Sequence[int], i: int) -> int:
    """Number of pairs in the loop that a pair closes, without this one."""
    k, out = i + 1, 0
    while k < table[i]:
        out += table[k] > k
        k = max(table[k], k) + 1
    return out


def _crossed(places: np.ndarray, table: Sequence[int]) -> bool:
    """Whether sides of the chain, or pairs, cross each other."""
    left = [i for i, j in enumerate(table) if j > i]
    ends = np.array([*itertools.pairwise(range(len(table))), *((i, table[i]) for i in left)], dtype=np.int64)
    if len(ends) < 2:
        return False
    a, b = places[ends[:, 0]], places[ends[:, 1]]
    middle, reach = (a + b) / 2, np.abs(a - b) / 2
    # Only lines near each other can cross; the few that are long are compared with all.
    usual = np.flatnonzero(reach <= _PAIR)
    near = cKDTree(np.stack([middle.real, middle.imag], axis=1)[usual]).query_pairs(
        2 * _PAIR, output_type="ndarray"
    )
    pairs = [usual[near]]
    pairs += [
        np.stack([np.full(a.size, k), np.arange(a.size)], axis=1) for k in np.flatnonzero(reach > _PAIR)
    ]
    k, m = np.concatenate(pairs).T
    apart = (ends[k][:, :, None] != ends[m][:, None, :]).all(axis=(1, 2))  # no end in common
    k, m = k[apart], m[apart]

    def sides(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
        return np.sign(((q - p).conjugate() * (r - p)).imag)

    first = sides(a[k], b[k], a[m]) * sides(a[k], b[k], b[m])
    second = sides(a[m], b[m], a[k]) * sides(a[m], b[m], b[k])
    return bool(np.any((first < 0) & (second < 0)))


def _layout(
    table: Sequence[int], *, straight: bool, flat: Sequence[bool] | None = None
) -> tuple[np.ndarray, float]:
    """Coordinates, and by how much loops had to grow at most.

    Parameters
    ----------
    table : sequence of int
        Partner of every base, or -1.
    straight : bool
        Whether helices on both sides of an internal loop continue each other.
    flat : sequence of bool or None
        For every left end of a pair, whether the branches of a multiloop stand side by side.
    """
    n = len(table)
    inside: dict[int, np.ndarray] = {}  # left end of a pair -> bases of its span, the pair on the real axis
    largest = 1.0
    # Innermost pairs first: their left ends come last.
    for i in range(n - 1, -1, -1):
        if table[i] < i:
            continue
        if flat is not None and flat[i] and _n_branches(table, i) > 1:
            inside[i] = _flat_loop(table, i, inside)
        else:
            inside[i], stretch = _loop(table, i, inside, straight)
            largest = max(largest, stretch)
    return _line(table, 0, n, inside, 0.99), largest


def _line(
    table: Sequence[int], start: int, stop: int, inside: dict[int, np.ndarray], low_enough: float
) -> np.ndarray:
    """Bases start .. stop - 1 from left to right, with the helices that stand on them.

    Helices whose branches hang down to less than ``low_enough`` stand above the line.
    """
    out = np.zeros(stop, dtype=np.complex128)
    x, border, i, run = 0.0, -math.inf, start, start  # run: the first of the unpaired bases before i
    lifted = False
    while i < stop:
        if table[i] < i:
            out[i], x, i = x, x + 1.0, i + 1
            continue
        shape = inside.pop(i)
        left, x = x, max(x, border + 1.0 - float(shape.real.min()))
        # The chain comes to a helix from just beside it, so that it does not cross what hangs down there.
        first = x - (i - run) if run == start else out[run].real if i - run > 1 else x - 1.0
        if x > left and (i - run > 1 or (i > run and not lifted)):
            out[run:i] = np.linspace(first, x - 1.0, i - run)
        low = float(shape.imag[1:-1].min(initial=1.0))
        lifted = low < low_enough
        out[i : i + shape.size] = x + shape + 1j * (_ABOVE - low if lifted else 0.0)
        border = x + float(shape.real.max())
        x, i = x + _PAIR + 1.0, i + shape.size
        run = i
    return out[start:]


def _flat_loop(table: Sequence[int], i: int, inside: dict[int, np.ndarray]) -> np.ndarray:
    """Bases i .. table[i]: the branches of the loop side by side above the pair that closes it."""
    # Sides of a bulge near the line are no reason to raise a helix: lines from below could not reach it.
    line = _line(table, i + 1, table[i], inside, 0.05)
    ends = (line[0].real + line[-1].real) / 2
    return np.concatenate([[0.0], line - ends + _PAIR / 2 + 1j * _ABOVE, [_PAIR]])


def _loop(
    table: Sequence[int], i: int, inside: dict[int, np.ndarray], straight: bool
) -> tuple[np.ndarray, float]:
    """Bases i .. table[i]: the loop that the pair closes, with all its branches; by how much it grew."""
    j = table[i]
    corners, k = [], i + 1
    while k < j:
        corners.append(k)
        k = table[k] if table[k] > k else k + 1
    corners = [i, *corners, j]
    branches = {k: inside.pop(k) for k in corners[1:-1] if table[k] > k}
    stretch = 1.0
    for _ in range(_MOST_STRETCHES):
        out = _polygon(table, corners, branches, stretch, straight)
        if not branches or not _overlap(out - out[0], branches, i):
            break
        stretch *= _STRETCH
    return out, stretch


def _polygon(
    table: Sequence[int],
    corners: list[int],
    branches: dict[int, np.ndarray],
    stretch: float,
    straight: bool,
) -> np.ndarray:
    """Put the corners on a circle and hang the branches on it."""
    i, j = corners[0], corners[-1]
    sides = np.array([_PAIR if table[a] == b else 0.0 for a, b in itertools.pairwise(corners)])
    gaps = np.concatenate([[-1], np.flatnonzero(sides), [sides.size]])
    for a, b in itertools.pairwise(gaps):
        sides[a + 1 : b] = max(1.0, stretch / max(b - a - 1, 1))
    opposite = straight and len(branches) == 1
    if opposite:  # a circle with room for the longer side twice
        left = corners.index(next(iter(branches)))
        right = sides.size - 1 - left
        longest = max(left, right)
        sides = np.concatenate([[_PAIR], np.full(2 * longest, max(1.0, stretch / longest))])
    low, high = max(float(sides.max()), _PAIR) / 2, float(sides.sum() + _PAIR)
    for _ in range(60):  # the angles of all sides make a full turn
        radius = (low + high) / 2
        closing = 2 * math.asin(min(_PAIR / (2 * radius), 1.0))
        turn = 2 * np.arcsin(np.minimum(sides / (2 * radius), 1.0)).sum() + closing
        low, high = (radius, high) if turn > 2 * math.pi else (low, radius)
    steps = 2 * np.arcsin(np.minimum(sides / (2 * radius), 1.0))
    if opposite:
        half = math.pi - closing
        steps = np.concatenate([np.full(left, half / left), [closing], np.full(right, half / right)])
    angles = np.concatenate([[0.0], np.cumsum(steps)])
    centre = complex(_PAIR / 2, math.sqrt(max(radius**2 - (_PAIR / 2) ** 2, 0.0)))
    places = centre + (0 - centre) * np.exp(-1j * angles)
    out = np.zeros(j - i + 1, dtype=np.complex128)
    for corner, place in zip(corners, places):
        out[corner - i] = place
    for left, shape in branches.items():
        a, b = out[left - i], out[table[left] - i]
        out[left - i : left - i + shape.size] = a + (b - a) / _PAIR * shape
    return out


def _overlap(out: np.ndarray, branches: dict[int, np.ndarray], i: int) -> bool:
    """Whether bases of two branches, or of a branch and the loop, come too near to each other.

    So do bases of branches and of the helix below the loop.
    """
    owner = np.zeros(out.size, dtype=np.int64)  # 0 is the loop
    for number, (left, shape) in enumerate(branches.items(), start=1):
        owner[left - i : left - i + shape.size] = number
    hanging = out[owner > 0]
    if np.any((hanging.imag < 0) & (np.abs(hanging.real - _PAIR / 2) < _PAIR / 2 + _NEAR)):
        return True
    tree = cKDTree(np.stack([out.real, out.imag], axis=1))
    near = tree.query_pairs(_NEAR * 0.95, output_type="ndarray")
    return bool(np.any(owner[near[:, 0]] != owner[near[:, 1]]))
