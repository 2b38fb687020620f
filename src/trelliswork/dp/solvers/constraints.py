"""Arrays that :mod:`trelliswork.dp.solvers.planes` is called with, grouped; free of compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Metric", "Planes"]


class Planes(NamedTuple):
    """Planes of all samples and their dual variables; arrays of shape (n_samples, n_slots, ...).

    ``n_planes`` (n_samples,) is how many slots are taken, ``idle`` how many visits a plane was out of use.
    """

    n_planes: np.ndarray
    start: np.ndarray
    size: np.ndarray
    idx: np.ndarray
    val: np.ndarray
    offset: np.ndarray
    beta: np.ndarray
    gram: np.ndarray
    idle: np.ndarray
    mass: np.ndarray


class Metric(NamedTuple):
    """The solution, or its products, and the inner product of coordinates."""

    w: np.ndarray
    kernel: np.ndarray
    n_columns: int
    solution: np.ndarray
