"""What ZScore and SODA do once they have weights: scores, margins, and what goes into files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from trelliswork._stored import Declared, numbers
from trelliswork.learners.base import StructuredEstimator
from trelliswork.learners.moments.reference import reference_scores
from trelliswork.learners.moments.state import MomentState
from trelliswork.structures.abilities import ReferenceLaw
from trelliswork.structures.base import Batch, Parts

__all__ = ["MomentModel"]


class MomentModel(StructuredEstimator):
    """Weights that correct a reference law, or stand alone."""

    n_jobs: int | None
    coef_: np.ndarray
    reference_coef_: np.ndarray | None
    moments_: MomentState

    def part_scores(self, batch: Batch, X: Any) -> Parts:
        """Scores of the parts of all outputs, with those of a generative reference law.

        Parameters
        ----------
        batch : Batch
            Samples from ``pack``, or some of them.
        X : list of inputs
            Their inputs.
        """
        scores = batch.scores(self.coef_)
        if self.reference_coef_ is not None:
            scores = scores + reference_scores(batch, self.reference_coef_)
        return scores

    def weights_of_input(self, batch: Batch, X: Any) -> np.ndarray:
        """Weights of the features, with those of a reference law that has the same features.

        Parameters
        ----------
        batch : Batch
            One sample.
        X : list of inputs
            Its input.
        """
        own_form = isinstance(batch, ReferenceLaw) and not batch.reference_is_linear
        if self.reference_coef_ is None or own_form:
            return self.coef_
        return self.coef_ + self.reference_coef_

    def margins(self, X: Any, y: Any, *, standardized: bool = False) -> np.ndarray:
        """Score of each given output less the mean score of all outputs of its input.

        The mean is taken under the uniform law over the outputs that the model allows.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Samples.
        standardized : bool, default=False
            In units of the standard deviation of the scores of all outputs (the Z-score of
            each sample); 0 where all outputs score the same.

        Returns
        -------
        ndarray of shape (n_samples,)
            -inf for outputs that are not possible.
        """
        batch = self.pack(X, y)
        out = batch.evaluate(batch.gold_codes, self.part_scores(batch, X))
        possible = np.flatnonzero(out > -np.inf)  # an input may have no output at all
        if not possible.size:
            return out
        batch = batch.subset(possible)
        scores, law = self.part_scores(batch, X), batch.covariance()
        out[possible] -= batch.dot_each(law.marginals(weighted=False, each=True), scores)
        if standardized:
            variance = batch.dot_each(law.tangent(scores, weighted=False, each=True), scores)
            scale = np.where(variance > 0, 1.0 / np.sqrt(np.where(variance > 0, variance, 1.0)), 0.0)
            out[possible] *= scale
        return out

    stored: ClassVar[Mapping[str, Declared]] = {"reference_coef_": numbers("features", optional=True)}
    stored_with: ClassVar[Mapping[str, tuple[str, ...]]] = {"coef_": ("reference_coef_",)}
    _FITTED = (
        "coef_",
        "reference_coef_",
        "lam_",
        "reference_",
        "loss_",
        "total_margin_",
        "length_",
        "n_constraints_",
        "z_score_",
        "history_",
        "n_iter_",
        "stop_",
        "objective_",
        "completed_by_",
    )

    def __tw_state__(self) -> dict[str, Any]:
        """Fitted attributes; the moments as arrays."""
        state = {name: getattr(self, name) for name in self._FITTED if hasattr(self, name)}
        if hasattr(self, "moments_"):
            state["moments"] = self.moments_.state()
        return state

    def __tw_restore__(self, state: Mapping[str, Any]) -> None:
        """Inverse of ``__tw_state__`` for files that are not trusted."""
        for name in self._FITTED:
            if name in state:
                setattr(self, name, state[name])
        if "moments" in state:
            self.moments_ = MomentState.from_state(state["moments"], self.n_jobs)
