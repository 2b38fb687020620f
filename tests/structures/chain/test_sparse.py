"""Label n-grams kept as observed: against enumeration, all n-grams, and the general recursion."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import Chain, InputError
from trelliswork.structures.base import Parts

K = 3


@pytest.fixture(params=[2, 3, 4])
def bound(request):
    rng = np.random.default_rng(request.param)
    y = [rng.integers(0, K, size=n).tolist() for n in (7, 5, 6, 1, 0, 2, 4)]
    X = [[f"w{a}" for a in rng.integers(0, 4, size=len(row))] for row in y]
    space = Chain(request.param, ngrams="observed").bind(X, y)
    return space, X, y, 2.0 * rng.normal(size=space.n_features)


def by_hand(space, w, x, labels):
    """Sum of the named weights of one label sequence."""
    value = dict(zip(space.feature_names, w, strict=True))
    names = [("emission", a, b) for a, b in zip(x, labels, strict=True)]
    if labels:
        names += [("start", labels[0]), ("end", labels[-1])]
    for t in range(len(labels)):
        for n in range(2, space.order + 2):
            if t + 1 >= n:
                names.append(("transition", *labels[t + 1 - n : t + 1]))
    return sum(value.get(name, 0.0) for name in names)


def test_scores_and_sums_are_those_of_the_seen_ngrams(bound):
    space, X, _, w = bound
    batch = space.pack(X)
    scores = batch.scores(w)
    log_z, best = batch.log_partition(scores), batch.argmax(scores)
    for i in (3, 4, 5, 6):
        outputs = [list(o) for o in itertools.product(range(K), repeat=len(X[i]))]
        values = np.array([by_hand(space, w, X[i], o) for o in outputs])
        assert log_z[i] == pytest.approx(np.logaddexp.reduce(values))
        assert best.values[i] == pytest.approx(values.max())
        assert batch.unpack(best.codes)[i] == outputs[int(values.argmax())]


def test_shared_steps_have_the_expectations_of_single_ones(bound):
    space, X, y, w = bound
    batch = space.pack(X, y)
    weights = np.linspace(0.0, 2.0, len(X))
    log_z, expected = batch.expect(w, weights=weights)
    parts = batch.marginals(batch.scores(w), weights=weights, each=True)  # in log space
    assert np.allclose(expected, batch.pull(parts))
    assert np.allclose(batch.marginals(batch.scores(w), weights=weights).unary, parts.unary)
    assert np.allclose(batch.expect(w)[0], log_z)
    assert np.allclose(batch.log_partition(batch.scores(w)), log_z)
    # Weights so large that differences of sums would lose everything, and beyond the range of scaled
    # probabilities.
    for much, tolerance in ((40.0, 1e-7), (1e3, 1e-8)):
        parts = batch.marginals(batch.scores(much * w), each=True)
        assert np.allclose(batch.expect(much * w)[1], batch.pull(parts), atol=tolerance)


def test_best_sequences_of_shared_steps(bound):
    space, X, _, w = bound
    batch = space.pack(X)
    rng = np.random.default_rng(5)
    for round in range(12):
        values = rng.integers(-2, 3, size=w.size) if round % 2 else rng.normal(size=w.size)  # ties, none
        scores = batch.scores(values.astype(float))
        best, first = batch.argmax(scores), [d.codes[0] for d in batch.kbest(scores, 1)]
        assert np.array_equal(best.codes.values, np.concatenate(first))
        assert np.allclose(best.values, batch.evaluate(best.codes, scores))


def test_best_sequences_where_lists_of_steps_are_too_short():
    rng = np.random.default_rng(6)
    y = [rng.integers(0, 9, size=n).tolist() for n in rng.integers(1, 9, size=120)]
    X = [["w"] * len(row) for row in y]
    space = Chain(3, ngrams="observed").bind(X, y)
    batch = space.pack(X[:12])
    for spread in (0.3, 3.0):
        scores = batch.scores(spread * rng.normal(size=space.n_features))
        first = [d.codes[0] for d in batch.kbest(scores, 1)]
        assert np.array_equal(batch.argmax(scores).codes.values, np.concatenate(first))


def test_probabilities_that_are_not_kept_are_computed_again(bound):
    space, X, y, w = bound
    batch = space.pack(X * 3, y * 3)  # more sequences than lanes
    log_z, expected = batch.expect(w)
    little = space.structure.with_limits(fewest_kept=2, kept_floats=0)
    again = little.bind(X, y).pack(X * 3, y * 3).expect(w)
    assert np.allclose(again[0], log_z)
    assert np.allclose(again[1], expected)


@pytest.mark.parametrize("order", [2, 3])
def test_all_ngrams_seen_is_the_full_chain(order):
    y = [list(gram) for gram in itertools.product(range(K), repeat=order + 1)]
    X = [["a"] * (order + 1)] * len(y)
    full, seen = (Chain(order, ngrams=kind).bind(X, y) for kind in ("all", "observed"))
    assert full.feature_names == seen.feature_names
    rng = np.random.default_rng(1)
    w, h = rng.normal(size=(2, full.n_features))
    x = [["a"] * 8, ["a"] * 2, []]
    one, other = full.pack(x), seen.pack(x)
    for a, b in zip(one.expect(w), other.expect(w), strict=True):
        assert np.allclose(a, b)
    scores = one.scores(w), other.scores(w)
    assert one.unpack(one.argmax(scores[0]).codes) == other.unpack(other.argmax(scores[1]).codes)
    assert one.unpack(one.mea(scores[0]).codes) == other.unpack(other.mea(scores[1]).codes)
    for a, b in zip(one.kbest(scores[0], 7), other.kbest(scores[1], 7), strict=True):
        assert np.allclose(a.values, b.values)
        assert np.array_equal(a.codes.values, b.codes.values)
    slopes = [
        batch.pull(batch.tangent(s, batch.scores(h))) for batch, s in ((one, scores[0]), (other, scores[1]))
    ]
    assert np.allclose(*slopes)
    draws = [
        batch.sample(s, 3, np.random.default_rng(2)) for batch, s in ((one, scores[0]), (other, scores[1]))
    ]
    assert all(np.array_equal(a.values, b.values) for a, b in zip(*draws, strict=True))
    costs = Parts(unary=rng.integers(0, 2, size=(10, K)).astype(float), trans=None, edge=None)
    assert np.allclose(one.argmax(scores[0], costs).values, other.argmax(scores[1], costs).values)


@pytest.mark.compiled
def test_many_labels_become_sparse_by_themselves():
    labels = [f"L{i}" for i in range(200)]
    rng = np.random.default_rng(0)
    y = [[labels[i] for i in rng.integers(0, 200, size=6)] for _ in range(60)]
    X = [[f"w-{label}" for label in row] for row in y]
    model = tw.CRF(Chain(2, emissions="observed"), max_iter=30).fit(X, y)
    assert model.space_.sparse is not None
    assert len(model.space_.ngrams) <= 60 * 9
    assert model.score(X, y) > 0.99
    with pytest.raises(InputError, match="ngrams='observed'"):
        Chain(2, ngrams="all").bind(X, y)


@pytest.mark.parametrize(
    "learner",
    [
        lambda s: tw.Perceptron(s, max_iter=5),
        lambda s: tw.StructuredSVM(s, max_iter=20),
        lambda s: tw.Generative(s),
        lambda s: tw.VotedCRF(s, max_iter=20),
        lambda s: tw.SODA(s),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learners_and_files(bound, learner, tmp_path):
    space, X, y, _ = bound
    if space.order != 2:
        pytest.skip("one order is enough")
    words = [[f"{a}{b}" for a, b in zip(x, labels, strict=True)] for x, labels in zip(X, y, strict=True)]
    model = learner(Chain(2, ngrams="observed")).fit(words, y)
    assert model.score(words, y) > 0.8
    tw.save(model, tmp_path / "m.tw")
    again = tw.load(tmp_path / "m.tw")
    assert again.predict(words) == model.predict(words)


def test_names_and_merging(bound):
    space, X, y, w = bound
    named = space.structure.bind_names(space.feature_names)
    assert sorted(map(repr, named.feature_names)) == sorted(map(repr, space.feature_names))
    place = {name: i for i, name in enumerate(space.feature_names)}
    moved = w[[place[name] for name in named.feature_names]]
    one, other = space.pack(X, y), named.pack(X, y)
    assert np.allclose(one.log_partition(one.scores(w)), other.log_partition(other.scores(moved)))
    more = space.grown([["w0", "w9"]], [[2, 2]])
    assert set(space.ngrams) <= set(more.ngrams)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"ngrams": "some"}, "ngrams must be"),
        ({"order": 2, "ngrams": "observed", "edge_features": "all"}, "goes without edge_features"),
    ],
)
def test_bad_parameters(params, said):
    with pytest.raises(InputError, match=said):
        Chain(**params).bind([["a"]], [["A"]])
