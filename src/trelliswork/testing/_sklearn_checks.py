"""What scikit-learn's own checks of estimators find, and why."""

from __future__ import annotations

from typing import Any

__all__ = ["expected_failed_checks"]

_ALL = {
    "check_dtype_object": "values that are no numbers are an InputError, a ValueError and no TypeError",
    "check_classifiers_train": "predict returns a list where y was a list, and an array where y was an array",
}
_WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
_TOLERANCE = "a sample of weight 2 counts as two, up to the tolerance of the solver"
_ORDER = "samples are visited one after the other, so that a repeated one counts at another time"


def expected_failed_checks(learner: Any) -> dict[str, str]:
    """Checks of scikit-learn that a learner on ``Classes`` fails, with the reasons.

    Parameters
    ----------
    learner : StructuredEstimator or Tuned
        A learner whose structure is ``Classes``, or the search for its settings.

    Returns
    -------
    dict
        Name of the check -> why it fails, as ``check_estimator`` and ``parametrize_with_checks`` of
        scikit-learn take it. All other checks pass.

    Examples
    --------
    >>> from sklearn.utils.estimator_checks import check_estimator
    >>> from trelliswork import CRF, Classes
    >>> from trelliswork.testing import expected_failed_checks
    >>> model = CRF(Classes())
    >>> expected = expected_failed_checks(model)
    >>> sorted(expected)
    ['check_classifiers_train', 'check_dtype_object']
    >>> _ = check_estimator(model, expected_failed_checks=expected)  # doctest: +SKIP
    """
    learner = getattr(learner, "learner", learner)
    if learner.sequential:
        return _ALL | dict.fromkeys(_WEIGHTS, _ORDER)
    if type(learner).__name__ in ("StructuredSVM", "StructBoost"):
        return _ALL | dict.fromkeys(_WEIGHTS, _TOLERANCE)
    return dict(_ALL)
