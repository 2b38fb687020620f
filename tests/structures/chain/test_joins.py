"""Attributes joined with label n-grams of several lengths."""

from __future__ import annotations

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.losses import Edit, Hamming
from trelliswork.losses.inside import inside

X = [["a", "b", "a", "c"], ["b"], [], ["c", "a"], ["a", "a", "b"], ["b", "c", "c", "a", "b"]]
Y = [["P", "Q", "P", "Q"], ["Q"], [], ["P", "P"], ["Q", "P", "Q"], ["Q", "Q", "P", "P", "Q"]]
CHAIN = tw.Chain(2, edge_features={2: ["a", "b"], 3: "all"})


def test_only_seen_joins_have_weights():
    space = CHAIN.bind(X, Y)
    names = [name for name in space.feature_names if name[0] == "edge"]
    seen = set()
    for x, y in zip(X, Y, strict=True):
        seen |= {("edge", x[t], *y[t - 1 : t + 1]) for t in range(1, len(x)) if x[t] in "ab"}
        seen |= {("edge", x[t], *y[t - 2 : t + 1]) for t in range(2, len(x))}
    assert set(names) == seen
    assert len(names) == len(seen)
    orders = dict(zip(space.feature_names, space.feature_orders.tolist(), strict=True))
    assert all(orders[name] == len(name) - 2 for name in names)


def test_pairs_in_a_dict_are_the_pairs_in_a_list():
    one, two = (tw.Chain(edge_features=e).bind(X, Y) for e in (["a"], {2: ["a"]}))
    assert one.feature_names == two.feature_names
    w = np.random.default_rng(0).normal(size=one.n_features)
    batches = [space.pack(X, Y) for space in (one, two)]
    np.testing.assert_array_equal(*(b.log_partition(b.scores(w)) for b in batches))


def test_pieces_do_not_change_results():
    space = CHAIN.bind(X, Y)
    w = np.random.default_rng(1).normal(size=space.n_features)
    whole = space.pack(X, Y)
    expected = whole.expect(w)
    best = whole.argmax(whole.scores(w))
    drawn = whole.sample(whole.scores(w), 3, np.random.default_rng(2))
    parts = CHAIN.with_limits(joined_floats=1).bind(X, Y).pack(X, Y, n_jobs=2)
    assert len(parts._sequence_chunks()) > 2
    for a, b in zip(expected, parts.expect(w), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    np.testing.assert_array_equal(best.codes.values, parts.argmax(parts.scores(w)).codes.values)
    again = parts.sample(parts.scores(w), 3, np.random.default_rng(2))
    np.testing.assert_array_equal([d.values for d in drawn], [d.values for d in again])


@pytest.mark.parametrize("loss", [None, Hamming(), Edit(), Edit(cap=1)])
def test_sums_with_a_loss_inside(loss):
    """Values by enumeration, gradients by finite differences."""
    space = CHAIN.bind(X, Y)
    batch = space.pack(X, Y)
    made = inside(batch, loss)
    rng = np.random.default_rng(3)
    w, step = rng.normal(size=(2, space.n_features))
    log_sum, gradient = made.expect(w)
    for i, x in enumerate(X):
        outputs = list(space.enumerate(x))
        scores = space.pack([x] * len(outputs), outputs).gold() @ w
        losses = [0.0 if loss is None else loss(Y[i], y) for y in outputs]
        assert log_sum[i] == pytest.approx(np.log(np.sum(np.exp(scores + losses))))
    moved = made.expect(w + 1e-5 * step)[0].sum() - made.expect(w - 1e-5 * step)[0].sum()
    assert moved / 2e-5 == pytest.approx(gradient @ step, rel=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learning_storing_and_growing(tmp_path):
    model = tw.VotedCRF(CHAIN, 1e-3, 1e-3, penalty_mode="absolute").fit(X, Y)
    assert model.families_ == ["order 1", "order 2", "order 3"]
    assert model.score(X, Y) == 1.0
    tw.save(model, tmp_path / "model.tw")
    again = tw.load(tmp_path / "model.tw")
    assert again.predict(X) == model.predict(X)
    assert again.space_.feature_names == model.space_.feature_names
    model.partial_fit([["d", "a", "b"]], [["R", "P", "R"]])
    assert ("edge", "b", "R", "P", "R") in model.space_.feature_names
    assert ("edge", "b", "P", "Q", "P") not in model.space_.feature_names


def test_given_weights_by_name():
    weights = {("edge", "c", "P", "Q", "P"): 2.0, ("emission", "b", "Q"): 1.0, ("emission", "a", "P"): 1.0}
    model = tw.Fixed(CHAIN, weights)
    assert model.predict([["a", "b", "c"]]) == [["P", "Q", "P"]]
    assert model.predict([["b", "b", "a"]]) == [["Q", "Q", "P"]]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ({1: "all"}, "2 to 3 labels, got 1"),
        ({4: "all"}, "2 to 3 labels, got 4"),
        ({"2": "all"}, "2 to 3 labels"),
        ({3: "some"}, "edge_features must be"),
        ({3: [1]}, "edge_features must be"),
        ({3: None}, "edge_features must be"),
        (7, "edge_features must be"),
    ],
)
def test_bad_joins(edges, message):
    with pytest.raises(tw.InputError, match=message):
        tw.CRF(tw.Chain(2, edge_features=edges)).fit(X, Y)


def test_joins_longer_than_every_sequence():
    model = tw.VotedCRF(CHAIN, penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(
        [["a"], ["b"]], [["P"], ["Q"]]
    )
    assert model.predict([["a"], ["a", "b", "a"]])[0] == ["P"]
    assert not any(name[0] == "edge" for name in model.space_.feature_names)
