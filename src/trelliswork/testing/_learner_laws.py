"""Laws that every learner keeps, whatever its structure."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import itertools
import pickle
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline

from trelliswork import persist
from trelliswork._ragged import Ragged
from trelliswork._validate import count_samples
from trelliswork.structures.abilities import PartlyKnown
from trelliswork.structures.base import Unsupported
from trelliswork.testing._structure_laws import Checked

__all__ = ["check_learner"]


def check_learner(
    learner: Any,
    X: Any,
    y: Any,
    *,
    rng: Any = 0,
    sequential: bool | None = None,
    tol: float = 1e-3,
) -> Checked:
    """Check that an estimator keeps the laws of this package; raise ``AssertionError`` if not.

    Covers scikit-learn's protocol on ragged data (``clone``, grids, pipelines,
    cross-validation), determinism, independence of samples at prediction, weights as
    repetition, probabilities, warm starts, pickling and model files. A law about
    something that the learner or its structure lacks is skipped, and named in the result.

    Parameters
    ----------
    learner : StructuredEstimator or KernelRegression
        Not fitted; never changed (clones are fitted instead). Where there is no structure, the predicted
        features stand for the weights.
    X, y : lists of inputs and outputs
        Small data, at least 4 samples, such that every fold of a 2-fold split has all
        the labels, and (with ``min_count`` or the like) repetition changes no alphabet.
    rng : int or Generator, default=0
        Seed of the permutations. Another number is another random choice, no better or worse.
    sequential : bool or None, default=None
        True for learners whose weights depend on the order of the samples: order and
        repetition are then not checked. None asks ``learner.sequential``.
    tol : float, default=1e-3
        Allowed difference between weights that should agree but come from two searches,
        relative to the largest weight. The larger, the more difference is let pass.

    Returns
    -------
    Checked
        Names of the laws that hold, and of those that were skipped, with the reason.

    Examples
    --------
    >>> from trelliswork import Chain, Generative
    >>> from trelliswork.testing import check_learner
    >>> X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]]
    >>> check_learner(Generative(Chain()), X, [["D", "N"]] * 4).skipped
    ['warm start: Generative has no warm_start']
    """
    n_samples = count_samples(X)
    if n_samples < 4:
        raise ValueError(f"check_learner needs at least 4 samples, got {n_samples}")
    if sequential is None:
        sequential = bool(getattr(learner, "sequential", False))
    case = _Case(learner, X, y, np.random.default_rng(rng), sequential, tol)
    laws, skipped = [], []
    for law in _LAWS:
        name = law.__name__.strip("_").replace("_", " ")
        try:
            law(case)
        except Unsupported as reason:
            skipped.append(f"{name}: {reason}")
        except AssertionError as error:
            what = (law.__doc__ or law.__name__).strip().rstrip(".")
            raise AssertionError(f"{learner!r} breaks the law: {what}\n{error}") from error
        else:
            laws.append(name)
    return Checked(laws, skipped)


class _Case:
    """A learner, its data, and fits that laws share."""

    def __init__(self, learner: Any, X: Any, y: Any, rng: np.random.Generator, sequential: bool, tol: float):
        self.learner, self.X, self.y, self.rng = learner, X, y, rng
        self.sequential, self.tol = sequential, tol
        self._model: Any = None  # from the first law that fits, which looks at that fit
        self.grid: GridSearchCV | None = None  # two folds on one thread more, and the refit
        self.n_samples = count_samples(X)

    def needs(self, holds: bool, what: str) -> None:
        """Skip a law unless ``holds``; ``what`` the learner lacks."""
        if not holds:
            raise Unsupported(f"{type(self.learner).__name__} {what}")

    def new(self, **params: Any) -> Any:
        return clone(self.learner).set_params(**params)

    @property
    def model(self) -> Any:
        if self._model is None:
            self._model = self.new().fit(self.X, self.y)
        return self._model

    @functools.cached_property
    def pipe(self) -> Any:
        """A second clone, fitted at the end of a pipeline."""
        return make_pipeline(_Pass(), self.new()).fit(self.X, self.y)

    @functools.cached_property
    def scoring(self) -> dict[str, Any]:
        """The learner's own score and, where there is one label per token, the scorers that compare them."""
        from trelliswork.metrics import scorers

        def score(model: Any, X: Any, y: Any) -> float:
            return model.score(X, y)

        scoring: dict[str, Any] = {"score": score}
        if _sequences(self.y) and all(len(x) == len(y) for x, y in zip(self.X, self.y)):
            scoring |= {"tokens": scorers.token_accuracy, "sequences": scorers.sequence_accuracy}
        return scoring

    @property
    def params(self) -> dict[str, Any]:
        return self.learner.get_params(deep=False)

    @property
    def weighted(self) -> bool:
        return "sample_weight" in inspect.signature(self.learner.fit).parameters

    def close(self, a: Any, b: Any, what: str) -> None:
        """The weights of two models agree by name."""
        if not hasattr(a, "space_"):
            gap = float(np.abs(self.values(a) - self.values(b)).max())
            assert gap <= self.tol, f"{what}: a predicted feature differs by {gap:g}"
            return
        weights_a, weights_b = _by_name(a), _by_name(b)
        size = max([1.0, *map(abs, weights_a.values())])
        for name in {**weights_a, **weights_b}:
            gap = abs(weights_a.get(name, 0.0) - weights_b.get(name, 0.0))
            assert gap <= self.tol * size, f"{what}: weight {name!r} differs by {gap:g}"

    def values(self, model: Any) -> np.ndarray:
        """Weights or, for a learner without a structure, predicted features in the order of their names."""
        if hasattr(model, "space_"):
            return model.coef_
        return np.concatenate([np.ravel(row) for row in model.decision_function(self.X)])


def _by_name(model: Any) -> dict[Any, float]:
    return dict(zip(model.space_.feature_names, model.coef_.tolist(), strict=True))


# -- scikit-learn's protocol -----------------------------------------------------------------


def _cloning(case: _Case) -> None:
    """clone, get_params, set_params and repr agree with the constructor."""
    learner = case.learner
    names = [p for p in inspect.signature(type(learner)).parameters if p != "self"]
    assert sorted(learner.get_params(deep=False)) == sorted(names), "get_params lacks constructor arguments"
    twin = clone(learner)
    assert repr(twin) == repr(learner), f"clone changes the repr: {twin!r}"
    assert type(learner).__name__ in repr(learner)
    for name, value in case.params.items():
        assert twin.set_params(**{name: value}) is twin, f"set_params({name}=...) does not return self"
        assert _same(getattr(twin, name), value), f"set_params does not store {name}"
    for name, value in learner.get_params(deep=True).items():
        assert _same(clone(learner).set_params(**{name: value}).get_params()[name], value), name


def _fitting(case: _Case) -> None:
    """A fit returns self and changes neither the arguments nor the data."""
    model = case.new()
    before = copy.deepcopy(model.get_params())
    X, y = copy.deepcopy(case.X), copy.deepcopy(case.y)
    assert model.fit(X, y) is model, "fit does not return self"
    case._model = model
    after = model.get_params()
    for name, value in before.items():
        if not isinstance(value, BaseEstimator):
            assert _same(value, after[name]), f"fit changes the argument {name}"
    assert _same(X, case.X), "fit changes X"
    assert _same(y, case.y), "fit changes y"
    model.predict(X)
    assert _same(X, case.X), "predict changes X"
    assert hasattr(model, "n_iter_"), "fit leaves no n_iter_"
    if not hasattr(model, "structure"):
        return
    for name in ("space_", "coef_", "history_"):
        assert hasattr(model, name), f"fit leaves no {name}"
    assert model.coef_.shape == (model.space_.n_features,)
    assert np.isfinite(model.coef_).all(), "a weight is not finite"
    assert len(model.space_.feature_names) == model.space_.n_features


def _not_fitted(case: _Case) -> None:
    """Before fit every question is a NotFittedError."""
    case.needs(case.learner.__sklearn_tags__().requires_fit, "needs no fit")
    asked: dict[str, tuple[Any, ...]] = {
        "predict": (case.X,),
        "predict_kbest": (case.X, 2),
        "predict_marginals": (case.X,),
        "log_prob": (case.X, case.y),
        "decision_function": (case.X,),
        "score": (case.X, case.y),
        "sample": (case.X,),
        "tables": (),
        "weights_by_name": (),
    }
    for name, arguments in asked.items():
        try:
            if hasattr(case.learner, name):
                getattr(case.new(), name)(*arguments)
            else:
                continue
        except NotFittedError:
            continue
        raise AssertionError("a question before fit is answered")


class _Pass(TransformerMixin, BaseEstimator):
    """A transformer that changes nothing."""

    def fit(self, X: Any, y: Any = None) -> _Pass:
        return self

    def transform(self, X: Any) -> Any:
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _pipeline(case: _Case) -> None:
    """A pipeline predicts what its last step predicts, and its fit finds the same bits."""
    pipe = case.pipe
    assert np.array_equal(case.values(pipe[-1]), case.values(case.model)), "a pipeline finds other weights"
    assert _same(pipe.predict(case.X), case.model.predict(case.X))
    assert pipe.score(case.X, case.y) == case.model.score(case.X, case.y)


def _grid_search(case: _Case) -> None:
    """GridSearchCV runs on lists and refits the best."""
    case.needs("n_jobs" in case.params, "has no n_jobs")
    grid = {"n_jobs": [2]}
    search = GridSearchCV(
        case.new(), grid, scoring=case.scoring, refit="score", cv=KFold(2), error_score="raise"
    )
    case.grid = search.fit(case.X, case.y)
    assert _same(search.best_estimator_.coef_, case.model.coef_)


def _cross_validation(case: _Case) -> None:
    """Cross-validation gives the same on a list and on a Ragged, with our scorers, and as in a grid."""
    ragged = _ragged(case.X) if _sequences(case.y) else None
    tables = []
    if case.grid is not None:
        results = case.grid.cv_results_
        tables.append({s: [results[f"split{k}_test_{s}"][0] for k in range(2)] for s in case.scoring})
    if ragged is not None:
        tables.append(_validated(case, ragged))
    if len(tables) < 2:
        tables.append(_validated(case, case.X))
    for name, scores in tables[-1].items():
        assert len(scores) == 2, scores
        assert all(0 <= score <= 1 for score in scores), f"{name}: {scores}"
    for table in tables:
        assert _same(table, tables[0]), f"{tables[0]}, in a grid, as Ragged or as list {table}"


def _validated(case: _Case, X: Any) -> dict[str, list[float]]:
    table = cross_validate(case.new(), X, case.y, cv=KFold(2), scoring=case.scoring, error_score="raise")
    return {name: table[f"test_{name}"].tolist() for name in case.scoring}


def _sequences(y: Any) -> bool:
    return all(isinstance(output, (list, tuple, np.ndarray)) for output in y)


def _ragged(X: Any) -> Ragged | None:
    """The same samples as a Ragged, where they are lists of tokens or arrays."""
    if not isinstance(X, list):
        return None
    if all(isinstance(x, np.ndarray) for x in X):
        return Ragged.from_list(X)
    if not all(isinstance(x, list) for x in X):
        return None
    tokens = np.empty(sum(map(len, X)), dtype=object)
    tokens[:] = [token for x in X for token in x]
    return Ragged(tokens, np.cumsum([0, *map(len, X)]))


# -- the same bits ---------------------------------------------------------------------------


def _deterministic(case: _Case) -> None:
    """Two fits give the same bits, and so does a second fit of one model."""
    wanted = case.values(case.model)  # first: where the learner cannot be fitted, the law is skipped
    again = case.pipe[-1]
    assert np.array_equal(case.values(again), wanted), "a second clone finds other weights"
    if "warm_start" in case.params:
        again.set_params(warm_start=False)
    again.fit(case.X, case.y)
    assert np.array_equal(case.values(again), wanted), "a second fit finds other weights"


def _threads(case: _Case) -> None:
    """The number of threads does not change a bit."""
    case.needs("n_jobs" in case.params, "has no n_jobs")
    alone = case.model if case.params["n_jobs"] in (None, 1) else case.new(n_jobs=1).fit(case.X, case.y)
    threaded = case.new(n_jobs=2).fit(case.X, case.y) if case.grid is None else case.grid.best_estimator_
    assert np.array_equal(alone.coef_, threaded.coef_), "weights depend on n_jobs"
    assert _same(alone.predict(case.X), threaded.predict(case.X)), "predictions depend on n_jobs"
    with contextlib.suppress(Unsupported):
        same = _same(alone.predict_marginals(case.X), threaded.predict_marginals(case.X))
        assert same, "marginals depend on n_jobs"


# -- sets of samples ---------------------------------------------------------------------------


def _order(case: _Case) -> None:
    """The order of the samples does not matter."""
    case.needs(not case.sequential, "visits samples one after the other")
    order = case.rng.permutation(case.n_samples)
    mixed = case.new().fit(_take(case.X, order), _take(case.y, order))
    case.close(mixed, case.model, "after a permutation of the samples")


def _repetition(case: _Case) -> None:
    """Weight 2 is the same as having a sample twice; weight 0 as not having it."""
    case.needs(not case.sequential, "visits samples one after the other")
    case.needs(case.weighted, "takes no sample_weight")
    n = case.n_samples
    twice = case.rng.random(n) < 0.5
    twice[0], twice[-1] = True, False
    order = np.concatenate([np.arange(n), np.flatnonzero(twice)])
    repeated = case.new().fit(_take(case.X, order), _take(case.y, order))
    weights = np.append(1.0 + twice, 0.0)  # the added sample brings nothing new to the alphabets
    order = np.append(np.arange(n), n - 1)
    weighted = case.new().fit(_take(case.X, order), _take(case.y, order), sample_weight=weights)
    case.close(weighted, repeated, "weights 0, 1 and 2 against absence and repetition")


def _alone(case: _Case) -> None:
    """A prediction does not depend on the other samples."""
    model, n = case.model, case.n_samples
    together = model.predict(case.X)
    assert isinstance(together, list), f"predict returns {type(together).__name__}, not a list"
    assert len(together) == n, f"{len(together)} predictions for {n} samples"
    for i in range(n):
        assert _same(model.predict(_take(case.X, [i])), together[i : i + 1]), f"sample {i} alone differs"
        assert _kind(together[i]) == _kind(case.y[i]), (
            f"sample {i}: predicted {type(together[i]).__name__}, given {type(case.y[i]).__name__}"
        )
    assert model.predict(case.X[:0]) == [], "predict of no samples is not []"
    if not hasattr(model, "predict_marginals"):
        return
    with contextlib.suppress(Unsupported):
        rows = model.predict_marginals(case.X)
        for i in range(n):
            row = model.predict_marginals(_take(case.X, [i]))[0]
            if isinstance(row, np.ndarray):
                assert np.allclose(row, rows[i], atol=1e-9), f"marginals of sample {i} alone differ"


# -- probabilities -----------------------------------------------------------------------------


def _accuracy(case: _Case) -> None:
    """The score is between 0 and 1, and 1 for the model's own outputs."""
    score = case.model.score(case.X, case.y)
    assert isinstance(score, float), f"score returns {type(score).__name__}"
    assert 0.0 <= score <= 1.0, f"score is {score}"
    assert case.model.score(case.X, case.model.predict(case.X)) == 1.0


def _log_probability(case: _Case) -> None:
    """log_prob is at most 0 and largest at the prediction."""
    case.needs(hasattr(case.learner, "log_prob"), "has no log_prob")
    given = case.model.log_prob(case.X, case.y)
    best = case.model.log_prob(case.X, case.model.predict(case.X))
    assert given.shape == best.shape == (case.n_samples,)
    assert (best <= 0).all(), f"log_prob above 0: {best.max()}"
    assert (given <= best + 1e-9).all(), "an output is more probable than the prediction"


def _kbest(case: _Case) -> None:
    """predict_kbest begins with the prediction, falls, and its probabilities are those of log_prob."""
    case.needs(hasattr(case.learner, "predict_kbest"), "has no predict_kbest")
    model = case.model
    lists = model.predict_kbest(case.X, k=4)
    places = np.repeat(np.arange(case.n_samples), [len(candidates) for candidates in lists])
    log_probs = model.log_prob(_take(case.X, places), [c.output for candidates in lists for c in candidates])
    best = model.predict(case.X)
    for i, candidates in enumerate(lists):
        values = [c.score for c in candidates]
        probabilities = np.array([c.probability for c in candidates])
        assert 1 <= len(candidates) <= 4, f"sample {i}: {len(candidates)} candidates"
        assert values == sorted(values, reverse=True), f"sample {i}: scores do not fall"
        assert probabilities.sum() <= 1 + 1e-9, f"sample {i}: probabilities sum to {probabilities.sum()}"
        if len(candidates) == 1 or values[0] > values[1] + 1e-9:
            assert _same(candidates[0].output, best[i]), f"sample {i}: the first is not the prediction"
        for j, c in enumerate(candidates):
            assert not any(_same(c.output, d.output) for d in candidates[:j]), f"sample {i}: an output twice"
        wanted = np.exp(log_probs[places == i])
        assert np.abs(wanted - probabilities).max() <= 1e-8, f"sample {i}: {probabilities}, log_prob {wanted}"


def _marginals(case: _Case) -> None:
    """predict_marginals are probabilities; rows of arrays sum to one."""
    case.needs(hasattr(case.learner, "predict_marginals"), "has no predict_marginals")
    marginals = case.model.predict_marginals(case.X)
    assert len(marginals) == case.n_samples
    for i, rows in enumerate(marginals):
        if isinstance(rows, np.ndarray):
            assert ((rows >= 0) & (rows <= 1 + 1e-9)).all(), f"sample {i}: not probabilities"
            assert np.allclose(rows.sum(axis=-1), 1.0, atol=1e-9), f"sample {i}: rows do not sum to one"


def _explanation(case: _Case) -> None:
    """What features add to the difference of two scores makes up the difference."""
    from trelliswork.learners.explanation import explain

    case.needs(hasattr(case.learner, "predict_kbest"), "has no predict_kbest")
    model = case.model
    case.needs(not hasattr(case.X, "tocsr"), "explains one input, which a row of a sparse matrix is not")
    for i, x in itertools.islice(enumerate(_each(case.X)), 3):  # a few: each takes long
        candidates = model.predict_kbest(_take(case.X, [i]), k=3)[0]
        for k in range(1, len(candidates)):
            why = explain(model, x, against=k)
            # Outputs of the same score may change places in a longer list.
            gaps = [abs(why.first.probability - candidates[0].probability)]
            gaps.append(abs(why.second.probability - candidates[k].probability))
            assert max(gaps) <= 1e-8, f"sample {i}: other outputs than those of predict_kbest"
            total, scale = sum(c.value for c in why.contributions), max(1.0, abs(why.first.score))
            assert abs(total - why.difference) <= 1e-7 * scale, (
                f"sample {i}: contributions add up to {total}, the scores differ by {why.difference}"
            )


# -- going on, and keeping -----------------------------------------------------------------------


def _warm_start(case: _Case) -> None:
    """A warm start goes on from the old weights, also into other alphabets."""
    case.needs("warm_start" in case.params, "has no warm_start")
    model = copy.deepcopy(case.model).set_params(warm_start=True)
    n_iter = model.n_iter_
    model.fit(case.X, case.y)
    if not case.sequential:
        case.close(model, case.model, "warm start against a fresh fit")
        assert model.n_iter_ <= n_iter, f"{model.n_iter_} iterations warm, {n_iter} cold"
    half = case.n_samples // 2
    model = case.new(warm_start=True).fit(case.X[:half], case.y[:half]).fit(case.X, case.y)
    if not case.sequential:
        case.close(model, case.model, "warm start on more data against a fresh fit")


def _pickling(case: _Case) -> None:
    """A fitted model survives pickling."""
    _equal_models(pickle.loads(pickle.dumps(case.model)), case)


def _model_files(case: _Case) -> None:
    """A fitted model survives save and load."""
    from trelliswork.learners import LEARNERS, REGRESSORS

    registered = (*LEARNERS.values(), *REGRESSORS.values())
    case.needs(type(case.learner) in registered, "is not in the table of learners, which model files go by")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tw"
        persist.save(case.model, path)
        # Functions are not saved, so that a structure with one has to be given again.
        structure = getattr(case.model, "structure", None)
        params = {} if structure is None else structure.get_params(deep=False)
        given = structure if any(map(callable, params.values())) else None
        _equal_models(persist.load(path, structure=given), case)


def _equal_models(copied: Any, case: _Case) -> None:
    assert type(copied) is type(case.model)
    assert np.array_equal(case.values(copied), case.values(case.model)), "other weights"
    if hasattr(copied, "space_"):
        assert copied.space_.feature_names == case.model.space_.feature_names, "other features"
    assert _same(copied.predict(case.X), case.model.predict(case.X)), "other predictions"
    assert repr(copied) == repr(case.model), f"other parameters: {copied!r}"


def _partly_known(case: _Case) -> None:
    """Outputs known in part are learned from, alike on any number of threads, and limit predictions."""
    space: Any = getattr(case.model, "space_", None)
    able = space is not None and space.structure.offers(PartlyKnown)
    able = able and "known" in inspect.signature(space.pack).parameters
    case.needs(able, "works with a structure that has no notation for that")
    rng, half = np.random.default_rng(1), case.n_samples // 2
    known = [
        space.hidden(x, y, 0.4, rng) if i < half else y
        for i, (x, y) in enumerate(zip(_each(case.X), case.y, strict=True))
    ]
    predicted = case.model.predict(case.X, known=known)
    for i, (x, output) in enumerate(zip(_each(case.X), predicted, strict=True)):
        assert space.agrees(x, known[i], output), f"sample {i}: {output!r} does not agree with {known[i]!r}"
    if "sample_weight" not in inspect.signature(case.learner.fit).parameters:
        return  # takes no outputs to learn from
    order = np.append(np.arange(case.n_samples), 0)
    weights = np.bincount(order)
    model = case.new().fit(case.X, known, sample_weight=weights)
    assert np.isfinite(model.coef_).all(), "a weight is not finite"
    if "n_jobs" in case.params:
        other = case.new(n_jobs=2).fit(case.X, known, sample_weight=weights)
        assert np.array_equal(other.coef_, model.coef_), "weights depend on n_jobs"
    if not case.sequential and not hasattr(model, "rounds_"):
        twice = case.new().fit(_take(case.X, order), _take(known, order))
        case.close(model, twice, "weights 1 and 2 against repetition, of outputs known in part")
    if hasattr(model, "rounds_"):
        values = [record["objective"] for record in model.rounds_]
        assert all(b <= a for a, b in itertools.pairwise(values)), f"the objective rises: {values}"


def _each(X: Any) -> Any:
    """Inputs one by one."""
    return (X[i] for i in range(count_samples(X)))


_LAWS: tuple[Callable[[_Case], None], ...] = (
    _cloning,
    _fitting,
    _not_fitted,
    _deterministic,
    _grid_search,
    _threads,
    _order,
    _repetition,
    _alone,
    _accuracy,
    _log_probability,
    _kbest,
    _marginals,
    _explanation,
    _warm_start,
    _pickling,
    _model_files,
    _pipeline,
    _cross_validation,
    _partly_known,
)


# -- comparing whatever users have ---------------------------------------------------------------


def _take(items: Any, index: Any) -> Any:
    if isinstance(items, (list, tuple)):
        return [items[i] for i in index]
    return items[np.asarray(index)]


def _kind(output: Any) -> str:
    if isinstance(output, str):
        return "str"
    return "sequence" if isinstance(output, (list, tuple, np.ndarray)) else type(output).__name__


def _same(a: Any, b: Any) -> bool:
    """Equality of nested lists, dicts, arrays, sparse matrices and parameter objects."""
    if sp.issparse(a) or sp.issparse(b):
        return sp.issparse(a) and sp.issparse(b) and a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, Ragged) and isinstance(b, Ragged):
        return _same(a.offsets, b.offsets) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return list(a) == list(b) and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, BaseEstimator) and isinstance(b, BaseEstimator):
        return type(a) is type(b) and _same(a.get_params(), b.get_params())
    return bool(a is b or a == b)
