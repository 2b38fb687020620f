"""Which entries of the table a given structure uses, and how often."""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.rna.nearest.layout import (
    BULGE_BASE,
    BULGE_STACK,
    HAIRPIN,
    HAIRPIN_END,
    LENGTH,
    LONGEST,
    MULTI,
    MULTI_BASE,
    MULTI_END,
    OUTER_BASE,
    OUTER_END,
    PAIR,
    STACK,
)
from trelliswork.dp.rna.nearest.lookup import helix_end, in_end, internal_class, loop_code, out_end, triple
from trelliswork.dp.rna.rules import KIND

__all__ = ["add_hairpin", "add_internal", "count"]


@njit
def _nested(seq, partner, min_hairpin, window):
    """Whether pairs are canonical, nested, not too narrow and not too wide."""
    n = seq.size
    stack, depth = np.empty(n + 1, np.int64), 0
    for i in range(n):
        j = partner[i]
        if j == -1:
            continue
        if j < 0 or j >= n or partner[j] != i or j == i:
            return False
        if j > i:
            if KIND[seq[i], seq[j]] < 0 or j - i <= min_hairpin or j - i >= window:
                return False
            stack[depth] = j
            depth += 1
        else:
            depth -= 1
            if depth < 0 or stack[depth] != i:
                return False
    return True


@njit(no_cpython_wrapper=True)
def add_internal(seq, i, j, p, q, share, counts):
    """Add ``share`` uses of the entries of one stack, bulge or internal loop."""
    left, right = p - i - 1, j - q - 1
    outer, inner = KIND[seq[i], seq[j]], KIND[seq[p], seq[q]]
    if left + right == 0:
        counts[STACK + 6 * outer + inner] += share
        return
    counts[LENGTH + left * (LONGEST + 1) + right] += share
    if left + right == 1:
        counts[BULGE_STACK + 6 * outer + inner] += share
        counts[BULGE_BASE + seq[i + 1 if left == 1 else j - 1]] += share
    else:
        c = internal_class(left, right)
        counts[out_end(seq, i, j, c)] += share
        counts[in_end(seq, p, q, c)] += share


@njit(no_cpython_wrapper=True)
def add_hairpin(seq, i, j, share, counts):
    """Add ``share`` uses of the entries of one hairpin loop."""
    counts[HAIRPIN + min(j - i - 1, LONGEST)] += share
    counts[out_end(seq, i, j, HAIRPIN_END)] += share
    code = loop_code(seq, i, j, counts.size)
    if code >= 0:
        counts[code] += share


@njit
def count(seq, partner, min_hairpin, max_loop, window, counts):
    """Add the uses of all entries of the table; returns whether the structure is possible at all.

    Parameters
    ----------
    seq : ndarray of int64
        Bases.
    partner : ndarray of int64
        Pair table.
    min_hairpin, max_loop, window : int
        Limits of structures.
    counts : ndarray of the size of the table
        Output.
    """
    n = seq.size
    if not _nested(seq, partner, min_hairpin, window):
        return False
    i = 0
    while i < n:  # outside of all pairs
        if partner[i] < 0:
            counts[OUTER_BASE] += 1.0
            i += 1
        else:
            counts[in_end(seq, i, partner[i], OUTER_END)] += 1.0
            i = partner[i] + 1
    for i in range(n):
        j = partner[i]
        if j < i:
            continue
        counts[PAIR + KIND[seq[i], seq[j]]] += 1.0
        n_inner, unpaired, first, k = 0, 0, -1, i + 1
        while k < j:
            if partner[k] < 0:
                unpaired += 1
                k += 1
            else:
                first = k if n_inner == 0 else first
                n_inner += 1
                k = partner[k] + 1
        stacked = i > 0 and j + 1 < n and partner[i - 1] == j + 1
        if stacked and partner[i + 1] == j - 1:
            counts[triple(seq, i, j)] += 1.0
        if not stacked:
            length = 1
            while partner[i + length] == j - length and i + length < j - length:
                length += 1
            if helix_end(length) >= 0:
                counts[helix_end(length)] += 1.0
        if n_inner == 0:
            add_hairpin(seq, i, j, 1.0, counts)
        elif n_inner == 1:
            if unpaired > max_loop:
                return False
            add_internal(seq, i, j, first, partner[first], 1.0, counts)
        else:
            counts[MULTI] += 1.0
            counts[MULTI_BASE] += unpaired
            counts[out_end(seq, i, j, MULTI_END)] += 1.0
            k = first
            while k < j:
                if partner[k] >= 0:
                    counts[in_end(seq, k, partner[k], MULTI_END)] += 1.0
                    k = partner[k]
                k += 1
    return True
