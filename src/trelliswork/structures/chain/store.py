"""Packed label sequences: into another space, joined, as plain arrays and back, one attribute per token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork._ragged import Ragged, offsets_of
from trelliswork._stored import fitting, flags, lengths, whole
from trelliswork.structures.abilities import RowView
from trelliswork.structures.known import grown_masks, joined_known, mask_state, restored_masks
from trelliswork.structures.scaling import rescaled
from trelliswork.structures.tokens import TokenMap

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch
    from trelliswork.structures.chain.space import ChainSpace

__all__ = ["as_new", "batch_state", "into_space", "joined", "on_scale_of", "restored", "row_view"]

_STORED = {
    "gold": whole("tokens", high="labels"),
    "lengths": lengths("sentences", "tokens"),
    "allowed": flags("tokens", "labels", optional=True),
}


def into_space(batch: ChainBatch, space: ChainSpace) -> ChainBatch:
    """The same sequences with the numbering (and the limits) of a space that has all their names."""
    from trelliswork.structures.chain.batch import ChainBatch

    old = batch.space
    place = {label: i for i, label in enumerate(space.labels)}
    codes = np.array([place[label] for label in old.labels], dtype=np.int64)
    n_old, n_new = len(old.attributes), len(space.attributes)
    target = np.array([space.columns[a] for a in old.attributes], dtype=np.int64)
    target = np.concatenate([target, n_new + np.arange(old.n_markers)])
    was = None if old.scaling is None else old.scaling.at(target[:n_old], n_new)
    emission = rescaled(batch.emission.renumbered(space.emission_layout, target), was, space.scaling)
    edge = None
    if batch.edge is not None and space.edge_layout is not None:
        pairs = np.array([space.edge_columns[a] for a in old.edge_columns], dtype=np.int64)
        edge = batch.edge.renumbered(space.edge_layout, pairs)
        edge = rescaled(edge, space.edge_scaling(was), space.edge_scaling(space.scaling))
    gold = Ragged(codes[batch.gold_codes.values], batch.offsets) if batch.has_gold else None
    allowed = None
    if batch.user_allowed is not None:
        allowed = np.ones((batch.n_tokens, space.n_labels), dtype=bool)
        allowed[:, codes] = batch.user_allowed
    assert target.size == n_old + space.n_markers
    moved = ChainBatch(space, batch.offsets, emission, edge, gold, allowed, batch.n_jobs)
    moved.known = grown_masks(batch.known, codes, space.n_labels)
    return moved


def on_scale_of(batch: ChainBatch, space: ChainSpace) -> ChainBatch:
    """The same sequences in a space that differs in the scale of its columns."""
    from trelliswork.structures.chain.batch import ChainBatch

    old = batch.space
    emission = rescaled(batch.emission, old.scaling, space.scaling)
    edge = batch.edge
    if edge is not None:
        edge = rescaled(edge, old.edge_scaling(old.scaling), old.edge_scaling(space.scaling))
    scaled = ChainBatch(space, batch.offsets, emission, edge, batch._gold, batch.user_allowed, batch.n_jobs)
    scaled.known = batch.known
    return scaled


def as_new(batch: ChainBatch, seen: np.ndarray) -> ChainBatch:
    """The same sequences without the attributes that others have not."""
    space = batch.space
    seen = seen > 0
    n_real = len(space.attributes)
    if space.dense or np.all(seen[:n_real]):
        return batch
    names = space.marker_names
    unknown = n_real + names.index("unknown") if "unknown" in names else -1
    seen[n_real:] = True
    new = batch.subset(np.arange(len(batch)))
    new.emission = batch.emission.keeping(seen)
    if unknown >= 0:
        seen[:n_real], seen[n_real:] = False, np.arange(n_real, seen.size) == unknown
        marked = new.emission.keeping(seen).counts() > 0
        new.emission.mark(unknown, np.flatnonzero((new.emission.counts(n_real) == 0) & ~marked))
    return new


def joined(first: ChainBatch, second: ChainBatch) -> ChainBatch:
    """Sequences of two batches of one space, one after the other."""
    from trelliswork.structures.chain.batch import ChainBatch

    batches, space = (first, second), first.space
    offsets = offsets_of(np.concatenate([np.diff(b.offsets) for b in batches]))
    gold = None
    if first.has_gold and second.has_gold:
        gold = Ragged(np.concatenate([b.gold_codes.values for b in batches]), offsets)
    masks = [b.user_allowed for b in batches]
    allowed = None
    if any(mask is not None for mask in masks):
        allowed = np.ones((int(offsets[-1]), space.n_labels), dtype=bool)
        for tokens, mask in zip((slice(first.n_tokens), slice(first.n_tokens, None)), masks, strict=True):
            if mask is not None:
                allowed[tokens] = mask
    edge = None
    if first.edge is not None and second.edge is not None:
        edge = first.edge.joined(second.edge)
    emission = first.emission.joined(second.emission)
    both = ChainBatch(space, offsets, emission, edge, gold, allowed, first.n_jobs)
    both.known = joined_known(first, second)
    return both


def batch_state(batch: ChainBatch) -> dict[str, Any]:
    """Arrays of a batch; its space is stored elsewhere."""
    state: dict[str, Any] = {
        "lengths": np.diff(batch.offsets),
        "emission": batch.emission.state(),
        "gold": batch.gold_codes.values,
    }
    if batch.edge is not None:
        state["edge"] = batch.edge.state()
    if batch.user_allowed is not None:
        state["allowed"] = batch.user_allowed
    return state | mask_state(batch)


def restored(space: ChainSpace, state: Mapping[str, Any], n_jobs: int | None) -> ChainBatch:
    """Inverse of :func:`batch_state`; a file is not trusted, so everything is checked."""
    from trelliswork.structures.chain.batch import ChainBatch

    stored = fitting(state, _STORED, "sentences", labels=space.n_labels)
    gold, n_tokens = stored["gold"], stored["gold"].size
    emission = TokenMap.restored(state["emission"], space.emission_layout, n_tokens, len(space.attributes))
    edge = None
    if space.edge_layout is not None:
        edge = TokenMap.restored(state["edge"], space.edge_layout, n_tokens)
    offsets, gold = offsets_of(stored["lengths"]), Ragged(gold, offsets_of(stored["lengths"]))
    batch = ChainBatch(space, offsets, emission, edge, gold, stored.get("allowed"), n_jobs)
    batch.known = restored_masks(state, stored["lengths"], space.n_labels)
    return batch


def row_view(batch: ChainBatch) -> RowView:
    """The same sequences with one attribute per distinct token."""
    from trelliswork.structures.chain.batch import ChainBatch
    from trelliswork.structures.chain.space import ChainSpace

    space = batch.space
    emission, rows = batch.emission.by_row(len(space.attributes))
    names = [str(i) for i in range(rows.shape[0])]
    grams = space.ngrams if space.sparse is not None else None
    by_row = ChainSpace(space.structure.complete(), space.labels, names, space.allowed, None, grams)
    view = ChainBatch(by_row, batch.offsets, emission, None, batch._gold, batch.allowed, batch.n_jobs)
    view.known = batch.known
    first = np.searchsorted(batch.offsets, emission.first_tokens(rows.shape[0]), side="right") - 1
    return RowView(view, rows, space.n_labels, first)
