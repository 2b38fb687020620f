"""What passes between structures and learners: values of parts, decoded outputs, tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from trelliswork._ragged import Ragged

__all__ = ["Decoded", "Largest", "Moments", "Parts"]


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

    def limited_to(self, other: Parts) -> Parts:
        """Only the arrays that another has, too.

        Parameters
        ----------
        other : Parts
            The other.
        """
        given = {name for name, values in other.items() if values is not None}
        return Parts(**{name: values if name in given else None for name, values in self.items()})

    def forbidden(self) -> Parts | None:
        """-inf where these values are -inf, 0 elsewhere; None where nothing is.

        Examples
        --------
        >>> import numpy as np
        >>> from trelliswork.structures import Parts
        >>> Parts(unary=np.array([2.0, -np.inf])).forbidden().unary.tolist(), Parts(unary=None).forbidden()
        ([0.0, -inf], None)
        """
        never = {name: None if a is None else np.isneginf(a) for name, a in self.items()}
        if not any(a is not None and a.any() for a in never.values()):
            return None
        return Parts(**{name: None if a is None else np.where(a, -np.inf, 0.0) for name, a in never.items()})

    def dot(self, other: Parts) -> float:
        """Sum of the products of all entries.

        Parameters
        ----------
        other : Parts
            Values of the same parts.
        """
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


class Largest:
    """A number or an array whose sum with another is the larger of the two, entry by entry.

    Parameters
    ----------
    value : float or ndarray
        The number.

    Examples
    --------
    >>> from trelliswork.structures.parts import Largest
    >>> float((Largest(2.0) + Largest(3.0)).value)
    3.0
    """

    def __init__(self, value: Any):
        self.value = value

    def __add__(self, other: Largest) -> Largest:
        return Largest(np.maximum(self.value, other.value)[()])


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
