"""Learners on outputs that are known in part: objectives by enumeration, limits of what is known, files."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import logsumexp

import trelliswork as tw
from trelliswork.learners.known import Target

X = [["the", "cat", "sleeps"], ["a", "dog", "barks"], ["the", "dog", "sleeps"], ["a", "cat", "barks"]]
Y = [["D", "N", "V"]] * 4
OPEN = [["D", None, "V"], ["D", {"N", "V"}, None], ["D", "N", "V"], [None, None, None]]
LABELS = ["D", "N", "V"]
ANIMALS = {"animal": {"cat": {}, "dog": {}}, "plant": {"oak": {}, "elm": {}}}
LEARNERS = [tw.CRF, tw.VotedCRF, tw.Perceptron, tw.StructuredSVM, tw.Generative, tw.ZScore, tw.SODA, tw.KLRSO]


@pytest.mark.parametrize("params", [{}, {"order": 2}, {"order": 3, "ngrams": "observed"}])
def test_target_is_the_sum_over_what_agrees(params):
    space, batch = tw.Chain(labels=LABELS, **params).compile(X, OPEN)
    rng = np.random.default_rng(0)
    w, weights = rng.normal(size=space.n_features), np.array([1.0, 2.0, 0.5, 3.0])
    value, gradient = Target(batch, weights)(w)
    total, mean = 0.0, np.zeros(space.n_features)
    for x, known, weight in zip(X, OPEN, weights, strict=True):
        outputs = [y for y in space.enumerate(x) if space.agrees(x, known, y)]
        packed = space.pack([x] * len(outputs), outputs)
        scores = packed.evaluate(packed.gold_codes, packed.scores(w))
        total += weight * logsumexp(scores)
        mean += weight * np.exp(scores - logsumexp(scores)) @ packed.gold().toarray()
    assert value == pytest.approx(total)
    assert np.allclose(gradient, mean)
    target = Target(batch, weights)
    assert check_grad(lambda v: target(v)[0], lambda v: target(v)[1], w) < 1e-5


def test_observed_ngrams_are_those_of_known_labels():
    structure = tw.Chain(3, ngrams="observed", labels=LABELS)
    space = structure.bind([["a"] * 4, ["a"], ["a"] * 3], [["D", "N", None, "V"], ["D"], ["V", {"V"}, "D"]])
    grams = {name[1:] for name in space.feature_names if name[0] == "transition"}
    assert grams == {("D", "N"), ("V", "V"), ("V", "D"), ("V", "V", "D")}


@pytest.mark.parametrize("params", [{}, {"order": 2, "ngrams": "observed"}])
def test_nothing_known_is_a_constant_objective(params):
    model = tw.CRF(tw.Chain(labels=LABELS, **params)).fit(X, [[None] * 3] * 4)
    assert not model.coef_.any()
    assert model.objective_ == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
def test_labels_known_in_part_and_observed_ngrams(learner):
    model = learner(tw.Chain(3, ngrams="observed", labels=LABELS)).fit(X * 4, OPEN * 4)
    assert model.predict(X) == Y


@pytest.mark.parametrize("learner", LEARNERS)
def test_everything_known_is_the_ordinary_fit(learner):
    structure = tw.Chain(labels=LABELS)
    plain, again = (learner(structure).fit(X, y) for y in (Y, [tuple(row) for row in Y]))
    assert np.array_equal(plain.coef_, again.coef_)
    assert getattr(plain, "completed_by_", None) is None


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_labels_known_in_part_are_enough(learner, tmp_path):
    X_many, y_many = X * 4, OPEN * 4
    model = learner(tw.Chain(labels=LABELS)).fit(X_many, y_many)
    assert model.predict(X) == Y
    assert model.predict(X[:1], known=[["D", "V", None]])[0][1] == "V"
    assert model.log_prob(X, [[None] * 3] * 4) == pytest.approx(np.zeros(4), abs=1e-9)
    tw.save(model, tmp_path / "m.tw")
    assert tw.load(tmp_path / "m.tw").predict(X) == Y
    if learner in (tw.ZScore, tw.SODA, tw.KLRSO):
        assert model.completed_by_ == "crf"


def test_expectation_maximisation_never_falls():
    rng = np.random.default_rng(1)
    y = [[label if rng.random() < 0.5 else None for label in row] for row in Y * 5]
    model = tw.Generative(tw.Chain(labels=LABELS)).fit(X * 5, y)
    values = [record["log_likelihood"] for record in model.history_]
    assert len(values) > 1
    assert all(a <= b for a, b in itertools.pairwise(values))


def test_rounds_of_the_svm_never_rise():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 3))
    y = [{"cat", "dog"} if rng.random() < 0.5 else LABELS_OF[int(row.argmax())] for row in rows]
    model = tw.StructuredSVM(tw.Classes(labels=LABELS_OF), kernel="rbf").fit(rows, y)
    values = [record["objective"] for record in model.rounds_]
    assert all(b <= a for a, b in itertools.pairwise(values))
    assert model.rounds_[-1]["gap"] <= 1e-3


LABELS_OF = ["cat", "dog", "oak"]


def test_inner_nodes_of_a_taxonomy():
    rows = np.eye(5)
    model = tw.CRF(tw.Classes(ANIMALS)).fit(rows, ["animal", "cat", "dog", "elm", "plant"])
    assert model.classes_.tolist() == ["cat", "dog", "elm", "oak"]
    assert model.predict(rows[:1])[0] in ("cat", "dog")
    assert model.score(rows, ["animal", "cat", "dog", "elm", "plant"]) == 1.0
    assert model.predict(rows[:1], known=["plant"])[0] in ("elm", "oak")


def test_moments_of_filled_in_outputs_can_be_merged():
    parts = [tw.ZScore(tw.Chain(labels=LABELS)).fit(X, y) for y in (OPEN, Y)]
    assert parts[0].merge(parts[1]).predict(X) == Y


def test_what_cannot_be_learned_is_one_line():
    with pytest.raises(
        tw.Unsupported, match=r"StructBoost needs outputs that are known as a whole \(sample 0"
    ):
        tw.StructBoost(tw.Chain(labels=LABELS)).fit(X, OPEN)
    with pytest.raises(tw.Unsupported, match=r"Edit.* needs outputs that are known as a whole"):
        tw.StructuredSVM(tw.Chain(labels=LABELS), loss="edit").fit(X, OPEN)
    with pytest.raises(tw.Unsupported, match="newton-cg"):
        tw.CRF(tw.Chain(labels=LABELS), solver="newton-cg").fit(X, OPEN)
