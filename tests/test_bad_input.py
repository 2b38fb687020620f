"""What happens with input that is wrong, empty, tiny, huge or unseen."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
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


@pytest.mark.filterwarnings("ignore:.*saw one label only:trelliswork.FitWarning")
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
        ([["a"], [3]], "a dict, got int; write a number that names something as text"),
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


@pytest.mark.parametrize("bad", ["the cat", b"the", 3, None, object()])
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
    "labels", [[1, 2], [0.5, 1.5], [True, False], [("a", 1), ("b", 2)], [1, "a"], [b"x", "x"]]
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


@pytest.mark.filterwarnings("ignore:none of the:trelliswork.InputWarning")
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


@pytest.mark.parametrize("params", [{}, {"solver": "newton-cg"}, {"l1": 0.1}], ids=str)
def test_features_too_large_to_begin_with(params):
    model = tw.CRF(tw.Chain(scale=None), **params)
    with pytest.raises(tw.InputError, match=r"the search cannot start: .* scale the features down"):
        model.fit([np.eye(2) * 1e180], [["a", "b"]])
    assert not hasattr(model, "coef_")
