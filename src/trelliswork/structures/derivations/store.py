"""Packed derivation graphs: into another space, joined, as plain arrays and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._stored import fitting, flags, lengths, matrix, pointers, whole
from trelliswork.structures.derivations.graph import Graph
from trelliswork.structures.known import joined_known

if TYPE_CHECKING:
    from trelliswork.structures.derivations.batch import DerivationBatch
    from trelliswork.structures.derivations.space import DerivationSpace

__all__ = ["batch_state", "into_space", "joined", "restored"]

_STORED = {
    "tails": whole("tails"),
    "phi": matrix("edges", "features"),
    "tail_ptr": pointers("edges", "tails"),
    "node_ptr": pointers("nodes", "edges"),
    "graph_ptr": pointers("graphs", "nodes"),
    "gold": whole("gold"),
    "gold_lengths": lengths("graphs", "gold"),
}
_STORED_LIMITS = {"known_samples": whole("limited", high="graphs"), "known": flags("edges")}


def into_space(batch: DerivationBatch, space: DerivationSpace) -> DerivationBatch:
    """The same graphs with the feature numbers of a larger space."""
    target = np.array([space.columns[name] for name in batch.space.features], dtype=np.int64)
    columns = target[batch.phi.indices] if target.size else batch.phi.indices
    phi = sp.csr_matrix((batch.phi.data, columns, batch.phi.indptr), (batch.n_edges, space.n_features))
    gold = batch.gold_codes if batch.has_gold else None
    rest = batch.inputs, batch.parts, batch.dead_ends
    moved = type(batch)(space, batch.graph, phi, *rest, gold, batch.n_jobs)
    moved.known = batch.known
    return moved


def joined(one: DerivationBatch, other: DerivationBatch) -> DerivationBatch:
    """Graphs of two batches of one space, one after the other."""
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
    batch = type(one)(
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
        state["known_samples"] = np.flatnonzero([mask is not None for mask in batch.known])
    return state


def restored(space: DerivationSpace, state: Mapping[str, Any], n_jobs: int | None) -> DerivationBatch:
    """Inverse of :func:`batch_state`; a file is not trusted, so everything is checked."""
    stored = fitting(state, _STORED, "graphs", features=space.n_features)
    graph = Graph(*(stored[name] for name in Graph._fields))
    sizes = np.diff(graph.graph_ptr)
    head = np.repeat(np.arange(graph.node_ptr.size - 1), np.diff(graph.node_ptr))
    below = np.repeat(head, np.diff(graph.tail_ptr))
    first = np.repeat(graph.graph_ptr[:-1], sizes)[below]
    if np.any(sizes < 1) or np.any(graph.tails >= below) or np.any(graph.tails < first):
        raise InputError("a stored graph has a cycle or an edge out of its graph")
    phi, parts = stored["phi"], state["parts"]
    edges = np.diff(graph.edge_ptr)
    if [len(names) for names in parts] != edges.tolist():
        raise InputError("stored parts do not fit the graph")
    gold = Ragged(stored["gold"], offsets_of(stored["gold_lengths"]))
    if np.any(gold.values >= np.repeat(edges, gold.lengths)):
        raise InputError("stored outputs do not fit the graph")
    n = edges.size
    unknown = [None] * n
    batch = space.batch_type(space, graph, sp.csr_matrix(phi), unknown, parts, [*unknown], gold, n_jobs)
    if "known_samples" in state:
        limits = fitting(state, _STORED_LIMITS, "limits", graphs=n, edges=graph.tail_ptr.size - 1)
        split = np.split(limits["known"], graph.edge_ptr[1:-1])
        limited = set(limits["known_samples"].tolist())
        batch.known = [split[i] if i in limited else None for i in range(n)]
    return batch
