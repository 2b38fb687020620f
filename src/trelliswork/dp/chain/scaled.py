"""Label chains of any order without edge observations, in scaled probabilities.

Contexts, successors and outputs as in :mod:`trelliswork.dp.chain.any_order`; there is no
exponential in the inner loops. Arguments are grouped as in ``dp/chain/trellis.py``. The
successors of a context are consecutive, so inner loops run over contiguous labels.

A sequence whose numbers leave the range of a double, or come so near to its end that a
context might be lost which matters later, is flagged in ``failed`` and left to the log-space
recursions. ``room`` is how far the token scores of one step may lie apart, per table.
"""

from __future__ import annotations

import math

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.room import longest_of

WIDEST = 300.0  # span of the scores of one step, transitions included
_SMALL = 1e-150  # times exp(-WIDEST) this is still a normal number


@njit
def _level(level_ptr, t):
    """Range of the contexts that are possible after position ``t``."""
    j = min(t + 1, level_ptr.size - 1)
    return level_ptr[j - 1], level_ptr[j]


@njit(fastmath={"contract", "reassoc"})
def _fill(unary, factors, room, successor, level_ptr, ahead, beta):
    """Scaled sums over continuations of one sequence; returns its log partition.

    ``ahead[t, d]`` becomes (local factor of the last label of d at t) * (scaled sum after d),
    and ``beta[t, c]`` the sum over the labels at ``t + 1`` of factor * ahead. NaN: out of range.
    """
    n_steps, n_labels = unary.shape
    log_z = 0.0
    for t in range(n_steps - 1, -1, -1):
        u = unary[t]
        top = -np.inf
        bottom = np.inf
        for b in range(n_labels):
            top = max(top, u[b])
            bottom = min(bottom, u[b] if u[b] > -np.inf else np.inf)
        if top == -np.inf or top - bottom > room:
            return np.nan
        lo, hi = _level(level_ptr, t)
        row = ahead[t]
        if t == n_steps - 1:
            for d in range(lo, hi):
                row[d] = math.exp(u[(d - lo) % n_labels] - top)
        else:
            nxt = ahead[t + 1]
            total = 0.0
            for c in range(lo, hi):
                base = successor[c, 0]
                f = factors[c]
                s = 0.0
                for b in range(n_labels):
                    s += f[b] * nxt[base + b]
                beta[t, c] = s
                total = max(total, s)
            if not 1e-280 < total < 1e280:
                return np.nan
            log_z += math.log(total)
            scale = 1.0 / total
            low = 1.0
            for b in range(n_labels):
                e = math.exp(u[b] - top)
                for d in range(lo + b, hi, n_labels):
                    beta[t, d] *= scale
                    row[d] = e * beta[t, d]
                    low = min(low, row[d] if row[d] > 0.0 else 1.0)
            if low < _SMALL:
                return np.nan
            for c in range(nxt.size):
                nxt[c] *= scale  # keeps beta[t, c] = sum_b factor * ahead[t + 1] true
        log_z += top
    total = 0.0
    for b in range(n_labels):
        total += ahead[0, b]
    return log_z + math.log(total) if total > 0.0 else np.nan


@njit
def inside(trellis, contexts, sequences, log_z, failed):
    """Log partition of each of ``sequences``."""
    unary, factors, top, room, which = trellis
    successor, level_ptr, offsets = contexts
    longest = longest_of(offsets, sequences)
    ahead = np.zeros((longest, successor.shape[0]))
    beta = np.zeros((longest, successor.shape[0]))
    for s in sequences:
        lo, hi = offsets[s], offsets[s + 1]
        log_z[s] = 0.0
        failed[s] = False
        if hi > lo:
            value = _fill(unary[lo:hi], factors[which[s]], room[which[s]], successor, level_ptr, ahead, beta)
            failed[s] = math.isnan(value)
            log_z[s] = value + (hi - lo - 1) * top[which[s]]


@njit(fastmath={"contract"})
def marginals(trellis, contexts, sequences, weights, log_z, expected, failed):
    """Log partitions and expected use of every part, times a weight per sequence.

    Failed sequences add nothing to ``expected.trans``.
    """
    unary, factors, top, room, which = trellis
    successor, level_ptr, offsets = contexts
    unary_out, trans_out, into, _ = expected
    n_labels = unary.shape[1]
    n_contexts = successor.shape[0]
    longest = longest_of(offsets, sequences)
    ahead = np.zeros((longest, n_contexts))
    beta = np.zeros((longest, n_contexts))
    rho = np.zeros((longest, n_contexts))
    for s in sequences:
        lo, hi = offsets[s], offsets[s + 1]
        n_steps = hi - lo
        log_z[s] = 0.0
        failed[s] = False
        if n_steps == 0:
            continue
        table = factors[which[s]]
        value = _fill(unary[lo:hi], table, room[which[s]], successor, level_ptr, ahead, beta)
        log_z[s] = value + (n_steps - 1) * top[which[s]]
        failed[s] = math.isnan(value) or not _fill_rho(table, successor, level_ptr, ahead, beta, rho, n_steps)
        if failed[s]:
            continue
        w = weights[s]
        for t in range(n_steps):
            row = unary_out[lo + t]
            row[:] = 0.0
            first, stop = _level(level_ptr, t)
            for d in range(first, stop):
                row[(d - first) % n_labels] += w * rho[t, d]
        out = trans_out[into[s]]
        for t in range(1, n_steps):
            first, stop = _level(level_ptr, t - 1)
            nxt = ahead[t]
            for c in range(first, stop):
                if rho[t - 1, c] == 0.0:
                    continue
                x = w * rho[t - 1, c] / beta[t - 1, c]
                base = successor[c, 0]
                f = table[c]
                target = out[c]
                for b in range(n_labels):
                    target[b] += x * f[b] * nxt[base + b]


@njit(fastmath={"contract"})
def _fill_rho(factors, successor, level_ptr, ahead, beta, rho, n_steps):
    """Probability of each context at each position; False when a division fails."""
    n_labels = factors.shape[1]
    total = 0.0
    for b in range(n_labels):
        total += ahead[0, b]
    for b in range(n_labels):
        rho[0, b] = ahead[0, b] / total
    for t in range(1, n_steps):
        first, stop = _level(level_ptr, t - 1)
        new_first, new_stop = _level(level_ptr, t)
        row = rho[t]
        for d in range(new_first, new_stop):
            row[d] = 0.0
        nxt = ahead[t]
        for c in range(first, stop):
            if rho[t - 1, c] == 0.0:
                continue
            if beta[t - 1, c] < 1e-290:
                return False
            x = rho[t - 1, c] / beta[t - 1, c]
            base = successor[c, 0]
            f = factors[c]
            for b in range(n_labels):
                row[base + b] += x * f[b] * nxt[base + b]
    return True


@njit(fastmath={"contract"})
def tangent(trellis, direction, contexts, sequences, weights, slope, expected, failed):
    """Derivative of the weighted marginals along a direction in part scores.

    ``slope[s]`` becomes the derivative of log Z of sequence ``s`` (not weighted); other
    outputs as in :func:`marginals`.
    """
    unary, factors, _, room, which = trellis
    successor, level_ptr, offsets = contexts
    d_unary, d_trans, d_which, _ = direction
    unary_out, trans_out, into, _ = expected
    n_labels = unary.shape[1]
    n_contexts = successor.shape[0]
    longest = longest_of(offsets, sequences)
    ahead = np.zeros((longest, n_contexts))
    beta = np.zeros((longest, n_contexts))
    rho = np.zeros((longest, n_contexts))
    after = np.zeros((longest, n_contexts))  # direction of the last label + mean direction after it
    up = np.zeros((longest, n_contexts))  # mean direction after a context
    change = np.zeros(n_contexts)
    d_rho = np.zeros(n_contexts)
    for s in sequences:
        lo, hi = offsets[s], offsets[s + 1]
        n_steps = hi - lo
        slope[s] = 0.0
        failed[s] = False
        if n_steps == 0:
            continue
        table = factors[which[s]]
        d_table = d_trans[d_which[s]]
        value = _fill(unary[lo:hi], table, room[which[s]], successor, level_ptr, ahead, beta)
        failed[s] = math.isnan(value) or not _fill_rho(table, successor, level_ptr, ahead, beta, rho, n_steps)
        if failed[s]:
            continue
        for t in range(n_steps - 1, -1, -1):
            first, stop = _level(level_ptr, t)
            du = d_unary[lo + t]
            for c in range(first, stop):
                mean = 0.0
                if t < n_steps - 1 and rho[t, c] > 0.0:
                    base = successor[c, 0]
                    f = table[c]
                    d_row = d_table[c]
                    nxt = ahead[t + 1]
                    a_row = after[t + 1]
                    for b in range(n_labels):
                        mean += f[b] * nxt[base + b] * (d_row[b] + a_row[base + b])
                    mean /= beta[t, c]
                up[t, c] = mean
                after[t, c] = du[(c - first) % n_labels] + mean
        mean = 0.0
        for b in range(n_labels):
            mean += rho[0, b] * after[0, b]
        slope[s] = mean
        for b in range(n_labels):
            d_rho[b] = rho[0, b] * (after[0, b] - mean)
        w = weights[s]
        out = trans_out[into[s]]
        for t in range(n_steps):
            first, stop = _level(level_ptr, t)
            row = unary_out[lo + t]
            row[:] = 0.0
            for d in range(first, stop):
                row[(d - first) % n_labels] += w * d_rho[d]
            if t == n_steps - 1:
                break
            new_first, new_stop = _level(level_ptr, t + 1)
            change[new_first:new_stop] = 0.0
            nxt = ahead[t + 1]
            a_row = after[t + 1]
            for c in range(first, stop):
                if rho[t, c] == 0.0:
                    continue
                base = successor[c, 0]
                x = 1.0 / beta[t, c]
                here = rho[t, c]
                shift = d_rho[c] - here * up[t, c]
                f = table[c]
                d_row = d_table[c]
                target = out[c]
                for b in range(n_labels):
                    p = x * f[b] * nxt[base + b]
                    moved = p * (shift + here * (d_row[b] + a_row[base + b]))
                    change[base + b] += moved
                    target[b] += w * moved
            # Changes of probabilities sum to zero; taking the rest off keeps rounding from piling up.
            excess = 0.0
            for d in range(new_first, new_stop):
                excess += change[d]
            for d in range(new_first, new_stop):
                d_rho[d] = change[d] - excess * rho[t + 1, d]
