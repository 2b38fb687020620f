"""What the recursions on chains run over: trellises, lanes and tables of transitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trelliswork._threads import balanced_chunks, run
from trelliswork.dp.chain.trellis import Trellis

if TYPE_CHECKING:
    from trelliswork.structures.chain.verbs import ChainVerbs
    from trelliswork.structures.limits import ChainLimits

__all__ = ["NO_EDGES", "Lanes", "TransitionTables", "Trellis", "arrange", "factors_of"]

NO_EDGES = np.zeros((0, 0, 0))
_MAX_LANES = 32


class Lanes(NamedTuple):
    """Sequences sorted into groups of similar length, and groups into chunks."""

    members: np.ndarray
    group_ptr: np.ndarray
    chunks: list[tuple[int, int]]


def factors_of(trans: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``exp(trans - top)``, the largest entry ``top`` of each table, and the room left for token scores."""
    from trelliswork.dp.chain.scaled import WIDEST

    flat = trans.reshape(trans.shape[0], -1)
    top = flat.max(axis=1)
    top = np.where(np.isfinite(top), top, 0.0)
    bottom = np.where(np.isfinite(flat), flat, np.inf).min(axis=1)
    room = WIDEST - np.maximum(top - bottom, 0.0)
    return np.exp(trans - top[:, None, None]), top, room


class TransitionTables:
    """Expected transitions: one table per sequence, or one per chunk, summed in a fixed order."""

    def __init__(self, batch: ChainVerbs, each: bool):
        self.batch = batch
        self.each = each
        self.chunks = [part for (part,) in batch._sequence_chunks()]
        shape = batch.space.successor.shape
        self.values = np.zeros((len(batch) if each else max(len(self.chunks), 1), *shape))

    def run(self, task: Callable[[np.ndarray, np.ndarray, np.ndarray], None]) -> None:
        """Call ``task(sequences, tables, table of each sequence)`` for every chunk."""
        n = len(self.batch)
        into = np.arange(n)

        def one(number: int, part: np.ndarray) -> None:
            task(part, self.values, into if self.each else np.full(n, number))

        run(one, list(enumerate(self.chunks)), self.batch._threads)

    def result(self) -> np.ndarray:
        """The tables, or their sum."""
        return self.values if self.each else self.values.sum(axis=0)


def arrange(offsets: np.ndarray, n_labels: int, limits: ChainLimits, most: int = _MAX_LANES) -> Lanes:
    """Sort the sequences of each chunk by falling length and cut them into groups of at most ``most``."""
    lengths = np.diff(offsets)
    members, bounds, chunks = [], [0], []
    for first, last in balanced_chunks(offsets, limits.tokens_per_chunk):
        order = first + np.argsort(-lengths[first:last], kind="stable")
        members.append(order)
        group_first = len(bounds) - 1
        longest, lanes = 0, 0
        for length in lengths[order].tolist():
            if lanes and (
                lanes == most or 2 * length < longest or (lanes + 1) * longest * n_labels > limits.lane_floats
            ):
                bounds.append(bounds[-1] + lanes)
                lanes = 0
            if lanes == 0:
                longest = length
            lanes += 1
        if lanes:
            bounds.append(bounds[-1] + lanes)
        chunks.append((group_first, len(bounds) - 1))
    flat = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
    return Lanes(flat.astype(np.int64), np.array(bounds, dtype=np.int64), chunks)
