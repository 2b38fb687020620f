"""Similarity functions k(x, x') of rows, strings and sequences of vectors."""

from __future__ import annotations

from typing import Any

from trelliswork._errors import InputError
from trelliswork.kernels._compose import Composed, Normalized, Precomputed, Product, Sum
from trelliswork.kernels._decomposition import WeightedDecomposition
from trelliswork.kernels._strings import NGram, Spectrum, VectorNGrams
from trelliswork.kernels._vectors import RBF, Kernel, Linear, Polynomial

__all__ = [
    "KERNELS",
    "RBF",
    "Composed",
    "Kernel",
    "Linear",
    "NGram",
    "Normalized",
    "Polynomial",
    "Precomputed",
    "Product",
    "Spectrum",
    "Sum",
    "VectorNGrams",
    "WeightedDecomposition",
    "as_kernel",
]

# Every kernel is listed here once, under the name that learners accept.
KERNELS: dict[str, type[Kernel]] = {
    "linear": Linear,
    "poly": Polynomial,
    "rbf": RBF,
    "ngram": NGram,
    "spectrum": Spectrum,
    "vector-ngrams": VectorNGrams,
    "weighted-decomposition": WeightedDecomposition,
    "normalized": Normalized,
    "composed": Composed,
    "sum": Sum,
    "product": Product,
    "precomputed": Precomputed,
}


def earlier_kernel(kernel: Any) -> Any:
    """The kernel of a model file that has only its name or parameter: ``"rbf"`` had a width of 1 then."""
    return RBF(1.0) if isinstance(kernel, str) and kernel == "rbf" else as_kernel(kernel)


def as_kernel(kernel: Any) -> Any:
    """A kernel from its name or from itself; any function of two sets of inputs will do.

    Parameters
    ----------
    kernel : str or callable
        A name, such as ``"rbf"``, or a kernel, which is returned as it is.

    Examples
    --------
    >>> from trelliswork.kernels import as_kernel
    >>> as_kernel("rbf")
    RBF()
    """
    if isinstance(kernel, str):
        if kernel in KERNELS:
            return KERNELS[kernel]()
    elif callable(kernel):
        return kernel
    raise InputError(f"kernel must be one of {', '.join(map(repr, KERNELS))} or a function, got {kernel!r}")
