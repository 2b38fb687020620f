"""Rows of named values on one scale: words weighed by how rare they are, numbers standardised."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._parameters import Transformer
from trelliswork._stored import fitting, numbers

__all__ = ["RowScaler"]

_STORED = {"idf_": numbers("words", low=0), "center_": numbers("columns"), "scale_": numbers("columns")}


class RowScaler(Transformer):
    """Scale rows that are dicts, as :func:`~trelliswork.io.read_rows` gives them.

    Words of a text column are multiplied by ``1 + log((1 + n) / (1 + n_word))``, for ``n`` training rows of
    which ``n_word`` have the word, and scaled to length 1 for each row and text column; words that were not
    seen are left out (tf-idf). A number that every training row has is standardised; where some rows lack it
    (0 in sparse files), it is divided by the largest absolute value, so that a missing number stays 0.
    Columns of nothing but 0 and 1, texts, lists and truth values stay as they are.

    Parameters
    ----------
    text : sequence of str, default=()
        Text columns; their words are keys such as ``"body:dog"``.
    numbers : bool, default=True
        Whether to scale numbers.

    Attributes
    ----------
    words_, idf_ : list of str, and ndarray
        Words with their columns, and their factors.
    numbers_, center_, scale_ : list of str, and ndarrays
        Numeric columns, what is subtracted, and what is divided by.

    See Also
    --------
    Classes : What takes its rows.

    References
    ----------
    .. [1] Hastie, Tibshirani, Friedman (2009), The elements of statistical learning (standardised inputs).

    Examples
    --------
    >>> from trelliswork.features import RowScaler
    >>> rows = [{"size": 1.0, "b:cat": 1.0, "b:the": 1.0}, {"size": 3.0, "b:the": 1.0}]
    >>> scaled = RowScaler(text=["b"]).fit_transform(rows)
    >>> {key: round(value, 2) for key, value in scaled[0].items()}
    {'size': -1.0, 'b:cat': 0.81, 'b:the': 0.58}
    """

    def __init__(self, text: Sequence[str] = (), numbers: bool = True):
        self.text = text
        self.numbers = numbers

    @readable
    def fit(self, X: Any, y: Any = None) -> RowScaler:
        """Count words, and measure numbers.

        Parameters
        ----------
        X : list of dict
            Rows.
        y : object, default=None
            Ignored.
        """
        _check(X)
        counts: Counter[str] = Counter()
        values: defaultdict[str, list[float]] = defaultdict(list)
        for row in X:
            for key, value in row.items():
                if self._column(key) is not None:
                    counts[key] += 1
                elif self.numbers and _is_number(value):
                    values[key].append(value)
        self.words_ = sorted(counts)
        n_rows = np.array([counts[word] for word in self.words_], dtype=np.float64)
        self.idf_ = 1.0 + np.log((1.0 + len(X)) / (1.0 + n_rows))
        self.numbers_ = sorted(key for key, column in values.items() if not set(column) <= {0.0, 1.0})
        center, scale = [], []
        for key in self.numbers_:
            column = np.array(values[key], dtype=np.float64)
            complete = column.size == len(X)
            center.append(column.mean() if complete else 0.0)
            scale.append(column.std() if complete else np.abs(column).max())
        self.center_ = np.array(center)
        self.scale_ = np.array([value if value > 0 else 1.0 for value in scale])
        return self

    def check_stored(self) -> None:
        """Refuse fitted attributes, from a file, that do not fit each other."""
        if not hasattr(self, "words_"):
            return  # not fitted
        for names in (self.words_, self.numbers_):
            if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
                raise InputError("the stored columns are damaged: a name is no text")
        sizes = {"words": len(self.words_), "columns": len(self.numbers_)}
        stored = fitting(vars(self), _STORED, "columns", **sizes)
        self.idf_, self.center_, self.scale_ = (stored[name] for name in ("idf_", "center_", "scale_"))
        if not np.all(self.scale_ > 0):
            raise InputError("the stored columns are damaged: one has no scale")

    @readable
    def transform(self, X: Any) -> list[dict[str, Any]]:
        """Scaled rows.

        Parameters
        ----------
        X : list of dict
            Rows.

        Returns
        -------
        list of dict
        """
        _check(X)
        idf = dict(zip(self.words_, self.idf_.tolist(), strict=True))
        ranges = dict(
            zip(self.numbers_, zip(self.center_.tolist(), self.scale_.tolist(), strict=True), strict=True)
        )
        return [self._scaled(row, idf, ranges) for row in X]

    def _scaled(
        self, row: dict[str, Any], idf: dict[str, float], ranges: dict[str, tuple[float, float]]
    ) -> dict[str, Any]:
        out: dict[str, Any] = {}
        squares: defaultdict[str, float] = defaultdict(float)
        columns: list[tuple[str, str]] = []
        for key, value in row.items():
            column = self._column(key)
            if column is not None:
                if key in idf:
                    out[key] = value * idf[key]
                    squares[column] += out[key] ** 2
                    columns.append((key, column))
            elif key in ranges and _is_number(value):
                center, scale = ranges[key]
                out[key] = (value - center) / scale
            else:
                out[key] = value
        lengths = {column: math.sqrt(total) for column, total in squares.items()}
        for key, column in columns:
            out[key] /= lengths[column]
        return out

    def _column(self, key: str) -> str | None:
        """Text column of a word; None for other keys."""
        column, colon, _ = key.partition(":")
        return column if colon and column in self.text else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check(X: Any) -> None:
    if isinstance(X, (str, bytes, dict)) or not hasattr(X, "__len__"):
        raise InputError(f"X must be a list of dicts, got {type(X).__name__}")
    for i, row in enumerate(X):
        if not isinstance(row, dict):
            raise InputError(f"expected a dict of named values, got {row!r:.60}", sample=i)
