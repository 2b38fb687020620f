"""Packed derivation graphs: into another space, joined, as plain arrays and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.structures.derivations.graph import Graph
from trelliswork.structures.known import joined_known
from trelliswork.structures.tokens import whole_numbers

if TYPE_CHECKING:
    from trelliswork.structures.derivations.batch import DerivationBatch
    from trelliswork.structures.derivations.space import DerivationSpace

__all__ = ["batch_state", "into_space", "joined", "restored"]


def into_space(batch: DerivationBatch, space: DerivationSpace) -> DerivationBatch:
    """The same graphs with the feature numbers of a larger space."""
    from trelliswork.structures.derivations.batch import DerivationBatch

    target = np.array([space.columns[name] for name in batch.space.features], dtype=np.int64)
    columns = target[batch.phi.indices] if target.size else batch.phi.indices
    phi = sp.csr_matrix((batch.phi.data, columns, batch.phi.indptr), (batch.n_edges, space.n_features))
    gold = batch.gold_codes if batch.has_gold else None
    rest = batch.inputs, batch.parts, batch.dead_ends
    moved = DerivationBatch(space, batch.graph, phi, *rest, gold, batch.n_jobs)
    moved.known = batch.known
    return moved


def joined(one: DerivationBatch, other: DerivationBatch) -> DerivationBatch:
    """Graphs of two batches of one space, one after the other."""
    from trelliswork.structures.derivations.batch import DerivationBatch

    a, b = one.graph, other.graph
    graph_ptr, node_ptr, tail_ptr = (
        np.concatenate([x, y[1:] + x[-1]]) for x, y in zip(a[:3], b[:3], strict=True)
    )
    tails = np.concatenate([a.tails, b.tails + a.graph_ptr[-1]])
    gold = None
    if one.has_gold and other.has_gold:
        codes = one.gold_codes, other.gold_codes
        lengths = np.concatenate([c.lengths for c in codes])
        gold = Ragged(np.concatenate([c.values for c in codes]), offsets_of(lengths))
    batch = DerivationBatch(
        one.space,
        Graph(graph_ptr, node_ptr, tail_ptr, tails),
        sp.vstack([one.phi, other.phi], format="csr"),
        one.inputs + other.inputs,
        one.parts + other.parts,
        one.dead_ends + other.dead_ends,
        gold,
        one.n_jobs,
    )
    batch.known = joined_known(one, other)
    return batch


def batch_state(batch: DerivationBatch) -> dict[str, Any]:
    """Arrays of a batch; inputs are not stored."""
    state = {
        **{name: getattr(batch.graph, name) for name in Graph._fields},
        "phi": batch.phi,
        "parts": batch.parts,
        "gold": batch.gold_codes.values,
        "gold_lengths": batch.gold_codes.lengths,
    }
    if batch.known is not None:
        masks = [
            np.ones(n, dtype=bool) if mask is None else mask
            for mask, n in zip(batch.known, np.diff(batch.edge_ptr))
        ]
        state["known"] = np.concatenate(masks)
        state["known_samples"] = batch.open_samples
    return state


def restored(space: DerivationSpace, state: Mapping[str, Any], n_jobs: int | None) -> DerivationBatch:
    """Inverse of :func:`batch_state`; a file is not trusted, so everything is checked."""
    from trelliswork.structures.derivations.batch import DerivationBatch

    graph = Graph(*(np.asarray(state[name], dtype=np.int64) for name in Graph._fields))
    for pointer, target in zip(graph[:3], (graph.node_ptr.size, graph.tail_ptr.size, graph.tails.size + 1)):
        if pointer.ndim != 1 or not pointer.size or pointer[0] != 0 or np.any(np.diff(pointer) < 0):
            raise InputError("a stored graph is damaged")
        if pointer[-1] != target - 1:
            raise InputError("the arrays of a stored graph do not fit together")
    sizes = np.diff(graph.graph_ptr)
    head = np.repeat(np.arange(graph.node_ptr.size - 1), np.diff(graph.node_ptr))
    below = np.repeat(head, np.diff(graph.tail_ptr))
    first = np.repeat(graph.graph_ptr[:-1], sizes)[below]
    if np.any(sizes < 1) or np.any(graph.tails >= below) or np.any(graph.tails < first):
        raise InputError("a stored graph has a cycle or an edge out of its graph")
    n_edges, phi, parts = graph.tail_ptr.size - 1, state["phi"], state["parts"]
    if not sp.issparse(phi) or phi.shape != (n_edges, space.n_features) or phi.dtype != np.float64:
        raise InputError("stored features do not fit the graph")
    edges = np.diff(graph.edge_ptr)
    if [len(names) for names in parts] != edges.tolist():
        raise InputError("stored parts do not fit the graph")
    gold = Ragged(np.asarray(state["gold"], dtype=np.int64), offsets_of(state["gold_lengths"]))
    limits = np.repeat(edges, gold.lengths) if len(gold) == edges.size else np.zeros(0)
    if len(gold) != edges.size or np.any(gold.values < 0) or np.any(gold.values >= limits):
        raise InputError("stored outputs do not fit the graph")
    n = edges.size
    batch = DerivationBatch(space, graph, sp.csr_matrix(phi), [None] * n, parts, [None] * n, gold, n_jobs)
    if "known_samples" in state:
        numbers, mask = whole_numbers(state["known_samples"], 0, n), np.asarray(state["known"])
        if mask.dtype != bool or mask.shape != (n_edges,):
            raise InputError("stored limits do not fit the graph")
        split = np.split(mask, graph.edge_ptr[1:-1])
        batch.known = [split[i] if i in set(numbers.tolist()) else None for i in range(n)]
    return batch
