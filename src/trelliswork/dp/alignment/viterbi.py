"""Best alignments of pairs of sequences in linear memory (Gotoh 1982, with checkpoints).

A path runs through the cells (i, j), i residues of the first and j of the second sequence
being consumed, in the states M (match, diagonal), D (deletion: a residue of the first against
a gap) and I (insertion: of the second). The first symbol of a run of D or of I opens a gap, the
others extend it; the start counts as M. Scores of a pair:

table (K, K)    match of two symbols
gap (2,)        opening, extension
miss (n1,)      added when residue i is not matched with ``partner[i]``: to every other match of
                it, to its deletion, and where a local alignment leaves it out; 0 without partner
cell (n1 * n2,) added to the match of residues i and j; empty for none

Flags: FREE_FIRST deletions in the first and last column score nothing (but for ``miss``),
FREE_SECOND insertions in the first and last row; LOCAL a path starts and ends with a match
anywhere, or is empty; CANONICAL no deletion right after an insertion.

Arrays of a batch hold all pairs one after the other; kernels work on the pairs start .. stop - 1.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.alignment.flags import CANONICAL, FREE_FIRST, FREE_SECOND, LOCAL
from trelliswork.dp.alignment.one_pair import one_pair
from trelliswork.dp.alignment.pairs import Pair

__all__ = [
    "DELETE",
    "INSERT",
    "MATCH",
    "SKIP_FIRST",
    "SKIP_SECOND",
    "first_of_rows",
    "path_values",
    "perceptron_pass",
    "viterbi",
]

# Codes of the columns of an alignment. A local alignment skips what is outside of it: first
# residues of the first sequence, then of the second, before it and again after it.
MATCH, DELETE, INSERT, SKIP_FIRST, SKIP_SECOND = 0, 1, 2, 3, 4

# Bits of the trace of a cell.
_M_D, _M_I, _D_I, _EXTEND_D, _EXTEND_I, _START = 1, 2, 4, 8, 16, 32
# States that are settled by the trace of their cell: best of all, of M and I, of M and D.
_ANY, _M_OR_I, _M_OR_D = 3, 4, 5


@njit
def _match_row(r, pair, sub):
    """Score of matching residue ``r`` of the first sequence with every residue of the second."""
    a, b, table, _, miss, partner, cell, _ = pair
    n2 = b.size
    row = table[a[r]]
    for j in range(n2):
        sub[j] = row[b[j]]
    if cell.size:
        for j in range(n2):
            sub[j] += cell[r * n2 + j]
    if miss[r] != 0.0:
        for j in range(n2):
            if j != partner[r]:
                sub[j] += miss[r]


@njit
def _first_row(n2, gap, flags, M, D, N):
    """Row 0 of the grid."""
    M[:] = -np.inf
    D[:] = -np.inf
    N[:] = -np.inf
    if flags & LOCAL:
        return
    M[0] = 0.0
    for j in range(1, n2 + 1):
        step = gap[0] if j == 1 else gap[1]
        N[j] = (0.0 if j == 1 else N[j - 1]) + (0.0 if flags & FREE_SECOND else step)


@njit
def _rows(top, bottom, pair, before, sub, M, D, N, trace):
    """Rows top + 1 .. bottom from row ``top``, in place; the trace is kept if it has rows."""
    n1, n2 = pair.first.size, pair.second.size
    gap, miss, flags = pair.gap, pair.miss, pair.flags
    local, canonical = flags & LOCAL, flags & CANONICAL
    keep = trace.shape[0] > 0
    for i in range(top + 1, bottom + 1):
        r = i - 1
        _match_row(r, pair, sub)
        free_row = flags & FREE_SECOND and i == n1
        open_i = 0.0 if free_row else gap[0]
        extend_i = 0.0 if free_row else gap[1]
        best_left = max(M[0], D[0], N[0])  # of the row above, one column to the left
        left_m = left_d = left_i = -np.inf
        for j in range(n2 + 1):
            open_d, extend_d = gap[0] + miss[r], gap[1] + miss[r]
            if flags & FREE_FIRST and (j == 0 or j == n2):
                open_d = extend_d = miss[r]
            up_m, up_d, up_i = M[j], D[j], N[j]
            bits = 0
            m = -np.inf
            if j > 0:
                if local and before[r] >= best_left:
                    best_left = before[r]
                    bits |= _START
                m = sub[j - 1] + best_left
            opened = up_m if canonical else max(up_m, up_i)
            d = opened + open_d
            if up_d + extend_d > d:
                d = up_d + extend_d
                bits |= _EXTEND_D
            x = max(left_m, left_d) + open_i
            if left_i + extend_i > x:
                x = left_i + extend_i
                bits |= _EXTEND_I
            best_left = max(up_m, up_d, up_i)
            M[j], D[j], N[j] = m, d, x
            left_m, left_d, left_i = m, d, x
            if keep:
                if m >= d:
                    bits |= _M_D
                if m >= x:
                    bits |= _M_I
                if d >= x:
                    bits |= _D_I
                trace[i - top - 1, j] = bits


@njit
def _walk(top, i, j, state, size, trace, flags, codes):
    """Follow the trace from cell (i, j) up to row ``top``; codes come last column first.

    Returns cell, state and number of codes; the state -1 is the start of a local alignment.
    """
    while i > top and j > 0:
        bits = trace[i - top - 1, j]
        if state == _ANY:
            if bits & _M_D and bits & _M_I:
                state = MATCH
            else:
                state = DELETE if bits & _D_I else INSERT
        elif state == _M_OR_I:
            state = MATCH if bits & _M_I else INSERT
        elif state == _M_OR_D:
            state = MATCH if bits & _M_D else DELETE
        codes[size] = state
        size += 1
        if state == MATCH:
            i -= 1
            j -= 1
            if bits & _START:
                return i, j, -1, size
            state = _ANY
        elif state == DELETE:
            i -= 1
            if not bits & _EXTEND_D:
                state = MATCH if flags & CANONICAL else _M_OR_I
        else:
            j -= 1
            if not bits & _EXTEND_I:
                state = _M_OR_D
    return i, j, state, size


@njit
def _repeat(code, times, codes, size):
    for _ in range(times):
        codes[size] = code
        size += 1
    return size


@njit
def _best_path(pair, most, codes):
    """Value of the best path and its codes, last column first; returns also their number."""
    n1, n2, miss, flags = pair.first.size, pair.second.size, pair.miss, pair.flags
    local = flags & LOCAL
    before = np.zeros(n1 + 1)
    for i in range(n1):
        before[i + 1] = before[i] + miss[i]
    step = max(n1, 1)
    if (n1 + 1) * (n2 + 1) > most:
        step = int(np.sqrt(24.0 * n1)) + 1
    n_blocks = max(1, -(-n1 // step))
    sub = np.empty(n2)
    M, D, N = np.empty(n2 + 1), np.empty(n2 + 1), np.empty(n2 + 1)
    rows = np.empty((n_blocks, 3, n2 + 1))
    trace = np.empty((min(step, n1), n2 + 1), np.uint8)
    nothing = np.empty((0, n2 + 1), np.uint8)
    _first_row(n2, pair.gap, flags, M, D, N)
    best, best_i, best_j = before[n1], 0, 0  # of local paths: the empty one
    for q in range(n_blocks):
        for j in range(n2 + 1):
            rows[q, 0, j], rows[q, 1, j], rows[q, 2, j] = M[j], D[j], N[j]
        bottom = min((q + 1) * step, n1)
        if not local:
            kept = trace if q == n_blocks - 1 else nothing
            _rows(q * step, bottom, pair, before, sub, M, D, N, kept)
            continue
        for i in range(q * step, bottom):
            kept = trace[i - q * step : i - q * step + 1] if n_blocks == 1 else nothing
            _rows(i, i + 1, pair, before, sub, M, D, N, kept)
            for j in range(1, n2 + 1):
                value = M[j] + before[n1] - before[i + 1]
                if value > best:
                    best, best_i, best_j = value, i + 1, j
    size = np.int64(0)
    alone_second, alone_first = np.int64(INSERT), np.int64(DELETE)  # residues beyond the last match
    if local:
        alone_second, alone_first = np.int64(SKIP_SECOND), np.int64(SKIP_FIRST)
        i, j, state = best_i, best_j, MATCH
        size = _repeat(alone_second, n2 - j, codes, size)
        size = _repeat(alone_first, n1 - i, codes, size)
    else:
        best = max(M[n2], D[n2], N[n2])
        i, j, state = n1, n2, _ANY
    q = max(i - 1, 0) // step
    known = n_blocks - 1 if not local else (0 if n_blocks == 1 else -1)
    while i > 0 and j > 0:
        if q != known:
            for t in range(n2 + 1):
                M[t], D[t], N[t] = rows[q, 0, t], rows[q, 1, t], rows[q, 2, t]
            bottom = min((q + 1) * step, n1)
            _rows(q * step, bottom, pair, before, sub, M, D, N, trace)
        i, j, state, size = _walk(q * step, i, j, state, size, trace, flags, codes)
        if state == -1:
            break
        q -= 1
    size = _repeat(alone_second, j, codes, size)
    return best, _repeat(alone_first, i, codes, size)


@njit
def viterbi(pairs, law, start, stop, most, values, codes, lengths):
    """Best path of every pair.

    Up to ``most`` cells the trace of a pair is kept, beyond only that of blocks of rows, twice computed.
    The codes of pair p go to ``codes[first_ptr[p] + second_ptr[p]:]``, ``lengths[p]`` of them. Ties: the
    last column is a match rather than a deletion rather than an insertion, and a gap opens as
    late as it can; then the same for the columns before it.
    """
    ptr, other_ptr = pairs.first_ptr, pairs.second_ptr
    for p in range(start, stop):
        path = codes[ptr[p] + other_ptr[p] : ptr[p + 1] + other_ptr[p + 1]]
        values[p], lengths[p] = _best_path(one_pair(pairs, law, p), most, path)
        for k in range(lengths[p] // 2):
            other = lengths[p] - 1 - k
            path[k], path[other] = path[other], path[k]


@njit
def _add_features(first, second, codes, of_pair, of_gap, flags, step, w):
    """Add ``step`` to the weight of every feature that a path fires."""
    i = j = 0
    previous = -1
    for k in range(codes.size):
        code = codes[k]
        if code == MATCH:
            feature = of_pair[first[i], second[j]]
            if feature >= 0:
                w[feature] += step
        elif code == DELETE:
            if not (flags & FREE_FIRST and (j == 0 or j == second.size)):
                w[of_gap[1 if previous == code else 0]] += step
        elif code == INSERT and not (flags & FREE_SECOND and (i == 0 or i == first.size)):
            w[of_gap[1 if previous == code else 0]] += step
        i += code in (MATCH, DELETE, SKIP_FIRST)
        j += code in (MATCH, INSERT, SKIP_SECOND)
        previous = code


@njit
def perceptron_pass(pairs, of_pair, of_gap, flags, most, gold, gold_ptr, order, weights, clock, w, u):
    """One pass of the perceptron over the pairs in ``order``; returns the number of mistakes.

    A mistake moves ``w`` by the weight of the pair times the difference of the features of the true and
    of the best path, and ``u`` by ``clock[0]`` (pairs seen, this one included) times that.
    """
    a, a_ptr, b, b_ptr, _, _ = pairs
    n_symbols = of_pair.shape[0]
    table, gap = np.zeros((n_symbols, n_symbols)), np.zeros(2)
    longest = 0
    for p in range(a_ptr.size - 1):
        longest = max(longest, a_ptr[p + 1] - a_ptr[p] + b_ptr[p + 1] - b_ptr[p])
    miss, partner, cell = np.zeros(longest), np.full(longest, -1), np.zeros(0)
    codes, path = np.empty(longest, np.uint8), np.empty(longest, np.int64)
    mistakes = 0
    for p in order:
        clock[0] += 1.0
        for x in range(n_symbols):
            for y in range(n_symbols):
                table[x, y] = w[of_pair[x, y]] if of_pair[x, y] >= 0 else 0.0
        gap[0], gap[1] = w[of_gap[0]], w[of_gap[1]]
        first, second = a[a_ptr[p] : a_ptr[p + 1]], b[b_ptr[p] : b_ptr[p + 1]]
        n1 = first.size
        pair = Pair(first, second, table, gap, miss[:n1], partner[:n1], cell, flags)
        _, size = _best_path(pair, most, codes)
        best, true = path[:size], gold[gold_ptr[p] : gold_ptr[p + 1]]
        right = size == true.size
        for t in range(size):
            best[t] = codes[size - 1 - t]
            right = right and best[t] == true[t]
        if right:
            continue
        mistakes += 1
        for sign, columns in ((1.0, true), (-1.0, best)):
            _add_features(first, second, columns, of_pair, of_gap, flags, sign * weights[p], w)
            _add_features(first, second, columns, of_pair, of_gap, flags, sign * weights[p] * clock[0], u)
    return mistakes


@njit
def first_of_rows(values, offsets, kept, start, stop, out):
    """As many values of the beginning of each row as ``kept``, the offsets of the result, has room for."""
    for p in range(start, stop):
        for k in range(kept[p + 1] - kept[p]):
            out[kept[p] + k] = values[offsets[p] + k]


@njit
def path_values(pairs, table, gap, flags, start, stop, codes, ptr, values):
    """Scores of given paths, one per pair; ``table`` and ``gap`` are those of all pairs."""
    a, a_ptr, b, b_ptr, _, _ = pairs
    for p in range(start, stop):
        i = a_ptr[p]
        j = b_ptr[p]
        before, total = -1, 0.0
        for t in range(ptr[p], ptr[p + 1]):
            code = codes[t]
            if code == MATCH:
                total += table[a[i], b[j]]
            elif code in (DELETE, INSERT):
                at_end = j == b_ptr[p] or j == b_ptr[p + 1]
                free = flags & FREE_FIRST
                if code == INSERT:
                    at_end = i == a_ptr[p] or i == a_ptr[p + 1]
                    free = flags & FREE_SECOND
                if not (free and at_end):
                    total += gap[1] if before == code else gap[0]
            if code != INSERT and code != SKIP_SECOND:
                i += 1
            if code != DELETE and code != SKIP_FIRST:
                j += 1
            before = code
        values[p] = total
