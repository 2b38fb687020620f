"""Where loops look up their scores. Edit the callers too: compiled caches do not see this file."""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.rna.nearest.layout import END, HELIX, LONELY, LOOP_3, LOOP_4, LOOP_6, N_ENDS, TRIPLE
from trelliswork.dp.rna.rules import KIND

__all__ = ["absorbed", "helix_end", "in_end", "internal_class", "loop_code", "out_end", "rows", "triple"]


@njit
def rows(n, window):
    """Where the rows of the cells of one sequence start, less the number of the row."""
    offset = np.empty(n + 1, np.int64)
    total = 0
    for i in range(n + 1):
        offset[i] = total - i
        total += min(window, n - i)
    return offset


@njit
def absorbed(pair, offset, window, out, forced):
    """Scores of pairs less those of their bases when unpaired, so that unpaired bases score 0.

    Bases whose own score is -inf have to be paired. Returns the score of the structure without pairs.
    """
    n = forced.size
    unpaired = np.zeros(n, pair.dtype)
    total = unpaired[:1].copy()
    for i in range(n):
        forced[i] = pair[offset[i] + i].real == -np.inf
        if not forced[i]:
            unpaired[i] = pair[offset[i] + i]
            total[0] += unpaired[i]
    for i in range(n):
        out[offset[i] + i] = 0.0
        for j in range(i + 1, min(n, i + window)):
            out[offset[i] + j] = pair[offset[i] + j] - unpaired[i] - unpaired[j]
    return total[0]


@njit(no_cpython_wrapper=True)
def out_end(seq, i, j, c):
    """Entry for pair (i, j) seen from the loop that it closes."""
    return END + c * N_ENDS + KIND[seq[i], seq[j]] * 25 + seq[i + 1] * 5 + seq[j - 1]


@njit(no_cpython_wrapper=True)
def in_end(seq, p, q, c):
    """Entry for pair (p, q) seen from the loop around it."""
    after = seq[q + 1] if q + 1 < seq.size else 4
    before = seq[p - 1] if p > 0 else 4
    return END + c * N_ENDS + KIND[seq[q], seq[p]] * 25 + after * 5 + before


@njit(no_cpython_wrapper=True)
def internal_class(left, right):
    """Class of an internal loop with so many unpaired bases on either side; not for one base in all."""
    small = min(left, right)
    if small == 0:
        return 0
    if small == 1:
        return 1 if max(left, right) == 1 else 2
    return 3


@njit(no_cpython_wrapper=True)
def triple(seq, i, j):
    """Entry for pair (i, j) between those next to it on both sides; -1 if the outer one is not possible."""
    if i == 0 or j + 1 >= seq.size:
        return -1
    outer = KIND[seq[i - 1], seq[j + 1]]
    if outer < 0:
        return -1
    return TRIPLE + 36 * outer + 6 * KIND[seq[i], seq[j]] + KIND[seq[i + 1], seq[j - 1]]


@njit(no_cpython_wrapper=True)
def helix_end(length):
    """Entry for a helix of so many pairs; -1 for long ones."""
    if length == 1:
        return LONELY
    return HELIX + length - 2 if length <= 4 else -1


@njit(no_cpython_wrapper=True)
def loop_code(seq, i, j, size):
    """Entry of a table of a size for the bases of a hairpin loop of three, four or six, otherwise -1."""
    length = j - i - 1
    if length < 3 or length == 5 or length > 6 or (length == 6 and size <= LOOP_6):
        return -1
    code = 0
    for k in range(i + 1, j):
        if seq[k] == 4:
            return -1
        code = 4 * code + seq[k]
    return (LOOP_3 if length == 3 else LOOP_4 if length == 4 else LOOP_6) + code
