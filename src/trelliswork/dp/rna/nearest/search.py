"""Structures out of a chart: the best, the k best, draws, and the graph of all derivations.

All four ask the same question (see ``goals.py``): in which ways can a goal be reached? In a chart of best
scores the largest value is the best structure; in a chart of logarithms of sums the values are the
logarithms of the probabilities of a draw.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.rna.items import append_row, offer
from trelliswork.dp.rna.nearest.goals import (
    MANY_GOAL,
    NO_GOAL,
    PAIR_GOAL,
    PREFIX_GOAL,
    alternatives,
    cell,
    forced_before,
    pair_state,
    room,
    used_entries,
)
from trelliswork.dp.rna.nearest.layout import N_ENTRIES

__all__ = ["derivation_graph", "kbest", "sample", "trace"]


@njit
def _walk(problem, before, chart, uniform, values, ways, partner):
    """Write the partners of the best structure, or of a draw where there are uniform numbers."""
    n = problem.seq.size
    stack = np.empty((n + 2, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = PREFIX_GOAL, 0, n
    depth, step = 1, 0
    partner[:] = -1
    while depth > 0:
        depth -= 1
        kind, i, j = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if kind == PREFIX_GOAL and j == 0:
            continue
        if pair_state(kind) >= -1:
            partner[i], partner[j] = j, i
        count = alternatives(problem, before, chart, kind, i, j, values, ways)
        chosen = 0
        for w in range(1, count):
            if values[w] > values[chosen]:
                chosen = w
        if uniform.size:
            top, total = values[chosen], 0.0
            for w in range(count):
                values[w] = np.exp(values[w] - top)
                total += values[w]
            rest = uniform[step] * total
            step += 1
            for w in range(count):
                if values[w] > 0.0:
                    chosen = w
                    rest -= values[w]
                    if rest < 0.0:
                        break
        for side in range(0, 6, 3):
            if ways[chosen, side] != NO_GOAL:
                for x in range(3):
                    stack[depth, x] = ways[chosen, side + x]
                depth += 1


@njit
def trace(problem, chart, partner):
    """Partners of the best structure; of equal ways to fill a goal, the one listed first.

    Parameters
    ----------
    problem : Problem
        Sequence and scores.
    chart : Chart
        Best scores.
    partner : ndarray of int64
        Output: pair table.
    """
    n = problem.seq.size
    values, ways = np.empty(room(n)), np.empty((room(n), 10), np.int64)
    _walk(problem, forced_before(problem.forced), chart, np.empty(0), values, ways, partner)


@njit
def sample(problem, chart, uniform, partners):
    """Independent draws.

    Parameters
    ----------
    problem : Problem
        Sequence and scores.
    chart : Chart
        Logarithms of sums over structures.
    uniform : ndarray of shape (n_draws, 3 * n_bases)
        Random numbers in [0, 1).
    partners : ndarray of int64, shape (n_draws, n_bases)
        Output: pair tables.
    """
    n = problem.seq.size
    values, ways = np.empty(room(n)), np.empty((room(n), 10), np.int64)
    before = forced_before(problem.forced)
    for draw in range(partners.shape[0]):
        _walk(problem, before, chart, uniform[draw], values, ways, partners[draw])


@njit
def kbest(problem, chart, k, partners, totals):
    """Pair tables and scores of the up to ``k`` best structures; returns their number.

    Best-first search as in ``dp/rna/viterbi.py``: an item is a set of structures that agree on the goals
    opened so far, its value the best score among them, which the chart tells exactly.

    Parameters
    ----------
    problem : Problem
        Sequence and scores.
    chart : Chart
        Best scores.
    k : int
        Structures wanted.
    partners : ndarray of int64, shape (k, n_bases)
        Output.
    totals : ndarray of shape (k,)
        Output, descending.
    """
    n, before = problem.seq.size, forced_before(problem.forced)
    scores, ways = np.empty(room(n)), np.empty((room(n), 10), np.int64)
    # Goals: kind, i, j, the goal to open next (or -1). Items: first goal, the one opened, the item before.
    goals, n_goals = np.empty((256, 5), np.int64), np.int64(1)
    goals[0, 0], goals[0, 1], goals[0, 2], goals[0, 3], goals[0, 4] = PREFIX_GOAL, 0, n, -1, 0
    items, n_made = np.empty((256, 5), np.int64), np.int64(1)
    items[0, 0], items[0, 1], items[0, 2], items[0, 3], items[0, 4] = 0, -1, -1, 0, 0
    values, ids, n_items, n_found = np.empty(k), np.empty(k, np.int64), 0, 0
    if k > 0 and chart.X[n] > -np.inf:
        values[0], ids[0], n_items = chart.X[n], 0, 1
    while n_items > 0:
        value, item = values[0], ids[0]
        n_items -= 1
        for r in range(n_items):
            values[r], ids[r] = values[r + 1], ids[r + 1]
        goal = items[item, 0]
        while goal >= 0 and goals[goal, 0] == PREFIX_GOAL and goals[goal, 2] == 0:
            goal = goals[goal, 3]
        if goal < 0:
            partners[n_found, :] = -1
            while item >= 0:
                opened = items[item, 1]
                if opened >= 0 and pair_state(goals[opened, 0]) >= -1:
                    i, j = goals[opened, 1], goals[opened, 2]
                    partners[n_found, i], partners[n_found, j] = j, i
                item = items[item, 2]
            totals[n_found] = value if n_found == 0 else min(value, totals[n_found - 1])  # but for rounding
            n_found += 1
            continue
        limit = k - n_found
        kind, i, j, after = goals[goal, 0], goals[goal, 1], goals[goal, 2], goals[goal, 3]
        rest = value - cell(chart, problem.offset, kind, i, j)  # everything but this goal
        count = alternatives(problem, before, chart, kind, i, j, scores, ways)
        for w in range(count):
            total = rest + scores[w]
            if n_items >= limit and not total > values[limit - 1]:
                continue
            following = after
            for side in range(0, 6, 3):
                if ways[w, side] != NO_GOAL:
                    goals = append_row(
                        goals, n_goals, ways[w, side], ways[w, side + 1], ways[w, side + 2], following, 0
                    )
                    following = n_goals
                    n_goals += 1
            items = append_row(items, n_made, following, goal, item, 0, 0)
            n_items = offer(values, ids, n_items, limit, total, n_made)
            n_made += 1
    return n_found


@njit
def _place(offset, n, kind, i, j):
    """Where the number of the node of a goal is kept: prefixes, then the kinds of cells."""
    return j if kind == PREFIX_GOAL else n + 1 + (kind - PAIR_GOAL) * (offset[n] + n) + offset[i] + j


@njit
def _edges(problem, chart, ids, node_ptr, tail_ptr, tails, scores, marks, entries):
    """Numbers of nodes, edges and tails; also the arrays, unless they are empty."""
    offset, n, write = problem.offset, problem.seq.size, node_ptr.size > 0
    values, ways, before = np.empty(room(n)), np.empty((room(n), 10), np.int64), forced_before(problem.forced)
    n_nodes, n_edges, n_tails = 0, 0, 0
    for first in range(n, -2, -1):
        last = n if first == -1 else min(n, first + problem.window) - 1
        for j in range(0 if first == -1 else first, last + 1):
            for kind in range(PREFIX_GOAL, MANY_GOAL + problem.stacked):
                if (kind == PREFIX_GOAL) != (first == -1) or (first == n):
                    continue
                if cell(chart, offset, kind, first, j) == -np.inf:
                    continue
                if write:
                    node_ptr[n_nodes] = n_edges
                    ids[_place(offset, n, kind, first, j)] = n_nodes
                n_nodes += 1
                if kind == PREFIX_GOAL and j == 0:  # the empty prefix: one edge without tails
                    if write:
                        tail_ptr[n_edges], scores[n_edges] = n_tails, 0.0
                        marks[n_edges, 0], marks[n_edges, 1], marks[n_edges, 2:] = -1, -1, 0
                        if entries.size:
                            entries[n_edges, :-1], entries[n_edges, -1] = -1, 0
                    n_edges += 1
                    continue
                count = alternatives(problem, before, chart, kind, first, j, values, ways)
                for w in range(count):
                    if write:
                        tail_ptr[n_edges], scores[n_edges] = n_tails, values[w]
                        marks[n_edges, 0], marks[n_edges, 1] = -1, -1
                        if pair_state(kind) >= -1:
                            marks[n_edges, 0], marks[n_edges, 1] = first, j
                        for x in range(4):
                            marks[n_edges, 2 + x] = ways[w, 6 + x]
                        if entries.size:
                            used_entries(problem, kind, first, j, ways[w], entries[n_edges])
                    for side in range(0, 6, 3):
                        below = ways[w, side]
                        if below != NO_GOAL:
                            if write:
                                i, k = ways[w, side + 1], ways[w, side + 2]
                                scores[n_edges] -= cell(chart, offset, below, i, k)
                                tails[n_tails] = ids[_place(offset, n, below, i, k)]
                            n_tails += 1
                    n_edges += 1
    if write:
        node_ptr[n_nodes], tail_ptr[n_edges] = n_edges, n_tails
    return n_nodes, n_edges, n_tails


@njit
def _room(problem, chart):
    """Places for the numbers of nodes, and how many nodes, edges and tails there are."""
    n, none = problem.seq.size, np.empty(0, np.int64)
    ids = np.empty((3 + problem.stacked) * (problem.offset[n] + n) + n + 1, np.int64)
    no_scores, no_table = np.empty(0), np.empty((0, 6), np.int64)
    return ids, _edges(problem, chart, ids, none, none, none, no_scores, no_table, no_table)


@njit
def derivation_graph(problem, chart, listed):
    """The graph of all derivations, as ``dp/derivations/hypergraph.py`` has it; for short sequences.

    Parameters
    ----------
    problem : Problem
        Sequence and scores.
    chart : Chart
        Best scores.
    listed : bool
        Whether the entries of the table are wanted.

    Returns
    -------
    node_ptr, tail_ptr, tails : ndarray of int64
        The graph; its root is the last node.
    scores : ndarray
        Scores of edges.
    marks : ndarray of int64, shape (n_edges, 6)
        The pair that an edge stands for (or -1, -1) and two ranges of bases that it leaves unpaired.
    entries : ndarray of int64, shape (n_edges, N_ENTRIES + 1)
        Entries of the table whose sum is the score (-1 for none), and unpaired bases of a multiloop; of no
        edge where they are not wanted.
    """
    ids, (n_nodes, n_edges, n_tails) = _room(problem, chart)
    node_ptr, tail_ptr = np.empty(n_nodes + 1, np.int64), np.empty(n_edges + 1, np.int64)
    tails, scores, marks = np.empty(n_tails, np.int64), np.empty(n_edges), np.empty((n_edges, 6), np.int64)
    entries = np.empty((n_edges if listed else 0, N_ENTRIES + 1), np.int64)
    _edges(problem, chart, ids, node_ptr, tail_ptr, tails, scores, marks, entries)
    return node_ptr, tail_ptr, tails, scores, marks, entries
