"""Substrings around pieces of strings as attributes, by 64-bit keys.

Strings lie one after the other in ``codes``, each with a mark before and after it (see ``ptr``); an unknown
symbol has the code -1 and is in no attribute. The attributes of the piece ``i .. j - 1`` are all substrings
within ``window`` symbols of it and of at most ``longest`` symbols, together with where they start, counted
from ``i``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

__all__ = ["arc_features", "attribute_keys", "fill_table", "list_attributes"]


@njit
def _mixed(h, code):
    h = (h ^ np.uint64(code + 1)) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


@njit
def _around(codes, lo, hi, i, j, window, longest, keys, starts, lengths):
    """Keys of the attributes of the piece ``i .. j - 1`` of the string ``lo .. hi - 1``; their number."""
    n = 0
    for a in range(max(lo, i - window), min(hi, j + window)):
        h = _mixed(np.uint64(0x2545F4914F6CDD1D), a - i + 64)
        for b in range(a, min(hi, j + window, a + longest)):
            if codes[b] < 0:
                break
            h = _mixed(h, codes[b])
            keys[n], starts[n], lengths[n] = np.int64(h >> np.uint64(1)), a, b + 1 - a
            n += 1
    return n


@njit
def list_attributes(codes, ptr, sample, start, length, window, longest, offset):
    """Attributes of given pieces that start ``offset`` symbols after the first of the piece: where those of
    each piece begin, keys, first places and lengths.
    """
    offsets = np.zeros(sample.size + 1, np.int64)
    keys, starts, lengths = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32)
    for filled in range(2):
        total = np.int64(0)
        for t in range(sample.size):
            lo, hi = ptr[sample[t]], ptr[sample[t] + 1]
            i = lo + 1 + start[t]
            a, end = i + offset, min(hi, i + length[t] + window)
            if a >= lo and a < end:
                h = _mixed(np.uint64(0x2545F4914F6CDD1D), a - i + 64)
                for b in range(a, min(end, a + longest)):
                    if codes[b] < 0:
                        break
                    if filled == 1:
                        h = _mixed(h, codes[b])
                        keys[total], starts[total], lengths[total] = np.int64(h >> np.uint64(1)), a, b + 1 - a
                    total += 1
            offsets[t + 1] = total
        if filled == 0:
            keys = np.empty(total, np.int64)
            starts, lengths = np.empty(total, np.int32), np.empty(total, np.int32)
    return offsets, keys, starts, lengths


@njit
def _slot(table, key):
    mask = table.size - 1
    slot = (key ^ (key >> 31)) & mask
    while table[slot] != -1 and table[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit
def fill_table(keys, table, places):
    """Open hash table from keys to their numbers; -1 marks free places."""
    for t in range(keys.size):
        slot = _slot(table, keys[t])
        table[slot], places[slot] = keys[t], t


@njit
def arc_features(marked, x_ptr, arcs, max_in, attributes, samples, counts):
    """Features of the arcs of some strings: pairs of an attribute and its piece, numbered as
    ``attributes.piece``.

    Parameters
    ----------
    marked : pair of int arrays
        Strings with a mark before and after each, and where they begin.
    x_ptr : int array
        Strings without these marks.
    arcs : Arcs
        Pieces at every position of the strings, of at most ``max_in`` symbols.
    max_in : int
        See ``arcs``.
    attributes : Attributes
        Those that have features.
    samples : pair of int
        The first of the strings, and the one after the last.
    counts : int array
        Number of features of every arc; those of these strings are written.

    Returns
    -------
    int32 array
        Features of the arcs, one arc after the other.
    """
    codes, ptr = marked
    arc_ptr, arc_length, arc_piece = arcs
    table, places, row_ptr, row_piece, window, longest = attributes
    widest = 2 * window + max_in
    size = widest * widest
    keys, starts, lengths = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    rows = np.empty(size, np.int64)
    indices = np.empty(4096, np.int32)
    total = np.int64(0)
    for s in range(samples[0], samples[1]):
        lo, hi = ptr[s], ptr[s + 1]
        for i in range(x_ptr[s + 1] - x_ptr[s]):
            position = x_ptr[s] + s + i
            length, n = np.int64(-1), 0
            for c in range(arc_ptr[position], arc_ptr[position + 1]):
                if arc_length[c] != length:
                    length = arc_length[c]
                    j = lo + 1 + i
                    count = _around(codes, lo, hi, j, j + length, window, longest, keys, starts, lengths)
                    n = 0
                    for k in range(count):
                        place = _slot(table, keys[k])
                        if table[place] != -1:
                            rows[n] = places[place]
                            n += 1
                if total + n > indices.size:
                    wider = np.empty(2 * (total + n), np.int32)
                    for k in range(total):
                        wider[k] = indices[k]
                    indices = wider
                piece, before = arc_piece[c], total
                for k in range(n):
                    for f in range(row_ptr[rows[k]], row_ptr[rows[k] + 1]):
                        if row_piece[f] >= piece:  # those of a row are in order
                            if row_piece[f] == piece:
                                indices[total] = f
                                total += 1
                            break
                counts[c] = total - before
    return indices[:total].copy()


@njit
def attribute_keys(offset, ptr, codes):
    """Keys of given attributes: where they start, counted from the piece, and their symbols."""
    out = np.empty(offset.size, np.int64)
    for t in range(offset.size):
        h = _mixed(np.uint64(0x2545F4914F6CDD1D), offset[t] + 64)
        for k in range(ptr[t], ptr[t + 1]):
            h = _mixed(h, codes[k])
        out[t] = np.int64(h >> np.uint64(1))
    return out
