"""RNA secondary structures: partition functions, probabilities and their derivatives.

Grammar, rule tables and position scores are those of ``dp/rna/viterbi.py``. With L the weight of a
list element, S that of a list, F that of what a pair encloses::

    M(i, j) = sum_k L(i, k) S(k + 1, j)        L(i, j) = p(i, j) F(i + 1, j - 1)
    S(i, j) = a L(i, j) + b M(i, j)            F(i, j) = q(i, j) F(i + 1, j - 1) + c M(i, j)

Only M costs more than O(1). Columns come in blocks of ``width``; the numbers of one row in one block
are doubles with a common power of two, so that the loop over ``k`` is a sum of scaled rows, a few
of them at once, and nothing overflows: 4,000 bases have weights of thousands of digits. Within a
block numbers may differ by a factor of 1e300, which bounds ``width`` (see ``block_width``); in blocks of
one column every number has a power of two of its own. All columns of one block are done before the next, so
that the rows in use stay in the cache.

The outside pass works with probabilities of elements and of stacked pairs, which are at most 1.

With ``dual`` every number carries its derivative along a direction of scores.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.rna.rules import BASE, F_LS, F_PAIR, KIND, L_PAIR, N_RULES, S_L, S_LS
from trelliswork.dp.rna.scaled import LN2, NONE, add_rows, dot_rows, exponent, pow2, split
from trelliswork.dp.room import longest

__all__ = [
    "BLOCK",
    "DERIVATIVES",
    "EVERYTHING",
    "LARGEST",
    "LOG_Z",
    "Expected",
    "block_width",
    "expect",
    "inside",
    "spread",
]

BLOCK = 64
LARGEST = LN2 * (1 << 27)  # logarithm of the largest number: sums of a few exponents stay above ``NONE``
_WIDEST = 600.0  # logarithm of the largest factor between numbers that share a power of two
LOG_Z, EVERYTHING, DERIVATIVES = 0, 1, 2  # goals of ``expect``


class Expected(NamedTuple):
    """Where the results go."""

    log_z: np.ndarray  # (n_sequences,)
    counts: np.ndarray  # (n_sequences, n_depths, 19), expected uses of rules
    probs: np.ndarray  # upper triangles of the probabilities of pairs, or empty


class _Scores(NamedTuple):
    """A sequence, the scores of the rules and those of positions (or none)."""

    seq: np.ndarray
    table: np.ndarray
    pair: np.ndarray


class _Chart(NamedTuple):
    """Weights as mantissas and exponents.

    Lists ``s`` and insides ``f`` [d, block, i, column of the block] have the exponents ``e`` and ``fe``
    [d, block, i]. Elements are [d, i, k] in ``Lm``, ``Le`` and [d, k, i] in ``LTm``, ``LTe``.
    """

    s: np.ndarray
    f: np.ndarray
    e: np.ndarray
    fe: np.ndarray
    Lm: np.ndarray
    Le: np.ndarray
    LTm: np.ndarray
    LTe: np.ndarray


class _Slopes(NamedTuple):
    """Derivatives of lists and insides, and of the logarithms of elements."""

    s: np.ndarray
    f: np.ndarray
    L: np.ndarray


class _Outer(NamedTuple):
    """What is around M, with exponents; probabilities of elements and of stacked pairs [d, i, j]."""

    m: np.ndarray
    e: np.ndarray
    element: np.ndarray
    stacked: np.ndarray


class _OuterSlopes(NamedTuple):
    """Derivatives of what is around M and of the probabilities."""

    m: np.ndarray
    element: np.ndarray
    stacked: np.ndarray


def spread(tables: np.ndarray, pairs: np.ndarray) -> float:
    """By how much one more column changes the logarithm of a weight, at most."""
    low = float((tables[..., S_LS] + np.minimum(tables[..., BASE:L_PAIR].min(axis=-1), 0.0)).min())
    high = float(
        tables[..., L_PAIR:].max() + np.maximum(tables[..., S_LS : F_LS + 1], 0.0).sum(axis=-1).max()
    )
    finite = pairs[np.isfinite(pairs)]
    cost = 2.0 * float(np.abs(finite).max(initial=0.0))
    return max(abs(low), abs(high - low), 1.0) + cost + 1.5


def block_width(tables: np.ndarray, pairs: np.ndarray) -> int:
    """Widest block in which no number can underflow."""
    each, width = spread(tables, pairs), BLOCK
    while width > 1 and width * each > _WIDEST:
        width //= 2
    return width


@njit
def _partners(seq, places, before):
    """Positions that can pair with each base, and how many of them lie before each position."""
    for x in range(5):
        count = 0
        for j in range(seq.size):
            before[x, j] = count
            if KIND[x, seq[j]] >= 0:
                places[x, count] = j
                count += 1
        before[x, seq.size :] = count


@njit
def _chart(n_depths, n, width):
    """Arrays of one chart: rows of S and F by block, their exponents."""
    n_blocks = (n + width - 1) // width
    shape = (n_depths, n_blocks, n + 1, width)
    return np.empty(shape), np.empty(shape), np.empty((n_depths, n_blocks, n + 1), np.int64)


@njit
def _inside(scores, width, chart, dual, direction, slopes):
    """Fill the chart; returns mantissa and exponent of the partition function, and the slope of its log."""
    seq, table, pair = scores
    s, f, e, fe, Lm, Le, LTm, LTe = chart
    _, dtable, dpair = direction
    ds, df, dL = slopes
    n, n_depths = seq.size, table.shape[0]
    n_blocks = (n + width - 1) // width
    places, before = np.empty((5, n), np.int64), np.empty((5, n + 3), np.int64)
    _partners(seq, places, before)
    rule_m, rule_e = np.empty((n_depths, N_RULES)), np.empty((n_depths, N_RULES), np.int64)
    for d in range(n_depths):
        for r in range(N_RULES):
            rule_m[d, r], rule_e[d, r] = split(table[d, r])
    acc, dacc, coef, where = np.empty(width), np.empty(width), np.empty(n + 1), np.empty(n + 1, np.int64)
    dcoef = np.empty(n + 1)
    Qm, Qe, dQ = np.empty(width), np.empty(width, np.int64), np.empty(width)
    for block in range(n_blocks):
        first = block * width
        stop = min(n, first + width)
        for i in range(stop - 1, -1, -1):
            lo = max(i, first)
            x = seq[i]
            tri = i * n - (i * (i - 1)) // 2 - i
            for d in range(n_depths):
                inner = min(d + 1, n_depths - 1)
                # Elements over i .. j, and stacked pairs, for the columns of this block.
                for j in range(lo, stop):
                    m, ex, slope = 0.0, NONE, 0.0
                    Qm[j - first], Qe[j - first] = 0.0, NONE
                    kind = KIND[x, seq[j]]
                    if i == j:
                        m, ex = 1.0, 0
                        if x < 4:
                            m, ex = rule_m[d, BASE + x], rule_e[d, BASE + x]
                        if pair.size:
                            m, ex = split((table[d, BASE + x] if x < 4 else 0.0) + pair[tri + j])
                        if dual:
                            slope = (dtable[d, BASE + x] if x < 4 else 0.0) + (
                                dpair[tri + j] if dpair.size else 0.0
                            )
                    elif kind >= 0 and j >= i + 3:
                        bl = (j - 1) // width
                        col = j - 1 - bl * width
                        below = f[inner, bl, i + 1, col]
                        if below > 0.0:
                            pm, pe = rule_m[d, L_PAIR + kind], rule_e[d, L_PAIR + kind]
                            if pair.size:
                                pm, pe = split(table[d, L_PAIR + kind] + pair[tri + j])
                            m, ex = math.frexp(pm * below)
                            ex += pe + fe[inner, bl, i + 1]
                            if dual:
                                slope = dtable[d, L_PAIR + kind] + df[inner, bl, i + 1, col] / below
                                slope += dpair[tri + j] if dpair.size else 0.0
                        below = f[d, bl, i + 1, col] if d > 0 or n_depths == 1 else 0.0
                        if below > 0.0:
                            pm, pe = rule_m[d, F_PAIR + kind], rule_e[d, F_PAIR + kind]
                            if pair.size:
                                pm, pe = split(table[d, F_PAIR + kind] + pair[tri + j])
                            Qm[j - first], shift = math.frexp(pm * below)
                            Qe[j - first] = shift + pe + fe[d, bl, i + 1]
                            if dual:
                                dQ[j - first] = dtable[d, F_PAIR + kind] + df[d, bl, i + 1, col] / below
                                dQ[j - first] += dpair[tri + j] if dpair.size else 0.0
                    Lm[d, i, j], Le[d, i, j] = m, ex
                    LTm[d, j, i], LTe[d, j, i] = m, ex
                    if dual:
                        dL[d, i, j] = slope
                if d == 0 and n_depths > 1 and block < n_blocks - 1:
                    continue  # outside of all pairs only lists up to the end matter
                # M: elements that end before the last column, times what follows them.
                n_rows, top = 0, NONE
                begin = before[x, min(i + 3, n)]
                for r in range(begin - 1, max(begin, before[x, stop - 1])):
                    k = i if r < begin else places[x, r]
                    if k >= stop - 1 or Lm[d, i, k] == 0.0:
                        continue
                    where[n_rows] = k + 1
                    top = max(top, Le[d, i, k] + e[d, block, k + 1])
                    n_rows += 1
                acc[:] = 0.0
                if dual:
                    dacc[:] = 0.0
                if top > NONE:
                    for r in range(n_rows):
                        k = where[r] - 1
                        coef[r] = Lm[d, i, k] * pow2(Le[d, i, k] + e[d, block, k + 1] - top)
                    add_rows(acc, s[d, block], where, coef, n_rows)
                    if dual:
                        for r in range(n_rows):
                            dcoef[r] = coef[r] * dL[d, i, where[r] - 1]
                        add_rows(dacc, ds[d, block], where, coef, n_rows)
                        add_rows(dacc, s[d, block], where, dcoef, n_rows)
                # S and F, with the exponents of the largest of them.
                a, b, c = rule_m[d, S_L], rule_m[d, S_LS], rule_m[d, F_LS]
                ae, be, ce = rule_e[d, S_L], rule_e[d, S_LS], rule_e[d, F_LS]
                largest, common, enclosed = 0.0, NONE, NONE
                for j in range(lo, stop):
                    largest = max(largest, acc[j - first])
                    if Lm[d, i, j] > 0.0:
                        common = max(common, ae + Le[d, i, j])
                    enclosed = max(enclosed, Qe[j - first])
                if largest > 0.0:
                    common = max(common, be + top + exponent(largest))
                    enclosed = max(enclosed, ce + top + exponent(largest))
                e[d, block, i], fe[d, block, i] = common, enclosed
                b *= pow2(be + top - common)
                c *= pow2(ce + top - enclosed)
                out, under = s[d, block, i], f[d, block, i]
                out[: lo - first] = 0.0
                under[: lo - first] = 0.0
                for y in range(lo - first, stop - first):
                    one = a * Lm[d, i, first + y] * pow2(ae + Le[d, i, first + y] - common)
                    stacked = Qm[y] * pow2(Qe[y] - enclosed)
                    out[y] = one + b * acc[y]
                    under[y] = stacked + c * acc[y]
                    if dual:
                        ds[d, block, i, y] = one * (dL[d, i, first + y] + dtable[d, S_L]) + b * (
                            dacc[y] + dtable[d, S_LS] * acc[y]
                        )
                        df[d, block, i, y] = c * (dacc[y] + dtable[d, F_LS] * acc[y])
                        if stacked > 0.0:
                            df[d, block, i, y] += stacked * dQ[y]
                out[stop - first :] = 0.0
                under[stop - first :] = 0.0
                if dual:
                    ds[d, block, i, : lo - first] = 0.0
                    ds[d, block, i, stop - first :] = 0.0
    last = n - 1 - (n_blocks - 1) * width
    z = s[0, n_blocks - 1, 0, last]
    slope = ds[0, n_blocks - 1, 0, last] / z if dual and z > 0.0 else 0.0
    return z, e[0, n_blocks - 1, 0], slope


@njit
def _outside(scores, width, chart, z, ze, outer, dual, direction, slopes, slope, outer_slopes):
    """Probabilities of elements and of stacked pairs, and their derivatives.

    ``z``, ``ze`` and ``slope`` are what :func:`_inside` returns.
    """
    seq, table, pair = scores
    s, f, e, fe, Lm, Le, LTm, LTe = chart
    om, oe, PL, PS = outer
    _, dtable, dpair = direction
    ds, df, dL = slopes
    dom, dPL, dPS = outer_slopes
    n, n_depths = seq.size, table.shape[0]
    n_blocks = (n + width - 1) // width
    places, before = np.empty((5, n), np.int64), np.empty((5, n + 3), np.int64)
    _partners(seq, places, before)
    rule_m, rule_e = np.empty((n_depths, 3)), np.empty((n_depths, 3), np.int64)
    for d in range(n_depths):
        for r in range(3):
            rule_m[d, r], rule_e[d, r] = split(table[d, r])
        for i in range(n):
            PL[d, i, i:n] = 0.0
            PS[d, i, i:n] = 0.0
            if dual:
                dPL[d, i, i:n] = 0.0
                dPS[d, i, i:n] = 0.0
    acc, dacc, coef, where = np.empty(width), np.empty(width), np.empty(n + 1), np.empty(n + 1, np.int64)
    dcoef, inner_p, inner_d = np.empty(n + 1), np.empty(width), np.empty(width)
    dots, dots_d = np.empty(n + 1), np.empty(n + 1)
    for block in range(n_blocks - 1, -1, -1):
        first = block * width
        stop = min(n, first + width)
        for i in range(stop):
            lo = max(i, first)
            x = seq[i]
            tri = i * n - (i * (i - 1)) // 2 - i
            for d in range(n_depths):
                if d == 0 and n_depths > 1 and block < n_blocks - 1:
                    continue
                # Lists that start here: the element that ends before them, and what is around both.
                acc[:] = 0.0
                if dual:
                    dacc[:] = 0.0
                top = NONE
                if i == 0:
                    if d == 0 and block == n_blocks - 1:
                        acc[n - 1 - first], top = 1.0 / z, -ze
                        if dual:
                            dacc[n - 1 - first] = -slope / z
                else:
                    y = seq[i - 1]
                    n_rows = np.int64(0)
                    end = before[y, max(i - 3, 0)]
                    for r in range(end + 1):
                        h = places[y, r] if r < end else i - 1
                        if LTm[d, i - 1, h] == 0.0 or oe[d, block, h] == NONE:
                            continue
                        where[n_rows] = h
                        top = max(top, LTe[d, i - 1, h] + oe[d, block, h])
                        n_rows += 1
                    if top > NONE:
                        for r in range(n_rows):
                            h = where[r]
                            coef[r] = LTm[d, i - 1, h] * pow2(LTe[d, i - 1, h] + oe[d, block, h] - top)
                        add_rows(acc, om[d, block], where, coef, n_rows)
                        if dual:
                            for r in range(n_rows):
                                dcoef[r] = coef[r] * dL[d, where[r], i - 1]
                            add_rows(dacc, dom[d, block], where, coef, n_rows)
                            add_rows(dacc, om[d, block], where, dcoef, n_rows)
                # What the pair (i - 1, j + 1) encloses, as a probability.
                inner_p[:] = 0.0
                inner_d[:] = 0.0
                common = NONE
                if i > 0 and (d > 0 or n_depths == 1):
                    for j in range(lo, min(stop, n - 1)):
                        if KIND[seq[i - 1], seq[j + 1]] < 0 or f[d, block, i, j - first] == 0.0:
                            continue
                        p, dp = PS[d, i - 1, j + 1], 0.0
                        if dual:
                            dp = dPS[d, i - 1, j + 1]
                        for outer in range(max(d - 1, 0), d + 1):
                            if min(outer + 1, n_depths - 1) == d:
                                p += PL[outer, i - 1, j + 1]
                                if dual:
                                    dp += dPL[outer, i - 1, j + 1]
                        if p == 0.0:
                            continue
                        inner_p[j - first] = p / f[d, block, i, j - first]
                        scale = rule_e[d, F_LS] - fe[d, block, i]
                        common = max(common, scale + exponent(inner_p[j - first]))
                        if dual:
                            inner_d[j - first] = (dp - inner_p[j - first] * df[d, block, i, j - first]) / f[
                                d, block, i, j - first
                            ]
                        kind = KIND[x, seq[j]]
                        if kind < 0 or j < i + 3:
                            continue
                        bl = (j - 1) // width
                        col = j - 1 - bl * width
                        below = f[d, bl, i + 1, col]
                        if below == 0.0:
                            continue
                        weight = table[d, F_PAIR + kind] + (pair[tri + j] if pair.size else 0.0)
                        pm, pe = split(weight)
                        share = pm * below * pow2(pe + fe[d, bl, i + 1] - fe[d, block, i])
                        PS[d, i, j] = inner_p[j - first] * share
                        if dual:
                            change = dtable[d, F_PAIR + kind] + df[d, bl, i + 1, col] / below
                            change += dpair[tri + j] if dpair.size else 0.0
                            dPS[d, i, j] = share * (inner_d[j - first] + inner_p[j - first] * change)
                # M, with a common exponent.
                largest = 0.0
                for y in range(lo - first, stop - first):
                    largest = max(largest, acc[y])
                if largest > 0.0:
                    common = max(common, rule_e[d, S_LS] + top + exponent(largest))
                oe[d, block, i] = common
                if common == NONE:
                    continue
                b = rule_m[d, S_LS] * pow2(rule_e[d, S_LS] + top - common)
                c = rule_m[d, F_LS] * pow2(rule_e[d, F_LS] - fe[d, block, i] - common)
                around = om[d, block, i]
                around[: lo - first] = 0.0
                around[stop - first :] = 0.0
                for y in range(lo - first, stop - first):
                    around[y] = b * acc[y] + c * inner_p[y]
                if dual:
                    change = dom[d, block, i]
                    change[: lo - first] = 0.0
                    change[stop - first :] = 0.0
                    for y in range(lo - first, stop - first):
                        change[y] = b * (dacc[y] + dtable[d, S_LS] * acc[y])
                        change[y] += c * (inner_d[y] + dtable[d, F_LS] * inner_p[y])
                # Elements that end a list, and elements before another list.
                for j in range(lo, stop):
                    if Lm[d, i, j] > 0.0 and acc[j - first] != 0.0:
                        factor = rule_m[d, S_L] * Lm[d, i, j]
                        factor *= pow2(rule_e[d, S_L] + top + Le[d, i, j])
                        PL[d, i, j] += factor * acc[j - first]
                        if dual:
                            dPL[d, i, j] += factor * (
                                dacc[j - first] + acc[j - first] * (dtable[d, S_L] + dL[d, i, j])
                            )
                n_rows = np.int64(0)
                begin = before[x, min(i + 3, n)]
                for r in range(begin - 1, max(begin, before[x, stop - 1])):
                    k = i if r < begin else places[x, r]
                    if k < stop - 1 and Lm[d, i, k] > 0.0 and e[d, block, k + 1] > NONE:
                        where[n_rows] = k + 1
                        n_rows += 1
                dot_rows(around, s[d, block], where, n_rows, dots)
                if dual:
                    dot_rows(dom[d, block, i], s[d, block], where, n_rows, dots_d)
                    dot_rows(around, ds[d, block], where, n_rows, dcoef)
                for r in range(n_rows):
                    k = where[r] - 1
                    factor = Lm[d, i, k] * pow2(Le[d, i, k] + e[d, block, k + 1] + common)
                    PL[d, i, k] += factor * dots[r]
                    if dual:
                        dPL[d, i, k] += factor * (dots_d[r] + dcoef[r] + dL[d, i, k] * dots[r])


@njit
def _counts(seq, n_depths, PL, PS, counts):
    """Expected number of uses of the rules from the probabilities of elements and stacked pairs.

    Rules without a base follow: every pair that is not stacked around another encloses one list,
    every list has one last element.
    """
    n = seq.size
    counts[:] = 0.0
    for d in range(n_depths):
        elements = 0.0
        for i in range(n):
            elements += PL[d, i, i]
            if seq[i] < 4:
                counts[d, BASE + seq[i]] += PL[d, i, i]
            for j in range(i + 3, n):
                kind = KIND[seq[i], seq[j]]
                if kind >= 0:
                    counts[d, L_PAIR + kind] += PL[d, i, j]
                    counts[d, F_PAIR + kind] += PS[d, i, j]
        opened = 0.0
        for rule in range(L_PAIR, F_PAIR):
            opened += counts[d, rule]
        elements += opened
        counts[min(d + 1, n_depths - 1), F_LS] += opened
        counts[d, S_LS] = elements
    return counts


@njit
def _lists(n_depths, root, counts):
    """Second half of ``_counts``: ``root`` is how often the list of the whole sequence is used."""
    for d in range(n_depths):
        counts[d, S_L] = counts[d, F_LS] + (root if d == 0 else 0.0)
        counts[d, S_LS] -= counts[d, S_L] + counts[d, F_LS]


@njit
def _store(n, n_depths, P, Q, out):
    """Upper triangle of the probabilities of pairs; unpaired bases on the diagonal."""
    place = 0
    for i in range(n):
        for j in range(i, n):
            total = 0.0
            if j == i or j >= i + 3:
                for d in range(n_depths):
                    total += P[d, i, j] + Q[d, i, j]
            out[place] = total
            place += 1


@njit
def inside(seq, table, pair, width):
    """Chart of one sequence, for sampling.

    Returns
    -------
    s, f, e, fe : ndarray
        Lists and insides [d, block, i, column of the block], exponents of both [d, block, i].
    Lm, Le : ndarray
        Elements [d, i, k], exponents.
    """
    n, D = seq.size, table.shape[0]
    s, f, e = _chart(D, n, width)
    fe = np.empty_like(e)
    Lm, Le = np.zeros((D, n, n)), np.zeros((D, n, n), np.int32)
    LTm, LTe = np.empty((D, n, n)), np.empty((D, n, n), np.int32)
    no4, no3, no1 = np.empty((1, 1, 1, 1)), np.empty((1, 1, 1)), np.empty(0)
    dual = no1.size > 0  # False; the constant would compile the recursion once more
    chart = _Chart(s, f, e, fe, Lm, Le, LTm, LTe)
    _inside(_Scores(seq, table, pair), width, chart, dual, _Scores(seq, table, no1), _Slopes(no4, no4, no3))
    return s, f, e, fe, Lm, Le


@njit
def expect(seqs, offsets, tables, pairs, pair_offsets, start, stop, width, goal, direction, expected):
    """Log partition, expected uses of rules and probabilities of pairs, or their derivatives.

    Parameters
    ----------
    seqs, offsets, tables, pairs, pair_offsets, start, stop
        As in ``evaluate`` of ``dp/rna/viterbi.py``.
    width : int
        Columns of a block.
    goal : int
        LOG_Z, EVERYTHING, or DERIVATIVES of everything along a direction.
    direction : tuple of two ndarrays
        In the shape of ``tables`` and ``pairs`` (which may be empty).
    expected : Expected
        Outputs.
    """
    dtables, dpairs = direction
    log_z, counts, probs = expected
    n, D = longest(offsets, start, stop), tables.shape[1]
    dual = goal == DERIVATIVES
    o, q = n if goal != LOG_Z else 1, n if dual else 1
    s, f, e = _chart(D, n, width)
    fe = np.empty_like(e)
    om, dom, oe = _chart(D, o, width)
    ds, df, _ = _chart(D, q, width)
    Lm, Le, dL = np.empty((D, n, n)), np.empty((D, n, n), np.int32), np.empty((D, q, q))
    LTm, LTe = np.empty((D, n, n)), np.empty((D, n, n), np.int32)
    PL, PS, dPL, dPS = np.empty((D, o, o)), np.empty((D, o, o)), np.empty((D, q, q)), np.empty((D, q, q))
    P, Q = (dPL, dPS) if dual else (PL, PS)
    chart, slopes = _Chart(s, f, e, fe, Lm, Le, LTm, LTe), _Slopes(ds, df, dL)
    outer, outer_slopes = _Outer(om, oe, PL, PS), _OuterSlopes(dom, dPL, dPS)
    for i in range(start, stop):
        seq = seqs[offsets[i] : offsets[i + 1]]
        table = tables[i if tables.shape[0] > 1 else 0]
        dtable = dtables[i if dtables.shape[0] > 1 else 0]
        pair = pairs[pair_offsets[i] : pair_offsets[i + 1]] if pairs.size else pairs
        dpair = dpairs[pair_offsets[i] : pair_offsets[i + 1]] if dpairs.size else dpairs
        scores, along = _Scores(seq, table, pair), _Scores(seq, dtable, dpair)
        z, ze, slope = _inside(scores, width, chart, dual, along, slopes)
        log_z[i] = slope
        if not dual:
            log_z[i] = math.log(z) + ze * LN2 if z > 0.0 else -np.inf
        if goal == LOG_Z:
            continue
        if z > 0.0:
            _outside(scores, width, chart, z, ze, outer, dual, along, slopes, slope, outer_slopes)
        else:
            P[:] = 0.0
            Q[:] = 0.0
        _counts(seq, D, P, Q, counts[i])
        _lists(D, 1.0 if z > 0.0 and not dual else 0.0, counts[i])
        if probs.size:
            _store(seq.size, D, P, Q, probs[pair_offsets[i] : pair_offsets[i + 1]])
