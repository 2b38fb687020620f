"""Compiled code on disk: files that are damaged, or that nobody can write, cost time and nothing else.

Numba reads its cache with pickle and runs the machine code in it. So a file ends in a checksum here, and
whatever cannot be read is compiled again; where the disk is full, the code is used without being kept.

Recursions and constants that a module imports are compiled into its own recursions, so that these are
compiled anew when the file of the other module has changed, too.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from contextlib import suppress
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime import rtsys

__all__ = ["CodeCache"]

_MARK = b"trelliswork sum "
_SUM = 32


@functools.cache
def _imported(module: str) -> str:
    """What tells whether the modules of the same package from which a module imports have changed."""
    package, todo = module.partition(".")[0], [module]
    sums: dict[str, str] = {}
    while todo:
        name = todo.pop()
        file = getattr(sys.modules.get(name), "__file__", None)
        if name in sums or file is None or name == "trelliswork._jit":  # which is compiled into nothing
            continue
        with suppress(OSError):
            text = Path(file).read_text(encoding="utf-8")
            sums[name] = hashlib.sha256(text.encode()).hexdigest()
            for other in re.findall(r"^from (\.*[\w.]+) import", text, re.MULTILINE):
                if other.startswith(".") or other.partition(".")[0] == package:
                    todo.append(resolve_name(other, name.rpartition(".")[0]))
    sums.pop(module, None)  # Numba looks at that one itself
    return " ".join(sums[name] for name in sorted(sums))


class _CheckedFile(IndexDataCacheFile):
    """Files of one function."""

    def _load_index(self) -> dict[Any, str]:
        try:
            return super()._load_index()
        except Exception:  # whatever pickle makes of a damaged file; the next signature writes a new one
            return {}

    def _dump(self, obj: Any) -> bytes:
        data = super()._dump(obj)
        return data + _MARK + hashlib.sha256(data).digest()

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            data = file.read()
        end = len(data) - _SUM - len(_MARK)
        if data[max(end, 0) : -_SUM] == _MARK and hashlib.sha256(data[:end]).digest() != data[-_SUM:]:
            raise ValueError("the checksum of compiled code differs")
        return super()._load_data(name)


class CodeCache(FunctionCache):
    """Cache of the signatures of one function.

    Parameters
    ----------
    function : callable
        The function in Python.
    """

    def __init__(self, function: Any):
        super().__init__(function)
        self._cache_file = _CheckedFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=(self._impl.locator.get_source_stamp(), _imported(function.__module__)),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Compiled code of a signature; None if there is none, or none that can be used.

        Numba would first tell its compiler all that it can compile, which takes a quarter of a second. Code
        that is compiled already needs the functions of the runtime only.
        """
        rtsys.initialize(target_context)
        try:
            with self._guard_against_spurious_io_errors():
                code = self._load_overload(sig, target_context)
        except Exception:  # a damaged file can raise anything
            return None
        # Two processes that compile two signatures at once may give their files the same name.
        return code if code is None or tuple(code.signature.args) == tuple(sig) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, if the disk can hold it."""
        try:
            super().save_overload(sig, data)
        except OSError:
            return
