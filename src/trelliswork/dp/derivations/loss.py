"""Best derivations of a hypergraph for every value of an integer loss.

What is no sum over parts, such as the product ``loss * (1 + score - score of the gold output)`` of
slack rescaling, is maximised over this profile.

The array format is that of ``dp/derivations/hypergraph.py``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.room import reserve

__all__ = ["loss_profile", "profile_derivation"]


@njit
def _convolve(left, left_top, right, right_top, limit, out):
    """(max, +) convolution of two loss tables, up to loss ``limit``; returns the top of ``out``.

    A *top* bounds the losses that can be reached from above; -1 means none can.
    """
    if left_top < 0 or right_top < 0:
        return -1
    top = min(limit, left_top + right_top)
    out[: top + 1] = -np.inf
    for a in range(min(left_top, top) + 1):
        if left[a] > -np.inf:
            for b in range(min(right_top, top - a) + 1):
                out[a + b] = max(out[a + b], left[a] + right[b])
    return top


@njit
def loss_profile(graph_ptr, node_ptr, tail_ptr, tails, scores, costs, start, stop, table, choice, profile):
    """Best score for every value of an integer additive loss.

    Derivations of loss above ``max_loss = table.shape[1] - 1`` are left out. Of
    equal edges the lowest index wins.

    Parameters
    ----------
    graph_ptr, node_ptr, tail_ptr, tails, scores : ndarray
        The batch, see ``dp/derivations/hypergraph.py``.
    costs : ndarray of int64, shape (n_edges,)
        Loss of every edge, not negative.
    start, stop : int
        Range of graphs.
    table : ndarray of shape (graph_ptr[stop] - graph_ptr[start], max_loss + 1)
        Output: best score below node ``graph_ptr[start] + j`` with loss exactly L,
        ``-inf`` if there is none. A row per node of the range, so that a caller short
        of memory goes graph by graph.
    choice : ndarray of int64, same shape
        Output: first edge of that derivation, or -1.
    profile : ndarray of shape (n_graphs, max_loss + 1)
        Output: the rows of the roots.
    """
    base = graph_ptr[start]
    width = table.shape[1]
    tops = np.empty(graph_ptr[stop] - base, np.int64)
    buffers = np.empty((2, width))
    nothing = np.zeros(1)  # the table of no tails: score 0, loss 0
    for i in range(start, stop):
        for v in range(graph_ptr[i], graph_ptr[i + 1]):
            row, edges, row_top = table[v - base], choice[v - base], -1
            row[:] = -np.inf
            edges[:] = -1
            for e in range(node_ptr[v], node_ptr[v + 1]):
                limit = width - 1 - costs[e]
                if limit < 0 or scores[e] == -np.inf:
                    continue
                joint, top = nothing, 0
                first, last = tail_ptr[e], tail_ptr[e + 1]
                if first < last:
                    joint, top = table[tails[first] - base], tops[tails[first] - base]
                for t in range(first + 1, last):
                    u = tails[t] - base
                    out = buffers[(t - first) % 2]
                    top = _convolve(joint, top, table[u], tops[u], limit, out)
                    joint = out
                for a in range(min(top, limit) + 1):
                    value = scores[e] + joint[a]
                    if value > row[a + costs[e]]:
                        row[a + costs[e]] = value
                        edges[a + costs[e]] = e
                        row_top = max(row_top, a + costs[e])
            tops[v - base] = row_top
        profile[i] = table[graph_ptr[i + 1] - 1 - base]


@njit
def profile_derivation(tail_ptr, tails, costs, table, choice, base, root, loss):
    """Edges, in pre-order, of the best derivation below ``root`` with the given loss.

    Of equally good ways to share the loss, the later tails take the least.

    Parameters
    ----------
    tail_ptr, tails : ndarray
        Tails of the edges, see ``dp/derivations/hypergraph.py``.
    costs, table, choice : ndarray
        As in ``loss_profile``.
    base : int
        Node of the first row of ``table``: ``graph_ptr[start]`` of that call.
    root, loss : int
        Global node id, and the wanted loss.

    Returns
    -------
    ndarray of int64
        Empty if no derivation has this loss.
    """
    stack, shares = np.empty(16, np.int64), np.empty(16, np.int64)
    edges, n, depth = np.empty(64, np.int64), 0, 0
    if 0 <= loss < table.shape[1] and choice[root - base, loss] >= 0:
        stack[0], shares[0], depth = root, loss, 1
    while depth > 0:
        depth -= 1
        e = choice[stack[depth] - base, shares[depth]]
        rest = shares[depth] - costs[e]
        edges = reserve(edges, n + 1)
        edges[n] = e
        n += 1
        first, last = tail_ptr[e], tail_ptr[e + 1]
        stack, shares = reserve(stack, depth + last - first), reserve(shares, depth + last - first)
        # Splits are found again here rather than stored: joint[j] covers tails 0 .. j.
        joint = np.full((max(last - first - 1, 0), rest + 1), -np.inf)
        for j in range(last - first - 1):
            row = table[tails[first + j] - base]
            if j == 0:
                for a in range(rest + 1):
                    joint[0, a] = row[a]
            else:
                _convolve(joint[j - 1], rest, row, rest, rest, joint[j])
        for j in range(last - first - 1, 0, -1):
            row, share, top = table[tails[first + j] - base], 0, -np.inf
            for a in range(rest + 1):
                value = joint[j - 1, rest - a] + row[a]
                if value > top:
                    share, top = a, value
            stack[depth], shares[depth] = tails[first + j], share
            depth += 1
            rest -= share
        if last > first:
            stack[depth], shares[depth] = tails[first], rest
            depth += 1
    return edges[:n].copy()
