"""What passes between structures and learners: values of parts, decoded outputs, tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from trelliswork._errors import Unsupported
from trelliswork._ragged import Ragged

if TYPE_CHECKING:
    from trelliswork.structures.base import Batch

__all__ = ["Ascent", "Decoded", "Moments", "Parts", "RowView", "Unsupported"]


class Parts:
    """Values of the parts of all outputs of a batch: scores, costs or expectations.

    A small vector space of named arrays; an array that is None stands for zeros.
    Shapes belong to the structure.

    Parameters
    ----------
    **arrays : ndarray or None
        Values by name.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.structures import Parts
    >>> p = Parts(unary=np.ones((2, 2)), trans=None)
    >>> (2 * p + p).unary[0].tolist(), p.dot(p)
    ([3.0, 3.0], 4.0)
    """

    def __init__(self, **arrays: np.ndarray | None):
        self.__dict__.update(arrays)

    def __getattr__(self, name: str) -> Any:  # only for names that are not there; keeps type checkers calm
        raise AttributeError(f"no part array {name!r}; there are {sorted(self.__dict__)}")

    def items(self) -> Iterator[tuple[str, np.ndarray | None]]:
        """Names and arrays."""
        return iter(self.__dict__.items())

    def __add__(self, other: Parts) -> Parts:
        out: dict[str, np.ndarray | None] = {}
        for name, a in self.items():
            b = other.__dict__.get(name)
            # A shared table (S, K) plus one table per sample (n, S, K) broadcasts to the latter.
            out[name] = b if a is None else a if b is None else a + b
        return Parts(**out)

    def __mul__(self, factor: float) -> Parts:
        return Parts(**{name: None if a is None else a * factor for name, a in self.items()})

    __rmul__ = __mul__

    def __sub__(self, other: Parts) -> Parts:
        return self + other * -1.0

    def dot(self, other: Parts) -> float:
        """Sum of the products of all entries."""
        total = 0.0
        for name, a in self.items():
            b = other.__dict__.get(name)
            if a is not None and b is not None:
                total += float(np.vdot(a, b))
        return total

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}={None if a is None else a.shape}" for name, a in self.items())
        return f"Parts({shapes})"


class Decoded(NamedTuple):
    """Outputs found by a decoder and their scores.

    Attributes
    ----------
    codes : Ragged of int
        One code sequence per output.
    values : ndarray
        Score of each output, costs included.
    """

    codes: Ragged
    values: np.ndarray


class Moments(NamedTuple):
    """First two moments of the features over the outputs of a batch.

    Attributes
    ----------
    mean : ndarray of shape (n_samples, n_features)
        Mean feature vector of each sample.
    covariance : ndarray of shape (n_features, n_features)
        Sum of the covariance matrices of all samples.
    """

    mean: np.ndarray
    covariance: np.ndarray


class RowView(NamedTuple):
    """Samples in terms of their distinct input rows: what a kernel on rows needs.

    Attributes
    ----------
    batch : Batch
        The same samples; its first ``n_rows * n_columns`` features are the pairs of a row and
        a column (label), row by row, and the others are those that do not depend on rows.
    rows : ndarray or csr_matrix of shape (n_rows, n_attributes)
        Distinct rows.
    n_columns : int
        Number of columns.
    first : ndarray of shape (n_rows,)
        Sample that a row is first met in.
    """

    batch: Batch
    rows: Any
    n_columns: int
    first: np.ndarray


class Ascent(Protocol):
    """Compiled ascent on the dual of a support vector machine, for one batch.

    The planes of a sample are its outputs: ``score(gold) - score(output)``, times a scale, is to
    reach a height, up to a slack. ``gap[i]`` is the duality gap of sample ``i`` (with neither cap
    nor curvature: its largest violation) when it was last visited, before it was solved.
    """

    gap: np.ndarray

    @property
    def n_constraints(self) -> int:
        """Number of planes that were ever used."""

    def start_from(self, start: Any) -> None:
        """Begin with the dual variables of an earlier solution (``learners._svm_start.Start``)."""

    def sweep(self, order: np.ndarray, search: bool) -> None:
        """Solve the problems of single samples in turn; ``search`` looks for new outputs."""

    def violations(self) -> np.ndarray:
        """Largest violation of every sample at the present weights."""

    def weights(self) -> np.ndarray:
        """The present weights (a copy)."""

    def squared_norm(self) -> float:
        """``|w|^2``."""

    def linear_term(self) -> float:
        """Sum of dual variables times heights."""

    def masses(self) -> np.ndarray:
        """Sum of the dual variables of every sample."""

    def longest(self) -> float:
        """Norm of the longest plane, or an upper bound."""

    def contradictory(self) -> bool:
        """Whether a violated plane is zero: no weights reach its height."""

    def keep(self) -> None:
        """Remember the present dual variables: they are those of :meth:`support`."""

    def support(self) -> list[tuple[int, Any, float]]:
        """Sample, output and dual variable of all planes in use."""
