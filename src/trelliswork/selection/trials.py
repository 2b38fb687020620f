"""Settings under trial: fits to the training part of a split, judged on what was held out."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from trelliswork._errors import InputError, Unsupported
from trelliswork.learners.compiled import CompiledSamples
from trelliswork.learners.optimize.progress import ended_by
from trelliswork.metrics._crossval import take
from trelliswork.selection.measures import Judged, Measure
from trelliswork.selection.racing import behind

__all__ = ["FAILURES", "Outcome", "ShardSplit", "Split", "Trial", "judge_shards", "numbered_by"]

Settings = dict[str, Any]

# What keeps a learner, or some settings, from being of use; anything else is a mistake of ours.
FAILURES = (InputError, Unsupported, ArithmeticError, MemoryError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class Outcome:
    """What one split says about settings.

    Attributes
    ----------
    judged : Judged or None
        Held-out samples; None where the fit failed.
    fit_seconds, predict_seconds : float
        What it took.
    error : Exception or None
        Why the fit failed.
    """

    judged: Judged | None
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    error: Exception | None = None


@dataclass
class Trial:
    """Settings with what the splits say about them.

    Attributes
    ----------
    settings : dict
        Parameters that differ from those of the learner.
    path : int
        Number of the path that they are on.
    strength : float
        Place on the path; larger is weaker.
    resolved : dict
        Parameters that are ``"auto"``, as the first split had them.
    outcomes : dict of int to Outcome
        By number of the split.
    """

    settings: Settings
    path: int = 0
    strength: float = 0.0
    resolved: Settings = field(default_factory=dict)
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    @property
    def judged(self) -> Judged | None:
        """Held-out samples of all splits together; None after a failure."""
        judgements = [outcome.judged for _, outcome in sorted(self.outcomes.items())]
        if not judgements or any(judged is None for judged in judgements):
            return None
        return Judged.joined(judgements)  # type: ignore[arg-type]

    @property
    def error(self) -> Exception | None:
        """Why a fit failed."""
        return next((o.error for o in self.outcomes.values() if o.error is not None), None)

    def score(self, measure: Measure) -> float:
        """Score with a sign such that greater is better; minus infinity after a failure."""
        judged = self.judged
        return -np.inf if judged is None else measure.sign * judged.score

    def behind(self, other: Trial, measure: Measure) -> float:
        """Standard errors by which this one is worse than another that the same splits have seen."""
        mine, others = self.judged, other.judged
        if mine is None or others is None:
            return np.inf if mine is None else -np.inf
        if mine.part.size == 1:
            return 0.0  # one number tells nothing about its error
        # Residuals have mean 0: what is apart is the difference of the scores.
        lift = [measure.sign * (judged.residuals + judged.score) for judged in (mine, others)]
        return behind(-lift[0], -lift[1])


class Split:
    """One split of the data, with a model that moves from settings to settings.

    Samples are transformed and compiled once; a model that changes along a path starts from its last
    solution.

    Parameters
    ----------
    learner : estimator
        A learner, or a pipeline that ends in one; not changed.
    X, y : lists of inputs and outputs
        All samples; or pairs of lists, those that are trained on and those that are held out.
    train, test : ndarray of int or None
        Which are trained on and which are held out; None where ``X`` and ``y`` are pairs.
    weights : ndarray or None
        Weight of each sample.
    measure : Measure
        How good predictions are.
    method : str
        Method of the learner that predicts.
    decoding : set of str
        Parameters of the structure that matter for prediction alone.
    """

    def __init__(
        self,
        learner: Any,
        X: Any,
        y: Any,
        train: np.ndarray | None,
        test: np.ndarray | None,
        *,
        weights: np.ndarray | None,
        measure: Measure,
        method: str,
        decoding: set[str],
    ):
        self.measure, self.method, self.decoding = measure, method, decoding
        self._data = X, y, train, test, weights
        self._learner = learner
        self._compiled = CompiledSamples()
        self._model: Any = None
        self._settings: Settings = {}
        self._ready: tuple[Any, Any, Any, Any, Any, Any] | None = None

    def _samples(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """The learner without transformers, and what it is trained and judged on; made at the first trial."""
        if self._ready is None:
            X, y, train, test, weights = self._data
            if train is None or test is None:
                (inputs, held_out), (outputs, truth) = X, y
            else:
                inputs, held_out = take(X, train), take(X, test)
                outputs, truth = take(y, train), take(y, test)
            last = clone(self._learner)
            if hasattr(last, "steps"):
                for _, step in last.steps[:-1]:
                    if step is not None and not isinstance(step, str):  # "passthrough"
                        inputs = step.fit_transform(inputs, outputs)
                        held_out = step.transform(held_out)
                last = last.steps[-1][1]
            share = weights if weights is None or train is None else weights[train]
            self._ready = last, inputs, outputs, share, held_out, truth
        return self._ready

    def fitted(self, name: str) -> Any:
        """A fitted attribute of the model as it is now, or one of its kernel; None where there is none."""
        value: Any = self._model
        for part in name.split("."):
            value = getattr(value, part, None)
        return value

    def evaluate(self, settings: Mapping[str, Any], over: Callable[[], bool]) -> Outcome:
        """Fit with settings and judge on the held-out samples.

        Parameters
        ----------
        settings : mapping of str to object
            Parameters of the learner that differ from its own.
        over : callable
            The fit is interrupted once it returns true.

        Raises
        ------
        KeyboardInterrupt
            When the fit was interrupted, by ``over`` or from the keyboard.
        """
        started = time.perf_counter()
        train, test, weights = self._data[2:]
        try:
            with ended_by(over), numbered_by(train):
                model = self._fitted(dict(settings))
            if getattr(model, "stop_", None) == "interrupted":
                self._model = None
                raise KeyboardInterrupt
            fitted = time.perf_counter()
            *_, held_out, truth = self._samples()
            with numbered_by(test):
                judged = self._judged(model, held_out, truth)
        except FAILURES as error:
            self._model = None
            return Outcome(None, time.perf_counter() - started, 0.0, error)
        if weights is not None and test is not None and judged.part.size == test.size:
            judged = Judged(judged.part * weights[test], judged.size * weights[test])
        return Outcome(judged, fitted - started, time.perf_counter() - fitted)

    def _judged(self, model: Any, X: Any, y: Any) -> Judged:
        return self.measure.evaluate(model, X, y, self.method)

    def _fitted(self, settings: Settings) -> Any:
        learner, X, y, weights, _, _ = self._samples()
        given = learner.get_params()
        asked = {k: settings.get(k, given[k]) for k in {*settings, *self._settings}}
        changes = {k: v for k, v in asked.items() if not _same(v, self._settings.get(k, given[k]))}
        more = {} if weights is None else {"sample_weight": weights}
        if self._model is None:
            model = clone(learner).set_params(**settings)
            if hasattr(model, "compiled"):
                model.compiled = self._compiled
            if "keep_moments" in given:
                model.set_params(keep_moments=True)  # so that another ridge takes no new pass
            self._model = model.fit(X, y, **more)
        elif changes.keys() <= self.decoding:
            pass  # the weights stay
        elif hasattr(self._model, "fit_again"):
            fitted = {k: v for k, v in changes.items() if k not in self.decoding}
            self._model.fit_again(X, y, weights, **fitted)
        else:
            self._model.set_params(**changes).fit(X, y, **more)
        self._settings = settings
        decoded = {k: v for k, v in settings.items() if k in self.decoding}
        return with_decoding(self._model, decoded) if decoded else self._model


class ShardSplit(Split):
    """One split of data in partitions; parameters as in :class:`Split`, where ``X`` are shards."""

    def _samples(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        if self._ready is None:
            shards, _, train, test, weights = self._data
            assert train is not None
            assert test is not None
            if hasattr(self._learner, "steps"):
                raise InputError(
                    "data in partitions are transformed by features= of Shards, not by a pipeline"
                )
            share = None if weights is None else weights[train]
            parts = shards.subset(train), shards.subset(test)
            self._ready = clone(self._learner), parts[0], None, share, parts[1], None
        return self._ready

    def _judged(self, model: Any, X: Any, y: Any) -> Judged:
        return judge_shards(model, X, self.measure, self.method)


def judge_shards(model: Any, shards: Any, measure: Measure, method: str = "predict") -> Judged:
    """What a measure says about samples in partitions, one partition at a time.

    Parameters
    ----------
    model : learner
        Fitted.
    shards : Shards
        Held-out samples.
    measure : Measure
        The measure.
    method : str
        Method of the learner that predicts.
    """
    if hasattr(shards, "judged"):  # where they are
        return shards.judged(model, measure, method)
    parts = [partition.read(model.structure) for partition in shards.partitions]
    return Judged.joined(measure.evaluate(model, part.X, part.y, method) for part in parts if len(part))


@contextlib.contextmanager
def numbered_by(places: np.ndarray | None) -> Iterator[None]:
    """Have errors about samples of a part of the data name the samples by their numbers in all of it.

    Parameters
    ----------
    places : ndarray of int or None
        Numbers of the samples of the part; None leaves errors as they are.
    """
    try:
        yield
    except InputError as error:
        if places is None or error.sample is None or error.sample >= len(places):
            raise
        raise InputError(error.message, sample=int(places[error.sample])) from None


def with_decoding(model: Any, settings: Mapping[str, Any]) -> Any:
    """A fitted model with other parameters of its structure that matter for prediction alone.

    Parameters
    ----------
    model : learner
        Fitted; not changed.
    settings : mapping of str to object
        Parameters such as ``structure__gamma``.
    """
    names = {name.removeprefix("structure__"): value for name, value in settings.items()}
    structure = model.space_.structure.with_params(**names)
    structure.check()
    changed = copy.copy(model)
    changed.structure = model.structure.with_params(**names)
    changed.space_ = type(model.space_).from_state(structure, model.space_.state())
    return changed


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and bool(np.all(a == b)))
