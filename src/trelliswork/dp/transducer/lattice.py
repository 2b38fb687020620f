"""Sums and best paths over lattices with scaled probabilities.

A lattice is a derivation graph (see ``dp/derivations``) whose edges have at most one tail. Nodes of a
sample are numbered from the end; ``tail`` holds numbers within the sample, -1 for the edges that end.
``place`` is the position of a node, which edges raise by one or a few. The score of an edge is that of its
``arc`` (a piece at a place of the input) plus that of its ``join`` (the piece after a context); both are -1
where there is none, and the arrays of factors (exponentials of scores) end with a 1 for this. Factors of
arcs may be without a number per position, given as ``shift`` of the nodes there.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

__all__ = ["expand", "inside_outside", "viterbi"]

_DENSE = 1 << 22  # pairs of a state and a piece that have a place each


@njit
def _inside(node_ptr, place, shift, tail, arc, join, arc_factor, join_factor, beta, log_scale):
    """Scaled sums over the rest of the path for the nodes of one sample.

    The sum from node v is ``beta[v] * exp(log_scale[place[v]])``. Returns the log of the sum from the start.
    """
    v, last = 0, place.size
    while v < last:
        here = place[v]
        top, begin = 0.0, v
        while v < last and place[v] == here:
            total = 0.0
            for e in range(node_ptr[v], node_ptr[v + 1]):
                factor = arc_factor[arc[e]] * join_factor[join[e]]
                if tail[e] >= 0:
                    u = tail[e]
                    factor *= beta[u]
                    if place[u] > here + 1:
                        factor *= np.exp(log_scale[place[u]] - log_scale[here + 1])
                total += factor
            beta[v] = total
            top = max(top, total)
            v += 1
        # Nodes of the last place have no tails: their scale starts at 0.
        below = log_scale[here + 1] + shift[begin]
        if top > 0.0:
            for u in range(begin, v):
                beta[u] /= top
            log_scale[here] = below + np.log(top)
        else:
            log_scale[here] = below
    return np.log(beta[last - 1]) + log_scale[place[last - 1]]


@njit
def inside_outside(lattice, factors, weights, start, stop, sums):
    """Log sums of the samples ``start .. stop - 1``; adds their expected arcs and joins, times weights.

    Parameters
    ----------
    lattice : Lattice
        Paths of all samples.
    factors : Factors
        Of arcs, nodes and joins.
    weights : (n_samples,)
        Factor on expectations.
    start, stop : int
        Samples to do.
    sums : Sums
        Outputs.
    """
    graph_ptr, node_ptr, place, tail, arc, join = lattice
    arc_factor, shift, join_factor = factors
    log_z, arc_sum, join_sum = sums
    n_nodes, longest = 0, 0
    for s in range(start, stop):
        n_nodes = max(n_nodes, graph_ptr[s + 1] - graph_ptr[s])
        longest = max(longest, place[graph_ptr[s]])
    beta, alpha, log_scale = np.empty(n_nodes), np.empty(n_nodes), np.zeros(longest + 2)
    for s in range(start, stop):
        first, last = graph_ptr[s], graph_ptr[s + 1]
        n = last - first
        # Views, so that the numbers of nodes within the sample are their places in the arrays.
        ptr, places, moved = node_ptr[first : last + 1], place[first:last], shift[first:last]
        log_scale[places[0] + 1] = 0.0
        z = _inside(ptr, places, moved, tail, arc, join, arc_factor, join_factor, beta, log_scale)
        log_z[s] = z
        if z == -np.inf or weights[s] == 0.0:
            continue
        for v in range(n):
            alpha[v] = 0.0
        alpha[n - 1] = weights[s] / beta[n - 1]
        # alpha[v] holds the sum up to v times exp(log_scale[place[v]] - z) and the weight.
        for v in range(n - 1, -1, -1):
            mass = alpha[v]
            if mass == 0.0:
                continue
            here = places[v]
            mass *= np.exp(log_scale[here + 1] + moved[v] - log_scale[here])
            for e in range(ptr[v], ptr[v + 1]):
                factor = mass * arc_factor[arc[e]] * join_factor[join[e]]
                if tail[e] >= 0:
                    u = tail[e]
                    if places[u] > here + 1:
                        factor *= np.exp(log_scale[places[u]] - log_scale[here + 1])
                    alpha[u] += factor
                    factor *= beta[u]
                if arc[e] >= 0:
                    arc_sum[arc[e]] += factor
                if join[e] >= 0:
                    join_sum[join[e]] += factor


@njit
def viterbi(graph_ptr, node_ptr, tail, arc, join, arc_score, join_score, start, stop, best, back):
    """Best path from every node of the samples: its score, and its first edge (-1 where there is no path)."""
    for s in range(start, stop):
        first = graph_ptr[s]
        for v in range(first, graph_ptr[s + 1]):
            top, edge = -np.inf, -1
            for e in range(node_ptr[v], node_ptr[v + 1]):
                score = arc_score[arc[e]] + join_score[join[e]]
                if tail[e] >= 0:
                    score += best[first + tail[e]]
                if score > top:
                    top, edge = score, e
            best[v], back[v] = top, edge


@njit
def _slot(keys, key):
    """Place of a key in an open hash table, or the free place where it belongs; -1 marks free places."""
    mask = keys.size - 1
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((h >> np.uint64(20)) & np.uint64(mask))
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit
def _grown(array, size):
    out = np.empty(size, array.dtype)
    for k in range(array.size):
        out[k] = array[k]
    return out


@njit
def _find_join(state, piece, n_pieces, keys, values, joins, n_joins, step):
    """Number of the join of a piece and the state before it; a new one is written to ``joins``.

    Without ``keys``, ``values`` has a place for every state and piece.
    """
    key = state * n_pieces + piece
    slot = _slot(keys, key) if keys.size else key
    if values[slot] == -1:
        if keys.size:
            keys[slot] = key
        values[slot] = n_joins
        joins[n_joins, 0], joins[n_joins, 1], joins[n_joins, 2] = state, piece, step[state, piece]
    return np.int64(values[slot])


@njit
def _room(keys, values, joins, n_joins, more):
    """Tables with room for ``more`` joins."""
    if n_joins + more > joins.shape[0]:
        wider = np.empty((2 * (n_joins + more), 3), joins.dtype)
        for k in range(n_joins):
            wider[k, 0], wider[k, 1], wider[k, 2] = joins[k, 0], joins[k, 1], joins[k, 2]
        joins = wider
    size = keys.size
    while size and 2 * (n_joins + more) > size:
        size *= 2
    if size > keys.size:
        old_keys, old_values = keys, values
        keys, values = np.full(size, -1, np.int64), np.full(size, -1, np.int32)
        for t in range(old_keys.size):
            if old_keys[t] != -1:
                slot = _slot(keys, old_keys[t])
                keys[slot], values[slot] = old_keys[t], old_values[t]
    return keys, values, joins


@njit
def expand(x_ptr, arc_ptr, arc_length, arc_piece, start_state, end_piece, step, max_in):
    """Lattices of all outputs: nodes are positions with states of the context automaton.

    ``arc_ptr[x_ptr[s] + s + i]`` is where the arcs from position ``i`` of sample ``s`` begin. Returns
    ``graph_ptr, node_ptr, place, tail, arc, join``, the states of the nodes, and the joins with columns
    state, piece, state after.
    """
    n_samples, n_states, n_pieces = x_ptr.size - 1, step.shape[0], end_piece + 1
    graph_ptr = np.zeros(n_samples + 1, np.int64)
    node_ptr, place = np.zeros(1024, np.int64), np.empty(1024, np.int32)
    states = np.empty(1024, np.int32)
    tail, arc, join = np.empty(4096, np.int32), np.empty(4096, np.int32), np.empty(4096, np.int32)
    n_joins, joins = np.int64(0), np.empty((1024, 3), np.int64)
    # A place for every state and piece where they are few, which is quicker than a hash table.
    dense = n_states * n_pieces <= _DENSE
    keys = np.full(0 if dense else 1024, -1, np.int64)
    values = np.full(n_states * n_pieces if dense else 1024, -1, np.int32)
    # Which number a state has among those of a position; rows are positions modulo the longest arc.
    rows = max_in + 1
    rank = np.full((rows, n_states), -1, np.int32)
    listed = np.empty((rows, n_states), np.int32)
    n_listed = np.zeros(rows, np.int64)
    v, e = np.int64(0), np.int64(0)
    for s in range(n_samples):
        n = x_ptr[s + 1] - x_ptr[s]
        first_node, first_edge = v, e
        listed[0, 0] = start_state
        rank[0, start_state] = 0
        n_listed[0] = 1
        # Forward: nodes and edges in the order of positions; tails are ranks among the nodes of a position
        # for now.
        before = np.zeros(n + 2, np.int64)
        for i in range(n + 1):
            row = i % rows
            lo, hi = arc_ptr[x_ptr[s] + s + i], arc_ptr[x_ptr[s] + s + i + 1]
            count = n_listed[row]
            before[i + 1] = before[i] + count
            degree = hi - lo if i < n else 1
            if v + count + 1 > node_ptr.size:
                size = 2 * (v + count + 1)
                node_ptr, place, states = _grown(node_ptr, size), _grown(place, size), _grown(states, size)
            if e + count * degree > tail.size:
                size = 2 * (e + count * degree)
                tail, arc, join = _grown(tail, size), _grown(arc, size), _grown(join, size)
            keys, values, joins = _room(keys, values, joins, n_joins, count * degree)
            for r in range(count):
                q = np.int64(listed[row, r])
                place[v], states[v] = i, q
                if i == n:
                    g = _find_join(q, end_piece, n_pieces, keys, values, joins, n_joins, step)
                    n_joins = max(n_joins, g + 1)
                    tail[e], arc[e], join[e] = -1, -1, g
                    e += 1
                for c in range(lo, hi if i < n else lo):
                    g = _find_join(q, arc_piece[c], n_pieces, keys, values, joins, n_joins, step)
                    n_joins = max(n_joins, g + 1)
                    to, q_to = (i + arc_length[c]) % rows, joins[g, 2]
                    if rank[to, q_to] < 0:
                        rank[to, q_to] = n_listed[to]
                        listed[to, n_listed[to]] = q_to
                        n_listed[to] += 1
                    tail[e], arc[e], join[e] = rank[to, q_to], c, g
                    e += 1
                v += 1
                node_ptr[v] = e
            for r in range(count):
                rank[row, listed[row, r]] = -1
            n_listed[row] = 0
        # Tails become numbers from the end, and nodes are turned round.
        total = v - first_node
        for u in range(first_node, v):
            for t in range(node_ptr[u], node_ptr[u + 1]):
                if arc[t] >= 0:
                    tail[t] = total - 1 - before[place[u] + arc_length[arc[t]]] - tail[t]
        _turn(node_ptr, place, states, tail, arc, join, first_node, v, first_edge, e)
        graph_ptr[s + 1] = v
    return (
        graph_ptr,
        node_ptr[: v + 1].copy(),
        place[:v].copy(),
        tail[:e].copy(),
        arc[:e].copy(),
        join[:e].copy(),
        states[:v].copy(),
        joins[:n_joins].copy(),
    )


@njit
def _turn(node_ptr, place, states, tail, arc, join, first, last, first_edge, last_edge):
    """Reverse the order of the nodes of a sample; the edges of a node keep theirs."""
    n, m = last - first, last_edge - first_edge
    ptr = node_ptr[first : last + 1].copy()
    old_place, old_states = place[first:last].copy(), states[first:last].copy()
    old = np.empty((3, m), np.int32)
    for t in range(m):
        old[0, t], old[1, t], old[2, t] = tail[first_edge + t], arc[first_edge + t], join[first_edge + t]
    e = first_edge
    for v in range(n):
        u = n - 1 - v
        place[first + v], states[first + v] = old_place[u], old_states[u]
        for t in range(ptr[u] - first_edge, ptr[u + 1] - first_edge):
            tail[e], arc[e], join[e] = old[0, t], old[1, t], old[2, t]
            e += 1
        node_ptr[first + v + 1] = e
