"""Which learner? All of them on the same folds, each tuned within its share of the time."""

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

from trelliswork._errors import InputError, Unsupported
from trelliswork._signature import signature
from trelliswork._validate import check_number, check_samples
from trelliswork.learners import LEARNERS
from trelliswork.learners.optimize.progress import Progress, ended_by
from trelliswork.metrics._crossval import take
from trelliswork.selection.confusions import confusions
from trelliswork.selection.estimator import Tuned
from trelliswork.selection.measures import Judged, Measure
from trelliswork.selection.scoring import as_measure
from trelliswork.selection.splits import make_splits
from trelliswork.structures.base import Structure

__all__ = ["Comparison", "compare"]

_FOR_SEARCH = 0.6  # of the time of a fold; the rest is for the last fit
_HELD_OUT = 0.25  # of the training samples of a fold, by which settings are chosen
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
class Entry:
    """What is known about one learner.

    Attributes
    ----------
    name : str
        Its name.
    learner : estimator
        With the settings it was given.
    judged : list of Judged
        Held-out samples of every fold.
    settings : list of dict
        What was chosen in every fold.
    results : list of dict
        Tables of the searches.
    seconds : dict of str to list of float
        By what it was spent on, for every fold.
    size : int or None
        Bytes of a model file.
    cut : bool
        Whether time ran out in a fit.
    failure : str or None
        Why it cannot be compared.
    predictions : dict of int to object
        Predicted outputs of held-out samples.
    """

    name: str
    learner: Any
    judged: list[Judged] = field(default_factory=list)
    settings: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, list[Any]]] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"fit": [], "predict": [], "tune": []})
    size: int | None = None
    cut: bool = False
    failure: str | None = None
    predictions: dict[int, Any] = field(default_factory=dict)


class Comparison:
    """Learners side by side; ``print`` it, or write it as a page.

    Attributes
    ----------
    table : dict of str to list
        A column each for the learner, its score, the standard error, whether it is the best or within one
        standard error of it, seconds of a fit, of a prediction (all held-out samples of a fold) and of a
        search, bytes of the model file, settings, and why it failed: ``pandas.DataFrame(comparison.table)``.
        Best first.
    best : str
        Name of the best learner.
    scoring : str
        Name of the measure.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]] * 3
    >>> comparison = tw.compare(X, [["D", "N"]] * 12, learners=["CRF", "Generative"], budget=10)
    >>> comparison.table["score"][0], len(comparison.table["learner"])
    (0.0, 3)
    """

    def __init__(self, entries: list[Entry], measure: Measure, y: Any, structure: Structure | None):
        self.entries = {entry.name: entry for entry in entries}
        self.measure, self.y, self.structure = measure, y, structure
        self.scoring = measure.name
        self.table = self._table()
        self.best = self.table["learner"][0]

    def _table(self) -> dict[str, list[Any]]:
        joined = {n: Judged.joined(e.judged) for n, e in self.entries.items() if e.judged and not e.failure}
        if not joined:
            why = "; ".join(f"{n}: {e.failure}" for n, e in self.entries.items())
            raise InputError(f"no learner could be fitted ({why})")
        order = sorted(joined, key=lambda n: -self.measure.sign * joined[n].score)
        top = joined[order[0]]
        enough = self.measure.sign * top.score - np.nan_to_num(top.standard_error)
        order += [n for n in self.entries if n not in joined]
        rows = []
        for name in order:
            entry, judged = self.entries[name], joined.get(name)
            mean = {
                k: float(np.mean(v)) if v and judged is not None else None for k, v in entry.seconds.items()
            }
            rows.append(
                {
                    "learner": name,
                    "score": None if judged is None else judged.score,
                    "standard_error": None if judged is None else judged.standard_error,
                    "near_best": judged is not None and bool(self.measure.sign * judged.score >= enough),
                    "fit_seconds": mean["fit"],
                    "predict_seconds": mean["predict"],
                    "tune_seconds": mean["tune"],
                    "bytes": entry.size,
                    "settings": self.settings(name),
                    "out_of_time": entry.cut,
                    "failure": entry.failure,
                }
            )
        return {column: [row[column] for row in rows] for column in rows[0]}

    def settings(self, name: str) -> dict[str, Any]:
        """Settings that most folds chose.

        Parameters
        ----------
        name : str
            A learner of the table.
        """
        found = self.entries[name].settings
        counts = Counter(map(signature, found))
        return max(found, key=lambda s: counts[signature(s)]) if found else {}

    def learner(self, name: str | None = None) -> Any:
        """A learner with the settings that most folds chose, to be fitted.

        Parameters
        ----------
        name : str or None
            A learner of the table; None is the best.
        """
        name = self.best if name is None else name
        return clone(self.entries[name].learner).set_params(**self.settings(name))

    def predictions(self, name: str | None = None) -> list[Any]:
        """Outputs that a learner predicts for every sample, by the model that was fitted without it.

        Parameters
        ----------
        name : str or None
            A learner of the table; None is the best.
        """
        found = self.entries[self.best if name is None else name].predictions
        return [found.get(i) for i in range(len(self.y))]

    def confusions(self, name: str | None = None, top: int = 10) -> list[tuple[str, str, int]]:
        """What a learner takes for what, most frequent first: the truth, the prediction, how often.

        Parameters
        ----------
        name : str or None
            A learner of the table; None is the best.
        top : int, default=10
            How many.
        """
        return confusions(self.structure, self.y, self.predictions(name), top)

    def __str__(self) -> str:
        from trelliswork.selection.report import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from trelliswork.selection.report import html_table

        return html_table(self)

    def to_html(self, path: str | os.PathLike[str] | None = None, *, title: str = "Which learner?") -> str:
        """Page with the table, curves of the searches, and the most frequent confusions of the best learner.

        Parameters
        ----------
        path : str, path or None
            File to write.
        title : str
            Heading.

        Returns
        -------
        str
            The page, which needs no other file.
        """
        from trelliswork.selection.report import page

        text = page(self, title)
        if path is not None:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        return text


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
    """Compare learners on the same folds, each tuned on the training part of every fold.

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
        Seconds for everything. Learners have equal shares, and what one leaves is for the others; a fit that
        would take longer than its share is ended with the weights that it has.
    scoring : str, callable or None, default=None
        As in :class:`Tuned`.
    features : transformer or None, default=None
        Comes before every learner, for instance ``TokenWindow()``.
    cv : int, splitter or list of (train, test), default=3
        Folds.
    groups : array-like or None
        Samples of one group stay in one fold.
    random_state : int, default=0
        Seed of the folds.
    n_jobs : int or None, default=None
        Threads of the learners that take them.
    verbose : int, default=0
        1 shows progress with the time left.

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

    check_samples(X, y)
    check_number("budget", budget, 0, above=True)
    structure = Chain() if structure is None else structure
    entries = _entries(structure, learners, features, n_jobs)
    measure = as_measure(scoring, entries[0].learner, y)
    pairs = make_splits(y, cv, groups=groups, random_state=random_state)
    if structure.output_kind in ("label", "label sequence"):
        entries.append(Entry(BASELINE, MostFrequent()))
    deadline = time.perf_counter() + budget
    with Progress("comparing", len(entries) * len(pairs), verbose) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that end early or badly show in the table
        for number, entry in enumerate(entries):
            share = max(deadline - time.perf_counter(), 0.0) / (len(entries) - number)
            until = time.perf_counter() + share
            for k, (train, test) in enumerate(pairs):
                seconds = max(until - time.perf_counter(), 0.05 * share) / (len(pairs) - k)
                _run(entry, structure, X, y, train, test, measure, max(seconds, 1e-3))
                progress.step(learner=entry.name)
                if entry.failure:
                    break
    return Comparison(entries, measure, y, structure)


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
            if "n_jobs" in item.get_params(deep=False):
                item.set_params(n_jobs=n_jobs)
        if not hasattr(item, "fit") or isinstance(item, type):
            raise InputError(f"learners: expected names or estimators such as CRF(Chain()), got {item!r:.60}")
        name = type(item).__name__ if name is None else str(name)
        while name in named:
            name += "'"
        named[name] = item if features is None else make_pipeline(clone(features), item)
    if not named:
        raise InputError("learners is empty")
    return [Entry(name, learner) for name, learner in named.items()]


def _run(
    entry: Entry,
    structure: Structure,
    X: Any,
    y: Any,
    train: np.ndarray,
    test: np.ndarray,
    measure: Measure,
    seconds: float,
) -> None:
    """One learner on one fold."""
    inputs, outputs, held_out, truth = take(X, train), take(y, train), take(X, test), take(y, test)
    deadline = time.perf_counter() + seconds
    try:
        with ended_by(lambda: time.perf_counter() > deadline):
            model = _fit(entry, inputs, outputs, measure, seconds)
        started = time.perf_counter()
        found = model.predict(held_out)
        entry.seconds["predict"].append(time.perf_counter() - started)
        judged = [measure.evaluate(_Said(structure, found), held_out, truth)]
    except (InputError, Unsupported, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
        entry.failure = str(error)
        return
    except KeyboardInterrupt:
        if time.perf_counter() <= deadline:
            raise
        entry.failure = f"not done within its share of the time ({seconds:.1f} s for a fold)"
        return
    entry.judged += judged
    entry.predictions.update(zip(test.tolist(), found, strict=True))
    if entry.size is None:
        entry.size = _file_size(model)


def _fit(entry: Entry, X: Any, y: Any, measure: Measure, seconds: float) -> Any:
    started = time.perf_counter()
    if isinstance(entry.learner, MostFrequent):
        model = clone(entry.learner).fit(X, y)
        entry.seconds["fit"].append(time.perf_counter() - started)
        return model
    search = Tuned(entry.learner, scoring=measure, dev=_HELD_OUT, budget=_FOR_SEARCH * seconds).fit(X, y)
    entry.settings.append(search.best_params_)
    entry.results.append(search.results_)
    entry.seconds["fit"].append(search.refit_seconds_)
    entry.seconds["tune"].append(search.search_seconds_)
    entry.cut |= getattr(search, "stop_", None) == "interrupted"
    return search.best_estimator_


class _Said:
    """Predictions that were made, as a model."""

    def __init__(self, structure: Structure, found: Any):
        self.structure, self.found = structure, found

    def predict(self, X: Any) -> Any:
        return self.found


def _file_size(model: Any) -> int | None:
    from trelliswork.persist import save

    with tempfile.TemporaryDirectory() as folder, suppress(InputError):
        path = os.path.join(folder, "model.tw")
        save(model, path)
        return os.path.getsize(path)
    return None
