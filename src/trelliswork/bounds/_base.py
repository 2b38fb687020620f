"""What all bounds share: their form, and checks of what they are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._validate import as_number
from trelliswork.structures.base import Batch

__all__ = [
    "Bound",
    "check_delta",
    "check_draws",
    "check_positive",
    "checked_radius",
    "generator_of",
    "training_batch",
]

_TINY = 1e-300  # radius for weights that are all 0


@dataclass(frozen=True)
class Bound:
    """An upper bound on a risk.

    Attributes
    ----------
    value : float
        Sum of the three parts.
    empirical : float
        What was measured on the samples.
    complexity : float
        How well the class of models can fit noise.
    confidence : float
        Price of the confidence ``1 - delta``.
    limit : float
        Largest value of the loss: a bound above it says nothing.
    parts : dict
        Quantities that went in.

    Examples
    --------
    >>> from trelliswork import bounds
    >>> print(bounds.pac(10, 5000))
    0.01313 = empirical 0 + complexity 0.01254 + confidence 0.0005991
    """

    value: float
    empirical: float
    complexity: float
    confidence: float
    limit: float
    parts: dict[str, Any] = field(default_factory=dict)

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: it is not below the largest possible loss."""
        return not self.value < self.limit

    def __str__(self) -> str:
        text = (
            f"{self.value:.4g} = empirical {self.empirical:.4g} + complexity {self.complexity:.4g} + "
            f"confidence {self.confidence:.4g}"
        )
        return f"{text} (vacuous: the loss is at most {self.limit:g})" if self.vacuous else text


def check_delta(delta: Any) -> None:
    if not 0.0 < as_number("delta", delta) < 1.0:
        raise InputError(f"delta must be between 0 and 1, got {delta!r}")


def check_positive(**values: Any) -> None:
    for name, value in values.items():
        if as_number(name, value) <= 0:
            raise InputError(f"{name} must be a finite number > 0, got {value!r}")


def check_draws(n_draws: Any) -> None:
    if not isinstance(n_draws, (int, np.integer)) or isinstance(n_draws, bool) or n_draws < 1:
        raise InputError(f"n_draws must be a whole number of at least 1, got {n_draws!r}")


def generator_of(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(f"random_state must be a whole number >= 0 or None, got {random_state!r}") from None


def checked_radius(radius: Any, size: float) -> float:
    """The radius, which must be at least the norm ``size`` of the weights; by default it is that norm."""
    if radius is None:
        return max(size, _TINY)
    check_positive(radius=radius)
    if radius < size * (1.0 - 1e-9):
        raise InputError(
            f"radius is {radius:g}, but the norm of the weights is {size:g}: the bound holds only "
            "for models within the radius"
        )
    return float(radius)


def training_batch(model: Any, X: Any, y: Any) -> Batch:
    if not hasattr(model, "_check_fitted"):
        raise InputError(f"model must be a fitted learner, such as SODA(...).fit(X, y), got {model!r:.80}")
    model._check_fitted()
    if hasattr(model, "dual_coef_"):
        raise InputError(
            f"this {type(model).__name__} compares inputs by a kernel; bounds need one weight vector for all "
            "inputs, such as that of SODA or VotedCRF"
        )
    batch = model.space_.pack(X, y, n_jobs=model.n_jobs)
    if not len(batch):
        raise InputError("X is empty: a bound needs at least one sample")
    batch.check_gold()
    return batch
