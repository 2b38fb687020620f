"""Which pieces are proposed at a place of an input, by counts in ever wider contexts.

The context of width ``k`` of place ``i`` is the substring ``i - k .. i + k`` of the marked string (see
``windows.py``), cut off at the marks; wider contexts hold narrower ones. The probability of a piece in a
context mixes its share there with its probability in the next narrower one, by the Witten-Bell rule.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.places import place_of

__all__ = ["context_keys", "proposed"]


@njit
def _key(codes, lo, hi, i, width):
    """Key of a context, -1 with an unknown symbol, -2 where the next narrower one is the same."""
    if width > 0 and i - width < lo and i + width >= hi:
        return np.int64(-2)
    first, last = max(lo, i - width), min(hi - 1, i + width)
    h = np.uint64(first - i + 64)
    for t in range(first, last + 1):
        if codes[t] < 0:
            return np.int64(-1)
        h = (h ^ np.uint64(codes[t] + 1)) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
    return np.int64(h >> np.uint64(1))


@njit
def context_keys(codes, ptr, sample, start, width):
    """Keys of the contexts of some places; negative where there is none."""
    out = np.empty(sample.size, np.int64)
    for t in range(sample.size):
        lo, hi = ptr[sample[t]], ptr[sample[t] + 1]
        out[t] = _key(codes, lo, hi, lo + 1 + start[t], width)
    return out


@njit
def proposed(codes, ptr, x_ptr, arc_ptr, arc_piece, width, keys, row_ptr, row_piece, row_count, least):
    """Arcs to keep: those that occur in the widest known context of their place, or whose probability is at
    least ``least`` times that of the most probable arc there.
    """
    keep = np.ones(arc_piece.size, np.bool_)
    p = np.empty(64)
    for s in range(x_ptr.size - 1):
        lo, hi = ptr[s], ptr[s + 1]
        for i in range(x_ptr[s + 1] - x_ptr[s]):
            first, last = arc_ptr[x_ptr[s] + s + i], arc_ptr[x_ptr[s] + s + i + 1]
            n = last - first
            if n > p.size:
                p = np.empty(2 * n)
            for c in range(n):
                p[c] = 1.0 / n
            widest = np.int64(-1)
            for k in range(width + 1):
                key = _key(codes, lo, hi, lo + 1 + i, k)
                if key == -2:
                    continue
                row = place_of(keys, 0, keys.size, key)
                if key < 0 or row == keys.size or keys[row] != key:
                    break
                widest = row
                total, kinds = 0.0, row_ptr[row + 1] - row_ptr[row]
                for t in range(row_ptr[row], row_ptr[row + 1]):
                    total += row_count[t]
                # Pieces of a row are in order; those of a place are by length and then in order too.
                for c in range(n):
                    p[c] *= kinds
                    place = place_of(row_piece, row_ptr[row], row_ptr[row + 1], arc_piece[first + c])
                    if place < row_ptr[row + 1] and row_piece[place] == arc_piece[first + c]:
                        p[c] += row_count[place]
                    p[c] /= total + kinds
            if widest < 0:
                continue
            top = 0.0
            for c in range(n):
                top = max(top, p[c])
            for c in range(n):
                keep[first + c] = p[c] >= least * top
            for t in range(row_ptr[widest], row_ptr[widest + 1]):
                place = place_of(arc_piece, first, last, row_piece[t])
                if place < last and arc_piece[place] == row_piece[t]:
                    keep[place] = True
    return keep
