"""Trails in multigraphs: every edge used exactly once.

Edges are numbered by their tails: those that leave vertex ``v`` are
``ptr[v]:ptr[v + 1]``, edge ``e`` goes to ``head[e]`` and stands for ``mult[e]`` parallel ones.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit


@njit
def euler_paths(ptr, head, mult, order, edges, bounds):
    """Concatenated paths that use every edge, one from each vertex of ``order`` that still has edges.

    Path ``i`` is ``edges[bounds[i]:bounds[i + 1]]``. On a graph with an Euler trail from the first
    vertex of ``order`` there is one path, the trail. This is the recursion
    ``EULER(q): for each unmarked edge e from q: mark e; path = [e] + EULER(head(e)) + path``
    with a stack, in linear time.

    Parameters
    ----------
    ptr, head, mult : int arrays
        The graph.
    order : int array
        Where paths may begin, in this order.
    edges : (sum of mult,), out
        Edges in the order of the paths.
    bounds : (n_vertices + 1,), out
        Where paths begin and end.

    Returns
    -------
    int
        Number of paths.
    """
    left = mult.copy()
    next_edge = ptr[:-1].copy()
    stack = np.empty(edges.size + 1, dtype=np.int64)
    n_out = 0
    n_paths = 0
    bounds[0] = 0
    for q in order:
        begin = n_out
        n_stack = 0
        v = q
        while True:
            while next_edge[v] < ptr[v + 1] and left[next_edge[v]] == 0:
                next_edge[v] += 1
            if next_edge[v] < ptr[v + 1]:
                e = next_edge[v]
                left[e] -= 1
                stack[n_stack] = e
                n_stack += 1
                v = head[e]
            elif n_stack > 0:
                n_stack -= 1
                edges[n_out] = stack[n_stack]
                n_out += 1
                if n_stack > 0:
                    v = head[stack[n_stack - 1]]
                else:
                    v = q
            else:
                break
        if n_out > begin:
            i, j = begin, n_out - 1
            while i < j:
                edges[i], edges[j] = edges[j], edges[i]
                i += 1
                j -= 1
            n_paths += 1
            bounds[n_paths] = n_out
    return n_paths


@njit
def _reaches_all(ptr, head, left, v, remaining, seen, queue):
    """Whether every remaining edge can be reached from ``v``."""
    seen[:] = False
    seen[v] = True
    queue[0] = v
    n_queue = 1
    reached = 0
    i = 0
    while i < n_queue:
        u = queue[i]
        i += 1
        for e in range(ptr[u], ptr[u + 1]):
            if left[e] > 0:
                reached += left[e]
                w = head[e]
                if not seen[w]:
                    seen[w] = True
                    queue[n_queue] = w
                    n_queue += 1
    return reached == remaining


@njit
def enumerate_trails(ptr, head, mult, start, trails):
    """Different Euler trails from ``start``, in lexicographic order of their edges.

    The graph must have one. A step that would cut off remaining edges is not taken, so that the search
    never has to come back from a dead end.

    Parameters
    ----------
    ptr, head, mult : int arrays
        The graph.
    start : int
        First vertex.
    trails : (cap, sum of mult), out
        The trails.

    Returns
    -------
    n_trails : int
        At most ``cap``.
    truncated : bool
        Whether there are more.
    """
    cap, length = trails.shape
    n_vertices = ptr.size - 1
    left = mult.copy()
    path = np.empty(length, dtype=np.int64)
    tried = np.empty(length + 1, dtype=np.int64)  # next edge to try at each depth
    vertex = np.empty(length + 1, dtype=np.int64)
    seen = np.empty(n_vertices, dtype=np.bool_)
    queue = np.empty(n_vertices, dtype=np.int64)
    depth = 0
    vertex[0] = start
    tried[0] = ptr[start]
    n_trails = 0
    if length == 0:
        return min(cap, 1), False
    while depth >= 0:
        v = vertex[depth]
        e = tried[depth]
        while e < ptr[v + 1] and left[e] == 0:
            e += 1
        if depth == length or e == ptr[v + 1]:
            if depth == length:
                if n_trails == cap:
                    return n_trails, True
                for k in range(length):
                    trails[n_trails, k] = path[k]
                n_trails += 1
            depth -= 1
            if depth >= 0:
                left[path[depth]] += 1
            continue
        tried[depth] = e + 1
        left[e] -= 1
        if _reaches_all(ptr, head, left, head[e], length - depth - 1, seen, queue):
            path[depth] = e
            depth += 1
            vertex[depth] = head[e]
            tried[depth] = ptr[head[e]]
        else:
            left[e] += 1
    return n_trails, False
