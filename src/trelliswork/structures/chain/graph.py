"""Label chains as derivation graphs: the verbs that, but for a compiled case, only the general engine has.

Node (t, c) stands for the labels after token ``t`` when the last labels are the context
``c``; nodes run from the end of a sequence to its start, the root comes last. An edge
chooses one label. A node of the last token has one edge without tails, label or features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._threads import balanced_chunks, run
from trelliswork.structures.base import Decoded, Moments, Parts
from trelliswork.structures.derivations import graph as derivations_graph
from trelliswork.structures.derivations.graph import Graph

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch
    from trelliswork.structures.chain.space import ChainSpace
    from trelliswork.structures.chain.trellis import Trellis
    from trelliswork.structures.tokens import Layout

__all__ = [
    "ChainGraph",
    "argmax_at_loss",
    "chain_graph",
    "edge_values",
    "joint_cells",
    "last_label",
    "loss_profile",
    "moments",
]


class ChainGraph(NamedTuple):
    """Graph of some label sequences, and what each edge stands for.

    Attributes
    ----------
    graph : Graph
        Arrays of the derivation engine.
    sequence : ndarray of int64, shape (n_edges,)
        Sequence of the batch that the edge belongs to.
    token, context, label : ndarray of int64, shape (n_edges,)
        Token of the batch that gets the label; the context before it, -1 at a first token;
        the label. All -1 at the edges that end a sequence.
    """

    graph: Graph
    sequence: np.ndarray
    token: np.ndarray
    context: np.ndarray
    label: np.ndarray


def chain_graph(batch: ChainBatch, first: int = 0, last: int | None = None) -> ChainGraph:
    """Graph of the sequences ``first .. last - 1`` of a batch.

    Parameters
    ----------
    batch : ChainBatch
        Packed sequences.
    first, last : int
        Range of sequences; all by default.
    """
    last = len(batch) if last is None else last
    lengths = np.diff(batch.offsets)[first:last].tolist()
    shapes = {n: _template(batch.space, n) for n in set(lengths)}
    pieces = [shapes[n] for n in lengths]
    degrees, arity, tails, token, context, label = (
        np.concatenate([piece[j] for piece in pieces]) if pieces else np.zeros(0, dtype=np.int64)
        for j in range(6)
    )
    graph_ptr = offsets_of([piece[0].size for piece in pieces])
    n_edges = [piece[3].size for piece in pieces]
    tails += np.repeat(graph_ptr[:-1], [piece[2].size for piece in pieces])
    token[token >= 0] += np.repeat(batch.offsets[first:last], n_edges)[token >= 0]
    graph = Graph(graph_ptr, offsets_of(degrees), offsets_of(arity), tails)
    return ChainGraph(graph, np.repeat(np.arange(first, last), n_edges), token, context, label)


def _template(space: ChainSpace, n_steps: int) -> tuple[np.ndarray, ...]:
    """Degrees of nodes, arities, tails, tokens, contexts and labels of one sequence."""
    k, levels = space.n_labels, space.level_ptr
    if n_steps == 0:  # one output, the empty one
        none = np.array([-1])
        return np.array([1]), np.array([0]), np.zeros(0, dtype=np.int64), none, none, none
    level = np.minimum(np.arange(n_steps), levels.size - 2)
    low, high = levels[level], levels[level + 1]
    n_last = int(high[-1] - low[-1])
    starts = offsets_of((high - low)[::-1])[:-1][::-1]  # first node of each token
    none = np.full(n_last, -1)
    degrees, tails, token, context = [np.ones(n_last, dtype=np.int64)], [], [none], [none]
    for t in range(n_steps - 2, -1, -1):
        contexts = np.arange(low[t], high[t])
        degrees.append(np.full(contexts.size, k))
        tails.append((space.successor[contexts] - low[t + 1] + starts[t + 1]).ravel())
        token.append(np.full(contexts.size * k, t + 1))
        context.append(np.repeat(contexts, k))
    degrees.append(np.array([k]))
    tails.append(starts[0] + np.arange(k))
    token.append(np.zeros(k, dtype=np.int64))
    context.append(np.full(k, -1))
    below = np.concatenate(tails)
    arity = np.concatenate([np.zeros(n_last, dtype=np.int64), np.ones(below.size, dtype=np.int64)])
    label = np.concatenate([none, np.tile(np.arange(k), below.size // k)])
    return np.concatenate(degrees), arity, below, np.concatenate(token), np.concatenate(context), label


def last_label(space: ChainSpace, context: np.ndarray) -> np.ndarray:
    """Last label of each context."""
    level = np.searchsorted(space.level_ptr, context, side="right") - 1
    return (context - space.level_ptr[level]) % space.n_labels


def edge_values(
    chain: ChainGraph,
    batch: ChainBatch,
    unary: np.ndarray | None,
    trans: np.ndarray | None,
    which: np.ndarray | None,
    edge: np.ndarray | None,
) -> np.ndarray:
    """Sum of the part values of every edge; None and empty arrays stand for zeros."""
    out = np.zeros(chain.token.size)
    with_token = np.flatnonzero(chain.token >= 0)
    if unary is not None:
        out[with_token] = unary[chain.token[with_token], chain.label[with_token]]
    with_context = np.flatnonzero(chain.context >= 0)
    context, label = chain.context[with_context], chain.label[with_context]
    if trans is not None:
        trans = trans[None] if trans.ndim == 2 else trans
        sequence = chain.sequence[with_context]
        table = sequence * (trans.shape[0] > 1) if which is None else which[sequence]
        out[with_context] += trans[table, context, label]
    if edge is not None and edge.ndim == 1:
        for cell in joint_cells(batch, chain, with_context):
            out[with_context] += np.where(cell >= 0, edge[cell], 0.0) if edge.size else 0.0
    elif edge is not None and edge.size:
        out[with_context] += edge[chain.token[with_context], last_label(batch.space, context), label]
    return out


def joint_cells(batch: ChainBatch, chain: ChainGraph, edges: np.ndarray) -> list[np.ndarray]:
    """For every length of joined n-grams the cell of each of some edges, -1 for none."""
    joint = batch.joint
    assert joint is not None
    k, levels = batch.space.n_labels, batch.space.level_ptr
    level = np.searchsorted(levels, chain.context[edges], side="right") - 1
    code = (chain.context[edges] - levels[level]) * k + chain.label[edges]
    cells = []
    for n, first in zip(joint.joins.lengths, joint.joins.offsets(k), strict=False):
        key = chain.token[edges] * joint.n_columns + first + code % k**n
        cells.append(np.where(level + 2 >= n, joint.find(key), -1))
    return cells


def token_features(batch: ChainBatch) -> tuple[sp.csr_matrix, sp.csr_matrix | None]:
    """Attributes of every token, for the labels and for the pairs of labels."""
    return batch.emission.token_matrix(), None if batch.edge is None else batch.edge.token_matrix()


def edge_features(
    chain: ChainGraph, batch: ChainBatch, emission: sp.csr_matrix, edge: sp.csr_matrix | None
) -> sp.csr_matrix:
    """Features of every edge, shape (n_edges, n_features); matrices from ``token_features``."""
    space, k = batch.space, batch.space.n_labels
    used, inner = chain.token >= 0, chain.context >= 0
    pieces = [_placed(emission, chain.token, used, chain.label, space.emission_layout)]
    if batch.joint is not None:
        shape = (chain.token.size, batch.joint.matrix.shape[0])
        chosen, steps = sp.csr_matrix(shape), np.flatnonzero(inner)
        for cell in joint_cells(batch, chain, steps):
            places = steps[cell >= 0], cell[cell >= 0]
            chosen = chosen + sp.csr_matrix((np.ones(places[0].size), places), shape=shape)
        pieces.append(chosen @ batch.joint.matrix)
    elif edge is not None and space.edge_layout is not None:
        pair = last_label(space, np.maximum(chain.context, 0)) * k + chain.label
        pieces.append(_placed(edge, chain.token, inner, pair, space.edge_layout))
    step = np.where(inner, chain.context * k + chain.label, 0)
    pieces.append(sp.diags_array(inner.astype(np.float64)).tocsr() @ space.ngram_matrix[step])
    return sp.csr_matrix(sp.hstack(pieces, format="csr"))


def _placed(
    tokens: sp.csr_matrix, token: np.ndarray, used: np.ndarray, column: np.ndarray, layout: Layout
) -> sp.csr_matrix:
    """Attributes of the token of each used edge, each combined with one column."""
    edges = np.flatnonzero(used)
    rows = tokens[token[edges]].tocoo()
    edge = edges[rows.row]
    flat = rows.col.astype(np.int64) * layout.n_columns + column[edge]
    value = rows.data
    if layout.flat is not None:
        place = np.minimum(np.searchsorted(layout.flat, flat), max(layout.flat.size - 1, 0))
        known = layout.flat[place] == flat if layout.flat.size else np.zeros(flat.size, dtype=bool)
        edge, flat, value = edge[known], place[known], value[known]
    return sp.csr_matrix((value, (edge, flat)), shape=(token.size, layout.n_weights))


# -- verbs ------------------------------------------------------------------------------------


def _chunks(batch: ChainBatch) -> list[tuple[int, int]]:
    return balanced_chunks(
        batch.offsets, max(1, batch.limits.graph_edges_per_chunk // batch.space.successor.size)
    )


def _scored(
    batch: ChainBatch, trellis: Trellis, costs: Parts, first: int, last: int
) -> tuple[ChainGraph, np.ndarray, np.ndarray]:
    """Graph, edge scores and integer edge costs of a range of sequences."""
    chain = chain_graph(batch, first, last)
    cost = edge_values(chain, batch, costs.unary, costs.trans, None, costs.edge)
    return chain, edge_values(chain, batch, *trellis), derivations_graph.integer_costs(cost)


def _on_labels(batch: ChainBatch, trellis: Trellis, costs: Parts) -> bool:
    """Whether the recursion of order 1 with costs of labels alone will do."""
    of_labels = costs.unary is not None and costs.trans is None and costs.edge is None
    return of_labels and batch.space.order == 1 and batch._is_shared(trellis)


def loss_profile(batch: ChainBatch, scores: Parts, costs: Parts, max_loss: int) -> np.ndarray:
    """Best score for every total of integer costs, shape (n_sequences, max_loss + 1)."""
    trellis = batch._trellis(scores, None)
    if _on_labels(batch, trellis, costs):
        from trelliswork.dp.chain import loss

        cost, out = derivations_graph.integer_costs(costs.unary), np.empty((len(batch), max_loss + 1))
        fixed = (trellis.unary, trellis.trans[0], cost, batch.offsets)
        run(lambda a, b: loss.profile(*fixed, a, b, out), batch.sequence_ranges(), batch._threads)
        return out

    def task(first: int, last: int) -> np.ndarray:
        chain, score, cost = _scored(batch, trellis, costs, first, last)
        return derivations_graph.loss_profile(chain.graph, score, cost, max_loss)

    return np.concatenate([np.zeros((0, max_loss + 1)), *run(task, _chunks(batch), batch._threads)])


def argmax_at_loss(batch: ChainBatch, scores: Parts, costs: Parts, losses: np.ndarray) -> Decoded:
    """Best label sequence of every sample among those with the given total cost."""
    trellis, losses = batch._trellis(scores, None), np.asarray(losses, dtype=np.int64)
    if _on_labels(batch, trellis, costs):
        from trelliswork.dp.chain import loss

        cost, value = derivations_graph.integer_costs(costs.unary), np.empty(len(batch))
        labels = np.zeros(batch.n_tokens, dtype=np.int64)
        fixed = (trellis.unary, trellis.trans[0], cost, batch.offsets, losses)
        run(
            lambda a, b: loss.argmax_at(*fixed, a, b, labels, value),
            batch.sequence_ranges(),
            batch._threads,
        )
        bad = np.flatnonzero(value == -np.inf)
        if bad.size:
            raise InputError(f"no output has loss {losses[bad[0]]}", sample=int(bad[0]))
        return Decoded(Ragged(labels, batch.offsets), value)

    def task(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        chain, score, cost = _scored(batch, trellis, costs, first, last)
        edges, values = derivations_graph.argmax_at_loss(chain.graph, score, cost, losses[first:last], first)
        labels = chain.label[np.concatenate(edges)]
        return labels[labels >= 0], values

    chunks = run(task, _chunks(batch), batch._threads)
    labels = np.concatenate([np.zeros(0, dtype=np.int64), *(labels for labels, _ in chunks)])
    return Decoded(Ragged(labels, batch.offsets), np.concatenate([np.zeros(0), *(v for _, v in chunks)]))


def moments(batch: ChainBatch, scores: Parts, weights: np.ndarray | None) -> Moments:
    """Exact means and covariance by dense increments; for few features."""
    d, n = batch.space.n_features, len(batch)
    trellis = batch._trellis(scores, None)
    weight = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    tokens = token_features(batch)

    def task(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        chain = chain_graph(batch, first, last)
        score = edge_values(chain, batch, *trellis)
        phi = edge_features(chain, batch, *tokens)
        return derivations_graph.moments(chain.graph, score, phi, weight[first:last], [(0, last - first)], 1)

    chunks = run(task, _chunks(batch), batch._threads)
    total = np.zeros((d, d))
    for _, covariance in chunks:
        total += covariance
    return Moments(np.concatenate([np.zeros((0, d)), *(means for means, _ in chunks)]), total)
