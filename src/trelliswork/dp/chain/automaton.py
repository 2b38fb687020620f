"""Label chains times deterministic loss automata: one layer of automaton states per position.

A node (t, c, q) stands for the labels after token ``t`` when the last labels are the context
``c`` and the automaton is in state ``q``. Numbers are scaled per (t, q), so that no exponential
stands in the inner loop; nodes that nothing reaches are skipped. ``factors`` holds
``exp(trans - top)`` per table, as in :mod:`trelliswork.dp.chain.scaled`.

The automata of all sequences are concatenated: those of sequence ``s`` have ``width[s]`` symbols,
``symbol[s]`` maps labels to them, ``layers[offsets[s] + 2 s + t]`` is the first state after ``t``
tokens (numbered within the sequence), row ``q`` of the tables starts at ``table_ptr[s] + q * width[s]``
and final costs at ``state_ptr[s]``. A sequence whose numbers leave the range of a double is
flagged in ``failed``.
"""

from __future__ import annotations

import math

import numpy as np

from trelliswork._jit import njit

_WIDEST = 300.0  # span of the scores and losses of one step


@njit
def _contexts(level_ptr, t):
    """Range of the contexts that are possible after position ``t``."""
    j = min(t + 1, level_ptr.size - 1)
    return level_ptr[j - 1], level_ptr[j]


@njit
def _places(layer, level_ptr, n_steps):
    """Where the nodes of each position start in flat arrays."""
    place = np.zeros(n_steps + 1, dtype=np.int64)
    for t in range(n_steps):
        lo, hi = _contexts(level_ptr, t)
        place[t + 1] = place[t] + (layer[t + 2] - layer[t + 1]) * (hi - lo)
    return place


@njit
def _reach(layer, step, width, symbol, successor, level_ptr, place, n_steps, n_labels):
    """Which nodes some output goes through."""
    reached = np.zeros(place[n_steps], dtype=np.bool_)
    lo, hi = _contexts(level_ptr, 0)
    for b in range(n_labels):
        q = step[symbol[b]]
        reached[(q - layer[1]) * (hi - lo) + b] = True
    for t in range(n_steps - 1):
        lo, hi = _contexts(level_ptr, t)
        lo2, hi2 = _contexts(level_ptr, t + 1)
        size, size2 = hi - lo, hi2 - lo2
        for q in range(layer[t + 1], layer[t + 2]):
            at = place[t] + (q - layer[t + 1]) * size
            for c in range(size):
                if not reached[at + c]:
                    continue
                base = successor[lo + c, 0] - lo2
                for b in range(n_labels):
                    q2 = step[q * width + symbol[b]]
                    reached[place[t + 1] + (q2 - layer[t + 2]) * size2 + base + b] = True
    return reached


@njit
def _span(values):
    top, bottom = -np.inf, np.inf
    for x in values:
        if x > -np.inf:
            top = max(top, x)
            bottom = min(bottom, x)
    return max(top - bottom, 0.0)


@njit
def _step_factors(unary, t, step, cost, q, width, symbol, scale, shift, out):
    """``out[b]``: factor of label ``b`` at position ``t`` from state ``q``; returns their log scale."""
    top = -np.inf
    for b in range(out.size):
        k = q * width + symbol[b]
        out[b] = unary[t, b] + scale * cost[k] + shift[step[k]]
        top = max(top, out[b])
    if top == -np.inf:
        out[:] = 0.0
        return top
    for b in range(out.size):
        out[b] = math.exp(out[b] - top)
    return top


@njit
def marginals(
    unary,
    factors,
    top,
    room,
    which,
    edge,
    successor,
    level_ptr,
    offsets,
    layers,
    width,
    symbol,
    table_ptr,
    state_ptr,
    step,
    cost,
    final,
    scale,
    risk_law,
    sequences,
    weights,
    log_z,
    risk,
    unary_out,
    trans_out,
    into,
    edge_out,
    failed,
):
    """Log partitions, expected losses and expected parts, times a weight per sequence.

    Parameters
    ----------
    scale : float
        Factor on the loss inside the law ``exp(score + scale * loss)``.
    risk_law : bool
        Expected parts under the law times the loss (normalised), instead of the law itself.
    unary_out, trans_out, edge_out : ndarray
        As in ``marginals`` of ``dp/chain/any_order.py``; with no rows in ``unary_out`` only ``log_z``
        and ``risk``.
    """
    n_labels = unary.shape[1]
    labels_of = np.empty(n_labels)
    with_edge = edge.size > 0
    edge_factor = np.ones((n_labels, n_labels))
    for s in sequences:
        start, n_steps = offsets[s], offsets[s + 1] - offsets[s]
        layer = layers[start + 2 * s : start + 2 * s + n_steps + 2]
        n_symbols = width[s]
        stop = table_ptr[s + 1]
        own_step, own_cost = step[table_ptr[s] : stop], cost[table_ptr[s] : stop]
        end = final[state_ptr[s] : state_ptr[s + 1]]
        names = symbol[s]
        failed[s] = False
        if n_steps == 0:
            log_z[s] = scale * end[0]
            risk[s] = end[0]
            continue
        spread = abs(scale) * (_span(own_cost) + _span(end[layer[n_steps] : layer[n_steps + 1]]))
        table = factors[which[s]]
        limit = room[which[s]]
        own = unary[start : start + n_steps]
        for t in range(n_steps):
            span = _span(own[t]) + spread
            if with_edge and t > 0:
                span += _span(edge[start + t].ravel())
            if span > limit:
                failed[s] = True
        if failed[s]:
            continue
        place = _places(layer, level_ptr, n_steps)
        reached = _reach(layer, own_step, n_symbols, names, successor, level_ptr, place, n_steps, n_labels)
        beta = np.zeros(place[n_steps])
        ahead = np.zeros(place[n_steps])  # expected loss after a node
        shift = np.empty(end.size)  # log scale of the nodes of a state
        t = n_steps - 1
        lo, hi = _contexts(level_ptr, t)
        for q in range(layer[t + 1], layer[t + 2]):
            shift[q] = scale * end[q]
            at = place[t] + (q - layer[t + 1]) * (hi - lo)
            for c in range(hi - lo):
                if reached[at + c]:
                    beta[at + c] = 1.0
                    ahead[at + c] = end[q]
        for t in range(n_steps - 2, -1, -1):
            lo, hi = _contexts(level_ptr, t)
            lo2, hi2 = _contexts(level_ptr, t + 1)
            size, size2 = hi - lo, hi2 - lo2
            edge_top = 0.0
            if with_edge:
                edge_top = -np.inf
                for x in edge[start + t + 1].ravel():
                    edge_top = max(edge_top, x)
                for a in range(n_labels):
                    for b in range(n_labels):
                        edge_factor[a, b] = math.exp(edge[start + t + 1, a, b] - edge_top)
            for q in range(layer[t + 1], layer[t + 2]):
                at = place[t] + (q - layer[t + 1]) * size
                scaled = _step_factors(
                    own, t + 1, own_step, own_cost, q, n_symbols, names, scale, shift, labels_of
                )
                peak = 0.0
                for c in range(size):
                    if not reached[at + c]:
                        continue
                    base = successor[lo + c, 0] - lo2
                    row = table[lo + c]
                    total, loss = 0.0, 0.0
                    for b in range(n_labels):
                        k = q * n_symbols + names[b]
                        node = place[t + 1] + (own_step[k] - layer[t + 2]) * size2 + base + b
                        x = row[b] * labels_of[b] * beta[node]
                        if with_edge:
                            x *= edge_factor[c % n_labels, b]
                        total += x
                        loss += x * (own_cost[k] + ahead[node])
                    beta[at + c] = total
                    ahead[at + c] = loss / total if total > 0.0 else 0.0
                    peak = max(peak, total)
                if peak > 0.0:
                    shift[q] = scaled + math.log(peak) + edge_top
                    for c in range(size):
                        beta[at + c] /= peak
                else:
                    shift[q] = -np.inf
        scaled = _step_factors(own, 0, own_step, own_cost, 0, n_symbols, names, scale, shift, labels_of)
        lo, hi = _contexts(level_ptr, 0)
        total, loss = 0.0, 0.0
        for b in range(n_labels):
            q = own_step[names[b]]
            node = (q - layer[1]) * (hi - lo) + b
            total += labels_of[b] * beta[node]
            loss += labels_of[b] * beta[node] * (own_cost[names[b]] + ahead[node])
        if not total > 0.0:
            failed[s] = True
            continue
        log_z[s] = scaled + math.log(total) + (n_steps - 1) * top[which[s]]
        risk[s] = loss / total
        if unary_out.shape[0] == 0:
            continue
        w = weights[s]
        if risk_law:
            w = w / risk[s] if risk[s] > 0.0 else 0.0
        for i in range(start, start + n_steps):
            unary_out[i] = 0.0
        if edge_out.size:
            edge_out[start : start + n_steps] = 0.0
        out = trans_out[into[s]]
        rho = np.zeros(place[n_steps])
        before = np.zeros(place[n_steps])  # rho times the expected loss up to a node
        for b in range(n_labels):
            k = names[b]
            node = (own_step[k] - layer[1]) * (hi - lo) + b
            p = labels_of[b] * beta[node] / total
            rho[node] += p
            before[node] += p * own_cost[k]
            unary_out[start, b] += w * (p * (own_cost[k] + ahead[node]) if risk_law else p)
        for t in range(n_steps - 1):
            lo, hi = _contexts(level_ptr, t)
            lo2, hi2 = _contexts(level_ptr, t + 1)
            size, size2 = hi - lo, hi2 - lo2
            if with_edge:
                edge_top = -np.inf
                for x in edge[start + t + 1].ravel():
                    edge_top = max(edge_top, x)
                for a in range(n_labels):
                    for b in range(n_labels):
                        edge_factor[a, b] = math.exp(edge[start + t + 1, a, b] - edge_top)
            for q in range(layer[t + 1], layer[t + 2]):
                at = place[t] + (q - layer[t + 1]) * size
                _step_factors(own, t + 1, own_step, own_cost, q, n_symbols, names, scale, shift, labels_of)
                for c in range(size):
                    if rho[at + c] == 0.0:
                        continue
                    base = successor[lo + c, 0] - lo2
                    row = table[lo + c]
                    total = 0.0
                    for b in range(n_labels):
                        node = (
                            place[t + 1]
                            + (own_step[q * n_symbols + names[b]] - layer[t + 2]) * size2
                            + base
                            + b
                        )
                        x = row[b] * labels_of[b] * beta[node]
                        total += x * edge_factor[c % n_labels, b] if with_edge else x
                    share = rho[at + c] / total
                    past = before[at + c] / rho[at + c]
                    target = out[lo + c]
                    for b in range(n_labels):
                        k = q * n_symbols + names[b]
                        node = place[t + 1] + (own_step[k] - layer[t + 2]) * size2 + base + b
                        p = share * row[b] * labels_of[b] * beta[node]
                        if with_edge:
                            p *= edge_factor[c % n_labels, b]
                        if p == 0.0:
                            continue
                        rho[node] += p
                        before[node] += p * (past + own_cost[k])
                        x = w * (p * (past + own_cost[k] + ahead[node]) if risk_law else p)
                        unary_out[start + t + 1, b] += x
                        target[b] += x
                        if edge_out.size:
                            edge_out[start + t + 1, c % n_labels, b] += x


@njit
def viterbi(
    unary,
    trans,
    which,
    edge,
    successor,
    level_ptr,
    offsets,
    layers,
    width,
    symbol,
    table_ptr,
    state_ptr,
    step,
    cost,
    final,
    scale,
    sequences,
    labels,
    score,
):
    """Label sequences with the largest ``score + scale * loss``; -1 where nothing is allowed.

    Ties go to the lexicographically smallest sequence.
    """
    n_labels = unary.shape[1]
    with_edge = edge.size > 0
    for s in sequences:
        start, n_steps = offsets[s], offsets[s + 1] - offsets[s]
        layer = layers[start + 2 * s : start + 2 * s + n_steps + 2]
        n_symbols = width[s]
        own_step = step[table_ptr[s] : table_ptr[s + 1]]
        own_cost = cost[table_ptr[s] : table_ptr[s + 1]]
        end = final[state_ptr[s] : state_ptr[s + 1]]
        names = symbol[s]
        if n_steps == 0:
            score[s] = scale * end[0]
            continue
        table = trans[which[s]]
        place = _places(layer, level_ptr, n_steps)
        reached = _reach(layer, own_step, n_symbols, names, successor, level_ptr, place, n_steps, n_labels)
        best = np.full(place[n_steps], -np.inf)
        choice = np.zeros(place[n_steps], dtype=np.int64)
        t = n_steps - 1
        lo, hi = _contexts(level_ptr, t)
        for q in range(layer[t + 1], layer[t + 2]):
            at = place[t] + (q - layer[t + 1]) * (hi - lo)
            best[at : at + hi - lo] = scale * end[q]
        for t in range(n_steps - 2, -1, -1):
            lo, hi = _contexts(level_ptr, t)
            lo2, hi2 = _contexts(level_ptr, t + 1)
            size, size2 = hi - lo, hi2 - lo2
            for q in range(layer[t + 1], layer[t + 2]):
                at = place[t] + (q - layer[t + 1]) * size
                for c in range(size):
                    if not reached[at + c]:
                        continue
                    base = successor[lo + c, 0] - lo2
                    for b in range(n_labels):
                        k = q * n_symbols + names[b]
                        node = place[t + 1] + (own_step[k] - layer[t + 2]) * size2 + base + b
                        x = table[lo + c, b] + unary[start + t + 1, b] + scale * own_cost[k] + best[node]
                        if with_edge:
                            x += edge[start + t + 1, c % n_labels, b]
                        if x > best[at + c]:
                            best[at + c] = x
                            choice[at + c] = b
        lo, hi = _contexts(level_ptr, 0)
        chosen, top = -1, -np.inf
        for b in range(n_labels):
            node = (own_step[names[b]] - layer[1]) * (hi - lo) + b
            x = unary[start, b] + scale * own_cost[names[b]] + best[node]
            if x > top:
                chosen, top = b, x
        score[s] = top
        if chosen < 0:
            labels[start : start + n_steps] = -1
            continue
        labels[start] = chosen
        q = own_step[names[chosen]]
        c = lo + chosen
        for t in range(n_steps - 1):
            lo, hi = _contexts(level_ptr, t)
            b = choice[place[t] + (q - layer[t + 1]) * (hi - lo) + c - lo]
            labels[start + t + 1] = b
            q = own_step[q * n_symbols + names[b]]
            c = successor[c, b]
