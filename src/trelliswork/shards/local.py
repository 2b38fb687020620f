"""Blocks of samples in this process, in memory or mapped from files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.shards.batch import asked_blocks
from trelliswork.shards.blocks import Block, Room, asked_in_turn
from trelliswork.shards.recipes import Asked, PerSample
from trelliswork.shards.tree import SKIPPED, TreeSum
from trelliswork.structures.base import Batch

__all__ = ["LocalBlocks", "answer", "values_of_blocks"]


def answer(block: Block, question: Asked, values: Any, first: int) -> Any:
    """Answer of one block, whose first sample has a number among all of them."""
    try:
        return question.of(block.open(), values)
    except InputError as error:
        if error.sample is None:
            raise
        raise InputError(error.message, sample=error.sample + first) from None


def values_of_blocks(values: list[PerSample], lengths: np.ndarray) -> list[tuple[Any, ...]]:
    """What every block gets of the values of all samples."""
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    cut = [value.cut(bounds) for value in values]
    return list(zip(*cut, strict=True)) if cut else [()] * len(lengths)


class LocalBlocks:
    """Blocks that are asked one after the other.

    Parameters
    ----------
    blocks : list of Block
        The samples.
    room : Room
        Where blocks go that are made of these.
    """

    def __init__(self, blocks: list[Block], lengths: Any, room: Room):
        self.blocks, self.room = asked_in_turn(blocks), room
        self.lengths = np.asarray(lengths, dtype=np.int64)

    def _answers(self, question: Asked, values: list[PerSample]) -> Iterator[tuple[int, Any]]:
        firsts = (np.cumsum(self.lengths) - self.lengths).tolist()
        of_blocks = values_of_blocks(values, self.lengths)
        for k in asked_blocks(self.lengths).tolist():
            yield k, answer(self.blocks[k], question, of_blocks[k], firsts[k])

    def sum(self, question: Asked, values: list[PerSample]) -> Any:
        """Sum of the answers, in the order of a fixed tree."""
        total = TreeSum(len(self.blocks))
        for k in np.setdiff1d(np.arange(len(self.blocks)), asked_blocks(self.lengths)).tolist():
            total.add(k, SKIPPED)
        for k, value in self._answers(question, values):
            total.add(k, value)
        return total.result

    def each(self, question: Asked, values: list[PerSample]) -> list[Any]:
        """Answers of the blocks that are asked, in order."""
        return [value for _, value in self._answers(question, values)]

    def derived(self, make: Asked, values: list[PerSample]) -> LocalBlocks:
        """Blocks made of these."""
        of_blocks = values_of_blocks(values, self.lengths)
        made: list[Block] = []
        lengths = []
        for block, some in zip(self.blocks, of_blocks, strict=True):
            batch: Batch = make.of(block.open(), some)
            lengths.append(len(batch))
            made.append(self.room.kept(batch))
        return LocalBlocks(made, lengths, self.room)
