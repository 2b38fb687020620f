"""Packed inputs of a transducer: made, subset, joined, in another space, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ngrams import Coded, encode
from trelliswork._ragged import Ragged, gather_ranges, offsets_of
from trelliswork._stored import fitting, lengths, whole
from trelliswork.dp.transducer.arrays import Arcs, Lattice
from trelliswork.structures.base import Parts
from trelliswork.structures.transducer.outputs import Given
from trelliswork.structures.transducer.pieces import Aligned, best_paths
from trelliswork.structures.transducer.unseen import Novel, copied_symbols, read_novel, with_copies

if TYPE_CHECKING:
    from trelliswork.structures.transducer.batch import TransducerBatch
    from trelliswork.structures.transducer.space import TransducerSpace

__all__ = [
    "NOT_WRITTEN",
    "batch_state",
    "into_space",
    "joined",
    "known_lattice",
    "packed",
    "restored",
    "taken",
]

_STORED_INPUTS = {
    "x": whole("symbols read", low=-1, high="input symbols"),  # -1 for symbols that training did not have
    "x_lengths": lengths("strings", "symbols read"),
}
_STORED = _STORED_INPUTS | {"gold": whole("edges"), "gold_lengths": lengths("strings", "edges")}
_STORED_HIDDEN = _STORED_INPUTS | {
    "y": whole("symbols written", low=-1, high="output symbols"),
    "y_lengths": lengths("outputs", "symbols written"),
    "y_counts": lengths("strings", "outputs", least=1),
}

NOT_WRITTEN = "the pieces of the training data cannot write this output; it is too long or has new symbols"


def packed(space: TransducerSpace, inputs: list[tuple[Any, ...]], n_jobs: int | None) -> TransducerBatch:
    """Batch of inputs without outputs."""
    from trelliswork.dp.transducer.lattice import expand
    from trelliswork.structures.transducer.batch import TransducerBatch

    seen, _ = encode(inputs, space.input_symbols)
    x, read = read_novel(space, inputs, seen)
    arcs, novel = Arcs(*space.pieces.arcs(read)), None
    if x is not seen:
        arcs, novel = with_copies(space, inputs, x, arcs)
    arcs, novel = _proposed(space, x, arcs, novel)
    pieces = space.pieces
    *lattice, _, joins = expand(
        x.offsets,
        *arcs,
        space.grams.contexts.start,
        pieces.end,
        space.grams.contexts.step,
        pieces.max_in,
    )
    windows = space.windows.matrix(x, arcs, pieces.max_in)
    return TransducerBatch(
        space,
        inputs,
        x,
        arcs,
        windows,
        Lattice(*lattice),
        joins,
        space.grams.matrix(joins),
        novel=novel,
        n_jobs=n_jobs,
    )


def _proposed(space: TransducerSpace, x: Coded, arcs: Arcs, novel: Novel | None) -> tuple[Arcs, Novel | None]:
    """Pieces at every position of inputs, without those that their contexts rule out."""
    ptr, length, piece = arcs
    least = space.structure.prune
    if space.shortlist is None or not least:
        return arcs, novel
    kept = space.shortlist.kept(x, len(space.input_symbols), ptr, piece, least)
    proposed = Arcs(offsets_of(kept)[ptr], length[kept], piece[kept])
    return proposed, None if novel is None else novel.taken(kept)


def completed(batch: TransducerBatch, given: Given, unknown: str) -> None:
    """Keep true outputs whose alignments are hidden, each with its best alignment as code."""
    if batch.novel is not None:
        _completed_with_copies(batch, given, unknown)
        return
    owner, n = given.owner, len(batch)
    x = _repeated(batch.x, owner)
    pairs, piece = batch.space.pieces.lattice(x, given.codes)
    output = np.repeat(np.arange(owner.size), np.diff(pairs.node_ptr[pairs.graph_ptr]))
    arc = _arcs_of(batch, owner[output], pairs.steps[:, 0] - x.offsets[output], piece)
    proposed = (arc >= 0) | (piece == batch.space.pieces.end)
    aligned, values = best_paths(pairs.kept(proposed), batch.space.pieces.log_p, piece[proposed], x)
    best = np.full(n, -1, dtype=np.int64)
    for output in np.argsort(values, kind="stable"):  # the last, the best, stays
        if values[output] > -np.inf:
            best[owner[output]] = output
    if unknown == "error" and np.any(best < 0):
        raise InputError(NOT_WRITTEN, sample=int(np.flatnonzero(best < 0)[0]))
    chosen = np.flatnonzero(best[owner[aligned.sample]] == aligned.sample)
    path = Aligned(owner[aligned.sample[chosen]], aligned.start[chosen], aligned.piece[chosen])
    batch._gold = path_codes(batch, path, best >= 0)
    batch.given = given


def _completed_with_copies(batch: TransducerBatch, given: Given, unknown: str) -> None:
    """The same where a piece does not tell what is written: by the paths of the lattices."""
    batch.given = given
    codes = batch.completion(Parts(edge=batch.space.pieces.log_p[batch.piece_of(batch.lattice.arc)])).codes
    if unknown == "error" and not codes.lengths.all():
        raise InputError(NOT_WRITTEN, sample=int(np.flatnonzero(codes.lengths == 0)[0]))
    batch._gold = codes


def _repeated(x: Coded, index: np.ndarray) -> Coded:
    rows = x[index]
    return Coded(rows.values, rows.offsets)


def path_codes(batch: TransducerBatch, path: Aligned, possible: np.ndarray) -> Ragged:
    """Codes of given alignments; none where they are not possible."""
    from trelliswork.dp.transducer.paths import edges_along

    n, lattice = len(batch), batch.lattice
    arcs = _arcs_of(batch, path.sample, path.start, path.piece)
    ptr = path.offsets(n)
    edges = edges_along(*lattice[:4], batch.x.offsets, batch.arcs.ptr, ptr, arcs)
    codes = Ragged(edges, ptr + np.arange(n + 1))
    if possible.all():
        return codes
    kept = gather_ranges(codes.offsets, np.flatnonzero(possible))
    return Ragged(codes.values[kept], offsets_of(np.where(possible, codes.lengths, 0)))


def _arcs_of(batch: TransducerBatch, sample: np.ndarray, start: np.ndarray, piece: np.ndarray) -> np.ndarray:
    """Numbers of the arcs of given pieces at given positions; -1 where there is none."""
    width = len(batch.space.pieces)
    rows = np.repeat(np.arange(batch.arcs.ptr.size - 1), np.diff(batch.arcs.ptr))
    keys = rows * width + batch.arcs.piece  # ascending: pieces with shorter inputs have smaller numbers
    wanted = (batch.x.offsets[sample] + sample + start) * width + piece
    return _looked_up(keys, wanted)


def _looked_up(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    if not keys.size:
        return np.full(wanted.size, -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[place] == wanted, place, -1)


def known_lattice(batch: TransducerBatch) -> tuple[Lattice, np.ndarray, np.ndarray]:
    """Alignments of the true outputs as lattices, the sample of each, and the edge of the batch that each
    edge is.
    """
    from trelliswork.dp.transducer.paths import paths_that_write

    assert batch.given is not None
    codes, lattice = batch.given.codes, batch.lattice
    graph_ptr, node_ptr, place, tail, edges = paths_that_write(
        *lattice[:4],
        batch.writing_at(lattice.arc),
        batch.given.owner,
        codes.offsets,
        codes.values,
        *batch.inventory,
    )
    known = Lattice(graph_ptr, node_ptr, place, tail, lattice.arc[edges], lattice.join[edges])
    return known, batch.given.owner, edges


def taken(batch: TransducerBatch, index: np.ndarray, gold: Ragged | None) -> TransducerBatch:
    """Some of the samples."""
    from trelliswork.structures.transducer.batch import TransducerBatch

    lattice, x = batch.lattice, batch.x
    n_rows = x.lengths + 1
    rows = gather_ranges(offsets_of(n_rows), index)
    counts = np.diff(batch.arcs.ptr)[rows]
    arcs = gather_ranges(batch.arcs.ptr, rows)
    first_arc = batch.arcs.ptr[offsets_of(n_rows)]
    nodes, edges = gather_ranges(lattice.graph_ptr, index), gather_ranges(batch.edge_ptr, index)
    n_edges = np.diff(batch.edge_ptr)[index]
    moved = offsets_of(np.diff(first_arc)[index])[:-1] - first_arc[:-1][index]
    arc = lattice.arc[edges]
    arc = np.where(arc >= 0, arc + np.repeat(moved, n_edges), -1).astype(np.int32)
    used, join = np.unique(lattice.join[edges], return_inverse=True)
    return TransducerBatch(
        batch.space,
        [batch.inputs[i] for i in index.tolist()],
        _repeated(x, index),
        Arcs(offsets_of(counts), batch.arcs.length[arcs], batch.arcs.piece[arcs]),
        batch.windows.take(arcs),
        Lattice(
            offsets_of(np.diff(lattice.graph_ptr)[index]),
            offsets_of(np.diff(lattice.node_ptr)[nodes]),
            lattice.place[nodes],
            lattice.tail[edges],
            arc,
            join.ravel().astype(np.int32),
        ),
        batch.joins[used],
        batch.grams.take(used),
        gold=gold,
        given=None if batch.given is None else batch.given.take(index),
        novel=None if batch.novel is None else batch.novel.taken(arcs),
        n_jobs=batch.n_jobs,
    )


def batch_state(batch: TransducerBatch) -> dict[str, Any]:
    """Codes of inputs and outputs; everything else follows from the space."""
    space, x, new = batch.space, batch.x, {}
    if batch.novel is not None:
        x, _ = encode(batch.inputs, space.input_symbols)
        flat = [s for symbols in batch.inputs for s in symbols]
        new = {"new_symbols": [flat[t] for t in np.flatnonzero(x.values < 0).tolist()]}
    state: dict[str, Any] = {"x": x.values, "x_lengths": x.lengths, "hidden": batch.partly_known, **new}
    if batch.given is not None:
        codes = recoded(batch, [*space.output_symbols, *copied_symbols(space, batch.inputs)])
        return state | {
            "y": codes.values,
            "y_lengths": codes.lengths,
            "y_counts": np.diff(batch.given.ptr),
        }
    return state | {"gold": batch.gold_codes.values, "gold_lengths": batch.gold_codes.lengths}


def restored(space: TransducerSpace, state: Mapping[str, Any], n_jobs: int | None) -> TransducerBatch:
    """Inverse of :func:`batch_state`; a file is not trusted, so everything is checked."""
    new = list(state.get("new_symbols", []))
    copied = copied_symbols(space, [tuple(new)])
    sizes = {
        "input symbols": len(space.input_symbols),
        "output symbols": len(space.output_symbols) + len(copied),
    }
    stored = fitting(state, _STORED_HIDDEN if state["hidden"] else _STORED, "strings", **sizes)
    x = _codes(stored, "x")
    if new and len(new) != np.count_nonzero(x.values < 0):
        raise InputError("stored strings are damaged: the number of their new symbols is another")
    symbols, others = space.input_symbols, iter(new)
    inputs = [tuple(symbols[c] if c >= 0 else next(others, None) for c in row.tolist()) for row in x]
    batch = packed(space, inputs, n_jobs)
    if not new:
        batch.x = x
    if state["hidden"]:
        y, ptr = _codes(stored, "y"), offsets_of(stored["y_counts"])
        completed(batch, Given(y, ptr), "mark")
        return batch
    gold = Ragged(stored["gold"], offsets_of(stored["gold_lengths"]))
    if np.any(gold.values >= np.repeat(np.diff(batch.edge_ptr), gold.lengths)):
        raise InputError("stored outputs do not fit the inputs")
    batch._gold = gold
    return batch


def _codes(stored: Mapping[str, np.ndarray], name: str) -> Coded:
    return Coded(stored[name], offsets_of(stored[f"{name}_lengths"]))


def into_space(batch: TransducerBatch, space: TransducerSpace) -> TransducerBatch:
    """The same samples in another space, whose alphabets hold those of the old one."""
    out = packed(space, batch.inputs, batch.n_jobs)
    if batch.given is not None:
        completed(out, Given(recoded(batch, out.output_symbols), batch.given.ptr), "mark")
    elif batch.has_gold:
        out._gold = space.aligned_codes(out, batch.alignments(batch.gold_codes), "mark")
    return out


def recoded(batch: TransducerBatch, symbols: list[Any]) -> Coded:
    """Codes of the true outputs in another alphabet; -1 for what it lacks."""
    assert batch.given is not None
    codes = batch.given.codes
    place = {s: t for t, s in enumerate(symbols)}
    table = np.array([place.get(s, -1) for s in batch.output_symbols] + [-1], dtype=np.int64)
    return Coded(table[codes.values], codes.offsets)


def joined(one: TransducerBatch, other: TransducerBatch) -> TransducerBatch:
    """Samples of two batches of one space, one after the other."""
    out = packed(one.space, one.inputs + other.inputs, one.n_jobs)
    if one.given is not None and other.given is not None:
        codes = [recoded(one, out.output_symbols), recoded(other, out.output_symbols)]
        lengths = np.concatenate([c.lengths for c in codes])
        both = Coded(np.concatenate([c.values for c in codes]), offsets_of(lengths))
        counts = np.concatenate([np.diff(one.given.ptr), np.diff(other.given.ptr)])
        completed(out, Given(both, offsets_of(counts)), "mark")
    elif one.has_gold and other.has_gold:
        gold = one.gold_codes, other.gold_codes
        lengths = np.concatenate([g.lengths for g in gold])
        out._gold = Ragged(np.concatenate([g.values for g in gold]), offsets_of(lengths))
    return out
