"""Checks of numbers, samples and their weights."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Set
from numbers import Integral, Real
from typing import Any

import numpy as np

from trelliswork._errors import InputError, InputWarning

__all__ = [
    "as_number",
    "as_numbers",
    "check_number",
    "check_samples",
    "check_sentences_in",
    "check_weights",
    "count_samples",
    "is_frame",
    "random_numbers",
    "warn_nothing_known",
    "weights_or_ones",
]

_SEVERAL = 3  # that are all new look like a mistake
_PACKAGE = os.path.dirname(__file__)


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


def check_number(name: str, value: Any, low: float, *, whole: bool = False, above: bool = False) -> None:
    """Refuse a hyper-parameter that is not a finite number of at least (or above) ``low``."""
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    good = isinstance(value, kinds) and not isinstance(value, bool) and np.isfinite(value)
    if not good or value < low or (above and value == low):
        kind = "whole" if whole else "finite"
        raise InputError(f"{name} must be a {kind} number {'>' if above else '>='} {low:g}, got {value!r}")


def check_samples(X: Any, y: Any = None, *, empty: bool = False) -> None:
    """Refuse inputs that are not lists of samples, and lists of different lengths."""
    # Sparse matrices of some formats are dicts.
    unordered = isinstance(X, (str, bytes, Mapping, Set)) and not hasattr(X, "shape")
    if unordered or not (hasattr(X, "__len__") or hasattr(X, "shape")):
        raise InputError(f"X must be a list of samples, got {type(X).__name__}")
    n = count_samples(X)
    if n == 0 and not empty:
        raise InputError("X is empty: at least one sample is needed")
    if y is not None:
        if isinstance(y, (str, bytes, Mapping, Set)) or not hasattr(y, "__len__"):
            raise InputError(f"y must be a list of outputs, got {type(y).__name__}")
        if count_samples(y) != n:
            raise InputError(f"X has {n} samples but y has {count_samples(y)}")
    elif not empty:
        raise InputError(
            "y is missing: fit requires y to be passed, but the target y is None; give one output per sample"
        )


def check_sentences_in(X: Any) -> None:
    """Refuse one table where a list of sequences is needed, and samples that are tables or text."""
    if is_frame(X):
        records, groups = _words_of_library(X)
        columns = ", ".join([*map(repr, list(X.columns)[:3]), *["..."] * (len(X.columns) > 3)])
        raise InputError(
            f"X is one table of {len(X):,} rows; expected a list of sequences, such as sentences: "
            f"[rows[[{columns}]].{records} for _, rows in df.{groups}], and y alike"
        )
    if isinstance(X, (list, tuple)) and set(map(type, X)) <= {list, tuple}:
        return
    for i, x in enumerate(X):
        if isinstance(x, (str, bytes)):
            raise InputError(
                f"expected a list of tokens, got the string {x!r}; split it first, or, if X is one sentence, "
                "wrap it: [X]",
                sample=i,
            )
        if is_frame(x):
            raise InputError(
                f"expected a list of tokens, got a table; its rows are df.{_words_of_library(x)[0]}, or "
                "df.to_numpy() where all are numbers",
                sample=i,
            )


def is_frame(data: Any) -> bool:
    """Whether data are a data frame, of whatever library."""
    return hasattr(data, "columns") and hasattr(data, "to_numpy")


def _words_of_library(frame: Any) -> tuple[str, str]:
    """What the library of a data frame calls its rows as dicts, and those that belong together."""
    if type(frame).__module__.partition(".")[0] == "polars":
        return "to_dicts()", "group_by('sentence', maintain_order=True)"
    return "to_dict('records')", "groupby('sentence')"


def warn_nothing_known(what: str, n: int, example: Any, known: Any) -> None:
    """Warn that nothing in the inputs of a prediction was seen in training.

    Parameters
    ----------
    what : str
        What inputs are made of, in the plural.
    n : int
        How many there are; a few may well be new, and nothing is said.
    example, known : object
        One of them, and one of those that were seen.
    """
    if n >= _SEVERAL:
        frame, level = sys._getframe(), 1
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame, level = frame.f_back, level + 1  # the line of the user's that asked for it
        warnings.warn(
            f"none of the {n:,} {what} of these inputs, such as {example!r}, was seen in training "
            f"({known!r}, ...)",
            InputWarning,
            stacklevel=level,
        )


def count_samples(X: Any) -> int:
    """Number of samples of a list, array or sparse matrix."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    try:
        return len(X)
    except TypeError:
        raise InputError(f"expected a list of samples, got {type(X).__name__}") from None


def check_weights(sample_weight: Any, n: int) -> np.ndarray | None:
    """Sample weights as an array: finite, not negative, not all zero."""
    if sample_weight is None:
        return None
    weights = as_numbers("sample_weight", sample_weight, per_sample=True)
    if weights.shape != (n,):
        raise InputError(f"sample_weight must have one entry per sample ({n}), got shape {weights.shape}")
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise InputError(
            f"sample_weight is {weights[bad[0]]}; it must be finite and >= 0",
            sample=int(bad[0]),
        )
    if not weights.any():
        raise InputError("sample_weight is zero for every sample")
    return weights


def weights_or_ones(sample_weight: Any, n: int) -> np.ndarray:
    """Sample weights as :func:`check_weights` has them; 1 for every sample where there are none."""
    weights = check_weights(sample_weight, n)
    return np.ones(n) if weights is None else weights


def random_numbers(seed: Any) -> np.random.RandomState:
    """Generator of random numbers for ``random_state``, as scikit-learn reads it."""
    if isinstance(seed, np.random.RandomState):
        return seed
    if seed is None or seed is np.random:
        return np.random.mtrand._rand
    if isinstance(seed, Integral):
        return np.random.RandomState(seed)  # type: ignore[arg-type]
    raise InputError(f"random_state must be None, a number or a numpy RandomState, got {seed!r:.80}")
