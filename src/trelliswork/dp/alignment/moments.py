"""Means and covariances of the features of alignments.

Every match fires the feature ``of_pair[symbol, symbol]`` (-1: none), every opening of a gap
``of_gap[0]`` and every extension ``of_gap[1]``, both with value 1. The covariance of the feature of
a part with all features is P(part) (E[features | part] - E[features]): what was collected before
the part, the part, and the mean of what comes after it. Two sweeps, a vector per cell and state:
upwards for the means of the rest, downwards for what was collected. Features go through in ranges
of columns, so that the vectors of a row stay in the cache.

Cells, states, flags and the probabilities of moves ``P`` and ``entry`` of a block of rows are those
of ``dp/alignment/inside.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.alignment.flags import FREE_FIRST, FREE_SECOND, LOCAL

__all__ = ["Collected", "Grid", "Means", "collect_block", "mean_block"]


class Grid(NamedTuple):
    """A pair of sequences and its features, counted from feature ``c``."""

    first: np.ndarray
    second: np.ndarray
    of_pair: np.ndarray
    of_gap: np.ndarray
    c: int
    flags: int


class Means(NamedTuple):
    """Means of what is still to come, for the states of every cell of a block."""

    M: np.ndarray
    D: np.ndarray
    N: np.ndarray


class Collected(NamedTuple):
    """Probabilities of matches and deletions in two rows, and what was collected up to them."""

    m: np.ndarray
    d: np.ndarray
    got_m: np.ndarray
    got_d: np.ndarray


@njit
def mean_block(grid, low, high, P, means):
    """Means of the rest in the rows low .. high - 1, from row ``high``.

    Row i is ``M[i - low]``, ``D[i - low]`` (n2 + 2, width), the features ``c .. c + width - 1``; row
    ``high - low`` is that of the block below. ``N`` (high - low, n2 + 2, width) is filled as well.
    """
    first, second, of_pair, of_gap, c, flags = grid
    M, D, N = means
    n1, n2, width = first.size, second.size, M.shape[2]
    o, e = of_gap[0] - c, of_gap[1] - c
    gap_o, gap_e = 0 <= o < width, 0 <= e < width
    for i in range(high - 1, low - 1, -1):
        k = i - low
        N[k, n2 + 1] = 0.0
        free_row = flags & FREE_SECOND and (i == 0 or i == n1)
        for j in range(n2, -1, -1):
            p = P[k, j]
            p0, p1, p2, p3, p4, p5, p6, p7, p8 = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]
            below_m, below_d, right = M[k + 1, j + 1], D[k + 1, j], N[k, j + 1]
            mean_m, mean_d, mean_i = M[k, j], D[k, j], N[k, j]
            for f in range(width):
                m, d, x = below_m[f], below_d[f], right[f]
                mean_m[f] = p0 * m + p1 * d + p2 * x
                mean_d[f] = p3 * m + p4 * d + p5 * x
                mean_i[f] = p6 * m + p7 * d + p8 * x
            if i < n1 and j < n2:
                f = of_pair[first[i], second[j]] - c
                if 0 <= f < width:
                    mean_m[f] += p0
                    mean_d[f] += p3
                    mean_i[f] += p6
            if not (flags & FREE_FIRST and (j == 0 or j == n2)):
                if gap_o:
                    mean_m[o] += p1
                    mean_i[o] += p7
                if gap_e:
                    mean_d[e] += p4
            if not free_row:
                if gap_o:
                    mean_m[o] += p2
                    mean_d[o] += p5
                if gap_e:
                    mean_i[e] += p8


@njit
def collect_block(grid, low, high, P, entry, means, mean, collected, weight, with_gaps, covariance):
    """Covariances of the parts in the rows low .. high - 1 with the features c .. c + width - 1.

    ``m``, ``d`` (2, n2 + 2) and ``got_m``, ``got_d`` (2, n2 + 2, width) are, in row ``low % 2``, the
    probabilities of the states and what was collected (times the probability) in row ``low``; rows
    change places as the sweep goes on. Adds ``weight`` times the covariance of the features of matches
    (``with_gaps``: of gaps too) to ``covariance[feature, c + ...]``.
    """
    first, second, of_pair, of_gap, c, flags = grid
    M, D, N = means
    m, d, got_m, got_d = collected
    n1, n2, width = first.size, second.size, M.shape[2]
    o, e = of_gap[0] - c, of_gap[1] - c
    gap_o, gap_e = 0 <= o < width, 0 <= e < width
    x, got_x, new_x = 0.0, np.zeros(width), np.empty(width)
    for i in range(low, high):
        k, now, then = i - low, i % 2, (i + 1) % 2
        m[then, 0] = 0.0
        got_m[then, 0] = 0.0
        x = 0.0
        got_x[:] = 0.0
        free_row = flags & FREE_SECOND and (i == 0 or i == n1)
        for j in range(n2 + 1):
            p = P[k, j]
            p0, p1, p2, p3, p4, p5, p6, p7, p8 = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]
            now_m, now_d = m[now, j], d[now, j]
            had_m, had_d = got_m[now, j], got_d[now, j]
            if i < n1 and j < n2:
                feature = of_pair[first[i], second[j]]
                value = now_m * p0 + now_d * p3 + x * p6
                if flags & LOCAL:
                    value += entry[k, j]
                m[then, j + 1] = value
                target, rest = got_m[then, j + 1], M[k + 1, j + 1]
                for f in range(width):
                    target[f] = had_m[f] * p0 + had_d[f] * p3 + got_x[f] * p6
                if 0 <= feature - c < width:
                    target[feature - c] += value
                if feature >= 0:
                    row = covariance[feature, c : c + width]
                    for f in range(width):
                        row[f] += weight * (target[f] + value * (rest[f] - mean[f]))
            if i < n1:
                free = flags & FREE_FIRST and (j == 0 or j == n2)
                opened, extended = now_m * p1 + x * p7, now_d * p4
                d[then, j] = opened + extended
                target, rest = got_d[then, j], D[k + 1, j]
                for f in range(width):
                    target[f] = had_m[f] * p1 + got_x[f] * p7 + had_d[f] * p4
                if not free:
                    if gap_o:
                        target[o] += opened
                    if gap_e:
                        target[e] += extended
                    if with_gaps:
                        for f in range(width):
                            ahead = rest[f] - mean[f]
                            by_o = had_m[f] * p1 + got_x[f] * p7 + opened * (ahead + (1.0 if f == o else 0.0))
                            by_e = had_d[f] * p4 + extended * (ahead + (1.0 if f == e else 0.0))
                            covariance[of_gap[0], c + f] += weight * by_o
                            covariance[of_gap[1], c + f] += weight * by_e
            if j < n2:
                opened, extended = now_m * p2 + now_d * p5, x * p8
                rest = N[k, j + 1]
                for f in range(width):
                    new_x[f] = had_m[f] * p2 + had_d[f] * p5 + got_x[f] * p8
                if not free_row:
                    if gap_o:
                        new_x[o] += opened
                    if gap_e:
                        new_x[e] += extended
                    if with_gaps:
                        for f in range(width):
                            ahead = rest[f] - mean[f]
                            by_o = had_m[f] * p2 + had_d[f] * p5 + opened * (ahead + (1.0 if f == o else 0.0))
                            by_e = got_x[f] * p8 + extended * (ahead + (1.0 if f == e else 0.0))
                            covariance[of_gap[0], c + f] += weight * by_o
                            covariance[of_gap[1], c + f] += weight * by_e
                x = opened + extended
                got_x, new_x = new_x, got_x
