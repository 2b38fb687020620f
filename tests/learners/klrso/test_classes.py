"""Predicted probabilities of classes, branches of a taxonomy, and of pairs of relatives."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax

import trelliswork as tw
from trelliswork.kernels import RBF, Normalized

TAXONOMY = {"thing": {"animal": {"cat": {}, "dog": {}}, "plant": {"oak": {}, "elm": {}}}}
DOCS = [["meow", "fur"], ["woof", "fur"], ["leaf", "acorn"], ["leaf", "wing"]] * 4
LABELS = ["cat", "dog", "oak", "elm"] * 4


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


def test_linear_kernel_is_multinomial_logistic_regression():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.array(list("abc"))[np.argmax(X @ np.random.default_rng(1).normal(size=(3, 3)), axis=1)]
    model = tw.KLRSO(tw.Classes(scale=None), "linear", reg=0.5, bias="free", tol=1e-10).fit(X, y)
    true = np.searchsorted(model.classes_, y)

    def objective(flat):
        W, b = flat[:9].reshape(3, 3), flat[9:]
        return -log_softmax(X @ W + b, axis=1)[np.arange(40), true].sum() + 0.5 * np.sum(W**2)

    best = minimize(objective, np.zeros(12), method="BFGS", options={"gtol": 1e-8})
    expected = np.exp(log_softmax(X @ best.x[:9].reshape(3, 3) + best.x[9:], axis=1))
    assert np.allclose(model.predict_proba(X), expected, atol=1e-5)


def test_an_exclusive_or_needs_the_kernel():
    X, y = rows(150)
    Z, true = rows(300, seed=1)
    model = tw.KLRSO(tw.Classes()).fit(X, y)
    assert isinstance(model.kernel_, RBF)
    assert model.score(Z, true) > 0.9
    assert tw.KLRSO(tw.Classes(), "linear").fit(X, y).score(Z, true) < 0.7


def test_a_large_penalty_leads_to_the_shares_of_the_classes():
    X, y = rows()
    model = tw.KLRSO(tw.Classes(), reg=1e9, smoothing=1e-9).fit(X, y)
    shares = np.mean(np.asarray(y)[:, None] == model.classes_, axis=0)
    assert np.allclose(model.predict_proba(X), shares, atol=1e-6)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("weight", [0.3, 0.0])
def test_branches_of_a_taxonomy_multiply(bias, weight):
    model = tw.KLRSO(tw.Classes(TAXONOMY, bias=bias, ancestor_weight=weight)).fit(DOCS, LABELS)
    assert model.heads_ == [("below", "thing"), ("below", "animal"), ("below", "plant")]
    assert isinstance(model.kernel_, Normalized)
    new = [["meow"], ["leaf", "fur"], ["never", "seen"]]
    found = {
        name[1]: share
        for names, shares in model.predict_multinomials(new).values()
        for name, share in zip(names, shares.T, strict=True)
    }
    probability = dict(zip(model.classes_, model.predict_proba(new).T, strict=True))
    for inner, leaves in (("animal", ("cat", "dog")), ("plant", ("oak", "elm"))):
        for leaf in leaves:
            assert np.allclose(probability[leaf], found[inner] * found[leaf])
    assert np.allclose(model.predict_proba(new).sum(axis=1), 1.0)
    assert model.predict(DOCS) == LABELS


def test_classes_with_two_parents_are_one_choice():
    edges = [("t", "p"), ("t", "q"), ("p", "a"), ("q", "a"), ("q", "b")]
    model = tw.KLRSO(tw.Classes(edges)).fit([["x"], ["y"]] * 3, ["a", "b"] * 3)
    assert model.heads_ == [("class",)]
    assert np.allclose(model.predict_proba([["x"]]).sum(), 1.0)
    assert model.predict([["x"], ["y"]]) == ["a", "b"]


def test_rows_of_any_kind_and_model_files(tmp_path):
    X, y = rows()
    dicts = [{"a": a, "b": b} for a, b in X.tolist()]
    for data in (X, sp.csr_matrix(X), dicts, DOCS):
        labels = LABELS if data is DOCS else y
        model = tw.KLRSO(tw.Classes()).fit(data, labels)
        tw.save(model, tmp_path / "m.tw")
        again = tw.load(tmp_path / "m.tw")
        assert np.array_equal(again.predict_proba(data), model.predict_proba(data))
        one = [np.asarray(model.predict_proba(data[i : i + 1])) for i in range(3)]
        together = np.asarray(model.predict_proba(data))[:3]
        np.testing.assert_allclose(np.concatenate(one), together, rtol=1e-13)  # products of other sizes
    with pytest.raises(tw.InputError, match="expecting 2 features"):
        tw.KLRSO(tw.Classes()).fit(X, y).predict(np.ones((1, 3)))


def test_partitions_are_the_whole():
    X, y = rows(20)
    X, y = X.tolist(), y.tolist()
    whole = tw.KLRSO(tw.Classes(TAXONOMY)).fit(DOCS, LABELS)
    parts = tw.Shards([(DOCS[:6], LABELS[:6]), (DOCS[6:], LABELS[6:])])
    assert np.allclose(
        tw.KLRSO(tw.Classes(TAXONOMY)).fit(parts, None).predict_proba(DOCS), whole.predict_proba(DOCS)
    )


def test_rare_classes_are_predicted_unless_told_otherwise():
    model = tw.KLRSO(tw.Classes()).fit([["x"], ["y"], ["z"]] * 2, ["a", "b", "c"] * 2)
    assert model.predict([["x"], ["y"], ["z"]]) == ["a", "b", "c"]
    assert tw.KLRSO(tw.Classes(), min_count=5).fit([["x"], ["y"]] * 2, ["a", "b"] * 2).heads_ == []


def relatives(n=12):
    """A letter is matched with its number after "!", with the other one after "?"."""
    X, y = [], []
    for i in range(n):
        mark, letter = "!?"[i % 2], "ab"[i // 2 % 2]
        same, other = ("1", "2") if letter == "a" else ("2", "1")
        right = same if mark == "!" else other
        X.append((mark + letter, [mark + same, mark + other]))
        y.append((int(right != same), (mark + letter, mark + right)))
    return X, y


def test_relatives_are_found_by_matches_that_see_the_sequence():
    X, y = relatives()
    structure = tw.Retrieval(tw.Alignment("ordered"))
    blind = tw.Generative(structure).fit(X, y)
    model = tw.KLRSO(structure, reg=0.01, min_count=1).fit(X, y)
    assert model.heads_ == ["pair"]
    assert model.score(X, y) == 1.0 > blind.score(X, y)
    far = tw.KLRSO(structure, reg=1e9, min_count=1).fit(X, y)
    assert np.allclose(far.log_prob(X, y), blind.log_prob(X, y), atol=1e-5)
