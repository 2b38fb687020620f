"""Label chains of any order with shared transitions, many sequences side by side.

Contexts and outputs as in :mod:`trelliswork.dp.chain.any_order`, lanes as in
:mod:`trelliswork.dp.chain.first_order`: arrays are laid out ``(step, context, lane)`` and the
innermost loops run over lanes. Contexts that end in the same labels have the same successors, so
each sweep is a product of small matrices per ending. The number of running lanes is rounded up to
whole vectors; lanes that rest are zero.

A sequence whose numbers leave the range of a double, or come so near to its end that a context
might be lost which matters later, is flagged in ``failed`` before it adds to any sum, and left to
the log-space recursions. The sweep towards the start scales each step by what the last one came to;
the sweep back uses the same scales, so that the product of the two is a probability as it stands.
Forward values may underflow then without harm, and are below 1 / ``_SMALL``, because contexts
without a continuation are cleared and all others have one above ``_SMALL``.
"""

from __future__ import annotations

import math

import numpy as np

from trelliswork._jit import njit

_SMALL = 1e-150  # times exp(-WIDEST) this is still a normal number
_VECTOR = 8


@njit(fastmath={"contract", "reassoc"})
def _padded(n):
    # A few lanes stay alone: they may be very long, and padding would multiply their tables.
    if n < _VECTOR // 2:
        return n
    return (n + _VECTOR - 1) // _VECTOR * _VECTOR


@njit(fastmath={"contract", "reassoc"})
def _sum_rows(out, rows, first, stride, weights, width):
    """``out[l] = sum_i weights[i] * rows[first + i * stride, l]``."""
    n = weights.size
    n4 = n // 4 * 4
    for lane in range(width):
        out[lane] = 0.0
    for i in range(0, n4, 4):
        x0, x1, x2, x3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        row = first + i * stride
        r0, r1, r2, r3 = rows[row], rows[row + stride], rows[row + 2 * stride], rows[row + 3 * stride]
        for lane in range(width):
            out[lane] += r0[lane] * x0 + r1[lane] * x1 + r2[lane] * x2 + r3[lane] * x3
    for i in range(n4, n):
        x0 = weights[i]
        r0 = rows[first + i * stride]
        for lane in range(width):
            out[lane] += r0[lane] * x0


@njit(fastmath={"contract", "reassoc"})
def _add_products(out, row, rows, first, width):
    """``out[b] += sum_l row[l] * rows[first + b, l]``."""
    n = out.size
    n4 = n // 4 * 4
    for b in range(0, n4, 4):
        r0, r1, r2, r3 = rows[first + b], rows[first + b + 1], rows[first + b + 2], rows[first + b + 3]
        x0, x1, x2, x3 = 0.0, 0.0, 0.0, 0.0
        for lane in range(width):
            y = row[lane]
            x0 += y * r0[lane]
            x1 += y * r1[lane]
            x2 += y * r2[lane]
            x3 += y * r3[lane]
        out[b] += x0
        out[b + 1] += x1
        out[b + 2] += x2
        out[b + 3] += x3
    for b in range(n4, n):
        r0 = rows[first + b]
        x0 = 0.0
        for lane in range(width):
            x0 += row[lane] * r0[lane]
        out[b] += x0


@njit(fastmath={"contract", "reassoc"})
def _weigh(row, after, e, scale, share, width):
    """Add the probabilities of a context to those of its label, then step over its local factor."""
    for lane in range(width):
        share[lane] += row[lane] * after[lane]
        row[lane] = row[lane] * e[lane] * scale[lane] if after[lane] > 0.0 else 0.0


@njit(fastmath={"contract", "reassoc"})
def _n_active(offsets, lanes, t, n):
    """How many of the first ``n`` lanes have a step ``t``."""
    while n and offsets[lanes[n - 1] + 1] - offsets[lanes[n - 1]] <= t:
        n -= 1
    return n


@njit(fastmath={"contract", "reassoc"})
def forward_backward(unary, factors, top, room, level_ptr, groups, first, last, weights, sums):
    """Log partitions, token marginals and expected transitions of some groups of sequences.

    Parameters
    ----------
    unary : (n_tokens, n_labels)
        Token-label scores; -inf forbids.
    factors : (n_contexts, n_labels)
        ``exp(trans - top)``; 0 forbids.
    top, room : float
        Largest transition score; how far the token scores of one step may lie apart.
    level_ptr : int array
        Contexts of each length.
    groups : Groups
        Sequences side by side.
    first, last : int
        Groups to do.
    weights : (n_sequences,)
        Factor on marginals and expected transitions.
    sums : Sums
        Outputs.
    """
    offsets, members, group_ptr = groups
    log_z, marginals, trans_sum, failed = sums
    k = unary.shape[1]
    order = level_ptr.size - 1
    full = level_ptr[order] - level_ptr[order - 1]  # contexts of full length
    endings = full // k
    # Steps into a context, by the oldest label that they forget.
    into = np.empty((full, k))
    for q in range(endings):
        for a in range(k):
            for b in range(k):
                into[q * k + b, a] = factors[level_ptr[order - 1] + a * endings + q, b]
    size, widest, longest = 0, 0, 0
    for g in range(first, last):
        s = members[group_ptr[g]]
        n_steps = offsets[s + 1] - offsets[s]
        n_lanes = _padded(group_ptr[g + 1] - group_ptr[g])
        size, widest, longest = max(size, n_steps * n_lanes), max(widest, n_lanes), max(longest, n_steps)
    e_buffer, a_buffer, s_buffer = np.empty(size * k), np.empty(size * full), np.empty(size)
    now, new = np.empty((full, widest)), np.empty((full, widest))
    share = np.empty((k, widest))
    low, high = np.empty(widest), np.empty(widest)
    bad = np.zeros(widest, dtype=np.bool_)
    counts = np.zeros(factors.shape)

    for g in range(first, last):
        lanes = members[group_ptr[g] : group_ptr[g + 1]]
        n_lanes = lanes.size
        n_steps = offsets[lanes[0] + 1] - offsets[lanes[0]]
        if n_steps == 0:
            for s in lanes:
                log_z[s] = 0.0
                failed[s] = False
            continue
        wide = _padded(n_lanes)
        local = e_buffer[: n_steps * k * wide].reshape((n_steps, k, wide))
        ahead = a_buffer[: n_steps * full * wide].reshape((n_steps, full, wide))
        scales = s_buffer[: n_steps * wide].reshape((n_steps, wide))
        for lane in range(n_lanes):
            s = lanes[lane]
            log_z[s] = (offsets[s + 1] - offsets[s] - 1) * top
            bad[lane] = False
        _exponentials(unary, offsets, lanes, room, local, log_z, bad)

        n_after = 0
        high[:wide] = 1.0
        for t in range(n_steps - 1, -1, -1):
            n_active = _n_active(offsets, lanes, t, n_lanes)
            width = _padded(n_active)
            level = min(t + 1, order)
            base = level_ptr[level - 1]
            n_contexts = level_ptr[level] - base
            row, scale = ahead[t], scales[t]
            for lane in range(width):
                scale[lane] = 1.0 / high[lane] if high[lane] > 1e-280 else 1.0
                if lane < n_active:
                    bad[lane] |= not high[lane] > 1e-280
                    log_z[lanes[lane]] -= math.log(scale[lane])
            if n_after:
                running = _padded(n_after)
                n_endings = (level_ptr[min(t + 2, order)] - level_ptr[min(t + 2, order) - 1]) // k
                high[:running] = 0.0
                low[:running] = 1.0
                for q in range(n_endings):
                    for c in range(q, n_contexts, n_endings):
                        out, e = row[c], local[t, c % k]
                        _sum_rows(out, ahead[t + 1], q * k, np.int64(1), factors[base + c], running)
                        for lane in range(running):
                            x = out[lane] * scale[lane] * e[lane]
                            out[lane] = x
                            high[lane] = max(high[lane], x)
                            low[lane] = min(low[lane], x if x > 0.0 else 1.0)
                for lane in range(n_after):
                    bad[lane] |= low[lane] < _SMALL
                high[n_after:running] = 1.0
            for c in range(n_contexts):  # lanes that end here
                e = local[t, c % k]
                for lane in range(n_after, width):
                    row[c, lane] = e[lane]
            n_after = n_active
        for lane in range(n_lanes):
            total = 0.0
            for b in range(k):
                total += ahead[0, b, lane]
            s = lanes[lane]
            failed[s] = bad[lane] or not total > 0.0
            log_z[s] += math.log(total) if total > 0.0 else 0.0
            low[lane] = 0.0 if failed[s] else weights[s] / total  # keeps a failed lane out of the sums
        if marginals.shape[0] == 0:
            continue
        low[n_lanes:wide] = 0.0

        n_active = n_lanes
        for t in range(n_steps):
            n_active = _n_active(offsets, lanes, t, n_active)
            width = _padded(n_active)
            level = min(t + 1, order)
            n_contexts = level_ptr[level] - level_ptr[level - 1]
            row, scale = ahead[t], scales[t]
            if t == 0:
                share[:, :width] = 0.0
                for b in range(k):
                    for lane in range(width):
                        new[b, lane] = low[lane]
                    _weigh(new[b], row[b], local[t, b], scale, share[b], width)
                _copy(share, local[t], width)
                now, new = new, now
                continue
            base = level_ptr[min(t, order) - 1]
            before = level_ptr[min(t, order)] - base
            n_endings = n_contexts // k
            share[:, :width] = 0.0
            for q in range(n_endings):
                for b in range(k):
                    c = q * k + b
                    if before == n_endings:  # nothing is forgotten yet
                        x = factors[base + q, b]
                        for lane in range(width):
                            new[c, lane] = x * now[q, lane]
                    else:
                        _sum_rows(new[c], now, q, n_endings, into[c], width)
                    _weigh(new[c], row[c], local[t, b], scale, share[b], width)
                for c in range(q, before, n_endings):
                    _add_products(counts[base + c], now[c], row, q * k, width)
            # The local factors were used for the last time; the marginals take their place.
            _copy(share, local[t], width)
            now, new = new, now
        for lane in range(n_lanes):
            s = lanes[lane]
            for t in range(offsets[s + 1] - offsets[s]):
                out = marginals[offsets[s] + t]
                for b in range(k):
                    out[b] = local[t, b, lane]
    for c in range(counts.shape[0]):
        for b in range(k):
            trans_sum[c, b] += counts[c, b] * factors[c, b]


@njit
def _copy(rows, out, width):
    for b in range(rows.shape[0]):
        for lane in range(width):
            out[b, lane] = rows[b, lane]


@njit
def _exponentials(unary, offsets, lanes, room, local, log_z, bad):
    """``exp(unary - largest)`` of every step; the largest are added to ``log_z``."""
    k, wide = local.shape[1], local.shape[2]
    n_active = lanes.size
    for t in range(local.shape[0]):
        n_active = _n_active(offsets, lanes, t, n_active)
        local[t, :, n_active:wide] = 0.0
    for lane in range(lanes.size):
        s = lanes[lane]
        for t in range(offsets[s + 1] - offsets[s]):
            u = unary[offsets[s] + t]
            high, low = -np.inf, np.inf
            for b in range(k):
                high = max(high, u[b])
                low = min(low, u[b] if u[b] > -np.inf else np.inf)
            if high == -np.inf or not high - low <= room:
                bad[lane] = True
                high = 0.0
                for b in range(k):
                    local[t, b, lane] = 1.0
            else:
                for b in range(k):
                    local[t, b, lane] = math.exp(u[b] - high)
            log_z[s] += high
