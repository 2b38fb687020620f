"""The k best derivations of a hypergraph, found lazily (Huang and Chiang 2005, Algorithm 3).

An *item* is a derivation of a node: an edge and, for each of its tails, an item of
that tail. Every node that is asked for more than its best derivation keeps a heap
of candidate items and the list of those already ranked. The item after (e, ranks)
is found among the heap and the successors of (e, ranks), in which the rank of one
tail is one higher. Only tails at or after the last one raised are raised, so that
every rank vector is met once and no set of visited vectors is needed.

The array format is that of ``dp/derivations/hypergraph.py``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.room import reserve

__all__ = ["kbest"]

# Columns of the item table.
_EDGE = 0  # top edge
_AXIS = 1  # tails before this one are not raised any more
_RANK = 2  # position in the list of its node, once ranked
_NEXT = 3  # next item of that list, or -1
_CHILD = 4  # pairing heap: first child, or -1
_SIBLING = 5  # pairing heap: next sibling, or -1
_ARGS = 6  # where in ``args`` its tail items are
_N_COLUMNS = 7
# A tail item of -1 stands for the best one, known from ``viterbi`` without opening the node.


@njit
def _precedes(a, b, items, values, args, tail_ptr):
    """Whether item ``a`` ranks before ``b``: higher score, then lower edge, then lower ranks."""
    if values[a] != values[b]:
        return values[a] > values[b]
    e = items[a, _EDGE]
    if e != items[b, _EDGE]:
        return e < items[b, _EDGE]
    for j in range(tail_ptr[e + 1] - tail_ptr[e]):
        x, y = args[items[a, _ARGS] + j], args[items[b, _ARGS] + j]
        rank_x = items[x, _RANK] if x >= 0 else 0
        rank_y = items[y, _RANK] if y >= 0 else 0
        if rank_x != rank_y:
            return rank_x < rank_y
    return False


@njit
def _meld(a, b, items, values, args, tail_ptr):
    """Join two pairing heaps (-1 if empty), each given by its top item; returns the new top."""
    if a < 0:
        return b
    if b < 0:
        return a
    if _precedes(b, a, items, values, args, tail_ptr):
        a, b = b, a
    items[b, _SIBLING] = items[a, _CHILD]
    items[a, _CHILD] = b
    return a


@njit
def _without_top(top, items, values, args, tail_ptr):
    """Heap that remains when its top item is taken, by two-pass pairing."""
    pairs = np.int64(-1)
    a = items[top, _CHILD]
    while a >= 0:
        b = items[a, _SIBLING]
        rest = items[b, _SIBLING] if b >= 0 else np.int64(-1)
        items[a, _SIBLING] = -1
        if b >= 0:
            items[b, _SIBLING] = -1
        a = _meld(a, b, items, values, args, tail_ptr)
        items[a, _SIBLING] = pairs
        pairs = a
        a = rest
    heap = np.int64(-1)
    while pairs >= 0:
        rest = items[pairs, _SIBLING]
        items[pairs, _SIBLING] = -1
        heap = _meld(heap, pairs, items, values, args, tail_ptr)
        pairs = rest
    return heap


@njit
def kbest(graph_ptr, node_ptr, tail_ptr, tails, scores, start, stop, k, best, back):
    """Up to ``k`` best derivations of every graph, exact and without duplicates.

    Order below every node: higher score first; of equal scores the lower top edge,
    then the smaller vector of tail ranks (left to right), a rank being the position
    of the tail's derivation in the same order below the tail. The first entry is the
    derivation of ``viterbi``. Derivations of score ``-inf`` are never listed.

    Costs O(n_edges + D k log(k + n)) for derivations of D edges, n edges to a node.

    Parameters
    ----------
    graph_ptr, node_ptr, tail_ptr, tails, scores : ndarray
        The batch, see ``dp/derivations/hypergraph.py``.
    start, stop : int
        Range of graphs.
    k : int
        Derivations wanted per graph.
    best, back : ndarray of shape (n_nodes,)
        From ``viterbi``.

    Returns
    -------
    list_ptr : ndarray of int64, shape (stop - start + 1,)
        Graph ``start + j`` has the derivations ``list_ptr[j] .. list_ptr[j + 1] - 1``.
    totals : ndarray of shape (n_derivations,)
        Their scores, descending within a graph.
    edge_ptr : ndarray of int64, shape (n_derivations + 1,)
        Derivation ``r`` is ``edges[edge_ptr[r]:edge_ptr[r + 1]]``.
    edges : ndarray of int64
        Edges in pre-order.
    """
    list_ptr = np.zeros(stop - start + 1, np.int64)
    totals, edge_ptr, n_lists = np.empty(16), np.zeros(17, np.int64), 0
    edges, n = np.empty(64, np.int64), 0

    items, values, args = np.empty((64, _N_COLUMNS), np.int64), np.empty(64), np.empty(64, np.int64)
    size = 1
    for i in range(start, stop):
        size = max(size, graph_ptr[i + 1] - graph_ptr[i])
    heaps = np.empty(size, np.int64)
    heads, lasts = np.empty(size, np.int64), np.empty(size, np.int64)  # first and last ranked item
    lengths = np.empty(size, np.int64)  # number of ranked items; -1: node not opened
    axes = np.empty(size, np.int64)  # next tail to raise in the last ranked item
    complete = np.empty(size, np.bool_)  # nothing is left to rank
    # Demands: a node and how many items it should rank. Tails lie below heads, so the nodes
    # on the stack fall strictly and none is on it twice.
    nodes, demands = np.empty(size, np.int64), np.empty(size, np.int64)
    walk, walk_items = np.empty(16, np.int64), np.empty(16, np.int64)

    for i in range(start, stop):
        lo, root = graph_ptr[i], graph_ptr[i + 1] - 1
        n_items, n_args, depth = np.int64(0), 0, 0
        if best[root] > -np.inf and k > 0:
            lengths[: root + 1 - lo] = -1
            complete[: root + 1 - lo] = False
            nodes[0], demands[0], depth = root, k, 1
        while depth > 0:
            v = nodes[depth - 1]
            x = v - lo
            if lengths[x] < 0:  # open: the best item of every edge
                lengths[x], heaps[x] = 0, -1
                for e in range(node_ptr[v], node_ptr[v + 1]):
                    total = scores[e]
                    first, last = tail_ptr[e], tail_ptr[e + 1]
                    for t in range(first, last):
                        total += best[tails[t]]
                    if total == -np.inf:
                        continue
                    items, values = reserve(items, n_items + 1), reserve(values, n_items + 1)
                    args = reserve(args, n_args + last - first)
                    items[n_items, _EDGE], items[n_items, _AXIS], items[n_items, _ARGS] = e, 0, n_args
                    items[n_items, _NEXT : _SIBLING + 1] = -1
                    values[n_items] = total
                    args[n_args : n_args + last - first] = -1
                    n_args += last - first
                    heaps[x] = _meld(heaps[x], n_items, items, values, args, tail_ptr)
                    n_items += 1
            if lengths[x] >= demands[depth - 1] or complete[x]:
                depth -= 1
                continue
            if lengths[x] > 0:  # the successors of the last ranked item come before the next one
                q, j = lasts[x], axes[x]
                e = items[q, _EDGE]
                first, last = tail_ptr[e], tail_ptr[e + 1]
                if j < last - first:
                    u = tails[first + j] - lo
                    arg = args[items[q, _ARGS] + j]
                    wanted = (items[arg, _RANK] if arg >= 0 else 0) + 2
                    if lengths[u] < wanted and not complete[u]:
                        nodes[depth], demands[depth] = u + lo, wanted
                        depth += 1
                        continue
                    axes[x] = j + 1
                    if lengths[u] >= wanted:
                        items, values = reserve(items, n_items + 1), reserve(values, n_items + 1)
                        args = reserve(args, n_args + last - first)
                        items[n_items, _EDGE], items[n_items, _AXIS], items[n_items, _ARGS] = e, j, n_args
                        items[n_items, _NEXT : _SIBLING + 1] = -1
                        # Summed afresh in the order of viterbi: rounding then cannot make a
                        # successor better than its predecessor.
                        total = scores[e]
                        for t in range(last - first):
                            other = args[items[q, _ARGS] + t]
                            if t == j:
                                other = items[arg if arg >= 0 else heads[u], _NEXT]
                            args[n_args + t] = other
                            total += values[other] if other >= 0 else best[tails[first + t]]
                        values[n_items] = total
                        n_args += last - first
                        heaps[x] = _meld(heaps[x], n_items, items, values, args, tail_ptr)
                        n_items += 1
                    continue
            q = heaps[x]
            if q < 0:
                complete[x] = True
                continue
            heaps[x] = _without_top(q, items, values, args, tail_ptr)
            items[q, _RANK] = lengths[x]
            if lengths[x] == 0:
                heads[x] = q
            else:
                items[lasts[x], _NEXT] = q
            lasts[x], axes[x] = q, items[q, _AXIS]
            lengths[x] += 1

        q = heads[root - lo] if n_items > 0 else -1
        while q >= 0:
            walk[0], walk_items[0], depth = root, q, 1
            while depth > 0:
                depth -= 1
                v, item = walk[depth], walk_items[depth]
                e = items[item, _EDGE] if item >= 0 else back[v]
                edges = reserve(edges, n + 1)
                edges[n] = e
                n += 1
                first, last = tail_ptr[e], tail_ptr[e + 1]
                walk = reserve(walk, depth + last - first)
                walk_items = reserve(walk_items, depth + last - first)
                for j in range(last - first - 1, -1, -1):
                    walk[depth] = tails[first + j]
                    walk_items[depth] = args[items[item, _ARGS] + j] if item >= 0 else -1
                    depth += 1
            totals, edge_ptr = reserve(totals, n_lists + 1), reserve(edge_ptr, n_lists + 2)
            totals[n_lists] = values[q]
            n_lists += 1
            edge_ptr[n_lists] = n
            q = items[q, _NEXT]
        list_ptr[i - start + 1] = n_lists
    return list_ptr, totals[:n_lists].copy(), edge_ptr[: n_lists + 1].copy(), edges[:n].copy()
