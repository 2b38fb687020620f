"""Spaces of label sequences made from others: with more data, or limited to what a batch has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.structures.chain.contexts import context_before
from trelliswork.structures.labels import sorted_labels
from trelliswork.structures.tokens import Layout

if TYPE_CHECKING:
    from trelliswork.structures.chain.batch import ChainBatch
    from trelliswork.structures.chain.space import ChainSpace

__all__ = ["merged", "observed"]


def merged(first: ChainSpace, second: ChainSpace) -> ChainSpace:
    """Space with the labels, attributes and observed pairs of both."""
    from trelliswork.structures.chain.space import ChainSpace

    if first.width != second.width and first.attributes and second.attributes:
        raise InputError(f"X: expected arrays with {first.width} columns as before, got {second.width}")
    edges = (first.edge_layout is None, second.edge_layout is None)
    if first.n_markers != second.n_markers or edges[0] != edges[1]:
        raise InputError("the samples of before were read by another structure; fit again")
    labels = first.labels
    if first.structure.labels is None:
        labels = sorted_labels({*first.labels, *second.labels})
    attributes = list(dict.fromkeys([*first.attributes, *second.attributes]))
    place = {label: i for i, label in enumerate(labels)}
    allowed = np.zeros((len(labels), len(labels)), dtype=bool)
    for space in (first, second):
        codes = [place[label] for label in space.labels]
        allowed[np.ix_(codes, codes)] |= space.allowed
    if isinstance(first.structure.transitions, str) and first.structure.transitions == "all":
        allowed[:] = True
    grams = {
        tuple(place[space.labels[c]] for c in gram)
        for space in (first, second)
        for gram in (() if space.sparse is None else space.ngrams)
    }
    space = ChainSpace(first.structure, labels, attributes, allowed, first.width, grams)
    seen_only = first.structure.emissions == "observed"
    if seen_only:
        space.emission_layout = _merged_layout(first, second, space, "emission_layout")
    if space.edge_layout is not None and (seen_only or space.sparse_joins):
        space.edge_layout = _merged_layout(first, second, space, "edge_layout")
    space.dense = first.dense and second.dense
    return space.with_scaling(first.scaling)


def _merged_layout(old: ChainSpace, more: ChainSpace, new: ChainSpace, kind: str) -> Layout:
    """Pairs stored in either of two spaces, in the numbering of a third."""
    layout: Layout = getattr(new, kind)
    names = "columns" if kind == "emission_layout" else "edge_columns"
    n_markers = new.n_markers if kind == "emission_layout" else 0
    positions = []
    for space in (old, more):
        part: Layout = getattr(space, kind)
        attribute, column = part.positions()
        target = np.array(
            [getattr(new, names)[a] for a in getattr(space, names)]
            + list(range(layout.n_attributes - n_markers, layout.n_attributes)),
            dtype=np.int64,
        )
        codes = np.array([new.labels.index(label) for label in space.labels], dtype=np.int64)
        if kind == "edge_layout":
            codes = new.joins.moved(codes, len(new.labels))
        positions.append(target[attribute] * layout.n_columns + codes[column])
    return Layout(layout.n_attributes, layout.n_columns, np.unique(np.concatenate(positions)))


def observed(old: ChainSpace, batch: ChainBatch, symbols: str | Sequence[str] | None) -> ChainSpace:
    """Space that forbids what a batch has not; see ``ChainSpace.observed``."""
    from trelliswork.structures.chain.space import ChainSpace

    seen = batch.summed(_pairs_seen) > 0
    seen[~seen.any(axis=1)] = True
    space = ChainSpace(old.structure, old.labels, old.attributes, old.allowed & seen, old.width, old.ngrams)
    space.emission_layout, space.edge_layout = old.emission_layout, old.edge_layout
    space.columns, space.scaling, space.dense = old.columns, old.scaling, old.dense
    space.symbol_mask = _symbol_mask(old, batch, symbols)
    return space


def _pairs_seen(batch: ChainBatch, weights: np.ndarray | None) -> np.ndarray:
    """How often every label follows every other, [from, to]."""
    n, codes = batch.space.n_labels, batch.gold_codes.values
    tokens = np.flatnonzero(context_before(codes, batch.offsets, n, 1) >= 0)
    return np.bincount(codes[tokens - 1] * n + codes[tokens], minlength=n * n).reshape(n, n)


def _crowded(batch: ChainBatch, weights: np.ndarray | None) -> int:
    """Number of tokens with more than one attribute."""
    return int(np.count_nonzero(batch.emission.counts(len(batch.space.attributes)) > 1))


def _symbols_seen(batch: ChainBatch, weights: np.ndarray | None) -> np.ndarray:
    """How often every attribute has every label, (n_attributes, n_labels)."""
    tokens, codes = batch.emission.token_matrix()[:, : len(batch.space.attributes)], batch.gold_codes.values
    labels = sp.csr_matrix(
        (np.ones(codes.size), (np.arange(codes.size), codes)), shape=(codes.size, batch.space.n_labels)
    )
    return np.asarray(((tokens != 0).T.astype(np.float64) @ labels).toarray())


def _symbol_mask(
    space: ChainSpace, batch: ChainBatch, symbols: str | Sequence[str] | None
) -> np.ndarray | None:
    """Labels (n_attributes, n_labels) that each attribute was seen with; None where none limits."""
    n_real = len(space.attributes)
    if symbols is None:
        return None
    if isinstance(symbols, str):
        if symbols != "auto":
            raise InputError(f"symbols must be 'auto', None or a list of prefixes, got {symbols!r}")
        if batch.summed(_crowded):
            return None
        chosen = np.ones(n_real, dtype=bool)
    else:
        prefixes = tuple(symbols)
        chosen = np.array([a.startswith(prefixes) for a in space.attributes], dtype=bool)
    mask = batch.summed(_symbols_seen) > 0
    mask[~chosen | ~mask.any(axis=1)] = True
    return mask
