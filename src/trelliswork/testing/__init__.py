"""Law checks for authors of structures and learners."""

from __future__ import annotations

from trelliswork.testing._learner_laws import check_learner
from trelliswork.testing._sklearn_checks import expected_failed_checks
from trelliswork.testing._structure_laws import Checked, check_structure

__all__ = ["Checked", "check_learner", "check_structure", "expected_failed_checks"]
