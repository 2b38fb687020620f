"""Label chains of order 1 with shared transitions: best scores by total cost of the labels.

Tables run from the last token to the first: ``table[t, c, a]`` is the best score of the labels of the
tokens ``t, t + 1, ...`` if the first of them is ``a`` and their costs add up to ``c``. Transition
arrays are ``[from, to]``; -inf forbids.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit


@njit
def _step(unary, trans, cost, below, n_below, here):
    """One token: ``here[c, a]`` from ``below[c, b]``, which has costs up to ``n_below``; returns the largest.

    Costs beyond the last row of ``here`` are left out.
    """
    n_labels = unary.size
    most = 0
    for a in range(n_labels):
        most = max(most, cost[a])
    n_here = min(n_below + most, here.shape[0] - 1)
    here[: n_here + 1] = -np.inf
    for c in range(n_below + 1):
        row = below[c]
        for a in range(n_labels):
            total = c + cost[a]
            if total <= n_here:
                best = -np.inf
                for b in range(n_labels):
                    best = max(best, trans[a, b] + row[b])
                here[total, a] = unary[a] + best
    return n_here


@njit
def _last(unary, cost, here):
    """The last token: ``here[c, a]``; returns the largest cost."""
    most = 0
    for a in range(unary.size):
        most = max(most, cost[a])
    n_here = min(most, here.shape[0] - 1)
    here[: n_here + 1] = -np.inf
    for a in range(unary.size):
        if cost[a] <= n_here:
            here[cost[a], a] = unary[a]
    return n_here


@njit
def profile(unary, trans, cost, offsets, first, last, out):
    """Best score of every sequence for every total cost.

    Parameters
    ----------
    unary : (n_tokens, n_labels)
        Scores of labels.
    trans : (n_labels, n_labels)
        Scores of transitions.
    cost : (n_tokens, n_labels) of int64
        Costs of labels, at least 0.
    offsets : (n_sequences + 1,)
        Token range of each sequence.
    first, last : int
        Sequences to do.
    out : (n_sequences, max_cost + 1), out
        -inf where no sequence of labels has the cost.
    """
    tables = np.empty((2, out.shape[1], unary.shape[1]))
    for s in range(first, last):
        out[s] = -np.inf
        lo, hi = offsets[s], offsets[s + 1]
        if lo == hi:
            out[s, 0] = 0.0
            continue
        side = 0
        largest = _last(unary[hi - 1], cost[hi - 1], tables[side])
        for t in range(hi - 2, lo - 1, -1):
            largest = _step(unary[t], trans, cost[t], tables[side], largest, tables[1 - side])
            side = 1 - side
        for c in range(largest + 1):
            for b in range(unary.shape[1]):
                out[s, c] = max(out[s, c], tables[side, c, b])


@njit
def argmax_at(unary, trans, cost, offsets, wanted, first, last, labels, value):
    """Best labels among those with the total cost ``wanted[s]``; parameters as in :func:`profile`.

    Of equal scores the smaller label at the first difference wins. ``labels`` (n_tokens,) and
    ``value`` (n_sequences,) are filled in; the value is -inf where no labels have the cost.
    """
    n_labels = unary.shape[1]
    longest, most = 0, 0
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
        most = max(most, wanted[s])
    tables = np.empty((longest, most + 1, n_labels))
    largest = np.empty(longest, dtype=np.int64)
    for s in range(first, last):
        lo, n = offsets[s], offsets[s + 1] - offsets[s]
        left = wanted[s]
        value[s] = 0.0 if n == 0 and left == 0 else -np.inf
        if n == 0 or left < 0:
            continue
        rows = tables[:, : left + 1]
        largest[n - 1] = _last(unary[lo + n - 1], cost[lo + n - 1], rows[n - 1])
        for t in range(n - 2, -1, -1):
            largest[t] = _step(unary[lo + t], trans, cost[lo + t], rows[t + 1], largest[t + 1], rows[t])
        if left > largest[0]:
            continue
        label = 0
        for t in range(n):
            best = -np.inf
            chosen = 0
            for b in range(n_labels):
                score = rows[t, left, b] if t == 0 else trans[label, b] + rows[t, left, b]
                if score > best:
                    best, chosen = score, b
            if t == 0:
                value[s] = best
                if best == -np.inf:
                    break
            label = chosen
            labels[lo + t] = label
            left -= cost[lo + t, label]
