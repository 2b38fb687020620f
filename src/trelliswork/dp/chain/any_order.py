"""Label chains of any order, in log space: the general and the reference case.

A *context* is the tuple of the last ``order`` labels (fewer near the start).
Contexts of length 1 come first, then those of length 2, and so on;
``level_ptr[j - 1]:level_ptr[j]`` are the contexts of length ``j``, in lexicographic
order, and ``successor[c, b]`` is the context after label ``b``. A step scores

    unary[t, b] + trans[which[s], c, b] + edge[t, last labels of c, b]

with ``trans`` either shared (one row) or one row per sequence, and ``edge``
present only when its first dimension is not zero; its second tells how many contexts,
by their last labels, it tells apart. The first label of a sequence
scores ``unary[0, b]`` alone. Forbidden parts are -inf.

Arguments are grouped as in ``dp/chain/trellis.py``.

Tie rule of every maximisation: the lexicographically smallest label sequence.
"""

from __future__ import annotations

import math

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.room import longest_of


@njit
def _level(level_ptr, t):
    """Range of the contexts that are possible after position ``t``."""
    j = min(t + 1, level_ptr.size - 1)
    return level_ptr[j - 1], level_ptr[j]


@njit
def _step_scores(unary, trans, edge, t, c, base, out):
    """Scores of every label at position ``t`` after context ``c`` (rows of one sequence)."""
    n_labels = unary.shape[1]
    if edge.shape[0]:
        a = (c - base) % edge.shape[1]
        for b in range(n_labels):
            out[b] = unary[t, b] + trans[c, b] + edge[t, a, b]
    else:
        for b in range(n_labels):
            out[b] = unary[t, b] + trans[c, b]


@njit
def _fill_log_beta(unary, trans, edge, successor, level_ptr, log_beta, step):
    """Log sums over all continuations; returns log Z of one sequence."""
    n_steps, n_labels = unary.shape
    if n_steps == 0:
        return 0.0
    lo, hi = _level(level_ptr, n_steps - 1)
    for c in range(lo, hi):
        log_beta[n_steps - 1, c] = 0.0
    for t in range(n_steps - 2, -1, -1):
        lo, hi = _level(level_ptr, t)
        for c in range(lo, hi):
            _step_scores(unary, trans, edge, t + 1, c, lo, step)
            top = -np.inf
            for b in range(n_labels):
                step[b] += log_beta[t + 1, successor[c, b]]
                top = max(top, step[b])
            if top == -np.inf:
                log_beta[t, c] = top
                continue
            total = 0.0
            for b in range(n_labels):
                total += math.exp(step[b] - top)
            log_beta[t, c] = top + math.log(total)
    top = -np.inf
    for b in range(n_labels):
        step[b] = unary[0, b] + log_beta[0, b]
        top = max(top, step[b])
    if top == -np.inf:
        return top
    total = 0.0
    for b in range(n_labels):
        total += math.exp(step[b] - top)
    return top + math.log(total)


@njit
def _fill_best(unary, trans, edge, successor, level_ptr, best, step):
    """Best score over all continuations; returns the best score of one sequence."""
    n_steps, n_labels = unary.shape
    if n_steps == 0:
        return 0.0
    lo, hi = _level(level_ptr, n_steps - 1)
    for c in range(lo, hi):
        best[n_steps - 1, c] = 0.0
    for t in range(n_steps - 2, -1, -1):
        lo, hi = _level(level_ptr, t)
        for c in range(lo, hi):
            _step_scores(unary, trans, edge, t + 1, c, lo, step)
            top = -np.inf
            for b in range(n_labels):
                top = max(top, step[b] + best[t + 1, successor[c, b]])
            best[t, c] = top
    top = -np.inf
    for b in range(n_labels):
        top = max(top, unary[0, b] + best[0, b])
    return top


@njit
def inside(trellis, contexts, sequences, log_z):
    """Log partition of each of ``sequences`` (-inf where nothing is allowed)."""
    unary, trans, which, edge = trellis
    successor, level_ptr, offsets = contexts
    n_labels = unary.shape[1]
    table = np.empty((longest_of(offsets, sequences), successor.shape[0]))
    step = np.empty(n_labels)
    for s in sequences:
        lo, hi = offsets[s], offsets[s + 1]
        edges = edge[lo:hi] if edge.shape[0] else edge
        log_z[s] = _fill_log_beta(unary[lo:hi], trans[which[s]], edges, successor, level_ptr, table, step)


@njit
def marginals(trellis, contexts, sequences, weights, log_z, expected):
    """Log partitions and expected use of every part, times a weight per sequence.

    ``expected.unary`` may be ``trellis.unary`` itself.
    """
    unary, trans, which, edge = trellis
    successor, level_ptr, offsets = contexts
    unary_out, trans_out, into, edge_out = expected
    n_labels = unary.shape[1]
    n_contexts = successor.shape[0]
    longest = longest_of(offsets, sequences)
    log_beta = np.empty((longest, n_contexts))
    rows = np.empty((longest, n_labels))
    step = np.empty(n_labels)
    rho = np.zeros(n_contexts)
    ahead = np.zeros(n_contexts)
    for s in sequences:
        lo, hi = offsets[s], offsets[s + 1]
        n_steps = hi - lo
        edges = edge[lo:hi] if edge.shape[0] else edge
        for t in range(n_steps):
            for b in range(n_labels):
                rows[t, b] = unary[lo + t, b]
        u = rows[:n_steps]
        log_z[s] = _fill_log_beta(u, trans[which[s]], edges, successor, level_ptr, log_beta, step)
        unary_out[lo:hi] = 0.0
        if edge.shape[0]:
            edge_out[lo:hi] = 0.0
        if n_steps == 0 or log_z[s] == -np.inf:
            continue
        out = trans_out[into[s]]
        for b in range(n_labels):
            rho[b] = weights[s] * math.exp(u[0, b] + log_beta[0, b] - log_z[s])
            unary_out[lo, b] = rho[b]
        for t in range(1, n_steps):
            first, stop = _level(level_ptr, t - 1)
            new_first, new_stop = _level(level_ptr, t)
            ahead[new_first:new_stop] = 0.0
            for c in range(first, stop):
                if rho[c] == 0.0 or log_beta[t - 1, c] == -np.inf:
                    continue
                _step_scores(u, trans[which[s]], edges, t, c, first, step)
                for b in range(n_labels):
                    d = successor[c, b]
                    p = rho[c] * math.exp(step[b] + log_beta[t, d] - log_beta[t - 1, c])
                    ahead[d] += p
                    unary_out[lo + t, b] += p
                    out[c, b] += p
                    if edge.shape[0]:
                        edge_out[lo + t, (c - first) % edge_out.shape[1], b] += p
            rho, ahead = ahead, rho


@njit
def tangent(trellis, direction, contexts, sequences, weights, slope, expected):
    """Derivative of the weighted marginals along a direction in part scores.

    The direction is a trellis too. ``slope[s]`` becomes the derivative of log Z of sequence ``s`` (not
    weighted). ``expected`` gets the derivatives; its ``unary`` must not be ``trellis.unary``.
    """
    unary, trans, which, edge = trellis
    successor, level_ptr, offsets = contexts
    d_unary, d_trans, d_which, d_edge = direction
    unary_out, trans_out, into, edge_out = expected
    n_labels = unary.shape[1]
    n_contexts = successor.shape[0]
    longest = longest_of(offsets, sequences)
    log_beta = np.empty((longest, n_contexts))
    up = np.empty((longest, n_contexts))  # a(v) of the sweep towards the start
    step = np.empty(n_labels)
    d_step = np.empty(n_labels)
    rho = np.zeros(n_contexts)
    d_rho = np.zeros(n_contexts)
    ahead = np.zeros(n_contexts)
    d_ahead = np.zeros(n_contexts)
    for s in sequences:
        lo, hi = offsets[s], offsets[s + 1]
        n_steps = hi - lo
        edges = edge[lo:hi] if edge.shape[0] else edge
        d_edges = d_edge[lo:hi] if d_edge.shape[0] else d_edge
        u, du = unary[lo:hi], d_unary[lo:hi]
        table, d_table = trans[which[s]], d_trans[d_which[s]]
        log_z = _fill_log_beta(u, table, edges, successor, level_ptr, log_beta, step)
        unary_out[lo:hi] = 0.0
        if edge_out.shape[0]:
            edge_out[lo:hi] = 0.0
        slope[s] = 0.0
        if n_steps == 0 or log_z == -np.inf:
            continue
        first, stop = _level(level_ptr, n_steps - 1)
        up[n_steps - 1, first:stop] = 0.0
        for t in range(n_steps - 2, -1, -1):
            first, stop = _level(level_ptr, t)
            for c in range(first, stop):
                up[t, c] = 0.0
                if log_beta[t, c] == -np.inf:
                    continue
                _step_scores(u, table, edges, t + 1, c, first, step)
                _step_scores(du, d_table, d_edges, t + 1, c, first, d_step)
                for b in range(n_labels):
                    d = successor[c, b]
                    p = math.exp(step[b] + log_beta[t + 1, d] - log_beta[t, c])
                    if p > 0.0:
                        up[t, c] += p * (d_step[b] + up[t + 1, d])
        for b in range(n_labels):
            rho[b] = math.exp(u[0, b] + log_beta[0, b] - log_z)
            if rho[b] > 0.0:
                slope[s] += rho[b] * (du[0, b] + up[0, b])
        w = weights[s]
        for b in range(n_labels):
            d_rho[b] = rho[b] * (du[0, b] + up[0, b] - slope[s]) if rho[b] > 0.0 else 0.0
            unary_out[lo, b] = w * d_rho[b]
        out = trans_out[into[s]]
        for t in range(1, n_steps):
            first, stop = _level(level_ptr, t - 1)
            new_first, new_stop = _level(level_ptr, t)
            ahead[new_first:new_stop] = 0.0
            d_ahead[new_first:new_stop] = 0.0
            for c in range(first, stop):
                if rho[c] == 0.0 or log_beta[t - 1, c] == -np.inf:
                    continue
                _step_scores(u, table, edges, t, c, first, step)
                _step_scores(du, d_table, d_edges, t, c, first, d_step)
                for b in range(n_labels):
                    d = successor[c, b]
                    p = math.exp(step[b] + log_beta[t, d] - log_beta[t - 1, c])
                    if p == 0.0:
                        continue
                    change = d_rho[c] * p + rho[c] * p * (d_step[b] + up[t, d] - up[t - 1, c])
                    ahead[d] += rho[c] * p
                    d_ahead[d] += change
                    unary_out[lo + t, b] += w * change
                    out[c, b] += w * change
                    if edge_out.shape[0]:
                        edge_out[lo + t, (c - first) % edge_out.shape[1], b] += w * change
            rho, ahead = ahead, rho
            d_rho, d_ahead = d_ahead, d_rho


@njit
def viterbi(trellis, contexts, sequences, labels, score):
    """Best label sequences into ``labels`` (-1 where nothing is allowed) and their scores."""
    unary, trans, which, edge = trellis
    successor, level_ptr, offsets = contexts
    n_labels = unary.shape[1]
    best = np.empty((longest_of(offsets, sequences), successor.shape[0]))
    step = np.empty(n_labels)
    for s in sequences:
        lo, hi = offsets[s], offsets[s + 1]
        edges = edge[lo:hi] if edge.shape[0] else edge
        u, table = unary[lo:hi], trans[which[s]]
        score[s] = _fill_best(u, table, edges, successor, level_ptr, best, step)
        if score[s] == -np.inf:
            labels[lo:hi] = -1
            continue
        c = 0
        for t in range(hi - lo):
            if t == 0:
                for b in range(n_labels):
                    step[b] = u[0, b] + best[0, b]
            else:
                first, _ = _level(level_ptr, t - 1)
                _step_scores(u, table, edges, t, c, first, step)
                for b in range(n_labels):
                    step[b] += best[t, successor[c, b]]
            choice = 0
            for b in range(1, n_labels):
                if step[b] > step[choice]:
                    choice = b
            labels[lo + t] = choice
            c = choice if t == 0 else successor[c, choice]


@njit
def sample(trellis, contexts, sequences, uniforms, labels):
    """Draw label sequences: ``labels[r]`` from the uniforms ``uniforms[r]`` (one per token)."""
    unary, trans, which, edge = trellis
    successor, level_ptr, offsets = contexts
    n_labels = unary.shape[1]
    log_beta = np.empty((longest_of(offsets, sequences), successor.shape[0]))
    step = np.empty(n_labels)
    for s in sequences:
        lo, hi = offsets[s], offsets[s + 1]
        edges = edge[lo:hi] if edge.shape[0] else edge
        u, table = unary[lo:hi], trans[which[s]]
        log_z = _fill_log_beta(u, table, edges, successor, level_ptr, log_beta, step)
        for r in range(uniforms.shape[0]):
            if log_z == -np.inf:
                labels[r, lo:hi] = -1
                continue
            c = 0
            for t in range(hi - lo):
                norm = log_z
                if t == 0:
                    for b in range(n_labels):
                        step[b] = u[0, b] + log_beta[0, b]
                else:
                    first, _ = _level(level_ptr, t - 1)
                    _step_scores(u, table, edges, t, c, first, step)
                    for b in range(n_labels):
                        step[b] += log_beta[t, successor[c, b]]
                    norm = log_beta[t - 1, c]
                left = uniforms[r, lo + t]
                choice = -1
                for b in range(n_labels):
                    if step[b] == -np.inf:
                        continue
                    choice = b  # rounding can leave a remainder: then the last possible label
                    left -= math.exp(step[b] - norm)
                    if left < 0.0:
                        break
                labels[r, lo + t] = choice
                c = choice if t == 0 else successor[c, choice]


@njit
def _before(key, depth, i, j):
    """Heap order: higher score, then the longer prefix, then the older node."""
    if key[i] != key[j]:
        return key[i] > key[j]
    if depth[i] != depth[j]:
        return depth[i] > depth[j]
    return i < j


@njit
def _push(heap, n_heap, node, key, depth):
    i = n_heap
    heap[i] = node
    while i > 0:
        above = (i - 1) // 2
        if not _before(key, depth, heap[i], heap[above]):
            break
        heap[i], heap[above] = heap[above], heap[i]
        i = above


@njit
def _pop(heap, n_heap, key, depth):
    node = heap[0]
    n_heap -= 1
    heap[0] = heap[n_heap]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n_heap:
            break
        if child + 1 < n_heap and _before(key, depth, heap[child + 1], heap[child]):
            child += 1
        if not _before(key, depth, heap[child], heap[i]):
            break
        heap[i], heap[child] = heap[child], heap[i]
        i = child
    return node


@njit
def kbest(unary, trans, edge, successor, level_ptr, k):
    """The ``k`` best label sequences of one sequence, best first.

    Best-first search over prefixes with the exact best continuation as heuristic.
    The key of a child is its parent's key less what is lost by not taking the best
    label, so keys never rise along a path, the best child inherits its parent's key
    to the bit, and (longer prefixes first among equals) every answer costs one
    straight descent: at most ``k * n_steps`` expansions, ties included.

    Returns
    -------
    labels : (n_found, n_steps)
    score : (n_found,)
    """
    n_steps, n_labels = unary.shape
    best = np.empty((max(n_steps, 1), successor.shape[0]))
    step = np.empty(n_labels)
    top = _fill_best(unary, trans, edge, successor, level_ptr, best, step)
    labels = np.empty((k, n_steps), dtype=np.int64)
    score = np.empty(k)
    if n_steps == 0:
        score[0] = 0.0
        return labels[:1], score[:1]
    if top == -np.inf:
        return labels[:0], score[:0]
    size = 64
    key = np.empty(size)
    label = np.empty(size, dtype=np.int64)
    parent = np.empty(size, dtype=np.int64)
    context = np.empty(size, dtype=np.int64)
    depth = np.empty(size, dtype=np.int64)
    heap = np.empty(size, dtype=np.int64)
    n_nodes = np.int64(0)
    n_heap = np.int64(0)
    n_found = 0
    current = -1
    while True:
        t = 0 if current < 0 else depth[current] + 1
        if t == n_steps:
            score[n_found] = key[current]
            node = current
            for i in range(n_steps - 1, -1, -1):
                labels[n_found, i] = label[node]
                node = parent[node]
            n_found += 1
            if n_found == k:
                break
        else:
            if n_nodes + n_labels > size:
                size = 2 * (size + n_labels)
                key = _grown_floats(key, size)
                label = _grown(label, size)
                parent = _grown(parent, size)
                context = _grown(context, size)
                depth = _grown(depth, size)
                heap = _grown(heap, size)
            if t == 0:
                for b in range(n_labels):
                    step[b] = unary[0, b] + best[0, b]
            else:
                first, _ = _level(level_ptr, t - 1)
                _step_scores(unary, trans, edge, t, context[current], first, step)
                for b in range(n_labels):
                    step[b] += best[t, successor[context[current], b]]
            highest = step[0]
            for b in range(1, n_labels):
                highest = max(highest, step[b])
            inherited = top if current < 0 else key[current]
            for b in range(n_labels):
                if step[b] == -np.inf:
                    continue
                key[n_nodes] = inherited - (highest - step[b])
                label[n_nodes], parent[n_nodes], depth[n_nodes] = b, current, t
                context[n_nodes] = b if t == 0 else successor[context[current], b]
                _push(heap, n_heap, n_nodes, key, depth)
                n_nodes += 1
                n_heap += 1
        if n_heap == 0:
            break
        current = _pop(heap, n_heap, key, depth)
        n_heap -= 1
    return labels[:n_found], score[:n_found]


@njit
def _grown(old, size):
    new = np.empty(size, dtype=np.int64)
    for i in range(old.size):
        new[i] = old[i]
    return new


@njit
def _grown_floats(old, size):
    new = np.empty(size)
    for i in range(old.size):
        new[i] = old[i]
    return new
