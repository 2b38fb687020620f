"""Closed forms and sweeps of chain moments against enumeration and the general engine."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import trelliswork as tw
from trelliswork.structures.chain import gibbs, graph, uniform
from trelliswork.structures.covariance import Covariance


def random_batch(rng, k, lengths, *, kind="sparse", limits=None, **params):
    """Sequences with overlapping real features ("sparse"), one symbol per token ("words") or arrays."""
    labels = [f"L{a}" for a in range(k)]
    names = [f"f{j}" for j in range(5)]
    X, y = [], []
    for m in lengths:
        if kind == "words":
            x = [names[rng.integers(5)] for _ in range(m)]
        elif kind == "sparse":
            x = [
                {n: float(v) for n, v in zip(names, rng.normal(size=5)) if rng.random() < 0.5}
                for _ in range(m)
            ]
        else:
            x = rng.normal(size=(m, 3))
        X.append(x)
        y.append([labels[rng.integers(k)] for _ in range(m)])
    space = tw.Chain(labels=labels, **params).with_limits(**limits or {}).bind(X, y)
    return space, space.pack(X, y), X, y


def enumerated(space, X, y, weights):
    """Mean, covariance, deviations, and Hamming column, from all outputs of every input."""
    d = space.n_features
    C, c_loss = np.zeros((d, d)), np.zeros(d)
    means, gold, loss_mean, loss_variance = [], [], [], []
    for x, labels, w in zip(X, y, weights):
        outputs = list(space.enumerate(x))
        phi = space.pack([x] * len(outputs), outputs).gold().toarray()
        loss = np.array([sum(a != b for a, b in zip(o, labels)) for o in outputs], dtype=float)
        mean = phi.mean(axis=0)
        C += w * (phi - mean).T @ (phi - mean) / len(outputs)
        c_loss += w * (phi - mean).T @ (loss - loss.mean()) / len(outputs)
        means.append(mean)
        gold.append(phi[outputs.index(list(labels))])
        loss_mean.append(loss.mean())
        loss_variance.append(loss.var())
    return np.array(means), C, np.array(gold), c_loss, np.array(loss_mean), np.array(loss_variance)


CASES = list(itertools.product([2, 3, 4], ["sparse", "words", "arrays"], [{}, {"edge_features": "all"}]))


@pytest.mark.parametrize(("k", "kind", "params"), CASES)
def test_closed_forms_are_enumeration(k, kind, params):
    rng = np.random.default_rng(k)
    lengths = [1, 2, 3, 4 if k == 4 else 6, 0]
    if params:
        params = {"edge_features": ["f1", "f2"] if kind != "arrays" else ["0", "2"], "start": False}
    space, batch, X, y = random_batch(rng, k, lengths, kind=kind, **params)
    weights = rng.random(len(X)) + 0.5
    means, C, gold, c_loss, loss_mean, loss_variance = enumerated(space, X, y, weights)
    law = batch.covariance(None, weights)
    assert type(law) is uniform.UniformChain
    close = {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(law.means().toarray(), means, **close)
    np.testing.assert_allclose(law.dense(), C, **close)
    np.testing.assert_allclose(law.diagonal(), C.diagonal(), **close)
    np.testing.assert_allclose(law.deviation(), weights @ (gold - means), **close)
    V = rng.normal(size=(space.n_features, 3))
    np.testing.assert_allclose(law.product(V), C @ V, **close)
    second = law.turned("gold")
    b = gold - means
    np.testing.assert_allclose(second.dense(), C + (b.T * weights) @ b, **close)
    np.testing.assert_allclose(second.product(V), second.dense() @ V, **close)
    costs, _ = batch.mismatch()
    np.testing.assert_allclose(batch.pull(law.tangent(costs)), c_loss, **close)
    got = batch.dot_each(law.marginals(weighted=False, each=True), costs)
    np.testing.assert_allclose(got, loss_mean, **close)
    moved = law.tangent(costs, weighted=False, each=True)
    np.testing.assert_allclose(batch.dot_each(moved, costs), loss_variance, **close)


def test_hamming_column_by_its_formula():
    rng = np.random.default_rng(5)
    k, m = 3, 6
    space, batch, _, _ = random_batch(rng, k, [m], kind="words", start=False, end=False)
    law = batch.covariance()
    column = batch.pull(law.tangent(batch.mismatch()[0]))
    b = law.deviation()
    np.testing.assert_allclose(column[: space.n_emissions], -b[: space.n_emissions] / k, atol=1e-12)
    gold = batch.gold_codes.values
    n_before, n_after = (np.bincount(part, minlength=k) for part in (gold[:-1], gold[1:]))
    wanted = -(n_before[:, None] + n_after) / k**2 + 2 * (m - 1) / k**3
    np.testing.assert_allclose(column[space.n_emissions :].reshape(k, k), wanted, atol=1e-12)


@pytest.mark.parametrize(
    "params", [{}, {"scheme": None, "transitions": [("L0", "L1"), ("L1", "L0"), ("L1", "L1")]}]
)
@pytest.mark.parametrize("about", ["mean", "gold"])
def test_sweeps_are_the_general_tangent(params, about):
    rng = np.random.default_rng(3)
    y = [["L0", "L1", "L1"], ["L1"], ["L1", "L0", "L1", "L1"], []]
    X = [[{"a": rng.normal(), "b": 1.0} for _ in labels] for labels in y]
    space = tw.Chain(**params).bind(X, y)
    batch = space.pack(X, y)
    weights = rng.random(4)
    for scores in (batch.scores(rng.normal(size=space.n_features)), batch.scores(np.zeros(space.n_features))):
        fast = gibbs.GibbsChain(batch, scores, weights, about)
        assert fast.tables is not None
        slow = Covariance(batch, scores, weights, about)
        v = rng.normal(size=space.n_features)
        np.testing.assert_allclose(fast.product(v), slow.product(v), atol=1e-12)
        np.testing.assert_allclose(fast.deviation(), slow.deviation(), atol=1e-12)
        np.testing.assert_allclose(fast.dense(), slow.dense(), atol=1e-12)
        assert (fast.diagonal() >= 0).all()


@pytest.mark.parametrize("about", ["mean", "gold"])
@pytest.mark.parametrize(
    "params", [{"scheme": "BIO"}, {"transitions": "observed"}, {"emissions": "observed"}]
)
def test_laws_of_the_length_alone_are_the_general_tangent(params, about):
    rng = np.random.default_rng(5)
    labels = ["O", "B-P", "I-P", "O", "B-Q", "I-Q", "I-Q", "B-P", "O"]
    y = [labels[:n] for n in (9, 1, 4, 4, 0, 9, 2, 4)] + [["O"] * 4] * 40
    X = [[{"a": rng.normal(), "b": 1.0, f"w{rng.integers(3)}": 1.0} for _ in row] for row in y]
    space = tw.Chain(**params).bind(X, y)
    batch, weights = space.pack(X, y), rng.random(len(y))
    fast, slow = gibbs.PlainChain(batch, None, weights, about), Covariance(batch, None, weights, about)
    assert fast.tables is not None
    v = rng.normal(size=space.n_features)
    np.testing.assert_allclose(fast.product(v), slow.product(v), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(fast.deviation(), slow.deviation(), atol=1e-10)
    np.testing.assert_allclose(fast.means().toarray(), slow.means().toarray(), atol=1e-12)
    sweeps = gibbs.GibbsChain(batch, None, weights, about)
    np.testing.assert_allclose(fast.product(v), sweeps.product(v), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(fast.diagonal(), sweeps.diagonal(), atol=1e-10)
    np.testing.assert_allclose(fast.dense(), slow.dense(), atol=1e-10)


def test_scores_out_of_range_go_to_log_space():
    rng = np.random.default_rng(4)
    space, batch, _, _ = random_batch(rng, 2, [3, 2], kind="words")
    w = rng.normal(size=space.n_features)
    w[-4:] = [0.0, -800.0, -800.0, 0.0]
    scores = batch.scores(w)
    scores.unary[1, 0] = 900.0
    law = gibbs.GibbsChain(batch, scores)
    product = law.product(rng.normal(size=space.n_features))
    assert np.isfinite(product).all()


def test_long_sequences_agree_with_the_engine():
    rng = np.random.default_rng(0)
    bare = {"start": False, "end": False, "unknown": False}
    space, batch, _, _ = random_batch(rng, 3, [2000], kind="words", **bare)
    closed = batch.covariance().dense()
    engine = graph.moments(batch, batch.scores(np.zeros(space.n_features)), None)
    assert np.abs(closed - engine.covariance).max() <= 1e-9 * np.abs(closed).max()
    v = rng.normal(size=space.n_features)
    sweeps = gibbs.GibbsChain(batch, None).product(v)
    np.testing.assert_allclose(sweeps, closed @ v, rtol=1e-9, atol=1e-9 * np.abs(closed).max())
    assert np.linalg.matrix_rank(closed) == space.n_features - len(space.attributes) - 1


@pytest.mark.parametrize("markers", [True, False])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_schur_solver_is_the_dense_solution(k, markers):
    rng = np.random.default_rng(k)
    params = {"start": markers, "end": markers, "unknown": markers}
    space, batch, _, _ = random_batch(rng, k, [1, 2, 7, 9], kind="words", **params)
    weights = rng.random(4) + 0.1
    for about in ("mean", "gold"):
        law = batch.covariance(None, weights, about=about)
        matrix, b = law.dense(), law.deviation()
        r = rng.normal(size=space.n_features)
        for lam in (1.0, 1e-4):
            solve = law.direct(lam)
            np.testing.assert_allclose(
                solve(r), np.linalg.solve(matrix + lam * np.eye(r.size), r), rtol=1e-7, atol=1e-8
            )
        np.testing.assert_allclose(matrix @ law.direct(0.0)(b), b, atol=1e-9)


def test_schur_solver_only_where_it_holds():
    rng = np.random.default_rng(0)
    for params in ({"kind": "sparse"}, {"kind": "words", "emissions": "observed"}, {"edge_features": "all"}):
        _, batch, _, _ = random_batch(rng, 2, [3, 4], **params)
        assert batch.covariance().direct(1.0) is None


def test_constraints_switch_to_sweeps():
    y = [["B-P", "I-P", "O"], ["O"]]
    X = [["a", "b", "c"], ["c"]]
    batch = tw.Chain(scheme="BIO").bind(X, y).pack(X, y)
    assert type(batch.covariance()) is gibbs.PlainChain
    limited = tw.Chain().bind(X, y).pack(X, y, allowed=[[None, ["O"], None], None])
    assert type(limited.covariance()) is gibbs.GibbsChain


def test_a_matrix_that_does_not_fit_is_refused():
    limits = {"matrix_bytes": 100}
    _, batch, _, _ = random_batch(np.random.default_rng(0), 2, [3], kind="words", limits=limits)
    with pytest.raises(tw.InputError, match=r"features takes .* GiB .*solver='cg'"):
        batch.moments()


def test_many_blocks_and_threads_give_the_same_bits():
    rng, limits = np.random.default_rng(1), {"tokens_per_sum": 3}
    space, batch, X, y = random_batch(rng, 3, [4, 2, 7, 1, 0, 5], kind="words", limits=limits)
    v = rng.normal(size=space.n_features)
    scores = batch.scores(rng.normal(size=space.n_features))
    two = space.pack(X, y, n_jobs=2)
    for law in (None, scores):
        for about in ("mean", "gold"):
            products = [b.covariance(law, about=about).product(v) for b in (batch, two)]
            assert np.array_equal(*products)


# -- spaces and batches that grow -----------------------------------------------------------------


GROWING = [{}, {"emissions": "observed", "edge_features": ["w"]}, {"transitions": "observed"}]


@pytest.mark.parametrize("params", GROWING)
def test_batches_move_into_merged_spaces(params):
    X, y = [[["w1", "c"], ["w2"]], [["w3"]], [["c"], ["w2", "w4"]]], [["A", "B"], ["C"], ["B", "A"]]
    chain = tw.Chain(**params)
    whole = chain.bind(X, y)
    packed = whole.pack(X, y)
    shards = [(chain.bind(X[a:b], y[a:b]), X[a:b], y[a:b]) for a, b in ((0, 2), (2, 3))]
    merged = shards[1][0].merged(shards[0][0])
    assert set(merged.feature_names) == set(whole.feature_names)
    first, second = (space.pack(x, labels).into(merged) for space, x, labels in shards)
    together = first.joined(second)
    order = [merged.feature_names.index(name) for name in whole.feature_names]
    assert np.array_equal(together.gold().toarray()[:, order], packed.gold().toarray())
    w = np.random.default_rng(0).normal(size=whole.n_features)
    moved = np.empty_like(w)
    moved[order] = w
    np.testing.assert_allclose(
        together.log_partition(together.scores(moved)), packed.log_partition(packed.scores(w)), rtol=1e-12
    )
    again = merged.restore(together.state())
    assert np.array_equal(again.gold().toarray(), together.gold().toarray())


def test_dense_blocks_are_joined():
    X, y = [np.eye(2), np.ones((3, 2))], [["A", "B"], ["B", "B", "A"]]
    space = tw.Chain().bind(X, y)
    joined = space.pack(X[:1], y[:1]).joined(space.pack(X[1:], y[1:]))
    assert np.array_equal(joined.gold().toarray(), space.pack(X, y).gold().toarray())
    wider = tw.Chain().bind([np.ones((1, 3))], [["A"]])
    with pytest.raises(tw.InputError, match="2 columns as before, got 3"):
        space.merged(wider)


def test_damaged_states_are_refused():
    X, y = [["a", "b"], ["b"]], [["A", "B"], ["B"]]
    space = tw.Chain().bind(X, y)
    state = space.pack(X, y).state()
    rows = state["emission"][0]["rows"]
    for name, value in (
        ("gold", np.array([0, 1, 2])),
        ("gold", np.array([0, 1])),
        ("lengths", np.array([2, -1])),
        ("gold", np.array([0.5, 1, 1])),
        ("emission", [{"matrix": state["emission"][0]["matrix"], "rows": rows + 7}]),
        ("emission", [{"matrix": sp.csr_matrix((2, 99)), "rows": rows}]),
        ("emission", [{"matrix": np.ones((2, 2)), "rows": rows}]),
        ("allowed", np.ones((1, 1), dtype=bool)),
    ):
        with pytest.raises(tw.InputError):
            space.restore({**state, name: value})


# -- the observed trellis ---------------------------------------------------------------------------


def test_observed_trellis():
    X, y = [["a", "b", "c"], ["a", "c"]], [["X", "Y", "Z"], ["X", "Z"]]
    space = tw.Chain().bind(X, y)
    batch = space.pack(X, y)
    limited = space.observed(batch)
    assert list(limited.enumerate(["a", "b", "c"])) == [["X", "Y", "Z"]]
    assert list(limited.enumerate(["a", "new"])) == [
        ["X", "Y"],
        ["X", "Z"],
    ]  # an unseen symbol has all labels
    assert len(list(limited.enumerate(["new"]))) == 3
    # "b" is Y only, "a" is X only, but X never follows Y: the symbols of this input do not count.
    assert len(list(limited.enumerate(["b", "a"]))) == limited.allowed.sum()
    again = type(limited).from_state(limited.structure, limited.state())
    assert list(again.enumerate(["a", "new"])) == [["X", "Y"], ["X", "Z"]]
    moved = batch.into(limited)
    assert np.allclose(moved.log_count(), 0.0)
    assert np.array_equal(moved.subset(np.array([1])).allowed, moved.allowed[3:])
    assert space.observed(batch, None).symbol_mask is None
    with pytest.raises(tw.InputError, match="symbols must be"):
        space.observed(batch, "word")


def test_symbols_by_prefix():
    X, y = [[["w=a", "cap"], ["w=b"]], [["w=a"], ["w=b", "cap"]]], [["X", "Y"], ["X", "Y"]]
    space = tw.Chain().bind(X, y)
    batch = space.pack(X, y)
    assert space.observed(batch).symbol_mask is None  # tokens have several attributes
    mask = space.observed(batch, ["w="]).symbol_mask
    assert mask.tolist() == [[True, False], [True, True], [False, True]]


def test_observed_limits_meet_the_users_own():
    X, y = [["a", "b"], ["a", "b"]], [["X", "Y"], ["Y", "Y"]]
    space = tw.Chain().bind(X, y)
    limited = space.observed(space.pack(X, y))
    batch = limited.pack([["a", "b"]], allowed=[[["Y"], None]])
    assert batch.allowed.tolist() == [[False, True], [False, True]]
    stuck = limited.pack([["b"]], allowed=[[["X"]]])  # never seen: the user has the last word
    assert stuck.allowed.tolist() == [[True, False]]


def test_matrices_that_take_a_sweep_per_feature_are_not_made(monkeypatch):
    X = [[f"w{i}{j}" for j in range(8)] for i in range(8)]
    y = [["ABC"[(i * j) % 3] for j in range(8)] for i in range(8)]
    model = tw.ZScore(tw.Chain().with_limits(increment_features=50), reference="generative")
    swept = []
    product = gibbs.GibbsChain.product
    monkeypatch.setattr(gibbs.GibbsChain, "product", lambda self, v: swept.append(v.ndim) or product(self, v))
    model.fit(X, y)
    assert model.coef_.size > 50
    assert set(swept) == {1}
    assert len(swept) < model.coef_.size
