"""Paths of lattices: found again, followed, joined where they write the same.

The format of lattices is that of ``dp/transducer/lattice.py``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

__all__ = ["edges_along", "follow", "histories", "merge_paths", "paths_that_write", "states_before"]


@njit
def follow(graph_ptr, tail, back):
    """Edges of the best path of every sample, in order; none where there is no path."""
    ptr = np.zeros(graph_ptr.size, np.int64)
    for filled in range(2):
        if filled == 1:
            edges = np.empty(ptr[-1], np.int64)
        t = np.int64(0)
        for s in range(graph_ptr.size - 1):
            e = back[graph_ptr[s + 1] - 1]
            while e >= 0:
                if filled == 1:
                    edges[t] = e
                t += 1
                e = back[graph_ptr[s] + tail[e]] if tail[e] >= 0 else -1
            ptr[s + 1] = t
    return ptr, edges


@njit
def states_before(ptr, piece, start_state, step, end_piece):
    """States of the context automaton before every piece of given outputs and before their ends.

    Returns states and pieces, the end after the pieces of each output.
    """
    n = ptr.size - 1
    states, pieces = np.empty(piece.size + n, np.int64), np.empty(piece.size + n, np.int64)
    t = 0
    for s in range(n):
        state = np.int64(start_state)
        for k in range(ptr[s], ptr[s + 1]):
            states[t], pieces[t] = state, piece[k]
            t += 1
            state = np.int64(step[state, piece[k]])
        states[t], pieces[t] = state, end_piece
        t += 1
    return states, pieces


@njit
def histories(ptr, piece, order, end):
    """Every piece of given outputs, and their ends, after the last ``order`` pieces.

    Rows are in the order of the outputs; ``end + 1`` stands before the first pieces.
    """
    n = ptr.size - 1
    rows = np.full((piece.size + n, order + 1), end + 1, np.int64)
    t = 0
    for s in range(n):
        for k in range(ptr[s], ptr[s + 1] + 1):
            now = piece[k] if k < ptr[s + 1] else end
            rows[t, order] = now
            if k < ptr[s + 1]:
                for j in range(order):
                    rows[t + 1, j] = rows[t, j + 1]
            t += 1
    return rows


@njit
def edges_along(graph_ptr, node_ptr, place, tail, x_ptr, arc_ptr, ptr, arcs):
    """Edges of the paths with given arcs, numbered within their samples; the last edge of each ends."""
    edges = np.empty(arcs.size + ptr.size - 1, np.int64)
    t = 0
    for s in range(ptr.size - 1):
        v, first = graph_ptr[s + 1] - 1, node_ptr[graph_ptr[s]]
        for k in range(ptr[s], ptr[s + 1]):
            # A node has all arcs of its position, in their order.
            e = node_ptr[v] + arcs[k] - arc_ptr[x_ptr[s] + s + place[v]]
            edges[t] = e - first
            t += 1
            v = graph_ptr[s] + tail[e]
        edges[t] = node_ptr[v] - first
        t += 1
    return edges


@njit
def merge_paths(ptr, values, path_ptr, piece, out_ptr, out):
    """Which paths of a sample write the same: the first of them, and the log of their sum for it.

    The paths of a sample come in descending order of their values.
    """
    leader, total = np.empty(values.size, np.int64), values.copy()
    text_ptr = np.zeros(values.size + 1, np.int64)
    for r in range(values.size):
        text_ptr[r + 1] = text_ptr[r]
        for t in range(path_ptr[r], path_ptr[r + 1]):
            text_ptr[r + 1] += out_ptr[piece[t] + 1] - out_ptr[piece[t]]
    text = np.empty(text_ptr[-1], out.dtype)
    for s in range(ptr.size - 1):
        for r in range(ptr[s], ptr[s + 1]):
            end = text_ptr[r]
            for t in range(path_ptr[r], path_ptr[r + 1]):
                for o in range(out_ptr[piece[t]], out_ptr[piece[t] + 1]):
                    text[end] = out[o]
                    end += 1
            leader[r] = r
            n = text_ptr[r + 1] - text_ptr[r]
            for q in range(ptr[s], r):
                if leader[q] == q and text_ptr[q + 1] - text_ptr[q] == n:
                    t = 0
                    while t < n and text[text_ptr[q] + t] == text[text_ptr[r] + t]:
                        t += 1
                    if t == n:
                        leader[r] = q
                        total[q] += np.log1p(np.exp(values[r] - total[q]))
                        break
    return leader, total


@njit
def _writes(y, start, stop, piece, out_ptr, out):
    """Number of symbols that a piece writes if they are the next of ``y``, otherwise -1."""
    n = out_ptr[piece + 1] - out_ptr[piece]
    if start + n > stop:
        return np.int64(-1)
    for t in range(n):
        if y[start + t] != out[out_ptr[piece] + t]:
            return np.int64(-1)
    return n


@njit
def paths_that_write(graph_ptr, node_ptr, place, tail, edge_piece, owner, y_ptr, y, out_ptr, out):
    """Sublattices of the paths that write given strings; string ``o`` belongs to sample ``owner[o]``.

    Returns ``graph_ptr, node_ptr, place, tail`` and, per edge, its number among all edges of the lattices.
    Nodes are those of the sample with a number of symbols already written.
    """
    graphs = np.zeros(owner.size + 1, np.int64)
    total_nodes, total_edges = np.int64(0), np.int64(0)
    for filled in range(2):
        nodes = np.zeros(total_nodes + 1, np.int64)
        places, tails = np.empty(total_nodes, np.int32), np.empty(total_edges, np.int32)
        edges = np.empty(total_edges, np.int64)
        n_nodes, n_edges = np.int64(0), np.int64(0)
        for o in range(owner.size):
            first, last = graph_ptr[owner[o]], graph_ptr[owner[o] + 1]
            n, width, begin = last - first, y_ptr[o + 1] - y_ptr[o] + 1, n_nodes
            reached = np.zeros((n, width), np.bool_)
            reached[n - 1, 0] = True
            for v in range(n - 1, -1, -1):
                for j in range(width):
                    for e in range(node_ptr[first + v], node_ptr[first + v + 1] if reached[v, j] else 0):
                        m = _writes(y, y_ptr[o] + j, y_ptr[o + 1], edge_piece[e], out_ptr, out)
                        if m >= 0 and tail[e] >= 0:
                            reached[tail[e], j + m] = True
            number = np.full((n, width), -1, np.int32)
            for v in range(n):
                for j in range(width):
                    if not reached[v, j]:
                        continue
                    number[v, j] = n_nodes - begin
                    for e in range(node_ptr[first + v], node_ptr[first + v + 1]):
                        m = _writes(y, y_ptr[o] + j, y_ptr[o + 1], edge_piece[e], out_ptr, out)
                        if m >= 0 and (tail[e] >= 0 or j == width - 1):
                            if filled == 1:
                                tails[n_edges] = number[tail[e], j + m] if tail[e] >= 0 else -1
                                edges[n_edges] = e
                            n_edges += 1
                    n_nodes += 1
                    if filled == 1:
                        places[n_nodes - 1] = place[first + v]
                        nodes[n_nodes] = n_edges
            graphs[o + 1] = n_nodes
        total_nodes, total_edges = n_nodes, n_edges
    return graphs, nodes, places, tails, edges
