"""Estimators: how weights are found, for any structure."""

from __future__ import annotations

from trelliswork._registry import registered
from trelliswork.learners.base import Candidate, FitInterrupted, StructuredEstimator
from trelliswork.learners.crf import CRF
from trelliswork.learners.generative import Fixed, Generative
from trelliswork.learners.klrso.estimator import KLRSO
from trelliswork.learners.moments.estimators import SODA, ZScore
from trelliswork.learners.perceptron import Perceptron
from trelliswork.learners.regression.estimator import KernelRegression
from trelliswork.learners.regression.outputs import NGrams, Positions, Values
from trelliswork.learners.svm.estimator import StructuredSVM
from trelliswork.learners.voted.boosting import StructBoost
from trelliswork.learners.voted.crf import VotedCRF

__all__ = [
    "CRF",
    "KLRSO",
    "LEARNERS",
    "REGRESSORS",
    "SODA",
    "Candidate",
    "FitInterrupted",
    "Fixed",
    "Generative",
    "KernelRegression",
    "NGrams",
    "Perceptron",
    "Positions",
    "StructBoost",
    "StructuredEstimator",
    "StructuredSVM",
    "Values",
    "VotedCRF",
    "ZScore",
]

# Learners by name, for law tests, persistence and the command line. A learner joins with its import above.
LEARNERS: dict[str, type[StructuredEstimator]] = registered(globals(), StructuredEstimator)

# Estimators whose outputs are no structure: they have no space and no part scores, but keep all other laws.
REGRESSORS = {"KernelRegression": KernelRegression}
