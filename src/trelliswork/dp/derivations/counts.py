"""Best derivations of a hypergraph for every value of two integer counts.

The F1 loss on trees, ``1 - 2 c / (p + r)``, is a function of two counts, c correct and p predicted
constituents; the best tree is found by maximising over the table of the root.

The array format is that of ``dp/derivations/hypergraph.py``; kernels take one graph, whose edges have
at most two tails. The table of a node has a row for every value of the first count and a column for
every value of the second that its derivations can reach, so small nodes have small tables.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.room import reserve

__all__ = ["count_derivation", "count_profile"]


@njit
def count_profile(node_ptr, tail_ptr, tails, scores, first, second):
    """Best score for every pair of counts, below every node.

    Parameters
    ----------
    node_ptr, tail_ptr, tails, scores : ndarray
        The graph, see ``dp/derivations/hypergraph.py``.
    first, second : ndarray of int64, shape (n_edges,)
        What every edge adds to the counts, not negative.

    Returns
    -------
    height, width : ndarray of int64, shape (n_nodes,)
        Shapes of the tables; 0 at nodes that have no derivation.
    table_ptr : ndarray of int64, shape (n_nodes + 1,)
        Where the tables start.
    table : ndarray
        Entry (a, b) of node v is ``table[table_ptr[v] + a * width[v] + b]``; ``-inf`` if no
        derivation has these counts.
    """
    n_nodes = node_ptr.size - 1
    height, width = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    table_ptr = np.zeros(n_nodes + 1, np.int64)
    for v in range(n_nodes):
        for e in range(node_ptr[v], node_ptr[v + 1]):
            a, b, alive = first[e] + 1, second[e] + 1, scores[e] > -np.inf
            for t in range(tail_ptr[e], tail_ptr[e + 1]):
                a += height[tails[t]] - 1
                b += width[tails[t]] - 1
                alive = alive and height[tails[t]] > 0
            if alive:
                height[v], width[v] = max(height[v], a), max(width[v], b)
        table_ptr[v + 1] = table_ptr[v] + height[v] * width[v]
    table = np.full(table_ptr[n_nodes], -np.inf)
    for v in range(n_nodes):
        for e in range(node_ptr[v], node_ptr[v + 1]):
            score = scores[e]
            if score == -np.inf:
                continue
            low = tail_ptr[e]
            arity = tail_ptr[e + 1] - low
            start = table_ptr[v] + first[e] * width[v] + second[e]
            if arity == 0:
                table[start] = max(table[start], score)
                continue
            u = tails[low]
            for a in range(height[u]):
                for b in range(width[u]):
                    left = table[table_ptr[u] + a * width[u] + b]
                    if left == -np.inf:
                        continue
                    left += score
                    place = start + a * width[v] + b
                    if arity == 1:
                        table[place] = max(table[place], left)
                        continue
                    x = tails[low + 1]
                    for c in range(height[x]):
                        row, out = table_ptr[x] + c * width[x], place + c * width[v]
                        for d in range(width[x]):
                            table[out + d] = max(table[out + d], left + table[row + d])
    return height, width, table_ptr, table


@njit
def count_derivation(
    node_ptr, tail_ptr, tails, scores, first, second, height, width, table_ptr, table, one, two
):
    """Edges, in pre-order, of the best derivation with the given counts.

    Edges are found again by their values, which are computed as in ``count_profile``; of equally
    good ones the first wins, and the left tail takes the smallest counts.

    Parameters
    ----------
    node_ptr, tail_ptr, tails, scores, first, second : ndarray
        As in ``count_profile``.
    height, width, table_ptr, table : ndarray
        From ``count_profile``.
    one, two : int
        Counts at the root, for which there must be a derivation.

    Returns
    -------
    ndarray of int64
    """
    stack = np.empty((16, 3), np.int64)
    edges, n = np.empty(64, np.int64), 0
    stack[0, 0], stack[0, 1], stack[0, 2] = node_ptr.size - 2, one, two
    depth = 1
    while depth > 0:
        depth -= 1
        v, p, q = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        wanted = table[table_ptr[v] + p * width[v] + q]
        stack = reserve(stack, depth + 2)
        for e in range(node_ptr[v], node_ptr[v + 1]):
            a, b = p - first[e], q - second[e]
            low = tail_ptr[e]
            arity = tail_ptr[e + 1] - low
            settled = False
            if a < 0 or b < 0 or scores[e] == -np.inf:
                continue
            if arity == 0:
                settled = a == 0 and b == 0 and scores[e] == wanted
            else:
                u = tails[low]
                for c in range(min(a + 1, height[u])):
                    for d in range(min(b + 1, width[u])):
                        left = scores[e] + table[table_ptr[u] + c * width[u] + d]
                        if arity == 1:
                            if c == a and d == b and left == wanted:
                                settled = True
                        else:
                            x = tails[low + 1]
                            if a - c < height[x] and b - d < width[x]:
                                right = table[table_ptr[x] + (a - c) * width[x] + b - d]
                                if left + right == wanted:
                                    stack[depth, 0], stack[depth, 1], stack[depth, 2] = x, a - c, b - d
                                    depth += 1
                                    settled = True
                        if settled:
                            stack[depth, 0], stack[depth, 1], stack[depth, 2] = u, c, d
                            depth += 1
                            break
                    if settled:
                        break
            if settled:
                edges = reserve(edges, n + 1)
                edges[n] = e
                n += 1
                break
    return edges[:n].copy()
