"""Partitions of data: files, functions that load samples, or samples; read one at a time."""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError, InputWarning, Unsupported
from trelliswork._text import read_text
from trelliswork._tokens import compacted
from trelliswork._validate import check_samples, count_samples
from trelliswork.metrics._crossval import take
from trelliswork.structures.abilities import Storable, require
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.survey import Survey

__all__ = ["Partition", "Piece", "Read", "encoded", "listed", "pieces_of", "reader_of", "surveyed"]


@dataclass(frozen=True)
class Read:
    """Samples of a partition.

    Attributes
    ----------
    X, y : inputs and outputs
        The samples.
    name : str
        Name of the partition, for messages.
    lines : sequence of int or None
        Line of the file that each sample begins in.
    """

    X: Any
    y: Any
    name: str
    lines: Sequence[int] | None

    def __len__(self) -> int:
        return count_samples(self.X)

    def part(self, index: np.ndarray) -> Read:
        """Some of the samples."""
        lines = None if self.lines is None else [self.lines[i] for i in index]
        return replace(self, X=take(self.X, index), y=take(self.y, index), lines=lines)

    def located(self, error: InputError) -> InputError:
        """An error about a sample as one about the partition, with the line if that is known."""
        if self.lines:
            return error.placed(self.name, self.lines)
        return InputError(f"{self.name}: {error}")


@dataclass(frozen=True)
class Partition:
    """Where some of the samples come from.

    Attributes
    ----------
    number : int
        Number of the partition.
    source : object
        Path of a file, a function without arguments, or the samples themselves.
    reader : callable or None
        Reads a file; None for the reader of the structure.
    features : transformer, callable or None
        Applied to the inputs.
    index : ndarray or None
        Which of the samples belong to it; None for all.
    """

    number: int
    source: Any
    reader: Callable[[Any], Any] | None = None
    features: Any = None
    index: np.ndarray | None = None

    @property
    def name(self) -> str:
        """The file, or the number."""
        return str(self.source) if isinstance(self.source, (str, os.PathLike)) else f"partition {self.number}"

    def read(self, structure: Structure) -> Read:
        """Read the samples; the same ones every time."""
        source = self._loaded(structure)
        lines = getattr(source, "lines", None)
        X, y = (source.X, source.y) if hasattr(source, "X") else _pair(source, self.name)
        X, y = (list(data) if isinstance(data, Iterator) else data for data in (X, y))
        if y is None:
            raise InputError(f"{self.name}: there are no outputs to learn from")
        read = Read(X, y, self.name, lines)
        try:
            if self.features is not None and len(read):
                transform = getattr(self.features, "transform", self.features)
                read = replace(read, X=transform(X))
            check_samples(read.X, y, empty=True)
        except InputError as error:
            raise read.located(error) from None
        return read if self.index is None else read.part(self.index)

    def _loaded(self, structure: Structure) -> Any:
        """What the source gives: a pair, or an object with inputs and outputs."""
        if isinstance(self.source, (str, os.PathLike)):
            reader = reader_of(structure, str(self.source)) if self.reader is None else self.reader
            return _from_file(self.source, reader)
        return self.source() if callable(self.source) else self.source

    def inputs(self, structure: Structure) -> Any:
        """Read the inputs alone, where outputs may be missing."""
        source = self._loaded(structure)
        X = source.X if hasattr(source, "X") else source[0] if isinstance(source, tuple) else source
        X = list(X) if isinstance(X, Iterator) else X
        if self.features is not None and count_samples(X):
            X = getattr(self.features, "transform", self.features)(X)
        return X if self.index is None else take(X, self.index)

    def part(self, index: np.ndarray) -> Partition:
        """Some of its samples."""
        return replace(self, index=index if self.index is None else self.index[index])


def _pair(source: Any, name: str) -> tuple[Any, Any]:
    if isinstance(source, (tuple, list)) and len(source) == 2:
        return source[0], source[1]
    raise InputError(f"{name}: expected inputs and outputs, (X, y), got {type(source).__name__}")


def _from_file(path: Any, reader: Callable[[Any], Any]) -> Any:
    try:
        return reader(path)
    except InputError:
        if not read_text(path)[0].strip():  # a partition may be empty, a file of its own may not
            return [], []
        raise


def reader_of(structure: Structure, path: str) -> Callable[[Any], Any]:
    """The reader for the files of a structure.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.shards.reading import reader_of
    >>> reader_of(Chain(), "train-01.conll.gz").__name__
    'read_conll'
    """
    from trelliswork import io

    readers: dict[str, Callable[[Any], Any]] = {
        "Chain": io.read_conllu if ".conllu" in path else io.read_conll,
        "Classes": io.read_rows,
        "RNA": io.read_rna,
        "Grammar": lambda file: io.read_trees(file, input=structure.input),
        "Alignment": lambda file: io.read_fasta_pairs(file).aligned(),
    }
    try:
        return readers[type(structure).__name__]
    except KeyError:
        raise Unsupported(
            f"no reader knows files for {type(structure).__name__}; give reader=, a function from a path to "
            "inputs and outputs"
        ) from None


def listed(partitions: Any, reader: Any = None, features: Any = None) -> list[Partition]:
    """Partitions from a pattern of file names or from a list."""
    if isinstance(partitions, (str, os.PathLike)):
        pattern = os.fspath(partitions)
        sources: list[Any] = sorted(glob.glob(pattern, recursive=True))
        if not sources:
            raise InputError(f"{pattern or repr(pattern)}: there is no such file")
    elif isinstance(partitions, Iterable) and not isinstance(partitions, (bytes, Mapping)):
        sources = list(partitions)
    else:
        raise InputError(
            "partitions must be a pattern of file names such as 'train-*.conll', or a list of files, of "
            f"functions that load (X, y), or of pairs (X, y); got {type(partitions).__name__}"
        )
    if not sources:
        raise InputError("there is no partition at all")
    return [
        replace(source, number=number)
        if isinstance(source, Partition)
        else Partition(number, source, reader, features)
        for number, source in enumerate(sources)
    ]


def surveyed(structure: Structure, read: Read) -> Survey | None:
    """What the alphabets have to know of a partition; None of one without samples."""
    if not len(read):
        return None
    try:
        return structure.survey(read.X, read.y)
    except InputError as error:
        raise read.located(error) from None


class Piece(NamedTuple):
    """A stretch of the samples of a partition that belongs to one block."""

    block: int
    partition: int
    first: int
    last: int


def pieces_of(counts: Sequence[int], size: int) -> list[Piece]:
    """Pieces of blocks of ``size`` samples each, for partitions of given numbers of samples.

    Examples
    --------
    >>> from trelliswork.shards.reading import pieces_of
    >>> [tuple(piece) for piece in pieces_of([3, 2], 2)]
    [(0, 0, 0, 2), (1, 0, 2, 3), (1, 1, 0, 1), (2, 1, 1, 2)]
    """
    out, done = [], 0
    for partition, count in enumerate(counts):
        first = 0
        while first < count:
            last = min(count, first + size - (done + first) % size)
            out.append(Piece((done + first) // size, partition, first, last))
            first = last
        done += count
    return out


def encoded(space: Space, pieces: Sequence[Read], n_jobs: int | None) -> Batch:
    """Batch of one block, from the stretches of partitions that it is made of."""
    batches = []
    for piece in pieces:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # a block may hold nothing but rare names
            try:
                batch = space.pack(compacted(piece.X), piece.y, n_jobs=n_jobs)
                batch.check_gold()
            except InputError as error:
                raise piece.located(error) from None
        batches.append(batch)
    return reduce(lambda a, b: require(a, Storable).joined(b), batches).canonical()
