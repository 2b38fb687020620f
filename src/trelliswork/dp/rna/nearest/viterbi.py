"""Best structures by their loops: the table of best scores.

With E the best score of a pair and all inside it, T the same where the pair is stacked on another (T[0] if it
is the second of its helix, T[1] if the third, the last of them for all later ones), R that of a stretch of a
multiloop with at least one pair, W with at least two, X that of everything before a base::

    T(i, j) = pair + max(stacked + triple + T(i+1, j-1), loops + helix)
    E(i, j) = pair + max(stacked + T(i+1, j-1), loops + lonely)
    loops   = hairpin, internal loops max length[a, b] + end(i, j) + end(p, q) + E(p, q), multi + W(i+1, j-1)
    W(i, j) = max(base + W(i+1, j), S(i, j)),               S(i, j) = max_k branch(i, k) + R(k+1, j)
    R(i, j) = max(base + R(i+1, j), S(i, j), U(i, j)),      U(i, j) = max(U(i, j-1) + base, branch(i, j))

Every structure is met once. Internal loops take most of the time: for one row i and one number of unpaired
bases on the left they are a filter along the row of the inner pairs, eight lengths at a time, whose loop
runs over neighbouring numbers. A branch is tried in S only if it beats all other ways to fill its stretch,
since two stretches side by side are a stretch (an exact sparsification).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.rna.nearest.layout import (
    BULGE_BASE,
    BULGE_STACK,
    HAIRPIN,
    HAIRPIN_END,
    HELIX,
    LENGTH,
    LONELY,
    LONGEST,
    MULTI,
    MULTI_BASE,
    MULTI_END,
    OUTER_BASE,
    OUTER_END,
    PAIR,
    STACK,
)
from trelliswork.dp.rna.nearest.lookup import in_end, loop_code, out_end, triple
from trelliswork.dp.rna.rules import KIND

__all__ = ["Chart", "fill"]

_RING = 32  # rows that internal loops can reach, and one
_PAD = 40  # columns before the first


class Chart(NamedTuple):
    """Logarithms of cells (E, T, R, W; a row of T for each state of stacked pairs) and of prefixes (X)."""

    E: np.ndarray
    T: np.ndarray
    R: np.ndarray
    W: np.ndarray
    X: np.ndarray


@njit
def _filter(dst, src, coef, low, high, start, stop, run, free):
    """Raise ``dst[j]`` to ``coef[l] + src[j - 1 - l]`` for l = low .. high and j from ``start + l`` on."""
    if not free:  # some bases must be paired: no more than ``run[j]`` unpaired ones before j
        for j in range(start + low, stop):
            for length in range(low, min(min(high, run[j]), j - start) + 1):
                value = coef[length] + src[_PAD + j - 1 - length]
                if value > dst[j]:
                    dst[j] = value
        return
    for length in range(low, high + 1, 8):
        first = start + length
        if first >= stop:
            break
        c0 = coef[length]
        c1 = coef[length + 1] if length + 1 <= high else -np.inf
        c2 = coef[length + 2] if length + 2 <= high else -np.inf
        c3 = coef[length + 3] if length + 3 <= high else -np.inf
        c4 = coef[length + 4] if length + 4 <= high else -np.inf
        c5 = coef[length + 5] if length + 5 <= high else -np.inf
        c6 = coef[length + 6] if length + 6 <= high else -np.inf
        c7 = coef[length + 7] if length + 7 <= high else -np.inf
        out = dst[first:stop]
        row = src[_PAD + start - 8 : _PAD + stop]
        for x in range(out.size):
            a, b = c0 + row[x + 7], c1 + row[x + 6]
            c, d = c2 + row[x + 5], c3 + row[x + 4]
            e, f = c4 + row[x + 3], c5 + row[x + 2]
            g, h = c6 + row[x + 1], c7 + row[x]
            a = a if a > b else b
            c = c if c > d else d
            e = e if e > f else f
            g = g if g > h else h
            a = a if a > c else c
            e = e if e > g else g
            a = a if a > e else e
            out[x] = out[x] if out[x] > a else a


@njit
def _tap(dst, src, value, length, start, stop, run, free):
    """The same for a single length."""
    first = start + length
    if first >= stop:
        return
    if not free:
        for j in range(first, stop):
            if length <= run[j] and value + src[_PAD + j - 1 - length] > dst[j]:
                dst[j] = value + src[_PAD + j - 1 - length]
        return
    out = dst[first:stop]
    row = src[_PAD + start - 1 : _PAD + stop]
    for x in range(out.size):
        a = value + row[x]
        out[x] = out[x] if out[x] > a else a


@njit
def _raise_to(dst, value, row):
    for x in range(dst.size):
        a = value + row[x]
        dst[x] = dst[x] if dst[x] > a else a


@njit
def _internal(problem, i, stop, ring, acc, run, free):
    """Best internal loops closed by i and each j, by class, without the end of the outer pair."""
    table, max_loop = problem.table, problem.max_loop
    width = LONGEST + 1
    acc[:, i + 1 : stop] = -np.inf
    for left in range(max_loop + 1):
        p = i + 1 + left
        if left > 0 and problem.forced[p - 1]:
            break
        start = p + problem.min_hairpin + 2  # least j around an inner pair without bases on the right
        if start >= stop:
            break
        r = p % _RING
        coef = table[LENGTH + left * width : LENGTH + (left + 1) * width]
        if left == 0:
            _filter(acc[0], ring[0, r], coef, 2, max_loop, start, stop, run, free)
        elif left == 1:
            if max_loop >= 2:
                _tap(acc[1], ring[1, r], coef[1], 1, start, stop, run, free)
            _filter(acc[2], ring[2, r], coef, 2, max_loop - 1, start, stop, run, free)
        else:
            _tap(acc[0], ring[0, r], coef[0], 0, start, stop, run, free)
            if left + 1 <= max_loop:
                _tap(acc[2], ring[2, r], coef[1], 1, start, stop, run, free)
            _filter(acc[3], ring[3, r], coef, 2, max_loop - left, start, stop, run, free)


@njit
def _bulges_of_one(problem, E, i, j, kind):
    """Best bulge of one base closed by (i, j)."""
    seq, table, offset = problem.seq, problem.table, problem.offset
    best = -np.inf
    if problem.max_loop < 1:
        return best
    if j - 2 - (i + 1) > problem.min_hairpin and not problem.forced[j - 1]:
        inner = KIND[seq[i + 1], seq[j - 2]]
        if inner >= 0:
            best = table[BULGE_STACK + 6 * kind + inner] + table[BULGE_BASE + seq[j - 1]]
            best += table[LENGTH + 1] + E[offset[i + 1] + j - 2]
    if j - 1 - (i + 2) > problem.min_hairpin and not problem.forced[i + 1]:
        inner = KIND[seq[i + 2], seq[j - 1]]
        if inner >= 0:
            value = table[BULGE_STACK + 6 * kind + inner] + table[BULGE_BASE + seq[i + 1]]
            value += table[LENGTH + LONGEST + 1] + E[offset[i + 2] + j - 1]
            best = max(best, value)
    return best


@njit
def fill(problem):
    """Best scores of all cells and prefixes.

    Parameters
    ----------
    problem : Problem
        Sequence and scores.

    Returns
    -------
    Chart
        Its last prefix is the best score.
    """
    seq, table, pair, forced, offset, min_hairpin, _, window, states = problem
    n = seq.size
    size = offset[n] + n
    E, T = np.full(size, -np.inf), np.full((states, size), -np.inf)
    R, W = np.full(size, -np.inf), np.full(size, -np.inf)
    ring, acc = np.full((4, _RING, n + _PAD), -np.inf), np.empty((4, n + 1))
    many, run, before, free = np.empty(n + 1), np.empty(n + 1, np.int64), np.zeros(n + 1, np.int64), True
    run[0] = 0
    for j in range(n):
        run[j + 1] = 0 if forced[j] else run[j] + 1
        before[j + 1] = before[j] + forced[j]
        free = free and not forced[j]
    for i in range(n - 1, -1, -1):
        stop, row = min(n, i + window), offset[i]
        _internal(problem, i, stop, ring, acc, run, free)
        r = i % _RING
        ring[:, r, max(0, _PAD + i - 8) : _PAD + stop] = -np.inf
        many[i:stop] = -np.inf
        base = -np.inf if forced[i] else table[MULTI_BASE]
        tail = -np.inf
        for j in range(i, stop):
            kind = KIND[seq[i], seq[j]] if j - i > min_hairpin else -1
            here = 0.0
            if kind >= 0:
                here = table[PAIR + kind]
                if pair.size:
                    here += pair[row + j]
            branch = -np.inf
            if kind >= 0 and here > -np.inf:
                loops = -np.inf
                if before[j] == before[i + 1]:
                    loops = table[HAIRPIN + min(j - i - 1, LONGEST)] + table[out_end(seq, i, j, HAIRPIN_END)]
                    code = loop_code(seq, i, j, table.size)
                    if code >= 0:
                        loops += table[code]
                for c in range(4):
                    loops = max(loops, acc[c, j] + table[out_end(seq, i, j, c)])
                loops = max(loops, _bulges_of_one(problem, E, i, j, kind))
                closing = table[MULTI] + table[out_end(seq, i, j, MULTI_END)]
                loops = max(loops, closing + W[offset[i + 1] + j - 1])
                inner = KIND[seq[i + 1], seq[j - 1]]
                stacked = -np.inf
                if inner >= 0:
                    stack = here + table[STACK + 6 * kind + inner]
                    stacked = stack + T[0, offset[i + 1] + j - 1]
                    third = triple(seq, i, j)
                    if third >= 0:
                        stack += table[third]
                    for s in range(states):
                        T[s, row + j] = stack + T[min(s + 1, states - 1), offset[i + 1] + j - 1]
                for s in range(states):
                    end = table[HELIX + s] if s + 1 < states else 0.0
                    T[s, row + j] = max(T[s, row + j], here + loops + end)
                E[row + j] = max(stacked, here + loops + table[LONELY])
                for c in range(4):
                    ring[c, r, _PAD + j] = E[row + j] + table[in_end(seq, i, j, c)]
                branch = E[row + j] + table[in_end(seq, i, j, MULTI_END)]
            tail += -np.inf if forced[j] else table[MULTI_BASE]
            other = max(tail, many[j])
            if j > i:
                other = max(other, base + R[offset[i + 1] + j])
                W[row + j] = max(many[j], base + W[offset[i + 1] + j])
            if branch > other:
                tail = max(tail, branch)
                if j + 1 < stop:
                    _raise_to(many[j + 1 : stop], branch, R[offset[j + 1] + j + 1 : offset[j + 1] + stop])
            R[row + j] = max(other, branch)
    X = np.full(n + 1, -np.inf)
    X[0] = 0.0
    for i in range(n):
        if not forced[i]:
            X[i + 1] = max(X[i + 1], X[i] + table[OUTER_BASE])
        for j in range(i + min_hairpin + 1, min(n, i + window)):
            if E[offset[i] + j] > -np.inf:
                X[j + 1] = max(X[j + 1], X[i] + E[offset[i] + j] + table[in_end(seq, i, j, OUTER_END)])
    return Chart(E, T, R, W, X)
