"""What a compiled solver of support vector machines answers, whatever its structure."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

__all__ = ["Ascent", "DualProblem"]


class DualProblem(NamedTuple):
    """The dual of a support vector machine in terms of the parts of outputs.

    Attributes
    ----------
    height, scale : Parts or ndarray
        Height and scale of the outputs, as sums over parts; no scale is 1 for all. Where an output is one
        label: tables ``[true, other]``.
    cap, curvature : ndarray of shape (n_samples,)
        Bound on the dual mass of each sample, and weight of its square.
    """

    height: Any
    scale: Any
    cap: np.ndarray
    curvature: np.ndarray


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
        """Begin with the dual variables of an earlier solution (``learners.svm.start.Start``)."""

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
