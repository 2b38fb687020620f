"""Forms of large margin problems: where the loss of an output goes in its constraint.

With the margin ``w . dPsi = score(gold) - score(y)`` and the loss ``D`` of an output, its
violation is ``h - s * margin``, where ``h`` and ``s`` are powers of ``D`` or 1 (:class:`Form`), or
``log D - margin`` (:class:`LogForm`, for boosting).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trelliswork._errors import InputError

__all__ = ["Form", "LogForm", "check_form"]


@dataclass(frozen=True)
class Form:
    """Which of the seven problems.

    Attributes
    ----------
    slack : {"none", "l1", "l2"}
        Penalty on the slack variables.
    rescale : {"margin", "slack"} or None
        Where the loss goes.
    """

    slack: str
    rescale: str | None

    least = 0.0  # violation of the true output

    @property
    def additive(self) -> bool:
        """Whether the violation is the loss minus the margin."""
        return self.rescale == "margin" and self.power == 1.0

    @property
    def power(self) -> float:
        """Exponent of the loss: squared slacks need its root."""
        return 0.5 if self.slack == "l2" else 1.0

    def plane(self, loss: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Offset ``h`` and factor ``s`` of the constraints of outputs with the given losses."""
        ones = np.ones_like(loss)
        if self.rescale is None:
            return ones, ones
        size = loss**self.power
        return size, (size if self.rescale == "slack" else ones)

    def base(self, margins: np.ndarray) -> np.ndarray:
        """What multiplies or follows the loss: 1 - margin for slack rescaling, else -margin."""
        return 1.0 - margins if self.rescale == "slack" else -margins

    def violation(self, loss: np.ndarray, margins: np.ndarray) -> np.ndarray:
        """Violations of outputs with the given losses and margins."""
        h, s = self.plane(loss)
        return h - s * margins

    def limit(self, largest: np.ndarray, base: np.ndarray) -> np.ndarray:
        """Largest violation of an output of at most the given loss and :meth:`base`."""
        if self.rescale == "slack":
            return np.where(base > 0, largest**self.power * np.maximum(base, 1e-300), 0.0)
        return largest**self.power + base

    def bound(self, total: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """Largest violation of an output with ``lam * D + base <= total``."""
        if self.rescale == "margin":
            return total + 0.25 / lam if self.slack == "l2" else total
        positive = np.maximum(total, 0.0)
        if self.slack == "l2":
            return 2.0 * positive**1.5 / np.sqrt(27.0 * lam)
        return positive**2 / (4.0 * lam)

    def tangent(self, loss: np.ndarray, base: np.ndarray) -> np.ndarray:
        """The ``lam`` at which :meth:`bound` touches the violation of an output."""
        loss = np.maximum(loss, 1e-12)
        if self.rescale == "margin":
            return 0.5 / np.sqrt(loss) if self.slack == "l2" else np.ones_like(loss)
        return np.maximum(base, 1e-12) / loss * (0.5 if self.slack == "l2" else 1.0)


class LogForm(Form):
    """The maximum of boosting: ``log D - margin``; outputs of loss 0 do not count."""

    least = -np.inf

    def __init__(self) -> None:
        super().__init__("none", "log")

    def violation(self, loss: np.ndarray, margins: np.ndarray) -> np.ndarray:
        """Log of the loss minus the margin."""
        logs = np.full(np.shape(loss), -np.inf)
        np.log(loss, out=logs, where=loss > 1e-12)
        return logs - margins

    def limit(self, largest: np.ndarray, base: np.ndarray) -> np.ndarray:
        """The log grows with the loss."""
        return self.violation(largest, -base)

    def bound(self, total: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """The log is below its tangents: ``log D <= lam D - log lam - 1``."""
        return total - np.log(lam) - 1.0

    def tangent(self, loss: np.ndarray, base: np.ndarray) -> np.ndarray:
        """One over the loss."""
        return 1.0 / np.maximum(loss, 1e-12)


def check_form(slack: str, rescale: str | None) -> Form:
    """Form from its parameters, or an error."""
    if slack not in ("l1", "l2", "none"):
        raise InputError(f"slack must be 'l1', 'l2' or 'none', got {slack!r}")
    if rescale not in ("margin", "slack", None):
        raise InputError(f"rescale must be 'margin', 'slack' or None, got {rescale!r}")
    if slack == "none" and rescale is not None:
        raise InputError("slack='none' (hard margin) needs rescale=None")
    return Form(slack, rescale)
