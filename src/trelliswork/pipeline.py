"""A scikit-learn pipeline that ends in a learner and has all of the learner's verbs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sklearn import pipeline
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from trelliswork._errors import InputError
from trelliswork._front_door import FOREIGN
from trelliswork.learners.base import StructuredEstimator
from trelliswork.learners.calls import accepts_iterators, as_samples, shown_with

__all__ = ["Pipeline", "make_pipeline"]

_KNOWN = ("sklearn", "trelliswork", "builtins")  # the last for "passthrough"


def _forwarded(name: str) -> Any:
    """A verb of the learner at the end, for inputs as the pipeline takes them."""
    verb: Callable[..., Any] = getattr(StructuredEstimator, name)

    def last_has_it(self: Pipeline) -> bool:
        return hasattr(self._final_estimator, name)

    @functools.wraps(verb)
    def forwarded(self: Pipeline, X: Any, *args: Any, **more: Any) -> Any:
        X = as_samples(X)
        answer = getattr(self._final_estimator, name)(self._transformed(X), *args, **more)
        return shown_with(answer, X)

    return available_if(last_has_it)(forwarded)


class Pipeline(pipeline.Pipeline):
    """Transformers and a learner, with all verbs of the learner.

    A ``Pipeline`` of scikit-learn in every respect. Beyond ``predict`` and ``score`` it has the verbs
    ``predict_kbest``, ``predict_marginals``, ``predict_mea``, ``predict_min_risk``, ``log_prob`` and
    ``sample`` of the learner, its ``fit`` takes a development set through the transformers, and
    ``trelliswork.save`` writes it to a file together with the usual transformers of scikit-learn.

    Parameters
    ----------
    steps : list of (str, estimator)
        Names and objects, the learner last.
    transform_input : list of str or None, default=None
        As in scikit-learn; a development set needs none.
    memory : None, str or object with joblib's interface, default=None
        Cache of fitted transformers; no part of a model file.
    verbose : bool, default=False
        Whether to print the time of every step.

    See Also
    --------
    make_pipeline : The same with names that are found by themselves.

    References
    ----------
    .. [1] Pedregosa et al. (2011), JMLR 12 (scikit-learn, whose pipelines these are).

    Examples
    --------
    >>> import trelliswork as tw
    >>> from trelliswork.features import TokenWindow
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> model = tw.Pipeline([("window", TokenWindow()), ("crf", tw.CRF(tw.Chain(), l2=0.1))]).fit(X, y)
    >>> [candidate.output for candidate in model.predict_kbest([["the", "dog"]], k=2)[0]]
    [['D', 'N'], ['N', 'N']]
    >>> model.log_prob([["the", "dog"]], [["D", "N"]]).shape
    (1,)
    """

    def __init__(self, steps: Any, *, transform_input: Any = None, memory: Any = None, verbose: bool = False):
        super().__init__(steps, transform_input=transform_input, memory=memory, verbose=verbose)

    predict = _forwarded("predict")
    score = _forwarded("score")
    predict_kbest = _forwarded("predict_kbest")
    predict_marginals = _forwarded("predict_marginals")
    predict_mea = _forwarded("predict_mea")
    predict_min_risk = _forwarded("predict_min_risk")
    log_prob = _forwarded("log_prob")
    sample = _forwarded("sample")

    @accepts_iterators
    def fit(self, X: Any, y: Any = None, *, X_dev: Any = None, y_dev: Any = None, **params: Any) -> Pipeline:
        """Fit the transformers, then the learner.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Training data.
        X_dev, y_dev : lists or None
            Development set of the learner, where it takes one; it passes through the transformers, which
            are fitted to ``X`` alone. The same as ``LEARNER__X_dev``, ``LEARNER__y_dev``.
        **params
            Arguments of ``fit`` of a step, as ``STEP__ARGUMENT``.
        """
        last = self.steps[-1][0]
        X_dev = params.pop(f"{last}__X_dev", X_dev)
        y_dev = params.pop(f"{last}__y_dev", y_dev)
        if X_dev is None and y_dev is None:
            return super().fit(X, y, **params)
        if X_dev is None or y_dev is None:
            raise InputError("a development set needs both X_dev and y_dev")
        for_last = {name: params.pop(name) for name in list(params) if name.startswith(f"{last}__")}
        if len(self.steps) > 1:
            front = pipeline.Pipeline(self.steps[:-1], memory=self.memory, verbose=self.verbose)
            X = front.fit_transform(X, y, **params)
            self.steps[:-1] = front.steps  # a cache has put other objects there
            X_dev = front.transform(X_dev)
        for_last = {name.removeprefix(f"{last}__"): value for name, value in for_last.items()}
        self._final_estimator.fit(X, y, X_dev=X_dev, y_dev=y_dev, **for_last)
        return self

    def _transformed(self, X: Any) -> Any:
        """Inputs as the learner takes them."""
        if len(self.steps) == 1:
            return X
        try:
            return self[:-1].transform(X)
        except (InputError, NotFittedError):
            raise
        except FOREIGN as error:
            # What scikit-learn says about strange data, in one line; the transformers of users speak for
            # themselves.
            known = all(type(step).__module__.split(".")[0] in _KNOWN for _, step in self.steps[:-1])
            if not known:
                raise
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InputError(f"the transformers cannot read these data: {reason:.200}") from error


def make_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> Pipeline:
    """Make a pipeline of transformers and a learner, whose names are those of their classes.

    Parameters
    ----------
    *steps : estimators
        Transformers, then a learner.
    memory : None, str or object with joblib's interface, default=None
        Cache of fitted transformers.
    verbose : bool, default=False
        Whether to print the time of every step.

    Returns
    -------
    Pipeline
        With ``predict_kbest``, ``log_prob`` and the other verbs of the learner.

    Examples
    --------
    >>> import numpy as np
    >>> import trelliswork as tw
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = np.array([[0.0, 900.0], [1.0, 100.0], [2.0, 500.0]]), ["low", "high", "high"]
    >>> model = tw.make_pipeline(StandardScaler(), tw.CRF(tw.Classes(), l2=0.01)).fit(X, y)
    >>> model.predict(X), list(model.named_steps)
    (['low', 'high', 'high'], ['standardscaler', 'crf'])
    """
    named = pipeline.make_pipeline(*steps).steps
    return Pipeline(named, memory=memory, verbose=verbose)
