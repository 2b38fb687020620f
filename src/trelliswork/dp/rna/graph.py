"""The derivation graph of an RNA sequence, for short sequences (O(n^3) edges).

Same grammar as ``dp/rna/viterbi.py``, arrays as in ``dp/derivations/hypergraph.py``: loss profiles are
found with it, and the other recursions of ``dp/rna`` are tested against it.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.rna.rules import BASE, F_LS, F_PAIR, KIND, L_PAIR, N_RULES, S_L, S_LS

__all__ = ["derivation_graph"]


@njit
def _walk(seq, n_depths, node_ptr, tail_ptr, tails, rules, places):
    """Number of nodes, edges and tails; also the arrays, unless they are empty."""
    n, write = seq.size, node_ptr.size > 0
    L = np.full((n_depths, n, n), -1, np.int64)
    F = np.full((n_depths, n, n), -1, np.int64)
    S = np.full((n_depths, n, n), -1, np.int64)
    n_nodes, n_edges, n_tails = 0, 0, 0
    for length in range(1, n + 1):
        whole = length == n
        for i in range(n - length + 1):
            j = i + length - 1
            place = i * n - (i * (i - 1)) // 2 - i + j
            kind = KIND[seq[i], seq[j]] if length >= 4 else -1
            for d in range(n_depths):
                inner = min(d + 1, n_depths - 1)
                if whole and d > 0:
                    continue
                if length == 1 or (kind >= 0 and F[inner, i + 1, j - 1] >= 0):
                    if write:
                        tail_ptr[n_edges] = n_tails
                        places[n_edges] = place
                        rules[n_edges] = d * N_RULES + (BASE + seq[i] if length == 1 else L_PAIR + kind)
                        if length == 1 and seq[i] == 4:
                            rules[n_edges] = -1
                        if length > 1:
                            tails[n_tails] = F[inner, i + 1, j - 1]
                        node_ptr[n_nodes] = n_edges
                    n_tails += length > 1
                    n_edges += 1
                    L[d, i, j] = n_nodes
                    n_nodes += 1
            for d in range(n_depths - 1, -1, -1):
                for target in range(2):  # F, then S
                    if whole and (target == 0 or d > 0):
                        continue
                    if d == 0 and n_depths > 1 and (target == 0 or j < n - 1):
                        continue
                    before = n_edges
                    if target == 0 and kind >= 0 and F[d, i + 1, j - 1] >= 0:
                        if write:
                            tail_ptr[n_edges], tails[n_tails] = n_tails, F[d, i + 1, j - 1]
                            rules[n_edges], places[n_edges] = d * N_RULES + F_PAIR + kind, place
                        n_edges, n_tails = n_edges + 1, n_tails + 1
                    if target == 1 and L[d, i, j] >= 0:
                        if write:
                            tail_ptr[n_edges], tails[n_tails] = n_tails, L[d, i, j]
                            rules[n_edges], places[n_edges] = d * N_RULES + S_L, -1
                        n_edges, n_tails = n_edges + 1, n_tails + 1
                    for k in range(i, j):
                        if L[d, i, k] >= 0 and S[d, k + 1, j] >= 0:
                            if write:
                                tail_ptr[n_edges] = n_tails
                                tails[n_tails], tails[n_tails + 1] = L[d, i, k], S[d, k + 1, j]
                                rules[n_edges] = d * N_RULES + (F_LS if target == 0 else S_LS)
                                places[n_edges] = -1
                            n_edges, n_tails = n_edges + 1, n_tails + 2
                    if n_edges > before:
                        if write:
                            node_ptr[n_nodes] = before
                        if target == 0:
                            F[d, i, j] = n_nodes
                        else:
                            S[d, i, j] = n_nodes
                        n_nodes += 1
    if write:
        node_ptr[n_nodes], tail_ptr[n_edges] = n_edges, n_tails
    return n_nodes, n_edges, n_tails


@njit
def derivation_graph(seq, n_depths):
    """Arrays of one graph.

    Returns
    -------
    node_ptr, tail_ptr, tails : ndarray of int64
        The graph; its root is the last node.
    rules : ndarray of int64
        Rule of every edge, ``depth * 19 + column``; -1 for an unknown base.
    places : ndarray of int64
        Entry of the upper triangle that the edge stands for (a base or a pair), or -1.
    """
    none = np.empty(0, np.int64)
    n_nodes, n_edges, n_tails = _walk(seq, n_depths, none, none, none, none, none)
    node_ptr, tail_ptr = np.empty(n_nodes + 1, np.int64), np.empty(n_edges + 1, np.int64)
    tails, rules, places = (
        np.empty(n_tails, np.int64),
        np.empty(n_edges, np.int64),
        np.empty(n_edges, np.int64),
    )
    _walk(seq, n_depths, node_ptr, tail_ptr, tails, rules, places)
    return node_ptr, tail_ptr, tails, rules, places
