"""RNA secondary structures: the best one, and the k best.

The grammar is G6, one copy per depth ``d = 0 .. D - 1`` of nesting (D = 1 is G6 itself)::

    S_d -> L_d S_d | L_d        L_d -> base | x F_e x'       F_d -> x F_d x' | L_d S_d

with ``e = min(d + 1, D - 1)``. ``table[d]`` holds the scores of the rules, columns as in
``dp/rna/rules.py``; ``pair`` holds further scores of single positions, the upper triangle of a matrix
row by row: entry (i, i) for the unpaired base i, entry (i, j) for the pair. Bases are 0-3 (A, C,
G, U) and 4 for an unknown base, which stays unpaired and fires no base rule. Structures are pair
tables: the partner of every base, or -1.

With ``M(i, j) = max_k L(i, k) + S(k + 1, j)`` all other spans are O(1). The loop over ``k`` is exact
although it skips most of them: where ``L(i, k)`` is not above ``M(i, k)`` plus the price of
one more list element, a list that begins with a shorter element does as well for every ``j``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.rna.items import append_row, offer
from trelliswork.dp.rna.rules import BASE, F_LS, F_PAIR, KIND, L_PAIR, S_L, S_LS
from trelliswork.dp.room import longest

__all__ = ["count", "evaluate", "kbest", "viterbi"]

# What a traceback still has to open.
_SUM, _INNER = 0, 1  # S, F


@njit
def _fill(seq, table, pair, S, F):
    """Best scores of all S and F spans.

    Rows from the last to the first; within a row everything but the choice of candidates is a
    loop over contiguous numbers.
    """
    n, n_depths = seq.size, table.shape[0]
    opened, stacked = np.empty((n_depths, 5, n)), np.empty((n_depths, 5, n))  # scores of a base with j
    for d in range(n_depths):
        for x in range(5):
            for j in range(n):
                kind = KIND[x, seq[j]]
                opened[d, x, j] = table[d, L_PAIR + kind] if kind >= 0 else -np.inf
                stacked[d, x, j] = table[d, F_PAIR + kind] if kind >= 0 else -np.inf
    L, M, Q = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n - 1, -1, -1):
        row_start = i * n - (i * (i - 1)) // 2 - i  # pair[row_start + j] is the entry (i, j)
        for d in range(n_depths):
            inner = min(d + 1, n_depths - 1)
            L[i] = table[d, BASE + seq[i]] if seq[i] < 4 else 0.0
            L[i + 1 : i + 3] = -np.inf
            Q[i : i + 3] = -np.inf
            score = opened[d, seq[i]]
            for j in range(i + 3, n):
                L[j] = score[j] + F[inner, i + 1, j - 1]
            score = stacked[d, seq[i]]
            for j in range(i + 3, n):
                Q[j] = score[j] + F[d, i + 1, j - 1]
            if pair.size:
                for j in range(i, n):
                    L[j] += pair[row_start + j]
                    Q[j] += pair[row_start + j]
            a, b, c = table[d, S_L], table[d, S_LS], table[d, F_LS]
            if d == 0 and n_depths > 1:  # outside of all pairs only lists up to the end matter
                top = -np.inf
                for k in range(i, n - 1):
                    top = max(top, L[k] + S[0, k + 1, n - 1])
                S[0, i, n - 1] = max(a + L[n - 1], b + top)
                continue
            M[i:n] = -np.inf
            price = b - a
            for j in range(i, n - 1):
                best = L[j]
                if best > -np.inf and not best <= M[j] + price:
                    row = S[d, j + 1]
                    for x in range(j + 1, n):
                        total = best + row[x]
                        M[x] = total if total > M[x] else M[x]
            out = S[d, i]
            for j in range(i, n):
                one, more = a + L[j], b + M[j]
                out[j] = one if one > more else more
            out = F[d, i]
            for j in range(i, n):
                one, more = Q[j], c + M[j]
                out[j] = one if one > more else more


@njit
def _element(seq, table, pair, F, d, i, k):
    """Score of the list element over i .. k: a base, or the pair (i, k) and what it encloses."""
    n = seq.size
    row_start = i * n - (i * (i - 1)) // 2 - i
    if i == k:
        score = table[d, BASE + seq[i]] if seq[i] < 4 else 0.0
    else:
        kind = KIND[seq[i], seq[k]]
        if kind < 0 or k < i + 3:
            return -np.inf
        score = table[d, L_PAIR + kind] + F[min(d + 1, table.shape[0] - 1), i + 1, k - 1]
    if pair.size:
        score += pair[row_start + k]
    return score


@njit
def _stacked(seq, table, pair, F, d, i, j):
    """Score of F -> x F x' over i .. j."""
    n = seq.size
    kind = KIND[seq[i], seq[j]]
    if kind < 0 or j < i + 3:
        return -np.inf
    score = table[d, F_PAIR + kind] + F[d, i + 1, j - 1]
    if pair.size:
        score += pair[i * n - (i * (i - 1)) // 2 - i + j]
    return score


@njit
def _trace(seq, table, pair, S, F, partner):
    """Write the partners of the best structure; of equal lists the one whose first element is shortest."""
    n, n_depths = seq.size, table.shape[0]
    stack = np.empty((n + 2, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = _SUM, 0, 0, n - 1
    depth = 1
    partner[:] = -1
    while depth > 0:
        depth -= 1
        goal, d, i, j = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if goal == _SUM:
            element = _element(seq, table, pair, F, d, i, j)
            if table[d, S_L] + element >= S[d, i, j]:
                if i < j:
                    partner[i], partner[j] = j, i
                    stack[depth, 0], stack[depth, 1] = _INNER, min(d + 1, n_depths - 1)
                    stack[depth, 2], stack[depth, 3] = i + 1, j - 1
                    depth += 1
                continue
        elif F[d, i, j] <= _stacked(seq, table, pair, F, d, i, j):
            partner[i], partner[j] = j, i
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = _INNER, d, i + 1, j - 1
            depth += 1
            continue
        split, top = i, -np.inf
        for k in range(i, j):
            value = _element(seq, table, pair, F, d, i, k) + S[d, k + 1, j]
            if value > top:
                split, top = k, value
        stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = _SUM, d, split + 1, j
        depth += 1
        if split > i:
            partner[i], partner[split] = split, i
            stack[depth, 0], stack[depth, 1] = _INNER, min(d + 1, n_depths - 1)
            stack[depth, 2], stack[depth, 3] = i + 1, split - 1
            depth += 1


@njit
def _count(seq, partner, counts):
    """Add the uses of rules in one structure; returns whether the grammar has it."""
    n, n_depths = seq.size, counts.shape[0]
    # Of every open pair: right end, depth inside, elements so far, whether it encloses one pair directly.
    stack = np.empty((n // 2 + 2, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = n, 0, 0, 0
    depth = 0
    for i in range(n):
        j = partner[i]
        d = stack[depth, 1]
        if j < -1:
            return False
        if j > i:
            kind = KIND[seq[i], seq[j]]
            if kind < 0 or j >= stack[depth, 0]:
                return False
            inner = d
            if depth > 0 and partner[i - 1] == j + 1:
                counts[d, F_PAIR + kind] += 1.0
                stack[depth, 3] = 1
            else:
                counts[d, L_PAIR + kind] += 1.0
                inner = min(d + 1, n_depths - 1)
            stack[depth, 2] += 1
            depth += 1
            if depth == stack.shape[0]:
                return False
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = j, inner, 0, 0
        elif j >= 0:
            if depth == 0 or stack[depth, 0] != i or partner[j] != i:
                return False
            if stack[depth, 3] == 0:
                if stack[depth, 2] < 2:
                    return False
                counts[d, F_LS] += 1.0
                counts[d, S_L] += 1.0
                counts[d, S_LS] += stack[depth, 2] - 2
            depth -= 1
        else:
            stack[depth, 2] += 1
            if seq[i] < 4:
                counts[d, BASE + seq[i]] += 1.0
    if depth != 0 or n == 0:
        return False
    counts[0, S_L] += 1.0
    counts[0, S_LS] += stack[0, 2] - 1
    return True


@njit
def count(seqs, offsets, partners, counts):
    """Uses of rules in given structures; zeros for those that the grammar does not have.

    Parameters
    ----------
    seqs, offsets : ndarray
        Bases of all sequences.
    partners : ndarray of int64
        Pair tables of all sequences.
    counts : ndarray of shape (n_sequences, n_depths, 19)
        Output.
    """
    for i in range(offsets.size - 1):
        counts[i] = 0.0
        if not _count(seqs[offsets[i] : offsets[i + 1]], partners[offsets[i] : offsets[i + 1]], counts[i]):
            counts[i] = 0.0


@njit
def evaluate(seqs, offsets, tables, pairs, pair_offsets, start, stop, partners, values):
    """Score of given structures; -inf for those that the grammar does not have.

    Parameters
    ----------
    seqs, offsets : ndarray
        Bases of all sequences.
    tables : ndarray of shape (1 or n_sequences, n_depths, 19)
        Scores of rules, for all sequences or for each.
    pairs, pair_offsets : ndarray
        Scores of positions, or an empty array.
    start, stop : int
        Range of sequences.
    partners : ndarray of int64
        Pair tables of all sequences.
    values : ndarray of shape (n_sequences,)
        Output.
    """
    counts = np.empty(tables.shape[1:])
    for i in range(start, stop):
        partner = partners[offsets[i] : offsets[i + 1]]
        counts[:] = 0.0
        if not _count(seqs[offsets[i] : offsets[i + 1]], partner, counts):
            values[i] = -np.inf
            continue
        table, total = tables[i if tables.shape[0] > 1 else 0], 0.0
        for d in range(table.shape[0]):
            for rule in range(table.shape[1]):
                total += counts[d, rule] * table[d, rule]
        values[i] = total
        if pairs.size:
            n, place = partner.size, pair_offsets[i]
            for j in range(n):
                if partner[j] < 0 or partner[j] > j:
                    values[i] += pairs[place + (partner[j] - j if partner[j] >= 0 else 0)]
                place += n - j


@njit
def viterbi(seqs, offsets, tables, pairs, pair_offsets, start, stop, partners, values):
    """Best structure of every sequence.

    Parameters
    ----------
    seqs, offsets, tables, pairs, pair_offsets, start, stop
        As in ``evaluate``.
    partners : ndarray of int64
        Output: pair tables of all sequences.
    values : ndarray of shape (n_sequences,)
        Output: their scores.
    """
    n = longest(offsets, start, stop)
    D = tables.shape[1]
    S, F = np.empty((D, n, n)), np.empty((D, n, n))
    for i in range(start, stop):
        lo, hi = offsets[i], offsets[i + 1]
        table = tables[i if tables.shape[0] > 1 else 0]
        pair = pairs[pair_offsets[i] : pair_offsets[i + 1]] if pairs.size else pairs
        seq = seqs[lo:hi]
        _fill(seq, table, pair, S, F)
        values[i] = S[0, 0, hi - lo - 1]
        if values[i] > -np.inf:
            _trace(seq, table, pair, S, F, partners[lo:hi])
        else:
            partners[lo:hi] = -1


# -- k best ----------------------------------------------------------------------------------------
#
# Best-first search from the top: an item is a set of derivations that agree on what was opened so
# far, its value the best score among them, known exactly from the spans that are still to be
# opened. Items are disjoint, so of all items only the k best can matter: the list of items
# stays that short, and no bound is needed.
@njit
def _search(seq, table, pair, S, F, k, partners, totals):
    """Pair tables and scores of the up to ``k`` best structures; returns their number."""
    n, n_depths = seq.size, table.shape[0]
    # Goals: kind, d, i, j, the goal to open after it (or -1). Items: first goal, pair (or -1, -1), the item
    # before, unused.
    goals, n_goals = np.empty((256, 5), np.int64), np.int64(1)
    goals[0, 0], goals[0, 1], goals[0, 2], goals[0, 3], goals[0, 4] = _SUM, 0, 0, n - 1, -1
    items, n_made = np.empty((256, 5), np.int64), np.int64(1)
    items[0, 0], items[0, 1], items[0, 2], items[0, 3], items[0, 4] = 0, -1, -1, -1, 0
    values, ids, n_items, n_found = np.empty(k), np.empty(k, np.int64), 0, 0
    if k > 0 and S[0, 0, n - 1] > -np.inf:
        values[0], ids[0], n_items = S[0, 0, n - 1], 0, 1
    while n_items > 0:
        value, item = values[0], ids[0]
        n_items -= 1
        for r in range(n_items):
            values[r], ids[r] = values[r + 1], ids[r + 1]
        goal = items[item, 0]
        if goal < 0:
            for x in range(n):
                partners[n_found, x] = -1
            while item >= 0:
                i, j = items[item, 1], items[item, 2]
                if i >= 0:
                    partners[n_found, i], partners[n_found, j] = j, i
                item = items[item, 3]
            totals[n_found] = value if n_found == 0 else min(value, totals[n_found - 1])  # but for rounding
            n_found += 1
            continue
        limit = k - n_found
        kind, d, i, j, after = goals[goal, 0], goals[goal, 1], goals[goal, 2], goals[goal, 3], goals[goal, 4]
        inner = min(d + 1, n_depths - 1)
        rest = value - (S[d, i, j] if kind == _SUM else F[d, i, j])  # everything but this span
        rule = table[d, S_LS] if kind == _SUM else table[d, F_LS]
        for split in range(i, j + 1):  # the last: no list of several elements
            if split < j:
                total = rest + (rule + (_element(seq, table, pair, F, d, i, split) + S[d, split + 1, j]))
            elif kind == _SUM:
                total = rest + (table[d, S_L] + _element(seq, table, pair, F, d, i, j))
            else:
                total = rest + _stacked(seq, table, pair, F, d, i, j)
            if total == -np.inf or (n_items >= limit and not total > values[limit - 1]):
                continue
            following = after
            if split < j:
                goals = append_row(goals, n_goals, np.int64(_SUM), d, split + 1, j, after)
                following = n_goals
                n_goals += 1
            left, right = -1, -1
            if split > i:
                left, right = i, split
                below = d if split == j and kind == _INNER else inner
                goals = append_row(goals, n_goals, np.int64(_INNER), below, i + 1, split - 1, following)
                following = n_goals
                n_goals += 1
            items = append_row(items, n_made, following, left, right, item, np.int64(0))
            n_items = offer(values, ids, n_items, limit, total, n_made)
            n_made += 1
    return n_found


@njit
def kbest(seqs, offsets, tables, pairs, pair_offsets, start, stop, k):
    """Up to ``k`` best structures of every sequence, no structure twice.

    Of equal scores, the structure that the search meets first: lists by the length of their first
    element, a pair around everything last.

    Parameters
    ----------
    seqs, offsets, tables, pairs, pair_offsets, start, stop
        As in ``evaluate``.
    k : int
        Structures wanted.

    Returns
    -------
    counts : ndarray of int64, shape (stop - start,)
        Number of structures of each sequence.
    totals : ndarray
        Their scores, one sequence after the other, descending.
    partners : ndarray of int64
        Their pair tables.
    """
    n, D = longest(offsets, start, stop), tables.shape[1]
    S, F = np.empty((D, n, n)), np.empty((D, n, n))
    counts = np.zeros(stop - start, np.int64)
    totals, partners = np.empty((stop - start, k)), np.empty(k * (offsets[stop] - offsets[start]), np.int64)
    filled = 0
    for i in range(start, stop):
        lo, hi = offsets[i], offsets[i + 1]
        table = tables[i if tables.shape[0] > 1 else 0]
        pair = pairs[pair_offsets[i] : pair_offsets[i + 1]] if pairs.size else pairs
        seq = seqs[lo:hi]
        _fill(seq, table, pair, S, F)
        room = partners[filled : filled + k * (hi - lo)].reshape(k, hi - lo)
        counts[i - start] = _search(seq, table, pair, S, F, k, room, totals[i - start])
        filled += counts[i - start] * (hi - lo)
    n_found = 0
    for i in range(stop - start):
        n_found += counts[i]
    flat = np.empty(n_found)
    written = 0
    for i in range(stop - start):
        for j in range(counts[i]):
            flat[written + j] = totals[i, j]
        written += counts[i]
    return counts, flat, partners[:filled].copy()
