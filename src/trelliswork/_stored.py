"""What the arrays of a model file may hold, declared in one place for each object that is stored.

A file is not trusted: compiled code indexes with its numbers. So each array is declared, by type, shape,
range and what it refers to, and :func:`fitting` hands out arrays only if all of them fit their declarations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError

__all__ = ["Declared", "fitting", "flags", "lengths", "matrix", "numbers", "pointers", "whole"]

_LARGEST = 1e150  # products of two larger numbers overflow


@dataclass(frozen=True)
class Declared:
    """What an array may be; the functions below make one.

    Attributes
    ----------
    kind : str
        ``"whole"``, ``"numbers"``, ``"flags"`` or ``"matrix"`` (sparse or dense rows of numbers).
    shape : tuple of int and str
        Length of each axis: a number, or the name of a size. A name that nobody has given yet is bound by
        the first array that has it.
    low, high : int, str or None
        Entries lie in ``[low, high)``; a name stands for that size.
    total : str or None
        Entries are lengths that add up to this size.
    within : str or None
        Name of an array of lengths that cut this one into rows; entries are below the length of their row.
    rising : bool
        Entries increase strictly.
    pointers : bool
        Entries run from 0 to ``high`` (included) and never decrease; there is one more than ``shape`` says.
    forbids : bool
        Entries may be minus infinity.
    optional : bool
        Whether the array may be missing or None.
    """

    kind: str
    shape: tuple[int | str, ...]
    low: int | None = None
    high: int | str | None = None
    total: str | None = None
    within: str | None = None
    rising: bool = False
    pointers: bool = False
    forbids: bool = False
    optional: bool = False


def whole(
    *shape: int | str,
    low: int = 0,
    high: int | str | None = None,
    within: str | None = None,
    rising: bool = False,
    optional: bool = False,
) -> Declared:
    """Whole numbers in a range, handed out as int64."""
    return Declared("whole", shape, low, high, within=within, rising=rising, optional=optional)


def lengths(rows: int | str, total: str, least: int = 0, *, optional: bool = False) -> Declared:
    """Lengths of consecutive pieces of another array."""
    return Declared("whole", (rows,), least, None, total=total, optional=optional)


def pointers(pieces: str, target: str, *, optional: bool = False) -> Declared:
    """Where each of some consecutive pieces of another array begins, and the end of the last."""
    return Declared("whole", (pieces,), 0, target, pointers=True, optional=optional)


def numbers(
    *shape: int | str, low: int | None = None, forbids: bool = False, optional: bool = False
) -> Declared:
    """Finite numbers in double precision; minus infinity where it may forbid something."""
    return Declared("numbers", shape, low, forbids=forbids, optional=optional)


def matrix(*shape: int | str, optional: bool = False) -> Declared:
    """Rows of finite numbers, sparse or dense."""
    return Declared("matrix", shape, optional=optional)


def flags(*shape: int | str, optional: bool = False) -> Declared:
    """True or false."""
    return Declared("flags", shape, optional=optional)


def fitting(
    state: Mapping[str, Any], declared: Mapping[str, Declared], what: str, **sizes: int
) -> dict[str, Any]:
    """Arrays of a state, each as declared; an :class:`InputError` that names the array otherwise.

    Parameters
    ----------
    state : mapping
        Values from a file.
    declared : dict of str to Declared
        What is expected, by name; arrays that bind a size come before those that use it.
    what : str
        What is stored, for messages: ``"sequences"``.
    **sizes : int
        Known sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork._stored import lengths, fitting, whole
    >>> declared = {"labels": whole("tokens", high="labels"), "lengths": lengths("samples", "tokens")}
    >>> state = {"labels": np.array([0, 2, 1]), "lengths": np.array([2, 1])}
    >>> fitting(state, declared, "sentences", labels=3)["lengths"]
    array([2, 1])
    >>> fitting(state, declared, "sentences", labels=2)
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: the stored sentences are damaged: labels has the entry 2, ...
    """
    out: dict[str, Any] = {}
    for name, rule in declared.items():
        value = state.get(name)
        if value is None:
            if not rule.optional:
                raise _damaged(what, f"{name} is missing")
            continue
        try:
            out[name] = _fitted(value, rule, sizes)
        except _Misfit as misfit:
            raise _damaged(what, f"{name} {misfit}") from None
    for name, rule in declared.items():
        if rule.within is not None and name in out:
            pieces = out[rule.within]
            limit = np.repeat(pieces, pieces)
            if limit.size != out[name].size or np.any(out[name] >= limit):
                raise _damaged(what, f"{name} refers to places outside of its rows")
    return out


class _Misfit(ValueError):
    """In what respect an array differs from its declaration."""


def _damaged(what: str, how: str) -> InputError:
    return InputError(f"the stored {what} are damaged: {how}")


def _fitted(value: Any, rule: Declared, sizes: dict[str, int]) -> Any:
    if type(value) is float and rule.shape == ():
        value = np.array(value)
    if not (isinstance(value, np.ndarray) or (rule.kind == "matrix" and sp.issparse(value))):
        raise _Misfit("is not an array")
    of_type = {"whole": value.dtype.kind in "iu", "flags": value.dtype == bool}
    if value.size and not of_type.get(rule.kind, value.dtype == np.float64):
        raise _Misfit(f"is of type {value.dtype}")
    shape = (value.size - 1,) if rule.pointers and value.ndim == 1 else value.shape
    _check_shape(shape, rule.shape, sizes)
    if rule.kind == "flags":
        return value.astype(bool)
    if rule.kind == "whole":
        if value.dtype == np.uint64 and value.size and value.max() > np.uint64(np.iinfo(np.int64).max):
            raise _Misfit("has an entry that is too large")
        value = np.ascontiguousarray(value, dtype=np.int64)
        _check_whole(value, rule, sizes)
        return value
    data = value.data if sp.issparse(value) else value
    usual = np.abs(data) <= _LARGEST  # False for NaN
    if not np.all(usual | (data == -np.inf) if rule.forbids else usual):
        raise _Misfit("has an entry that is not a finite number of ordinary size")
    if rule.low is not None and np.any(data < rule.low):
        raise _Misfit(f"has an entry below {rule.low}")
    if sp.issparse(value):
        return value.astype(np.float64, copy=False)
    return np.asarray(value, dtype=np.float64, order="C")


def _check_shape(shape: tuple[int, ...], wanted: tuple[int | str, ...], sizes: dict[str, int]) -> None:
    if len(shape) != len(wanted):
        raise _Misfit(f"has {len(shape)} axes, not {len(wanted)}")
    for size, name in zip(shape, wanted, strict=True):
        expected = sizes.setdefault(name, size) if isinstance(name, str) else name
        if size != expected:
            raise _Misfit(f"has {size} entries along an axis of {expected}")


def _check_whole(value: np.ndarray, rule: Declared, sizes: dict[str, int]) -> None:
    low = 0 if rule.low is None else rule.low
    high = sizes[rule.high] if isinstance(rule.high, str) else rule.high
    if rule.pointers:
        if not value.size or value[0] != 0 or np.any(np.diff(value) < 0) or value[-1] != high:
            raise _Misfit(f"does not run from 0 to {high}")
        return
    if value.size:
        least, most = int(value.min()), int(value.max())
        if least < low or (high is not None and most >= high):
            bound = "" if high is None else high
            raise _Misfit(f"has the entry {least if least < low else most}, which is not in [{low}, {bound})")
    if rule.rising and np.any(np.diff(value) <= 0):
        raise _Misfit("does not increase")
    if rule.total is not None:
        # In floating point: whole numbers from a file could add up to anything modulo 2^64.
        if float(np.sum(value, dtype=np.float64)) >= 2**53:
            raise _Misfit("has entries that are too large")
        total = int(value.sum())
        if total != sizes.setdefault(rule.total, total):
            raise _Misfit(f"adds up to {total}, not to {sizes[rule.total]}")
