"""Arrays that the solvers for classes are called with, grouped; free of compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Classes", "Rows"]


class Rows(NamedTuple):
    """Rows of the samples as CSR arrays."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


class Classes(NamedTuple):
    """The classes and their constraints."""

    above_ptr: np.ndarray  # with ``above``, ``share``: CSR arrays of the nodes of every class, itself
    above: np.ndarray  # included, and what each counts
    share: np.ndarray
    common: np.ndarray  # (n_classes, n_classes), inner products of the rows of that matrix
    height: np.ndarray  # (n_classes, n_classes), by true class and other class
    scale: np.ndarray
