"""Sums over label chains whose contexts are kept as observed, several sequences side by side.

A context makes some steps itself and leaves all others to its suffix (``structures/chain/sparse.py``). Let
``below[q]`` be the probability of all contexts that end like context ``q``. Each of them makes the steps of
``q``, except where a longer suffix makes the same one: so a step of ``q`` adds ``below[q]`` times its factor
to its target, and takes away what the suffix of ``q`` has added for it. That is a sparse product, and the
sweep back is its transpose: a token costs one multiplication per step, not per context and label.

Arrays are laid out ``(context, lane)``; the innermost loops run over lanes, one sequence each. Differences
lose as many digits as a step is smaller than that of its suffix: callers see to it that no step is much
smaller (``dp/chain/sparse.py`` has no such limit).
"""

from __future__ import annotations

import math

import numpy as np

from trelliswork._jit import njit

__all__ = ["LANES", "sums"]

LANES = 8


@njit(fastmath={"contract", "reassoc"})
def _label_factors(unary, offsets, lanes, t, factor, log_z):
    """Exponentials of the scores of token ``t`` of every lane, less the largest, which is added to ``log_z``;
    zero in lanes that have ended.
    """
    for lane in range(LANES):
        i = offsets[lanes[lane]] + t if lane < lanes.size else np.int64(0)
        if lane >= lanes.size or i >= offsets[lanes[lane] + 1]:
            for b in range(factor.shape[0]):
                factor[b, lane] = 0.0
            continue
        highest = -np.inf
        for b in range(factor.shape[0]):
            highest = max(highest, unary[i, b])
        if not highest > -np.inf:
            highest = 0.0
        for b in range(factor.shape[0]):
            factor[b, lane] = math.exp(unary[i, b] - highest)
        log_z[lane] += highest


@njit(fastmath={"contract", "reassoc"})
def _advance(below, order, ptr, target, value, last, factor, alpha, total):
    """Unscaled probabilities of contexts a token later, and their sums by lane."""
    for q in range(last.size):
        for lane in range(LANES):
            alpha[q, lane] = 0.0
    for k in range(order.size):
        q = order[k]
        for e in range(ptr[k], ptr[k + 1]):
            into, x = target[e], value[e]
            for lane in range(LANES):
                alpha[into, lane] += x * below[q, lane]
    for lane in range(LANES):
        total[lane] = 0.0
    for q in range(last.size):
        b = last[q]
        for lane in range(LANES):
            # What differences leave of nothing may be below 0.
            alpha[q, lane] = max(alpha[q, lane], 0.0) * factor[b, lane]
            total[lane] += alpha[q, lane]


@njit(fastmath={"contract", "reassoc"})
def _first(factor, alpha, total):
    """Unscaled probabilities of contexts after the first token."""
    for q in range(alpha.shape[0]):
        for lane in range(LANES):
            alpha[q, lane] = factor[q, lane] if q < factor.shape[0] else 0.0
    for lane in range(LANES):
        total[lane] = 0.0
        for b in range(factor.shape[0]):
            total[lane] += factor[b, lane]


@njit(fastmath={"contract", "reassoc"})
def _gather(alpha, inverse, suffix, below):
    """Scaled probability of every context with all that end like it."""
    for q in range(suffix.size):
        for lane in range(LANES):
            below[q, lane] = alpha[q, lane] * inverse[lane]
    for q in range(suffix.size - 1, -1, -1):  # longer contexts have higher numbers
        s = suffix[q]
        if s >= 0:
            for lane in range(LANES):
                below[s, lane] += below[q, lane]


@njit(fastmath={"contract", "reassoc"})
def _retreat(below, order, ptr, target, value, suffix, last, ahead, beta, share, used):
    """Sums over what follows each context, expected labels and entries.

    ``ahead`` has the sums of the next token with its factors; contexts that end alike have their own part of
    the sum in common, so that ``below`` times this part counts for all of them.
    """
    for b in range(share.shape[0]):
        for lane in range(LANES):
            share[b, lane] = 0.0
    here = np.empty(LANES)
    for k in range(order.size):
        q = order[k]
        s, b = suffix[q], last[q]
        for lane in range(LANES):
            here[lane] = 0.0
        for e in range(ptr[k], ptr[k + 1]):
            into, x = target[e], value[e]
            together = 0.0
            for lane in range(LANES):
                here[lane] += x * ahead[into, lane]
                together += below[q, lane] * ahead[into, lane]
            used[e] += together
        for lane in range(LANES):
            beta[q, lane] = here[lane] + (beta[s, lane] if s >= 0 else 0.0)
            share[b, lane] += below[q, lane] * here[lane]


@njit
def _copy(table, out):
    """Copy (an assignment of arrays takes seconds to compile, for its error message)."""
    for q in range(table.shape[0]):
        for lane in range(LANES):
            out[q, lane] = table[q, lane]


@njit(fastmath={"contract", "reassoc"})
def sums(unary, offsets, entries, value, top, groups, group_range, weights, room, out, used):
    """Log sums of some groups of sequences; expected labels and, times weights, expected entries.

    Parameters
    ----------
    unary : (n_tokens, n_labels)
        Scores of labels.
    offsets : int array
        Tokens of sequences.
    entries : tuple of arrays
        ``suffix`` and ``last`` label of contexts, ``order`` in which they are visited, and ``ptr`` and
        ``target`` of the entries of each.
    value : (n_entries,)
        Factors of entries, less the exponential of ``top``.
    top : float
        Score that the factors lack.
    groups : tuple of int arrays
        Sequences of all groups, and where those of each begin: no more in a group than there are lanes.
    group_range : pair of int
        First group to do, and the one after the last.
    weights : (n_sequences,)
        Factor on expectations.
    room : int
        Tokens whose probabilities are kept; those of longer sequences are computed twice.
    out : tuple of arrays
        Outputs: log sums, expected labels (without rows the log sums alone), and marks of sequences whose
        probabilities leave the range of numbers.
    used : (n_entries,)
        Output, to which expected entries, without their factors, are added.
    """
    suffix, last, order, ptr, target = entries
    members, group_ptr = groups
    first_group, stop_group = group_range
    log_z, unary_out, failed = out
    n, n_labels = suffix.size, unary.shape[1]
    longest = np.int64(0)
    for s in members[group_ptr[first_group] : group_ptr[stop_group]]:
        longest = max(longest, offsets[s + 1] - offsets[s])
    size, n_parts = np.int64(1), np.int64(0)
    if unary_out.shape[0]:
        size = min(room, max(longest, np.int64(1)))
        n_parts = (longest + size - 1) // size
    kept, starts = np.empty((size, n, LANES)), np.empty((n_parts, n, LANES))
    alpha, beta, ahead = np.empty((n, LANES)), np.empty((n, LANES)), np.empty((n, LANES))
    factor, share = np.empty((n_labels, LANES)), np.empty((n_labels, LANES))
    total, inverse = np.empty(LANES), np.empty((longest, LANES))
    log_sum, unread = np.zeros(LANES), np.zeros(LANES)
    for g in range(first_group, stop_group):
        lanes = members[group_ptr[g] : group_ptr[g + 1]]
        n_steps = np.int64(0)
        for s in lanes:
            n_steps = max(n_steps, offsets[s + 1] - offsets[s])
            failed[s] = False
        for lane in range(LANES):
            log_sum[lane] = 0.0
        for t in range(n_steps):
            _label_factors(unary, offsets, lanes, t, factor, log_sum)
            if t == 0:
                _first(factor, alpha, total)
            else:
                _advance(kept[(t - 1) % size], order, ptr, target, value, last, factor, alpha, total)
            for lane in range(LANES):
                inverse[t, lane] = 0.0
                if lane < lanes.size and t < offsets[lanes[lane] + 1] - offsets[lanes[lane]]:
                    if 1e-200 < total[lane] < 1e200:
                        inverse[t, lane] = 1.0 / total[lane]
                        log_sum[lane] += math.log(total[lane]) + (top if t else 0.0)
                    else:
                        failed[lanes[lane]] = True
            _gather(alpha, inverse[t], suffix, kept[t % size])
            if t % size == 0 and starts.shape[0]:
                _copy(kept[0], starts[t // size])
        for lane in range(lanes.size):
            log_z[lanes[lane]] = log_sum[lane]
        if not unary_out.shape[0]:
            continue
        have = (n_steps - 1) // size if n_steps else n_steps  # the part of the steps that is kept
        for t in range(n_steps - 1, -1, -1):
            if t // size != have:
                have = t // size
                _copy(starts[have], kept[0])
                for u in range(have * size + 1, (have + 1) * size):
                    _label_factors(unary, offsets, lanes, u, factor, unread)
                    _advance(kept[(u - 1) % size], order, ptr, target, value, last, factor, alpha, total)
                    _gather(alpha, inverse[u], suffix, kept[u % size])
            below = kept[t % size]
            if t < n_steps - 1:
                _retreat(below, order, ptr, target, value, suffix, last, ahead, beta, share, used)
            for lane in range(lanes.size):
                s = lanes[lane]
                if t == offsets[s + 1] - offsets[s] - 1:
                    weight = 0.0 if failed[s] else weights[s]
                    for q in range(n):
                        beta[q, lane] = weight
                    for b in range(n_labels):
                        share[b, lane] = weight * below[b, lane]
                if t < offsets[s + 1] - offsets[s]:
                    for b in range(n_labels):
                        unary_out[offsets[s] + t, b] = share[b, lane]
            if t == n_steps - 1:  # lanes that have ended before, or that are empty
                for lane in range(LANES):
                    if lane >= lanes.size or offsets[lanes[lane] + 1] - offsets[lanes[lane]] != n_steps:
                        for q in range(n):
                            beta[q, lane] = 0.0
            _label_factors(unary, offsets, lanes, t, factor, unread)
            for q in range(n):
                b = last[q]
                for lane in range(LANES):
                    ahead[q, lane] = factor[b, lane] * inverse[t, lane] * beta[q, lane]
