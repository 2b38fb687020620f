"""Alignments of one pair as a derivation graph, for the rarer questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.dp.alignment.flags import CANONICAL, FREE_FIRST, FREE_SECOND, LOCAL
from trelliswork.structures.base import Decoded
from trelliswork.structures.derivations import graph as derivations_graph
from trelliswork.structures.derivations.graph import Graph, integer_costs

if TYPE_CHECKING:
    from trelliswork.structures.alignment.batch import AlignmentBatch, Law

__all__ = ["argmax_at_loss", "check_sizes", "count", "edge_features", "kbest", "loss_profile"]

NEVER = 2.0**30  # a cost that rules an alignment out
_TIE = 1e-12  # relative difference of scores that only rounding tells apart
_END, _ENTRY, _EMPTY = 3, 4, 5  # kinds of edges beside the moves M, D, I


class _Grid(NamedTuple):
    """Nodes are (cell, state), from the last cell to the first; a local graph has one more, its root.

    ``kind``, ``i`` and ``j`` of every edge are its move and the cell that it leaves (an entry: that of the
    residues that it matches).
    """

    graph: Graph
    kind: np.ndarray
    state: np.ndarray
    i: np.ndarray
    j: np.ndarray


def check_sizes(batch: AlignmentBatch) -> None:
    """Refuse pairs that are too long for graphs."""
    lengths, most = (batch.first.lengths, batch.second.lengths), batch.limits.graph_cells
    for p in np.flatnonzero((lengths[0] + 1) * (lengths[1] + 1) > most)[:1].tolist():
        raise InputError(
            f"{lengths[0][p]:,} x {lengths[1][p]:,} residues are too many for k-best lists and "
            f"loss profiles (at most {most:,} cells); sample alignments instead",
            sample=p,
        )


def _grid(batch: AlignmentBatch, p: int) -> _Grid:
    n1, n2 = int(batch.first.lengths[p]), int(batch.second.lengths[p])
    flags = batch.flags
    i, j, state, kind = (v.ravel() for v in np.indices((n1 + 1, n2 + 1, 3, 4)))
    i, j, state = n1 - i, n2 - j, 2 - state
    possible = np.where(kind == 0, (i < n1) & (j < n2), np.where(kind == 1, i < n1, j < n2))
    if flags & CANONICAL:
        possible &= ~((kind == 1) & (state == 2))
    last = (state == 0) if flags & LOCAL else (i == n1) & (j == n2)
    keep = np.where(kind == _END, last, possible)
    i, j, state, kind = i[keep], j[keep], state[keep], kind[keep]
    node = _node(i, j, state, n1, n2)
    tails = _node(i + (kind != 2), j + (kind != 1), kind, n1, n2)[kind != _END]
    n_nodes = 3 * (n1 + 1) * (n2 + 1)
    if flags & LOCAL:
        starts, partners = (v.ravel() for v in np.indices((n1, n2)))
        node = np.concatenate([node, np.full(starts.size + 1, n_nodes)])
        tails = np.concatenate([tails, _node(starts + 1, partners + 1, 0 * starts, n1, n2)])
        kind = np.concatenate([kind, [_EMPTY], np.full(starts.size, _ENTRY)])
        i, j = np.concatenate([i, [0], starts]), np.concatenate([j, [0], partners])
        state = np.concatenate([state, np.zeros(starts.size + 1, dtype=np.int64)])
        n_nodes += 1
    arity = ((kind != _END) & (kind != _EMPTY)).astype(np.int64)
    node_ptr = offsets_of(np.bincount(node, minlength=n_nodes))
    graph = Graph(np.array([0, n_nodes]), node_ptr, offsets_of(arity), tails)
    return _Grid(graph, kind, state, i, j)


def _node(i: np.ndarray, j: np.ndarray, state: np.ndarray, n1: int, n2: int) -> np.ndarray:
    return ((n1 - i) * (n2 + 1) + (n2 - j)) * 3 + 2 - state


def _edge_scores(batch: AlignmentBatch, law: Law, p: int, grid: _Grid) -> np.ndarray:
    """Score of every edge."""
    rows = slice(batch.first.offsets[p], batch.first.offsets[p + 1])
    a, b = batch.first[p], batch.second[p]
    n1, n2 = a.size, b.size
    t = p if law.tables.shape[0] > 1 else 0
    miss, partner = law.miss[rows], batch.partner[rows]
    match = law.tables[t][np.ix_(a, b)] + np.where(np.arange(n2) != partner[:, None], miss[:, None], 0.0)
    if law.cell.size:
        match = match + law.cell[batch.cell_ptr[p] : batch.cell_ptr[p + 1]].reshape(n1, n2)
    before = np.concatenate([[0.0], np.cumsum(miss)])
    padded = np.zeros((n1 + 1, n2 + 1))
    padded[:n1, :n2] = match
    kind, i, j = grid.kind, grid.i, grid.j
    gap = np.where(grid.state == kind, law.gaps[t, 1], law.gaps[t, 0])
    free_d = bool(law.flags & FREE_FIRST) & ((j == 0) | (j == n2))
    free_i = bool(law.flags & FREE_SECOND) & ((i == 0) | (i == n1))
    of_delete = np.append(miss, 0.0)[i] + np.where(free_d, 0.0, gap)
    out = np.select(
        [kind == 0, kind == 1, kind == 2, kind == _ENTRY, kind == _EMPTY],
        [padded[i, j], of_delete, np.where(free_i, 0.0, gap), before[i] + padded[i, j], before[n1]],
        before[n1] - before[i] if law.flags & LOCAL else 0.0,
    )
    return np.ascontiguousarray(out, dtype=np.float64)


def _codes(grid: _Grid, edges: np.ndarray, n1: int, n2: int) -> np.ndarray:
    """Columns of the edges of a path."""
    kind = grid.kind[edges]
    if kind[0] == _EMPTY:
        return np.repeat([3, 4], [n1, n2])
    if kind[0] != _ENTRY:
        return kind[:-1]
    start, stop, inner = edges[0], edges[-1], kind[1:-1]
    i, j = grid.i[start], grid.j[start]
    ends = n1 - grid.i[stop], n2 - grid.j[stop]
    return np.concatenate([np.repeat([3, 4, 0], [i, j, 1]), inner, np.repeat([3, 4], ends)])


def kbest(batch: AlignmentBatch, law: Law, p: int, k: int, first: np.ndarray, value: float) -> Decoded:
    """Up to ``k`` best alignments of pair ``p``.

    ``first`` is one with the score ``value``; if none is better it heads the list, so that ties between
    best alignments are settled as elsewhere.
    """
    from trelliswork.dp.derivations import hypergraph
    from trelliswork.dp.derivations import kbest as derivations_kbest

    grid = _grid(batch, p)
    score = _edge_scores(batch, law, p, grid)
    n_nodes = int(grid.graph.graph_ptr[-1])
    best, back = np.empty(n_nodes), np.empty(n_nodes, dtype=np.int64)
    hypergraph.viterbi(*grid.graph, score, 0, 1, best, back)
    _, totals, ptr, edges = derivations_kbest.kbest(*grid.graph, score, 0, 1, k, best, back)
    n1, n2 = int(batch.first.lengths[p]), int(batch.second.lengths[p])
    ruled_out = -NEVER / 2 if law.miss.min(initial=0.0) <= -NEVER else -np.inf
    totals = totals[: max(int((totals > ruled_out).sum()), 1)]
    rows = [_codes(grid, edges[ptr[r] : ptr[r + 1]], n1, n2) for r in range(totals.size)]
    if totals.size and value >= totals[0] - _TIE * max(1.0, abs(value)):
        place = next((r for r, row in enumerate(rows) if np.array_equal(row, first)), totals.size - 1)
        rows = [first, *rows[:place], *rows[place + 1 :]]
    return Decoded(Ragged.from_list(rows, np.int64), totals)


def loss_profile(batch: AlignmentBatch, law: Law, cost: Law, p: int, max_loss: int) -> np.ndarray:
    """Best score of pair ``p`` for every total cost, shape (1, max_loss + 1)."""
    grid = _grid(batch, p)
    costs = integer_costs(_edge_scores(batch, cost, p, grid))
    return derivations_graph.loss_profile(grid.graph, _edge_scores(batch, law, p, grid), costs, max_loss)


def argmax_at_loss(batch: AlignmentBatch, law: Law, cost: Law, p: int, loss: int) -> tuple[np.ndarray, float]:
    """Best alignment of pair ``p`` with the given total cost, and its score."""
    grid = _grid(batch, p)
    costs = integer_costs(_edge_scores(batch, cost, p, grid))
    scores = _edge_scores(batch, law, p, grid)
    [edges], values = derivations_graph.argmax_at_loss(grid.graph, scores, costs, np.array([loss]), p)
    return _codes(grid, edges, int(batch.first.lengths[p]), int(batch.second.lengths[p])), float(values[0])


def count(batch: AlignmentBatch, p: int) -> int:
    """Exact number of alignments of pair ``p``."""
    from trelliswork.dp.derivations import hypergraph

    return hypergraph.count(*_grid(batch, p).graph)[0]


def edge_features(batch: AlignmentBatch, p: int) -> tuple[int, int, np.ndarray]:
    """Nodes that have edges, edges, and edges with each feature of the graph of pair ``p``."""
    a, b, flags, space = batch.first[p], batch.second[p], batch.flags, batch.space
    n1, n2, d = a.size, b.size, space.n_features
    canonical, local = bool(flags & CANONICAL), bool(flags & LOCAL)
    used = np.zeros(d + 1)
    of_pair = np.asarray(batch.of_pair)
    pairs = np.outer(np.bincount(a, minlength=of_pair.shape[0]), np.bincount(b, minlength=of_pair.shape[1]))
    # Matches leave every state; a local path also enters by one.
    np.add.at(used, of_pair % (d + 1), (3.0 + local) * pairs)
    # Deletions may not follow insertions in canonical alignments; gaps at free ends have no feature.
    rows = max(n2 + 1 - 2 + (n2 == 0), 0) if flags & FREE_FIRST else n2 + 1
    columns = max(n1 + 1 - 2 + (n1 == 0), 0) if flags & FREE_SECOND else n1 + 1
    starts, goes_on = np.asarray(space.of_gap)[:2]
    used[starts] += n1 * rows * (2 - canonical) + n2 * columns * 2
    used[goes_on] += n1 * rows + n2 * columns
    n_edges = (3 + local) * n1 * n2 + (3 - canonical) * n1 * (n2 + 1) + 3 * n2 * (n1 + 1)
    n_nodes = 3 * (n1 + 1) * (n2 + 1) - canonical * n1
    if local:
        n_edges += (n1 + 1) * (n2 + 1) + 1
        return n_nodes - 2 + 1, n_edges, used[:d]
    return n_nodes, n_edges + 3, used[:d]
