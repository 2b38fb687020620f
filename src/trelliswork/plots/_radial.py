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
_STRETCH = 1.15  # growth of the loop as long as branches overlap
_MOST_STRETCHES = 40


def radial(table: Sequence[int]) -> np.ndarray:
    """Coordinates of the bases, as complex numbers.

    Helices are straight. A multiloop whose branches would overlap is drawn larger. Outside of all pairs the
    chain runs from left to right.

    Parameters
    ----------
    table : sequence of int
        Partner of every base, or -1.
    """
    n = len(table)
    inside: dict[int, np.ndarray] = {}  # left end of a pair -> bases of its span, the pair on the real axis
    # Innermost pairs first: their left ends come last.
    for i in range(n - 1, -1, -1):
        if table[i] > i:
            inside[i] = _loop(table, i, inside)
    out = np.zeros(n, dtype=np.complex128)
    x, border, i = 0.0, -math.inf, 0
    while i < n:
        if table[i] < i:
            out[i] = x
            border, x, i = max(border, x), x + 1.0, i + 1
            continue
        shape = inside.pop(i)
        x = max(x, border + 1.0 - float(shape.real.min())) if border > -math.inf else x
        out[i : i + shape.size] = x + shape
        border = x + float(shape.real.max())
        x, i = x + _PAIR + 1.0, i + shape.size
    return out


def _loop(table: Sequence[int], i: int, inside: dict[int, np.ndarray]) -> np.ndarray:
    """Bases i .. table[i]: the loop that the pair closes, with all its branches."""
    j = table[i]
    corners, k = [], i + 1
    while k < j:
        corners.append(k)
        k = table[k] if table[k] > k else k + 1
    corners = [i, *corners, j]
    branches = {k: inside.pop(k) for k in corners[1:-1] if table[k] > k}
    stretch = 1.0
    for _ in range(_MOST_STRETCHES):
        out = _polygon(table, corners, branches, stretch)
        if len(branches) < 2 or not _overlap(out - out[0], branches, i):
            break
        stretch *= _STRETCH
    return out


def _polygon(
    table: Sequence[int], corners: list[int], branches: dict[int, np.ndarray], stretch: float
) -> np.ndarray:
    """Put the corners on a circle and hang the branches on it."""
    i, j = corners[0], corners[-1]
    sides = np.array([_PAIR if table[a] == b else stretch for a, b in itertools.pairwise(corners)])
    low, high = max(float(sides.max()), _PAIR) / 2, float(sides.sum() + _PAIR)
    for _ in range(60):  # the angles of all sides make a full turn
        radius = (low + high) / 2
        closing = 2 * math.asin(min(_PAIR / (2 * radius), 1.0))
        turn = 2 * np.arcsin(np.minimum(sides / (2 * radius), 1.0)).sum() + closing
        low, high = (radius, high) if turn > 2 * math.pi else (low, radius)
    angles = np.concatenate([[0.0], np.cumsum(2 * np.arcsin(np.minimum(sides / (2 * radius), 1.0)))])
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
    """Whether bases of two branches come too near to each other, or to the helix below the loop."""
    parts = [out[left - i : left - i + shape.size] for left, shape in branches.items()]
    points = np.concatenate(parts)
    if np.any((points.imag < 0) & (np.abs(points.real - _PAIR / 2) < _PAIR / 2 + _NEAR)):
        return True
    owner = np.repeat(np.arange(len(parts)), [part.size for part in parts])
    tree = cKDTree(np.stack([points.real, points.imag], axis=1))
    near = tree.query_pairs(_NEAR * 0.99, output_type="ndarray")
    return bool(np.any(owner[near[:, 0]] != owner[near[:, 1]]))
