"""Lines of files and of standard input, one after the other: a long file is never held as a whole."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

from trelliswork._errors import InputError
from trelliswork._text import max_size, reading, too_large, undecodable, unknown_encoding

__all__ = ["TextLines"]

_PIECE = 1 << 16


class TextLines:
    r"""Lines of a path or of ``"-"`` (standard input), without their ends, as they come.

    Gzip, byte-order marks, line breaks and mistakes are treated as by :func:`trelliswork._text.read_text`.

    Parameters
    ----------
    source : str or path
        The file.
    encoding : str, default="utf-8"
        Encoding of the text.

    Attributes
    ----------
    name : str
        The file, for messages.
    size : int or None
        Its bytes, compressed ones if it is; None for pipes and terminals.
    """

    def __init__(self, source: Any, encoding: str = "utf-8"):
        try:
            self._decoder = codecs.getincrementaldecoder(encoding)()
        except LookupError:
            raise unknown_encoding(os.fspath(source), encoding) from None
        self.encoding = encoding
        self._own = source != "-"
        self.name = os.fspath(source) if self._own else "<stdin>"
        with reading(self.name):
            self._file: IO[bytes] = open(source, "rb") if self._own else sys.stdin.buffer  # noqa: SIM115
        self.size = _size(self._file)

    def __enter__(self) -> TextLines:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._own:
            self._file.close()

    def position(self) -> int:
        """Bytes of the file that were read."""
        with suppress(OSError, ValueError):
            return self._file.tell()
        return 0

    def __iter__(self) -> Iterator[str]:
        breaks = io.IncrementalNewlineDecoder(None, translate=True)
        rest: list[str] = []  # pieces of a line that has not ended
        n_lines = n_bytes = 0
        for piece in self._pieces():
            try:
                text = breaks.decode(self._decoder.decode(piece, final=not piece), final=not piece)
            except UnicodeDecodeError as error:
                held = len(error.object) - len(piece)  # bytes of a character whose first bytes came before
                line = n_lines + error.object.count(b"\n", 0, error.start) + 1
                raise undecodable(
                    self.name, line, error.object, error.start, n_bytes - held, self.encoding
                ) from None
            if not n_bytes:
                text = text.removeprefix("\ufeff")
            n_bytes += len(piece)
            first, *more = text.split("\n")
            rest.append(first)
            for line_start in more:
                yield "".join(rest)
                n_lines += 1
                rest = [line_start]
        if last := "".join(rest):
            yield last

    def _pieces(self) -> Iterator[bytes]:
        """Bytes as they come, unpacked; the last piece is empty."""
        with reading(self.name):
            head = self._file.read(2)
            if head != b"\x1f\x8b":
                yield head
                while piece := self._file.read1(_PIECE):  # type: ignore[attr-defined]
                    yield piece
                yield b""
                return
        limit, size = max_size(), 0
        try:
            with gzip.GzipFile(fileobj=io.BufferedReader(_Rewound(head, self._file))) as unpacked:
                while piece := unpacked.read1(_PIECE):
                    size += len(piece)
                    if size > limit:
                        raise too_large(self.name, self.position(), limit)
                    yield piece
        except (EOFError, OSError, zlib.error) as e:
            raise InputError.at(
                self.name, None, f"broken gzip data ({e}); expected a whole gzip file"
            ) from None
        yield b""


class _Rewound(io.RawIOBase):
    """A stream whose first bytes were read before, and are read again."""

    def __init__(self, head: bytes, file: Any):
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._file.read1(len(buffer))
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _size(file: Any) -> int | None:
    """Bytes of a regular file."""
    with suppress(OSError, ValueError, AttributeError):
        found = os.fstat(file.fileno())
        return found.st_size if stat.S_ISREG(found.st_mode) else None
    return None
