"""The container of model files: a zip of a JSON manifest and ``.npy`` arrays.

Nothing is unpacked to disk, nothing is unpickled, and nothing that the file declares
(sizes, shapes, counts) is believed before it has been compared with what is there.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from trelliswork._errors import InputError, ModelFileError
from trelliswork._files import replacing
from trelliswork.persist._values import storable

__all__ = ["FORMAT", "LIMITS", "VERSION", "Archive", "Limits", "read", "reported", "write"]

FORMAT = "trelliswork-model"
VERSION = 1

_MEMBER = re.compile(r"manifest\.json|manifest\.sha256|(0|[1-9][0-9]{0,5})\.npy")
_HEADER = re.compile(
    r"\{'descr': '([<>|][biufU][0-9]{1,9})', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \} *\n"
)
_SAMPLE = 1 << 16


@dataclass(frozen=True)
class Limits:
    """What model files may hold; sizes are in bytes.

    Attributes
    ----------
    members : int
        Number of members.
    manifest : int
        Size of the manifest.
    deflated : int
        Size of a compressed member; larger members are stored uncompressed.
    free, ratio : int
        A file may unpack to ``free`` bytes, or to ``ratio`` times its size.
    """

    members: int = 50_000
    manifest: int = 64 << 20
    deflated: int = 64 << 20
    free: int = 256 << 20
    ratio: int = 100

    def is_bomb(self, unpacked: int, packed: int) -> bool:
        """Whether a file unpacks to so much more than its size that it is refused."""
        return unpacked > self.free and unpacked > self.ratio * packed


LIMITS = Limits()


# -- writing ---------------------------------------------------------------------------------


def write(path: str, manifest: dict[str, Any], arrays: list[np.ndarray], limits: Limits = LIMITS) -> None:
    """Write a model file; the old file, if any, stays until the new one is complete.

    Parameters
    ----------
    path : str
        The file.
    manifest : dict
        JSON values; format, version and members are added.
    arrays : list of ndarray
        Members.
    limits : Limits
        What the file may hold.
    """
    most = limits.members - 2  # the manifest and its checksum are members, too
    if len(arrays) > most:
        raise InputError(f"the model holds {len(arrays):,} arrays; at most {most:,} can be saved")
    members = [(f"{i}.npy", _npy(a)) for i, a in enumerate(arrays)]
    table = {name: {"bytes": _size(parts), "sha256": _digest(parts)} for name, parts in members}
    whole = {"format": FORMAT, "format_version": VERSION, **manifest, "members": table}
    text = json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > limits.manifest:
        raise InputError(
            f"the manifest would take {_human(len(text))}, more than {_human(limits.manifest)}; "
            "keep large fitted attributes in arrays"
        )
    check = f"{hashlib.sha256(text).hexdigest()}  manifest.json\n".encode()
    content = [("manifest.json", [text]), ("manifest.sha256", [check]), *members]
    total = sum(_size(parts) for _, parts in content)
    with replacing(path, "the model") as file:
        _write_zip(file, content, lambda parts: _size(parts) <= limits.deflated and _shrinks(parts))
        if limits.is_bomb(total, file.tell()):  # reading would refuse it
            file.seek(0)
            file.truncate()
            _write_zip(file, content, lambda parts: False)


def _write_zip(
    file: IO[bytes], content: list[tuple[str, list[Any]]], deflates: Callable[[list[Any]], bool]
) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, parts in content:
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED if deflates(parts) else zipfile.ZIP_STORED
            info.create_system = 3
            info.external_attr = 0o600 << 16
            info.file_size = _size(parts)
            with archive.open(info, "w") as member:
                for part in parts:
                    member.write(part)


def _npy(array: np.ndarray) -> list[Any]:
    """Header and bytes of a ``.npy`` file."""
    head = io.BytesIO()
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
    order = array if array.flags.c_contiguous else array.T
    return [head.getvalue(), order.reshape(-1).view(np.uint8)]


def _size(parts: list[Any]) -> int:
    return sum(len(part) for part in parts)


def _digest(parts: list[Any]) -> str:
    out = hashlib.sha256()
    for part in parts:
        out.update(part)
    return out.hexdigest()


def _shrinks(parts: list[Any]) -> bool:
    """Whether compression pays, by the first bytes."""
    sample = bytes(memoryview(parts[-1])[:_SAMPLE])
    return len(zlib.compress(sample, 1)) < 0.9 * len(sample)


# -- reading ---------------------------------------------------------------------------------


class Archive:
    """Members of an open model file, each to be read once.

    Parameters
    ----------
    archive : ZipFile
        The file, checked by :func:`read`.
    manifest : dict
        Its manifest.
    """

    def __init__(self, archive: zipfile.ZipFile, manifest: dict[str, Any]):
        self.manifest = manifest
        self._archive = archive
        self._unread = dict(manifest["members"])

    def array(self, number: Any) -> np.ndarray:
        """Array with a given number."""
        if type(number) is not int:
            raise ValueError("members are numbered")
        name = f"{number}.npy"
        if name not in self._unread:
            raise ValueError(f"{name} is missing, or used twice")
        return self._parsed(name, self._unread.pop(name))

    def _parsed(self, name: str, claim: dict[str, Any]) -> np.ndarray:
        info = self._archive.getinfo(name)
        if claim["bytes"] != info.file_size:
            raise ValueError(f"the size of {name} differs from the manifest")
        data = _member(self._archive, info)
        if hashlib.sha256(data).hexdigest() != claim["sha256"]:
            raise ValueError(f"the checksum of {name} differs")
        return _parse_npy(data)

    def finish(self) -> None:
        """Check that every member has been used."""
        if self._unread:
            raise ValueError("it holds arrays that nothing refers to")


@contextmanager
def read(path: str, max_bytes: int, limits: Limits = LIMITS) -> Iterator[Archive]:
    """Open a model file and check everything that can be checked before arrays are read.

    Exceptions inside the block, too, are reported as a damaged file, see :func:`reported`.

    Parameters
    ----------
    path : str
        The file.
    max_bytes : int
        Largest total size after decompression.
    limits : Limits
        What the file may hold.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "there is no such model file", path) from None
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "a device or pipe"
        raise ModelFileError(f"{path}: this is {what}, not a model file")
    with open(path, "rb") as file, reported(path):
        size = os.fstat(file.fileno()).st_size
        _check_start(file.read(4), size)
        _check_directory(file, size, limits)
        with zipfile.ZipFile(file) as archive:
            _check_members(archive.infolist(), size, max_bytes, limits)
            yield Archive(archive, _manifest(archive, limits))


@contextmanager
def reported(path: str) -> Iterator[None]:
    """Report exceptions as a damaged file, but ``InputError``, ``MemoryError`` and real input/output errors.

    Parameters
    ----------
    path : str
        The file.
    """
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except (InputError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        reason = " ".join(f"{error}".split())[:200] or type(error).__name__
        raise ModelFileError(f"{path}: the model file is damaged ({reason})") from None


def _check_start(head: bytes, size: int) -> None:
    if size == 0:
        raise ModelFileError("the file is empty")
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        raise ModelFileError("this is a pickle, not a model file; pickles can run code and are never loaded")
    if head != b"PK\3\4":
        raise ModelFileError("this is not a Trelliswork model file")


def _check_directory(file: IO[bytes], size: int, limits: Limits) -> None:
    """Compare the end of the zip file with its limits, before its directory is read."""
    tail_size = min(size, 22 + 20 + 56)
    file.seek(size - tail_size)
    tail = file.read(tail_size)
    end = tail[-22:]
    if len(end) < 22 or end[:4] != b"PK\5\6" or end[20:] != b"\0\0":
        raise ModelFileError("the file is cut off or damaged (its zip directory is missing), or foreign")
    count, length = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
    if tail[-42:-38] == b"PK\6\7":  # more than 2 GiB
        record = tail[:56]
        place = int.from_bytes(tail[-34:-26], "little")
        if record[:4] != b"PK\6\6" or place != size - 98:
            raise ModelFileError("the zip directory is damaged")
        count, length = int.from_bytes(record[32:40], "little"), int.from_bytes(record[40:48], "little")
    if count > limits.members or length > 128 * limits.members:
        raise ModelFileError(f"the file has more than {limits.members:,} members; this is not a model file")
    file.seek(0)


def _check_members(infos: list[zipfile.ZipInfo], size: int, max_bytes: int, limits: Limits) -> None:
    names = {info.filename for info in infos}
    if not names >= {"manifest.json", "manifest.sha256"}:
        raise ModelFileError("this zip file holds no Trelliswork manifest; it is not a model file")
    if len(names) < len(infos):
        raise ModelFileError("the zip file has two members of the same name")
    total = 0
    for info in infos:
        name, packed = info.filename, info.compress_type == zipfile.ZIP_DEFLATED
        if not _MEMBER.fullmatch(name):
            raise ModelFileError(f"the zip file has a foreign member {name!r:.60}")
        if info.flag_bits & 1 or not (packed or info.compress_type == zipfile.ZIP_STORED):
            raise ModelFileError(f"{name} is encrypted or compressed in an unknown way")
        limit = limits.deflated + 4096 if packed else info.compress_size
        if info.compress_size > size or info.file_size > limit:
            raise ModelFileError(f"{name} declares a size of {_human(info.file_size)}, which is impossible")
        total += info.file_size
    if total > max_bytes:
        raise ModelFileError(
            f"the model takes {_human(total)}, more than max_bytes={max_bytes} ({_human(max_bytes)}); "
            "raise max_bytes if you trust the file"
        )
    if limits.is_bomb(total, size):
        raise ModelFileError(f"{_human(size)} that unpack to {_human(total)}: refused as a compression bomb")


def _manifest(archive: zipfile.ZipFile, limits: Limits) -> dict[str, Any]:
    info, check = archive.getinfo("manifest.json"), archive.getinfo("manifest.sha256")
    if info.file_size > limits.manifest or check.file_size > 200:
        raise ModelFileError(f"the manifest is larger than {_human(limits.manifest)}")
    text = _member(archive, info)
    if _member(archive, check).split()[:1] != [hashlib.sha256(text).hexdigest().encode()]:
        raise ModelFileError("the model file is damaged (the checksum of manifest.json differs)")
    try:
        manifest = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ModelFileError("the manifest is nested too deep") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError("its manifest is not that of a Trelliswork model")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFileError("its manifest has no valid format version")
    if version > VERSION:
        writer = str(manifest.get("trelliswork"))[:20]
        raise ModelFileError(
            f"written by trelliswork {writer} in format {version}; this release reads formats up to "
            f"{VERSION}: upgrade trelliswork"
        )
    arrays = {name for name in archive.namelist() if name.endswith(".npy")}
    if set(manifest["members"]) != arrays:
        raise ModelFileError("the arrays in the file are not those of its manifest")
    return manifest


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as member:
        data = member.read(info.file_size)
        if len(data) != info.file_size or member.read(1):
            raise ValueError(f"{info.filename} does not have the declared size")
    return data


def _parse_npy(data: bytes) -> np.ndarray:
    """Array of a ``.npy`` file of version 1.0 as NumPy writes it; no other header is read."""
    length = int.from_bytes(data[8:10], "little")
    header = _HEADER.fullmatch(data[10 : 10 + length].decode("latin-1"))
    if data[:8] != b"\x93NUMPY\x01\x00" or header is None:
        raise ValueError("a member is not a plain numeric .npy array")
    dtype = np.dtype(header[1])
    shape = tuple(int(n) for n in re.findall("[0-9]+", header[3]))
    count = 1
    for n in shape:
        count *= n
    body = len(data) - 10 - length
    if len(shape) > 32 or not storable(dtype) or count * dtype.itemsize != body:
        raise ValueError("an array has a type or size that is not allowed")
    flat = np.frombuffer(data, dtype=dtype, offset=10 + length).copy() if count else np.empty(0, dtype=dtype)
    if dtype.kind == "U" and count:
        code = flat.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if code.max() > 0x10FFFF:
            raise ValueError("an array of strings holds something that is not a character")
    if dtype.kind == "b" and count and flat.view(np.uint8).max() > 1:
        raise ValueError("an array of booleans holds other values")
    return flat.reshape(shape, order="F" if header[2] == "True" else "C")


def _human(n_bytes: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"
