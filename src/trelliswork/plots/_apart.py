"""Whether lines of a drawing keep apart."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

__all__ = ["apart"]

_LEAST = 0.7  # distance of lines without a common end


def apart(places: np.ndarray, lines: np.ndarray, owners: np.ndarray) -> bool:
    """Whether lines of different owners are nowhere too near to each other, unless they end in one point.

    Parameters
    ----------
    places : ndarray of complex
        Points.
    lines : ndarray of shape (n_lines, 2)
        The points at both ends of each line.
    owners : ndarray of shape (n_lines,)
        Whose line it is.
    """
    lines, owners = _near_others(places, lines, owners)
    k, m = _candidates(places, lines, owners)
    free = (owners[k] != owners[m]) & (lines[k][:, :, None] != lines[m][:, None, :]).all(axis=(1, 2))
    a, b = places[lines[k[free]]].T
    c, d = places[lines[m[free]]].T
    if not a.size:
        return True
    if np.any((_side(a, b, c) * _side(a, b, d) < 0) & (_side(c, d, a) * _side(c, d, b) < 0)):
        return False
    ends = (_distance(a, c, d), _distance(b, c, d), _distance(c, a, b), _distance(d, a, b))
    return bool(np.min(ends) >= _LEAST)


def _near_others(places: np.ndarray, lines: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lines that reach into the boxes around the lines of other owners."""
    a, b = places[lines].T
    low = np.stack([np.minimum(a.real, b.real), np.minimum(a.imag, b.imag)]) - _LEAST
    high = np.stack([np.maximum(a.real, b.real), np.maximum(a.imag, b.imag)]) + _LEAST
    near = np.zeros(owners.size, dtype=bool)
    for owner in np.unique(owners):
        own = owners == owner
        least, most = low[:, own].min(axis=1)[:, None], high[:, own].max(axis=1)[:, None]
        near |= ~own & ((low <= most) & (high >= least)).all(axis=0)
    return lines[near], owners[near]


def _candidates(places: np.ndarray, lines: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of lines that may be near: short ones with near middles, long ones with all others."""
    a, b = places[lines].T
    middle, reach = (a + b) / 2, np.abs(a - b) / 2
    short = np.flatnonzero(reach <= 1.0)
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    if short.size:
        tree = cKDTree(np.stack([middle.real, middle.imag], axis=1)[short])
        pairs.append(short[tree.query_pairs(2.0 + _LEAST, output_type="ndarray")])
    for k in np.flatnonzero(reach > 1.0):
        others = np.flatnonzero(np.abs(middle - middle[k]) <= reach + reach[k] + _LEAST)
        pairs.append(np.stack([np.full(others.size, k), others], axis=1))
    k, m = np.concatenate(pairs).T
    return k, m


def _side(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """On which side of the line from ``a`` to ``b`` a point is; 0 on the line, up to rounding."""
    area = ((b - a).conjugate() * (c - a)).imag
    return np.where(np.abs(area) < 1e-9, 0.0, np.sign(area))


def _distance(point: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distance of points from the lines between ``a`` and ``b``."""
    along = b - a
    share = ((point - a) * along.conjugate()).real / np.maximum(np.abs(along) ** 2, 1e-12)
    return np.abs(point - a - np.clip(share, 0.0, 1.0) * along)
