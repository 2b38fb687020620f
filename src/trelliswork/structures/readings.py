"""What structures and loss automata say to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from trelliswork.structures.base import Decoded, Parts

__all__ = ["Product", "Reading"]


class Reading(NamedTuple):
    """How the outputs of one sample are read by a loss automaton.

    Attributes
    ----------
    truth : list
        Symbols of the true output, in order.
    alphabet : list
        All symbols that outputs of the sample are made of.
    length : int
        Most symbols of an output.
    fixed : bool
        Whether all outputs have as many symbols as the true one.
    """

    truth: list[Any]
    alphabet: list[Any]
    length: int
    fixed: bool


class Product(Protocol):
    """Product of the outputs of a batch with one loss automaton per sample.

    The law is ``exp(score + scale * loss)``.
    """

    def log_partition(self, scores: Parts, scale: float = 1.0) -> np.ndarray:
        """Log of the sum over outputs, per sample."""

    def risk(self, scores: Parts) -> np.ndarray:
        """Expected loss under the law without the loss, per sample."""

    def marginals(
        self, scores: Parts, scale: float = 1.0, *, weights: np.ndarray | None = None, risk: bool = False
    ) -> Parts:
        """Expected parts; with ``risk`` under the law times the loss."""

    def argmax(self, scores: Parts, scale: float = 1.0) -> Decoded:
        """Best output, by score plus loss."""
