"""Alphabets of labels and the codes of label sequences."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from itertools import chain, repeat
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged

__all__ = [
    "check_given_labels",
    "check_row",
    "collect_labels",
    "encode_labels",
    "is_list",
    "label_list",
    "listed",
    "same_label",
    "sorted_labels",
    "unhashable",
]


def sorted_labels(labels: Iterable[Any]) -> list[Any]:
    """The labels in an order that does not depend on the order of the samples."""
    values = list(labels)
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda v: (type(v).__name__, repr(v)))


def check_given_labels(labels: Any) -> None:
    """Refuse the ``labels`` of a structure that are neither None nor some hashable labels."""
    if labels is None:
        return
    try:
        n_labels = len(dict.fromkeys(labels))
    except TypeError:
        n_labels = 0
    if n_labels == 0:
        raise InputError(f"labels must be a list of hashable labels or None, got {labels!r}")


def collect_labels(y: Any, given: Sequence[Hashable] | None, *, empty: bool = False) -> list[Any]:
    """The given labels, or all that occur in ``y``; none at all is an error unless ``empty`` allows it."""
    if given is not None:
        return list(dict.fromkeys(given))
    seen: set[Any] = set()
    for i, labels in enumerate(y):
        check_row(i, labels)
        try:
            seen.update(labels.tolist() if isinstance(labels, np.ndarray) else labels)
        except TypeError as error:
            raise unhashable(error, i) from None
    if any(label != label for label in seen):
        i = next(i for i, labels in enumerate(y) if any(label != label for label in labels))
        raise InputError("a label is NaN; give missing labels a name of their own", sample=i)
    if not seen and not empty:
        raise InputError("y holds no label at all; at least one non-empty sequence is needed")
    return sorted_labels(seen)


def encode_labels(y: Any, offsets: np.ndarray, labels: list[Any], *, unknown: str = "error") -> np.ndarray:
    """Codes of all labels, one after the other; lengths are checked against ``offsets``."""
    n = offsets.size - 1
    if not hasattr(y, "__len__") or len(y) != n:
        got = len(y) if hasattr(y, "__len__") else type(y).__name__
        raise InputError(f"X has {n} sequences but y has {got}")
    place = {label: i for i, label in enumerate(labels)}
    all_codes = _codes_at_once(y, offsets, place)
    if all_codes is not None and (unknown != "error" or all_codes.min(initial=0) >= 0):
        return all_codes
    all_codes = np.empty(int(offsets[-1]), dtype=np.int64)
    for i, row in enumerate(y):
        lo, hi = int(offsets[i]), int(offsets[i + 1])
        check_row(i, row)
        if len(row) != hi - lo:
            raise InputError(f"{hi - lo} tokens in X but {len(row)} labels in y", sample=i)
        items = row.tolist() if isinstance(row, np.ndarray) else row
        try:
            codes = [place.get(label, -1) for label in items]
        except TypeError as error:
            raise unhashable(error, i) from None
        if unknown == "error" and -1 in codes:
            t = codes.index(-1)
            raise InputError(f"label {items[t]!r} of token {t} is not one of {listed(labels)}", sample=i)
        all_codes[lo:hi] = codes
    return all_codes


def _codes_at_once(y: Any, offsets: np.ndarray, place: dict[Any, int]) -> np.ndarray | None:
    """Codes of lists of labels, -1 for unknown ones; None where something is wrong, or not that simple."""
    if not set(map(type, y)) <= {list, tuple}:
        return None
    lengths = np.fromiter(map(len, y), dtype=np.int64, count=len(y))
    if not np.array_equal(lengths, np.diff(offsets)):
        return None
    try:
        return np.fromiter(
            map(place.get, chain.from_iterable(y), repeat(-1)), dtype=np.int64, count=int(offsets[-1])
        )
    except TypeError:
        return None


def check_row(i: int, row: Any) -> None:
    """Refuse what has no order or no length as the labels of a sequence."""
    if isinstance(row, (Mapping, Set)) or not hasattr(row, "__len__") or getattr(row, "shape", None) == ():
        raise InputError(f"expected a list of labels, got {row!r:.80}", sample=i)


def unhashable(error: TypeError, sample: int) -> InputError:
    """Error about a label that is a list or an array."""
    return InputError(
        f"labels must be hashable ({error}); for one-hot rows take the place of the 1, as in "
        "y.argmax(axis=-1)",
        sample=sample,
    )


def same_label(codes: Ragged, labels: list[Any], what: str) -> str | None:
    """``"the label 'O' for every token"``, if all codes are the same; else None."""
    values = codes.values
    if not values.size or (values != values[0]).any():
        return None
    return f"the label {labels[int(values[0])]!r} for every {what}"


def label_list(y: Any) -> list[Any]:
    """One label per sample as a list."""
    if hasattr(y, "tolist"):
        y = y.tolist()
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        raise InputError(f"y must be a list of labels, got {type(y).__name__}")
    return list(y)


def is_list(value: Any) -> bool:
    """Whether a value has a length and an order, and is no string."""
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, Mapping, Set))


def listed(labels: list[Any]) -> str:
    """The first labels, for messages."""
    shown = ", ".join(repr(label) for label in labels[:8])
    return shown if len(labels) <= 8 else f"{shown}, ... ({len(labels)} labels)"
