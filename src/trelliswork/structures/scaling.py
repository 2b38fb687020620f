"""Columns of numbers on one scale, so that a penalty means the same for all of them.

Weights belong to scaled columns, ``(x - center) / scale``; whoever reads ``coef_`` finds both numbers of
every attribute in ``space_.scaling``. Columns are measured on the training data:

- columns of arrays that hold nothing but 0 and 1 stay as they are;
- columns of arrays that are 0 in at least one of fifty rows start at 0, as counts and pixels do: they are
  divided by their largest absolute value, or by four times the root mean square of what is not 0 where that
  is less. So are all columns where no weight could take up what is subtracted;
- other columns of arrays are less their mean and divided by their range, or by four standard deviations where
  that is less;
- attributes of sparse matrices, dicts and lists, where 0 is not even stored, are divided by the root mean
  square of what is not 0 if it is above 1. So an indicator stays 1, and a length does not dwarf it.

Columns then vary by about 1, as indicators do. Standard deviations alone would make the pixels at the rim of
an image, which are 0 nearly always, as large as those in the middle; the bound keeps single large values from
making all others small.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._stored import fitting, numbers
from trelliswork.structures.batch import Batch
from trelliswork.structures.parts import Largest
from trelliswork.structures.tokens import Block, TokenMap

__all__ = ["Scalable", "Scaling", "check_scale", "column_scaling", "rescaled"]

_STORED = {"center": numbers("attributes"), "scale": numbers("attributes", low=0)}
_ZEROS = 0.02  # share of zeros from which on a column starts at 0
_DEVIATIONS = 4.0  # that a column may be divided by at most
_CONSTANT = 1e-12  # of its size: a column that varies by less does not vary
_INDICATOR = 1.0 + 1e-9


class Scaling(NamedTuple):
    """What is subtracted from every attribute, and what it is divided by.

    Attributes
    ----------
    center, scale : ndarray of shape (n_attributes,)
        0 and 1 for attributes that stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork import CRF, Classes
    >>> X = np.array([[1.0, 100.0], [0.0, 300.0], [1.0, 500.0]])
    >>> center, scale = CRF(Classes()).fit(X, ["a", "b", "b"]).space_.scaling
    >>> center.tolist(), scale.round(1).tolist()
    ([0.0, 300.0], [1.0, 400.0])
    """

    center: np.ndarray
    scale: np.ndarray

    def state(self) -> dict[str, Any]:
        """Arrays for a model file."""
        return {"center": self.center, "scale": self.scale}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], n_attributes: int) -> Scaling | None:
        """Inverse of :meth:`state` for files that are not trusted; None where nothing was stored."""
        if "center" not in state:
            return None
        stored = fitting(state, _STORED, "scales of columns", attributes=n_attributes)
        if not np.all(stored["scale"] > 0):
            raise InputError("the scale of a column is 0")
        return cls(stored["center"], stored["scale"])

    def at(self, place: np.ndarray, size: int) -> Scaling:
        """The same numbers for attributes with other places among ``size``; others stay as they are."""
        center, scale = np.zeros(size), np.ones(size)
        center[place], scale[place] = self.center, self.scale
        return Scaling(center, scale)


class Scalable(Batch):
    """Inputs hold columns of numbers, which can be brought to one scale."""

    space: Any

    @abstractmethod
    def columns(self, weights: np.ndarray | None) -> tuple[TokenMap, np.ndarray | None]:
        """Features of the tokens as they came, and the weights of tokens.

        Parameters
        ----------
        weights : ndarray or None
            Weight of each sample.
        """

    @abstractmethod
    def rescaled(self, space: Any) -> Batch:
        """The same samples in a space that differs in the scale of its columns."""

    def on_one_scale(
        self, weights: np.ndarray | None = None, asked: Callable[[], Batch] | None = None
    ) -> Batch:
        """The same samples with their columns on one scale.

        Parameters
        ----------
        weights : ndarray or None
            Weight of each sample.
        asked : callable or None
            Gives the same samples, perhaps in blocks, which are asked for sums; None for these.
        """
        space = self.space
        if space.structure.scale is None:
            return self
        scaling = column_scaling(self, weights, asked)
        if scaling is None and space.scaling is None:
            return self
        new = space.with_scaling(scaling)
        return self.derived(_rescaled, new, space=new)


def _rescaled(batch: Scalable, space: Any) -> Batch:
    return batch.rescaled(space)


def check_scale(scale: Any) -> None:
    """Refuse values of the parameter ``scale`` that make no sense."""
    if scale is not None and not (isinstance(scale, str) and scale == "auto"):
        raise InputError(f"scale must be 'auto' or None, got {scale!r}")


def column_scaling(
    batch: Any, weights: np.ndarray | None, asked: Callable[[], Batch] | None = None
) -> Scaling | None:
    """Scales of the attributes that are no markers; None where all of them stay as they are.

    Parameters
    ----------
    batch : Scalable
        The training data.
    weights : ndarray or None
        Weight of every sample.
    asked : callable or None
        Gives the same samples, perhaps in blocks, which are asked for sums; None for these.
    """
    if not batch.summed(_other_than_indicators):
        return None
    batch = batch if asked is None else asked()
    space = batch.space
    extent = Extent(*batch.summed(_extent, weights=weights))
    largest = np.maximum(extent.top.value, extent.bottom.value)
    unit = np.where(largest > 0, largest, 1.0)  # squares of the others might not be finite
    plain = (extent.odd == 0) | (largest == 0)
    center, scale = np.zeros(unit.size), np.ones(unit.size)
    if not np.all(plain):
        total = np.where(extent.total > 0, extent.total, 1.0)
        sums, squares = batch.summed(_moments, unit, weights=weights)
        root = np.sqrt(squares / np.where(extent.present > 0, extent.present, 1.0))
        scale[~plain] = (unit * np.minimum(1.0, _DEVIATIONS * root))[~plain]
        moved = ~plain & space.takes_up_means & (extent.present > (1.0 - _ZEROS) * extent.total)
        mean = sums / total
        deviation = np.sqrt(batch.summed(_squared_deviations, unit, mean, weights=weights) / total)
        spread = (extent.top.value + extent.bottom.value) / unit
        spread = np.minimum(spread, _DEVIATIONS * deviation)
        center[moved] = (mean * unit)[moved]
        scale[moved] = (unit * np.where(deviation <= _CONSTANT, np.abs(mean), spread))[moved]
    size = np.sqrt(extent.squares / np.where(extent.counts > 0, extent.counts, 1.0))
    scale = np.where((size > _INDICATOR) & np.isfinite(size), size, scale)
    return None if np.all(scale == 1.0) and not center.any() else Scaling(center, scale)


class Extent(NamedTuple):
    """What columns hold, an entry per attribute; the first five of columns of arrays, the others of names.

    Attributes
    ----------
    total : ndarray
        Weight of the tokens.
    present : ndarray
        Weight of the tokens where the column is not 0.
    odd : ndarray
        Number of values that are neither 0 nor 1.
    top, bottom : Largest
        The largest value, and minus the smallest one.
    counts, squares : ndarray
        Weight of the tokens with the attribute, and sum of the squares of its values.
    """

    total: np.ndarray
    present: np.ndarray
    odd: np.ndarray
    top: Largest
    bottom: Largest
    counts: np.ndarray
    squares: np.ndarray


def _other_than_indicators(batch: Scalable, weights: np.ndarray | None) -> int:
    """Number of blocks of values that are not all 1 where they are given."""
    tokens, _ = batch.columns(None)
    return sum(block.dense or not np.all(block.matrix.data == 1.0) for block in tokens.blocks)


def _extent(batch: Scalable, weights: np.ndarray | None) -> Extent:
    n_real = len(batch.space.attributes)
    total, present, odd = np.zeros((3, n_real))
    top, bottom = np.full((2, n_real), -np.inf)
    tokens, share = batch.columns(weights)
    counts, squares = np.zeros((2, tokens.layout.n_attributes))
    for block in tokens.blocks:
        by_row = _row_weights(block, share)
        if block.columns is not None:
            matrix, by_row, columns = block.matrix[by_row > 0], by_row[by_row > 0], block.columns
            total[columns] = by_row.sum()
            present[columns] = by_row @ (matrix != 0)
            odd[columns] = ((matrix != 0) & (matrix != 1)).sum(axis=0)
            top[columns] = matrix.max(axis=0, initial=-np.inf)
            bottom[columns] = -matrix.min(axis=0, initial=np.inf)
        else:
            given = np.repeat(by_row, np.diff(block.matrix.indptr)) * (block.matrix.data != 0)
            counts += np.bincount(block.matrix.indices, given, minlength=counts.size)
            given *= block.matrix.data**2
            squares += np.bincount(block.matrix.indices, given, minlength=counts.size)
    return Extent(total, present, odd, Largest(top), Largest(bottom), counts[:n_real], squares[:n_real])


def _moments(batch: Scalable, unit: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the values of columns of arrays, and of their squares, in units of every column."""
    sums, squares = np.zeros((2, unit.size))
    for block, share in _arrays(batch, weights):
        values = block.matrix / unit[block.columns]
        sums[block.columns], squares[block.columns] = share @ values, share @ values**2
    return sums, squares


def _squared_deviations(
    batch: Scalable, unit: np.ndarray, mean: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    out = np.zeros(unit.size)
    for block, share in _arrays(batch, weights):
        values = block.matrix / unit[block.columns] - mean[block.columns]
        out[block.columns] = share @ values**2
    return out


def _arrays(batch: Scalable, weights: np.ndarray | None) -> Iterator[tuple[Block, np.ndarray]]:
    """Columns of arrays, each with the weights of its rows."""
    tokens, share = batch.columns(weights)
    for block in tokens.blocks:
        if block.columns is not None:
            yield block, _row_weights(block, share)


def _row_weights(block: Block, weights: np.ndarray | None) -> np.ndarray:
    """Sum of the weights of the tokens that have each row."""
    used = block.index >= 0
    share = None if weights is None else weights[used]
    return np.bincount(block.index[used], share, minlength=block.matrix.shape[0]).astype(np.float64)


def rescaled(tokens: TokenMap, old: Scaling | None, new: Scaling | None) -> TokenMap:
    """Features on another scale; both are for the attributes of the map that are no markers.

    Parameters
    ----------
    tokens : TokenMap
        Features.
    old, new : Scaling or None
        The scale that they have, and that they shall have; None is as the data come.
    """
    if new is old:
        return tokens
    size = tokens.layout.n_attributes
    center, scale = (np.zeros(size), np.zeros(size)), (np.ones(size), np.ones(size))
    for number, scaling in enumerate((old, new)):
        if scaling is not None:
            n = scaling.scale.size
            center[number][:n], scale[number][:n] = scaling
    shift = center[0] - center[1]
    blocks = []
    for block in tokens.blocks:
        if block.columns is None:
            m = block.matrix
            data = m.data * (scale[0] / scale[1])[m.indices]
            scaled = sp.csr_matrix((data, m.indices, m.indptr), m.shape)
            blocks.append(Block(scaled, block.index, None, block.identity))
            continue
        columns = block.columns
        values = block.matrix * scale[0][columns]
        if block.index.min(initial=0) >= 0:
            values += shift[columns]
            # Zeros that only rounding has moved are zeros.
            values[np.abs(values) <= _CONSTANT * np.abs(shift[columns])] = 0.0
            shift[columns] = 0.0
        values /= scale[1][columns]
        blocks.append(Block(values, block.index, columns, block.identity))
    moved = np.flatnonzero(shift)
    if moved.size:  # a 0 that is not stored is a number like others where there is a mean
        every = np.zeros(tokens.n_tokens, dtype=np.int32)
        blocks.insert(0, Block((shift / scale[1])[None, moved], every, moved))  # markers stay last
    moved_map = TokenMap(tokens.layout, blocks, tokens.n_tokens)
    return moved_map if tokens.own is None else moved_map.with_own()
