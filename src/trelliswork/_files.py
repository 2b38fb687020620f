"""Files that are replaced as a whole: the old one stays until the new one is complete."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

__all__ = ["replacing"]


@contextmanager
def replacing(path: str, what: str) -> Iterator[IO[bytes]]:
    """File to write to that takes the place of ``path`` when the block ends without an error.

    Whatever happens on the way (a full disk, an exception, the end of the process), the old file stays.

    Parameters
    ----------
    path : str
        The file; a symbolic link is followed.
    what : str
        What is written, for messages: ``"the model"``.
    """
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".tw-{secrets.token_hex(8)}.tmp")
    made = False
    try:
        mode = _mode_of(target)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        handle = os.open(temporary, flags, 0o666)  # the umask applies
        made = True
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
        made = False
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        number = error.errno or errno.EIO
        reason = f"{what} was not saved: {error.strerror or error}"
        raise OSError(number, reason, path) from None
    finally:
        if made:
            with suppress(OSError):
                os.unlink(temporary)


def _mode_of(target: str) -> int | None:
    """Permissions of the file to be replaced; None when there is none."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "this is a directory")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "this is a device or pipe, not a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the existing file is read-only")
    return stat.S_IMODE(mode)


def _sync_folder(folder: str) -> None:
    with suppress(OSError):  # not every file system can
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
