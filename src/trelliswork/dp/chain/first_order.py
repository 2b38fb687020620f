"""Label chains of order 1 with shared transitions: the fast case.

Scaled probabilities instead of logarithms, and many sequences side by side:
sequences are sorted by length into groups of *lanes*, arrays are laid out
``(step, label, lane)``, and the innermost loops run over lanes, where they
vectorise whatever the number of labels. Lanes are sorted by falling length, so
those still running at step ``t`` are always a prefix.

A sequence whose scaled recursion meets an empty step, or might lose a label to
underflow that matters later, is flagged in ``failed``; the caller repeats it with
:mod:`trelliswork.dp.chain.any_order`, which works in log space. Nothing is lost while the
scores of each step span less than ``_WIDEST``: every label then keeps at least
exp(-_WIDEST) of the total. Forbidden transitions break that argument (a label may hang
on one that is already small), so with them small forward values are looked for as well.

Transition arrays are ``[from, to]``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trelliswork._jit import njit

_LOG2E = 1.4426950408889634
_LN2_HI = 6.93147180369123816490e-01
_LN2_LO = 1.90821492927058770002e-10
_SHIFTER = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer in the low bits
_TILE = 8  # steps that are transposed together, so that reads and writes stay in the caches
_SMALLEST = -708.0  # below this exp() is a denormal; it counts as zero
_WIDEST = 500.0
_WIDEST_FORBIDDEN = 300.0  # the same when transitions are forbidden
_TINY = 1e-280
_LN2 = 0.6931471805599453
_MANTISSA = 0x000FFFFFFFFFFFFF
_ONE = 0x3FF0000000000000  # the bits of 1.0
_SMALL = 1e-150  # times exp(-_WIDEST_FORBIDDEN) this is still a normal number


class _Work(NamedTuple):
    """Scratch of one group, a number per lane; ``beta`` and ``below`` a number per label and lane."""

    peak: np.ndarray
    trough: np.ndarray
    total: np.ndarray
    shift: np.ndarray
    product: np.ndarray
    exponent: np.ndarray
    flag: np.ndarray
    beta: np.ndarray
    below: np.ndarray


@njit(inline="always", fastmath={"contract"})
def _exp(x):
    """Branch-free ``exp`` that vectorises (error below 1 ulp); zero below -708."""
    clipped = max(x, _SMALLEST)
    n = clipped * _LOG2E + _SHIFTER
    whole = n - _SHIFTER
    r = (clipped - whole * _LN2_HI) - whole * _LN2_LO
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    exponent = np.int64(np.float64(n).view(np.int64) << 52)
    value = np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)
    return value if x > _SMALLEST else 0.0


@njit(inline="always")
def combine_rows(out, rows, weights, n_active):
    """``out[l] = sum_i weights[i] * rows[i, l]`` for the first ``n_active`` lanes."""
    n = weights.size
    n4 = n // 4 * 4
    for lane in range(n_active):
        out[lane] = 0.0
    for i in range(0, n4, 4):
        x0, x1, x2, x3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        r0, r1, r2, r3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for lane in range(n_active):
            out[lane] += r0[lane] * x0 + r1[lane] * x1 + r2[lane] * x2 + r3[lane] * x3
    for i in range(n4, n):
        x0 = weights[i]
        r0 = rows[i]
        for lane in range(n_active):
            out[lane] += r0[lane] * x0


@njit
def _scaled(trans):
    """``exp(trans - top)`` as [from, to] and as [to, from], and what goes with it.

    Returns
    -------
    forward, backward : ndarray of shape (n_labels, n_labels)
        The factors, and their transpose.
    top : float
        Largest score.
    room : float
        How far the token scores of one step may lie apart.
    forbidden : bool
        Whether a transition is.
    """
    n_labels = trans.shape[0]
    top = -np.inf
    bottom = np.inf
    forbidden = False
    for a in range(n_labels):
        for b in range(n_labels):
            top = max(top, trans[a, b])
            if trans[a, b] == -np.inf:
                forbidden = True
            else:
                bottom = min(bottom, trans[a, b])
    if top == -np.inf:
        top = bottom = 0.0
    room = (_WIDEST_FORBIDDEN if forbidden else _WIDEST) - (top - bottom)
    forward = np.empty((n_labels, n_labels))
    backward = np.empty((n_labels, n_labels))
    for a in range(n_labels):
        for b in range(n_labels):
            forward[a, b] = math.exp(trans[a, b] - top)
            backward[b, a] = forward[a, b]
    return forward, backward, top, room, forbidden


@njit(fastmath={"contract", "reassoc"})
def _forward(unary, backward, room, forbidden, offsets, lanes, local, alpha, work):
    """Forward sweep over one group.

    ``local`` gets the factors of the tokens, ``alpha`` the forward values, scaled to sum to 1 per step. The
    log partition of a lane is the sum of ``shift``, ``exponent`` times log 2 and the log of ``product``;
    ``flag`` is positive where the recursion fails.
    """
    n_steps, n_labels, n_lanes = local.shape
    peak, trough, total = work.peak, work.trough, work.total
    shift, product, exponent, flag = work.shift, work.product, work.exponent, work.flag
    for lane in range(n_lanes):
        shift[lane] = 0.0
        product[lane] = 1.0
        exponent[lane] = 0
        flag[lane] = 0.0
    n_active = n_lanes
    for t in range(n_steps):
        while n_active and offsets[lanes[n_active - 1] + 1] - offsets[lanes[n_active - 1]] <= t:
            n_active -= 1
        if t % _TILE == 0:
            for lane in range(n_active):
                s = lanes[lane]
                for i in range(t, min(t + _TILE, offsets[s + 1] - offsets[s])):
                    row = unary[offsets[s] + i]
                    for b in range(n_labels):
                        local[i, b, lane] = row[b]
        step = local[t]
        highest = peak[:n_active]
        lowest = trough[:n_active]
        highest[:] = -np.inf
        lowest[:] = np.inf
        for b in range(n_labels):
            row = step[b]
            for lane in range(n_active):
                x = row[lane]
                highest[lane] = x if x > highest[lane] else highest[lane]
                x = x if x > -np.inf else np.inf
                lowest[lane] = x if x < lowest[lane] else lowest[lane]
        for lane in range(n_active):
            x = highest[lane]
            flag[lane] += 1.0 if x - lowest[lane] > room else 0.0
            shift[lane] += x
            highest[lane] = x if x > -np.inf else 0.0
            total[lane] = 0.0
        for b in range(n_labels):
            row = step[b]
            for lane in range(n_active):
                row[lane] = _exp(row[lane] - highest[lane])
        for b in range(n_labels):
            row = alpha[t, b]
            e = step[b]
            if t == 0:
                for lane in range(n_active):
                    row[lane] = e[lane]
                    total[lane] += e[lane]
            else:
                combine_rows(row, alpha[t - 1], backward[b], n_active)
                for lane in range(n_active):
                    row[lane] *= e[lane]
                    total[lane] += row[lane]
        for lane in range(n_active):
            c = total[lane]
            usable = c > _TINY
            flag[lane] += 0.0 if usable else 1.0
            total[lane] = 1.0 / c if usable else 0.0
            # The logarithm of all c is taken at the end: exponents add up, mantissas multiply.
            bits = np.float64(product[lane] * (c if usable else 1.0)).view(np.int64)
            exponent[lane] += (bits >> 52) - 1023
            product[lane] = np.int64((bits & _MANTISSA) | _ONE).view(np.float64)
        for b in range(n_labels):
            row = alpha[t, b]
            for lane in range(n_active):
                row[lane] *= total[lane]
            if forbidden:
                for lane in range(n_active):
                    flag[lane] += 1.0 if 0.0 < row[lane] < _SMALL else 0.0


@njit(fastmath={"contract", "reassoc"})
def _backward(forward, offsets, lanes, weights, local, alpha, work, marginals, counts, failed):
    """Backward sweep over one group: token marginals, and expected transitions less their factors.

    ``work.shift`` holds the weights of the lanes, 0 for those that failed. The marginals take the
    place of ``local``.
    """
    n_steps, n_labels, n_lanes = local.shape
    peak, total, shift, beta, below = work.peak, work.total, work.shift, work.beta, work.below
    n_active = 0
    for t in range(n_steps - 1, -1, -1):
        while n_active < n_lanes and offsets[lanes[n_active] + 1] - offsets[lanes[n_active]] > t:
            for a in range(n_labels):  # this lane ends here
                beta[a, n_active] = 0.0 if failed[lanes[n_active]] else 1.0
            n_active += 1
        for b in range(n_labels):
            # The local factor is used for the last time; its place takes the marginal.
            row = beta[b]
            here = alpha[t, b]
            e = local[t, b]
            for lane in range(n_active):
                p = here[lane] * row[lane]
                row[lane] *= e[lane]
                e[lane] = p
        if t % _TILE == 0:
            for lane in range(n_active):
                s = lanes[lane]
                w = weights[s]
                for i in range(t, min(t + _TILE, offsets[s + 1] - offsets[s])):
                    row = marginals[offsets[s] + i]
                    for a in range(n_labels):
                        row[a] = w * local[i, a, lane]
        if t == 0:
            break
        for lane in range(n_active):
            total[lane] = 0.0
        for a in range(n_labels):
            row = below[a]
            combine_rows(row, beta, forward[a], n_active)
            before = alpha[t - 1, a]
            for lane in range(n_active):
                total[lane] += row[lane] * before[lane]
        n_broken = 0
        for lane in range(n_active):
            c = total[lane]
            usable = _TINY < c < np.inf
            n_broken += 0 if usable else 1
            total[lane] = 1.0 / c if usable else 0.0
            peak[lane] = total[lane] * shift[lane]
        if n_broken:
            for lane in range(n_active):
                if total[lane] == 0.0:
                    failed[lanes[lane]] = True
                    shift[lane] = 0.0
                    for a in range(n_labels):
                        below[a, lane] = 0.0
                        beta[a, lane] = 0.0
        for b in range(n_labels):
            row = beta[b]
            for lane in range(n_active):
                row[lane] *= peak[lane]
        for a in range(n_labels):
            before = alpha[t - 1, a]
            for b in range(n_labels):
                row = beta[b]
                c = 0.0
                for lane in range(n_active):
                    c += before[lane] * row[lane]
                counts[a, b] += c
        for a in range(n_labels):
            row = below[a]
            new = beta[a]
            for lane in range(n_active):
                new[lane] = row[lane] * total[lane]


@njit(fastmath={"contract", "reassoc"})
def forward_backward(unary, trans, groups, first, last, weights, sums):
    """Log partitions, token marginals and expected transitions of some groups.

    Parameters
    ----------
    unary : (n_tokens, n_labels)
        Token-label scores; -inf forbids.
    trans : (n_labels, n_labels)
        Transition scores ``[from, to]``; -inf forbids.
    groups : Groups
        Sequences side by side.
    first, last : int
        Groups to do.
    weights : (n_sequences,)
        Factor on the marginals and expected transitions of each sequence.
    sums : Sums
        Outputs. ``unary`` is not the array of scores, which is needed again for failed sequences;
        ``failed`` is True where the scaled recursion met an empty step or might have lost a label.
    """
    offsets, members, group_ptr = groups
    log_z, marginals, trans_sum, failed = sums
    n_labels = unary.shape[1]
    forward, backward, top, room, forbidden = _scaled(trans)
    size = 0
    widest = 0
    for g in range(first, last):
        n_lanes = group_ptr[g + 1] - group_ptr[g]
        s = members[group_ptr[g]]
        size = max(size, (offsets[s + 1] - offsets[s]) * n_lanes)
        widest = max(widest, n_lanes)
    local_buffer = np.empty(size * n_labels)
    alpha_buffer = np.empty(size * n_labels)
    work = _Work(
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
        np.empty(widest, dtype=np.int64),
        np.empty(widest),
        np.empty((n_labels, widest)),
        np.empty((n_labels, widest)),
    )
    counts = np.zeros((n_labels, n_labels))
    for g in range(first, last):
        lanes = members[group_ptr[g] : group_ptr[g + 1]]
        n_lanes = lanes.size
        n_steps = offsets[lanes[0] + 1] - offsets[lanes[0]]
        if n_steps == 0:
            for s in lanes:
                log_z[s] = 0.0
                failed[s] = False
            continue
        local = local_buffer[: n_steps * n_labels * n_lanes].reshape((n_steps, n_labels, n_lanes))
        alpha = alpha_buffer[: n_steps * n_labels * n_lanes].reshape((n_steps, n_labels, n_lanes))
        _forward(unary, backward, room, forbidden, offsets, lanes, local, alpha, work)
        for lane in range(n_lanes):
            s = lanes[lane]
            log_c = math.log(work.product[lane]) + work.exponent[lane] * _LN2
            log_z[s] = work.shift[lane] + log_c + (offsets[s + 1] - offsets[s] - 1) * top
            failed[s] = work.flag[lane] > 0.0
            # From here on the weight of the lane; zero keeps a failed one out of the sums.
            work.shift[lane] = 0.0 if failed[s] else weights[s]
        if marginals.shape[0] > 0:
            _backward(forward, offsets, lanes, weights, local, alpha, work, marginals, counts, failed)
    for a in range(n_labels):
        for b in range(n_labels):
            trans_sum[a, b] += counts[a, b] * forward[a, b]


@njit
def viterbi(unary, trans, offsets, first, last, labels, score):
    """Best label sequences of sequences ``first .. last - 1`` and their scores.

    Ties go to the lexicographically smallest label sequence; -1 where nothing is allowed.
    """
    n_labels = unary.shape[1]
    longest = 0
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    best = np.empty((longest, n_labels))  # score of the label + best continuation
    for s in range(first, last):
        start = offsets[s]
        n_steps = offsets[s + 1] - start
        if n_steps == 0:
            score[s] = 0.0
            continue
        for b in range(n_labels):
            best[n_steps - 1, b] = unary[start + n_steps - 1, b]
        for t in range(n_steps - 2, -1, -1):
            ahead = best[t + 1]
            here = unary[start + t]
            for a in range(n_labels):
                row = trans[a]
                top = row[0] + ahead[0]
                for b in range(1, n_labels):
                    top = max(top, row[b] + ahead[b])
                best[t, a] = here[a] + top
        choice = 0
        for b in range(1, n_labels):
            if best[0, b] > best[0, choice]:
                choice = b
        score[s] = best[0, choice]
        if score[s] == -np.inf:
            labels[start : start + n_steps] = -1
            continue
        labels[start] = choice
        for t in range(1, n_steps):
            row = trans[choice]
            choice = 0
            for b in range(1, n_labels):
                if row[b] + best[t, b] > row[choice] + best[t, choice]:
                    choice = b
            labels[start + t] = choice
