"""Outputs among the best paths of lattices: paths that write the same are one output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trelliswork._ragged import Ragged
from trelliswork.structures.base import Decoded

if TYPE_CHECKING:
    from trelliswork.structures.transducer.batch import TransducerBatch

__all__ = ["PATHS", "merged"]

PATHS = 8  # paths that are looked at for every output asked for


def merged(batch: TransducerBatch, lists: list[Decoded], k: int) -> list[Decoded]:
    """The ``k`` best outputs of every sample, from its best paths; codes are those of the best path of
    each.
    """
    pieces = batch.space.pieces
    out = []
    for i, found in enumerate(lists):
        arcs = batch.lattice.arc[found.codes.values + batch.edge_ptr[i]]
        piece = batch.piece_of(arcs).tolist()
        total: dict[tuple[int, ...], list[float]] = {}
        first: dict[tuple[int, ...], int] = {}
        for r, (a, b) in enumerate(zip(found.codes.offsets[:-1], found.codes.offsets[1:], strict=True)):
            written = tuple(symbol for p in piece[a:b] for symbol in pieces.outputs[p])
            first.setdefault(written, r)
            total.setdefault(written, []).append(found.values[r])
        values = np.array([np.logaddexp.reduce(v) for v in total.values()])
        order = np.argsort(-values, kind="stable")[:k]
        rows = np.array(list(first.values()), dtype=np.int64)[order]
        out.append(Decoded(Ragged.from_list([found.codes[int(r)] for r in rows], np.int64), values[order]))
    return out
