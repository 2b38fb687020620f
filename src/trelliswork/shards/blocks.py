"""Blocks of encoded samples: in memory, or in a file that is mapped into memory when it is needed."""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import pickle
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterable
from typing import Any

from trelliswork.structures.base import Batch, Space
from trelliswork.structures.scratch import Scratch

__all__ = ["Block", "Room", "asked_in_turn", "block_size", "packed", "unpacked"]

_ALIGNED = 64  # bytes, the largest unit of vector instructions
_MOST_SAMPLES, _LEAST_BLOCKS = 4096, 8
_SHARED = 4  # workers that get the same number of blocks, where there are enough


def asked_in_turn(blocks: Iterable[Block]) -> list[Block]:
    """The blocks, which share their scratch arrays.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.shards.blocks import Room, asked_in_turn
    >>> _, batch = Chain().compile([["a", "b"]], [["A", "B"]])
    >>> one, other = asked_in_turn([Room(1 << 20).kept(batch), Room(0).kept(batch)])
    >>> one.scratch is other.scratch
    True
    """
    blocks, scratch = list(blocks), Scratch()
    for block in blocks:
        block.scratch = scratch
    return blocks


def block_size(n_samples: int, least: int = 1) -> int:
    """Samples of a block; decided by the number of all samples alone, so that sums do not depend on more.

    Parameters
    ----------
    n_samples : int
        Number of all samples.
    least : int, default=1
        Samples that are worth a block, as the limits of the structure say.

    Examples
    --------
    >>> from trelliswork.shards.blocks import block_size
    >>> block_size(10), block_size(6_400), block_size(10_000_000)
    (2, 800, 4092)
    >>> block_size(10, 64), block_size(6_400, 64), block_size(100, 64)
    (64, 800, 50)
    """
    size = max(least, min(_MOST_SAMPLES, -(-n_samples // _LEAST_BLOCKS)))
    n_blocks = -(-n_samples // size)
    if n_blocks < 2:
        return size
    unit = _SHARED if n_blocks >= 2 * _SHARED else 2
    return -(-n_samples // (-(-n_blocks // unit) * unit))  # of one size, so that workers have as much to do


class _Packer(pickle.Pickler):
    """Pickles a batch without its space and without its arrays, which are kept apart."""

    def __init__(self, file: Any, spaces: list[Space], buffers: list[pickle.PickleBuffer]):
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self.spaces = spaces

    def persistent_id(self, value: Any) -> int | None:
        """Number of a space."""
        if not isinstance(value, Space):
            return None
        for number, space in enumerate(self.spaces):
            if space is value:
                return number
        self.spaces.append(value)
        return len(self.spaces) - 1


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: Any, spaces: list[Space], buffers: Any):
        super().__init__(file, buffers=buffers)
        self.spaces = spaces

    def persistent_load(self, number: int) -> Space:
        """The space itself."""
        return self.spaces[number]


def packed(batch: Batch) -> tuple[bytes, list[memoryview], list[Space]]:
    """A batch as a stream of bytes, the buffers of its arrays, and its spaces."""
    spaces: list[Space] = [batch.space]
    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    _Packer(stream, spaces, buffers).dump(batch)
    return stream.getvalue(), [buffer.raw() for buffer in buffers], spaces


def unpacked(stream: bytes, buffers: Any, spaces: list[Space]) -> Batch:
    """Inverse of :func:`packed`."""
    return _Unpacker(io.BytesIO(stream), spaces, buffers).load()


class Block:
    """Encoded samples.

    Parameters
    ----------
    batch : Batch or None
        The samples in memory; None where they are in a file.
    nbytes : int
        Their size.
    file : _Mapped or None
        The file.

    Attributes
    ----------
    notes : dict
        What questions leave for those that follow; kept only in this process.
    scratch : Scratch or None
        Arrays that are shared with the blocks that are asked before and after this one.
    """

    def __init__(self, batch: Batch | None, nbytes: int, file: _Mapped | None = None):
        self.batch, self.nbytes, self.file = batch, nbytes, file
        self.notes: dict[str, Any] = {}
        self.scratch: Scratch | None = None

    def __sizeof__(self) -> int:
        # Told to Dask: blocks stay where they are. What is in a file takes no memory, which workers would
        # otherwise try to free by writing it to another file, and read back into memory as a whole.
        return 1000 + (self.nbytes if self.file is None else 0)

    def __reduce__(self) -> Any:
        return Block, (self.open(), self.nbytes)  # to another process go the samples, not the file

    @property
    def is_mapped(self) -> bool:
        """Whether the samples are in a file."""
        return self.file is not None

    def open(self) -> Batch:
        """The samples; arrays of a file are read when they are used."""
        batch = self.batch if self.file is None else self.file.open()
        assert batch is not None
        batch.notes, batch.scratch = self.notes, self.scratch
        return batch


class _Mapped:
    """A batch in a file: its arrays one after the other, then the rest."""

    def __init__(self, room: Room, stream: bytes, buffers: list[memoryview], spaces: list[Space]):
        self.room = room  # keeps its folder
        self.spaces: list[Space] = spaces
        self.places: list[tuple[int, int]] = []
        number, self.path = tempfile.mkstemp(prefix="block-", suffix=".bin", dir=room.folder)
        with os.fdopen(number, "wb") as file:
            for buffer in [*buffers, memoryview(stream)]:
                file.write(b"\0" * (-file.tell() % _ALIGNED))
                self.places.append((file.tell(), buffer.nbytes))
                file.write(buffer)
        weakref.finalize(self, _remove, self.path)

    def open(self) -> Batch:
        """The batch, on pages of the file that are copied only if somebody writes to them."""
        with open(self.path, "rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        *buffers, stream = (mapped[start : start + size] for start, size in self.places)
        return unpacked(bytes(stream), buffers, self.spaces)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


class Room:
    """Memory for blocks, and a folder for those that do not fit.

    Parameters
    ----------
    limit : int
        Bytes of encoded samples that are held in memory.
    folder : str or None
        Where the others go; None is a folder of its own, which goes with it.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.shards.blocks import Room
    >>> space, batch = Chain().compile([["a", "b"]], [["A", "B"]])
    >>> block = Room(0).kept(batch)
    >>> block.is_mapped, block.open().gold_codes.values.tolist()
    (True, [0, 1])
    """

    def __init__(self, limit: int, folder: str | None = None):
        self.limit, self.used = limit, 0
        self._folder = None if folder is None else str(folder)
        self._lock = threading.Lock()

    @property
    def folder(self) -> str:
        """The folder; made when it is first needed."""
        with self._lock:
            if self._folder is None:
                self._folder = tempfile.mkdtemp(prefix="trelliswork-")
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            os.makedirs(self._folder, exist_ok=True)
            return self._folder

    def kept(self, batch: Batch) -> Block:
        """Block of a batch, in memory as long as there is room."""
        stream, buffers, spaces = packed(batch)
        nbytes = len(stream) + sum(buffer.nbytes for buffer in buffers)
        with self._lock:
            fits = self.used + nbytes <= self.limit
            self.used += nbytes * fits
        if not fits:
            return Block(None, nbytes, _Mapped(self, stream, buffers, spaces))
        block = Block(batch, nbytes)
        weakref.finalize(block, self._freed, nbytes)
        return block

    def _freed(self, nbytes: int) -> None:
        with self._lock:
            self.used -= nbytes
