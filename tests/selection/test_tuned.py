"""Tuned: what it chooses, how it gets there, and that it is an estimator like any other."""

from __future__ import annotations

import copy
import pickle
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline

import trelliswork as tw
from trelliswork._tuning import Choice, Path
from trelliswork.features import TokenWindow
from trelliswork.learners.base import StructuredEstimator
from trelliswork.selection.plan import make_plan
from trelliswork.selection.splits import make_splits

WORDS = {"D": ["the", "a", "my"], "N": ["cat", "dog", "run", "bird"], "V": ["run", "sees", "likes"]}


def sentences(n, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = [str(rng.choice(["D", "N", "V"]))]
        for _ in range(int(rng.integers(1, 5))):
            follow = {"D": ["N"], "N": ["V", "D"], "V": ["D", "N"]}[labels[-1]]
            labels.append(str(rng.choice(follow)))
        X.append([str(rng.choice(WORDS[a])) for a in labels])
        y.append([a if rng.random() > noise else "V" for a in labels])
    return X, y


X, Y = sentences(40)


class Recorded(StructuredEstimator):
    """Learns nothing; says what it was fitted with, and is right as often as its strength is near 1."""

    tuning = (Path("strength", decades=(2.0, 2.0)), Choice("kind", ("good", "bad", "impossible")))
    fits: list  # shared by the copies

    def __init__(self, structure=None, strength=1.0, kind="good", fits=None, seconds=0.0):
        self.structure = structure
        self.strength = strength
        self.kind = kind
        self.fits = fits
        self.seconds = seconds

    def __sklearn_clone__(self):
        return Recorded(self.structure, self.strength, self.kind, self.fits, self.seconds)

    def fit(self, X, y):
        if self.kind == "impossible":
            raise tw.InputError("no such kind")
        time.sleep(self.seconds)
        self.fits.append((self.strength, self.kind, len(X)))
        if self.strength == getattr(self.fits, "interrupt_at", None):
            raise KeyboardInterrupt
        self.strength_ = 100.0 if self.strength == "auto" else self.strength
        self.coef_ = np.array([self.strength_])
        return self

    def predict(self, X):
        distance = abs(np.log10(self.strength_)) + (self.kind == "bad")
        right = round(len(X) / (1.0 + distance))
        return [i < right for i in range(len(X))]


class Fits(list):
    interrupt_at = None


def recorded(**options):
    return Recorded(tw.Classes(), fits=Fits(), **options)


def search(model, n=300, **options):
    return tw.Tuned(model, scoring="accuracy", **options).fit([0] * n, [True] * n)


# -- the search ------------------------------------------------------------------------------------


def test_finds_the_best_of_path_and_choices():
    model = search(recorded(), n_values=5)
    assert model.best_params_["strength"] == 1.0
    assert model.best_params_.get("kind", "good") == "good"
    assert model.best_score_ == 1.0
    assert model.best_estimator_.fits[-1] == (1.0, "good", 300)
    table = model.results_
    assert len({len(column) for column in table.values()}) == 1
    assert table["chosen"].index(True) == model.best_index_
    assert table["score"][model.best_index_] == model.best_score_
    failed = [why for why in table["failure"] if why is not None]
    assert failed
    assert all("no such kind" in why for why in failed)


def test_path_runs_from_strong_to_weak_and_ends_where_it_is_clearly_worse():
    fits = search(recorded(), n_values=9, tune=["strength"]).learner.fits
    assert [strength for strength, _, _ in fits[:7]] == [100.0, 31.62, 10.0, 3.162, 1.0, 0.3162, 0.1]
    assert min(strength for strength, _, _ in fits) == 0.1  # two values that are behind 1 are enough
    everything = search(recorded(), n_values=9, tune=["strength"], race=None)
    assert everything.results_["n_splits"] == [3] * 9


def test_path_goes_on_where_its_end_is_best():
    for start in (1e4, 1e-4):
        model = search(recorded(strength=start), n_values=5, tune=["strength"])
        assert model.best_params_["strength"] == pytest.approx(1.0, rel=0.05)


def test_path_around_the_number_that_auto_stands_for():
    model = search(recorded(strength="auto"), n_values=5, tune=["strength"])
    assert model.learner.fits[0] == ("auto", "good", 200)
    tried = model.results_["strength"]
    assert set(tried) >= {1e4, 1e3, 100.0, 10.0, 1.0}  # 100 is what "auto" stands for
    assert model.results_["own"] == [value == 100.0 for value in tried]
    assert tried.count(100.0) == 1
    assert model.best_params_ == {"strength": 1.0}


def test_settings_that_are_behind_are_tried_on_one_split_only():
    table = search(recorded(), n_values=5, tune=["strength"]).results_
    seen = dict(zip(table["strength"], table["n_splits"], strict=True))
    assert seen[1.0] == 3
    assert seen[100.0] == 1


def test_one_standard_error_takes_the_strongest_of_those_near():
    plain = search(recorded(), n=12, n_values=9, tune=["strength"])
    strong = search(recorded(), n=12, n_values=9, tune=["strength"], one_standard_error=True)
    table = plain.results_
    enough = plain.best_score_ - table["standard_error"][plain.best_index_]
    near = [s for s, score in zip(table["strength"], table["score"], strict=True) if score >= enough]
    assert strong.best_params_["strength"] == max(near) >= plain.best_params_["strength"]


def test_given_values():
    model = search(recorded(), tune={"strength": [0.5, 2.0, 1.0], "kind": ["bad", "good"]})
    assert model.best_params_["strength"] == 1.0
    assert {s for s, _, _ in model.learner.fits} == {0.5, 1.0, 2.0}
    with pytest.raises(tw.InputError, match="no parameter 'nothing'"):
        search(recorded(), tune={"nothing": [1]})
    with pytest.raises(tw.InputError, match=r"does not say how 'fits' is tuned; it names strength, kind"):
        search(recorded(), tune=["fits"])


def test_error_of_a_learner_that_always_fails():
    with pytest.raises(tw.InputError, match="no such kind"):
        search(recorded(kind="impossible"), tune=["strength"])


def test_budget_ends_the_search():
    model = search(recorded(seconds=0.02), n_values=9, budget=0.1)
    assert model.ended_ == "budget"
    assert model.learner.fits[0] == (1.0, "good", 200)  # its own settings first
    assert model.best_params_.get("strength", 1.0) == 1.0
    assert model.search_seconds_ < 1.0


def test_budget_for_nothing():
    with pytest.warns(UserWarning, match="too few to try anything"):
        model = search(recorded(), budget=1e-9)
    assert model.best_params_ == {}
    assert model.best_estimator_.fits == [(1.0, "good", 300)]


@pytest.mark.parametrize("jobs", [None, 2])
def test_interrupt_keeps_the_best_so_far(jobs):
    learner = recorded()
    learner.fits.interrupt_at = 0.1
    with pytest.warns(tw.FitInterrupted, match=r"the best so far \(strength=1.0\)"):
        model = search(learner, n_values=5, n_jobs=jobs)
    assert model.ended_ == "interrupted"
    assert model.predict([0] * 3) == [True] * 3
    assert model.best_estimator_.fits[-1] == (1.0, "good", 300)


def test_fits_end_when_time_is_over():
    from trelliswork.learners.optimize.progress import ended_by

    with warnings.catch_warnings(), ended_by(lambda: True):
        warnings.simplefilter("ignore")
        model = tw.CRF(tw.Chain()).fit(X, Y)
    assert model.stop_ == "interrupted"
    assert model.n_iter_ <= 1


# -- paths of learners -----------------------------------------------------------------------------

OBJECTIVES = {"CRF": "objective_", "StructuredSVM": "dual_", "VotedCRF": "objective_"}


@pytest.mark.parametrize(
    "learner",
    [
        tw.CRF(tw.Chain(), tol=1e-7),
        tw.StructuredSVM(tw.Chain(), tol=1e-5, C_mode="absolute"),
        tw.VotedCRF(tw.Chain(), tol=1e-5, max_iter=5000),
        tw.ZScore(tw.Chain()),
        tw.SODA(tw.Chain(), reference="generative", reg=1.0),
        tw.Generative(tw.Chain()),
        tw.Perceptron(tw.Chain()),
        tw.KLRSO(tw.Chain(), min_count=1),
    ],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.filterwarnings("ignore::trelliswork.FitWarning")
def test_fits_along_a_path_are_those_from_scratch(learner):
    some, given = X[:8], Y[:8]
    plan = make_plan(learner, None, 4, "predict")
    points = (
        [plan.walks[0].settings(i) for i in range(4)] if plan.walks else [{"max_iter": 2}, {"max_iter": 5}]
    )
    model = clone(learner).set_params(**points[0]).fit(some, given)
    for point in points[1:]:
        model.fit_again(some, given, **point)
        fresh = clone(learner).set_params(**point).fit(some, given)
        assert model.get_params(deep=False).items() >= point.items()
        name = OBJECTIVES.get(type(learner).__name__)
        if name is None:
            np.testing.assert_allclose(model.coef_, fresh.coef_, rtol=1e-4, atol=1e-6)
        else:
            assert getattr(model, name) == pytest.approx(getattr(fresh, name), rel=1e-3)


def test_moments_are_solved_again_without_a_pass(monkeypatch):
    model = tw.ZScore(tw.Chain()).fit(X, Y)
    monkeypatch.setattr(model, "_state_of", None)
    assert model.fit_again(X, Y, reg=0.1).reg == 0.1


def test_samples_are_compiled_once_per_split(monkeypatch):
    compiled, packed = [], []
    compile, pack = tw.Chain.compile, tw.structures.Chain.space_class.pack
    monkeypatch.setattr(tw.Chain, "compile", lambda s, *a, **k: compiled.append(1) or compile(s, *a, **k))
    monkeypatch.setattr(tw.Chain.space_class, "pack", lambda s, *a, **k: packed.append(1) or pack(s, *a, **k))
    tw.Tuned(tw.CRF(tw.Chain()), cv=2, n_values=4, race=None).fit(X, Y)
    assert len(compiled) == 3  # two splits, and all samples
    assert len(packed) == 3  # what the splits hold out, and a look at the last model


def test_number_of_threads_does_not_matter():
    one, two = (tw.Tuned(tw.StructuredSVM(tw.Chain()), n_jobs=n, n_values=4).fit(X, Y) for n in (None, 2))
    assert one.results_["score"] == two.results_["score"]
    assert np.array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize(
    ("learner", "data"),
    [
        (tw.CRF(tw.Classes()), ([[i % 2, i % 3] for i in range(24)], [i % 2 for i in range(24)])),
        (tw.ZScore(tw.Classes()), ([[i % 2, i % 3] for i in range(24)], [i % 2 for i in range(24)])),
        (tw.Generative(tw.RNA("g6")), (["GGAAACC", "GAAAC", "ACGU"] * 4, ["((...))", "(...)", "...."] * 4)),
        (tw.KernelRegression(), (["cat", "act", "tac", "cact"] * 3, ["KAT", "AKT", "TAK", "KAKT"] * 3)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_structures(learner, data):
    model = tw.Tuned(learner, n_values=3).fit(*data)
    assert len(model.predict(data[0])) == len(data[0])
    assert set(model.best_params_) <= set(learner.get_params())


def test_gamma_of_expected_accuracy_takes_no_new_fit():
    X, y = ["GGAAACC", "GAAAC", "ACGU"] * 4, ["((...))", "(...)", "...."] * 4
    model = tw.Tuned(tw.Generative(tw.RNA("g6")), method="predict_mea", n_values=2).fit(X, y)
    tried = set(model.results_["structure__gamma"])
    assert tried == {0.5, 1.0, 2.0, 4.0, 8.0}
    gamma = model.best_params_.get("structure__gamma", 1.0)
    assert model.best_estimator_.structure.gamma == gamma
    assert model.predict(X) == model.best_estimator_.predict_mea(X)


def test_order_of_the_chain():
    model = tw.Tuned(tw.CRF(tw.Chain()), tune="all", n_values=2, cv=2).fit(X, Y)
    assert set(model.results_["structure__order"]) == {1, 2}


# -- an estimator like any other -------------------------------------------------------------------


def test_in_a_pipeline_around_a_pipeline_and_in_a_grid():
    inside = make_pipeline(TokenWindow(), tw.Tuned(tw.CRF(tw.Chain()), n_values=3)).fit(X, Y)
    around = tw.Tuned(make_pipeline(TokenWindow(), tw.CRF(tw.Chain())), n_values=3).fit(X, Y)
    assert list(around.best_params_) == ["crf__l2"]
    assert around.best_params_["crf__l2"] == inside[-1].best_params_["l2"]
    assert around.predict(X[:3]) == inside.predict(X[:3])
    assert around.score(X, Y) == inside.score(X, Y)
    grid = GridSearchCV(
        tw.Tuned(tw.CRF(tw.Chain()), n_values=2, cv=2),
        {"one_standard_error": [False, True]},
        cv=KFold(2),
        scoring=tw.scorers["token_error"],
        error_score="raise",
    ).fit(X, Y)
    assert -1 <= grid.best_score_ <= 0


def test_clone_pickle_and_parameters():
    model = tw.Tuned(tw.CRF(tw.Chain(), l2=0.5), cv=2, n_values=2)
    assert clone(model).get_params()["learner__l2"] == 0.5
    model.fit(X, Y)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert copied.predict(X) == model.predict(X)
    assert model.learner.l2 == 0.5
    assert not hasattr(model.learner, "coef_")


def test_methods_of_the_chosen_model():
    model = tw.Tuned(tw.CRF(tw.Chain()), cv=2, n_values=2).fit(X, Y)
    inner = model.best_estimator_
    assert model.predict_kbest(X[:1], k=2) == inner.predict_kbest(X[:1], k=2)
    assert np.array_equal(model.predict_marginals(X[:1])[0], inner.predict_marginals(X[:1])[0])
    assert np.array_equal(model.log_prob(X, Y), inner.log_prob(X, Y))
    assert model.classes_ == inner.classes_
    assert model.n_iter_ == inner.n_iter_
    assert not hasattr(tw.Tuned(tw.KernelRegression()), "predict_kbest")
    with pytest.raises(AttributeError, match="nothing_"):
        model.nothing_  # noqa: B018


def test_development_set_weights_and_groups():
    dev = tw.Tuned(tw.CRF(tw.Chain()), n_values=3).fit(X[:30], Y[:30], X_dev=X[30:], y_dev=Y[30:])
    assert [name for name in dev.results_ if name.startswith("split")] == ["split0_score"]
    share = tw.tuned(tw.CRF(tw.Chain()), X, Y, dev=0.25, n_values=3)
    assert share.results_["n_splits"] == [1] * len(share.results_["n_splits"])
    weights = np.r_[np.ones(20), np.zeros(20)]
    some = tw.Tuned(tw.CRF(tw.Chain()), n_values=2, cv=KFold(2)).fit(X, Y, sample_weight=weights + 1e-9)
    assert some.best_estimator_.coef_.shape == dev.best_estimator_.coef_.shape
    tw.Tuned(tw.CRF(tw.Chain()), n_values=2, cv=GroupKFold(2)).fit(X, Y, groups=np.arange(40) // 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_values": 0}, "n_values must be"),
        ({"budget": 0}, "budget must be"),
        ({"dev": 2.0}, "dev must be a share"),
        ({"cv": 41}, "40 samples are too few for 41 folds"),
        ({"cv": "many"}, "cv must be"),
        ({"scoring": "f2"}, "unknown measure 'f2'"),
        ({"method": "guess"}, "CRF has no 'guess'"),
        ({"tune": "l2"}, "tune must be"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(tw.InputError, match=message):
        tw.Tuned(tw.CRF(tw.Chain()), **options).fit(X, Y)


def test_bad_learners():
    for wrong in (tw.CRF, "crf", None):
        with pytest.raises(tw.InputError, match="learner must be an estimator"):
            tw.Tuned(wrong).fit(X, Y)
    with pytest.raises(tw.InputError, match="both X_dev and y_dev"):
        tw.Tuned(tw.CRF(tw.Chain())).fit(X, Y, X_dev=X)


# -- whatever holds the data -----------------------------------------------------------------------


class Column:
    """What is used of a column of a data frame: rows have names, which are no places."""

    def __init__(self, values):
        self.values = list(values)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, key):
        raise KeyError(key)

    def to_numpy(self):
        out = np.empty(len(self), dtype=object)
        out[:] = self.values
        return out


def test_iterators_and_columns():
    plain = tw.Tuned(tw.CRF(tw.Chain()), cv=2, n_values=2).fit(X, Y)
    for inputs, outputs in ((iter(X), (y for y in Y)), (X, Column(Y))):
        model = tw.Tuned(tw.CRF(tw.Chain()), cv=2, n_values=2).fit(inputs, outputs)
        assert np.array_equal(model.coef_, plain.coef_)
    assert model.predict(x for x in X[:2]) == plain.predict(X[:2])
    assert model.score(iter(X), iter(Y)) == plain.score(X, Y)


ROWS, CLASSES = np.tile(np.eye(3), (6, 1)), np.array(["a", "b", "c"] * 6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_a_column_of_labels():
    model = tw.Tuned(tw.CRF(tw.Classes()), n_values=2).fit(ROWS, CLASSES[:, None])
    assert model.best_score_ == 0.0
    assert model.predict(ROWS).tolist() == CLASSES.tolist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library):
    frames = pytest.importorskip(library)
    frame, labels = frames.DataFrame(dict(zip("abc", ROWS.T))), frames.Series(CLASSES.tolist())
    if library == "pandas":  # rows in another order keep their names
        frame, labels = frame.iloc[::-1], labels.iloc[::-1]
    model = tw.Tuned(tw.CRF(tw.Classes()), n_values=2).fit(frame, labels)
    assert model.score(frame, labels) == 1.0
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert len(frames.DataFrame(model.results_)) == len(model.results_["score"])


def test_score_is_that_of_the_learner_or_what_was_asked_for():
    model = tw.Tuned(tw.CRF(tw.Chain()), n_values=2).fit(X, Y)
    assert model.score(X, Y) == model.best_estimator_.score(X, Y)
    asked = tw.Tuned(tw.CRF(tw.Chain()), scoring="token_error", n_values=2).fit(X, Y)
    assert asked.score(X, Y) == pytest.approx(model.score(X, Y) - 1.0)


def test_a_symbol_that_only_one_fold_has():
    pairs = [("ACCA", "ACA"), ("CAC", "CC")] * 3 + [("AWA", "AA")]
    aligned = [("ACCA", "A-CA"), ("CAC", "C-C")] * 3 + [("AWA", "A-A")]
    model = tw.Tuned(tw.Perceptron(tw.Alignment()), tune={"max_iter": [2, 3]}).fit(pairs, aligned)
    assert model.structure.unknown == "error"
    assert "W" in model.space_.symbols


def test_errors_name_samples_as_the_user_has_them():
    bad = [*X[:39], ["the", 3.5, "cat"]]
    with pytest.raises(tw.InputError) as caught:
        tw.Tuned(tw.CRF(tw.Chain()), cv=2, n_values=2).fit(bad, [*Y[:39], ["D", "N", "N"]])
    assert caught.value.sample == 39


@pytest.mark.parametrize("kernel", ["rbf", tw.kernels.RBF()])
def test_width_of_the_kernel_and_rescaling(kernel):
    learner = tw.StructuredSVM(tw.Classes(), kernel=kernel)
    assert [walk.path.name for walk in make_plan(learner, None, 2, "predict").walks] == ["C"]
    assert not make_plan(learner, None, 2, "predict").choices
    model = tw.Tuned(learner, tune="all", n_values=2).fit(ROWS, CLASSES)
    name = "kernel" if isinstance(kernel, str) else "kernel__gamma"
    assert len({str(value) for value in model.results_[name]}) >= 2
    assert set(model.results_["rescale"]) == {"margin", "slack"}


def test_alternative_outputs_of_transducers():
    words, sounds = ["ca", "ac", "cc", "aa"] * 3, [{"ka", "kA"}, "ak", {"kk"}, "aa"] * 3
    model = tw.Tuned(tw.CRF(tw.Transducer(min_context=1)), n_values=2).fit(words, sounds)
    assert model.scoring_ == "edit"
    assert model.best_score_ == 0.0


# -- splits ----------------------------------------------------------------------------------------


def test_labels_are_spread_evenly_and_groups_stay_together():
    y = ["rare"] * 3 + ["often"] * 12
    for train, test in make_splits(y, 3):
        assert sorted(np.r_[train, test]) == list(range(15))
        assert [y[i] for i in test].count("rare") == 1
    groups = np.arange(15) // 4
    for train, test in make_splits(y, 2, groups=groups):
        assert not set(groups[train]) & set(groups[test])
    a, b = (make_splits(y, 3) for _ in range(2))
    assert all(np.array_equal(s[1], t[1]) for s, t in zip(a, b, strict=True))


def test_trials_are_as_exact_as_a_comparison_needs_and_the_model_as_asked(monkeypatch):
    tolerances = []
    fit = tw.CRF.fit

    def recorded(self, *args, **more):
        tolerances.append(self.tol)
        return fit(self, *args, **more)

    monkeypatch.setattr(tw.CRF, "fit", recorded)
    model = tw.Tuned(tw.CRF(tw.Chain(), tol=1e-5), n_values=2, cv=2).fit(X, Y)
    assert set(tolerances[:-1]) == {tw.CRF.compared_at * 1e-5}
    assert tolerances[-1] == model.best_estimator_.tol == 1e-5
    tolerances.clear()
    tw.Tuned(tw.CRF(tw.Chain()), tune={"tol": [1e-3, 1e-5]}, cv=2).fit(X, Y)
    assert set(tolerances) <= {1e-3, 1e-5}
