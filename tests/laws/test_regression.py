"""Kernel regression keeps the laws of estimators, whatever it predicts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

import trelliswork as tw
from trelliswork import kernels
from trelliswork.learners import REGRESSORS
from trelliswork.testing import check_learner


def strings(rng, n=14):
    X = ["ab", "ba"] + ["".join(rng.choice(list("ab"), rng.integers(1, 6))) for _ in range(n - 2)]
    X = [x for pair in zip(X, X[::-1], strict=True) for x in pair]  # every fold has every n-gram
    return X, [x.replace("a", "xy").replace("b", "z") for x in X]


def vectors(rng, n=12):
    y = [["abc", "cab", "bca", "ab"][i % 4] for i in range(n)]
    X = [np.eye(3)[["abc".index(c) for c in w]] + 0.2 * rng.normal(size=(len(w), 3)) for w in y]
    return X, y


SPECTRUM = kernels.Spectrum(1, 3, boundary=True)
MODELS = {
    "primal": (tw.KernelRegression(SPECTRUM, tw.NGrams(2), solver="primal", ridge=0.1), strings),
    "dual": (tw.KernelRegression(kernels.Normalized(SPECTRUM), tw.NGrams(3), ridge=0.1), strings),
    "path": (tw.KernelRegression(SPECTRUM, tw.NGrams(2), ridge=[0.1, 1.0], solver="dual"), strings),
    "euler": (tw.KernelRegression(SPECTRUM, tw.NGrams(2, preimage="euler"), ridge=0.1), strings),
    "ranked": (
        tw.KernelRegression(SPECTRUM, tw.NGrams(2, language_model=tw.NGramModel(2), lm_weight=0.01)),
        strings,
    ),
    "vote": (
        tw.KernelRegression(SPECTRUM, tw.NGrams(2), vote=[tw.KernelRegression("ngram", tw.NGrams(2))]),
        strings,
    ),
    "greedy": (tw.KernelRegression(SPECTRUM, tw.NGrams(2), basis=20, ridge=0.1), strings),
    "constraints": (
        tw.KernelRegression("ngram", tw.NGrams(1), constraints=[{(("x",), "ab"): 1.0}], eta=1.0),
        strings,
    ),
    "shared": (tw.KernelRegression("rbf", tw.Positions(), ridge=0.1), vectors),
    "viterbi": (
        tw.KernelRegression("poly", tw.Positions(language_model=tw.NGramModel(2)), ridge=0.1),
        vectors,
    ),
    "positions": (tw.KernelRegression("poly", tw.Positions(shared=False), ridge=0.1, eta=0.5), vectors),
    "images": (tw.KernelRegression(kernels.VectorNGrams(), tw.NGrams(2), ridge=1.0), vectors),
}


@pytest.mark.parametrize("name", MODELS)
def test_laws(name):
    model, data = MODELS[name]
    X, y = data(np.random.default_rng(0))
    check_learner(model, X, y)


def test_every_regressor_is_tested():
    assert {type(model).__name__ for model, _ in MODELS.values()} == set(REGRESSORS)


def test_grid_search_over_nested_parameters():
    X, y = strings(np.random.default_rng(1))
    grid = {"ridge": [0.01, 100.0], "output__n": [1, 2], "kernel__longest": [2, 3]}
    search = GridSearchCV(tw.KernelRegression(SPECTRUM, tw.NGrams(2)), grid, cv=KFold(2), error_score="raise")
    search.fit(X, y)
    assert search.best_params_["output__n"] == 2
    assert search.best_params_["ridge"] == 0.01


def test_functions_are_given_again_when_a_model_is_loaded(tmp_path):
    X, y = strings(np.random.default_rng(2))

    def common(a, b):
        return SPECTRUM(a, b)

    model = tw.KernelRegression(common, tw.NGrams(2), ridge=0.1).fit(X, y)
    tw.save(model, tmp_path / "m.tw")
    with pytest.raises(tw.InputError, match="kernel was not saved"):
        tw.load(tmp_path / "m.tw")
    again = tw.load(tmp_path / "m.tw", functions={"kernel": common})
    assert again.predict(X) == model.predict(X)


def test_damaged_states_are_refused(tmp_path):
    X, y = strings(np.random.default_rng(3))
    model = tw.KernelRegression(SPECTRUM, tw.NGrams(2), solver="dual").fit(X, y)
    state = model.__tw_state__()
    for change in (
        {"dual_coef": state["dual_coef"][:-1]},
        {"dual_coef": np.full_like(state["dual_coef"], np.nan)},
        {"code": state["code"] | {"tables": [np.array([[99, 0]])]}},
        {"voters": ["x"]},
    ):
        with pytest.raises(ValueError, match=r"do not fit|not there|no regressors"):
            tw.KernelRegression(SPECTRUM, tw.NGrams(2)).__tw_restore__(state | change)
