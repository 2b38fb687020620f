"""Checks of single values."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from trelliswork._errors import InputError

__all__ = ["as_number", "as_numbers"]


def as_number(what: str, value: Any, *, sample: int | None = None) -> float:
    """A finite real number as a float; anything else is an error about ``what`` (of a sample)."""
    if not isinstance(value, (int, float, Real, np.bool_)):
        raise InputError(f"{what} is {value!r:.80}; it must be a finite number", sample=sample)
    try:
        number = float(value)
    except OverflowError:
        raise InputError(f"{what} is too large; it must be a finite number", sample=sample) from None
    if not np.isfinite(number):
        raise InputError(f"{what} is {number}; it must be a finite number", sample=sample)
    return number


def as_numbers(what: str, values: Any, *, sample: int | None = None, per_sample: bool = False) -> np.ndarray:
    """A new float array of real numbers, not all of them finite.

    ``what`` names entry ``{}`` in errors, which are about ``sample``, or with ``per_sample`` about the sample
    with the number of the entry.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # lists of unequal lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    items = values if np.iterable(values) and not isinstance(values, str) else [values]
    return np.array(
        [
            as_number(what.format(i), value, sample=i if per_sample else sample)
            for i, value in enumerate(items)
        ]
    )
