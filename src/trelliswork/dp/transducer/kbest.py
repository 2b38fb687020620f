"""The best paths of lattices, in the format of ``dp/transducer/lattice.py``."""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

__all__ = ["kbest"]


@njit
def _rank(node_ptr, tail, scores, first_edge, k, values, edges, ranks, counts):
    """The ``k`` best paths from every node of one sample: value, first edge, and rank of the rest of the path
    among those of its tail.

    Higher values first; of equal ones the lower edge, then the lower rank. Values of -inf are not listed.
    """
    for v in range(counts.size):
        n = 0
        for e in range(node_ptr[v] - first_edge, node_ptr[v + 1] - first_edge):
            u = tail[e]
            for r in range(counts[u] if u >= 0 else 1):
                value = scores[e] + (values[u, r] if u >= 0 else 0.0)
                if value == -np.inf or (n == k and value <= values[v, k - 1]):
                    break
                n = min(n + 1, k)
                t = n - 1
                while t > 0 and values[v, t - 1] < value:
                    values[v, t], edges[v, t], ranks[v, t] = (
                        values[v, t - 1],
                        edges[v, t - 1],
                        ranks[v, t - 1],
                    )
                    t -= 1
                values[v, t], edges[v, t], ranks[v, t] = value, e, r
        counts[v] = n


@njit
def kbest(graph_ptr, node_ptr, tail, scores, start, stop, k):
    """Up to ``k`` best paths of the samples ``start .. stop - 1``, as ``dp/derivations/kbest.py`` lists them.

    Every node gets its list, which for few paths is far quicker than to open nodes as they are needed.

    Returns
    -------
    list_ptr : ndarray of int64, shape (stop - start + 1,)
        Where the paths of each sample begin.
    totals : ndarray of shape (n_paths,)
        Their scores, descending within a sample.
    edge_ptr : ndarray of int64, shape (n_paths + 1,)
        Where the edges of each path begin.
    edges : ndarray of int64
        Edges of the paths, numbered within their sample.
    """
    n_nodes, longest = np.int64(0), np.int64(0)
    for s in range(start, stop):
        n_nodes = max(n_nodes, graph_ptr[s + 1] - graph_ptr[s])
    values, first, rest = (
        np.empty((n_nodes, k)),
        np.empty((n_nodes, k), np.int64),
        np.empty((n_nodes, k), np.int64),
    )
    counts = np.empty(n_nodes, np.int64)
    list_ptr = np.zeros(stop - start + 1, np.int64)
    totals, edge_ptr = np.empty((stop - start) * k), np.zeros((stop - start) * k + 1, np.int64)
    edges, n, n_edges = np.empty(1024, np.int64), np.int64(0), np.int64(0)
    for s in range(start, stop):
        lo, hi = graph_ptr[s], graph_ptr[s + 1]
        a, b = node_ptr[lo], node_ptr[hi]
        _rank(node_ptr[lo : hi + 1], tail[a:b], scores[a:b], a, k, values, first, rest, counts[: hi - lo])
        root = hi - lo - 1
        longest = hi - lo  # a path passes every node at most once
        for r in range(counts[root]):
            if n_edges + longest > edges.size:
                wider = np.empty(2 * (n_edges + longest), np.int64)
                wider[:n_edges] = edges[:n_edges]
                edges = wider
            v, rank = np.int64(root), np.int64(r)
            while v >= 0:
                e = first[v, rank]
                edges[n_edges] = e
                n_edges += 1
                v, rank = np.int64(tail[a + e]), rest[v, rank]
            totals[n] = values[root, r]
            n += 1
            edge_ptr[n] = n_edges
        list_ptr[s - start + 1] = n
    return list_ptr, totals[:n].copy(), edge_ptr[: n + 1].copy(), edges[:n_edges].copy()
