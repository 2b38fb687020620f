"""What a fit says about itself when it ends: one line where the model is of no use, and what to change."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from trelliswork._errors import FitWarning, InputWarning, convergence_warning
from trelliswork._validate import count_samples
from trelliswork.learners.classifier import has_single_labels
from trelliswork.metrics._crossval import take
from trelliswork.shards import Shards
from trelliswork.structures.abilities import JointLaw
from trelliswork.structures.batch import Batch

if TYPE_CHECKING:
    from trelliswork.learners.base import StructuredEstimator

__all__ = ["WIDE_GAP", "advised", "remark"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_FEW, _MANY = 8, 200  # samples to look at: a model that is of use mostly shows it on the first few
WIDE_GAP = 0.05  # of a search that ended at max_iter, relative
_USER = 4  # frames from the warning to the caller of fit


def advised(fit: _Function) -> _Function:
    """The method ``fit``, with a look at the model when it ends."""

    @functools.wraps(fit)
    def looked_at(self: StructuredEstimator, *args: Any, **more: Any) -> Any:
        result = fit(self, *args, **more)
        outermost = inspect.unwrap(type(self).fit)  # type: ignore[attr-defined]
        if outermost is inspect.unwrap(fit):  # a subclass that calls this one is not done yet
            given = dict(zip(("X", "y"), args)) | more
            self._look_at_fit(given.get("X"), given.get("y"))
        return result

    return looked_at  # type: ignore[return-value]


def remark(model: StructuredEstimator, X: Any, y: Any) -> None:
    """Warn where a fitted model is of no use on its own training data, or did not reach its end.

    At most one ``FitWarning`` (or scikit-learn's ``ConvergenceWarning``), and an ``InputWarning`` about the
    data. Costs the search for the best output of 8 samples, or of 200 where these say nothing: a millisecond
    or two for sentences.

    Parameters
    ----------
    model : StructuredEstimator
        After ``fit``.
    X, y : lists of inputs and outputs
        Its training data.
    """
    stop = getattr(model, "stop_", None)
    said = stop == "max_iter" and not model.searches and getattr(model, "gap_", 0.0) > WIDE_GAP
    if stop == "interrupted" or said:
        return  # that was said already
    if has_single_labels(model) and getattr(y, "ndim", 1) == 2:
        y = np.asarray(y)[:, 0]  # of which fit has warned
    few = _look(model, X, y, _FEW)
    names = getattr(model, "feature_names_in_", None)
    sizes = [] if model._knows_units(few[1]) else few[1].cautions(names)
    for caution in (*model.space_.cautions(), *sizes):
        warnings.warn(caution, InputWarning, stacklevel=_USER + 1)
    name, useless = type(model).__name__, _useless(model, X, y, few)
    if useless:
        warnings.warn(f"{name} {useless}", FitWarning, stacklevel=_USER + 1)
    elif model.searches and stop == "max_iter":
        max_iter, tol = (model.get_params(deep=False).get(key) for key in ("max_iter", "tol"))
        warnings.warn(
            f"{name} ended at max_iter={max_iter} before tol={tol} was met; raise one of them",
            convergence_warning(),
            stacklevel=_USER + 1,
        )


def _look(model: StructuredEstimator, X: Any, y: Any, size: int) -> tuple[Any, Batch]:
    """Up to ``size`` inputs from all over the data, and with their outputs as a batch."""
    if isinstance(X, Shards):
        X, y = X.look(size)
    n = count_samples(X)
    if size < n:
        index = np.unique(np.linspace(0, n - 1, size).astype(np.int64))
        X, y = take(X, index), take(y, index)
    return X, model.pack(X, y)


def _useless(model: StructuredEstimator, X: Any, y: Any, few: tuple[Any, Batch]) -> str | None:
    labels = getattr(model.space_, "labels", None)
    if labels is not None and len(labels) == 1:
        return f"saw one label only, {labels[0]!r}, and can predict nothing else; look at y, or give labels="
    weights = getattr(model, "coef_", getattr(model, "dual_coef_", None))
    idle = weights is not None and weights.size and not weights.any()
    idle = idle and not model.space_.structure.offers(JointLaw)  # which predicts without weights
    sameness = None
    for size in (_FEW, _MANY):
        some, batch = few if size == _FEW else _look(model, X, y, size)
        alike = type(batch).sameness is Batch.sameness or batch.sameness(batch.gold_codes) is not None
        if alike and not idle:
            continue  # so is the truth: these samples tell nothing
        best = batch.argmax(model.part_scores(batch, some)).codes
        if idle:  # a perceptron may need no step
            right = np.array_equal(best.values, batch.gold_codes.values)
            return None if right else f"has no weight other than zero{_looser(model)}"
        sameness = batch.sameness(best)
        if sameness is None:
            return None
    return sameness and f"predicts {sameness} on its own training data{_looser(model)}"


def _looser(model: StructuredEstimator) -> str:
    """What to do about a model that is held too tightly."""
    said = []
    for change in model._loosened():
        direction, name = change.split()
        name, _, other = name.partition("=")
        value = getattr(model, name, None)
        if other:
            said += [change] * (repr(value) != other)
            continue
        if value is None or (direction == "lower" and isinstance(value, (int, float)) and value == 0):
            continue
        chosen = getattr(model, f"{name}_", None) if isinstance(value, str) else None
        said.append(f"{change} (now {value!r}{'' if chosen is None else f': {chosen:.3g}'})")
    if has_single_labels(model) and getattr(model, "class_weight", "given") is None:
        said.append("set class_weight='balanced' if that label is by far the most frequent")
    return f"; {' or '.join(said)}" if said else "; weaken what holds the weights back"
