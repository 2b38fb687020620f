"""Python values as JSON trees with type tags, and back, exactly.

None, booleans, whole and finite numbers, strings, lists and dicts with string keys
stand for themselves. Everything else is a dict with one key that starts with ``!``::

    {"!float": "nan"}  {"!tuple": LIST}  {"!set": LIST}  {"!frozenset": LIST}  {"!bytes": "00ff"}
    {"!dict": [KEYS, VALUES]}            {"!text": hex}  (a string that is not valid Unicode)
    {"!array": m}                        {"!objects": [shape, LIST]}  (array of Python values)
    {"!csr": [kind, shape, data m, indices m, indptr m]}

``m`` is the number of an array that is kept beside the tree. Long lists become arrays, too::

    {"!strings": [bytes m, lengths m]}  {"!ints": m}  {"!floats": m}  {"!nested": [kind, LIST, lengths m]}
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError

__all__ = ["MAX_DEPTH", "Decoder", "Encoder", "refusal", "storable"]

MAX_DEPTH = 60
_LONG = 64  # lists from this length on are stored as arrays
_MAX_BITS = 4096
_ITEM_BYTES = 64  # about what a Python object takes in memory
_KINDS = "biufU"
_CSR = {"csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array}


def refusal(path: tuple[str, ...], value: Any) -> InputError:
    """Error about a value that cannot be part of a model file."""
    what = f"values of type {type(value).__name__}"
    if isinstance(value, np.ndarray):
        what = f"arrays of type {value.dtype}"
        if type(value) is not np.ndarray:
            what = f"arrays of class {type(value).__name__}"
    return InputError(
        f"{'.'.join(path)}: {what} cannot be saved; use strings, numbers, None, tuples, lists or dicts "
        "of those, or plain numeric arrays"
    )


def storable(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of a type may be members of a model file."""
    return dtype.kind in _KINDS and 0 < dtype.itemsize <= (1 << 24 if dtype.kind == "U" else 8)


class Encoder:
    """Turns values into trees; arrays are put aside in ``arrays``.

    Attributes
    ----------
    arrays : list of ndarray
        Members that the trees refer to by number.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []

    def encode(self, value: Any, path: tuple[str, ...], depth: int = 0) -> Any:
        """Tree of one value; ``path`` names it in messages."""
        if depth > MAX_DEPTH:
            raise InputError(f"{'.'.join(path[:6])}...: nested more than {MAX_DEPTH} deep, cannot be saved")
        if isinstance(value, np.generic):
            value = value.item()
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            if value.bit_length() > _MAX_BITS:
                raise InputError(f"{'.'.join(path)}: a number of {value.bit_length()} bits cannot be saved")
            return value
        if kind is float:
            return value if math.isfinite(value) else {"!float": repr(value)}
        if kind is str:
            return _text(value)
        if kind is bytes:
            return {"!bytes": value.hex()}
        if kind is list:
            return self._list(value, path, depth)
        if kind is tuple:
            return {"!tuple": self._list(list(value), path, depth)}
        if kind is set or kind is frozenset:
            items = [self.encode(v, path, depth + 1) for v in value]
            return {f"!{kind.__name__}": sorted(items, key=lambda tree: json.dumps(tree))}
        if kind is dict:
            return self._dict(value, path, depth)
        if kind is np.ndarray or kind is np.memmap:
            return self._array(value, path, depth)
        if kind in _CSR.values():
            if not storable(value.dtype):
                raise refusal(path, value.data)
            parts = [self.put(a) for a in (value.data, value.indices, value.indptr)]
            return {"!csr": [kind.__name__, list(value.shape), *parts]}
        return self.encode_object(value, path, depth)

    def encode_object(self, value: Any, path: tuple[str, ...], depth: int) -> Any:
        """Tree of anything that is not a plain value; subclasses know some."""
        raise refusal(path, value)

    def put(self, array: np.ndarray) -> int:
        """Keep an array beside the tree and return its number."""
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _lengths(self, items: list[Any]) -> int:
        lengths = np.array([len(v) for v in items], dtype=np.int64)
        return self.put(lengths.astype(np.min_scalar_type(int(lengths.max()))))

    def _list(self, items: list[Any], path: tuple[str, ...], depth: int) -> Any:
        if len(items) >= _LONG:
            kinds = set(map(type, items))
            kind = next(iter(kinds)) if len(kinds) == 1 else None
            if kind is str:
                blob = "".join(items).encode("utf-8", "surrogatepass")
                return {"!strings": [self.put(np.frombuffer(blob, dtype=np.uint8)), self._lengths(items)]}
            if kind is int and max(items) < 2**63 and min(items) >= -(2**63):
                return {"!ints": self.put(np.array(items, dtype=np.int64))}
            if kind is float:
                return {"!floats": self.put(np.array(items, dtype=np.float64))}
            if kind is list or kind is tuple:
                flat = [v for item in items for v in item]
                tree = self.encode(flat, path, depth + 1)
                return {"!nested": [kind.__name__, tree, self._lengths(items)]}
        return [self.encode(v, (*path, str(i)), depth + 1) for i, v in enumerate(items)]

    def _dict(self, value: dict[Any, Any], path: tuple[str, ...], depth: int) -> Any:
        plain = all(type(k) is str and not k.startswith("!") and _text(k) is k for k in value)
        if plain and len(value) < _LONG:
            return {k: self.encode(v, (*path, k), depth + 1) for k, v in value.items()}
        keys = self.encode(list(value), (*path, "keys"), depth + 1)
        if len(value) >= _LONG:
            return {"!dict": [keys, self.encode(list(value.values()), path, depth + 1)]}
        return {"!dict": [keys, [self.encode(v, (*path, str(k)), depth + 1) for k, v in value.items()]]}

    def _array(self, value: np.ndarray, path: tuple[str, ...], depth: int) -> Any:
        if value.dtype.kind == "O":
            flat = self.encode(value.ravel().tolist(), path, depth + 1)
            return {"!objects": [list(value.shape), flat]}
        if not storable(value.dtype):
            raise refusal(path, value)
        return {"!array": self.put(np.asarray(value))}


def _text(value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON would join two halves of a surrogate pair
        return {"!text": value.encode("utf-8", "surrogatepass").hex()}
    return value


class Decoder:
    """Turns trees into values; any malformed tree is an exception of some kind.

    Parameters
    ----------
    array : callable
        Array with a given number; refuses to give one twice.
    budget : int
        Bytes that Python objects may take.
    """

    def __init__(self, array: Callable[[int], np.ndarray], budget: int):
        self.array = array
        self.budget = budget

    def decode(self, tree: Any, depth: int = 0) -> Any:
        """Value of one tree."""
        if depth > 2 * MAX_DEPTH:
            raise ValueError("nested too deep")
        if isinstance(tree, list):
            self.charge(len(tree))
            return [self.decode(v, depth + 1) for v in tree]
        if not isinstance(tree, dict):
            return tree
        if not any(k.startswith("!") for k in tree):
            self.charge(len(tree))
            return {k: self.decode(v, depth + 1) for k, v in tree.items()}
        ((tag, content),) = tree.items()
        return self.decode_tag(tag, content, depth)

    def decode_tag(self, tag: str, content: Any, depth: int) -> Any:
        """Value of a tagged tree; subclasses know more tags."""
        match tag:
            case "!float":
                return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]
            case "!bytes":
                return bytes.fromhex(content)
            case "!text":
                return bytes.fromhex(content).decode("utf-8", "surrogatepass")
            case "!tuple":
                return tuple(self.list_of(content, depth))
            case "!set":
                return set(self.list_of(content, depth))
            case "!frozenset":
                return frozenset(self.list_of(content, depth))
            case "!dict":
                keys, values = (self.list_of(tree, depth) for tree in content)
                return dict(zip(keys, values, strict=True))
            case "!array":
                return self.array(content)
            case "!objects":
                shape, items = content[0], self.list_of(content[1], depth)
                out = np.empty(len(items), dtype=object)
                out[:] = items
                return out.reshape(shape)
            case "!csr":
                kind, shape, *parts = content
                data, indices, indptr = map(self.array, parts)
                _check_csr(shape, data, indices, indptr)
                return _CSR[kind]((data, indices, indptr), shape=tuple(shape))
            case "!strings":
                text = self.numbers(content[0], "u").tobytes().decode("utf-8", "surrogatepass")
                return self.cut(text, content[1])
            case "!ints":
                return self.listed(content, "i")
            case "!floats":
                return self.listed(content, "f")
            case "!nested":
                rows = self.cut(self.list_of(content[1], depth), content[2])
                return [tuple(row) for row in rows] if content[0] == "tuple" else rows
        raise ValueError(f"unknown tag {tag!r:.40}")

    def list_of(self, tree: Any, depth: int) -> list[Any]:
        """Value of a tree that must be a list."""
        out = self.decode(tree, depth + 1)
        if type(out) is not list:
            raise ValueError("a list was expected")
        return out

    def numbers(self, number: Any, kind: str) -> np.ndarray:
        """Member that must be a vector of one kind of numbers."""
        out = self.array(number)
        if out.ndim != 1 or out.dtype.kind != kind:
            raise ValueError("a vector was expected")
        return out

    def listed(self, number: Any, kind: str) -> list[Any]:
        """Vector as a list of Python numbers."""
        out = self.numbers(number, kind)
        self.charge(out.size)
        return out.tolist()

    def cut(self, whole: Any, number: Any) -> list[Any]:
        """A string or a list in pieces of given lengths."""
        lengths = self.numbers(number, "u")
        self.charge(2 * lengths.size)
        longest = int(lengths.max(initial=0))
        if longest > len(whole) or int(lengths.sum(dtype=np.uint64)) != len(whole):
            raise ValueError("lengths do not add up")
        stops = np.cumsum(lengths, dtype=np.int64).tolist()
        return [whole[a:b] for a, b in zip([0, *stops], stops, strict=False)]

    def charge(self, n_items: int) -> None:
        """Count Python objects against the budget."""
        self.budget -= _ITEM_BYTES * n_items
        if self.budget < 0:
            raise ValueError("more values than max_bytes allows")


def _check_csr(shape: Any, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> None:
    """Refuse parts of a sparse matrix that refer to places outside of it.

    SciPy has such a check, which passes over a matrix without entries.
    """
    if type(shape) is not list or [type(n) for n in shape] != [int, int]:
        raise ValueError("a matrix has two sizes")
    if any(part.ndim != 1 for part in (data, indices, indptr)) or data.dtype.kind not in "fiub":
        raise ValueError("a sparse matrix has parts of another kind")
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i" or not data.size == indices.size:
        raise ValueError("a sparse matrix has parts of another kind")
    ends = indptr.astype(np.int64)
    if ends.size != shape[0] + 1 or ends[0] != 0 or np.any(ends[1:] < ends[:-1]) or ends[-1] != data.size:
        raise ValueError("the rows of a sparse matrix do not fit its entries")
    if data.size and not (indices.min() >= 0 and indices.max() < shape[1]):
        raise ValueError("a sparse matrix has an entry outside of its columns")
