"""Compiled code on disk: files that are damaged, or that nobody can write, cost time and nothing else.

Numba reads its cache with pickle and runs the machine code in it. So a file ends in a checksum here, and
whatever cannot be read is compiled again; where the disk is full, the code is used without being kept.
"""

from __future__ import annotations

import hashlib
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["CodeCache"]

_MARK = b"trelliswork sum "
_SUM = 32


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
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Compiled code of a signature; None if there is none, or none that can be used."""
        try:
            code = super().load_overload(sig, target_context)
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
