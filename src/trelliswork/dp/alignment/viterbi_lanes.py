"""Best global alignments with short vectors (Farrar 2007; prefix scans as in Daily 2016).

The columns of a row are dealt to lanes in stripes: column j - 1 = l * seg + s is lane l of vector s,
so that the recursion along a row runs in all lanes at once; what passes from one lane to the next
is settled by a prefix maximum over lanes. The scores of the symbols of the second sequence against
every symbol are laid out in the same way once per pair, so that no score is looked up in the grid.

Scores are shifted so that extending a gap costs nothing: subtracting the extension from every
residue adds a constant to all alignments. States, ties and the bits of the trace are those of
``dp/alignment/viterbi.py``. ``dtype`` of the arrays is int16 (scores times ``scale``, rounded) or
float32.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.alignment.flags import CANONICAL
from trelliswork.dp.alignment.vectors import (
    add,
    either,
    fill,
    flag_above,
    flag_at_least,
    larger,
    load,
    shift1,
    shift2,
    shift4,
    shift8,
    store,
    store_bytes,
)

__all__ = ["best_values", "row_sums", "viterbi"]

_M_D, _M_I, _D_I, _EXTEND_D, _EXTEND_I = 1, 2, 4, 8, 16
_ANY, _M_OR_I, _M_OR_D = 3, 4, 5


@njit
def _profile(b, table, shift, scale, low, lanes, profile):
    """Scores of every symbol against the columns, in stripes; returns the number of vectors."""
    seg = -(-b.size // lanes)
    for c in range(table.shape[0]):
        for k in range(lanes):
            for s in range(seg):
                j = k * seg + s
                value = (table[c, b[j]] - shift) * scale if j < b.size else 0.0
                if low[0] > -np.inf and j < b.size:
                    value = np.rint(value)
                profile[c, s * lanes + k] = value
    return seg


@njit
def _origin(opening, low, open_, base):
    """Score of an opening, and the value of the origin: what gaps alone can cost above ``low``."""
    open_[0] = opening
    if low[0] > -np.inf:
        open_[0] = np.rint(opening)
        base[0] = low[0] + 4.0 * abs(np.rint(opening)) + 8.0


@njit
def _sweep(a, profile, seg, lanes, open_, base, low, canonical, rows, trace):
    """All rows; ``open_``, ``base`` and ``low`` hold one number each.

    ``rows[0]`` gets the best values of the last row; the other rows are scratch.
    """
    H, T, D, M, N = rows[0], rows[1], rows[2], rows[3], rows[4]
    keep = trace.shape[0] > 0
    o, none, origin = fill(open_[0]), fill(low[0]), fill(base[0])
    edge = add(origin, o)  # a run of gaps from the origin
    for s in range(seg):
        store(H, s * lanes, edge)
        store(T, s * lanes, none if canonical else edge)
        store(D, s * lanes, none)
    corner = origin
    after_edge = add(edge, o)
    for i in range(a.size):
        scores = profile[a[i]]
        diagonal = shift1(load(H, (seg - 1) * lanes), corner)
        corner = edge
        run = none
        for s in range(seg):
            x = s * lanes
            m = add(diagonal, load(scores, x))
            d = larger(add(load(T, x), o), load(D, x))
            store(M, x, m)
            store(D, x, d)
            store(N, x, run)
            run = larger(run, add(larger(m, d), o))
            diagonal = load(H, x)
        # Insertions that come from the lanes before.
        run = shift1(run, after_edge)
        run = larger(run, shift1(run, none))
        run = larger(run, shift2(run, none))
        run = larger(run, shift4(run, none))
        run = larger(run, shift8(run, none))
        x = (seg - 1) * lanes
        left = shift1(larger(load(M, x), load(D, x)), edge)
        for s in range(seg):
            x = s * lanes
            m, d = load(M, x), load(D, x)
            n = larger(load(N, x), run)
            best = larger(m, d)
            store(H, x, larger(best, n))
            if keep:
                bits = flag_above(d, add(load(T, x), o), _EXTEND_D)
                bits = either(bits, flag_above(n, add(left, o), _EXTEND_I))
                bits = either(bits, flag_at_least(m, d, _M_D))
                bits = either(bits, flag_at_least(m, n, _M_I))
                bits = either(bits, flag_at_least(d, n, _D_I))
                store_bytes(trace[i], x, bits)
                left = best
            store(T, x, m if canonical else larger(m, n))


@njit
def _follow(n1, n2, seg, lanes, trace, canonical, codes):
    """Columns of the best path, last first; returns their number."""
    i, j, state, size = n1, n2, _ANY, 0
    while i > 0 and j > 0:
        k = (j - 1) // seg
        bits = trace[i - 1, (j - 1 - k * seg) * lanes + k]
        if state == _ANY:
            if bits & _M_D and bits & _M_I:
                state = 0
            else:
                state = 1 if bits & _D_I else 2
        elif state == _M_OR_I:
            state = 0 if bits & _M_I else 2
        elif state == _M_OR_D:
            state = 0 if bits & _M_D else 1
        codes[size] = state
        size += 1
        if state == 0:
            i -= 1
            j -= 1
            state = _ANY
        elif state == 1:
            i -= 1
            if not bits & _EXTEND_D:
                state = 0 if canonical else _M_OR_I
        else:
            j -= 1
            if not bits & _EXTEND_I:
                state = _M_OR_D
    for _ in range(j):
        codes[size] = 2
        size += 1
    for _ in range(i):
        codes[size] = 1
        size += 1
    return size


@njit
def viterbi(pairs, table, gap, flags, chosen, scales, start, stop, low, codes, lengths):
    """Best path of the pairs ``chosen[start:stop]``, none of which has an empty sequence.

    ``scales`` (of the same pairs) multiply the scores; ``low`` (an array of one number) is minus infinity,
    and its type decides on the arithmetic. Codes and lengths are as in
    ``viterbi`` of ``dp/alignment/viterbi.py``.
    """
    a, a_ptr, b, b_ptr, _, _ = pairs
    lanes = 32 // low.itemsize
    most1 = most2 = 0
    for q in range(start, stop):
        p = chosen[q]
        most1 = max(most1, a_ptr[p + 1] - a_ptr[p])
        most2 = max(most2, b_ptr[p + 1] - b_ptr[p])
    width = (most2 + lanes - 1) // lanes * lanes
    profile = np.empty((table.shape[0], width), low.dtype)
    rows = np.empty((5, width), low.dtype)
    space = np.empty(most1 * width, np.uint8)
    open_, base = np.zeros(1, low.dtype), np.zeros(1, low.dtype)
    for q in range(start, stop):
        p = chosen[q]
        first, second = a[a_ptr[p] : a_ptr[p + 1]], b[b_ptr[p] : b_ptr[p + 1]]
        path = codes[a_ptr[p] + b_ptr[p] : a_ptr[p + 1] + b_ptr[p + 1]]
        seg = _profile(second, table, 2.0 * gap[1], scales[q], low, lanes, profile)
        _origin((gap[0] - gap[1]) * scales[q], low, open_, base)
        trace = space[: first.size * seg * lanes].reshape(first.size, seg * lanes)
        _sweep(first, profile, seg, lanes, open_, base, low, flags & CANONICAL != 0, rows, trace)
        lengths[p] = _follow(first.size, second.size, seg, lanes, trace, flags & CANONICAL != 0, path)
        for k in range(lengths[p] // 2):
            other = lengths[p] - 1 - k
            path[k], path[other] = path[other], path[k]


@njit
def best_values(pairs, table, gap, flags, chosen, scales, start, stop, low, values):
    """Score of the best path of the pairs ``chosen[start:stop]``; arguments as in :func:`viterbi`."""
    a, a_ptr, b, b_ptr, _, _ = pairs
    lanes = 32 // low.itemsize
    most2 = 0
    for q in range(start, stop):
        most2 = max(most2, b_ptr[chosen[q] + 1] - b_ptr[chosen[q]])
    width = (most2 + lanes - 1) // lanes * lanes
    profile = np.empty((table.shape[0], width), low.dtype)
    rows = np.empty((5, width), low.dtype)
    nothing = np.empty((0, 0), np.uint8)
    open_, base = np.zeros(1, low.dtype), np.zeros(1, low.dtype)
    for q in range(start, stop):
        p = chosen[q]
        first, second = a[a_ptr[p] : a_ptr[p + 1]], b[b_ptr[p] : b_ptr[p + 1]]
        seg = _profile(second, table, 2.0 * gap[1], scales[q], low, lanes, profile)
        _origin((gap[0] - gap[1]) * scales[q], low, open_, base)
        _sweep(first, profile, seg, lanes, open_, base, low, flags & CANONICAL != 0, rows, nothing)
        j = second.size - 1
        last = rows[0, (j % seg) * lanes + j // seg]
        values[p] = (float(last) - float(base[0])) / scales[q] + gap[1] * (first.size + second.size)


@njit
def row_sums(symbols, ptr, weights, sums):
    """Sum of the weights of the symbols of every sequence."""
    for p in range(ptr.size - 1):
        total = 0.0
        for k in range(ptr[p], ptr[p + 1]):
            total += weights[symbols[k]]
        sums[p] = total
