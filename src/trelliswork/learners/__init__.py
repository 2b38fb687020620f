"""Estimators: how weights are found, for any structure."""

from __future__ import annotations

from trelliswork.learners.base import Candidate, FitInterrupted, StructuredEstimator
from trelliswork.learners.crf import CRF
from trelliswork.learners.generative import Fixed, Generative
from trelliswork.learners.perceptron import Perceptron
from trelliswork.learners.svm import StructuredSVM

__all__ = [
    "CRF",
    "LEARNERS",
    "Candidate",
    "FitInterrupted",
    "Fixed",
    "Generative",
    "Perceptron",
    "StructuredEstimator",
    "StructuredSVM",
]

# Every learner is listed here once; law tests, persistence and the command line read the table.
LEARNERS: dict[str, type[StructuredEstimator]] = {
    "CRF": CRF,
    "Perceptron": Perceptron,
    "Generative": Generative,
    "Fixed": Fixed,
    "StructuredSVM": StructuredSVM,
}
