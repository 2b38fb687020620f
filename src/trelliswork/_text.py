"""Texts of files, streams and standard input: plain or gzip, decoded, with one kind of line break."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from trelliswork._errors import InputError
from trelliswork._files import replacing

__all__ = [
    "MAX_SIZE",
    "is_biopython",
    "max_size",
    "plain_sequence",
    "read_text",
    "reading",
    "text_file",
    "too_large",
    "undecodable",
    "unknown_encoding",
    "write_bytes",
    "write_text",
]

MAX_SIZE = 4 << 30  # bytes that a compressed file may unpack to
_PIECE = 1 << 24


def read_text(source: Any, encoding: str = "utf-8") -> tuple[str, str]:
    r"""Text and display name of a path, ``"-"`` (standard input) or an open file.

    Gzip is recognised by its first bytes, not by the name. A byte-order mark is dropped,
    and ``\r\n`` and ``\r`` become ``\n``. Whatever cannot be read is an :class:`InputError`.
    """
    if isinstance(source, (str, os.PathLike)) and source != "-":
        name = os.fspath(source)
        with reading(name):
            data = Path(source).read_bytes()
    elif source == "-":
        name, data = "<stdin>", sys.stdin.buffer.read()
    else:
        name, data = str(getattr(source, "name", "<stream>")), source.read()
    text = data if isinstance(data, str) else _decode(_unzip(data, name), encoding, name)
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), name


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Errors of the system about a file that is read, as an :class:`InputError`."""
    try:
        yield
    except FileNotFoundError:
        raise InputError.at(name, None, "no such file; expected the path of a text or gzip file") from None
    except IsADirectoryError:
        raise InputError.at(name, None, "is a directory; expected a text or gzip file") from None
    except OSError as e:
        raise InputError.at(name, None, f"cannot be read: {e.strerror or e}") from None


def write_text(target: Any, text: str, encoding: str = "utf-8") -> None:
    """Write to a path (gzip when it ends in ``.gz``), ``"-"`` (standard output) or an open file.

    A file that was there stays as it was until the new text is complete.
    """
    if hasattr(target, "write"):
        try:
            target.write(text)
        except TypeError:  # a binary file
            target.write(text.encode(encoding))
        return
    data = text.encode(encoding)
    if target == "-":
        sys.stdout.flush()
        rest = memoryview(data)
        while rest:  # with PYTHONUNBUFFERED the stream may take only a part
            rest = rest[sys.stdout.buffer.write(rest) or 0 :]
        sys.stdout.buffer.flush()
        return
    path = os.fspath(target)
    write_bytes(path, gzip.compress(data, mtime=0) if path.endswith(".gz") else data)


@contextmanager
def text_file(path: str, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """Text file to write to bit by bit (gzip when it ends in ``.gz``), which appears when it is complete.

    An old file stays until then, and for good if the block ends with an error. A device or pipe takes the
    text as it comes.

    Parameters
    ----------
    path : str
        The file.
    encoding : str, default="utf-8"
        Encoding of the text.
    """
    with ExitStack() as stack:
        spooled = None
        if _replaceable(path):
            file: IO[bytes] = stack.enter_context(replacing(path, "the output"))
        elif os.path.isfile(os.path.realpath(path)):  # in a folder that cannot be written
            file = spooled = stack.enter_context(tempfile.TemporaryFile())
        else:
            file = stack.enter_context(open(path, "wb"))
        packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if path.endswith(".gz") else None
        text = io.TextIOWrapper(packed or file, encoding=encoding, newline="\n")
        yield text
        text.flush()
        text.detach()
        if packed is not None:
            packed.close()
        if spooled is not None:
            spooled.seek(0)
            with open(path, "wb") as out:
                shutil.copyfileobj(spooled, out)


def write_bytes(path: str, data: bytes) -> None:
    """Write a file as a whole, where that is possible: the old one stays until the new one is complete."""
    if _replaceable(path):
        with replacing(path, "the output") as file:
            file.write(data)
    else:
        Path(path).write_bytes(data)


def _replaceable(path: str) -> bool:
    """Whether a file can be replaced as a whole: not a device, and in a folder that can be written."""
    target = os.path.realpath(path)
    ordinary = os.path.isfile(target) or not os.path.lexists(target)
    return ordinary and os.access(os.path.dirname(target), os.W_OK)


def _unzip(data: bytes, name: str) -> bytes:
    if data[:2] != b"\x1f\x8b":
        return data
    limit = max_size()
    pieces, size = [], 0
    try:
        with gzip.open(io.BytesIO(data)) as file:
            while piece := file.read(_PIECE):
                pieces.append(piece)
                size += len(piece)
                if size > limit:
                    raise too_large(name, len(data), limit)
    except (EOFError, OSError, zlib.error) as e:
        raise InputError.at(name, None, f"broken gzip data ({e}); expected a whole gzip file") from None
    return b"".join(pieces)


def too_large(name: str, n_bytes: int, limit: int) -> InputError:
    """Error about compressed data that are too large when unpacked."""
    return InputError.at(
        name,
        None,
        f"{n_bytes:,} bytes unpack to more than {limit:,}; raise --max-size "
        "(TRELLISWORK_MAX_SIZE, in bytes) if you trust the file",
    )


def max_size() -> int:
    """Bytes that a compressed file may unpack to."""
    text = os.environ.get("TRELLISWORK_MAX_SIZE") or str(MAX_SIZE)
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InputError(f"TRELLISWORK_MAX_SIZE must be a number of bytes, got {text!r:.60}")
    return int(text)


def _decode(data: bytes, encoding: str, name: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise undecodable(name, line, data, e.start, 0, encoding) from None
    except LookupError:
        raise unknown_encoding(name, encoding) from None


def undecodable(name: str, line: int, data: bytes, place: int, offset: int, encoding: str) -> InputError:
    """Error about a byte at a place of data that start at an offset of their file."""
    utf16 = not offset and data[:2] in (b"\xff\xfe", b"\xfe\xff")
    return InputError.at(
        name,
        line,
        f"byte 0x{data[place]:02x} at offset {offset + place} is not valid {encoding}; "
        f"expected {encoding} text (try --encoding {'utf-16' if utf16 else 'latin-1'})",
    )


def unknown_encoding(name: str, encoding: str) -> InputError:
    """Error about an encoding that there is not."""
    return InputError.at(
        name, None, f"unknown encoding {encoding!r}; expected a name such as utf-8 or latin-1"
    )


def is_biopython(value: Any) -> bool:
    """Whether a value is an object of Biopython."""
    return type(value).__module__.partition(".")[0] == "Bio"


def plain_sequence(value: Any) -> Any:
    """A sequence of Biopython (``Seq``, or ``SeqRecord`` with one) as text; anything else as it is.

    Examples
    --------
    >>> from trelliswork._text import plain_sequence
    >>> plain_sequence("GATTACA"), plain_sequence(["G", "A"])
    ('GATTACA', ['G', 'A'])
    """
    return str(getattr(value, "seq", value)) if is_biopython(value) else value
