"""Goals of the recursions and the ways to reach them.

A goal is a cell or a prefix of ``viterbi.py``; each way has a value, at most two goals of its own, and the
bases that it leaves unpaired. Edit the callers too: compiled caches do not see this file.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.rna.nearest.layout import (
    BULGE_BASE,
    BULGE_STACK,
    HAIRPIN,
    HAIRPIN_END,
    HELIX,
    LENGTH,
    LONELY,
    LONGEST,
    MULTI,
    MULTI_BASE,
    MULTI_END,
    N_ENTRIES,
    OUTER_BASE,
    OUTER_END,
    PAIR,
    STACK,
)
from trelliswork.dp.rna.nearest.lookup import in_end, internal_class, loop_code, out_end, triple
from trelliswork.dp.rna.rules import KIND

__all__ = [
    "MANY_GOAL",
    "NO_GOAL",
    "PAIR_GOAL",
    "PREFIX_GOAL",
    "SOME_GOAL",
    "STACKED_GOAL",
    "alternatives",
    "cell",
    "forced_before",
    "pair_state",
    "room",
    "stacked_goal",
    "used_entries",
]

# Kinds of goals: none, and X, E, T, R, W of the chart; then the other rows of T.
NO_GOAL, PREFIX_GOAL, PAIR_GOAL, STACKED_GOAL, SOME_GOAL, MANY_GOAL = range(6)

_NO_MORE, _NOTHING = (NO_GOAL, 0, 0), (0, 0)  # no goal, and no unpaired base


@njit
def room(n):
    """Most alternatives of a goal."""
    return 2 * n + 600


@njit(no_cpython_wrapper=True)
def stacked_goal(state):
    """Kind of the goal of a row of T."""
    return STACKED_GOAL if state == 0 else MANY_GOAL + state


@njit(no_cpython_wrapper=True)
def pair_state(kind):
    """Row of T that a kind of goal stands for; -1 for the first pair of a helix, -2 if it is no pair."""
    if kind == PAIR_GOAL:
        return -1
    if kind == STACKED_GOAL:
        return 0
    return kind - MANY_GOAL if kind > MANY_GOAL else -2


@njit(no_cpython_wrapper=True)
def cell(chart, offset, kind, i, j):
    """Value of a goal."""
    if kind == PREFIX_GOAL:
        return chart.X[j]
    if kind == PAIR_GOAL:
        return chart.E[offset[i] + j]
    if kind == SOME_GOAL:
        return chart.R[offset[i] + j]
    return chart.W[offset[i] + j] if kind == MANY_GOAL else chart.T[pair_state(kind), offset[i] + j]


@njit
def _put(values, ways, count, value, goal, other, left, right):
    """Note one way: up to two goals, and up to two ranges of unpaired bases; returns the number of ways."""
    if value.real == -np.inf:
        return count
    values[count] = value
    way = ways[count]
    way[0], way[1], way[2] = goal
    way[3], way[4], way[5] = other
    way[6], way[7] = left
    way[8], way[9] = right
    return count + 1


@njit
def _loops(problem, before, chart, kind, i, j, values, ways):
    """Ways to fill a pair."""
    seq, table, offset = problem.seq, problem.table, problem.offset
    outer = KIND[seq[i], seq[j]]
    here = table[PAIR + outer]
    if problem.pair.size:
        here += problem.pair[offset[i] + j]
    count = np.int64(0)
    if KIND[seq[i + 1], seq[j - 1]] >= 0 and j - i > 2:
        state = min(pair_state(kind) + 1, problem.stacked - 1)
        value = here + table[STACK + 6 * outer + KIND[seq[i + 1], seq[j - 1]]]
        value += chart.T[state, offset[i + 1] + j - 1]
        if kind != PAIR_GOAL and triple(seq, i, j) >= 0:
            value += table[triple(seq, i, j)]
        below = stacked_goal(state)
        count = _put(values, ways, count, value, (below, i + 1, j - 1), _NO_MORE, _NOTHING, _NOTHING)
    if kind == PAIR_GOAL:
        here += table[LONELY]
    elif pair_state(kind) + 1 < problem.stacked:
        here += table[HELIX + pair_state(kind)]
    if before[j] == before[i + 1]:
        value = here + table[HAIRPIN + min(j - i - 1, LONGEST)] + table[out_end(seq, i, j, HAIRPIN_END)]
        code = loop_code(seq, i, j, table.size)
        if code >= 0:
            value += table[code]
        count = _put(values, ways, count, value, _NO_MORE, _NO_MORE, (i + 1, j), _NOTHING)
    for left in range(problem.max_loop + 1):
        p = i + 1 + left
        if before[p] > before[i + 1] or p + problem.min_hairpin + 1 >= j:
            break
        for right in range(problem.max_loop - left + 1):
            q = j - 1 - right
            if q - p <= problem.min_hairpin or before[j] > before[q + 1]:
                break
            inner = KIND[seq[p], seq[q]]
            if inner < 0 or left + right == 0:
                continue
            value = here + table[LENGTH + left * (LONGEST + 1) + right] + chart.E[offset[p] + q]
            if left + right == 1:
                value += table[BULGE_STACK + 6 * outer + inner]
                value += table[BULGE_BASE + seq[i + 1 if left == 1 else j - 1]]
            else:
                c = internal_class(left, right)
                value += table[out_end(seq, i, j, c)] + table[in_end(seq, p, q, c)]
            count = _put(values, ways, count, value, (PAIR_GOAL, p, q), _NO_MORE, (i + 1, p), (q + 1, j))
    value = here + table[MULTI] + table[out_end(seq, i, j, MULTI_END)] + chart.W[offset[i + 1] + j - 1]
    return _put(values, ways, count, value, (MANY_GOAL, i + 1, j - 1), _NO_MORE, _NOTHING, _NOTHING)


@njit
def alternatives(problem, before, chart, kind, i, j, values, ways):
    """Ways to reach a goal; returns their number.

    Parameters
    ----------
    problem : Problem
        Sequence and scores (logarithms).
    before : ndarray of int64
        How many bases before each position have to be paired.
    chart : Chart
        Values of goals.
    kind, i, j : int
        The goal.
    values : ndarray
        Output: values of the ways.
    ways : ndarray of shape (..., 10)
        Output: two goals (kind, i, j), and two ranges of unpaired bases.
    """
    seq, table, offset = problem.seq, problem.table, problem.offset
    if pair_state(kind) >= -1:
        return _loops(problem, before, chart, kind, i, j, values, ways)
    count = np.int64(0)
    if kind == PREFIX_GOAL:
        last = j - 1
        if not problem.forced[last]:
            value = chart.X[last] + table[OUTER_BASE]
            count = _put(values, ways, count, value, (PREFIX_GOAL, 0, last), _NO_MORE, (last, j), _NOTHING)
        for k in range(max(0, last - problem.window + 1), last - problem.min_hairpin):
            if chart.E[offset[k] + last].real > -np.inf:
                value = chart.X[k] + chart.E[offset[k] + last] + table[in_end(seq, k, last, OUTER_END)]
                count = _put(
                    values, ways, count, value, (PAIR_GOAL, k, last), (PREFIX_GOAL, 0, k), _NOTHING, _NOTHING
                )
        return count
    if i < j and not problem.forced[i]:
        value = table[MULTI_BASE] + (
            chart.R[offset[i + 1] + j] if kind == SOME_GOAL else chart.W[offset[i + 1] + j]
        )
        count = _put(values, ways, count, value, (kind, i + 1, j), _NO_MORE, (i, i + 1), _NOTHING)
    for k in range(i + problem.min_hairpin + 1, j + 1):
        if chart.E[offset[i] + k].real == -np.inf:
            continue
        branch = chart.E[offset[i] + k] + table[in_end(seq, i, k, MULTI_END)]
        if kind == SOME_GOAL and before[j + 1] == before[k + 1]:
            value = branch + (j - k) * table[MULTI_BASE]
            count = _put(values, ways, count, value, (PAIR_GOAL, i, k), _NO_MORE, (k + 1, j + 1), _NOTHING)
        if k < j:
            value = branch + chart.R[offset[k + 1] + j]
            count = _put(
                values, ways, count, value, (PAIR_GOAL, i, k), (SOME_GOAL, k + 1, j), _NOTHING, _NOTHING
            )
    return count


@njit(no_cpython_wrapper=True)
def forced_before(forced):
    """How many bases before each position have to be paired."""
    before = np.zeros(forced.size + 1, np.int64)
    for i in range(forced.size):
        before[i + 1] = before[i] + forced[i]
    return before


@njit
def used_entries(problem, kind, i, j, way, used):
    """Entries of the table that one way to reach a goal adds up, beside the values of its own goals.

    Parameters
    ----------
    problem : Problem
        Sequence.
    kind, i, j : int
        The goal.
    way : ndarray of shape (10,)
        A row of what :func:`alternatives` writes.
    used : ndarray of shape (N_ENTRIES + 1,)
        Output: entries, -1 where there are fewer, and the number of unpaired bases of a multiloop.
    """
    seq, below, p, q = problem.seq, way[0], way[1], way[2]
    used[:N_ENTRIES], used[N_ENTRIES] = -1, 0
    if kind == PREFIX_GOAL:
        used[0] = OUTER_BASE if below == PREFIX_GOAL else in_end(seq, p, q, OUTER_END)
        return
    if pair_state(kind) < -1:
        if below == PAIR_GOAL:
            used[0] = in_end(seq, p, q, MULTI_END)
        used[N_ENTRIES] = way[7] - way[6]
        return
    outer = KIND[seq[i], seq[j]]
    used[0] = PAIR + outer
    if pair_state(below) >= 0:
        used[1] = STACK + 6 * outer + KIND[seq[p], seq[q]]
        used[2] = triple(seq, i, j) if kind != PAIR_GOAL else -1
        return
    if kind == PAIR_GOAL:
        used[1] = LONELY
    elif pair_state(kind) + 1 < problem.stacked:
        used[1] = HELIX + pair_state(kind)
    if below == NO_GOAL:
        used[2], used[3] = HAIRPIN + min(j - i - 1, LONGEST), out_end(seq, i, j, HAIRPIN_END)
        used[4] = loop_code(seq, i, j, problem.table.size)
    elif below == MANY_GOAL:
        used[2], used[3] = MULTI, out_end(seq, i, j, MULTI_END)
    else:
        left, right = p - i - 1, j - 1 - q
        used[2] = LENGTH + left * (LONGEST + 1) + right
        if left + right == 1:
            used[3] = BULGE_STACK + 6 * outer + KIND[seq[p], seq[q]]
            used[4] = BULGE_BASE + seq[i + 1 if left == 1 else j - 1]
        else:
            c = internal_class(left, right)
            used[3], used[4] = out_end(seq, i, j, c), in_end(seq, p, q, c)
