"""Explicit features of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged
from trelliswork.kernels import Linear, NGram, Spectrum
from trelliswork.kernels._compose import similarities
from trelliswork.kernels._strings import NGramMap, as_vectors

__all__ = ["ColumnMap", "EmpiricalMap", "feature_map", "prepared", "restored_map", "take"]


class ColumnMap:
    """Rows of numbers are their own features.

    Parameters
    ----------
    n_features : int
        Width.
    """

    def __init__(self, n_features: int):
        self.n_features = n_features

    @property
    def names(self) -> list[Any]:
        """Column numbers."""
        return list(range(self.n_features))

    def transform(self, X: Any) -> Any:
        """The rows, checked."""
        rows = X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise InputError(f"rows of shape {rows.shape}; expected {self.n_features} columns")
        return rows

    def state(self) -> dict[str, Any]:
        """Width."""
        return {"n_features": self.n_features}


class EmpiricalMap:
    """Similarities with all training items, each with the input's item at the same position.

    Feature ``i`` of a sequence is ``k(v_i, x_p)``, ``v_i`` a training item and ``p`` its position;
    0 where the sequence is shorter.

    Parameters
    ----------
    kernel : kernel
        Of items.
    values, offsets : ndarrays
        Training items of all sequences.
    longest : int
        Length of the longest sequence.
    weights : ndarray or None
        How often each training sequence counts: an item that is there twice is one feature of twice the
        squared size.
    """

    def __init__(
        self, kernel: Any, values: np.ndarray, offsets: np.ndarray, longest: int, weights: Any = None
    ):
        self.kernel, self.values, self.offsets, self.longest = kernel, values, offsets, longest
        self.weights = weights
        self.n_features = len(values)
        self.position = np.arange(len(values)) - np.repeat(offsets[:-1], np.diff(offsets))

    @property
    def names(self) -> list[Any]:
        """Pairs of position and number of the training item."""
        return [(int(p), i) for i, p in enumerate(self.position)]

    def transform(self, items: Ragged) -> np.ndarray:
        """Features of sequences of items."""
        out = np.zeros((len(items), self.n_features))
        if items.values.shape[1] != self.values.shape[1] and len(items.values):
            raise InputError(
                f"items of {items.values.shape[1]} numbers; the training data have {self.values.shape[1]}"
            )
        for p in range(self.longest):
            there = np.flatnonzero(items.lengths > p)
            at_position = np.flatnonzero(self.position == p)
            if there.size and at_position.size:
                rows = items.values[items.offsets[:-1][there] + p]
                out[np.ix_(there, at_position)] = similarities(
                    self.kernel, rows, self.values[at_position], there
                )
        if self.weights is not None:
            out *= np.sqrt(np.repeat(self.weights, np.diff(self.offsets)))
        return out

    def masks(self, n_symbols: int) -> np.ndarray:
        """What position ``p`` has to do with items of other positions: rows (position, symbol)."""
        other = self.position[None, :] != np.arange(self.longest)[:, None]
        return np.repeat(other, n_symbols, axis=0)

    def state(self) -> dict[str, Any]:
        """Items, offsets, length and weights."""
        names = ("values", "offsets", "longest", "weights")
        return {name: getattr(self, name) for name in names}


def feature_map(kernel: Any, X: Any) -> Any:
    """Explicit features of a kernel for training inputs; an error where it has none."""
    if isinstance(kernel, Spectrum):
        return kernel.map(X)
    if isinstance(kernel, Linear):
        rows = X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
        return ColumnMap(int(rows.shape[1]))
    raise InputError(
        "solver='primal', mask and constraints need a kernel with explicit features (Linear, NGram, "
        f"Spectrum) or output=Positions(shared=False); got {kernel!r:.80}"
    )


def restored_map(kernel: Any, state: dict[str, Any]) -> Any:
    """Inverse of ``state``."""
    if "values" in state:
        offsets = np.asarray(state["offsets"])
        return EmpiricalMap(kernel, state["values"], offsets, int(state["longest"]), state["weights"])
    if isinstance(kernel, (NGram, Spectrum)):
        return NGramMap(list(state["symbols"]), list(state["tables"]), bool(state["boundary"]))
    return ColumnMap(int(state["n_features"]))


def prepared(X: Any) -> Any:
    """Sequences of vectors as a Ragged; anything else as it is."""
    if isinstance(X, (list, tuple)) and any(isinstance(x, np.ndarray) and x.ndim == 2 for x in X):
        return as_vectors(X)
    return X


def take(items: Any, index: Any) -> Any:
    """Some samples of a list, array, Ragged or sparse matrix."""
    if isinstance(items, Sequence):
        return [items[i] for i in index]
    return items[np.asarray(index)]
