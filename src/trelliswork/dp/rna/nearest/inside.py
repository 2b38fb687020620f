"""Sums over all structures by their loops: partition functions, probabilities, expected uses of scores.

The recursions of ``viterbi.py`` with sums of products in place of maxima of sums. Numbers of cells are plain:
scores are shifted by a constant per base beforehand (see ``structures/rna/sums.py``), so that the weights of
long stretches stay near 1; where they do not, ``any_range.py`` has the same sums in logarithms. Prefixes get
as long as a genome even if cells do not: they are logarithms here too. What is around a cell is the
derivative of the logarithm of the sum, computed by running the rows of the inside pass backwards.

With complex numbers whose imaginary parts are a tiny direction, the imaginary parts of the results are the
derivatives along that direction: all operations are sums and products.
"""

from __future__ import annotations

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
from trelliswork.dp.rna.nearest.viterbi import Chart
from trelliswork.dp.rna.rules import KIND

__all__ = ["inside", "log_sum", "outside"]

_RING, _PAD = 32, 40  # as in ``viterbi.py``; there are as many columns after the last


@njit(fastmath={"contract", "reassoc"})
def _filter(dst, src, coef, low, high, start, stop, run, free):
    """Add ``coef[l] * src[j - 1 - l]`` to ``dst[j]`` for l = low .. high and all j from ``start + l`` on."""
    if not free:  # some bases must be paired: no more than ``run[j]`` unpaired ones before j
        for j in range(start + low, stop):
            for length in range(low, min(min(high, run[j]), j - start) + 1):
                dst[_PAD + j] += coef[length] * src[_PAD + j - 1 - length]
        return
    zero = coef[0] * 0.0
    for length in range(low, high + 1, 8):
        first = start + length
        if first >= stop:
            break
        c0 = coef[length]
        c1 = coef[length + 1] if length + 1 <= high else zero
        c2 = coef[length + 2] if length + 2 <= high else zero
        c3 = coef[length + 3] if length + 3 <= high else zero
        c4 = coef[length + 4] if length + 4 <= high else zero
        c5 = coef[length + 5] if length + 5 <= high else zero
        c6 = coef[length + 6] if length + 6 <= high else zero
        c7 = coef[length + 7] if length + 7 <= high else zero
        out = dst[_PAD + first : _PAD + stop]
        row = src[_PAD + start - 8 : _PAD + stop]
        for x in range(out.size):
            near = c0 * row[x + 7] + c1 * row[x + 6] + c2 * row[x + 5] + c3 * row[x + 4]
            far = c4 * row[x + 3] + c5 * row[x + 2] + c6 * row[x + 1] + c7 * row[x]
            out[x] += near + far


@njit(fastmath={"contract", "reassoc"})
def _unfilter(dst, src, coef, low, high, start, stop, run, free):
    """The other way round: add ``coef[l] * src[j]`` to ``dst[j - 1 - l]``."""
    if not free:
        for j in range(start + low, stop):
            for length in range(low, min(min(high, run[j]), j - start) + 1):
                dst[_PAD + j - 1 - length] += coef[length] * src[_PAD + j]
        return
    zero = coef[0] * 0.0
    for length in range(low, high + 1, 8):
        if start + length >= stop:
            break
        c0 = coef[length]
        c1 = coef[length + 1] if length + 1 <= high else zero
        c2 = coef[length + 2] if length + 2 <= high else zero
        c3 = coef[length + 3] if length + 3 <= high else zero
        c4 = coef[length + 4] if length + 4 <= high else zero
        c5 = coef[length + 5] if length + 5 <= high else zero
        c6 = coef[length + 6] if length + 6 <= high else zero
        c7 = coef[length + 7] if length + 7 <= high else zero
        out = dst[_PAD + start - 1 : _PAD + stop - 1 - length]  # q = start - 1 .. with j = q + 1 + length
        row = src[_PAD + start + length : _PAD + stop + 8]
        for x in range(out.size):
            near = c0 * row[x] + c1 * row[x + 1] + c2 * row[x + 2] + c3 * row[x + 3]
            far = c4 * row[x + 4] + c5 * row[x + 5] + c6 * row[x + 6] + c7 * row[x + 7]
            out[x] += near + far


@njit(fastmath={"contract", "reassoc"})
def _products(src, other, coef, low, high, start, stop, run, free, counts):
    """Add ``coef[l] * sum_j src[j] other[j - 1 - l]`` to ``counts[l]``."""
    if not free:
        for j in range(start + low, stop):
            for length in range(low, min(min(high, run[j]), j - start) + 1):
                counts[length] += coef[length] * src[_PAD + j] * other[_PAD + j - 1 - length]
        return
    zero = coef[0] * 0.0
    for length in range(low, high + 1, 4):
        if start + length >= stop:
            break
        a = src[_PAD + start + length : _PAD + stop]
        b = other[_PAD + start - 4 : _PAD + stop]
        t0, t1, t2, t3 = zero, zero, zero, zero
        for x in range(a.size):
            t0 += a[x] * b[x + 3]
            t1 += a[x] * b[x + 2]
            t2 += a[x] * b[x + 1]
            t3 += a[x] * b[x]
        counts[length] += coef[length] * t0
        if length + 1 <= high:
            counts[length + 1] += coef[length + 1] * t1
        if length + 2 <= high:
            counts[length + 2] += coef[length + 2] * t2
        if length + 3 <= high:
            counts[length + 3] += coef[length + 3] * t3


@njit(fastmath={"contract"})
def _add(out, c, row):
    for x in range(out.size):
        out[x] += c * row[x]


@njit(fastmath={"contract", "reassoc"})
def _add4(out, c0, c1, c2, c3, r0, r1, r2, r3):
    for x in range(out.size):
        out[x] += (c0 * r0[x] + c1 * r1[x]) + (c2 * r2[x] + c3 * r3[x])


@njit
def _splits(many, R, offset, branch, where, count, stop):
    """Add ``branch[k] * R(k + 1, j)`` to ``many[j]`` for all branches."""
    whole = count - count % 4
    for x in range(0, whole, 4):
        last = where[x + 3] + 1
        for y in range(x, x + 3):
            k = where[y]
            _add(many[k + 1 : last], branch[k], R[offset[k + 1] + k + 1 : offset[k + 1] + last])
        a, b, c, d = where[x], where[x + 1], where[x + 2], where[x + 3]
        _add4(
            many[last:stop], branch[a], branch[b], branch[c], branch[d],
            R[offset[a + 1] + last : offset[a + 1] + stop], R[offset[b + 1] + last : offset[b + 1] + stop],
            R[offset[c + 1] + last : offset[c + 1] + stop], R[offset[d + 1] + last : offset[d + 1] + stop],
        )  # fmt: skip
    for x in range(whole, count):
        k = where[x]
        _add(many[k + 1 : stop], branch[k], R[offset[k + 1] + k + 1 : offset[k + 1] + stop])


@njit(fastmath={"contract", "reassoc"})
def _split_back(around, row, value, out):
    """Inner product of ``around`` and ``row``; adds ``value`` times ``around`` to ``out``."""
    total = value * 0.0
    for x in range(around.size):
        total += around[x] * row[x]
        out[x] += value * around[x]
    return total


@njit
def _runs(forced, run, before):
    """Unpaired bases allowed before each position; bases before it that must be paired; whether none is."""
    run[0], before[0] = 0, 0
    for j in range(forced.size):
        run[j + 1] = 0 if forced[j] else run[j] + 1
        before[j + 1] = before[j] + forced[j]
    return before[forced.size] == 0


@njit
def _lengths(left, c, max_loop):
    """First and last number of unpaired bases on the right of loops of a class; the last may be less."""
    most = max_loop - left
    if c == 0:
        return (2, most) if left == 0 else (0, 0 if left > 1 else -1)
    if c == 1:
        return 1, min(1, most) if left == 1 else 0
    if c == 2:
        return (2, most) if left == 1 else (1, min(1, most) if left > 1 else 0)
    return 2, most if left > 1 else 0


@njit
def _hairpin(problem, powers, before, i, j):
    """Weight of the hairpin closed by (i, j)."""
    seq, table = problem.seq, problem.table
    length = j - i - 1
    value = table[HAIRPIN + min(length, LONGEST)] * table[out_end(seq, i, j, HAIRPIN_END)]
    value *= powers[max(length - LONGEST, 0)]
    code = loop_code(seq, i, j, table.size)
    if code >= 0:
        value *= table[code]
    return value if before[j] == before[i + 1] else value * 0.0


@njit
def _small_bulge(problem, i, j, kind, left):
    """Entry of the inner pair's stacking and weight of a bulge of one base, or -1."""
    seq, table = problem.seq, problem.table
    p, q, base = i + 1 + left, j - 2 + left, i + 1 if left == 1 else j - 1
    zero = table[PAIR] * 0.0
    if problem.max_loop < 1 or q - p <= problem.min_hairpin or problem.forced[base]:
        return -1, zero
    inner = KIND[seq[p], seq[q]]
    if inner < 0:
        return -1, zero
    entry = BULGE_STACK + 6 * kind + inner
    length = table[LENGTH + left * (LONGEST + 1) + 1 - left]
    return entry, table[entry] * table[BULGE_BASE + seq[base]] * length


@njit
def _ends(problem, row, i, stop, ring):
    """Weights of the pairs of row i with their ends, by class of the internal loop around them."""
    ring[:, max(0, _PAD + i - 8) : _PAD + stop] = 0.0
    for j in range(i + problem.min_hairpin + 1, stop):
        if row[j - i] != 0.0:
            for c in range(4):
                ring[c, _PAD + j] = row[j - i] * problem.table[in_end(problem.seq, i, j, c)]


@njit
def log_sum(terms, count):
    """Logarithm of the sum of the exponentials of the first ``count`` terms."""
    top = -np.inf
    for x in range(count):
        top = max(top, terms[x].real)
    total = terms[:1].copy()
    total[0] = 0.0
    if top == -np.inf:
        total[0] = -np.inf
        return total[0]
    for x in range(count):
        total[0] += np.exp(terms[x] - top)
    return top + np.log(total[0])


@njit
def _prefixes(problem, E):
    """Logarithms of the weights of everything before each base."""
    seq, offset, n = problem.seq, problem.offset, problem.seq.size
    logs = np.log(problem.table)
    X, terms = np.empty(n + 1, E.dtype), np.empty(n + 1, E.dtype)
    X[0] = 0.0
    for j in range(n):
        count = 0
        if not problem.forced[j]:
            terms[0], count = X[j] + logs[OUTER_BASE], 1
        for i in range(max(0, j + 1 - problem.window), j - problem.min_hairpin):
            if E[offset[i] + j] != 0.0:
                terms[count] = X[i] + np.log(E[offset[i] + j]) + logs[in_end(seq, i, j, OUTER_END)]
                count += 1
        X[j + 1] = log_sum(terms, count)
    return X


@njit
def _suffixes(problem, E):
    """Logarithms of the weights of everything from each base on."""
    seq, offset, n = problem.seq, problem.offset, problem.seq.size
    logs = np.log(problem.table)
    Y, terms = np.empty(n + 1, E.dtype), np.empty(n + 1, E.dtype)
    Y[n] = 0.0
    for i in range(n - 1, -1, -1):
        count = 0
        if not problem.forced[i]:
            terms[0], count = Y[i + 1] + logs[OUTER_BASE], 1
        for j in range(i + problem.min_hairpin + 1, min(n, i + problem.window)):
            if E[offset[i] + j] != 0.0:
                terms[count] = Y[j + 1] + np.log(E[offset[i] + j]) + logs[in_end(seq, i, j, OUTER_END)]
                count += 1
        Y[i] = log_sum(terms, count)
    return Y


@njit
def inside(problem, powers):
    """Weights of all cells, and logarithms of those of prefixes.

    Parameters
    ----------
    problem : Problem
        Sequence and weights (not logarithms), float or complex.
    powers : ndarray of shape (n_bases + 1,)
        Powers of the weight of an unpaired base.

    Returns
    -------
    chart : Chart
        Its last prefix is the logarithm of the partition function.
    least, most : float
        The least and the largest weight of a cell.
    """
    seq, table, pair, forced, offset, min_hairpin, max_loop, window, states = problem
    n = seq.size
    size = offset[n] + n
    E, T = np.zeros(size, table.dtype), np.zeros((states, size), table.dtype)
    R, W = np.zeros(size, table.dtype), np.zeros(size, table.dtype)
    ring, acc = np.zeros((_RING, 4, n + _PAD), table.dtype), np.zeros((4, n + _PAD), table.dtype)
    many, branch, where = np.zeros(n + 1, table.dtype), np.empty(n, table.dtype), np.empty(n, np.int64)
    run, before = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    free = _runs(forced, run, before)
    width, zero = LONGEST + 1, table[PAIR] * 0.0
    least, most = 1.0, 1.0
    for i in range(n - 1, -1, -1):
        stop, row = min(n, i + window), offset[i]
        acc[:, _PAD + i + 1 : _PAD + stop] = 0.0
        for left in range(max_loop + 1):
            p = i + 1 + left
            start = p + min_hairpin + 2
            if start >= stop or (left > 0 and forced[p - 1]):
                break
            C = ring[p % _RING]
            coef = table[LENGTH + left * width : LENGTH + (left + 1) * width]
            for c in range(4):
                low, high = _lengths(left, c, max_loop)
                _filter(acc[c], C[c], coef, low, high, start, stop, run, free)
        n_branches = 0
        for j in range(i + min_hairpin + 1, stop):
            kind = KIND[seq[i], seq[j]]
            if kind < 0:
                continue
            here = table[PAIR + kind]
            if pair.size:
                here = here * pair[row + j]
            if here == 0.0:
                continue
            loops = _hairpin(problem, powers, before, i, j)
            for c in range(4):
                loops += acc[c, _PAD + j] * table[out_end(seq, i, j, c)]
            for left in range(2):
                entry, weight = _small_bulge(problem, i, j, kind, left)
                if entry >= 0:
                    loops += weight * E[offset[i + 1 + left] + j - 2 + left]
            loops += table[MULTI] * table[out_end(seq, i, j, MULTI_END)] * W[offset[i + 1] + j - 1]
            inner, stacked = KIND[seq[i + 1], seq[j - 1]], zero
            if inner >= 0:
                stack = here * table[STACK + 6 * kind + inner]
                stacked = stack * T[0, offset[i + 1] + j - 1]
                third = triple(seq, i, j)
                if third >= 0:
                    stack *= table[third]
                for s in range(states):
                    T[s, row + j] = stack * T[min(s + 1, states - 1), offset[i + 1] + j - 1]
            for s in range(states - 1):
                T[s, row + j] += here * loops * table[HELIX + s]
            T[states - 1, row + j] += here * loops
            E[row + j] = stacked + here * loops * table[LONELY]
            if E[row + j] != 0.0:
                branch[j] = E[row + j] * table[in_end(seq, i, j, MULTI_END)]
                where[n_branches] = j
                n_branches += 1
                least, most = min(least, E[row + j].real), max(most, E[row + j].real)
        _ends(problem, E[row + i : row + stop], i, stop, ring[i % _RING])
        many[i:stop] = 0.0
        _splits(many, R, offset, branch, where, n_branches, stop)
        base, tail, seen = zero if forced[i] else table[MULTI_BASE], zero, 0
        for j in range(i, stop):
            tail = zero if forced[j] else tail * table[MULTI_BASE]
            if seen < n_branches and where[seen] == j:
                tail += branch[j]
                seen += 1
            R[row + j] = many[j] + tail
            W[row + j] = many[j]
            if j > i:
                R[row + j] += base * R[offset[i + 1] + j]
                W[row + j] += base * W[offset[i + 1] + j]
        for j in range(i, stop):
            if R[row + j] != 0.0:
                least, most = min(least, R[row + j].real), max(most, R[row + j].real)
    return Chart(E, T, R, W, _prefixes(problem, E)), least, most


@njit
def outside(problem, powers, chart, counts, probs):
    """Probabilities of pairs and expected uses of the entries of the table.

    Parameters
    ----------
    problem : Problem
        Sequence and weights.
    powers : ndarray
        Powers of the weight of an unpaired base.
    chart : Chart
        From ``inside``.
    counts : ndarray of the size of the table, or empty
        Output, zeros before: expected uses; they take as long again as the probabilities.
    probs : ndarray or empty
        Output, for every cell: the probability of the pair, of an unpaired base on the diagonal.
    """
    seq, table, pair, forced, offset, min_hairpin, max_loop, window, states = problem
    E, T, R, W, X = chart
    n, counted = seq.size, counts.size > 0
    width, zero = LONGEST + 1, table[PAIR] * 0.0
    Y = _suffixes(problem, E)
    R_out = np.zeros(R.size, table.dtype)
    W_row, W_next = np.zeros(n + 1, table.dtype), np.zeros(n + 1, table.dtype)
    T_row, T_next = np.zeros((states, n + 1), table.dtype), np.zeros((states, n + 1), table.dtype)
    many, tail = np.zeros(n + 1, table.dtype), np.zeros(n + 1, table.dtype)
    ring = np.zeros((_RING, 4, n + 2 * _PAD), table.dtype)  # inner pairs, with their ends
    ring_out = np.zeros((_RING, 4, n + 2 * _PAD), table.dtype)  # what is around them
    small_out = np.zeros((3, n + 1), table.dtype)  # what is around pairs inside of bulges of one base
    acc, forward = np.zeros((4, n + 2 * _PAD), table.dtype), np.zeros((4, n + 2 * _PAD), table.dtype)
    paired = np.zeros(n, table.dtype)
    run, before = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    free = _runs(forced, run, before)
    for p in range(1, min(_RING - 1, n)):
        _ends(
            problem, E[offset[p] + p : offset[p] + min(n, p + window)], p, min(n, p + window), ring[p % _RING]
        )
    for i in range(n):
        stop, row = min(n, i + window), offset[i]
        ahead = i + _RING - 1
        if ahead < n:
            reach = min(n, ahead + window)
            _ends(
                problem, E[offset[ahead] + ahead : offset[ahead] + reach], ahead, reach, ring[ahead % _RING]
            )
            ring_out[ahead % _RING, :, _PAD + ahead : _PAD + reach] = 0.0
        base = zero if forced[i] else table[MULTI_BASE]
        # Multiloops: what is around the stretches of this row goes to its branches and to shorter stretches.
        running = zero
        for j in range(stop - 1, i - 1, -1):
            running = R_out[row + j] + (
                zero if j + 1 >= stop or forced[j + 1] else running * table[MULTI_BASE]
            )
            tail[j] = running
            many[j] = R_out[row + j] + W_row[j]
            if j > i:
                R_out[offset[i + 1] + j] += base * R_out[row + j]
                W_next[j] = base * W_row[j]
        if counted and not forced[i]:
            uses = zero
            for j in range(i + 1, stop):
                uses += R_out[row + j] * R[offset[i + 1] + j] + W_row[j] * W[offset[i + 1] + j]
            counts[MULTI_BASE] += base * uses
        closed, T_next[:, i:stop] = zero, 0.0
        acc[:, _PAD + i : _PAD + stop + 8] = 0.0
        for j in range(i + min_hairpin + 1, stop):
            if E[row + j] == 0.0:
                if probs.size:
                    probs[row + j] = 0.0
                if counted:
                    closed = zero if forced[j] else closed * table[MULTI_BASE]
                    counts[MULTI_BASE] += closed * tail[j]
                continue
            kind = KIND[seq[i], seq[j]]
            end = in_end(seq, i, j, MULTI_END)
            branch = E[row + j] * table[end]
            around = tail[j]
            if j + 1 < stop:
                inner_row = R[offset[j + 1] + j + 1 : offset[j + 1] + stop]
                out_row = R_out[offset[j + 1] + j + 1 : offset[j + 1] + stop]
                around += _split_back(many[j + 1 : stop], inner_row, branch, out_row)
            outer_end = in_end(seq, i, j, OUTER_END)
            outer = np.exp(X[i] + Y[j + 1] - X[n]) * table[outer_end]
            E_out = around * table[end] + outer + small_out[i % 3, j]
            for c in range(4):
                E_out += ring_out[i % _RING, c, _PAD + j] * table[in_end(seq, i, j, c)]
            here = table[PAIR + kind]
            if pair.size:
                here = here * pair[row + j]
            both = E_out * E[row + j]
            for s in range(states):
                both += T_row[s, j] * T[s, row + j]
            paired[i] += both
            paired[j] += both
            if probs.size:
                probs[row + j] = both
            loops = E_out * table[LONELY] + T_row[states - 1, j]
            for s in range(states - 1):
                loops += T_row[s, j] * table[HELIX + s]
            loops *= here
            inner, stack, third = KIND[seq[i + 1], seq[j - 1]], zero, -1
            if inner >= 0:
                stack, third = here * table[STACK + 6 * kind + inner], triple(seq, i, j)
                T_next[0, j - 1] = E_out * stack
                later = zero
                if third >= 0:
                    for s in range(states):
                        above, below = stack * table[third] * T_row[s, j], min(s + 1, states - 1)
                        T_next[below, j - 1] += above
                        later += above * T[below, offset[i + 1] + j - 1]
                if counted:
                    counts[STACK + 6 * kind + inner] += later + E_out * stack * T[0, offset[i + 1] + j - 1]
                    if third >= 0:
                        counts[third] += later
            closing = table[MULTI] * table[out_end(seq, i, j, MULTI_END)]
            W_next[j - 1] += loops * closing
            for left in range(2):
                entry, weight = _small_bulge(problem, i, j, kind, left)
                if entry >= 0:
                    p, q = i + 1 + left, j - 2 + left
                    small_out[p % 3, q] += loops * weight
                    if counted:
                        uses = loops * weight * E[offset[p] + q]
                        counts[entry] += uses
                        counts[BULGE_BASE + seq[i + 1 if left == 1 else j - 1]] += uses
                        counts[LENGTH + left * width + 1 - left] += uses
            for c in range(4):
                acc[c, _PAD + j] = loops * table[out_end(seq, i, j, c)]
            if counted:
                closed = zero if forced[j] else closed * table[MULTI_BASE]
                counts[MULTI_BASE] += closed * tail[j]
                closed += branch
                counts[PAIR + kind] += both
                counts[end] += around * branch
                counts[outer_end] += outer * E[row + j]
                for c in range(4):
                    counts[in_end(seq, i, j, c)] += (
                        ring_out[i % _RING, c, _PAD + j] * ring[i % _RING, c, _PAD + j]
                    )
                uses = loops * closing * W[offset[i + 1] + j - 1]
                counts[MULTI] += uses
                counts[out_end(seq, i, j, MULTI_END)] += uses
                uses = loops * _hairpin(problem, powers, before, i, j)
                counts[HAIRPIN + min(j - i - 1, LONGEST)] += uses
                counts[out_end(seq, i, j, HAIRPIN_END)] += uses
                code = loop_code(seq, i, j, table.size)
                if code >= 0:
                    counts[code] += uses
                lonely = E[row + j]
                if inner >= 0:
                    lonely -= here * table[STACK + 6 * kind + inner] * T[0, offset[i + 1] + j - 1]
                counts[LONELY] += E_out * lonely
                for s in range(states - 1):
                    ended = T[s, row + j]
                    if third >= 0:
                        ended -= stack * table[third] * T[s + 1, offset[i + 1] + j - 1]
                    counts[HELIX + s] += T_row[s, j] * ended
        # Internal loops.
        for left in range(max_loop + 1):
            p = i + 1 + left
            start = p + min_hairpin + 2
            if start >= stop or (left > 0 and forced[p - 1]):
                break
            C, out = ring[p % _RING], ring_out[p % _RING]
            coef = table[LENGTH + left * width : LENGTH + (left + 1) * width]
            for c in range(4):
                low, high = _lengths(left, c, max_loop)
                _unfilter(out[c], acc[c], coef, low, high, start, stop, run, free)
                if counted:
                    uses_of = counts[LENGTH + left * width : LENGTH + (left + 1) * width]
                    _products(acc[c], C[c], coef, low, high, start, stop, run, free, uses_of)
                    _filter(forward[c], C[c], coef, low, high, start, stop, run, free)
        if counted:
            for j in range(i + min_hairpin + 1, stop):
                if E[row + j] != 0.0:
                    for c in range(4):
                        counts[out_end(seq, i, j, c)] += acc[c, _PAD + j] * forward[c, _PAD + j]
            forward[:, _PAD + i : _PAD + stop] = 0.0
        small_out[i % 3, i : stop + 1] = 0.0
        W_row, W_next = W_next, W_row
        W_next[i : stop + 1] = 0.0
        T_row, T_next = T_next, T_row
    for i in range(n):
        if probs.size:
            probs[offset[i] + i] = 1.0 - paired[i]
            for j in range(i + 1, min(n, i + min_hairpin + 1, i + window)):
                probs[offset[i] + j] = 0.0
        if counted and not forced[i]:
            counts[OUTER_BASE] += np.exp(X[i] + Y[i + 1] - X[n]) * table[OUTER_BASE]
