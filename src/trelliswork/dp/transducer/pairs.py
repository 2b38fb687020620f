"""Lattices of the monotone alignments of two given strings.

A pair has ``n`` input and ``m`` output symbols. A *step* from (i, j) writes the input symbols ``i .. i + a
- 1`` as the output symbols ``j .. j + b - 1``; an alignment is a path of steps from (0, 0) to (n, m). Node
(i, j) of a pair has the number ``(n - i) * (m + 1) + m - j``, so that the start is the last node, as in
``dp/derivations``. Every row of ``shapes`` is a size (a, b) of steps. The end has one edge without tail.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.places import place_of

__all__ = ["list_arcs", "list_steps", "segment_keys", "step_keys"]


@njit
def _within(n, m, max_out):
    """Whether ``n`` input symbols can be written as ``m`` output symbols."""
    return n >= 0 and m >= 0 and m <= max_out * n


@njit
def list_steps(x_ptr, y_ptr, shapes, max_out):
    """Steps on some path of every pair: pointers to edges per node, tails, and where each step begins.

    Returns ``graph_ptr``, ``node_ptr``, ``place`` (input position of each node), ``tail`` (-1 at the end) and
    ``steps``: per edge the places of its symbols in all inputs and in all outputs, and its shape (-1 at the
    end).
    """
    n_pairs = x_ptr.size - 1
    graph_ptr = np.zeros(n_pairs + 1, np.int64)
    for s in range(n_pairs):
        n, m = x_ptr[s + 1] - x_ptr[s], y_ptr[s + 1] - y_ptr[s]
        graph_ptr[s + 1] = graph_ptr[s] + (n + 1) * (m + 1)
    node_ptr = np.zeros(graph_ptr[-1] + 1, np.int64)
    place = np.zeros(graph_ptr[-1], np.int32)
    for counted in range(2):
        if counted == 1:
            tail = np.empty(node_ptr[-1], np.int32)
            steps = np.empty((node_ptr[-1], 3), np.int64)
        e = np.int64(0)
        for s in range(n_pairs):
            n, m = x_ptr[s + 1] - x_ptr[s], y_ptr[s + 1] - y_ptr[s]
            v = graph_ptr[s]
            for i in range(n, -1, -1):
                for j in range(m, -1, -1):
                    place[v] = i
                    if i == n and j == m:
                        if counted == 1:
                            tail[e] = -1
                            steps[e, 0], steps[e, 1], steps[e, 2] = x_ptr[s] + n, y_ptr[s] + m, -1
                        e += 1
                    elif _within(i, j, max_out):
                        for k in range(shapes.shape[0]):
                            a, b = shapes[k, 0], shapes[k, 1]
                            if _within(n - i - a, m - j - b, max_out):
                                if counted == 1:
                                    tail[e] = (n - i - a) * (m + 1) + m - j - b
                                    steps[e, 0], steps[e, 1], steps[e, 2] = x_ptr[s] + i, y_ptr[s] + j, k
                                e += 1
                    v += 1
                    node_ptr[v] = e
    return graph_ptr, node_ptr, place, tail, steps


@njit
def _key(codes, start, length, base):
    """Number of a string of at most a few symbols among all such strings; -1 with an unknown symbol."""
    key = np.int64(0)
    for t in range(start, start + length):
        if codes[t] < 0:
            return np.int64(-1)
        key = key * base + codes[t] + 1
    return key


@njit(no_cpython_wrapper=True)
def segment_keys(codes, starts, lengths, base):
    """Numbers of substrings of ``codes``; strings of different symbols or lengths have different numbers."""
    out = np.empty(starts.size, np.int64)
    for t in range(starts.size):
        out[t] = _key(codes, starts[t], lengths[t], base)
    return out


@njit
def step_keys(x, y, steps, shapes, x_base, y_base, y_size):
    """Number of the piece that each step writes; -1 at the end and with unknown symbols."""
    out = np.empty(steps.shape[0], np.int64)
    for e in range(steps.shape[0]):
        out[e] = -1
        k = steps[e, 2]
        if k >= 0:
            left = _key(x, steps[e, 0], shapes[k, 0], x_base)
            right = _key(y, steps[e, 1], shapes[k, 1], y_base)
            if left >= 0 and right >= 0:
                out[e] = left * y_size + right
    return out


@njit
def list_arcs(x, x_ptr, keys, piece_ptr, unknown, max_in, base):
    """Arcs of every position: the pieces whose input is there, shorter inputs first.

    ``keys`` are the sorted numbers of inputs of pieces, ``piece_ptr`` where the pieces of each begin. An
    unknown symbol has the one piece ``unknown``. Position ``i`` of sample ``s`` is row ``x_ptr[s] + s + i``
    of ``arc_ptr``; the last position of a sample has no arcs. Returns ``arc_ptr``, ``arc_length``,
    ``arc_piece``.
    """
    n_samples = x_ptr.size - 1
    arc_ptr = np.zeros(x_ptr[-1] + n_samples + 1, np.int64)
    for counted in range(2):
        if counted == 1:
            arc_length, arc_piece = np.empty(arc_ptr[-1], np.int64), np.empty(arc_ptr[-1], np.int64)
        c = np.int64(0)
        for s in range(n_samples):
            for t in range(x_ptr[s], x_ptr[s + 1]):
                if x[t] < 0:
                    if counted == 1:
                        arc_length[c], arc_piece[c] = 1, unknown
                    c += 1
                else:
                    for length in range(1, min(max_in, x_ptr[s + 1] - t) + 1):
                        key = _key(x, t, length, base)
                        if key < 0:
                            break
                        k = place_of(keys, 0, keys.size, key)
                        if k < keys.size and keys[k] == key:
                            for piece in range(piece_ptr[k], piece_ptr[k + 1]):
                                if counted == 1:
                                    arc_length[c], arc_piece[c] = length, piece
                                c += 1
                arc_ptr[t + s + 1] = c
            arc_ptr[x_ptr[s + 1] + s + 1] = c
    return arc_ptr, arc_length, arc_piece
