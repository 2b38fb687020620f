"""What a structure has to know of data to be bound to them, from parts of the data that are read apart.

A survey of one part is joined with those of the parts that follow; the space of all of them is the space of
all data. Data that do not fit into one memory are bound in this way, and so are those that lie on several
machines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError

if TYPE_CHECKING:
    from trelliswork._tokens import TokenTable
    from trelliswork.structures.base import Space, Structure

__all__ = [
    "Counts",
    "Nothing",
    "Samples",
    "Survey",
    "Surveys",
    "block_counts",
    "joined_counts",
    "joined_widths",
]


class Survey(ABC):
    """What is known of the samples seen so far: alphabets and counts, no samples."""

    @abstractmethod
    def joined(self, other: Self) -> Survey:
        """Survey of the samples of both; those of the other follow."""

    @abstractmethod
    def space(self) -> Space:
        """Space of the samples: the one to which the structure binds them."""


class Surveys:
    """Surveys of parts as they come, joined with neighbours that are as large.

    A long survey that is joined with each short one as it comes would be copied once for every part.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.structures.survey import Surveys
    >>> surveys = Surveys()
    >>> for word, label in (("a", "A"), ("b", "B"), ("c", "A")):
    ...     surveys.add(Chain().survey([[word]], [[label]]))
    >>> surveys.all().space().labels
    ['A', 'B']
    """

    def __init__(self) -> None:
        self._open: list[tuple[int, Survey]] = []  # of ever fewer parts, by the logarithm of their number

    def add(self, survey: Survey) -> None:
        """Take the survey of the next part.

        Parameters
        ----------
        survey : Survey
            What is to be known of it.
        """
        size = 0
        while self._open and self._open[-1][0] == size:
            survey, size = self._open.pop()[1].joined(survey), size + 1
        self._open.append((size, survey))

    def all(self) -> Survey:
        """The survey of all parts, of which there must be one."""
        _, survey = self._open.pop()
        while self._open:
            survey = self._open.pop()[1].joined(survey)
        return survey


class Nothing(Survey):
    """Survey where data have no say in the space.

    Parameters
    ----------
    structure : Structure
        Hyper-parameters, which say everything.
    """

    def __init__(self, structure: Structure):
        self.structure = structure

    def joined(self, other: Self) -> Nothing:
        """The survey itself."""
        return self

    def space(self) -> Space:
        """Space without data."""
        return self.structure.bind([], [])


class Samples(Survey):
    """The samples themselves, for structures that have to see all of them at once.

    Parameters
    ----------
    structure : Structure
        Hyper-parameters.
    X, y : lists of inputs and outputs
        Samples.
    """

    def __init__(self, structure: Structure, X: Iterable[Any], y: Iterable[Any]):
        self.structure, self.X, self.y = structure, list(X), list(y)

    def joined(self, other: Self) -> Samples:
        """All samples."""
        return Samples(self.structure, self.X + other.X, self.y + other.y)

    def space(self) -> Space:
        """What the structure binds to."""
        return self.structure.bind(self.X, self.y)


Counts = list[dict[str, int]]


def joined_counts(first: Counts, second: Counts) -> Counts:
    """Counts of names, block by block of token tables; names in order of first use.

    Examples
    --------
    >>> from trelliswork.structures.survey import joined_counts
    >>> joined_counts([{"a": 1, "b": 2}], [{"c": 1, "a": 1}, {"d": 5}])
    [{'a': 2, 'b': 2, 'c': 1}, {'d': 5}]
    """
    nothing: dict[str, int] = {}
    return [_added(*both) for both in zip_longest(first, second, fillvalue=nothing)]


def _added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    both = dict(one)
    for name, n in other.items():
        both[name] = both.get(name, 0) + n
    return both


def joined_widths(first: int | None, second: int | None, empty: bool) -> int | None:
    """Number of columns of arrays, None for rows with names; they must agree unless one has no rows."""
    if first != second and not empty:
        raise InputError(f"X: expected arrays with {first} columns as before, got {second}")
    return second if first is None else first


def block_counts(table: TokenTable) -> Counts:
    """How often every name of a token table is used, block by block; names in order of first use.

    So the order of names is that of the tokens, whatever parts of the data were compiled together. Columns of
    arrays keep their places.
    """
    counts: Counts = []
    for names, matrix, index in table.blocks:
        used = np.bincount(index[index >= 0], minlength=matrix.shape[0])
        occurrences = np.asarray((matrix != 0).T @ used).ravel()
        order = np.arange(len(names)) if table.width is not None else _by_first_use(matrix, index)
        here: dict[str, int] = {}
        listed = list(names)
        for j, n in zip(order.tolist(), occurrences[order].tolist(), strict=True):
            here[listed[j]] = here.get(listed[j], 0) + n
        counts.append(here)
    return counts


def _by_first_use(matrix: Any, index: np.ndarray) -> np.ndarray:
    """Columns in the order in which tokens use them; those of one token as they stand, unused ones last."""
    first = np.full(matrix.shape[0], index.size)
    tokens = np.flatnonzero(index >= 0)[::-1]
    first[index[tokens]] = tokens  # of several assignments the last one stays
    entries = sp.coo_matrix(matrix)
    of_column = np.full(matrix.shape[1], index.size)
    np.minimum.at(of_column, entries.col, first[entries.row])
    return np.argsort(of_column, kind="stable")
