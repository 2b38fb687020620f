"""What happens with input that is wrong, empty, tiny, huge or unseen."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, cross_val_score

import trelliswork as tw
from trelliswork.structures.abilities import CountedParts, require
from trelliswork.structures.base import Unsupported

X = [["the", "cat"], ["a", "dog", "barks"], ["the", "dog"]]
Y = [["D", "N"], ["D", "N", "V"], ["D", "N"]]
NAN, INF = float("nan"), float("inf")

FITTED = {
    "CRF": tw.CRF,
    "Perceptron": tw.Perceptron,
    "Generative": tw.Generative,
    "ZScore": tw.ZScore,
    "SODA": tw.SODA,
}


def learners(**params):
    return [make(tw.Chain(**params)) for make in FITTED.values()]


@pytest.fixture(params=FITTED)
def learner(request):
    return FITTED[request.param](tw.Chain())


# -- numbers of samples and of tokens -----------------------------------------------------------


def test_no_samples(learner):
    for empty in ([], np.zeros((0, 3)), tw.Ragged(np.zeros((0, 2)), [0])):
        with pytest.raises(tw.InputError, match="X is empty: at least one sample is needed"):
            learner.fit(empty, [])
    learner.fit(X, Y)
    for empty in ([], tw.Ragged(np.zeros((0, 2)), [0])):
        assert learner.predict(empty) == []
        assert learner.predict_kbest(empty) == []
        assert learner.predict_marginals(empty) == []
        assert learner.sample(empty, 2) == []
    assert learner.log_prob([], []).shape == (0,)
    with pytest.raises(tw.InputError, match="X is empty"):
        learner.score([], [])


def test_y_is_missing_or_too_short(learner):
    with pytest.raises(tw.InputError, match="y is missing"):
        learner.fit(X, None)
    for ask in (learner.fit, learner.fit(X, Y).score, learner.log_prob):
        with pytest.raises(tw.InputError, match="X has 3 samples but y has 2"):
            ask(X, Y[:2])
        with pytest.raises(tw.InputError, match=r"sample 1: (3 tokens in X but 2 labels|2 labels against 3)"):
            ask(X, [Y[0], Y[0], Y[2]])


def test_empty_sequences_are_samples_without_labels(learner):
    learner.fit([*X, [], ["a"]], [*Y, [], ["D"]])
    same = type(learner)(tw.Chain()).fit([*X, ["a"]], [*Y, ["D"]])
    if not learner.sequential:
        assert np.array_equal(learner.coef_, same.coef_)
    test = [[], ["the", "cat"], [], ["dog"], []]
    found = learner.predict(test)
    assert [len(labels) for labels in found] == [0, 2, 0, 1, 0]
    assert found[1:2] == learner.predict(test[1:2])
    truth = [[], ["new", "N"], [], ["N"], []]
    log_p = learner.log_prob(test, truth)
    assert log_p[[0, 2, 4]].tolist() == [0.0, 0.0, 0.0]
    assert log_p[1] == -INF
    assert np.isfinite(log_p[3])
    best = learner.predict_kbest(test, 2)
    assert [(c.output, c.score, c.probability) for c in best[0]] == [([], 0.0, 1.0)]
    assert [rows.shape for rows in learner.predict_marginals(test)] == [(n, 3) for n in (0, 2, 0, 1, 0)]
    assert learner.score(test, [[], ["D", "N"], [], found[3], []]) >= 1 / 3
    assert learner.sample(test, 2, random_state=0)[2] == [[], []]


def test_nothing_but_empty_sequences(learner):
    with pytest.raises(tw.InputError, match="y holds no label at all"):
        learner.fit([[], []], [[], []])
    learner.fit(X, Y)
    assert learner.predict([[], []]) == [[], []]
    assert learner.score([[]], [[]]) == 1.0


def test_sequences_of_length_one(learner):
    learner.fit([["a"], ["b"], ["a"]], [["A"], ["B"], ["A"]])
    assert learner.predict([["a"], ["b"]]) == [["A"], ["B"]]
    assert [len(best) for best in learner.predict_kbest([["a"]], 9)] == [2]


def test_one_label_only(learner):
    learner.fit([["a", "b"], ["c"]], [["A", "A"], ["A"]])
    assert learner.predict([["a", "z"], ["c"]]) == [["A", "A"], ["A"]]
    assert learner.log_prob([["a", "z"]], [["A", "A"]]).tolist() == [0.0]
    assert learner.predict_kbest([["a"]], 3)[0][0].probability == 1.0
    assert np.array_equal(learner.predict_marginals([["a", "b"]])[0], np.ones((2, 1)))


# -- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_features_that_are_not_finite(bad, learner):
    labels = [["A"], ["A", "B"]]
    dense = [np.ones((1, 2)), np.array([[1.0, 2.0], [1.0, bad]])]
    good = [np.ones((1, 2)), np.ones((2, 2))]
    cases = [
        ([[{"f": 1.0}], [{"f": 1.0}, {"f": bad}]], "sample 1: feature 'f' is"),
        ([[{"f": 1.0}], [{"f": 1.0}, {"g": {"h": bad}}]], "sample 1: feature 'g:h' is"),
        (dense, "sample 1: token 1 holds NaN or infinity"),
        ([sp.csr_matrix(x) for x in dense], "sample 1: token 1 holds NaN or infinity"),
        (tw.Ragged(np.concatenate(dense), [0, 1, 3]), "sample 1: token 1 holds NaN or infinity"),
        (tw.Ragged(sp.csr_matrix(np.concatenate(dense)), [0, 1, 3]), "sample 1: token 1 holds NaN"),
    ]
    for samples, message in cases:
        with pytest.raises(tw.InputError, match=message):
            learner.fit(samples, labels)
        assert not hasattr(learner, "coef_")
    learner.fit(good, labels)
    with pytest.raises(tw.InputError, match="sample 1: token 1 holds NaN or infinity"):
        learner.predict(dense)


def test_token_types(learner):
    cases = [
        ([["a"], [3.0]], "sample 1: a token must be a string, a list of strings or a dict, got float"),
        ([["a"], [None]], "sample 1: a token must be .* got NoneType"),
        ([["a"], [["a", 3]]], "sample 1: expected strings in the list, got 3"),
        ([["a"], [{"f": object()}]], "sample 1: feature 'f' must be .* got object"),
        ([["a"], "b"], "sample 1: expected a list of tokens, got the string 'b'; split it first"),
        ([["a"], b"b"], "sample 1: expected a list of tokens, got the string"),
        ([["a"], 3], "sample 1: expected a list of tokens, got int"),
        ([["a"], None], "sample 1: expected a list of tokens, got NoneType"),
        ([["a"], {"w": "b"}], "sample 1: expected a list of tokens, got dict"),
        ([["a"], {"b"}], "sample 1: expected a list of tokens, got set"),
        ([["a"], np.ones((1, 2))], "sample 1: a token must be .* got ndarray"),
        ([np.array([["a"]]), ["b"]], "sample 0: a token must be .* got ndarray"),
        ([["a"], np.array(3)], r"sample 1: expected a list of tokens, got an array of shape \(\)"),
        ([["a"], [{"f": 10**400}]], "sample 1: feature 'f' is too large; it must be a finite number"),
        ([["a"], [{"f": 1j}]], "sample 1: feature 'f' must be .* got complex"),
        ([["a"], [{"f": np.complex128(1)}]], "sample 1: feature 'f' must be .* got complex128"),
    ]
    learner.fit([["a"], ["b"]], [["A"], ["B"]])
    for samples, message in cases:
        for ask in (learner.predict, lambda samples: learner.fit(samples, [["A"], ["B"]])):
            with pytest.raises(tw.InputError, match=message):
                ask(samples)


@pytest.mark.parametrize("bad", ["the cat", b"the", 3, None, iter([["the"]])])
def test_x_is_not_a_list(bad, learner):
    with pytest.raises(tw.InputError, match="X must be a list of samples, got"):
        learner.fit(bad, Y)
    learner.fit(X, Y)
    with pytest.raises(tw.InputError, match="X must be a list of samples, got"):
        learner.predict(bad)


def test_one_matrix_instead_of_a_list(learner):
    for matrix in (np.ones((3, 2)), sp.csr_matrix(np.ones((3, 2)))):
        with pytest.raises(tw.InputError, match=r"got one matrix; wrap it as \[X\], or use Ragged"):
            learner.fit(matrix, Y)


def test_labels_of_the_wrong_type(learner):
    cases = [
        ("DND", "y must be a list of outputs, got str"),
        (3, "y must be a list of outputs, got int"),
        ([["D", "N"], 1, ["D", "N"]], "sample 1: expected a list of labels, got 1"),
        ([["D", "N"], ["D", ["N"], "V"], ["D", "N"]], "sample 1: labels must be hashable"),
        ([["D", "N"], ["D", {}, "V"], ["D", "N"]], "sample 1: labels must be hashable"),
        ([["D", "N"], ["D", NAN, "V"], ["D", "N"]], "sample 1: a label is NaN"),
        ([["D", "N"], {"D", "N", "V"}, ["D", "N"]], r"sample 1: expected a list of labels, got \{"),
        ([["D", "N"], {"D": 1, "N": 2, "V": 3}, ["D", "N"]], r"sample 1: expected a list of labels, got \{"),
        ([["D", "N"], np.array(3), ["D", "N"]], r"sample 1: expected a list of labels, got array\(3\)"),
    ]
    for labels, message in cases:
        with pytest.raises(tw.InputError, match=message):
            learner.fit(X, labels)
    learner.fit(X, Y)
    for labels, message in cases[-3:]:
        for ask in (learner.score, learner.log_prob, type(learner)(tw.Chain(labels=list("DNV"))).fit):
            with pytest.raises(tw.InputError, match=message):
                ask(X, labels)
    with pytest.raises(tw.InputError, match="sample 1: labels must be hashable"):
        type(learner)(tw.Chain(labels=["D", "N", "V"])).fit(X, cases[3][0])


@pytest.mark.parametrize(
    "labels", [[1, 2], [0.5, 1.5], [True, False], [("a", 1), ("b", 2)], [None, "a"], [1, "a"], [b"x", "x"]]
)
def test_any_hashable_label_will_do(labels, learner):
    a, b = labels
    learner.fit([["p", "q"], ["q"], ["p", "p"]], [[a, b], [b], [a, a]])
    assert learner.predict([["p", "q"]]) == [[a, b]]


def test_labels_and_outputs_as_arrays(learner):
    data = [["p", "q"], ["q"]]
    learner.fit(data, [np.array([1, 2]), np.array([2])])
    plain = type(learner)(tw.Chain()).fit(data, [[1, 2], [2]])
    ragged = type(learner)(tw.Chain()).fit(data, tw.Ragged(np.array([1, 2, 2]), [0, 2, 3]))
    assert np.array_equal(learner.coef_, plain.coef_)
    assert np.array_equal(ragged.coef_, plain.coef_)
    assert learner.predict(data) == [[1, 2], [2]]
    assert type(learner.predict(data)[0][0]) is int


# -- things not seen in training -------------------------------------------------------------------


def test_unseen_labels_are_errors_at_evaluation(learner):
    learner.fit(X, Y)
    assert learner.predict(X[:1]) == [["D", "N"]]
    assert learner.score(X[:1], [["D", "new"]]) == 0.5
    assert learner.log_prob(X[:2], [["D", "new"], Y[1]])[0] == -INF
    assert learner.log_prob(X[:2], [["D", "new"], Y[1]])[1] > -INF
    given = type(learner)(tw.Chain(labels=["D", "N"]))
    with pytest.raises(tw.InputError, match="sample 1: label 'V' of token 2 is not one of 'D', 'N'"):
        given.fit(X, Y)


def test_a_label_missing_from_a_fold(learner):
    # V occurs in the middle fold only.
    scores = cross_val_score(learner, X, Y, cv=KFold(3), error_score="raise")
    assert scores.shape == (3,)
    assert scores[1] <= 2 / 3
    kept = type(learner)(tw.Chain(labels=["D", "N", "V"])).fit([X[0], X[2]], [Y[0], Y[2]])
    assert kept.classes_ == ["D", "N", "V"]
    assert np.isfinite(kept.log_prob([X[1]], [Y[1]])).all()


def test_unseen_words_have_a_weight_or_none(learner):
    learner.fit(X, Y)
    assert learner.predict([["the", "bird"]]) == [["D", "N"]]
    assert len(learner.predict([["x", "y", "z"]])[0]) == 3
    silent = type(learner)(tw.Chain(unknown=False)).fit(X, Y)
    assert len(silent.predict([["x", "y", "z"]])[0]) == 3


# -- arrays of other widths --------------------------------------------------------------------------


def test_widths_differ_between_samples(learner):
    for make in (np.asarray, sp.csr_matrix):
        samples = [make(np.ones((1, 2))), make(np.ones((1, 2))), make(np.ones((1, 3)))]
        with pytest.raises(
            tw.InputError, match=r"sample 2: expected 2 columns as in sample 0, got shape \(1, 3\)"
        ):
            learner.fit(samples, [["A"], ["B"], ["A"]])
    with pytest.raises(tw.InputError, match=r"sample 1: expected 2 columns as in sample 0, got shape \(\)"):
        learner.fit([np.ones((1, 2)), ["word"]], [["A"], ["B"]])


def test_kinds_of_arrays_differ_between_samples(learner):
    dense, sparse = np.ones((1, 2)), sp.csr_matrix(np.ones((1, 2)))
    cases = [
        (
            [dense, sparse],
            "sample 1: expected a dense array of numbers as in sample 0, got csr_matrix",
        ),
        (
            [sparse, dense],
            "sample 1: expected a sparse array of numbers as in sample 0, got ndarray",
        ),
        ([dense, dense.astype(str)], "sample 1: expected a dense array of numbers .* got ndarray of <U"),
        ([dense, dense * 1j], "sample 1: expected a dense array of numbers .* got ndarray of complex128"),
    ]
    for samples, message in cases:
        with pytest.raises(tw.InputError, match=message):
            learner.fit(samples, [["A"], ["B"]])


@pytest.mark.parametrize("kind", ["dense", "sparse", "ragged"])
def test_widths_differ_between_fit_and_predict(kind, learner):
    def samples(width):
        x = np.eye(3, width)
        if kind == "ragged":
            return tw.Ragged(x, [0, 1, 3])
        return [sp.csr_matrix(x) if kind == "sparse" else x]

    y = [["A"], ["B", "C"]] if kind == "ragged" else [["A", "B", "C"]]
    learner.fit(samples(4), y)
    learner.predict(samples(4))
    for width in (3, 5):
        for ask in (learner.predict, learner.predict_marginals, learner.predict_kbest):
            with pytest.raises(
                tw.InputError, match=f"expected arrays with 4 columns as in fit, got arrays with {width}"
            ):
                ask(samples(width))
    with pytest.raises(
        tw.InputError, match="expected arrays with 4 columns as in fit, got tokens with names"
    ):
        learner.predict([["word"]])
    assert learner.predict([[]]) == [[]]
    if hasattr(learner, "partial_fit"):
        with pytest.raises(tw.InputError, match="expected arrays with 4 columns"):
            learner.partial_fit(samples(5), y)
    # The width survives the round trip through plain state.
    copied = type(learner.space_).from_state(learner.space_.structure, learner.space_.state())
    with pytest.raises(tw.InputError, match="expected arrays with 4 columns"):
        copied.pack(samples(5))


def test_arrays_for_a_model_of_words(learner):
    learner.fit(X, Y)
    with pytest.raises(
        tw.InputError, match="expected tokens with names as in fit, got arrays with 2 columns"
    ):
        learner.predict([np.ones((1, 2))])
    named = tw.Fixed(tw.Chain(), {("emission", "1", "A"): 1.0, ("emission", "0", "B"): 1.0})
    assert named.predict([np.eye(2)]) == [["B", "A"]]


# -- hyper-parameters and weights ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"l1": -1.0}, "l1 must be a finite number >= 0, got -1.0"),
        ({"l2": NAN}, "l2 must be a finite number >= 0, got nan"),
        ({"l2": INF}, "l2 must be"),
        ({"l2": "1"}, "l2 must be"),
        ({"tol": -1e-3}, "tol must be a finite number >= 0"),
        ({"tol": NAN}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be a whole number >= 1, got 0"),
        ({"max_iter": NAN}, "max_iter must be"),
        ({"memory": 0}, "memory must be a whole number >= 1"),
        ({"patience": 0}, "patience must be"),
        ({"solver": "sgd"}, "solver must be 'auto', 'lbfgs' or 'newton-cg', got 'sgd'"),
        ({"solver": "newton-cg", "l1": 1.0}, "newton-cg' needs l1=0"),
        ({"class_weight": {"D": -1.0}}, "class_weight of 'D' is -1.0; it must be >= 0"),
        ({"class_weight": {"D": NAN}}, "class_weight of 'D' is nan; it must be a finite number"),
        ({"class_weight": {"D": "2"}}, "class_weight of 'D' is '2'; it must be a finite number"),
        ({"class_weight": {"d": 1.0}}, r"class_weight: \['d'\] are not labels of the data"),
        ({"class_weight": "even"}, "class_weight must be a dict, 'balanced' or None, got 'even'"),
        ({"class_weight": [1, 2]}, "class_weight must be a dict"),
    ],
)
def test_parameters_of_the_crf(params, message):
    model = tw.CRF(tw.Chain(), **params)  # a constructor checks nothing
    with pytest.raises(tw.InputError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("bad", [0, -1, NAN, 1.5, "9", True])
def test_passes_of_the_perceptron(bad):
    with pytest.raises(tw.InputError, match="max_iter must be a whole number >= 1"):
        tw.Perceptron(tw.Chain(), bad).fit(X, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"order": 0}, "order must be a whole number of at least 1, got 0"),
        ({"order": 1.5}, "order must be"),
        ({"order": 30}, "order 30 with 3 labels means .* n-grams; lower the order"),
        ({"emissions": "some"}, "emissions must be 'all' or 'observed'"),
        ({"transitions": "none"}, "transitions must be 'all', 'observed' or a list of pairs"),
        ({"transitions": ["DN"]}, r"expected pairs \(from, to\), got 'DN'"),
        ({"transitions": None}, "transitions must be 'all', 'observed' or a list of pairs, got None"),
        ({"transitions": [("D", ["N"])]}, r"expected pairs \(from, to\), got \('D', \['N'\]\)"),
        ({"scheme": "IOBX"}, "scheme must be one of"),
        ({"scheme": ["BIO"]}, r"scheme must be one of .* got \['BIO'\]"),
        ({"edge_features": 5}, "edge_features must be 'all', a list of prefixes, a dict .*, or None, got 5"),
        ({"edge_features": [1]}, r"edge_features must be 'all', a list of prefixes, .* got \[1\]"),
        ({"labels": 5}, "labels must be a list of hashable labels or None, got 5"),
        ({"labels": [["a"]]}, "labels must be a list of hashable labels"),
        ({"labels": []}, "labels must be a list of hashable labels"),
        ({"edge_features": "some"}, "edge_features must be 'all'"),
        ({"min_count": -1}, "min_count must be a whole number"),
        ({"min_count": NAN}, "min_count must be a whole number"),
    ],
)
def test_parameters_of_the_chain(params, message):
    for model in learners(**params):
        with pytest.raises(tw.InputError, match=message):
            model.fit(X, Y)


def test_structure_must_be_a_structure(learner):
    with pytest.raises(tw.InputError, match="structure must be a Structure such as Chain"):
        learner.set_params(structure="chain").fit(X, Y)
    with pytest.raises(tw.InputError, match="got type"):
        type(learner)(tw.Chain).fit(X, Y)


@pytest.mark.parametrize("bad", [0, 1.5, "all"])
def test_number_of_threads(bad, learner):
    with pytest.raises(tw.InputError, match="n_jobs must be None, a number of threads, or -1"):
        learner.set_params(n_jobs=bad).fit(X, Y)
    learner.set_params(n_jobs=-1).fit(X, Y)
    with pytest.raises(tw.InputError, match="n_jobs must be"):
        learner.set_params(n_jobs=bad).predict(X)


def test_sample_weights(learner):
    cases = [
        ([1.0, NAN, 1.0], "sample 1: sample_weight is nan; it must be finite and >= 0"),
        ([1.0, 1.0, INF], "sample 2: sample_weight is inf"),
        ([-1.0, 1.0, 1.0], "sample 0: sample_weight is -1.0"),
        ([1.0, 1.0], r"sample_weight must have one entry per sample \(3\), got shape \(2,\)"),
        ([[1.0]] * 3, r"got shape \(3, 1\)"),
        ([0.0, 0.0, 0.0], "sample_weight is zero for every sample"),
        ([1.0, "2", 1.0], "sample 1: sample_weight is '2'; it must be a finite number"),
        ([1.0, 1.0, None], "sample 2: sample_weight is None"),
        ([1.0, [2.0], 1.0], r"sample 1: sample_weight is \[2.0\]"),
        (["1", "1", "1"], "sample 0: sample_weight is '1'"),
        ([1.0, 10**400, 1.0], "sample 1: sample_weight is too large"),
        ("many", "sample 0: sample_weight is 'many'"),
        (2.0, r"got shape \(\)"),
    ]
    for weights, message in cases:
        with pytest.raises(tw.InputError, match=message):
            learner.fit(X, Y, sample_weight=weights)
        assert not hasattr(learner, "coef_")
    learner.fit(X, Y)
    for weights, message in cases:
        with pytest.raises(tw.InputError, match=message):
            learner.score(X, Y, sample_weight=weights)


def test_length_of_the_kbest_list(learner):
    learner.fit(X, Y)
    for k in (0, 1.5, True, "a", None):
        with pytest.raises(tw.InputError, match=f"k must be a whole number >= 1, got {k!r}"):
            learner.predict_kbest(X, k)
    for n in (-1, 1.5, None):
        with pytest.raises(tw.InputError, match=f"n_samples must be a whole number >= 0, got {n!r}"):
            learner.sample(X, n)
    assert learner.sample(X, 0) == [[], [], []]


# -- constraints -------------------------------------------------------------------------------------


def test_allowed_labels(learner):
    learner.fit(X, Y)
    free = learner.predict(X[:2])
    assert learner.predict(X[:2], allowed=[None, [None, None, None]]) == free
    assert learner.predict(X[:1], allowed=[["N", {"V", "D"}]])[0][0] == "N"
    assert learner.predict(X[:1], allowed=[["N", {"V", "D"}]])[0][1] in "VD"
    cases = [
        ([None], "allowed has 1 entries for 2 sequences"),
        ([None, ["D"]], "sample 1: allowed has 1 entries for 3 tokens"),
        ([None, [None, "Z", None]], r"sample 1: token 1 allows only unknown labels \('Z'\)"),
        ([None, [None, {"Z"}, None]], r"sample 1: token 1 allows only unknown labels \(\{'Z'\}\)"),
        ([None, [None, [], None]], "sample 1: token 1 allows no label"),
        ([None, [None, set(), None]], "sample 1: token 1 allows no label"),
        (5, "allowed must be a list with one entry per sequence, got 5"),
        ("DN", "allowed must be a list"),
        ([None, 5], "sample 1: allowed must be None or a list, got 5"),
        ([None, "DNV"], "sample 1: allowed must be None or a list, got 'DNV'"),
        ([None, [None, {"N": 1}, None]], r"sample 1: token 1 allows \{'N': 1\}; expected None, a label or"),
        ([None, [None, [["N"]], None]], r"sample 1: token 1 allows \[\['N'\]\]; expected None"),
        ([None, [None, (["N"],), None]], "sample 1: token 1 allows .* expected None"),
    ]
    for choice in (np.array(["N"]), {"N": 1}.keys(), np.array("N"), ("N",), frozenset("N")):
        assert learner.predict(X[:1], allowed=[[choice, None]])[0][0] == "N"
    for allowed, message in cases:
        with pytest.raises(tw.InputError, match=message):
            learner.predict(X[:2], allowed=allowed)


@pytest.mark.parametrize("params", [{}, {"order": 2}, {"edge_features": "all"}, {"scheme": "BIO"}], ids=str)
def test_allowed_labels_agree_with_enumeration(params):
    rng = np.random.default_rng(5)
    labels = ["B-X", "I-X", "O"]
    train = [[f"w{rng.integers(4)}" for _ in range(4)] for _ in range(6)]
    gold = [["B-X", "I-X", "O", "B-X"], ["O", "B-X", "I-X", "I-X"], ["O", "O", "B-X", "O"]] * 2
    model = tw.CRF(tw.Chain(**params), l2=0.1).fit(train, gold)
    choices = [None, "O", {"B-X", "O"}, ["B-X", "I-X"], "B-X", None]
    for _ in range(8):
        x = [f"w{rng.integers(5)}" for _ in range(int(rng.integers(1, 5)))]
        row = [choices[rng.integers(len(choices))] for _ in x]
        sets = [labels if c is None else [c] if isinstance(c, str) else c for c in row]
        every = list(model.space_.enumerate(x))
        outputs = [y for y in every if all(a in s for a, s in zip(y, sets, strict=True))]
        free = np.exp(model.log_prob([x] * len(every), every))
        p = np.array([free[every.index(y)] for y in outputs])
        if not outputs:
            with pytest.raises(tw.InputError, match="sample 0: no label sequence is allowed"):
                model.predict([x], allowed=[row])
            continue
        p /= p.sum()
        ranked = sorted(zip(p, outputs, strict=True), key=lambda pair: -pair[0])
        assert model.predict([x], allowed=[row]) == [ranked[0][1]]
        found = model.predict_kbest([x], k=len(outputs) + 1, allowed=[row])[0]
        assert [c.output for c in found] == [y for _, y in ranked]
        np.testing.assert_allclose([c.probability for c in found], [q for q, _ in ranked], atol=1e-9)
        rows = np.zeros((len(x), 3))
        for q, y in ranked:
            rows[np.arange(len(x)), [labels.index(a) for a in y]] += q
        np.testing.assert_allclose(model.predict_marginals([x], allowed=[row])[0], rows, atol=1e-9)
        some = model.log_prob([x] * len(every), every, allowed=[row] * len(every))
        wanted = [np.log(p[outputs.index(y)]) if y in outputs else -INF for y in every]
        np.testing.assert_allclose(some, wanted, atol=1e-9)
        draws = model.sample([x], 50, random_state=0, allowed=[row])[0]
        assert all(y in outputs for y in draws)


def test_reading_a_model_that_is_not_fitted(learner):
    for ask in (learner.tables, learner.weights_by_name):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()
    assert tw.Fixed(tw.Chain(), {("start", "A"): 1.0}).tables()["labels"] == ["A"]


def test_unknown_constraints_are_named(learner):
    learner.fit(X, Y)
    for ask in (learner.predict, learner.predict_kbest, learner.predict_marginals, learner.sample):
        for name in ("alowed", "unknown"):
            with pytest.raises(tw.InputError, match=f"Chain has no constraint '{name}'; it has allowed"):
                ask(X, **{name: [None] * 3})
    with pytest.raises(tw.InputError, match="Chain has no constraint 'alowed'"):
        learner.log_prob(X, Y, alowed=None)


def test_constraints_that_nothing_meets(learner):
    y = [["B-X", "I-X"], ["O", "B-X", "I-X"], ["O", "O"]]
    learner.set_params(structure=tw.Chain(scheme="BIO")).fit(X, y)
    allowed = [None, ["O", "I-X", None], None]
    for ask in (learner.predict, learner.predict_kbest, learner.predict_marginals):
        with pytest.raises(
            tw.InputError, match="sample 1: no label sequence is allowed under the constraints"
        ):
            ask(X, allowed=allowed)


def test_transitions_that_leave_no_way_out(learner):
    chain = tw.Chain(transitions=[("A", "B")])
    learner.set_params(structure=chain).fit([["a", "b"], ["b"]], [["A", "B"], ["B"]])
    for order in (1, 2):
        learner.set_params(structure__order=order).fit([["a", "b"], ["b"]], [["A", "B"], ["B"]])
        assert learner.predict([["z", "z"]]) == [["A", "B"]]
        for ask in (learner.predict, learner.predict_kbest, learner.predict_marginals, learner.sample):
            with pytest.raises(tw.InputError, match="sample 1: no label sequence is allowed"):
                ask([["z"], ["z", "z", "z"]])
        log_p = learner.log_prob([["z", "z"], ["z", "z", "z"]], [["B", "A"], ["A", "B", "A"]])
        assert log_p.tolist() == [-INF, -INF]


def test_labels_that_break_the_scheme():
    for model in learners(scheme="BIO"):
        with pytest.raises(
            tw.InputError, match=r"sample 1: the output \['O', 'I-X'\] breaks the constraints"
        ):
            model.fit([["a"], ["b", "c"]], [["O"], ["O", "I-X"]])
        with pytest.raises(tw.InputError, match="label 'N' is neither 'O' nor B-TYPE or I-TYPE"):
            model.fit([["a"]], [["N"]])
    for model in learners(scheme="BIOES"):
        with pytest.raises(tw.InputError, match="sample 0: the output"):
            model.fit([["a"]], [["B-X"]])
    for model in learners(transitions=[("A", "B")]):
        with pytest.raises(tw.InputError, match=r"sample 1: the output .* or drop the constraint$"):
            model.fit([["a", "b"], ["a", "b"]], [["A", "B"], ["B", "B"]])
    for model in learners(transitions=[("A", "B"), ("B", "b"), ("a", "A")]):
        with pytest.raises(tw.InputError, match=r"\(transitions has 'a', 'b', not in the data\)"):
            model.fit([["a", "b"], ["a", "b"]], [["A", "B"], ["B", "B"]])


def test_what_a_structure_lacks_is_said_with_the_structures_that_have_it():
    batch = tw.Chain().bind(X, Y).pack(X, Y)
    message = "Chain does not offer best scores by numbers of parts; these structures do: Grammar, RNA"
    with pytest.raises(Unsupported, match=message):
        require(batch, CountedParts)


# -- sizes -------------------------------------------------------------------------------------------


def test_a_million_tokens():
    rng = np.random.default_rng(0)
    names = np.array([f"w{i}" for i in range(50)], dtype=object)
    train = [names[rng.integers(50, size=30)].tolist() for _ in range(20)]
    labels = [[f"L{int(word[1:]) % 4}" for word in x] for x in train]
    model = tw.Generative(tw.Chain()).fit(train, labels)
    x = names[rng.integers(50, size=1_000_000)].tolist()
    began = time.perf_counter()
    found = model.predict([x])
    assert len(found[0]) == 1_000_000
    right = [f"L{int(word[1:]) % 4}" for word in x]
    assert np.mean([a == b for a, b in zip(found[0], right, strict=True)]) > 0.99
    rows = model.predict_marginals([x])[0]
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-9)
    log_p = model.log_prob([x], found)
    assert np.isfinite(log_p).all()
    batch = model.space_.pack([x])
    log_z, expected = batch.expect(model.coef_)
    assert np.isfinite(log_z).all()
    assert np.isfinite(expected).all()
    grams = model.space_.split(expected)[2]
    assert grams.sum() == pytest.approx(999_999, rel=1e-9)
    # The joint weights are log-probabilities, so log Z of this input is negative and about -4 a token.
    assert -6e6 < log_z[0] < -3e6
    assert time.perf_counter() - began < 30


def enumerated(model, x):
    """Log partition, marginals, best score and mean features of one short sequence, from all outputs."""
    space = model.space_
    batch = space.pack([x])
    codes = np.array([[space.labels.index(label) for label in y] for y in space.enumerate(x)])
    every = batch.subset(np.zeros(len(codes), dtype=np.int64))
    ragged = tw.Ragged(codes.ravel(), every.offsets)
    values = every.evaluate(ragged, every.scores(model.coef_))
    log_z = logsumexp(values)
    p = np.exp(values - log_z)
    rows = np.array([[p[codes[:, t] == a].sum() for a in range(space.n_labels)] for t in range(len(x))])
    return log_z, rows, values.max(), p @ every.features(ragged).toarray()


@pytest.mark.parametrize("params", [{}, {"scheme": "BIO"}, {"order": 2}], ids=str)
@pytest.mark.parametrize("scale", [1.0, 100.0, 250.0, 500.0, 1e3, 1e4])
def test_extreme_weights_agree_with_enumeration(scale, params):
    # Between 200 and 1000 scaled probabilities used to lose labels that mattered later.
    rng = np.random.default_rng(int(scale))
    labels = ["B-X", "I-X", "O"]
    chain = tw.Chain(labels=labels, **params)
    for _ in range(25):
        x = [f"w{t}" for t in range(rng.integers(2, 6))]
        names = [("emission", word, label) for word in x for label in labels]
        names += [("transition", a, b) for a in labels for b in labels if scale and (a, b) != ("O", "I-X")]
        model = tw.Fixed(chain, {name: scale * rng.normal() for name in names}).fit()
        log_z, rows, best, mean = enumerated(model, x)
        batch = model.space_.pack([x])
        scores = batch.scores(model.coef_)
        assert batch.log_partition(scores)[0] == pytest.approx(log_z, rel=1e-12)
        assert batch.argmax(scores).values[0] == pytest.approx(best, rel=1e-12)
        np.testing.assert_allclose(model.predict_marginals([x])[0], rows, atol=1e-9)
        value, expected = batch.expect(model.coef_)
        assert value[0] == pytest.approx(log_z, rel=1e-12)
        np.testing.assert_allclose(expected, mean, atol=1e-9)
        each = batch.pull_each(batch.marginals(scores, each=True)).toarray()[0]
        np.testing.assert_allclose(each, mean, atol=1e-9)
        if scale == 1.0:
            continue
        # A short step in the scores moves almost nothing, whatever the direction: no NaN, no overflow.
        assert np.isfinite(batch.covariance_product(model.coef_, np.ones(model.coef_.size))).all()


@pytest.mark.parametrize("slowly", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("where", ["first", "last"])
def test_a_label_may_recover_from_any_depth(where, order, slowly):
    # At one end A lies 800 below B, far under the range of a double; elsewhere B pays more
    # than that, so that A is right in the end. Slowly: in small steps, A and B never meeting.
    if slowly:
        words = [*["odd"] * 3, *["w"] * 4]
        weights = {("emission", "odd", "A"): -280.0, ("emission", "w", "B"): -280.0}
    else:
        words = ["odd", *["w"] * 5]
        weights = {("emission", "odd", "A"): -800.0, ("transition", "B", "B"): -500.0}
        weights |= {("transition", "A", "B"): -1000.0, ("transition", "B", "A"): -1000.0}
    words = words if where == "first" else words[::-1]
    pairs = [("A", "A"), ("B", "B")] if slowly else "all"
    model = tw.Fixed(tw.Chain(order, transitions=pairs), weights).fit()
    log_z, rows, _, mean = enumerated(model, words)
    batch = model.space_.pack([words])
    assert batch.log_partition(batch.scores(model.coef_))[0] == pytest.approx(log_z, rel=1e-12)
    value, expected = batch.expect(model.coef_)
    assert value[0] == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(expected, mean, atol=1e-9)
    np.testing.assert_allclose(model.predict_marginals([words])[0], rows, atol=1e-9)
    assert model.predict([words]) == [["A"] * len(words)]


def test_extreme_and_ordinary_sequences_side_by_side():
    weights = {("emission", f"w{i}", label): 0.1 * i * (label == "A") for i in range(5) for label in "AB"}
    weights |= {
        ("emission", "huge", "A"): 2e3,
        ("emission", "tiny", "A"): -2e3,
        ("transition", "A", "A"): 0.3,
    }
    model = tw.Fixed(tw.Chain(), weights).fit()
    samples = [["w1", "w2"], ["huge", "tiny", "w1"], ["w3"], ["tiny", "huge"], ["w4", "w0", "w2"]]
    batch = model.space_.pack(samples)
    log_z, expected = batch.expect(model.coef_)
    single = [model.space_.pack([x]).expect(model.coef_) for x in samples]
    np.testing.assert_allclose(log_z, [float(v[0]) for v, _ in single], rtol=1e-13)
    np.testing.assert_allclose(expected, sum(e for _, e in single), atol=1e-12)
    for x, value in zip(samples, log_z, strict=True):
        assert value == pytest.approx(enumerated(model, x)[0], rel=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_scores_that_overflow_are_not_called_forbidden(order):
    weights = {("emission", "w", label): sign * 1e308 for label, sign in (("A", -1), ("B", -1))}
    model = tw.Fixed(tw.Chain(order), weights)
    for ask in (model.predict, model.predict_kbest, model.predict_marginals, model.sample):
        with pytest.raises(tw.InputError, match="sample 1: the scores overflow; scale the weights"):
            ask([["z"], ["w"] * 9])


@pytest.mark.parametrize("params", [{}, {"solver": "newton-cg"}, {"l1": 0.1}], ids=str)
def test_features_too_large_to_begin_with(params):
    model = tw.CRF(tw.Chain(), **params)
    with pytest.raises(tw.InputError, match=r"the search cannot start: .* scale the features down"):
        model.fit([np.eye(2) * 1e180], [["a", "b"]])
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("kind", ["values", "tokens"])
def test_sets_are_read_in_a_fixed_order(kind):
    token = "{'f': {'a', 'b', 'c', 'd'}}" if kind == "values" else "{'a', 'b', 'c', 'd'}"
    code = f"import trelliswork as tw\nprint(tw.Chain().bind([[{token}, {token}]], [['A', 'B']]).attributes)"
    printed = set()
    for seed in "123":
        how = {**os.environ, "PYTHONHASHSEED": seed}
        printed.add(subprocess.run([sys.executable, "-c", code], env=how, check=True, stdout=-1).stdout)
    assert len(printed) == 1


def test_outputs_of_a_tie_follow_the_order_of_labels():
    model = tw.Fixed(tw.Chain(labels=["A", "B"]), {}).fit()
    for n in range(1, 5):
        assert model.predict([["x"] * n]) == [["A"] * n]
        found = [c.output for c in model.predict_kbest([["x"] * n], k=2**n)[0]]
        assert sorted(found) == [list(y) for y in itertools.product("AB", repeat=n)]
