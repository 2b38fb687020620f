"""Parts in their contexts: what a kernel compares where inputs are not rows themselves.

A part of an output (a base pair, a match of two residues, a symbol over some words) stands at a place of the
input, and what is around that place is its *context*, a row of numbers. Two parts are compared by
``[same type] k(context, context)``: the joint kernel of inputs and outputs. In the feature space of this
kernel every distinct context has a coordinate for each type, which is what a :class:`RowView` is made of.
"""

from __future__ import annotations

import copy
import functools
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Self, cast, final

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, gather_ranges
from trelliswork.structures.abilities import Rows, RowView
from trelliswork.structures.base import Batch, Parts

__all__ = ["Contextual", "PartContexts", "check_context", "distinct_codes", "one_hot", "windows"]


class PartContexts(NamedTuple):
    """Contexts and types of the parts of a batch.

    Attributes
    ----------
    array : str
        Part array with one entry for every part.
    rows : csr_matrix of shape (n_rows, n_attributes)
        Distinct contexts.
    row, column : ndarray of int64, shape (n_parts,)
        Context of every part, -1 for those without one, and its type.
    n_columns : int
        Number of types.
    first : ndarray of shape (n_rows,)
        Sample that a context is first met in.
    """

    array: str
    rows: sp.csr_matrix
    row: np.ndarray
    column: np.ndarray
    n_columns: int
    first: np.ndarray


class Contextual(Rows):
    """Parts have contexts, which kernels may compare."""

    @abstractmethod
    def part_contexts(self) -> PartContexts:
        """Contexts and types of all parts."""

    @abstractmethod
    def context_places(self, codes: Ragged) -> tuple[np.ndarray, np.ndarray]:
        """Samples of given outputs and places of their parts in the array of :meth:`part_contexts`."""

    @final
    def row_view(self) -> RowView:
        """The same samples with one feature per context and type, and then the features of the structure."""
        return self.remembered("row view", self._in_contexts)

    def _in_contexts(self) -> RowView:
        found = self.part_contexts()
        place = np.where(found.row < 0, -1, found.row * found.n_columns + found.column)
        size = found.rows.shape[0] * found.n_columns
        view = _view(self, found.array, place, size)
        return RowView(view, found.rows, found.n_columns, found.first)


class InContext(Batch):
    """Verbs of a batch, whose first features are pairs of a context and a type.

    Attributes
    ----------
    plain : Batch
        The same samples with the features of the structure alone.
    context_array : str
        Part array of the parts with contexts.
    context_place : ndarray of int64
        Feature of every part, -1 for none.
    n_contexts : int
        Number of pairs of a context and a type.
    """

    plain: Batch
    context_array: str
    context_place: np.ndarray
    n_contexts: int

    @property
    def n_features(self) -> int:
        """Pairs of a context and a type, and features of the structure."""
        return self.n_contexts + self.plain.n_features

    def _take(self, index: np.ndarray, gold: Ragged | None) -> Self:
        places = gather_ranges(self.plain.part_offsets()[self.context_array], index)
        return cast(
            "Self",
            _view(
                self.plain._take(index, gold), self.context_array, self.context_place[places], self.n_contexts
            ),
        )

    def scores(self, w: np.ndarray) -> Parts:
        """Scores of the structure and of parts in their contexts."""
        w = np.asarray(w, dtype=np.float64)
        of_contexts = np.append(w[: self.n_contexts], 0.0)[self.context_place]
        parts = dict(self.plain.scores(w[self.n_contexts :]).items())
        given = parts.get(self.context_array)
        return Parts(**parts | {self.context_array: of_contexts if given is None else given + of_contexts})

    def scores_each(self, W: np.ndarray) -> Parts:
        """The same for one weight vector per sample."""
        return Batch.scores_each(self, W)

    def pull(self, parts: Parts) -> np.ndarray:
        """Values of parts to features, summed over samples."""
        used = self.context_place >= 0
        of_contexts = np.bincount(
            self.context_place[used], parts.__dict__[self.context_array][used], minlength=self.n_contexts
        )
        return np.concatenate([of_contexts, self.plain.pull(parts)])

    def pull_each(self, parts: Parts) -> sp.csr_matrix:
        """The same, one row per sample."""
        offsets = self.plain.part_offsets()[self.context_array]
        owner = np.repeat(np.arange(len(self)), np.diff(offsets))
        return self._context_rows(
            owner, parts.__dict__[self.context_array], self.context_place, self.plain.pull_each(parts)
        )

    def features(self, codes: Ragged) -> sp.csr_matrix:
        """Feature vectors of one given output per sample."""
        owner, part = cast("Contextual", self.plain).context_places(codes)
        return self._context_rows(
            owner, np.ones(part.size), self.context_place[part], self.plain.features(codes)
        )

    def _context_rows(
        self, owner: np.ndarray, value: np.ndarray, place: np.ndarray, plain: Any
    ) -> sp.csr_matrix:
        used = (place >= 0) & (value != 0.0)
        entries = (value[used], (owner[used], place[used]))
        of_contexts = sp.coo_matrix(entries, (len(self), self.n_contexts))
        return sp.csr_matrix(sp.hstack([of_contexts, plain]))

    def gold_sum(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Sum of the feature vectors of the true outputs."""
        return self.gold().T @ (np.ones(len(self)) if weights is None else weights)

    def expect(
        self, w: np.ndarray, costs: Parts | None = None, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log partitions and the weighted sum of expected features, in two passes."""
        return Batch.expect(self, w, costs, weights)


def _view(plain: Batch, array: str, place: np.ndarray, size: int) -> Batch:
    """A batch with the verbs of another, of the class that knows contexts."""
    view: Any = copy.copy(plain)
    view.__class__ = _class_in_context(type(plain))
    view.plain, view.context_array, view.context_place, view.n_contexts = plain, array, place, size
    return cast("Batch", view)


@functools.cache
def _class_in_context(kind: type[Batch]) -> type[Batch]:
    members: Mapping[str, Any] = {"__doc__": InContext.__doc__, "__module__": __name__}
    return type(f"{kind.__name__}InContext", (InContext, kind), dict(members))


# -- rows of symbols around a place -------------------------------------------------------------


def check_context(context: Any) -> None:
    """Refuse a number of neighbours that is none."""
    if isinstance(context, bool) or not isinstance(context, (int, np.integer)) or not 0 <= context <= 20:
        raise InputError(f"context must be a whole number from 0 to 20, got {context!r}")


def windows(codes: np.ndarray, offsets: np.ndarray, radius: int, border: int) -> np.ndarray:
    """Codes of the neighbours of every symbol, shape (n_symbols, 2 * radius + 1).

    Parameters
    ----------
    codes, offsets : ndarray of int
        Sequences, one after the other, and where each starts.
    radius : int
        Neighbours on either side.
    border : int
        Code of what lies beyond the ends.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.structures.contexts import windows
    >>> windows(np.array([5, 6, 7]), np.array([0, 2, 3]), 1, 9).tolist()
    [[9, 5, 6], [5, 6, 9], [9, 7, 9]]
    """
    owner = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    out = np.full((codes.size, 2 * radius + 1), border, dtype=np.int64)
    for shift in range(-radius, radius + 1):
        at = np.arange(codes.size) + shift
        inside = (at >= offsets[owner]) & (at < offsets[owner + 1])
        out[inside, shift + radius] = codes[at[inside]]
    return out


def distinct_codes(codes: np.ndarray, n_codes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows of codes from -1 to ``n_codes - 1``, where each is first, and that of every row."""
    if codes.shape[1] * np.log2(n_codes + 1) < 62:  # as one number
        keys = np.zeros(len(codes), dtype=np.int64)
        for column in codes.T:
            keys = keys * (n_codes + 1) + column + 1
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    else:
        _, first, place = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return codes[first], first, place.ravel()


def one_hot(codes: np.ndarray, n_codes: int) -> sp.csr_matrix:
    """Rows of codes as rows of zeros and ones; -1 has no one."""
    row, column = np.nonzero(codes >= 0)
    indices = column * n_codes + codes[row, column]
    return sp.csr_matrix((np.ones(row.size), (row, indices)), shape=(len(codes), n_codes * codes.shape[1]))
