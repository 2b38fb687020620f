"""Which learner? All of them on the same folds: first as they are, then tuned in the time that is left."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline

from trelliswork._errors import InputError
from trelliswork._validate import check_number, check_samples
from trelliswork.learners import LEARNERS
from trelliswork.learners.calls import as_samples
from trelliswork.learners.optimize.progress import Progress, ended_by
from trelliswork.metrics._crossval import take
from trelliswork.selection.comparison import Comparison
from trelliswork.selection.estimator import Tuned
from trelliswork.selection.measures import Judged, Measure
from trelliswork.selection.scoring import as_measure
from trelliswork.selection.splits import make_splits
from trelliswork.selection.steps import check_inputs, final_step, on_a_part, outputs_of
from trelliswork.selection.trials import FAILURES, numbered_by
from trelliswork.structures.base import Structure

__all__ = ["Entry", "FoldResult", "compare"]

_HELD_OUT = 0.25  # of the training samples of a fold, by which settings are chosen
_FIRST_FOLD = 0.6  # of the budget at most is for the first fold of all learners
_FEW = 8  # samples that are enough for all code to be compiled
_AT_LEAST = 0.1  # of the budget is left, whatever was spent
BASELINE = "most frequent"


class MostFrequent(BaseEstimator):
    """Predicts the most frequent label, whatever the input: what every learner should beat."""

    def fit(self, X: Any, y: Any) -> MostFrequent:
        """Count labels of samples, or of the tokens of samples."""
        self.sequences_ = len(y) > 0 and isinstance(y[0], (list, tuple, np.ndarray))
        labels = [label for row in y for label in row] if self.sequences_ else list(y)
        self.label_ = Counter(labels).most_common(1)[0][0] if labels else None
        return self

    def predict(self, X: Any) -> list[Any]:
        """The same label for all."""
        if not self.sequences_:
            return [self.label_] * (X.shape[0] if hasattr(X, "shape") else len(X))
        return [[self.label_] * len(x) for x in X]


@dataclass
class FoldResult:
    """What one fold says about a learner.

    Attributes
    ----------
    judged : Judged
        Held-out samples.
    predictions : list
        What was predicted for them.
    settings : dict
        What the learner was fitted with, beyond its own settings.
    fit_seconds, predict_seconds : float
        What it took.
    cut : bool
        Whether time ran out in the fit.
    """

    judged: Judged
    predictions: Any
    settings: dict[str, Any]
    fit_seconds: float
    predict_seconds: float
    cut: bool


@dataclass
class Entry:
    """A learner and what is known about it.

    Attributes
    ----------
    name : str
        Its name.
    learner : estimator
        With the settings it was given.
    folds : list of FoldResult
        One for every fold.
    results : list of dict
        Tables of the searches.
    tune_seconds : list of float
        What they took.
    size : int or None
        Bytes of a model file.
    failure : str or None
        Why it cannot be compared.
    """

    name: str
    learner: Any
    folds: list[FoldResult] = field(default_factory=list)
    results: list[dict[str, list[Any]]] = field(default_factory=list)
    tune_seconds: list[float] = field(default_factory=list)
    size: int | None = None
    failure: str | None = None

    @property
    def cut(self) -> bool:
        """Whether time ran out in a fit."""
        return any(fold.cut for fold in self.folds)

    @property
    def can_be_tuned(self) -> bool:
        """Whether there is something to tune."""
        return bool(getattr(final_step(self.learner), "tuning", ()))


def compare(
    X: Any,
    y: Any,
    structure: Structure | None = None,
    learners: Any = "all",
    *,
    budget: float = 60.0,
    scoring: Any = None,
    features: Any = None,
    cv: Any = 3,
    groups: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare learners on the same folds, each tuned on the training part of every fold as time allows.

    Parameters
    ----------
    X, y : lists of inputs and outputs
        Samples.
    structure : Structure or None, default=None
        What an output is; None is ``Chain()``.
    learners : "all", list of names or estimators, or mapping, default="all"
        Learners by the names of their classes (``"CRF"``), as estimators, or estimators by any names.
        ``"all"`` are those that the structure can do.
    budget : float, default=60.0
        Seconds for everything. All learners are first fitted as they are, to the first fold in 60 % of it at
        most; what is left after all folds goes into tuning, in equal shares. A fit that would take longer
        than the learner's share is ended with the weights that it has, which the table tells. Code that is
        compiled for the first time comes on top.
    scoring : str, callable or None, default=None
        As in :class:`Tuned`.
    features : transformer or None, default=None
        Comes before every learner, for instance ``TokenWindow()``.
    cv : int, splitter or list of (train, test), default=3
        Folds. More folds train on more of the data and take longer.
    groups : array-like or None
        Samples of one group stay in one fold.
    random_state : int, default=0
        Seed of the folds. Another number is another random choice, no better or worse.
    n_jobs : int or None, default=None
        Threads of the learners that take them. More threads are faster, up to the number of cores.
    verbose : int, default=0
        1 shows progress with the time left. Larger values show no more.

    Returns
    -------
    Comparison
        With a ``table``; ``print`` it or call ``to_html``.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]] * 3
    >>> comparison = tw.compare(X, [["D", "N"]] * 12, tw.Chain(), ["CRF", "Perceptron"], budget=10)
    >>> comparison.scoring, sorted(comparison.table["learner"])
    ('token_error', ['CRF', 'Perceptron', 'most frequent'])
    """
    from trelliswork.structures import Chain

    X, y = as_samples(X), as_samples(y, outputs=True)
    check_samples(X, y)
    check_number("budget", budget, 0, above=True)
    if structure is None:
        known = isinstance(X, (list, np.ndarray))  # of tables check_inputs has more to say
        odd = next((i for i, (x, y_i) in enumerate(zip(X, y)) if _is_single(x, y_i)), None) if known else None
        if odd is not None:
            raise InputError(
                f"{y[odd]!r:.60} is no list of labels, as Chain() has; name the structure: "
                "compare(X, y, Classes()) for single labels, Transducer() for strings",
                sample=odd,
            )
        structure = Chain()
    entries = _entries(structure, learners, features, n_jobs)
    check_inputs(entries[0].learner, X)
    y = outputs_of(entries[0].learner, y)
    measure = as_measure(scoring, entries[0].learner, y)
    pairs = make_splits(y, cv, groups=groups, random_state=random_state)
    steps = (len(entries) + sum(entry.can_be_tuned for entry in entries)) * len(pairs)
    if structure.output_kind in ("label", "label sequence"):
        entries.append(Entry(BASELINE, MostFrequent()))
    with Progress("comparing", steps, verbose) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that end early or badly show in the table
        _Contest(X, y, pairs, structure, measure, budget, progress).run(entries)
    return Comparison(entries, measure, X, y, pairs, structure)


def _is_single(x: Any, y_i: Any) -> bool:
    """Whether an output is one label, or a string, and not a label for every token of ``x``."""
    if isinstance(y_i, str):
        return isinstance(x, str) or not hasattr(x, "__len__") or len(x) != len(y_i)
    return isinstance(y_i, (int, float, np.generic))


def _entries(structure: Structure, learners: Any, features: Any, n_jobs: int | None) -> list[Entry]:
    if isinstance(learners, str):
        if learners != "all":
            raise InputError(f"learners must be 'all' or a list such as ['CRF'], got {learners!r}")
        learners = [name for name in LEARNERS if name != "Fixed"]
    named: dict[str, Any] = {}
    pairs = learners.items() if isinstance(learners, Mapping) else ((None, item) for item in learners)
    for name, item in pairs:
        if isinstance(item, str):
            if item not in LEARNERS:
                raise InputError(f"learners: unknown learner {item!r}; expected one of {', '.join(LEARNERS)}")
            name, item = item, LEARNERS[item](structure)
        if not hasattr(item, "fit") or isinstance(item, type):
            raise InputError(f"learners: expected names or estimators such as CRF(Chain()), got {item!r:.60}")
        name = type(item).__name__ if name is None else str(name)
        while name in named:
            name += "'"
        item = clone(item)
        if n_jobs is not None and "n_jobs" in final_step(item).get_params(deep=False):
            final_step(item).set_params(n_jobs=n_jobs)
        named[name] = item if features is None else make_pipeline(clone(features), item)
    if not named:
        raise InputError("learners is empty")
    return [Entry(name, learner) for name, learner in named.items()]


class _Contest:
    """Runs the learners.

    Parameters
    ----------
    X, y : inputs and outputs
        All samples.
    pairs : list of (train, test)
        The folds.
    structure : Structure
        What an output is.
    measure : Measure
        How good predictions are.
    budget : float
        Seconds from now.
    progress : Progress
        Gets a record per fold.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        pairs: list[tuple[np.ndarray, np.ndarray]],
        structure: Structure,
        measure: Measure,
        budget: float,
        progress: Progress,
    ):
        self.X, self.y, self.pairs = X, y, pairs
        self.structure, self.measure, self.progress = structure, measure, progress
        self.budget, self.started = budget, 0.0

    def run(self, entries: list[Entry]) -> None:
        """All learners as they are; then, in the time that is left, with settings that suit the data.

        Quick learners come first and leave their time to slow ones. What is cut short is not tuned.
        """
        self._warm_up(entries)
        self.started = time.perf_counter()
        for k in range(len(self.pairs)):
            racing = [entry for entry in entries if not entry.failure]
            for number, entry in enumerate(sorted(racing, key=_quickness)):
                # The first fold tells who needs how much; what was cut short there has no more elsewhere.
                rest = len(racing) * (1 if k == 0 else len(self.pairs) - k) - number
                share = self._left(_FIRST_FOLD if k == 0 else 1.0) / rest
                self._plain(entry, k, min(share, entry.folds[0].fit_seconds) if entry.cut else share)
        able = [entry for entry in entries if entry.can_be_tuned and not entry.failure and not entry.cut]
        for number, entry in enumerate(sorted(able, key=_quickness)):
            self._tuned(entry, time.perf_counter() + self._left() / (len(able) - number))

    def _warm_up(self, entries: list[Entry]) -> None:
        """A few steps on a few samples: what is compiled must not count against who needs it first."""
        few = np.unique(np.linspace(0, len(self.y) - 1, _FEW).astype(np.int64))
        X, y = take(self.X, few), take(self.y, few)
        for entry in entries:
            steps: list[None] = []

            def enough(steps: list[None] = steps) -> bool:
                steps.append(None)
                return len(steps) >= _FEW

            try:
                with ended_by(enough):
                    on_a_part(entry.learner).fit(X, y).predict(X)
            except KeyboardInterrupt:
                if len(steps) < _FEW:  # by the user
                    raise
            except Exception:  # what is wrong shows on all samples
                continue

    def _left(self, part: float = 1.0) -> float:
        """Seconds of a part of the budget; never none, so that slow learners do not shut out quick ones."""
        return max(self.started + part * self.budget - time.perf_counter(), _AT_LEAST * self.budget)

    def _plain(self, entry: Entry, k: int, share: float) -> None:
        """The learner's own settings on a fold."""
        needed = min((fold.fit_seconds for fold in entry.folds), default=0.0)
        if needed > 2 * share and not entry.cut:  # it cannot be ended
            entry.failure = f"a fit takes {needed:.1f} s and has {share:.1f} s; raise budget"
            return
        until = time.perf_counter() + share
        try:
            entry.folds.append(self._fold(entry, k, {}, until))
        except FAILURES as error:
            entry.failure = str(error)
        except KeyboardInterrupt:
            if time.perf_counter() <= until:
                raise
            entry.failure = f"nothing was learnt in its share of {share:.1f} s; raise budget"
        self.progress.step(learner=entry.name)

    def _tuned(self, entry: Entry, until: float) -> None:
        """Settings that are chosen on the training part of every fold, as far as time allows."""
        for k, (train, _) in enumerate(self.pairs):
            before = entry.folds[k]
            share = (until - time.perf_counter()) / (len(self.pairs) - k)
            # A fit to most of the samples, at least, and the last one to all of them.
            seconds = share - before.fit_seconds - before.predict_seconds
            if seconds < before.fit_seconds:
                return
            search = Tuned(on_a_part(entry.learner), scoring=self.measure, dev=_HELD_OUT, budget=seconds)
            with self._ended(until), suppress(*FAILURES):
                search._choose(take(self.X, train), take(self.y, train), None)
                entry.results.append(search.results_)
                entry.tune_seconds.append(search.search_seconds_)
                if search.best_params_:
                    fold = self._fold(entry, k, search.best_params_, until)
                    entry.folds[k] = before if fold.cut else fold
            self.progress.step(learner=f"{entry.name}, tuned")

    def _fold(self, entry: Entry, k: int, settings: dict[str, Any], until: float) -> FoldResult:
        train, test = self.pairs[k]
        model = on_a_part(entry.learner).set_params(**settings)
        started = time.perf_counter()
        with self._ended(until), numbered_by(train):
            model.fit(take(self.X, train), take(self.y, train))
        fitted = time.perf_counter()
        held_out, truth = take(self.X, test), take(self.y, test)
        with numbered_by(test):
            outputs = model.predict(held_out)
            done = time.perf_counter()
            judged = self.measure.evaluate(_Said(self.structure, outputs), held_out, truth)
        if entry.size is None or settings:
            entry.size = _file_size(model)
        cut = getattr(final_step(model), "stop_", None) == "interrupted"
        return FoldResult(judged, outputs, settings, fitted - started, done - fitted, cut)

    def _ended(self, until: float) -> Any:
        """Ends the fits of a learner when its time is over."""

        def over() -> bool:
            self.progress.tick()
            return time.perf_counter() > until

        return ended_by(over)


def _quickness(entry: Entry) -> float:
    return entry.folds[-1].fit_seconds if entry.folds else 0.0


class _Said:
    """Predictions that were made, as a model."""

    def __init__(self, structure: Structure, outputs: Any):
        self.structure, self.outputs = structure, outputs

    def predict(self, X: Any) -> Any:
        return self.outputs


def _file_size(model: Any) -> int | None:
    from trelliswork.persist import save

    with tempfile.TemporaryDirectory() as folder, suppress(InputError):
        path = os.path.join(folder, "model.tw")
        save(model, path)
        return os.path.getsize(path)
    return None
