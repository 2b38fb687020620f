"""Which pairs of attribute and label have a weight: seen in data, read from a file, merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._names import Alphabet
from trelliswork._tokens import TokenTable
from trelliswork.structures.tokens import Layout

if TYPE_CHECKING:
    from trelliswork.structures.chain.space import ChainSpace

__all__ = ["limited", "merged_layout", "observed_pairs"]


def limited(layout: Layout, flat: Any) -> Layout:
    """The layout with weights at the given positions of its table only."""
    flat = np.asarray(flat)
    size = layout.n_attributes * layout.n_columns
    if flat.ndim != 1 or flat.dtype.kind not in "iu" or np.any(np.diff(flat) <= 0):
        raise InputError("positions of weights must be increasing whole numbers")
    if flat.size and (flat[0] < 0 or flat[-1] >= size):
        raise InputError("positions of weights lie outside the table")
    return Layout(layout.n_attributes, layout.n_columns, flat.astype(np.int64))


def merged_layout(old: ChainSpace, more: ChainSpace, new: ChainSpace, kind: str) -> Layout:
    """Pairs stored in either of two spaces, in the numbering of a third."""
    layout: Layout = getattr(new, kind)
    names = "columns" if kind == "emission_layout" else "edge_columns"
    n_markers = new.n_markers if kind == "emission_layout" else 0
    found = []
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
        found.append(target[attribute] * layout.n_columns + codes[column])
    return Layout(layout.n_attributes, layout.n_columns, np.unique(np.concatenate(found)))


def observed_pairs(
    table: TokenTable, columns: Alphabet, tokens: np.ndarray, codes: np.ndarray, n_columns: int
) -> np.ndarray:
    """Sorted positions ``attribute * n_columns + code`` that occur at the given tokens."""
    found = []
    for (_, matrix, index), target in zip(table.blocks, table.columns_in(columns), strict=True):
        rows = index[tokens]
        used = rows >= 0
        shape = (matrix.shape[0], n_columns)
        pairs = sp.csr_matrix((np.ones(int(used.sum())), (rows[used], codes[used])), shape=shape)
        together = (sp.csr_matrix(matrix != 0).T.astype(np.float64) @ pairs).tocoo()
        known = target[together.row] >= 0
        found.append(target[together.row[known]] * n_columns + together.col[known])
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)
