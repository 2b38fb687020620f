"""What voted CRFs and structured boosting share: families of features, penalties, checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from trelliswork._errors import InputError
from trelliswork._stored import Declared, numbers, whole
from trelliswork._tuning import Path
from trelliswork._validate import check_number
from trelliswork.learners.base import StructuredEstimator
from trelliswork.learners.known import check_loss
from trelliswork.learners.optimize.smooth import Minimum
from trelliswork.learners.strength import DataScale
from trelliswork.learners.voted.problem import Problem
from trelliswork.learners.weights import combined_weights, prior_weights
from trelliswork.losses import Loss, as_loss
from trelliswork.structures.base import Batch, Space
from trelliswork.structures.families import Families, family_rates, find_families

__all__ = ["Voted"]


class Voted(StructuredEstimator):
    """What the two learners share: families, penalties, checks."""

    # What models had that were saved before the parameter was there.
    _before: ClassVar[Mapping[str, Any]] = {"penalty_mode": "absolute"}

    stored: ClassVar[Mapping[str, Declared]] = {
        "r_": numbers("families", low=0, optional=True),
        "family_of_": whole("features", high="families", optional=True),
    }
    searches = True
    loosen = (
        "lower lam",
        "lower beta",
    )
    tuning = (Path("lam", with_=("beta",)),)

    lam: float
    beta: float
    l2: float | str
    penalty_mode: str
    loss: Any
    families: Any
    r: Any
    max_iter: int
    tol: float
    memory: int
    class_weight: Any
    random_state: Any
    warm_start: bool
    verbose: int

    def _checked_loss(self) -> Loss | None:
        for name in ("lam", "beta", "tol"):
            check_number(name, getattr(self, name), 0)
        if not (isinstance(self.l2, str) and self.l2 == "auto"):
            check_number("l2", self.l2, 0)
        if self.penalty_mode not in ("relative", "absolute"):
            raise InputError(f"penalty_mode must be 'relative' or 'absolute', got {self.penalty_mode!r}")
        for name in ("max_iter", "memory"):
            check_number(name, getattr(self, name), 1, whole=True)
        if self.loss is None or (isinstance(self.loss, str) and self.loss == "none"):
            return None
        return as_loss(self.loss)

    def _problem(
        self, space: Space, batch: Batch, loss: Loss | None, sample_weight: Any, lam: float | None = None
    ) -> Problem:
        """The problem; ``lam`` is the least value that will be used, None the parameter."""
        if loss is not None:
            loss.check(space)
            check_loss(batch, loss)
        weights = combined_weights(batch, sample_weight, self.class_weight)
        families = find_families(space, self.families)
        rates = family_rates(batch, families, self.r, weights=weights, random_state=self.random_state)
        l1_unit = l2_unit = 1.0
        l2 = float(self.penalty_mode == "relative") if isinstance(self.l2, str) else float(self.l2)
        if self.penalty_mode == "relative":
            sizes = families.sizes()
            mean = float(rates @ sizes) / max(int(sizes.sum()), 1)
            rates = rates / mean if mean > 0 else rates
            scale = DataScale.of(batch, weights)
            l1_unit, l2_unit = scale.l1 / scale.n_samples, scale.l2 / scale.n_samples
        self._keep(families, rates, l1_unit)
        self.l2_ = l2 * l2_unit
        penalties = self._penalties(self.lam if lam is None else lam)
        if not penalties.any():
            raise InputError(
                "lam * r and beta are both 0 for all families: nothing keeps the weights finite; raise one "
                "of them"
            )
        share = np.ones(len(batch)) if weights is None else weights
        return Problem(
            batch,
            loss,
            families,
            penalties[families.index],
            share / share.sum(),
            self.l2_,
            prior_weights(space, "auto"),
        )

    def _begin(self, space: Space, problem: Problem) -> np.ndarray:
        """Where the search begins, less the origin."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return np.zeros(space.n_features)
        start = self._start_weights(space, True)
        return start if problem.origin is None else start - problem.origin

    def _keep(self, families: Families, rates: np.ndarray, unit: float) -> None:
        self.families_, self.family_of_, self.r_ = families.names, families.index, rates
        self.penalty_unit_ = unit

    def _penalties(self, lam: float) -> np.ndarray:
        """Penalty of the absolute values of every family."""
        return (lam * self.r_ + self.beta) * self.penalty_unit_

    def _finish(
        self, space: Space, minimum: Minimum, history: list[dict[str, Any]], problem: Problem | None = None
    ) -> None:
        if not np.isfinite(minimum.w).all():
            raise InputError("the weights are not finite; raise lam or beta, or scale the features")
        w = minimum.w if problem is None else problem.whole(minimum.w)
        self.space_, self.coef_, self.objective_ = space, w, minimum.objective
        self.converged_, self.stop_, self.message_ = minimum.converged, minimum.stop, minimum.message
        self.n_iter_, self.history_ = minimum.n_iter, history

    @property
    def n_nonzero_(self) -> dict[Any, int]:
        """Number of non-zero weights of every family."""
        if not hasattr(self, "coef_"):
            raise AttributeError("n_nonzero_")
        used = np.bincount(self.family_of_[self.coef_ != 0], minlength=len(self.families_))
        return dict(zip(self.families_, used.tolist(), strict=True))
