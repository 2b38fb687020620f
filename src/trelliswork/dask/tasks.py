"""What workers do: read partitions, survey them, encode blocks, answer questions, add up."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork.shards.batch import asked_blocks
from trelliswork.shards.blocks import Block, Room, asked_in_turn, packed
from trelliswork.shards.local import answer, values_of_blocks
from trelliswork.shards.reading import Partition, Read, encoded, surveyed
from trelliswork.shards.recipes import Asked, PerSample
from trelliswork.shards.tree import SKIPPED, TreeSum
from trelliswork.structures.base import Space, Structure
from trelliswork.structures.survey import Survey

__all__ = [
    "Bundle",
    "Question",
    "Surveyed",
    "add_up",
    "answers",
    "bundled",
    "derived_bundle",
    "empty_batch",
    "encoded_block",
    "join_surveys",
    "partial_sums",
    "read_partition",
    "samples_of",
    "space_of",
    "survey_partition",
]

_SHARE = 0.25  # of the memory of a worker that encoded samples take before they go to its disk
_USUAL = 2 << 30  # bytes, where the memory of a worker has no limit
_LOOKED_AT = 200  # samples that are kept to look at a model
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_KEPT_FREED = 32 << 20  # bytes
_rooms: dict[str, Room] = {}
_lock = threading.Lock()


def _room(token: str, memory: int | None) -> Room:
    """Memory for encoded samples in this process, and its worker's folder for those that do not fit."""
    import os

    from distributed import get_worker

    with _lock:
        if token not in _rooms:
            _keep_some_freed_memory()
            worker = get_worker()
            if memory is None:
                limit = worker.memory_manager.memory_limit
                memory = _USUAL if limit is None else int(_SHARE * limit)
            _rooms[token] = Room(memory, os.path.join(worker.local_directory, "trelliswork"))
        return _rooms[token]


def _keep_some_freed_memory() -> None:
    """Let the C library keep some memory that was freed.

    Dask has workers give back all of it at once, and arrays of the next block would begin with page faults.
    """
    with contextlib.suppress(OSError, AttributeError):  # not all systems have it
        library = ctypes.CDLL(None)
        library.mallopt(_TRIM_THRESHOLD, _KEPT_FREED)
        library.mallopt(_MMAP_THRESHOLD, _KEPT_FREED)


# -- reading ---------------------------------------------------------------------------------------------


def read_partition(partition: Partition, structure: Structure, value: Any = None) -> Read:
    """Read a partition; ``value`` is what a task of the user made, where the partition comes from one."""
    return partition.read(structure) if value is None else replace(partition, source=value).read(structure)


def samples_of(pairs: Any) -> tuple[list[Any], list[Any]]:
    """Inputs and outputs of a list of samples, as bags hold them."""
    pairs = list(pairs)
    for i, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"expected a pair of an input and an output, got {pair!r:.80}", sample=i)
    return [x for x, _ in pairs], [y for _, y in pairs]


class Surveyed(NamedTuple):
    """What is known of some partitions.

    Attributes
    ----------
    counts : list of int
        Samples of every partition.
    survey : Survey or None
        What the alphabets have to know; None where there are no samples.
    some : tuple or None
        Some inputs and outputs.
    """

    counts: list[int]
    survey: Survey | None
    some: tuple[Any, Any] | None


def survey_partition(partition: Partition, structure: Structure, value: Any = None) -> Surveyed:
    """Read a partition for the alphabets; its samples are not kept."""
    read = read_partition(partition, structure, value)
    if not len(read):
        return Surveyed([0], None, None)
    some = read.part(np.arange(min(_LOOKED_AT, len(read))))
    return Surveyed([len(read)], surveyed(structure, read), (some.X, some.y))


def join_surveys(*found: Surveyed) -> Surveyed:
    """Surveys of partitions, in their order, as one."""
    counts = [count for one in found for count in one.counts]
    survey: Survey | None = None
    for one in found:
        if one.survey is not None:
            survey = one.survey if survey is None else survey.joined(one.survey)
    return Surveyed(counts, survey, next((one.some for one in found if one.some is not None), None))


def space_of(found: Surveyed) -> Space:
    """Space of all samples."""
    assert found.survey is not None
    return found.survey.space()


def encoded_block(space: Space, n_jobs: int | None, token: str, memory: int | None, *pieces: Read) -> Block:
    """Encode the samples of a block, and keep them in memory or on the disk of the worker."""
    return _room(token, memory).kept(encoded(space, pieces, n_jobs))


class Bundle:
    """Blocks that one worker holds.

    Parameters
    ----------
    blocks : list of Block
        Neighbouring blocks.
    lengths : list of int
        Their numbers of samples.
    """

    def __init__(self, blocks: Sequence[Block], lengths: Sequence[int]):
        self.blocks, self.lengths = asked_in_turn(blocks), list(lengths)

    def __reduce__(self) -> Any:
        return Bundle, (self.blocks, self.lengths)

    def __sizeof__(self) -> int:
        return 1000 + sum(block.__sizeof__() for block in self.blocks)


def bundled(lengths: Sequence[int], *blocks: Block) -> Bundle:
    """Blocks as one, which lets go of single ones."""
    return Bundle(blocks, lengths)


def empty_batch(bundle: Bundle) -> tuple[bytes, list[bytes]]:
    """A batch of the space without samples; the space stays behind."""
    stream, buffers, _ = packed(bundle.blocks[0].open().subset([]))
    return stream, [bytes(buffer) for buffer in buffers]


# -- asking ----------------------------------------------------------------------------------------------


@dataclass
class Question:
    """A question to some of all blocks.

    Attributes
    ----------
    asked : Asked
        The question.
    values : list of PerSample
        Values of samples, or of blocks, of which every block gets its own.
    lengths : ndarray
        Numbers of samples of all blocks.
    first : int
        Number of the first block that is asked.
    """

    asked: Asked
    values: list[PerSample]
    lengths: np.ndarray
    first: int

    def of(self, bundle: Bundle, arrays: Sequence[Any]) -> list[tuple[int, Any]]:
        """Numbers of the blocks of a bundle that are asked, with their answers."""
        question = self.asked.with_arrays(arrays)
        values = values_of_blocks([value.with_arrays(arrays) for value in self.values], self.lengths)
        starts = (np.cumsum(self.lengths) - self.lengths).tolist()
        wanted = set(asked_blocks(self.lengths).tolist())
        return [
            (k, answer(block, question, values[k], starts[k]))
            for k, block in enumerate(bundle.blocks, self.first)
            if k in wanted
        ]


def partial_sums(question: Question, bundle: Bundle, *arrays: Any) -> TreeSum:
    """Sums over the blocks of a bundle, as far as they are complete."""
    total = TreeSum(question.lengths.size)
    found = dict(question.of(bundle, arrays))
    for k in range(question.first, question.first + len(bundle.blocks)):
        total.add(k, found.get(k, SKIPPED))
    return total


def answers(question: Question, bundle: Bundle, *arrays: Any) -> list[Any]:
    """Answers of the blocks of a bundle."""
    return [value for _, value in question.of(bundle, arrays)]


def add_up(one: TreeSum, other: TreeSum) -> TreeSum:
    """Sums over more blocks."""
    return one.copied().merged(other.copied())  # what a task returned must not change


def derived_bundle(
    question: Question, token: str, memory: int | None, bundle: Bundle, *arrays: Any
) -> Bundle:
    """Blocks made of those of a bundle."""
    make = question.asked.with_arrays(arrays)
    values = values_of_blocks([value.with_arrays(arrays) for value in question.values], question.lengths)
    room = _room(token, memory)
    batches = [make.of(block.open(), values[k]) for k, block in enumerate(bundle.blocks, question.first)]
    return Bundle([room.kept(batch) for batch in batches], [len(batch) for batch in batches])


def lengths_of(bundle: Bundle) -> list[int]:
    """Numbers of samples of the blocks of a bundle."""
    return bundle.lengths
