"""Lattices of given outputs alone: what ``known=`` leaves of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import gather_ranges, offsets_of
from trelliswork.dp.transducer.arrays import Lattice
from trelliswork.structures.transducer import store
from trelliswork.structures.transducer.outputs import Given, coded_outputs

if TYPE_CHECKING:
    from trelliswork.structures.transducer.batch import TransducerBatch

__all__ = ["agreeing"]


def agreeing(batch: TransducerBatch, known: Any) -> TransducerBatch:
    """The same inputs with the outputs that agree with what is known of each: one output, several, or None
    for any.
    """
    if batch.space.structure.output == "pieces":
        raise InputError("known= of a transducer is for output='symbols'")
    told = [i for i, entry in enumerate(known) if entry is not None]
    given, _ = coded_outputs([known[i] for i in told], batch.output_symbols)
    counts = np.zeros(len(batch), dtype=np.int64)
    counts[told] = np.diff(given.ptr)
    whole = _with(batch, batch.lattice, Given(given.codes, offsets_of(counts)))
    return _with(batch, _merged(whole, counts == 0), None)


def _with(batch: TransducerBatch, lattice: Lattice, given: Given | None) -> TransducerBatch:
    """The same inputs with another lattice, and true outputs."""
    from trelliswork.structures.transducer.batch import TransducerBatch

    return TransducerBatch(
        batch.space,
        batch.inputs,
        batch.x,
        batch.arcs,
        batch.windows,
        lattice,
        batch.joins,
        batch.grams,
        given=given,
        novel=batch.novel,
        n_jobs=batch.n_jobs,
    )


def _merged(batch: TransducerBatch, free: np.ndarray) -> Lattice:
    """One lattice per sample: of all its outputs where it is ``free``, else of the given ones, whose starts
    become one node.
    """
    lattice, (known, owner, _) = batch.lattice, store.known_lattice(batch)
    places, samples, starts, degrees, tails, edges = [], [], [], [], [], []
    first = 0
    whole = np.flatnonzero(free)
    for source, graphs, of in (
        (lattice, whole, whole),
        (known, np.arange(owner.size), owner),
    ):
        sizes = np.diff(source.graph_ptr)[graphs]
        nodes, edge = gather_ranges(source.graph_ptr, graphs), gather_ranges(source.edge_ptr, graphs)
        begins = offsets_of(sizes)
        degree = np.diff(source.node_ptr)[nodes]
        home = np.repeat(np.repeat(begins[:-1], sizes), degree)  # first node of the graph of every edge
        tail = source.tail[edge].astype(np.int64)
        tails.append(np.where(tail >= 0, tail + home + first, -1))
        places.append(source.place[nodes])
        samples.append(np.repeat(of, sizes))
        starts.append(first + begins[1:] - 1)
        degrees.append(degree)
        edges.append(np.stack([source.arc[edge], source.join[edge]]))
        first += nodes.size
    place, sample, degree = np.concatenate(places), np.concatenate(samples), np.concatenate(degrees)
    tail, (arc, join) = np.concatenate(tails), np.concatenate(edges, axis=1)
    # Nodes of a sample from the end to the start; all its starts have the number of the last.
    order = np.lexsort((-place, sample))
    is_start = np.zeros(place.size, dtype=bool)
    is_start[np.concatenate(starts)] = True
    last = np.append(sample[order][1:] != sample[order][:-1], True) if order.size else is_start
    number = np.empty(place.size, dtype=np.int64)
    number[order] = np.cumsum(~is_start[order] | last) - 1 + (is_start[order] & ~last)
    n = int(number.max(initial=-1)) + 1
    node_place, node_sample = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int64)
    node_place[number], node_sample[number] = place, sample
    graph_ptr = np.searchsorted(node_sample, np.arange(len(batch) + 1)).astype(np.int64)
    head = np.repeat(number, degree)
    by = np.argsort(head, kind="stable")
    tail = np.where(tail >= 0, number[tail] - graph_ptr[node_sample[head]], -1)
    node_ptr = offsets_of(np.bincount(head, minlength=n))
    return Lattice(graph_ptr, node_ptr, node_place, *(a[by].astype(np.int32) for a in (tail, arc, join)))
