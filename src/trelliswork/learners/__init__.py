"""Estimators: how weights are found, for any structure."""

from __future__ import annotations

from trelliswork._registry import registered as _registered
from trelliswork.learners.base import FitInterrupted as FitInterrupted
from trelliswork.learners.base import StructuredEstimator as StructuredEstimator
from trelliswork.learners.crf import CRF as CRF
from trelliswork.learners.explanation import Explanation as Explanation
from trelliswork.learners.explanation import explain as explain
from trelliswork.learners.generative import Fixed as Fixed
from trelliswork.learners.generative import Generative as Generative
from trelliswork.learners.klrso.estimator import KLRSO as KLRSO
from trelliswork.learners.moments.estimators import SODA as SODA
from trelliswork.learners.moments.estimators import ZScore as ZScore
from trelliswork.learners.perceptron import Perceptron as Perceptron
from trelliswork.learners.regression.estimator import KernelRegression as KernelRegression
from trelliswork.learners.regression.outputs import Candidates as Candidates
from trelliswork.learners.regression.outputs import NGrams as NGrams
from trelliswork.learners.regression.outputs import Positions as Positions
from trelliswork.learners.regression.outputs import Values as Values
from trelliswork.learners.svm.estimator import StructuredSVM as StructuredSVM
from trelliswork.learners.verbs import Candidate as Candidate
from trelliswork.learners.voted.boosting import StructBoost as StructBoost
from trelliswork.learners.voted.crf import VotedCRF as VotedCRF

# Learners by name, for law tests, persistence and the command line. A learner joins with its import above.
LEARNERS: dict[str, type[StructuredEstimator]] = _registered(globals(), StructuredEstimator)

# Estimators whose outputs are no structure: they have no space and no part scores, but keep all other laws.
REGRESSORS = {"KernelRegression": KernelRegression}
