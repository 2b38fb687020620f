"""Learners whose model is a weight vector or, with a kernel, an expansion over rows of the inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from trelliswork.kernels import earlier_kernel
from trelliswork.learners.base import StructuredEstimator
from trelliswork.learners.svm.rounds import model_scores
from trelliswork.learners.svm.weights import Expansion
from trelliswork.structures.base import Batch, Parts

__all__ = ["KernelModel"]


class KernelModel(StructuredEstimator):
    """Base of the learners that take a kernel.

    Attributes
    ----------
    support_rows_, dual_coef_, linear_coef_ : arrays
        The expansion, only with a kernel: rows, their coefficients per label, weights of the other features.
    kernel_ : kernel or None
        The kernel with the number that ``gamma="auto"`` stands for.
    """

    stored_with: ClassVar[Mapping[str, tuple[str, ...]]] = {"dual_coef_": ("support_rows_", "linear_coef_")}

    kernel: Any
    kernel_: Any
    support_rows_: Any
    dual_coef_: np.ndarray
    linear_coef_: np.ndarray

    def part_scores(self, batch: Batch, X: Any) -> Parts:
        """Scores of the parts of all outputs; of a kernel model through the rows of the inputs.

        Parameters
        ----------
        batch : Batch
            Samples from ``pack``, or some of them.
        X : list of inputs
            Their inputs.
        """
        if not hasattr(self, "dual_coef_"):
            return super().part_scores(batch, X)
        expansion = Expansion(self.support_rows_, self.dual_coef_, self.linear_coef_)
        # Files of earlier versions have no kernel_.
        return model_scores(batch, expansion, getattr(self, "kernel_", None) or earlier_kernel(self.kernel))
