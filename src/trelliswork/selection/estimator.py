"""A learner with its settings chosen by held-out data."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from trelliswork._errors import InputError
from trelliswork._validate import check_number, check_samples, check_weights, count_samples
from trelliswork.learners.base import FitInterrupted
from trelliswork.learners.calls import accepts_iterators
from trelliswork.learners.optimize.progress import Progress
from trelliswork.selection.chosen import ChosenModel
from trelliswork.selection.plan import Plan, make_plan
from trelliswork.selection.results import results_table
from trelliswork.selection.scoring import MeasureScorer, as_measure
from trelliswork.selection.search import Search
from trelliswork.selection.splits import make_splits
from trelliswork.selection.steps import check_inputs, final_step, on_a_part, outputs_of, structure_of
from trelliswork.selection.trials import ShardSplit, Split
from trelliswork.shards import Shards

_LOOKED_AT = 200  # samples of data in partitions

__all__ = ["Tuned", "tuned"]


class Tuned(ChosenModel, BaseEstimator):
    """A learner whose settings are chosen by cross-validation or a development set.

    Learners declare what is worth tuning (``tuning``): first of all the strength of regularisation, as
    multiples of the value that the learner has. It is walked from strong to weak, each fit starting from
    the last; moments are solved again without a new pass over the data. A path ends early where held-out
    scores become clearly worse, and goes on where its end is the best. The first split sees all settings;
    those that are surely behind the best there are not tried on the others.

    Parameters
    ----------
    learner : estimator
        A learner, or a ``Pipeline`` that ends in one, whose transformers are then fitted once per split.
    tune : None, "all", list or mapping, default=None
        What is tuned: what the learner declares; with ``"all"`` also what its structure does; the named ones;
        or given values, ``{"l2": [1, 0.1], "structure__order": [1, 2]}``.
    scoring : str, callable or None, default=None
        What is to be good, by name (``trelliswork.scorers`` lists them: ``"entity_f1"``, ``"pair_f1"``,
        ``"tree"``, ...), ``scoring(y_true, y_pred)`` or a scorer of scikit-learn. None is what suits
        the outputs: entity F1 for BIO labels, F1 of brackets and base pairs, error rates.
    cv : int, splitter or list of (train, test), default=3
        Folds. Single labels are spread evenly over them. More folds train on more of the data and take
        longer.
    dev : float or None, default=None
        Instead of folds, hold out this share of the samples once. The larger, the surer the choice and the
        fewer samples are left to learn from.
    n_values : int, default=10
        Values on a path. More are finer and take longer.
    one_standard_error : bool, default=False
        Take the strongest regularisation whose score is within one standard error of the best.
    race : float or None, default=2.0
        Standard errors behind the best, on the same held-out samples, at which settings are given up; None
        tries all settings on all splits. The larger, the more settings are tried to the end.
    budget : float or None, default=None
        Seconds after which the search ends with the best settings so far. The learner's own settings are
        then tried first. One last fit, to all samples, comes on top. More time may find better settings.
    method : str, default="predict"
        Method that is judged and that ``predict`` calls. With ``"predict_mea"`` what the structure declares
        for it is tuned, too (``gamma`` of RNA).
    random_state : int, default=0
        Seed of the folds. Another number is another random choice, no better or worse.
    n_jobs : int or None, default=None
        Splits at a time (threads; -1: all cores), apart from the ``n_jobs`` of the learner. Results do not
        depend on it. More threads are faster, up to the number of cores.
    verbose : int, default=0
        1 shows progress with the time left. Larger values show no more.

    Attributes
    ----------
    best_estimator_ : estimator
        The learner with the best settings, fitted to all samples. ``predict``, ``predict_kbest`` and so on
        are its methods.
    best_params_ : dict
        The settings, as ``learner.set_params`` takes them.
    best_score_ : float
        Their score on held-out samples, in the measure's own terms: errors are small when good.
    best_index_ : int
        Their row in ``results_``.
    results_ : dict of str to list
        A column for each parameter, and scores with standard errors, seconds and so on:
        ``pandas.DataFrame(model.results_)``. Settings that left the race have fewer splits. ``own`` marks the
        learner's own settings, with what ``"auto"`` stood for in the first split.
    scoring_ : str
        Name of the measure.
    ended_ : {None, "budget", "interrupted"}
        Why the search ended before it was complete.
    search_seconds_, refit_seconds_ : float
        What the search and the last fit took.

    See Also
    --------
    trelliswork.compare : Which learner?

    Notes
    -----
    Ctrl-C ends the search with a ``FitInterrupted`` warning: the best settings so far are fitted to all
    samples. A second Ctrl-C ends this fit as it ends any.

    References
    ----------
    .. [1] Prechelt (1998), Early stopping, but when?; Maron, Moore (1994), NIPS (races of models).

    Examples
    --------
    >>> from trelliswork import CRF, Chain, Tuned
    >>> X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"], ["the", "bird"], ["a", "bird"]]
    >>> y = [["D", "N"]] * 6
    >>> model = Tuned(CRF(Chain())).fit(X, y)
    >>> model.predict([["a", "bird"]]), model.scoring_, model.best_score_
    ([['D', 'N']], 'token_error', 0.0)
    """

    def __init__(
        self,
        learner: Any,
        *,
        tune: Any = None,
        scoring: Any = None,
        cv: Any = 3,
        dev: float | None = None,
        n_values: int = 10,
        one_standard_error: bool = False,
        race: float | None = 2.0,
        budget: float | None = None,
        method: str = "predict",
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.learner = learner
        self.tune = tune
        self.scoring = scoring
        self.cv = cv
        self.dev = dev
        self.n_values = n_values
        self.one_standard_error = one_standard_error
        self.race = race
        self.budget = budget
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.learner)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    @property
    def _estimator_type(self) -> Any:
        return getattr(self.learner, "_estimator_type", None)

    @property
    def structure(self) -> Any:
        """Structure of the model that was chosen; before ``fit``, of the learner."""
        return structure_of(self)

    # -- fitting ---------------------------------------------------------------------------

    @accepts_iterators
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
    ) -> Tuned:
        """Choose settings, then fit the learner with the best of them to all samples.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Training data; or :class:`~trelliswork.Shards` alone.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample, in training and in held-out scores.
        groups : array-like of shape (n_samples,) or None
            Samples of one group stay in one fold.
        X_dev, y_dev : lists or None
            Development set, which is used instead of folds; it is not trained on.
        """
        prefix = self._choose(X, y, sample_weight, groups, X_dev, y_dev)
        weights = {} if sample_weight is None else {f"{prefix}sample_weight": sample_weight}
        started = time.perf_counter()
        self.best_estimator_ = clone(self.learner).set_params(**self.best_params_).fit(X, y, **weights)
        self.refit_seconds_ = time.perf_counter() - started
        return self

    def _choose(
        self, X: Any, y: Any, sample_weight: Any, groups: Any = None, X_dev: Any = None, y_dev: Any = None
    ) -> str:
        """Search for the best settings; returns what comes before the names of parameters in a pipeline."""
        self._check_parameters()
        started = time.perf_counter()
        if isinstance(X, Shards):
            y = self._outputs_in(X)
        else:
            check_samples(X, y)
            check_inputs(self.learner, X)
        y, y_dev = outputs_of(self.learner, y), outputs_of(self.learner, y_dev)
        plan, prefix = self._plan()
        measure = as_measure(self.scoring, self.learner, y)
        splits = self._splits(X, y, sample_weight, groups, X_dev, y_dev, measure, plan)
        with (
            Progress("tuning", None, self.verbose) as progress,
            warnings.catch_warnings(),  # what a fit with bad settings says is no news
        ):
            warnings.simplefilter("ignore")
            search = Search(
                splits,
                plan,
                final_step(self.learner).get_params(),
                measure,
                limit=self.race,
                lenient=self.one_standard_error,
                budget=self.budget,
                n_jobs=self.n_jobs,
                progress=progress,
            )
            search.run()
        best = search.best(self.one_standard_error)
        if best is None and search.ended is None:
            raise next(t.error for t in search.trials if t.error is not None)
        settings = {} if best is None else {prefix + name: value for name, value in best.settings.items()}
        self._tell_ending(search, settings)
        self.results_ = results_table(search, plan, best, len(splits), prefix)
        self.scoring_, self.ended_ = measure.name, search.ended
        self.best_params_ = settings
        self.best_index_ = self.results_["chosen"].index(True) if best is not None else None
        judged = None if best is None else best.judged
        self.best_score_ = float("nan") if judged is None else judged.score
        del splits, search  # compiled samples of all splits
        self.search_seconds_ = time.perf_counter() - started
        return prefix

    def check_stored(self) -> None:
        """Refuse parameters, from a file, that only a search would have looked at."""
        self._check_parameters()

    def _check_parameters(self) -> None:
        check_number("n_values", self.n_values, 1, whole=True)
        for name in ("race", "budget"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), 0, above=name == "budget")
        last = final_step(self.learner)
        if not hasattr(last, "fit") or not hasattr(last, "get_params") or isinstance(last, type):
            raise InputError(
                f"learner must be an estimator such as CRF(Chain()), or a Pipeline that ends in one, got "
                f"{self.learner!r:.60}"
            )
        if not (isinstance(self.method, str) and hasattr(last, self.method)):
            raise InputError(f"method: {type(last).__name__} has no {self.method!r}")

    def _plan(self) -> tuple[Plan, str]:
        """What is tried, and what comes before the names of parameters in a pipeline."""
        prefix = f"{self.learner.steps[-1][0]}__" if hasattr(self.learner, "steps") else ""
        tune = self.tune
        if prefix and isinstance(tune, dict):
            tune = {name.removeprefix(prefix): values for name, values in tune.items()}
        elif prefix and isinstance(tune, (list, tuple)):
            tune = [t.removeprefix(prefix) if isinstance(t, str) else t for t in tune]
        return make_plan(final_step(self.learner), tune, self.n_values, self.method), prefix

    def _splits(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        X_dev: Any,
        y_dev: Any,
        measure: Any,
        plan: Plan,
    ) -> list[Split]:
        in_parts = isinstance(X, Shards)
        weights = check_weights(sample_weight, sum(X.counts) if in_parts else count_samples(X))
        if (X_dev is None) != (y_dev is None):
            raise InputError("a development set needs both X_dev and y_dev")
        quiet = on_a_part(self.learner)
        verbose = {name: 0 for name in quiet.get_params() if name.split("__")[-1] == "verbose"}
        quiet.set_params(**verbose)
        last = final_step(quiet)
        if getattr(last, "compared_at", 1.0) != 1.0 and "tol" not in plan.names:
            last.set_params(tol=last.compared_at * last.tol)
        options: dict[str, Any] = {"measure": measure, "method": self.method, "decoding": plan.decoding}
        if X_dev is not None:
            check_samples(X_dev, y_dev)
            return [Split(quiet, (X, X_dev), (y, y_dev), None, None, weights=weights, **options)]
        outputs = np.zeros(sum(X.counts)) if in_parts else y  # those of partitions are not all here
        pairs = make_splits(outputs, self.cv, groups=groups, share=self.dev, random_state=self.random_state)
        kind = ShardSplit if in_parts else Split
        return [kind(quiet, X, y, train, test, weights=weights, **options) for train, test in pairs]

    def _outputs_in(self, shards: Shards) -> Any:
        """Some outputs of data in partitions, which tell what kind they are; samples are counted."""
        structure = structure_of(self)
        if structure is None:
            raise InputError("data in partitions need a learner with a structure, such as CRF(Chain())")
        shards.count(structure)
        return shards.look(_LOOKED_AT)[1]

    def _tell_ending(self, search: Search, settings: dict[str, Any]) -> None:
        said = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        if search.ended == "interrupted":
            warnings.warn(
                f"interrupted: the search after {len(search.trials)} settings; the best so far "
                f"({said or 'the own ones'}) are fitted to all samples",
                FitInterrupted,
                stacklevel=3,
            )
        elif search.ended == "budget" and not search.left:
            warnings.warn(
                f"budget={self.budget:g} seconds are too few to try anything; the learner's own settings are "
                "used",
                UserWarning,
                stacklevel=3,
            )

    # -- what the chosen model does ----------------------------------------------------------

    @accepts_iterators
    def predict(self, X: Any, **constraints: Any) -> Any:
        """Best output of every sample, by the model that was chosen.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        **constraints
            Passed to the structure, for instance ``allowed=`` of a chain.
        """
        return getattr(self._fitted(), self.method)(X, **constraints)

    @accepts_iterators
    def score(self, X: Any, y: Any) -> float:
        """Score of new samples, greater is better.

        Without ``scoring`` it is that of the learner (accuracy in the structure's own terms), as with any
        estimator; else the measure of the search, errors with a minus sign.

        Parameters
        ----------
        X, y : lists of inputs and outputs
            Samples.
        """
        model = self._fitted()
        if self.scoring is None and self.method == "predict":
            return model.score(X, y)
        y = outputs_of(model, y)
        return MeasureScorer(as_measure(self.scoring, model, y))(self, X, y)


def tuned(learner: Any, X: Any, y: Any, **options: Any) -> Tuned:
    """Choose the settings of a learner and fit it: ``Tuned(learner, **options).fit(X, y)``.

    Parameters
    ----------
    learner : estimator
        A learner, or a ``Pipeline`` that ends in one.
    X, y : lists of inputs and outputs
        Training data.
    **options
        Those of :class:`Tuned`, and ``sample_weight``, ``groups``, ``X_dev``, ``y_dev`` of its ``fit``.

    Returns
    -------
    Tuned
        Fitted.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"], ["the", "bird"], ["a", "bird"]]
    >>> model = tw.tuned(tw.StructuredSVM(tw.Chain()), X, [["D", "N"]] * 6, cv=2, n_values=3)
    >>> model.predict([["a", "bird"]]), sorted(model.best_params_)
    ([['D', 'N']], ['C'])
    """
    data = {k: options.pop(k) for k in ("sample_weight", "groups", "X_dev", "y_dev") if k in options}
    return Tuned(learner, **options).fit(X, y, **data)
