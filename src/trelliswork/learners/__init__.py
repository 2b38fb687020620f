"""Estimators: how weights are found, for any structure."""

from __future__ import annotations

from trelliswork.learners.base import Candidate, FitInterrupted, StructuredEstimator
from trelliswork.learners.crf import CRF
from trelliswork.learners.generative import Fixed, Generative
from trelliswork.learners.moments import SODA, ZScore
from trelliswork.learners.perceptron import Perceptron
from trelliswork.learners.svm import StructuredSVM

__all__ = [
    "CRF",
    "LEARNERS",
    "SODA",
    "Candidate",
    "FitInterrupted",
    "Fixed",
    "Generative",
    "Perceptron",
    "StructuredEstimator",
    "StructuredSVM",
    "ZScore",
]

# Every learner is listed here once; law tests, persistence and the command line read the table.
LEARNERS: dict[str, type[StructuredEstimator]] = {
    "CRF": CRF,
    "Perceptron": Perceptron,
    "ZScore": ZScore,
    "SODA": SODA,
    "Generative": Generative,
    "Fixed": Fixed,
    "StructuredSVM": StructuredSVM,
}
