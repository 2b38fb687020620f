"""Kernels made of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.kernels._strings import NGram
from trelliswork.kernels._vectors import Kernel, Polynomial

__all__ = [
    "Composed",
    "Normalized",
    "Precomputed",
    "Product",
    "Sum",
    "diagonal_of",
    "fitted",
    "fresh",
    "similarities",
]

_LARGEST = 1e100  # sums of squares of larger similarities overflow


def diagonal_of(kernel: Any, A: Any) -> np.ndarray:
    """Similarity of each item with itself, for a kernel or a plain function."""
    _check_callable(kernel)
    if hasattr(kernel, "diagonal"):
        return kernel.diagonal(A)
    n = A.shape[0] if hasattr(A, "shape") else len(A)
    return np.array([float(np.asarray(kernel(A[i : i + 1], A[i : i + 1]))[0, 0]) for i in range(n)])


def fitted(kernel: Any, A: Any) -> Any:
    """A kernel with what it takes from the training inputs; a plain function takes nothing."""
    return kernel.fitted(A) if isinstance(kernel, Kernel) else kernel


def _check_callable(kernel: Any) -> None:
    if not callable(kernel):
        raise InputError(f"a kernel must be a function of two sets of inputs, got {type(kernel).__name__}")


def similarities(kernel: Any, A: Any, B: Any, names: np.ndarray | None = None) -> np.ndarray:
    """Values of a kernel, checked; ``names`` are the sample numbers of ``A`` in error messages."""
    n = A.shape[0] if hasattr(A, "shape") else len(A)
    m = B.shape[0] if hasattr(B, "shape") else len(B)
    if not n or not m:
        return np.zeros((n, m))
    _check_callable(kernel)
    values = kernel(A, B)
    got: Any = type(values).__name__
    try:
        K = np.asarray(values.toarray() if sp.issparse(values) else values)
        got = K.dtype
        if K.dtype.kind not in "fiubO" or (K.dtype.kind == "O" and K.ndim == 0):
            raise TypeError
        K = K.astype(np.float64, copy=False)
    except (TypeError, ValueError):  # also for lists of unequal lengths
        raise InputError(f"the kernel must give an array of real numbers, got {got}") from None
    if K.shape != (n, m):
        raise InputError(f"the kernel gave an array of shape {K.shape} for {n} and {m} inputs")
    # If any value is NaN or too large, so is the least or the greatest.
    if not max(-K.min(), K.max()) <= _LARGEST:
        i, j = map(int, np.argwhere(~(np.abs(K) <= _LARGEST))[0])
        number = i if names is None else int(names[i])
        raise InputError(
            f"the kernel gives {K[i, j]}; it must be finite for every two inputs, and no "
            f"larger than {_LARGEST:g}",
            sample=number,
        )
    return K


def fresh(kernel: Any, A: Any, B: Any) -> np.ndarray:
    """Values of a kernel that may be overwritten; a user's function may keep the array that it returns."""
    if type(kernel).__module__.startswith("trelliswork."):
        return kernel(A, B)
    return similarities(kernel, A, B).copy()


class Normalized(Kernel):
    """``k(x, x') / sqrt(k(x, x) k(x', x'))``; 0 where an item has no features.

    Parameters
    ----------
    kernel : kernel, default=None
        Kernel to be normalised; ``NGram()`` when None.

    Examples
    --------
    >>> from trelliswork.kernels import NGram, Normalized
    >>> Normalized(NGram(1))(["aab"], ["aab", "ab", ""]).round(3).tolist()
    [[1.0, 0.949, 0.0]]
    """

    def __init__(self, kernel: Any = None):
        self.kernel = kernel

    def _inner(self) -> Any:
        return NGram() if self.kernel is None else self.kernel

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Cosines."""
        inner = self._inner()
        left = diagonal_of(inner, A)
        right = left if A is B else diagonal_of(inner, B)
        out = fresh(inner, A, B)
        out *= _inverse_root(left)[:, None]
        out *= _inverse_root(right)
        return out

    def diagonal(self, A: Any) -> np.ndarray:
        """Ones, or zeros where an item has no features."""
        return (diagonal_of(self._inner(), A) > 0).astype(np.float64)

    def fitted(self, A: Any) -> Normalized:
        """Of a fitted kernel."""
        return Normalized(fitted(self._inner(), A))


def _inverse_root(squares: np.ndarray) -> np.ndarray:
    return np.divide(1.0, np.sqrt(np.maximum(squares, 0.0)), out=np.zeros(squares.size), where=squares > 0)


class Composed(Kernel):
    """A kernel of vectors applied to the features of another kernel.

    Parameters
    ----------
    inner : kernel, default=None
        The other kernel; ``NGram()`` when None.
    outer : Polynomial or RBF, default=None
        Kernel that is applied to its values; ``Polynomial(3)`` when None.

    Examples
    --------
    >>> from trelliswork.kernels import Composed, NGram, Polynomial
    >>> Composed(NGram(1), Polynomial(2))(["aab"], ["ab"]).tolist()  # (1 + 3)^2
    [[16.0]]
    """

    def __init__(self, inner: Any = None, outer: Any = None):
        self.inner = inner
        self.outer = outer

    def _parts(self) -> tuple[Any, Any]:
        outer = Polynomial(3) if self.outer is None else self.outer
        if not hasattr(outer, "of"):
            raise InputError(f"outer must be a Polynomial or RBF kernel, got {outer!r}")
        return NGram() if self.inner is None else self.inner, outer

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """The outer kernel of the inner one."""
        inner, outer = self._parts()
        if isinstance(outer, Polynomial):  # needs no norms
            return outer.of(fresh(inner, A, B))
        return outer.of(fresh(inner, A, B), diagonal_of(inner, A), diagonal_of(inner, B))

    def diagonal(self, A: Any) -> np.ndarray:
        """The outer kernel of the inner diagonal."""
        inner, outer = self._parts()
        squares = diagonal_of(inner, A)
        return outer.of(squares) if isinstance(outer, Polynomial) else np.ones(squares.size)


class Sum(Kernel):
    """Weighted sum of kernels: their features side by side.

    Parameters
    ----------
    kernels : list of kernels, default=()
        The terms.
    weights : list of float, default=None
        Factors, not negative; ones when None. The larger, the more a kernel counts.

    Examples
    --------
    >>> from trelliswork.kernels import NGram, Sum
    >>> Sum([NGram(1), NGram(2)], [1.0, 0.5])(["ab"], ["ab"]).tolist()
    [[2.5]]
    """

    def __init__(self, kernels: Any = (), weights: Sequence[float] | None = None):
        self.kernels = kernels
        self.weights = weights

    def _terms(self) -> list[tuple[Any, float]]:
        if not len(self.kernels):
            raise InputError("kernels is empty: a sum needs at least one term")
        weights = [1.0] * len(self.kernels) if self.weights is None else list(self.weights)
        if len(weights) != len(self.kernels) or not all(np.isfinite(w) and w >= 0 for w in weights):
            raise InputError(f"weights must be {len(self.kernels)} finite numbers >= 0, got {weights!r}")
        return list(zip(self.kernels, weights, strict=True))

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Sums."""
        return np.asarray(sum(w * k(A, B) for k, w in self._terms()))

    def diagonal(self, A: Any) -> np.ndarray:
        """Sums."""
        return np.asarray(sum(w * diagonal_of(k, A) for k, w in self._terms()))

    def fitted(self, A: Any) -> Sum:
        """Of fitted terms."""
        return Sum([fitted(kernel, A) for kernel in self.kernels], self.weights)


class Product(Kernel):
    """Product of kernels: all pairs of their features.

    Parameters
    ----------
    kernels : list of kernels, default=()
        The factors.

    Examples
    --------
    >>> from trelliswork.kernels import NGram, Product
    >>> Product([NGram(1), NGram(2)])(["ab"], ["aab"]).tolist()
    [[3.0]]
    """

    def __init__(self, kernels: Any = ()):
        self.kernels = kernels

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Products."""
        return np.prod([k(A, B) for k in self._factors()], axis=0)

    def diagonal(self, A: Any) -> np.ndarray:
        """Products."""
        return np.prod([diagonal_of(k, A) for k in self._factors()], axis=0)

    def fitted(self, A: Any) -> Product:
        """Of fitted factors."""
        return Product([fitted(kernel, A) for kernel in self.kernels])

    def _factors(self) -> list[Any]:
        if not len(self.kernels):
            raise InputError("kernels is empty: a product needs at least one factor")
        return list(self.kernels)


class Precomputed(Kernel):
    """Similarities that were computed elsewhere: a sample is its row of the Gram matrix.

    The columns are the training samples, which are given by their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.kernels import Precomputed
    >>> Precomputed()(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1])).tolist()
    [[1.0], [3.0]]
    """

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Columns ``B`` of the rows ``A``."""
        rows = np.asarray(A, dtype=np.float64)
        if rows.ndim != 2:
            raise InputError(f"a precomputed kernel takes a matrix of similarities, got shape {rows.shape}")
        columns = np.asarray(B)
        if columns.size and int(columns.max()) >= rows.shape[1]:
            raise InputError(
                f"rows of {rows.shape[1]} similarities; the training data have more than {int(columns.max())}"
            )
        return rows[:, columns]
