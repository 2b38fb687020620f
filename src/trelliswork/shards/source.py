"""Data in partitions, for fits that do not hold all of them in memory."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._signature import signature
from trelliswork._validate import count_samples
from trelliswork.metrics._crossval import take
from trelliswork.shards.batch import ShardedBatch, sharded
from trelliswork.shards.blocks import Block, Room, block_size
from trelliswork.shards.local import LocalBlocks
from trelliswork.shards.reading import Partition, Read, encoded, listed, pieces_of, surveyed
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.survey import Surveys

__all__ = ["Shards"]

_LOOKED_AT = 200  # samples that are kept to look at a model


class Shards:
    """Samples in partitions, which learners read one at a time: for data that do not fit into memory.

    ``fit`` of :class:`~trelliswork.CRF`, :class:`~trelliswork.VotedCRF`, :class:`~trelliswork.ZScore`,
    :class:`~trelliswork.SODA`, :class:`~trelliswork.Generative`, :class:`~trelliswork.KLRSO`,
    :class:`~trelliswork.StructuredSVM` and :class:`~trelliswork.Perceptron` takes it in place of ``X, y``.
    Partitions are read twice: once for the alphabets, once to be encoded. Encoded samples beyond ``memory``
    are in files, which are mapped into memory block by block. The result is that of a fit to all
    samples at once (that of the perceptron, which depends on the order of its visits, is not), and does not
    depend on how they are cut into partitions.

    Parameters
    ----------
    partitions : str, or iterable
        A pattern of file names (``"train-*.conll.gz"``), or an iterable of files, of functions that load
        ``(X, y)``, or of pairs ``(X, y)``. What an iterator yields is kept in files meanwhile.
    reader : callable or None, default=None
        ``reader(path)`` gives ``(X, y)``, or an object with these names; None takes that of
        :mod:`trelliswork.io` for the structure.
    features : transformer, callable or None, default=None
        Applied to the inputs of every partition, for instance ``TokenWindow()``; it must not need a fit.
    memory : int, default=2 GiB
        Bytes of encoded samples that are held in memory; with more, fewer samples are read from files again
        and again.
    folder : str or None, default=None
        Where the files go; None is a folder that is removed in the end.

    Examples
    --------
    >>> from trelliswork import CRF, Chain, Shards
    >>> parts = [([["the", "cat"]], [["D", "N"]]), ([["a", "dog"]], [["D", "N"]])]
    >>> model = CRF(Chain(), l2=0.1).fit(Shards(parts))
    >>> model.predict([["the", "dog"]])
    [['D', 'N']]
    """

    def __init__(
        self,
        partitions: Any,
        *,
        reader: Any = None,
        features: Any = None,
        memory: int = 2 << 30,
        folder: str | None = None,
    ):
        self.memory, self.folder = memory, folder
        self.room = Room(memory, folder)
        if isinstance(partitions, Iterator):
            partitions = [_Spooled(self.room, number, pair) for number, pair in enumerate(partitions)]
        self.partitions = listed(partitions, reader, features)
        self.counts: list[int] | None = None  # samples of every partition
        self._looked_at: tuple[Any, Any] | None = None
        self._compiled: tuple[str, Space, ShardedBatch] | None = None

    def __repr__(self) -> str:
        samples = "" if self.counts is None else f", {sum(self.counts):,} samples"
        return f"{type(self).__name__}({len(self.partitions)} partitions{samples})"

    def compile(self, structure: Structure, *, n_jobs: int | None = None) -> tuple[Space, Batch]:
        """Space of all samples, and the samples in blocks; kept for the next fit of the same structure.

        Parameters
        ----------
        structure : Structure
            What an output is.
        n_jobs : int or None
            Threads of the verbs of blocks; more are faster, and change nothing else.

        Examples
        --------
        >>> from trelliswork import Chain, Shards
        >>> space, batch = Shards([([["a"]], [["A"]]), ([["b"]], [["B"]])]).compile(Chain())
        >>> space.labels, len(batch)
        (['A', 'B'], 2)
        """
        key = f"{signature(structure)} {n_jobs}"
        if self._compiled is None or self._compiled[0] != key:
            self._compiled = None  # before the next one takes its memory
            self._compiled = key, *self._compile(structure, n_jobs)
        return self._compiled[1:]

    def _compile(self, structure: Structure, n_jobs: int | None) -> tuple[Space, ShardedBatch]:
        space = self._bound(structure)
        assert self.counts is not None
        size = block_size(sum(self.counts), structure.limits.leaf_samples)
        blocks: list[Block] = []
        lengths: list[int] = []
        template = None
        waiting: list[Read] = []
        plan = pieces_of(self.counts, size)
        read: Read | None = None
        at = -1
        for piece, following in zip(plan, [*plan[1:], None], strict=True):
            if at != piece.partition:
                read, at = self.partitions[piece.partition].read(structure), piece.partition
            assert read is not None
            waiting.append(read.part(np.arange(piece.first, piece.last)))
            if following is None or following.block != piece.block:
                batch = encoded(space, waiting, n_jobs)
                template = batch.subset([]) if template is None else template
                blocks.append(self.room.kept(batch))
                lengths.append(len(batch))
                waiting = []
        assert template is not None
        return space, sharded(space, LocalBlocks(blocks, lengths, self.room), template)

    def _bound(self, structure: Structure) -> Space:
        """Read all partitions for the alphabets."""
        joined = Surveys()
        counts = []
        for partition in self.partitions:
            read = partition.read(structure)
            counts.append(len(read))
            survey = surveyed(structure, read)
            if survey is not None:
                joined.add(survey)
                self._keep_some(read)
        self._check_counts(counts)
        return joined.all().space()

    def _check_counts(self, counts: list[int]) -> None:
        if self.counts is not None and counts != self.counts:
            raise InputError("the partitions changed since they were read; make a new Shards")
        if not sum(counts):
            raise InputError("X is empty: at least one sample is needed")
        self.counts = counts

    def _keep_some(self, read: Read) -> None:
        if self._looked_at is None:
            some = np.arange(min(_LOOKED_AT, len(read)))
            self._looked_at = take(read.X, some), take(read.y, some)

    def count(self, structure: Structure) -> int:
        """Number of samples; partitions are read if they were not yet.

        Parameters
        ----------
        structure : Structure
            What an output is.
        """
        if self.counts is None:
            self._bound(structure)
        assert self.counts is not None
        return sum(self.counts)

    def look(self, size: int) -> tuple[Any, Any]:
        """Some of the first samples.

        Parameters
        ----------
        size : int
            Number of samples; more than 200 give 200.
        """
        assert self._looked_at is not None
        X, y = self._looked_at
        index = np.arange(min(size, count_samples(X)))
        return take(X, index), take(y, index)

    def inputs(self, structure: Structure) -> Iterator[Any]:
        """Inputs of one partition after the other.

        Parameters
        ----------
        structure : Structure
            What an output is.
        """
        for partition in self.partitions:
            read = partition.read(structure)
            if len(read):
                yield read.X

    def subset(self, index: np.ndarray) -> Shards:
        """Some of the samples, in their order, in the partitions where they are.

        Parameters
        ----------
        index : ndarray
            Numbers of samples; the shards must have been read before.
        """
        parts = self._parts(index)
        return Shards(parts, memory=self.memory, folder=self.folder)

    def _parts(self, index: np.ndarray) -> list[Partition]:
        if self.counts is None:
            raise InputError("these partitions were not read yet; call compile first")
        bounds = np.concatenate([[0], np.cumsum(self.counts)])
        cuts = np.searchsorted(index, bounds)
        pairs = zip(self.partitions, cuts[:-1], cuts[1:], bounds[:-1], strict=True)
        return [partition.part(index[a:b] - start) for partition, a, b, start in pairs if b > a]


class _Spooled:
    """A partition that came from an iterator, in a file."""

    def __init__(self, room: Room, number: int, pair: Any):
        self.room = room  # keeps its folder
        self.path = f"{room.folder}/partition-{number}.pickle"
        loaded = pair() if callable(pair) else pair
        try:
            with open(self.path, "wb") as file:
                pickle.dump(loaded, file, protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"partition {number}: what an iterator yields is kept in a file, and this cannot ({error}); "
                "give a list of functions that load (X, y)"
            ) from None

    def __call__(self) -> Any:
        with open(self.path, "rb") as file:
            return pickle.load(file)  # what this object wrote; model files are never read in this way
