"""Estimators: how weights are found, for any structure."""

from __future__ import annotations

from trelliswork.learners._regression_outputs import NGrams, Positions, Values
from trelliswork.learners.base import Candidate, FitInterrupted, StructuredEstimator
from trelliswork.learners.boosting import StructBoost
from trelliswork.learners.crf import CRF
from trelliswork.learners.generative import Fixed, Generative
from trelliswork.learners.klrso import KLRSO
from trelliswork.learners.moments import SODA, ZScore
from trelliswork.learners.perceptron import Perceptron
from trelliswork.learners.regression import KernelRegression
from trelliswork.learners.svm import StructuredSVM
from trelliswork.learners.voted import VotedCRF

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

# Every learner is listed here once; law tests, persistence and the command line read the table.
LEARNERS: dict[str, type[StructuredEstimator]] = {
    "CRF": CRF,
    "Perceptron": Perceptron,
    "ZScore": ZScore,
    "SODA": SODA,
    "Generative": Generative,
    "KLRSO": KLRSO,
    "Fixed": Fixed,
    "StructuredSVM": StructuredSVM,
    "VotedCRF": VotedCRF,
    "StructBoost": StructBoost,
}

# Estimators whose outputs are no structure: they have no space and no part scores, but keep all other laws.
REGRESSORS = {"KernelRegression": KernelRegression}
