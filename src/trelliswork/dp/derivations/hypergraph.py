"""Derivation hypergraphs as arrays: the recursion every other family is tested against.

One file of over 600 lines, because a compiled recursion and its helpers must be in one file: the cache of
compiled code does not see changes elsewhere.

A batch of acyclic hypergraphs is a handful of contiguous arrays (``int64``
indices, ``float64`` scores); a *derivation* picks one edge for every occurrence
of a node it uses, from the root down.

==============  ===============  ====================================================
name            shape            meaning
==============  ===============  ====================================================
``graph_ptr``   (n_graphs + 1,)  nodes of graph ``i``: ``graph_ptr[i]:graph_ptr[i + 1]``,
                                 at least one; the last of them is the root
``node_ptr``    (n_nodes + 1,)   edges with head ``v``: ``node_ptr[v]:node_ptr[v + 1]``
``tail_ptr``    (n_edges + 1,)   tails of edge ``e``: ``tails[tail_ptr[e]:tail_ptr[e + 1]]``
``tails``       (n_tails,)       global node ids, each below the head of its edge (node
                                 order is topological); a node may occur twice in an edge
``scores``      (n_edges,)       log-domain edge scores; ``-inf`` forbids an edge
``feat_ptr``    (n_edges + 1,)   with ``feat_idx``, ``feat_val``: sparse features of edges
==============  ===============  ====================================================

A node without edges is dead (``log_beta = -inf``), an edge without tails is a leaf.
Every kernel works on graphs ``start .. stop - 1`` of the batch and writes only what
belongs to them, so threads may share the arrays (sums over graphs excepted, see
``moments_dense``). The k-best lists are in ``dp/derivations/kbest.py``, loss profiles in
``dp/derivations/loss.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.room import reserve

__all__ = [
    "count",
    "derivation",
    "derivations",
    "inside",
    "marginals",
    "moments_dense",
    "sample",
    "tangent",
    "viterbi",
]


@njit
def _largest(graph_ptr, node_ptr, start, stop):
    """Most nodes and most edges of any one graph of the range."""
    n_nodes, n_edges = 0, 0
    for i in range(start, stop):
        lo, hi = graph_ptr[i], graph_ptr[i + 1]
        n_nodes = max(n_nodes, hi - lo)
        n_edges = max(n_edges, node_ptr[hi] - node_ptr[lo])
    return n_nodes, n_edges


@njit
def _value(e, tail_ptr, tails, scores, below):
    """Score of edge ``e`` plus the node values ``below`` of its tails."""
    value = scores[e]
    for t in range(tail_ptr[e], tail_ptr[e + 1]):
        value += below[tails[t]]
    return value


@njit
def _conditional(v, node_ptr, tail_ptr, tails, scores, log_beta, shift, p):
    """Write p(e given v) of the edges of ``v`` to ``p[e - shift]``; zeros at a dead node.

    Normalised by their own sum, not by ``log_beta[v]``: the rounding of a large
    ``log_beta`` would otherwise leak mass at every level of a deep graph.
    """
    first, last = node_ptr[v] - shift, node_ptr[v + 1] - shift
    top = -np.inf
    for e in range(first, last):
        p[e] = _value(e + shift, tail_ptr, tails, scores, log_beta)
        top = max(top, p[e])
    if top == -np.inf:
        p[first:last] = 0.0
        return
    total = 0.0
    for e in range(first, last):
        p[e] = math.exp(p[e] - top)
        total += p[e]
    for e in range(first, last):
        p[e] /= total


@njit
def inside(graph_ptr, node_ptr, tail_ptr, tails, scores, start, stop, log_beta):
    """Log-sum-exp of the scores of the derivations below every node.

    ``log_beta[v]`` is the log-sum-exp, over the edges e of v, of ``scores[e]`` plus the sum of
    ``log_beta`` over the tails of e.

    With zeros for the allowed edges this is the log of the number of derivations.

    Parameters
    ----------
    graph_ptr, node_ptr, tail_ptr, tails, scores : ndarray
        The batch, see the module docstring.
    start, stop : int
        Range of graphs.
    log_beta : ndarray of shape (n_nodes,)
        Output; the log partition of graph ``i`` is ``log_beta[graph_ptr[i + 1] - 1]``.
    """
    for v in range(graph_ptr[start], graph_ptr[stop]):
        top = -np.inf
        for e in range(node_ptr[v], node_ptr[v + 1]):
            top = max(top, _value(e, tail_ptr, tails, scores, log_beta))
        if top > -np.inf:
            total = 0.0
            for e in range(node_ptr[v], node_ptr[v + 1]):
                total += math.exp(_value(e, tail_ptr, tails, scores, log_beta) - top)
            top += math.log(total)
        log_beta[v] = top


def count(
    graph_ptr: np.ndarray,
    node_ptr: np.ndarray,
    tail_ptr: np.ndarray,
    tails: np.ndarray,
    allowed: Any = None,
) -> list[int]:
    """Exact number of derivations of every graph, in Python integers.

    Parameters
    ----------
    graph_ptr, node_ptr, tail_ptr, tails : ndarray
        The batch, see the module docstring.
    allowed : array-like of bool, shape (n_edges,), optional
        Edges that may be used; all of them by default.

    Returns
    -------
    list of int, length n_graphs

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.dp.derivations.hypergraph import count
    >>> # node 0 has two leaf edges; the root, node 1, uses node 0 twice
    >>> count(np.array([0, 2]), np.array([0, 2, 3]), np.array([0, 0, 0, 2]), np.array([0, 0]))
    [4]
    """
    bounds, first, split, below = (a.tolist() for a in (graph_ptr, node_ptr, tail_ptr, tails))
    usable = None if allowed is None else np.asarray(allowed, dtype=bool).tolist()
    # A count is dropped after its last use: those of a deep graph have thousands of digits each.
    uses = np.bincount(np.asarray(tails, dtype=np.int64), minlength=bounds[-1]).tolist()
    number: dict[int, int] = {}
    out = []
    for i in range(len(bounds) - 1):
        for v in range(bounds[i], bounds[i + 1]):
            total = 0
            for e in range(first[v], first[v + 1]):
                product = 1 if usable is None or usable[e] else 0
                for u in below[split[e] : split[e + 1]]:
                    product *= number[u]
                    uses[u] -= 1
                    if not uses[u]:
                        del number[u]
                total += product
            number[v] = total
        out.append(number.get(bounds[i + 1] - 1, 0))
        number.clear()
    return out


@njit
def viterbi(graph_ptr, node_ptr, tail_ptr, tails, scores, start, stop, best, back):
    """Best derivation below every node. Of equal edges the lowest index wins.

    Loss-augmented decoding is the same call with costs added to ``scores``.

    Parameters
    ----------
    graph_ptr, node_ptr, tail_ptr, tails, scores : ndarray
        The batch, see the module docstring.
    start, stop : int
        Range of graphs.
    best : ndarray of shape (n_nodes,)
        Output: score of the best derivation below the node, ``-inf`` if none.
    back : ndarray of int64, shape (n_nodes,)
        Output: first edge of that derivation, -1 if none.
    """
    for v in range(graph_ptr[start], graph_ptr[stop]):
        top, edge = -np.inf, -1
        for e in range(node_ptr[v], node_ptr[v + 1]):
            value = _value(e, tail_ptr, tails, scores, best)
            if value > top:
                top, edge = value, e
        best[v] = top
        back[v] = edge


@njit
def _follow(root, tail_ptr, tails, back, stack, edges, n):
    """Append the edges that ``back`` selects below ``root``; returns the buffers and the new length."""
    if back[root] < 0:
        return stack, edges, n
    depth = 1
    stack[0] = root
    while depth > 0:
        depth -= 1
        e = back[stack[depth]]
        edges = reserve(edges, n + 1)
        edges[n] = e
        n += 1
        first, last = tail_ptr[e], tail_ptr[e + 1]
        stack = reserve(stack, depth + last - first)
        for t in range(last - 1, first - 1, -1):
            stack[depth] = tails[t]
            depth += 1
    return stack, edges, n


@njit
def derivation(tail_ptr, tails, back, root):
    """Edges of the derivation that ``back`` selects, top-down and left to right.

    A node used several times contributes its edges each time.

    Parameters
    ----------
    tail_ptr, tails : ndarray
        Tails of the edges, see the module docstring.
    back : ndarray of int64, shape (n_nodes,)
        Edge of every node, from ``viterbi``.
    root : int
        Node to start from.

    Returns
    -------
    ndarray of int64
        Empty if there is no derivation (every derivation has at least one edge).
    """
    _, edges, n = _follow(
        root, tail_ptr, tails, back, np.empty(16, np.int64), np.empty(64, np.int64), np.int64(0)
    )
    return edges[:n].copy()


@njit
def derivations(graph_ptr, tail_ptr, tails, start, stop, back):
    """``derivation`` of the root of every graph of the range.

    Returns
    -------
    ptr : ndarray of int64, shape (stop - start + 1,)
        The edges of graph ``start + j`` are ``edges[ptr[j]:ptr[j + 1]]``.
    edges : ndarray of int64
    """
    ptr = np.zeros(stop - start + 1, np.int64)
    stack, edges, n = np.empty(16, np.int64), np.empty(64, np.int64), np.int64(0)
    for i in range(start, stop):
        stack, edges, n = _follow(graph_ptr[i + 1] - 1, tail_ptr, tails, back, stack, edges, n)
        ptr[i - start + 1] = n
    return ptr, edges[:n].copy()


@njit
def marginals(graph_ptr, node_ptr, tail_ptr, tails, scores, start, stop, log_beta, rho_node, rho_edge):
    """Expected number of uses of every node and edge; zeros where nothing can be derived.

    The root is used once; an edge is used as often as its head times its probability given the head,
    ``p(e) = exp(scores[e] + sum of log_beta over tails - log_beta[head])``, and so are its tails.

    Parameters
    ----------
    graph_ptr, node_ptr, tail_ptr, tails, scores : ndarray
        The batch, see the module docstring.
    start, stop : int
        Range of graphs.
    log_beta : ndarray of shape (n_nodes,)
        From ``inside``.
    rho_node : ndarray of shape (n_nodes,)
        Output: 1 at the root; above 1 where a derivation uses a node several times.
    rho_edge : ndarray of shape (n_edges,)
        Output: derivative of the log partition with respect to the edge score.
    """
    for i in range(start, stop):
        lo, hi = graph_ptr[i], graph_ptr[i + 1]
        rho_node[lo:hi] = 0.0
        if log_beta[hi - 1] > -np.inf:
            rho_node[hi - 1] = 1.0
        for v in range(hi - 1, lo - 1, -1):
            if rho_node[v] == 0.0:
                rho_edge[node_ptr[v] : node_ptr[v + 1]] = 0.0
                continue
            _conditional(v, node_ptr, tail_ptr, tails, scores, log_beta, np.int64(0), rho_edge)
            for e in range(node_ptr[v], node_ptr[v + 1]):
                rho_edge[e] *= rho_node[v]
                for t in range(tail_ptr[e], tail_ptr[e + 1]):
                    rho_node[tails[t]] += rho_edge[e]


@njit
def _slope(e, v, tail_ptr, tails, direction, lo, a):
    """Derivative of log p(e given v); the large means cancel before the direction is added."""
    slope = -a[v - lo]
    for t in range(tail_ptr[e], tail_ptr[e + 1]):
        slope += a[tails[t] - lo]
    return slope + direction[e]


@njit
def tangent(
    graph_ptr,
    node_ptr,
    tail_ptr,
    tails,
    scores,
    start,
    stop,
    log_beta,
    rho_edge,
    direction,
    dlog_z,
    drho_edge,
):
    """Derivative of the marginals along a direction of edge scores.

    Upwards, the mean of the direction's total below every node, ``a(v)``; its increment at an edge,
    ``s_e = direction[e] + sum of a over tails - a(head)``, is the derivative of ``log p(e)``. Downwards,
    ``drho_edge[e] = drho(head) p(e) + rho_edge[e] s_e``.

    With ``direction[e] = phi_e . h`` the sum of ``drho_edge[e] * phi_e`` is ``C h``.

    Parameters
    ----------
    graph_ptr, node_ptr, tail_ptr, tails, scores : ndarray
        The batch, see the module docstring.
    start, stop : int
        Range of graphs.
    log_beta : ndarray of shape (n_nodes,)
        From ``inside``.
    rho_edge, direction : ndarray of shape (n_edges,)
        Marginals, and the change of the scores (ignored at edges of probability 0).
    dlog_z : ndarray of shape (n_graphs,)
        Output: derivative of the log partitions, the mean of the direction's total.
    drho_edge : ndarray of shape (n_edges,)
        Output: derivative of ``rho_edge``.
    """
    n_nodes, _ = _largest(graph_ptr, node_ptr, start, stop)
    a = np.empty(n_nodes)
    drho = np.empty(n_nodes)
    for i in range(start, stop):
        lo, hi = graph_ptr[i], graph_ptr[i + 1]
        for v in range(lo, hi):
            # The output holds p(e) until the downward sweep replaces it.
            _conditional(v, node_ptr, tail_ptr, tails, scores, log_beta, np.int64(0), drho_edge)
            mean = 0.0
            for e in range(node_ptr[v], node_ptr[v + 1]):
                if drho_edge[e] > 0.0:
                    total = direction[e]
                    for t in range(tail_ptr[e], tail_ptr[e + 1]):
                        total += a[tails[t] - lo]
                    mean += drho_edge[e] * total
            a[v - lo] = mean
        dlog_z[i] = a[hi - 1 - lo]
        drho[: hi - lo] = 0.0
        for v in range(hi - 1, lo - 1, -1):
            # a[v] is rounded, so the mean slope is not quite 0; on a deep graph the
            # excess would add up on the way down. Measured and taken off first.
            excess = 0.0
            for e in range(node_ptr[v], node_ptr[v + 1]):
                if drho_edge[e] > 0.0:
                    excess += drho_edge[e] * _slope(e, v, tail_ptr, tails, direction, lo, a)
            for e in range(node_ptr[v], node_ptr[v + 1]):
                p = drho_edge[e]
                if p > 0.0:
                    slope = _slope(e, v, tail_ptr, tails, direction, lo, a) - excess
                    drho_edge[e] = drho[v - lo] * p + rho_edge[e] * slope
                    for t in range(tail_ptr[e], tail_ptr[e + 1]):
                        drho[tails[t] - lo] += drho_edge[e]


@njit
def moments_dense(
    graph_ptr, node_ptr, tail_ptr, tails, scores, features, start, stop, log_beta, weights, cov_sum, means
):
    """Mean and covariance of the feature totals, by martingale increments.

    With m(v) the mean of the features below v, every edge has the increment ``g_e = phi_e + sum of m over
    tails - m(head)``, and the covariance is the sum of ``rho_edge[e] g_e g_e'``: no differences of large
    numbers.

    Costs O(n_edges d^2) and needs (nodes of the largest graph) x d numbers: for
    small d only. Graphs without a derivation add nothing and have mean 0.

    Parameters
    ----------
    graph_ptr, node_ptr, tail_ptr, tails, scores : ndarray
        The batch, see the module docstring.
    features : tuple of ndarray
        Features of the edges in CSR form (pointers, indices, values); repeated indices add up.
    start, stop : int
        Range of graphs.
    log_beta : ndarray of shape (n_nodes,)
        From ``inside``.
    weights : ndarray of shape (n_graphs,)
        Weight of every graph in the sum.
    cov_sum : ndarray of shape (d, d)
        Output *added to*, hence one per thread.
    means : ndarray of shape (n_graphs, d)
        Output: mean of every graph.
    """
    feat_ptr, feat_idx, feat_val = features
    d = cov_sum.shape[0]
    n_nodes, n_edges = _largest(graph_ptr, node_ptr, start, stop)
    p = np.empty(n_edges)
    rho = np.empty(n_nodes)
    m = np.empty((n_nodes, d))
    g = np.empty(d)
    upper = np.zeros((d, d))
    for i in range(start, stop):
        lo, hi = graph_ptr[i], graph_ptr[i + 1]
        shift = node_ptr[lo]
        means[i] = 0.0
        if log_beta[hi - 1] == -np.inf:
            continue
        for v in range(lo, hi):
            _conditional(v, node_ptr, tail_ptr, tails, scores, log_beta, shift, p)
            row = m[v - lo]
            row[:] = 0.0
            for e in range(node_ptr[v], node_ptr[v + 1]):
                pe = p[e - shift]
                if pe > 0.0:
                    for f in range(feat_ptr[e], feat_ptr[e + 1]):
                        row[feat_idx[f]] += pe * feat_val[f]
                    for t in range(tail_ptr[e], tail_ptr[e + 1]):
                        below = m[tails[t] - lo]
                        for j in range(d):
                            row[j] += pe * below[j]
        means[i] = m[hi - 1 - lo]
        if weights[i] == 0.0:
            continue
        rho[: hi - lo] = 0.0
        rho[hi - 1 - lo] = 1.0
        for v in range(hi - 1, lo - 1, -1):
            for e in range(node_ptr[v], node_ptr[v + 1]):
                usage = rho[v - lo] * p[e - shift]
                if usage == 0.0:
                    continue
                row = m[v - lo]
                for j in range(d):
                    g[j] = -row[j]
                for t in range(tail_ptr[e], tail_ptr[e + 1]):
                    rho[tails[t] - lo] += usage
                    below = m[tails[t] - lo]
                    for j in range(d):
                        g[j] += below[j]
                for f in range(feat_ptr[e], feat_ptr[e + 1]):
                    g[feat_idx[f]] += feat_val[f]
                for j in range(d):
                    scaled = weights[i] * usage * g[j]
                    if scaled != 0.0:
                        for k in range(j, d):
                            upper[j, k] += scaled * g[k]
    for j in range(d):
        cov_sum[j, j] += upper[j, j]
        for k in range(j + 1, d):
            cov_sum[j, k] += upper[j, k]
            cov_sum[k, j] += upper[j, k]


# Random numbers: xoshiro128++ in int64 with 32-bit masks. No operation leaves int64, so the
# stream is the same compiled and interpreted, and needs no unsigned types (Numba turns
# uint64 with int64 into float64) nor wrap-around (NumPy scalars warn about it).
_MASK = 0xFFFFFFFF


@njit
def _scramble(x):
    """MurmurHash3's 32-bit finaliser, a bijection; products are split to stay below 2^49."""
    x ^= x >> 16
    x = ((x & 0xFFFF) * 0x85EBCA6B + ((((x >> 16) * 0x85EBCA6B) & 0xFFFF) << 16)) & _MASK
    x ^= x >> 13
    x = ((x & 0xFFFF) * 0xC2B2AE35 + ((((x >> 16) * 0xC2B2AE35) & 0xFFFF) << 16)) & _MASK
    return x ^ (x >> 16)


@njit(no_cpython_wrapper=False)  # tests call it
def _seed(seed, stream, state):
    """Fill ``state`` (4,) from two 64-bit integers, one to one: no two streams start alike."""
    state[0] = _scramble((seed & _MASK) ^ 0x9E3779B9)
    state[1] = _scramble(((seed >> 32) & _MASK) ^ state[0])
    state[2] = _scramble((stream & _MASK) ^ state[1])
    state[3] = _scramble(((stream >> 32) & _MASK) ^ state[2])
    for j in range(4):  # once more around, so that every word depends on every bit
        state[j] = _scramble(state[j] ^ state[j - 1])
    if state[0] | state[1] | state[2] | state[3] == 0:
        state[0] = 1  # the one state the generator cannot leave


@njit(no_cpython_wrapper=False)  # tests call it
def _next32(state):
    """Next 32 random bits of xoshiro128++ (Blackman and Vigna)."""
    x = (state[0] + state[3]) & _MASK
    out = (((x << 7) & _MASK | (x >> 25)) + state[0]) & _MASK
    shifted = (state[1] << 9) & _MASK
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = (state[3] << 11) & _MASK | (state[3] >> 21)
    return out


@njit
def sample(graph_ptr, node_ptr, tail_ptr, tails, scores, start, stop, log_beta, n_samples, seed):
    """Independent derivations with probability proportional to the exponential of their score.

    Graph ``i`` has its own random stream, a function of ``seed`` and ``i`` alone:
    the draws do not depend on how graphs are split into ranges, and the first
    draws are the same whatever ``n_samples``.

    Parameters
    ----------
    graph_ptr, node_ptr, tail_ptr, tails, scores : ndarray
        The batch, see the module docstring.
    start, stop : int
        Range of graphs.
    log_beta : ndarray of shape (n_nodes,)
        From ``inside``.
    n_samples : int
        Draws per graph.
    seed : int
        Any 64-bit signed integer.

    Returns
    -------
    ptr : ndarray of int64, shape ((stop - start) * n_samples + 1,)
        Draw ``s`` of graph ``start + j`` is ``edges[ptr[r]:ptr[r + 1]]`` with
        ``r = j * n_samples + s``; empty if the graph has no derivation.
    edges : ndarray of int64
        Edges in pre-order.
    """
    _, n_edges = _largest(graph_ptr, node_ptr, start, stop)
    p = np.empty(n_edges)
    state = np.empty(4, np.int64)
    ptr = np.zeros((stop - start) * n_samples + 1, np.int64)
    stack, edges, n = np.empty(16, np.int64), np.empty(64, np.int64), 0
    for i in range(start, stop):
        lo, hi = graph_ptr[i], graph_ptr[i + 1]
        shift = node_ptr[lo]
        _seed(seed, i, state)
        for v in range(lo, hi):
            _conditional(v, node_ptr, tail_ptr, tails, scores, log_beta, shift, p)
            for e in range(node_ptr[v] + 1 - shift, node_ptr[v + 1] - shift):
                p[e] += p[e - 1]
        for s in range(n_samples):
            depth = 0
            if log_beta[hi - 1] > -np.inf:
                stack[0] = hi - 1
                depth = 1
            while depth > 0:
                depth -= 1
                v = stack[depth]
                low, high = node_ptr[v] - shift, node_ptr[v + 1] - shift - 1
                bits = (_next32(state) >> 5) * 67108864 + (_next32(state) >> 6)
                level = bits / 9007199254740992.0 * p[high]
                while low < high:  # first edge whose cumulated probability is above the level
                    middle = (low + high) // 2
                    if p[middle] > level:
                        high = middle
                    else:
                        low = middle + 1
                e = low + shift
                edges = reserve(edges, n + 1)
                edges[n] = e
                n += 1
                first, last = tail_ptr[e], tail_ptr[e + 1]
                stack = reserve(stack, depth + last - first)
                for t in range(last - 1, first - 1, -1):
                    stack[depth] = tails[t]
                    depth += 1
            ptr[(i - start) * n_samples + s + 1] = n
    return ptr, edges[:n].copy()
