"""Packed label sequences: into another space, joined, as plain arrays and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.structures.tokens_store import (
    map_restored,
    map_state,
    renumbered,
    stacked,
    whole_numbers,
)

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch
    from trelliswork.structures.chain.structure import ChainSpace

__all__ = ["batch_state", "into_space", "joined", "restored"]


def into_space(batch: ChainBatch, space: ChainSpace) -> ChainBatch:
    """The same sequences with the numbering (and the limits) of a space that has all their names."""
    from trelliswork.structures.chain.batch import ChainBatch

    old = batch.space
    place = {label: i for i, label in enumerate(space.labels)}
    codes = np.array([place[label] for label in old.labels], dtype=np.int64)
    n_old, n_new = len(old.attributes), len(space.attributes)
    target = np.array([space.columns[a] for a in old.attributes], dtype=np.int64)
    target = np.concatenate([target, n_new + np.arange(old.n_markers)])
    emission = renumbered(batch.emission, space.emission_layout, target)
    edge = None
    if batch.edge is not None and space.edge_layout is not None:
        pairs = np.array([space.edge_columns[a] for a in old.edge_columns], dtype=np.int64)
        edge = renumbered(batch.edge, space.edge_layout, pairs)
    gold = Ragged(codes[batch.gold_codes.values], batch.offsets) if batch.has_gold else None
    allowed = None
    if batch.user_allowed is not None:
        allowed = np.ones((batch.n_tokens, space.n_labels), dtype=bool)
        allowed[:, codes] = batch.user_allowed
    assert target.size == n_old + space.n_markers
    return ChainBatch(space, batch.offsets, emission, edge, gold, allowed, batch.n_jobs)


def joined(one: ChainBatch, other: ChainBatch) -> ChainBatch:
    """Sequences of two batches of one space, one after the other."""
    from trelliswork.structures.chain.batch import ChainBatch

    both = (one, other)
    offsets = offsets_of(np.concatenate([np.diff(b.offsets) for b in both]))
    gold = None
    if one.has_gold and other.has_gold:
        gold = Ragged(np.concatenate([b.gold_codes.values for b in both]), offsets)
    allowed = None
    if any(b.user_allowed is not None for b in both):
        shape = one.space.n_labels
        allowed = np.concatenate(
            [
                np.ones((b.n_tokens, shape), dtype=bool) if b.user_allowed is None else b.user_allowed
                for b in both
            ]
        )
    edge = None
    if one.edge is not None and other.edge is not None:
        edge = stacked(one.edge, other.edge)
    emission = stacked(one.emission, other.emission)
    return ChainBatch(one.space, offsets, emission, edge, gold, allowed, one.n_jobs)


def batch_state(batch: ChainBatch) -> dict[str, Any]:
    """Arrays of a batch; its space is stored elsewhere."""
    state: dict[str, Any] = {
        "lengths": np.diff(batch.offsets),
        "emission": map_state(batch.emission),
        "gold": batch.gold_codes.values,
    }
    if batch.edge is not None:
        state["edge"] = map_state(batch.edge)
    if batch.user_allowed is not None:
        state["allowed"] = batch.user_allowed
    return state


def restored(space: ChainSpace, state: Mapping[str, Any], n_jobs: int | None) -> ChainBatch:
    """Inverse of :func:`batch_state`; a file is not trusted, so everything is checked."""
    from trelliswork.structures.chain.batch import ChainBatch

    lengths = whole_numbers(state["lengths"], 0, None)
    n_tokens = int(lengths.sum())
    gold = whole_numbers(state["gold"], 0, space.n_labels)
    if gold.size != n_tokens:
        raise InputError("stored labels do not fit the lengths")
    emission = map_restored(state["emission"], space.emission_layout, n_tokens)
    edge = None
    if space.edge_layout is not None:
        edge = map_restored(state["edge"], space.edge_layout, n_tokens)
    allowed = state.get("allowed")
    if allowed is not None and (allowed.shape != (n_tokens, space.n_labels) or allowed.dtype != bool):
        raise InputError("stored limits of labels do not fit")
    offsets = offsets_of(lengths)
    return ChainBatch(space, offsets, emission, edge, Ragged(gold, offsets), allowed, n_jobs)
