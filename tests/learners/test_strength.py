"""Strength of regularisation relative to the data: laws of scale."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import trelliswork as tw
from trelliswork.learners.strength import DataScale
from trelliswork.losses import Loss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + 0.5 * RNG.normal(size=(40, 3)), axis=1)].tolist()
WORDS = [["the", "cat", "sat"], ["a", "dog"], ["the", "dog", "ran", "home"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["D", "N", "V", "O"]]


def scale(structure, X, y, weights=None):
    model = tw.Perceptron(structure, max_iter=1).fit(X, y)
    return DataScale.of(model.pack(X, y), weights)


@pytest.mark.parametrize(
    "model",
    [
        tw.CRF(tw.Classes(bias=False, scale=None), tol=1e-10, max_iter=1000),
        tw.StructuredSVM(tw.Classes(bias=False, scale=None), tol=1e-6),
        tw.VotedCRF(tw.Classes(bias=False, scale=None), tol=1e-9, max_iter=2000),
        tw.StructBoost(tw.Classes(bias=False, scale=None), tol=1e-9, max_iter=2000),
        tw.ZScore(tw.Classes(bias=False, scale=None)),
        tw.SODA(tw.Classes(bias=False, scale=None)),
    ],
    ids=lambda m: type(m).__name__,
)
def test_features_ten_times_as_large_give_the_same_scores(model):
    one, ten = (clone(model).fit(factor * X, Y) for factor in (1.0, 10.0))
    np.testing.assert_allclose(10.0 * ten.coef_, one.coef_, rtol=1e-3, atol=1e-3 * np.abs(one.coef_).max())


@pytest.mark.parametrize(
    ("params", "power"),
    [
        ({}, 1.0),
        ({"rescale": "slack"}, 0.0),
        ({"slack": "l2"}, 0.5),
        ({"slack": "l2", "rescale": "slack"}, 0.0),
    ],
)
def test_a_loss_ten_times_as_large_is_the_same_loss(params, power):
    tree = {"p": {"a": {}, "b": {}}, "q": {"c": {}}}
    one, ten = (
        tw.StructuredSVM(tw.Classes(tree, labels=list("abc")), loss=Times(factor), tol=1e-7, **params).fit(
            X, Y
        )
        for factor in (1.0, 10.0)
    )
    size = np.abs(one.coef_).max()
    np.testing.assert_allclose(ten.coef_, 10.0**power * one.coef_, atol=3e-3 * 10.0**power * size)


class Times(Loss):
    """Distances of letters, in units."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, y_true, y_pred):
        return self.factor * abs(ord(y_true) - ord(y_pred))


@pytest.mark.parametrize("structure", [tw.Chain(), tw.Chain(2)], ids=["order 1", "order 2"])
def test_a_weight_of_two_is_the_sample_twice(structure):
    twice = scale(structure, [*WORDS, WORDS[0]], [*TAGS, TAGS[0]])
    np.testing.assert_allclose(scale(structure, WORDS, TAGS, np.array([2.0, 1.0, 1.0])), twice)


def test_samples_twice_are_formulas_of_twice_as_many():
    def chosen(X, y):
        crf, svm = tw.CRF(tw.Chain()).fit(X, y), tw.StructuredSVM(tw.Chain()).fit(X, y)
        voted, moments = tw.VotedCRF(tw.Chain()).fit(X, y), tw.ZScore(tw.Chain()).fit(X, y)
        return np.array([crf.l2_, svm.C_, voted.penalty_unit_, voted.l2_, moments.lam_])

    once, twice = scale(tw.Chain(), WORDS, TAGS), scale(tw.Chain(), WORDS * 2, TAGS * 2)
    np.testing.assert_allclose(twice, np.array(once) * [1.0, 2.0, 2.0])
    root = 2.0**0.5  # of m, which is twice as large; penalties of voted models are shares of n
    factors = chosen(WORDS * 2, TAGS * 2) / chosen(WORDS, TAGS)
    np.testing.assert_allclose(factors, [root, 2.0, root / 2.0, root / 2.0, root])


def test_norm_and_support_of_a_chain():
    found = scale(tw.Chain(start=False, end=False), WORDS, TAGS)
    assert found.norm == 3.0  # a word, the bias of its label, a pair of labels
    assert found.n_samples == 3
    assert 1.0 < found.support < 3.0


@pytest.mark.parametrize(
    ("structure", "X", "y"),
    [case for cls in ("RNA", "Grammar", "Alignment") for case in list(getattr(tw, cls).examples())[:1]],
    ids=["RNA", "Grammar", "Alignment"],
)
def test_structures_that_count_have_a_scale(structure, X, y):
    found = scale(structure, X, y)
    assert 0 < found.norm < 10
    assert 1 <= found.support <= found.n_samples
    assert tw.CRF(structure, max_iter=5).fit(X, y).l2_ == found.l2


def test_units_are_told():
    crf = tw.CRF(tw.Chain()).fit(WORDS, TAGS)
    found = scale(tw.Chain(), WORDS, TAGS)
    assert crf.l2_ == found.l2
    assert tw.CRF(tw.Chain(), l2=0.25).fit(WORDS, TAGS).l2_ == 0.25
    assert pytest.approx(6.0 * 3 / found.norm) == tw.StructuredSVM(tw.Chain(), 2.0).fit(WORDS, TAGS).C_
    assert tw.StructuredSVM(tw.Chain(), 2.0, C_mode="absolute").fit(WORDS, TAGS).C_ == 2.0
    folds = next(iter(tw.RNA.examples()))[1:]
    # The same for any number of samples.
    expected = 2.0 * scale(tw.RNA("g6"), *folds).prior_price("generative")
    pulled = tw.StructuredSVM(tw.RNA("g6"), 2.0).fit(*folds)
    assert (pulled.C_, pulled.prior_margin_) == (pytest.approx(expected), 0.1)
    assert tw.StructuredSVM(tw.Chain()).fit(WORDS, TAGS).prior_margin_ is None
    voted = tw.VotedCRF(tw.Chain()).fit(WORDS, TAGS)
    assert voted.penalty_unit_ == pytest.approx(found.l1 / 3)
    assert voted.r_ @ np.bincount(voted.family_of_) == pytest.approx(voted.coef_.size)  # 1 on average
    moments = tw.ZScore(tw.Chain()).fit(WORDS, TAGS)
    assert moments.reference_ == "generative"
    assert moments.lam_ == found.ridge("generative")
    assert (moments.loss_, moments.total_margin_, moments.length_) == (None, None, 1.0)  # too few to tell
    asked = tw.ZScore(tw.Chain(), total_margin=4.0).fit(WORDS, TAGS)
    assert asked.lam_ == pytest.approx(0.01 * found.norm * found.support)
    assert (asked.loss_, asked.total_margin_) == ("hamming", 4.0)
    assert tw.SODA(tw.Chain()).fit(WORDS, TAGS).loss_ == "hamming"
    assert tw.ZScore(tw.Classes()).fit(X, Y).reference_ == "generative"
    assert tw.ZScore(tw.Classes(bias=False)).fit(X, Y).reference_ == "uniform"
    assert tw.ZScore(tw.Classes()).fit([["a"], ["b"]], ["a", "b"]).reference_ == "uniform"


@pytest.mark.parametrize("learner", [tw.ZScore, tw.SODA])
def test_reference_of_moments_by_structure(learner):
    for structure in (tw.RNA("g6"), tw.Grammar(), tw.Alignment()):
        X, y = next(iter(type(structure).examples()))[1:]
        model = learner(structure).fit(X, y)
        assert (model.reference_, model.loss_, model.total_margin_) == ("generative", None, None)
    assert tw.RNA("nearest-neighbour").moment_reference == "uniform"


def test_a_chain_with_negative_numbers_has_a_reference():
    rows = [np.array([[1.0, -1.0], [-2.0, 0.5]]), np.array([[0.5, -0.1]])]
    model = tw.ZScore(tw.Chain()).fit(rows, [["A", "B"], ["A"]])
    assert model.predict(rows) == [["A", "B"], ["A"]]
    assert tw.Generative(tw.Chain()).fit(rows, [["A", "B"], ["A"]]).predict(rows) == [["A", "B"], ["A"]]
    named = [[{"u": 1.0, "v": -1.0}], [{"u": -2.0}]]
    with pytest.raises(tw.InputError, match="must not be negative"):
        tw.Generative(tw.Chain()).fit(named, [["A"], ["B"]])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (tw.CRF(tw.Chain(), l2="some"), "l2 must be a finite number"),
        (tw.StructuredSVM(tw.Chain(), C_mode="some"), "C_mode must be 'relative' or 'absolute'"),
        (tw.VotedCRF(tw.Chain(), penalty_mode="some"), "penalty_mode must be 'relative' or 'absolute'"),
        (tw.ZScore(tw.Chain(), reg="some"), "reg must be a finite number"),
    ],
)
def test_other_words_are_refused(model, message):
    with pytest.raises(tw.InputError, match=message):
        model.fit(WORDS, TAGS)
