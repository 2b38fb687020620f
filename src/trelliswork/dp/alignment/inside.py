"""Sums over all alignments of a pair: log partition, marginals, their derivative.

Cells, states, scores and flags are those of ``dp/alignment/viterbi.py``. Everything is made of the
conditional probabilities of the next move, which come from one sweep backwards:

    B_s(i, j) = sum over the ways to go on from state s in cell (i, j) of exp(score)

Values are floats with a common exponent per cell, in steps of 2^512, so that neither length nor
scores overflow, and no logarithm is taken inside the grid. Beyond scores of +-300 (flag LOGS) the
same sweep runs on logarithms. Rows are kept at checkpoints only; blocks of rows between them are
computed again on the way down, so that memory is linear in the lengths up to a square root.

``table``, ``gap``, ``miss`` and ``cell`` hold exp(score) here, or the scores with LOGS.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.alignment.flags import CANONICAL, FREE_FIRST, FREE_SECOND, LOCAL, LOGS
from trelliswork.dp.alignment.one_pair import one_pair

__all__ = ["block_rows", "log_partition", "marginals", "pair_backward", "pair_block", "tangent"]

_LOG_UNIT = 512.0 * np.log(2.0)
_UP, _DOWN = 2.0**512, 2.0**-512
_LARGE, _SMALL = 2.0**256, 2.0**-256
_NONE = -(1 << 40)  # exponent of zero


@njit
def _aligned(value, exponent, target):
    """``value`` times 2^(512 (exponent - target)), which is at most 1."""
    if exponent == target:
        return value
    return value * _DOWN if exponent == target - 1 else 0.0


@njit
def _split(log_value):
    """Mantissa and exponent of exp(log_value)."""
    exponent = np.rint(log_value / _LOG_UNIT)
    return np.exp(log_value - exponent * _LOG_UNIT), int(exponent)


@njit
def _log_sum(x, y, z, t):
    top = max(x, y, z, t)
    if top == -np.inf:
        return top
    return top + np.log(np.exp(x - top) + np.exp(y - top) + np.exp(z - top) + np.exp(t - top))


@njit
def _match_row(r, pair, w):
    """Weight of matching residue ``r`` of the first sequence with every residue of the second."""
    a, b, table, _, miss, partner, cell, flags = pair
    n2 = b.size
    row = table[a[r]]
    neutral = 0.0 if flags & LOGS else 1.0
    for j in range(n2):
        w[j] = row[b[j]]
    if cell.size:
        for j in range(n2):
            w[j] = w[j] + cell[r * n2 + j] if flags & LOGS else w[j] * cell[r * n2 + j]
    if miss[r] != neutral:
        for j in range(n2):
            if j != partner[r]:
                w[j] = w[j] + miss[r] if flags & LOGS else w[j] * miss[r]


@njit
def _row(i, pair, w, tail, next_m, next_d, next_e, M, D, N, E, P):
    """Row ``i`` of B from row i + 1, and the probabilities of moves if ``P`` (n2 + 1, 9) has rows.

    ``P[j, 3 s + t]`` is the probability of state t next, in state s = M, D, I. ``tail`` is the log
    weight of ending a local alignment in this row.
    """
    n1, n2 = pair.first.size, pair.second.size
    gap, miss, flags = pair.gap, pair.miss, pair.flags
    keep = P.shape[0] > 0
    local = flags & LOCAL
    tail_m, tail_e = _split(tail) if local else (1.0, 0)
    factor = miss[i] if i < n1 else 1.0
    free_row = flags & FREE_SECOND and (i == 0 or i == n1)
    open_i = 1.0 if free_row else gap[0]
    extend_i = 1.0 if free_row else gap[1]
    for j in range(n2, -1, -1):
        free = flags & FREE_FIRST and (j == 0 or j == n2)
        open_d = factor if free else gap[0] * factor
        extend_d = factor if free else gap[1] * factor
        d = next_d[j] if i < n1 else 0.0
        d_e = next_e[j] if i < n1 else _NONE
        x = N[j + 1] if j < n2 else 0.0
        x_e = E[j + 1] if j < n2 else _NONE
        m, m_e = 0.0, _NONE
        if i < n1 and j < n2 and next_m[j + 1] > 0.0:
            m = w[j] * next_m[j + 1]
            m_e = next_e[j + 1]
        end = local or (i == n1 and j == n2)
        exponent = max(m_e, d_e, x_e)
        if end:
            exponent = max(exponent, tail_e)
        if exponent == _NONE:
            M[j] = D[j] = N[j] = 0.0
            E[j] = _NONE
            if keep:
                P[j] = 0.0
            continue
        m, d, x = _aligned(m, m_e, exponent), _aligned(d, d_e, exponent), _aligned(x, x_e, exponent)
        last = _aligned(tail_m, tail_e, exponent) if end else 0.0
        last_gap = 0.0 if local else last
        m_to_d, d_to_d, m_to_i, i_to_i = open_d * d, extend_d * d, open_i * x, extend_i * x
        i_to_d = 0.0 if flags & CANONICAL else m_to_d
        of_m = m + m_to_d + m_to_i + last
        of_d = m + d_to_d + m_to_i + last_gap
        of_i = m + i_to_d + i_to_i + last_gap
        if keep:
            f = 1.0 / of_m if of_m > 0.0 else 0.0
            P[j, 0], P[j, 1], P[j, 2] = m * f, m_to_d * f, m_to_i * f
            f = 1.0 / of_d if of_d > 0.0 else 0.0
            P[j, 3], P[j, 4], P[j, 5] = m * f, d_to_d * f, m_to_i * f
            f = 1.0 / of_i if of_i > 0.0 else 0.0
            P[j, 6], P[j, 7], P[j, 8] = m * f, i_to_d * f, i_to_i * f
        top = max(of_m, of_d, of_i)
        if top > _LARGE:
            of_m, of_d, of_i = of_m * _DOWN, of_d * _DOWN, of_i * _DOWN
            exponent += 1
        elif top < _SMALL:
            of_m, of_d, of_i = of_m * _UP, of_d * _UP, of_i * _UP
            exponent -= 1
            if top == 0.0:
                exponent = _NONE
        M[j], D[j], N[j], E[j] = of_m, of_d, of_i, exponent


@njit
def _log_row(i, pair, w, tail, next_m, next_d, M, D, N, P):
    """Like :func:`_row`, on logarithms."""
    n1, n2 = pair.first.size, pair.second.size
    gap, miss, flags = pair.gap, pair.miss, pair.flags
    keep = P.shape[0] > 0
    local = flags & LOCAL
    factor = miss[i] if i < n1 else 0.0
    free_row = flags & FREE_SECOND and (i == 0 or i == n1)
    open_i = 0.0 if free_row else gap[0]
    extend_i = 0.0 if free_row else gap[1]
    for j in range(n2, -1, -1):
        free = flags & FREE_FIRST and (j == 0 or j == n2)
        open_d = factor if free else gap[0] + factor
        extend_d = factor if free else gap[1] + factor
        d = next_d[j] if i < n1 else -np.inf
        x = N[j + 1] if j < n2 else -np.inf
        m = w[j] + next_m[j + 1] if i < n1 and j < n2 else -np.inf
        last = tail if local else (0.0 if i == n1 and j == n2 else -np.inf)
        last_gap = -np.inf if local else last
        i_to_d = -np.inf if flags & CANONICAL else d + open_d
        M[j] = _log_sum(m, d + open_d, x + open_i, last)
        D[j] = _log_sum(m, d + extend_d, x + open_i, last_gap)
        N[j] = _log_sum(m, i_to_d, x + extend_i, last_gap)
        if keep:
            P[j] = 0.0
            if M[j] > -np.inf:
                P[j, 0] = np.exp(m - M[j])
                P[j, 1], P[j, 2] = np.exp(d + open_d - M[j]), np.exp(x + open_i - M[j])
            if D[j] > -np.inf:
                P[j, 3] = np.exp(m - D[j])
                P[j, 4], P[j, 5] = np.exp(d + extend_d - D[j]), np.exp(x + open_i - D[j])
            if N[j] > -np.inf:
                P[j, 6] = np.exp(m - N[j])
                P[j, 7], P[j, 8] = np.exp(i_to_d - N[j]), np.exp(x + extend_i - N[j])


@njit
def block_rows(n1, n2):
    """Rows between checkpoints."""
    return min(n1 + 1, max(8, min(int(np.sqrt(n1 + 1.0)) + 1, 1 + 300000 // (n2 + 1))))


@njit
def _heads(miss, flags):
    """Log weight of leaving out the first i residues of the first sequence, for all i."""
    out = np.zeros(miss.size + 1)
    if not flags & LOCAL:
        return out  # none is left out, and the weight may be 0
    for i in range(miss.size):
        out[i + 1] = out[i] + (miss[i] if flags & LOGS else np.log(miss[i]))
    return out


@njit
def pair_backward(pair, step, kept):
    """Log partition; rows at multiples of ``step`` go to ``kept`` (n_blocks, 3, n2 + 1) if it has rows."""
    n1, n2, flags = pair.first.size, pair.second.size, pair.flags
    heads = _heads(pair.miss, flags)
    w = np.empty(n2)
    no_moves = np.empty((0, 9))
    M, D, N = np.zeros(n2 + 1), np.zeros(n2 + 1), np.zeros(n2 + 1)
    next_m, next_d = np.zeros(n2 + 1), np.zeros(n2 + 1)
    E, next_e = np.zeros(n2 + 1, np.int64), np.zeros(n2 + 1, np.int64)
    total = heads[n1] if flags & LOCAL else -np.inf
    for i in range(n1, -1, -1):
        next_m, M, next_d, D, next_e, E = M, next_m, D, next_d, E, next_e
        if i < n1:
            _match_row(i, pair, w)
        tail = heads[n1] - heads[i]
        if flags & LOCAL and i < n1:
            for j in range(n2):  # alignments that start with residues i and j
                if flags & LOGS:
                    value = heads[i] + w[j] + next_m[j + 1]
                elif w[j] * next_m[j + 1] > 0.0:
                    value = heads[i] + np.log(w[j] * next_m[j + 1]) + next_e[j + 1] * _LOG_UNIT
                else:
                    continue
                top = max(total, value)
                if top > -np.inf:
                    total = top + np.log(np.exp(total - top) + np.exp(value - top))
        if flags & LOGS:
            _log_row(i, pair, w, tail, next_m, next_d, M, D, N, no_moves)
        else:
            _row(i, pair, w, tail, next_m, next_d, next_e, M, D, N, E, no_moves)
        if kept.shape[0] and i % step == 0:
            for j in range(n2 + 1):
                kept[i // step, 0, j], kept[i // step, 1, j], kept[i // step, 2, j] = M[j], D[j], E[j]
    if flags & LOCAL:
        return total
    if flags & LOGS:
        return M[0]
    return np.log(M[0]) + E[0] * _LOG_UNIT if M[0] > 0.0 else -np.inf


@njit
def pair_block(q, pair, step, kept, log_z, P, entry):
    """Probabilities of the moves out of the rows of block ``q``, from the checkpoint below it.

    ``P`` (step, n2 + 1, 9); ``entry`` (step, n2) gets the probability that a local alignment
    starts with the match of residues i and j.
    """
    n1, n2, flags = pair.first.size, pair.second.size, pair.flags
    heads = _heads(pair.miss, flags)
    w = np.empty(n2)
    M, D, N = np.zeros(n2 + 1), np.zeros(n2 + 1), np.zeros(n2 + 1)
    next_m, next_d = np.zeros(n2 + 1), np.zeros(n2 + 1)
    E, next_e = np.zeros(n2 + 1, np.int64), np.zeros(n2 + 1, np.int64)
    bottom = min((q + 1) * step, n1 + 1)
    if bottom <= n1:
        for j in range(n2 + 1):
            M[j], D[j], E[j] = kept[q + 1, 0, j], kept[q + 1, 1, j], np.int64(kept[q + 1, 2, j])
    for i in range(bottom - 1, q * step - 1, -1):
        next_m, M, next_d, D, next_e, E = M, next_m, D, next_d, E, next_e
        if i < n1:
            _match_row(i, pair, w)
        tail = heads[n1] - heads[i]
        moves = P[i - q * step]
        if flags & LOGS:
            _log_row(i, pair, w, tail, next_m, next_d, M, D, N, moves)
        else:
            _row(i, pair, w, tail, next_m, next_d, next_e, M, D, N, E, moves)
        if flags & LOCAL and i < n1:
            for j in range(n2):
                if flags & LOGS:
                    log_value = w[j] + next_m[j + 1]
                elif w[j] * next_m[j + 1] > 0.0:
                    log_value = np.log(w[j] * next_m[j + 1]) + next_e[j + 1] * _LOG_UNIT
                else:
                    log_value = -np.inf
                entry[i - q * step, j] = np.exp(heads[i] + log_value - log_z)


@njit
def _prepared(pair):
    """Checkpoints, log partition and buffers for the way down."""
    n1, n2 = pair.first.size, pair.second.size
    step = block_rows(n1, n2)
    n_blocks = -(-(n1 + 1) // step)
    kept = np.empty((n_blocks, 3, n2 + 1))
    log_z = pair_backward(pair, step, kept)
    entry = np.zeros((step if pair.flags & LOCAL else 0, n2))
    return step, n_blocks, kept, log_z, np.empty((step, n2 + 1, 9)), entry


@njit
def log_partition(pairs, law, start, stop, log_z):
    """Log partition of every pair."""
    nothing = np.empty((0, 3, 1))
    for p in range(start, stop):
        log_z[p] = pair_backward(one_pair(pairs, law, p), np.int64(1), nothing)


@njit
def marginals(pairs, law, start, stop, weights, each, log_z, expected):
    """Expected use of all parts, times ``weights``; counts go to row 0, or to row p - start with ``each``."""
    flags = law.flags
    counts, gap_counts, missed, posterior = expected
    for p in range(start, stop):
        pair = one_pair(pairs, law, p)
        first, second, partner = pair.first, pair.second, pair.partner
        n1, n2 = first.size, second.size
        row_base, cell_base = pairs.first_ptr[p], pairs.cell_ptr[p]
        step, n_blocks, kept, log_z[p], P, entry = _prepared(pair)
        share, row = weights[p], p - start if each else 0
        for i in range(n1):
            missed[row_base + i] = share if partner[i] >= 0 else 0.0
        m, d = np.zeros(n2 + 1), np.zeros(n2 + 1)
        next_m, next_d = np.zeros(n2 + 1), np.zeros(n2 + 1)
        if not flags & LOCAL:
            m[0] = share
        opened = extended = 0.0
        for q in range(n_blocks):
            pair_block(q, pair, step, kept, log_z[p], P, entry)
            for i in range(q * step, min((q + 1) * step, n1 + 1)):
                x = 0.0
                free_row = flags & FREE_SECOND and (i == 0 or i == n1)
                for j in range(n2 + 1):
                    moves = P[i - q * step, j]
                    if i < n1:
                        o, e = m[j] * moves[1] + x * moves[7], d[j] * moves[4]
                        next_d[j] = o + e
                        if not (flags & FREE_FIRST and (j == 0 or j == n2)):
                            opened += o
                            extended += e
                        if j < n2:
                            value = m[j] * moves[0] + d[j] * moves[3] + x * moves[6]
                            if flags & LOCAL:
                                value += share * entry[i - q * step, j]
                            next_m[j + 1] = value
                            counts[row, first[i], second[j]] += value
                            if partner[i] == j:
                                missed[row_base + i] -= value
                            if posterior.size:
                                posterior[cell_base + i * n2 + j] = value
                    if j < n2:
                        o, e = m[j] * moves[2] + d[j] * moves[5], x * moves[8]
                        x = o + e
                        if not free_row:
                            opened += o
                            extended += e
                m, next_m, d, next_d = next_m, m, next_d, d
                m[0] = 0.0
        gap_counts[row, 0] += opened
        gap_counts[row, 1] += extended


@njit
def _mean_row(i, pair, along, P, tail, next_m, next_d, M, D, N):
    """Mean of the rest of the score of ``along`` in row ``i``, per state, from row i + 1."""
    first, second, partner, flags = pair.first, pair.second, pair.partner, pair.flags
    n1, n2 = first.size, second.size
    _, _, h_table, h_gap, h_miss, _, h_cell, _ = along
    local = flags & LOCAL
    shift = h_miss[i] if i < n1 else 0.0
    free_row = flags & FREE_SECOND and (i == 0 or i == n1)
    open_i = 0.0 if free_row else h_gap[0]
    extend_i = 0.0 if free_row else h_gap[1]
    for j in range(n2, -1, -1):
        free = flags & FREE_FIRST and (j == 0 or j == n2)
        m = d = x = 0.0
        if i < n1:
            d = next_d[j] + shift
            if j < n2:
                m = next_m[j + 1] + h_table[first[i], second[j]]
                if h_cell.size:
                    m += h_cell[i * n2 + j]
                if j != partner[i]:
                    m += shift
        if j < n2:
            x = N[j + 1]
        open_d = d if free else d + h_gap[0]
        extend_d = d if free else d + h_gap[1]
        p = P[j]
        M[j] = p[0] * m + p[1] * open_d + p[2] * (x + open_i)
        D[j] = p[3] * m + p[4] * extend_d + p[5] * (x + open_i)
        N[j] = p[6] * m + p[7] * open_d + p[8] * (x + extend_i)
        if local:
            M[j] += (1.0 - p[0] - p[1] - p[2]) * tail


@njit
def tangent(pairs, law, direction, start, stop, weights, each, expected):
    """Derivative of :func:`marginals` when scores move along a direction; arrays as there.

    Cov(part, direction) = P(part) (E[direction | part] - E[direction]), the conditional mean being
    what was collected before the part, the part itself, and the mean of what comes after it.
    """
    flags = law.flags
    counts, gap_counts, missed, posterior = expected
    for p in range(start, stop):
        pair, along = one_pair(pairs, law, p), one_pair(pairs, direction, p)
        first, second, partner = pair.first, pair.second, pair.partner
        h_table, h_gap, h_miss, h_cell = along.table, along.gap, along.miss, along.cell
        n1, n2 = first.size, second.size
        row_base, cell_base = pairs.first_ptr[p], pairs.cell_ptr[p]
        step, n_blocks, kept, log_z, P, entry = _prepared(pair)
        heads = np.zeros(n1 + 1)
        for i in range(n1):
            heads[i + 1] = heads[i] + h_miss[i]
        kept_mean = np.zeros((n_blocks + 1, 2, n2 + 1))
        mean_m, mean_d = np.zeros((step + 1, n2 + 1)), np.zeros((step + 1, n2 + 1))
        mean_i = np.empty(n2 + 1)
        share, row = weights[p], p - start if each else 0
        mean = 0.0
        if flags & LOCAL:  # the empty alignment
            total = 0.0
            for i in range(n1):
                total += pair.miss[i] if flags & LOGS else np.log(pair.miss[i])
            mean = np.exp(total - log_z) * heads[n1]
        m, d, gone_m, gone_d = np.zeros(n2 + 1), np.zeros(n2 + 1), np.zeros(n2 + 1), np.zeros(n2 + 1)
        next_m, next_d = np.zeros(n2 + 1), np.zeros(n2 + 1)
        next_gone_m, next_gone_d = np.zeros(n2 + 1), np.zeros(n2 + 1)
        for turn in range(2 * n_blocks):  # blocks upwards for the means, then downwards
            q = n_blocks - 1 - turn if turn < n_blocks else turn - n_blocks
            low, high = q * step, min((q + 1) * step, n1 + 1)
            if turn != n_blocks:
                pair_block(q, pair, step, kept, log_z, P, entry)
                for j in range(n2 + 1):
                    mean_m[high - low, j] = kept_mean[q + 1, 0, j]
                    mean_d[high - low, j] = kept_mean[q + 1, 1, j]
                for i in range(high - 1, low - 1, -1):
                    k = i - low
                    tail = heads[n1] - heads[i]
                    rows = (mean_m[k + 1], mean_d[k + 1], mean_m[k], mean_d[k])
                    _mean_row(i, pair, along, P[k], tail, *rows, mean_i)
            if turn < n_blocks:
                for j in range(n2 + 1):
                    kept_mean[q, 0, j], kept_mean[q, 1, j] = mean_m[0, j], mean_d[0, j]
                if flags & LOCAL:
                    for i in range(low, min(high, n1)):
                        for j in range(n2):
                            value = heads[i] + h_table[first[i], second[j]] + mean_m[i - low + 1, j + 1]
                            if h_cell.size:
                                value += h_cell[i * n2 + j]
                            if j != partner[i]:
                                value += h_miss[i]
                            mean += entry[i - low, j] * value
                elif turn == n_blocks - 1:
                    mean = mean_m[0, 0]
                continue
            if turn == n_blocks:
                m[0] = 0.0 if flags & LOCAL else share
                for i in range(n1):
                    missed[row_base + i] = 0.0
            for i in range(low, high):
                k = i - low
                # Means of insertions of this row, from right to left, once more.
                tail = heads[n1] - heads[i]
                rows = (mean_m[k + 1], mean_d[k + 1], mean_m[k], mean_d[k])
                _mean_row(i, pair, along, P[k], tail, *rows, mean_i)
                x = gone_x = 0.0
                free_row = flags & FREE_SECOND and (i == 0 or i == n1)
                open_i = 0.0 if free_row else h_gap[0]
                extend_i = 0.0 if free_row else h_gap[1]
                shift = h_miss[i] if i < n1 else 0.0
                for j in range(n2 + 1):
                    v = P[k, j]
                    if i < n1:
                        free = flags & FREE_FIRST and (j == 0 or j == n2)
                        o, e = m[j] * v[1] + x * v[7], d[j] * v[4]
                        gone_o = gone_m[j] * v[1] + gone_x * v[7] + o * (shift if free else shift + h_gap[0])
                        gone_e = gone_d[j] * v[4] + e * (shift if free else shift + h_gap[1])
                        next_d[j], next_gone_d[j] = o + e, gone_o + gone_e
                        if not free:
                            rest = mean_d[k + 1, j] - mean
                            gap_counts[row, 0] += gone_o + o * rest
                            gap_counts[row, 1] += gone_e + e * rest
                        if j < n2:
                            score = h_table[first[i], second[j]]
                            if h_cell.size:
                                score += h_cell[i * n2 + j]
                            if j != partner[i]:
                                score += shift
                            value = m[j] * v[0] + d[j] * v[3] + x * v[6]
                            gone = gone_m[j] * v[0] + gone_d[j] * v[3] + gone_x * v[6] + value * score
                            if flags & LOCAL:
                                start_here = share * entry[k, j]
                                value += start_here
                                gone += start_here * (heads[i] + score)
                            next_m[j + 1], next_gone_m[j + 1] = value, gone
                            moved = gone + value * (mean_m[k + 1, j + 1] - mean)
                            counts[row, first[i], second[j]] += moved
                            if partner[i] == j:
                                missed[row_base + i] -= moved
                            if posterior.size:
                                posterior[cell_base + i * n2 + j] = moved
                    if j < n2:
                        o, e = m[j] * v[2] + d[j] * v[5], x * v[8]
                        gone_o = gone_m[j] * v[2] + gone_d[j] * v[5] + o * open_i
                        gone_e = gone_x * v[8] + e * extend_i
                        x, gone_x = o + e, gone_o + gone_e
                        if not free_row:
                            rest = mean_i[j + 1] - mean
                            gap_counts[row, 0] += gone_o + o * rest
                            gap_counts[row, 1] += gone_e + e * rest
                m, next_m, d, next_d = next_m, m, next_d, d
                gone_m, next_gone_m, gone_d, next_gone_d = next_gone_m, gone_m, next_gone_d, gone_d
                m[0] = gone_m[0] = 0.0
