"""The model that was chosen, seen from outside: its methods and its fitted attributes."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from trelliswork.selection.steps import final_step

__all__ = ["ChosenModel"]


def _delegated(name: str) -> Any:
    """A method of the model that was chosen, where its class has it."""

    def has(self: ChosenModel) -> bool:
        getattr(getattr(self, "best_estimator_", self.learner), name)  # scikit-learn asks for the error
        return True

    def method(self: ChosenModel, *args: Any, **more: Any) -> Any:
        return getattr(self._fitted(), name)(*args, **more)

    method.__name__ = name
    method.__doc__ = f"``{name}`` of ``best_estimator_``."
    return available_if(has)(method)


class ChosenModel:
    """The part of a tuned model that asks the learner which was chosen.

    Attributes
    ----------
    learner : estimator
        What was tuned.
    best_estimator_ : estimator
        The learner with the best settings, after ``fit``.
    """

    learner: Any
    best_estimator_: Any

    def _fitted(self) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(X, y) first")
        return self.best_estimator_

    predict_kbest = _delegated("predict_kbest")
    predict_marginals = _delegated("predict_marginals")
    predict_mea = _delegated("predict_mea")
    predict_min_risk = _delegated("predict_min_risk")
    predict_proba = _delegated("predict_proba")
    predict_log_proba = _delegated("predict_log_proba")
    decision_function = _delegated("decision_function")
    log_prob = _delegated("log_prob")
    sample = _delegated("sample")
    margins = _delegated("margins")
    weights_by_name = _delegated("weights_by_name")
    tables = _delegated("tables")

    def __getattr__(self, name: str) -> Any:
        """Fitted attributes of the model that was chosen (``classes_``, ``coef_``, ``space_``, ...)."""
        if name.endswith("_") and not name.startswith("_") and "best_estimator_" in self.__dict__:
            return getattr(final_step(self.best_estimator_), name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
