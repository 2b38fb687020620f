"""Radial layout of RNA structures: every loop is a polygon with corners on a circle, and no lines cross."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from trelliswork.plots._apart import apart

__all__ = ["radial"]

_PAIR = 1.5  # distance of paired bases; neighbours in the chain have distance 1
_LOW = 0.95  # bases that are not so high above the chain come too near to it
_FLAT = 0.5  # sides of a loop that rise less from a lonely pair come too near to those of the next loop
_ROOM = 1.0  # between a helix, however far down it goes, and what hangs down beside it; between branches
_ABOVE = 1.5  # height above the chain of what hangs down to it
_HIGH = 6.0  # a helix that would stand higher than this above the chain is drawn otherwise
_STRETCH = 1.3  # growth of the shortest gaps between branches as long as branches overlap
_STRETCHES = 9
_FEW = 4
_SHARES = (0.3, 0.45, 0.65, 0.8, 1.0)  # of a radius of a fan that is certainly enough

Branches = list[np.ndarray]


class _Loop(NamedTuple):
    """The corners of a loop, clockwise from the left end of the pair that closes it to its right end.

    ``starts`` has the numbers of the corners where branches begin; they end at the next corners.
    """

    corners: list[int]
    starts: list[int]

    def gaps(self) -> list[int]:
        """Numbers of sides before, between and behind the branches."""
        ends = [0, *(k + 1 for k in self.starts)]
        return [b - a for a, b in zip(ends, [*self.starts, len(self.corners) - 1], strict=True)]


def radial(table: Sequence[int]) -> np.ndarray:
    """Coordinates of the bases, as complex numbers; lines do not cross or touch each other.

    Helices are straight. The corners of a loop are on a circle, in their natural distances; where branches
    would overlap, the gaps between them grow. Outside of all pairs the chain runs from left to right; a
    helix with branches that hang down to it stands above it. Where all this is not enough, branches are drawn
    upright: helices on both sides of an internal loop continue each other, and the branches of a multiloop
    are a fan on the upper half of a circle that is as large as they need. An upright branch is nowhere
    below its first pair, so that such a drawing exists for every structure.

    Parameters
    ----------
    table : sequence of int
        Partner of every base, or -1.
    """
    places = _drawn(table, 1)
    if places is None:
        places = _drawn(table, 3)
    assert places is not None
    return places


def _drawn(table: Sequence[int], n_ways: int) -> np.ndarray | None:
    """The drawing with branches that are bent, and with straight and upright ones if there are three ways.

    None if one way is not enough.
    """
    # For each way: left end of a helix -> bases of its span, with the first pair on the real axis.
    drawn: list[dict[int, np.ndarray]] = [{} for _ in range(n_ways)]
    outer = set(_outer(table))
    # Innermost loops first: the left ends of the pairs that close them come last.
    for i in range(len(table) - 1, -1, -1):
        if table[i] < i or i + 1 < table[i + 1] == table[i] - 1:
            continue
        loop = _loop(table, i)
        choices = [[ways.pop(loop.corners[k]) for k in loop.starts] for ways in drawn]
        first = i
        while first and table[first - 1] == table[first] + 1:
            first -= 1
        for way in range(n_ways):
            shape = _best(table, loop, choices[way:], way)
            if shape is None:
                return None
            drawn[way][first] = _on_helix(shape, i - first, strict=way == 2 or first in outer)
    return _line(table, sorted(outer), drawn)


def _outer(table: Sequence[int]) -> Iterator[int]:
    """Left ends of the pairs that are in no other."""
    k = 0
    while k < len(table):
        if table[k] > k:
            yield k
        k = max(table[k], k) + 1


def _loop(table: Sequence[int], i: int) -> _Loop:
    """The loop that the pair of ``i`` closes."""
    corners, starts, k = [i], [], i + 1
    while k < table[i]:
        if table[k] > k:
            starts.append(len(corners))
            corners.append(k)
            k = table[k]
        corners.append(k)
        k += 1
    return _Loop([*corners, table[i]], starts)


def _on_helix(shape: np.ndarray, height: int, *, strict: bool) -> np.ndarray:
    """A loop on top of so many more pairs; on a lonely pair it stands a step higher if its sides are flat."""
    if not height:
        flat = float(shape.imag[1:-1].min(initial=math.inf)) < (_LOW if strict else _FLAT)
        return np.concatenate([[0.0], shape[1:-1] + (1j if flat else 0.0), [_PAIR]])
    steps = 1j * np.arange(height)
    return np.concatenate([steps, shape + 1j * height, _PAIR + steps[::-1]])


def _best(table: Sequence[int], loop: _Loop, choices: list[Branches], way: int) -> np.ndarray | None:
    """The span of a loop: the smallest drawing that will do; None if there is none.

    Parameters
    ----------
    table : sequence of int
        Partner of every base, or -1.
    loop : _Loop
        The loop.
    choices : list of list of ndarray
        Drawings of the branches: in this way, and in those behind it.
    way : int
        0 for bent loops, 1 for straight ones, 2 for upright ones.
    """
    sure = way + len(choices) == 3  # the last branches are upright
    kinds: list[tuple[Branches, Iterator[tuple[float, np.ndarray]]]] = []
    for branches in choices:
        if len(branches) < 2:
            if way == 0 or not branches:
                kinds.append((branches, _circles(loop, 1)))
            if branches:
                kinds.append((branches, _opposite(loop)))
        else:
            kinds.append((branches, _circles(loop, _STRETCHES if sure else _FEW)))
            if sure:
                kinds.append((branches, _fans(loop, branches)))
    best, smallest = None, math.inf
    for branches, sizes in kinds:
        for radius, angles in sizes:
            if radius >= smallest:
                break
            out = _hung(loop, radius, angles, branches)
            if (way < 2 or float(out.imag[1:-1].min(initial=1.0)) >= 0) and _free(out, table, loop, branches):
                best, smallest = out, radius
                break
        if best is not None and len(loop.starts) < 2:
            break
    # The last one was the largest fan of upright branches, or the straight loop under one.
    return out if best is None and sure else best


def _circles(loop: _Loop, n_stretches: int) -> Iterator[tuple[float, np.ndarray]]:
    """Radius and angles of a polygon, and of others whose shortest gaps between branches have grown."""
    for k in range(n_stretches):
        gaps = [[max(1.0, _STRETCH**k / gap)] * gap for gap in loop.gaps()]
        sides = gaps[0] + [side for gap in gaps[1:] for side in (_PAIR, *gap)]
        yield _polygon(np.array(sides if len(loop.corners) > 2 else [_PAIR]))


def _opposite(loop: _Loop) -> Iterator[tuple[float, np.ndarray]]:
    """Radius and angles of an internal loop with its branch on top, with room for the longer side twice."""
    gaps = loop.gaps()
    radius, angles = _polygon(np.array([1.0] * max(gaps) + [_PAIR] + [1.0] * max(gaps)))
    yield (
        radius,
        np.concatenate(
            [
                np.linspace(0.0, angles[max(gaps)], gaps[0] + 1),
                np.linspace(angles[max(gaps) + 1], angles[-1], gaps[1] + 1),
            ]
        ),
    )


def _turns(sides: np.ndarray, radius: float) -> np.ndarray:
    """Angles of sides, seen from the centre."""
    return np.asarray(2 * np.arcsin(np.minimum(sides / (2 * radius), 1.0)))


def _polygon(sides: np.ndarray) -> tuple[float, np.ndarray]:
    """Radius of the circle on which a pair and such sides are a polygon, and the angles of its corners."""
    low, high = max(float(sides.max()), _PAIR) / 2, float(sides.sum() + _PAIR)
    around = np.append(sides, _PAIR)
    for _ in range(60):  # the angles of all sides make a full turn
        radius = (low + high) / 2
        low, high = (radius, high) if _turns(around, radius).sum() > 2 * math.pi else (low, radius)
    return radius, np.concatenate([[0.0], np.cumsum(_turns(sides, radius))])


def _fans(loop: _Loop, branches: Branches) -> Iterator[tuple[float, np.ndarray]]:
    """Radius and angles of fans of branches on the upper half of a circle.

    In the last one every branch has a sector of its own: nothing that is as wide and upright overlaps.
    """
    wide = [
        np.array([_PAIR / 2 - shape.real.min(), shape.real.max() - _PAIR / 2]) + _ROOM / 2
        for shape in branches
    ]
    radius = 0.5 * max(sum(loop.gaps()), *(float(one.max()) for one in wide))
    while (angles := _fan(loop, wide, radius, 1.0)) is None:
        radius *= 1.1
    for share in _SHARES[:-1]:
        tight = _fan(loop, wide, share * radius, 0.0)
        if tight is not None:
            yield share * radius, tight
    yield radius, angles


def _fan(loop: _Loop, wide: list[np.ndarray], radius: float, share: float) -> np.ndarray | None:
    """Angles of the corners of a fan; None if the circle is too small for it.

    Parameters
    ----------
    loop : _Loop
        The loop.
    wide : list of ndarray of shape (2,)
        How far each branch reaches to both sides of its middle.
    radius : float
        Of the circle.
    share : float
        0 if the circle only has to hold the corners, 1 if the branches must not overlap or hang down.
    """
    if radius <= _PAIR / 2:
        return None
    height, gaps = math.sqrt(radius**2 - (_PAIR / 2) ** 2), loop.gaps()
    pair, side = float(_turns(np.array(_PAIR), radius)), float(_turns(np.array(1.0), radius))
    least = np.array([pair + gap * side for gap in gaps])  # between the middles of pairs
    between = np.arctan([a[1] / height for a in wide[:-1]]) + np.arctan([b[0] / height for b in wide[1:]])
    # Middles of branches, clockwise from the top.
    low, high = max(-math.pi / 2, least[0] - math.pi), min(math.pi / 2, math.pi - least[-1])
    room = high - low
    steps = np.maximum(least[1:-1], between)
    if (share and steps.sum() > room) or least[1:-1].sum() > room:
        return None
    if steps.sum() > room:
        steps = least[1:-1] + (steps - least[1:-1]) * (room - least[1:-1].sum()) / (steps - least[1:-1]).sum()
    regular = 2 * math.pi * steps.size / (steps.size + 2)
    steps = steps + max(min(room, regular) - steps.sum(), 0.0) / steps.size
    start = min(max(-steps.sum() / 2, low), high - steps.sum())
    middles = start + np.concatenate([[0.0], np.cumsum(steps)])
    if share:
        beside = np.array([one[0 if at < 0 else 1] for one, at in zip(wide, middles, strict=True)])
        if np.min(height + height * np.cos(middles) - beside * np.abs(np.sin(middles))) < 0:
            return None
    ends = np.concatenate([[pair / 2 - math.pi], (middles[:, None] + [-pair / 2, pair / 2]).ravel()])
    ends = np.append(ends, math.pi - pair / 2) - ends[0]
    pieces = [np.linspace(ends[2 * k], ends[2 * k + 1], gap + 1) for k, gap in enumerate(gaps)]
    return np.concatenate(pieces)


def _hung(loop: _Loop, radius: float, angles: np.ndarray, branches: Branches) -> np.ndarray:
    """Bases of the span: the corners on a circle, and the branches on them."""
    first = loop.corners[0]
    centre = complex(_PAIR / 2, math.sqrt(max(radius**2 - (_PAIR / 2) ** 2, 0.0)))
    corners = centre * (1 - np.exp(-1j * angles))
    out = np.zeros(loop.corners[-1] - first + 1, dtype=np.complex128)
    out[np.array(loop.corners) - first] = corners
    out[-1] = _PAIR
    for k, shape in zip(loop.starts, branches, strict=True):
        a, b = corners[k], corners[k + 1]
        place = loop.corners[k] - first
        out[place : place + shape.size] = a + (b - a) / _PAIR * shape
    return out


def _free(out: np.ndarray, table: Sequence[int], loop: _Loop, branches: Branches) -> bool:
    """Whether branches are apart from each other, from the loop and from the helix below it."""
    first = loop.corners[0]
    starts = [loop.corners[k] - first for k in loop.starts]
    owners = _owners(out.size, starts, branches)
    hanging = out[owners > 0]
    if np.any((hanging.imag < 0) & (np.abs(hanging.real - _PAIR / 2) < _PAIR / 2 + _ROOM)):
        return False
    return _apart(out, table, first, owners)


def _owners(n: int, starts: list[int], shapes: Branches) -> np.ndarray:
    """For each of so many bases 0, or the number of the shape that begins there (from 1)."""
    out = np.zeros(n, dtype=np.int64)
    for number, (start, shape) in enumerate(zip(starts, shapes, strict=True), start=1):
        out[start : start + shape.size] = number
    return out


def _apart(out: np.ndarray, table: Sequence[int], first: int, owners: np.ndarray) -> bool:
    """Whether the lines of different owners among bases ``first`` and on are apart."""
    chain = np.arange(out.size - 1)
    partners = np.array(table[first : first + out.size]) - first
    pairs = np.flatnonzero(partners > np.arange(out.size))
    lines = np.concatenate([np.stack([chain, chain + 1], axis=1), np.stack([pairs, partners[pairs]], axis=1)])
    a, b = owners[lines].T
    return apart(out, lines, np.where(a == b, a, 0))


def _line(table: Sequence[int], outer: list[int], drawn: list[dict[int, np.ndarray]]) -> np.ndarray | None:
    """The whole chain from left to right, with the helices that stand on it."""
    shapes, lowest = [], []
    for first in outer:
        lows = [float(ways[first].imag[1:-1].min(initial=1.0)) for ways in drawn]
        lifts = [0.0 if low >= _LOW else _ABOVE - low for low in lows]
        best = int(np.argmin(lifts))
        shapes.append(drawn[best][first])
        lowest.append(lifts[best])
    if len(drawn) == 1 and max(lowest, default=0.0) > _HIGH:
        return None
    out = _stood(table, outer, shapes, lowest)
    if _apart(out, table, 0, _owners(out.size, outer, shapes)):
        return out
    if len(drawn) == 1:
        return None
    return _stood(table, outer, [drawn[-1][first] for first in outer], [0.0] * len(outer))


def _stood(table: Sequence[int], outer: list[int], shapes: Branches, lifts: list[float]) -> np.ndarray:
    """Bases of the chain with helices side by side, each so high above it."""
    out = np.zeros(len(table), dtype=np.complex128)
    x, border, end = 0.0, -math.inf, 0  # where the next base is, what is free, and how many bases are placed
    for first, shape, lift in zip(outer, shapes, lifts, strict=True):
        n = first - end  # unpaired bases before the helix
        stand = max(x + n, border + _ROOM - float(shape.real.min()))
        # The chain comes to a helix from just beside it, so that it does not cross what hangs down there.
        out[end:first] = np.linspace(x if n > 1 else stand - 1.0, stand - 1.0, n)
        out[first : first + shape.size] = stand + 1j * lift + shape
        x, border, end = stand + _PAIR + 1.0, stand + float(shape.real.max()), first + shape.size
    out[end:] = x + np.arange(len(table) - end)
    return out
