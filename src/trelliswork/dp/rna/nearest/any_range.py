"""Sums over all structures in logarithms, where ``inside.py`` runs out of range.

Goal by goal, as ``goals.py`` lists the ways to reach them: slower by more than ten times, but nothing can
overflow. Outwards it is probabilities that are passed on: each goal hands its own to the goals of its ways.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.rna.nearest.count import add_hairpin, add_internal
from trelliswork.dp.rna.nearest.goals import (
    MANY_GOAL,
    NO_GOAL,
    PAIR_GOAL,
    PREFIX_GOAL,
    SOME_GOAL,
    alternatives,
    cell,
    forced_before,
    pair_state,
    room,
    stacked_goal,
)
from trelliswork.dp.rna.nearest.inside import log_sum
from trelliswork.dp.rna.nearest.layout import (
    MULTI,
    MULTI_BASE,
    MULTI_END,
    OUTER_BASE,
    OUTER_END,
    PAIR,
)
from trelliswork.dp.rna.nearest.lookup import helix_end, in_end, out_end, triple
from trelliswork.dp.rna.nearest.viterbi import Chart
from trelliswork.dp.rna.rules import KIND

__all__ = ["inside", "outside"]


@njit
def _value(problem, before, chart, kind, i, j, values, ways):
    """Logarithm of the sum over the ways to reach a goal."""
    return log_sum(values, alternatives(problem, before, chart, kind, i, j, values, ways))


@njit
def inside(problem):
    """Logarithms of the weights of all cells and prefixes.

    Parameters
    ----------
    problem : Problem
        Sequence and scores (logarithms), float or complex.
    """
    seq, offset, n, kind_of = problem.seq, problem.offset, problem.seq.size, problem.table.dtype
    before, size = forced_before(problem.forced), problem.offset[n] + n
    values, ways = np.empty(room(n), kind_of), np.empty((room(n), 10), np.int64)
    E, R, W = np.empty(size, kind_of), np.empty(size, kind_of), np.empty(size, kind_of)
    T = np.empty((problem.stacked, size), kind_of)
    X = np.empty(n + 1, kind_of)
    E[:], T[:], R[:], W[:], X[:] = -np.inf, -np.inf, -np.inf, -np.inf, -np.inf
    chart = Chart(E, T, R, W, X)
    for i in range(n - 1, -1, -1):
        for j in range(i, min(n, i + problem.window)):
            if j - i > problem.min_hairpin and KIND[seq[i], seq[j]] >= 0:
                E[offset[i] + j] = _value(problem, before, chart, PAIR_GOAL, i, j, values, ways)
                for s in range(problem.stacked):
                    T[s, offset[i] + j] = _value(problem, before, chart, stacked_goal(s), i, j, values, ways)
            R[offset[i] + j] = _value(problem, before, chart, SOME_GOAL, i, j, values, ways)
            W[offset[i] + j] = _value(problem, before, chart, MANY_GOAL, i, j, values, ways)
    X[0] = 0.0
    for j in range(1, n + 1):
        X[j] = _value(problem, before, chart, PREFIX_GOAL, 0, j, values, ways)
    return chart


@njit
def _add_uses(problem, kind, i, j, way, share, counts):
    """Add ``share`` uses of the entries of the table that a way to reach a goal has."""
    seq = problem.seq
    if kind == PREFIX_GOAL:
        if way[0] == PREFIX_GOAL:
            counts[OUTER_BASE] += share
        else:
            counts[in_end(seq, way[1], way[2], OUTER_END)] += share
    elif pair_state(kind) >= -1:
        counts[PAIR + KIND[seq[i], seq[j]]] += share
        state = pair_state(kind)
        if pair_state(way[0]) >= 0:
            if state >= 0:
                counts[triple(seq, i, j)] += share
        elif state + 1 < problem.stacked or state == -1:
            counts[helix_end(state + 2)] += share
        if way[0] == NO_GOAL:
            add_hairpin(seq, i, j, share, counts)
        elif way[0] == MANY_GOAL:
            counts[MULTI] += share
            counts[out_end(seq, i, j, MULTI_END)] += share
        else:
            add_internal(seq, i, j, way[1], way[2], share, counts)
    elif way[0] != PAIR_GOAL:
        counts[MULTI_BASE] += share
    else:
        counts[in_end(seq, way[1], way[2], MULTI_END)] += share
        counts[MULTI_BASE] += share * (way[7] - way[6])


@njit
def _hand_on(problem, before, chart, around, kind, i, j, values, ways, counts):
    """Give the probability of a goal to the goals of its ways."""
    offset, share = problem.offset, cell(around, problem.offset, kind, i, j)
    if share == 0.0:
        return
    whole = cell(chart, offset, kind, i, j)
    for x in range(alternatives(problem, before, chart, kind, i, j, values, ways)):
        part = share * np.exp(values[x] - whole)
        if part == 0.0:
            continue
        for side in range(0, 6, 3):
            below, p, q = ways[x, side], ways[x, side + 1], ways[x, side + 2]
            if below == PREFIX_GOAL:
                around.X[q] += part
            elif below == PAIR_GOAL:
                around.E[offset[p] + q] += part
            elif below == SOME_GOAL:
                around.R[offset[p] + q] += part
            elif below == MANY_GOAL:
                around.W[offset[p] + q] += part
            elif below != NO_GOAL:
                around.T[pair_state(below), offset[p] + q] += part
        if counts.size:
            _add_uses(problem, kind, i, j, ways[x], part, counts)


@njit
def outside(problem, chart, counts, probs):
    """Probabilities of pairs and expected uses of the entries of the table.

    Parameters
    ----------
    problem : Problem
        Sequence and scores (logarithms).
    chart : Chart
        From ``inside``.
    counts : ndarray of the size of the table, or empty
        Output, zeros before: expected uses.
    probs : ndarray or empty
        Output, for every cell: the probability of the pair, of an unpaired base on the diagonal.
    """
    offset, n, kind_of = problem.offset, problem.seq.size, problem.table.dtype
    before, size = forced_before(problem.forced), problem.offset[n] + n
    values, ways = np.empty(room(n), kind_of), np.empty((room(n), 10), np.int64)
    E, R, W = np.zeros(size, kind_of), np.zeros(size, kind_of), np.zeros(size, kind_of)
    T = np.zeros((problem.stacked, size), kind_of)
    X = np.zeros(n + 1, kind_of)
    X[n] = 1.0
    around = Chart(E, T, R, W, X)
    for j in range(n, 0, -1):
        _hand_on(problem, before, chart, around, PREFIX_GOAL, 0, j, values, ways, counts)
    for i in range(n):
        last = min(n, i + problem.window) - 1
        for j in range(last, i - 1, -1):
            _hand_on(problem, before, chart, around, SOME_GOAL, i, j, values, ways, counts)
            _hand_on(problem, before, chart, around, MANY_GOAL, i, j, values, ways, counts)
        for j in range(last, i, -1):
            _hand_on(problem, before, chart, around, PAIR_GOAL, i, j, values, ways, counts)
            for s in range(problem.stacked):
                _hand_on(problem, before, chart, around, stacked_goal(s), i, j, values, ways, counts)
    if probs.size:
        for i in range(n):
            probs[offset[i] + i] = 1.0
        for i in range(n):
            for j in range(i + 1, min(n, i + problem.window)):
                both = E[offset[i] + j]
                for s in range(problem.stacked):
                    both += T[s, offset[i] + j]
                probs[offset[i] + j] = both
                probs[offset[i] + i] -= both
                probs[offset[j] + j] -= both
