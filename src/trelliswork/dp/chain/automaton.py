"""Label chains times deterministic loss automata: one layer of automaton states per position.

A node (t, c, q) stands for the labels after token ``t`` when the last labels are the context
``c`` and the automaton is in state ``q``. Numbers are scaled per (t, q), so that no exponential
stands in the inner loop; nodes that nothing reaches are skipped. ``factors`` holds
``exp(trans - top)`` per table, as in :mod:`trelliswork.dp.chain.scaled`.

The automata of all sequences are concatenated: those of sequence ``s`` have ``width[s]`` symbols,
``symbol[s]`` maps labels to them, ``layers[offsets[s] + 2 s + t]`` is the first state after ``t``
tokens (numbered within the sequence), row ``q`` of the tables starts at ``table_ptr[s] + q * width[s]``
and final costs at ``state_ptr[s]``. A sequence whose numbers leave the range of a double is
flagged in ``failed``. Arguments are grouped as in ``dp/chain/trellis.py``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trelliswork._jit import njit


class _Automaton(NamedTuple):
    """The automaton of one sequence: first states of layers, symbols of labels, tables, final costs."""

    layer: np.ndarray
    width: int
    symbol: np.ndarray
    step: np.ndarray
    cost: np.ndarray
    final: np.ndarray


class _Law(NamedTuple):
    """The law of one sequence: label scores, transition factors, scores of label pairs, weight of a loss."""

    unary: np.ndarray
    table: np.ndarray
    edge: np.ndarray
    scale: float


class _Nodes(NamedTuple):
    """Nodes of one sequence: where those of each position start, which are reached, sums after them.

    ``beta`` is the scaled sum over what can follow a node, ``ahead`` the expected loss of it, and ``shift``
    the log scale of the nodes of a state.
    """

    place: np.ndarray
    reached: np.ndarray
    beta: np.ndarray
    ahead: np.ndarray
    shift: np.ndarray


@njit
def _automaton(automata, offsets, s):
    """The automaton of sequence ``s``."""
    start = offsets[s] + 2 * s
    tables = slice(automata.table_ptr[s], automata.table_ptr[s + 1])
    return _Automaton(
        automata.layers[start : start + offsets[s + 1] - offsets[s] + 2],
        automata.width[s],
        automata.symbol[s],
        automata.step[tables],
        automata.cost[tables],
        automata.final[automata.state_ptr[s] : automata.state_ptr[s + 1]],
    )


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
def _reach(automaton, successor, level_ptr, place, n_steps, n_labels):
    """Which nodes some output goes through."""
    layer, width, symbol, step, _, _ = automaton
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
            first = place[t] + (q - layer[t + 1]) * size
            for c in range(size):
                if not reached[first + c]:
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
def _too_wide(law, automaton, room):
    """Whether the scores and losses of a step lie too far apart for scaled numbers."""
    unary, _, edge, scale = law
    n_steps = unary.shape[0]
    layer, final = automaton.layer, automaton.final
    spread = abs(scale) * (_span(automaton.cost) + _span(final[layer[n_steps] : layer[n_steps + 1]]))
    for t in range(n_steps):
        span = _span(unary[t]) + spread
        if edge.size and t > 0:
            span += _span(edge[t].ravel())
        if span > room:
            return True
    return False


@njit
def _label_factors(law, t, automaton, q, shift, out):
    """``out[b]``: factor of label ``b`` at position ``t`` from state ``q``; returns their log scale."""
    top = -np.inf
    for b in range(out.size):
        k = q * automaton.width + automaton.symbol[b]
        out[b] = law.unary[t, b] + law.scale * automaton.cost[k] + shift[automaton.step[k]]
        top = max(top, out[b])
    if top == -np.inf:
        out[:] = 0.0
        return top
    for b in range(out.size):
        out[b] = math.exp(out[b] - top)
    return top


@njit
def _edge_factors(edge, t, out):
    """``out[a, b]``: factor of label ``b`` at position ``t`` after label ``a``; returns their log scale."""
    top = -np.inf
    for x in edge[t].ravel():
        top = max(top, x)
    for a in range(out.shape[0]):
        for b in range(out.shape[1]):
            out[a, b] = math.exp(edge[t, a, b] - top)
    return top


@njit
def _backward(law, successor, level_ptr, automaton, of_label, of_edge):
    """Sums over what can follow each node, from the last position to the first."""
    unary, table, edge, scale = law
    n_steps, n_labels = unary.shape
    layer, width, symbol, step, cost, final = automaton
    place = _places(layer, level_ptr, n_steps)
    reached = _reach(automaton, successor, level_ptr, place, n_steps, n_labels)
    beta, ahead, shift = np.zeros(place[n_steps]), np.zeros(place[n_steps]), np.empty(final.size)
    t = n_steps - 1
    lo, hi = _contexts(level_ptr, t)
    for q in range(layer[t + 1], layer[t + 2]):
        shift[q] = scale * final[q]
        first = place[t] + (q - layer[t + 1]) * (hi - lo)
        for c in range(hi - lo):
            if reached[first + c]:
                beta[first + c] = 1.0
                ahead[first + c] = final[q]
    for t in range(n_steps - 2, -1, -1):
        lo, hi = _contexts(level_ptr, t)
        lo2, hi2 = _contexts(level_ptr, t + 1)
        size, size2 = hi - lo, hi2 - lo2
        edge_top = _edge_factors(edge, t + 1, of_edge) if edge.size else 0.0
        for q in range(layer[t + 1], layer[t + 2]):
            first = place[t] + (q - layer[t + 1]) * size
            label_top = _label_factors(law, t + 1, automaton, q, shift, of_label)
            peak = 0.0
            for c in range(size):
                if not reached[first + c]:
                    continue
                base = successor[lo + c, 0] - lo2
                row = table[lo + c]
                total, loss = 0.0, 0.0
                for b in range(n_labels):
                    k = q * width + symbol[b]
                    node = place[t + 1] + (step[k] - layer[t + 2]) * size2 + base + b
                    x = row[b] * of_label[b] * beta[node]
                    if edge.size:
                        x *= of_edge[c % n_labels, b]
                    total += x
                    loss += x * (cost[k] + ahead[node])
                beta[first + c] = total
                ahead[first + c] = loss / total if total > 0.0 else 0.0
                peak = max(peak, total)
            if peak > 0.0:
                shift[q] = label_top + math.log(peak) + edge_top
                for c in range(size):
                    beta[first + c] /= peak
            else:
                shift[q] = -np.inf
    return _Nodes(place, reached, beta, ahead, shift)


@njit
def _forward(law, contexts, automaton, nodes, risk_law, weight, of_label, of_edge, expected, s):
    """Expected parts of sequence ``s``, from the first position to the last, times ``weight``.

    ``of_label`` holds the factors of the first labels.
    """
    unary, table, edge, _ = law
    successor, level_ptr, offsets = contexts
    layer, width, symbol, step, cost, _ = automaton
    place, _, beta, ahead, shift = nodes
    start = offsets[s]
    n_steps, n_labels = unary.shape
    unary_out, trans_out, edge_out = expected.unary, expected.trans[expected.into[s]], expected.edge
    for i in range(start, start + n_steps):
        unary_out[i] = 0.0
    if edge_out.size:
        edge_out[start : start + n_steps] = 0.0
    rho = np.zeros(place[n_steps])
    before = np.zeros(place[n_steps])  # rho times the expected loss up to a node
    lo, hi = _contexts(level_ptr, 0)
    total = 0.0
    for b in range(n_labels):
        total += of_label[b] * beta[(step[symbol[b]] - layer[1]) * (hi - lo) + b]
    for b in range(n_labels):
        k = symbol[b]
        node = (step[k] - layer[1]) * (hi - lo) + b
        p = of_label[b] * beta[node] / total
        rho[node] += p
        before[node] += p * cost[k]
        unary_out[start, b] += weight * (p * (cost[k] + ahead[node]) if risk_law else p)
    for t in range(n_steps - 1):
        lo, hi = _contexts(level_ptr, t)
        lo2, hi2 = _contexts(level_ptr, t + 1)
        size, size2 = hi - lo, hi2 - lo2
        if edge.size:
            _edge_factors(edge, t + 1, of_edge)
        for q in range(layer[t + 1], layer[t + 2]):
            first = place[t] + (q - layer[t + 1]) * size
            _label_factors(law, t + 1, automaton, q, shift, of_label)
            for c in range(size):
                if rho[first + c] == 0.0:
                    continue
                base = successor[lo + c, 0] - lo2
                row = table[lo + c]
                total = 0.0
                for b in range(n_labels):
                    q2 = step[q * width + symbol[b]]
                    node = place[t + 1] + (q2 - layer[t + 2]) * size2 + base + b
                    x = row[b] * of_label[b] * beta[node]
                    total += x * of_edge[c % n_labels, b] if edge.size else x
                share = rho[first + c] / total
                past = before[first + c] / rho[first + c]
                target = trans_out[lo + c]
                for b in range(n_labels):
                    k = q * width + symbol[b]
                    node = place[t + 1] + (step[k] - layer[t + 2]) * size2 + base + b
                    p = share * row[b] * of_label[b] * beta[node]
                    if edge.size:
                        p *= of_edge[c % n_labels, b]
                    if p == 0.0:
                        continue
                    rho[node] += p
                    before[node] += p * (past + cost[k])
                    x = weight * (p * (past + cost[k] + ahead[node]) if risk_law else p)
                    unary_out[start + t + 1, b] += x
                    target[b] += x
                    if edge_out.size:
                        edge_out[start + t + 1, c % n_labels, b] += x


@njit
def marginals(
    trellis, edge, contexts, automata, scale, risk_law, sequences, weights, log_z, risk, expected, failed
):
    """Log partitions, expected losses and expected parts, times a weight per sequence.

    Parameters
    ----------
    trellis : ScaledTrellis
        Scores of labels, factors of transitions.
    edge : ndarray
        Scores of labels after labels, or empty.
    contexts : Contexts
        Contexts of labels; tokens of the sequences.
    automata : Automata
        One per sequence.
    scale : float
        Factor on the loss inside the law ``exp(score + scale * loss)``.
    risk_law : bool
        Expected parts under the law times the loss (normalised), instead of the law itself.
    sequences, weights : ndarray
        Sequences to do; weight of each sequence.
    log_z, risk : ndarray of shape (n_sequences,)
        Outputs.
    expected : Expected
        Output; with no rows in ``unary`` only ``log_z`` and ``risk`` are computed.
    failed : ndarray of bool
        Output.
    """
    n_labels = trellis.unary.shape[1]
    offsets = contexts.offsets
    of_label, of_edge = np.empty(n_labels), np.ones((n_labels, n_labels))
    for s in sequences:
        start, stop = offsets[s], offsets[s + 1]
        automaton = _automaton(automata, offsets, s)
        failed[s] = False
        if start == stop:
            log_z[s] = scale * automaton.final[0]
            risk[s] = automaton.final[0]
            continue
        edges = edge[start:stop] if edge.size else edge
        law = _Law(trellis.unary[start:stop], trellis.factors[trellis.which[s]], edges, scale)
        failed[s] = _too_wide(law, automaton, trellis.room[trellis.which[s]])
        if failed[s]:
            continue
        nodes = _backward(law, contexts.successor, contexts.level_ptr, automaton, of_label, of_edge)
        top = _label_factors(law, 0, automaton, 0, nodes.shift, of_label)
        lo, hi = _contexts(contexts.level_ptr, 0)
        total, loss = 0.0, 0.0
        for b in range(n_labels):
            k = automaton.symbol[b]
            node = (automaton.step[k] - automaton.layer[1]) * (hi - lo) + b
            total += of_label[b] * nodes.beta[node]
            loss += of_label[b] * nodes.beta[node] * (automaton.cost[k] + nodes.ahead[node])
        if not total > 0.0:
            failed[s] = True
            continue
        log_z[s] = top + math.log(total) + (stop - start - 1) * trellis.top[trellis.which[s]]
        risk[s] = loss / total
        if expected.unary.shape[0] == 0:
            continue
        weight = weights[s]
        if risk_law:
            weight = weight / risk[s] if risk[s] > 0.0 else 0.0
        _forward(law, contexts, automaton, nodes, risk_law, weight, of_label, of_edge, expected, s)


@njit
def viterbi(trellis, contexts, automata, scale, sequences, labels, score):
    """Label sequences with the largest ``score + scale * loss``; -1 where nothing is allowed.

    Ties go to the lexicographically smallest sequence.
    """
    unary, trans, which, edge = trellis
    successor, level_ptr, offsets = contexts
    n_labels = unary.shape[1]
    with_edge = edge.size > 0
    for s in sequences:
        start, n_steps = offsets[s], offsets[s + 1] - offsets[s]
        automaton = _automaton(automata, offsets, s)
        layer, width, symbol, step, cost, final = automaton
        if n_steps == 0:
            score[s] = scale * final[0]
            continue
        table = trans[which[s]]
        place = _places(layer, level_ptr, n_steps)
        reached = _reach(automaton, successor, level_ptr, place, n_steps, n_labels)
        best = np.full(place[n_steps], -np.inf)
        choice = np.zeros(place[n_steps], dtype=np.int64)
        t = n_steps - 1
        lo, hi = _contexts(level_ptr, t)
        for q in range(layer[t + 1], layer[t + 2]):
            first = place[t] + (q - layer[t + 1]) * (hi - lo)
            best[first : first + hi - lo] = scale * final[q]
        for t in range(n_steps - 2, -1, -1):
            lo, hi = _contexts(level_ptr, t)
            lo2, hi2 = _contexts(level_ptr, t + 1)
            size, size2 = hi - lo, hi2 - lo2
            for q in range(layer[t + 1], layer[t + 2]):
                first = place[t] + (q - layer[t + 1]) * size
                for c in range(size):
                    if not reached[first + c]:
                        continue
                    base = successor[lo + c, 0] - lo2
                    for b in range(n_labels):
                        k = q * width + symbol[b]
                        node = place[t + 1] + (step[k] - layer[t + 2]) * size2 + base + b
                        x = table[lo + c, b] + unary[start + t + 1, b] + scale * cost[k] + best[node]
                        if with_edge:
                            x += edge[start + t + 1, c % n_labels, b]
                        if x > best[first + c]:
                            best[first + c] = x
                            choice[first + c] = b
        lo, hi = _contexts(level_ptr, 0)
        chosen, top = -1, -np.inf
        for b in range(n_labels):
            node = (step[symbol[b]] - layer[1]) * (hi - lo) + b
            x = unary[start, b] + scale * cost[symbol[b]] + best[node]
            if x > top:
                chosen, top = b, x
        score[s] = top
        if chosen < 0:
            labels[start : start + n_steps] = -1
            continue
        labels[start] = chosen
        q = step[symbol[chosen]]
        c = lo + chosen
        for t in range(n_steps - 1):
            lo, hi = _contexts(level_ptr, t)
            b = choice[place[t] + (q - layer[t + 1]) * (hi - lo) + c - lo]
            labels[start + t + 1] = b
            q = step[q * width + symbol[b]]
            c = successor[c, b]
