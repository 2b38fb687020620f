"""Conditional random fields: gradients, optima, penalties, stopping."""

from __future__ import annotations

import itertools
import logging

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import trelliswork as tw
from trelliswork.learners.crf import fit_crf
from trelliswork.learners.optimize import progress
from trelliswork.learners.optimize.smooth import Stop, lbfgs, newton_cg
from trelliswork.structures import ChainSpace
from trelliswork.structures.chain.batch import ChainBatch


def problem(seed=0, n=8, n_words=5, labels=("A", "B", "C"), longest=5):
    """Noisy sequences of words; the word says the label four times out of five."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        tags = [labels[i] for i in rng.integers(len(labels), size=rng.integers(1, longest + 1))]
        X.append([f"w{labels.index(t) if rng.random() < 0.8 else rng.integers(n_words)}" for t in tags])
        y.append(tags)
    return X, y


def arrays(seed=0, n=40, p=4):
    """Sequences of length 1 with dense features and three overlapping classes."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, p))
    c = (F @ rng.normal(size=(p, 3)) + rng.normal(size=(n, 3))).argmax(axis=1)
    return F, c


def objective(batch, w, l2=0.0, weights=None):
    """Penalised negative log-likelihood from log partitions and gold scores alone."""
    scores = batch.scores(w)
    loss = batch.log_partition(scores) - batch.evaluate(batch.gold_codes, scores)
    return float(loss.sum() if weights is None else loss @ weights) + l2 * float(w @ w)


BIO = {"A": "B-X", "B": "I-X", "C": "O"}


def bio(y):
    """Labels turned into valid BIO."""
    out = []
    for tags in y:
        tags = [BIO[t] for t in tags]
        for t, tag in enumerate(tags):
            if tag == "I-X" and (t == 0 or tags[t - 1] == "O"):
                tags[t] = "B-X"
        out.append(tags)
    return out


CHAINS = {
    "plain": tw.Chain(),
    "bare": tw.Chain(start=False, end=False, unknown=False),
    "observed": tw.Chain(emissions="observed", transitions="observed"),
    "scheme": tw.Chain(scheme="BIO"),
    "order2": tw.Chain(2),
    "order3": tw.Chain(3, transitions="observed"),
    "edges": tw.Chain(edge_features="all", emissions="observed"),
    "prefix": tw.Chain(2, edge_features=["w1", "w2"]),
    "rare": tw.Chain(min_count=4),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CHAINS)
def test_gradient_and_hessian_agree_with_finite_differences(name, weighted):
    X, y = problem(1)
    y = bio(y) if name == "scheme" else y
    space = CHAINS[name].bind(X, y)
    batch = space.pack(X, y)
    rng = np.random.default_rng(2)
    w = rng.normal(size=space.n_features)
    weights = rng.random(len(X)) if weighted else None
    log_z, expected = batch.expect(w, weights=weights)
    np.testing.assert_allclose(log_z, batch.log_partition(batch.scores(w)), rtol=1e-12)
    gradient = expected - batch.gold_sum(weights)
    for direction in (*np.eye(space.n_features)[:: max(1, space.n_features // 12)], rng.normal(size=w.size)):
        h = 1e-5
        up, down = w + h * direction, w - h * direction
        slope = (objective(batch, up, weights=weights) - objective(batch, down, weights=weights)) / (2 * h)
        assert gradient @ direction == pytest.approx(slope, abs=2e-7, rel=1e-6)
        change = batch.expect(up, weights=weights)[1] - batch.expect(down, weights=weights)[1]
        product = batch.covariance_product(w, direction, weights)
        np.testing.assert_allclose(product, change / (2 * h), atol=1e-6)


# -- optima ----------------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [0.05, 1.0])
def test_length_one_is_multinomial_logistic_regression(l2):
    F, c = arrays()
    chain = tw.Chain(start=False, end=False, unknown=False, scale=None)
    weights = np.random.default_rng(3).random(len(F)) + 0.1
    crf = tw.CRF(chain, l2=l2, tol=1e-9, max_iter=1000)
    crf.fit([row[None] for row in F], [[label] for label in c], sample_weight=weights)
    # Ours: sum of losses + l2 |w|^2; theirs: C times the sum + |w|^2 / 2.
    other = LogisticRegression(C=1 / (2 * l2), fit_intercept=False, tol=1e-10, max_iter=5000)
    other.fit(F, c, sample_weight=weights)
    emission = crf.space_.split(crf.coef_)[0].reshape(-1, 3)
    np.testing.assert_allclose(emission.T, other.coef_, atol=2e-5)
    np.testing.assert_allclose(
        np.concatenate(crf.predict_marginals([row[None] for row in F])), other.predict_proba(F), atol=1e-5
    )
    assert [labels[0] for labels in crf.predict([row[None] for row in F])] == other.predict(F).tolist()


@pytest.mark.parametrize("name", ["plain", "order2", "edges"])
def test_both_solvers_find_the_same_optimum(name):
    X, y = problem(4)
    a = tw.CRF(CHAINS[name], l2=0.3, tol=1e-9, max_iter=500).fit(X, y)
    b = tw.CRF(CHAINS[name], l2=0.3, tol=1e-9, solver="newton-cg").fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-12)
    batch = a.space_.pack(X, y)
    assert a.objective_ == pytest.approx(objective(batch, a.coef_, 0.3), rel=1e-12)
    assert b.n_iter_ < a.n_iter_


def smooth_gradient(model, X, y):
    batch = model.space_.pack(X, y)
    w = model.coef_
    return batch.expect(w)[1] - batch.gold_sum() + 2 * model.l2 * w


@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("name", ["plain", "order2", "observed"])
def test_l1_solution_satisfies_the_optimality_conditions(name, l2):
    X, y = problem(5)
    model = tw.CRF(CHAINS[name], 0.5, l2, tol=1e-7, max_iter=2000).fit(X, y)
    g, w = smooth_gradient(model, X, y), model.coef_
    assert 0 < np.count_nonzero(w) < w.size
    np.testing.assert_allclose(g[w != 0], -0.5 * np.sign(w[w != 0]), atol=1e-4)
    assert np.abs(g[w == 0]).max() <= 0.5 + 1e-4


def test_l1_path_is_ever_sparser_and_ends_at_zero():
    X, y = problem(6, n=12)
    chain = tw.Chain()
    sizes = [
        np.count_nonzero(tw.CRF(chain, l1, 0.0, tol=1e-6).fit(X, y).coef_) for l1 in (0.03, 0.3, 1.0, 3.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]
    space = chain.bind(X, y)
    batch = space.pack(X, y)
    highest = np.abs(batch.expect(np.zeros(space.n_features))[1] - batch.gold_sum()).max()
    assert not tw.CRF(chain, highest * 1.001, 0.0).fit(X, y).coef_.any()
    assert tw.CRF(chain, highest * 0.98, 0.0).fit(X, y).coef_.any()


def test_orthant_method_agrees_with_proximal_gradient():
    X, y = problem(7, n=6, n_words=3, labels=("A", "B"))
    l1, l2 = 0.2, 0.05
    space = tw.Chain(unknown=False).bind(X, y)
    batch = space.pack(X, y)
    gold = batch.gold_sum()
    w = v = np.zeros(space.n_features)
    step, t = 0.02, 1.0
    for _ in range(6000):  # accelerated proximal gradient (FISTA)
        g = batch.expect(v)[1] - gold + 2 * l2 * v
        move = v - step * g
        new = np.sign(move) * np.maximum(np.abs(move) - step * l1, 0.0)
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        v = new + (t - 1) / t_new * (new - w)
        w, t = new, t_new
    model = tw.CRF(tw.Chain(unknown=False), l1, l2, tol=1e-8, max_iter=2000).fit(X, y)
    np.testing.assert_allclose(model.coef_, w, atol=1e-5)
    value = objective(batch, w, l2) + l1 * np.abs(w).sum()
    assert model.objective_ <= value * (1 + 1e-10)


def test_minimisers_on_a_quadratic():
    rng = np.random.default_rng(8)
    root = rng.normal(size=(12, 12))
    A, b = root @ root.T + 0.1 * np.eye(12), rng.normal(size=12)

    def value(w):
        return 0.5 * w @ A @ w - b @ w, A @ w - b

    exact = np.linalg.solve(A, b)
    start = rng.normal(size=12)
    kept = start.copy()
    for found in (
        lbfgs(value, start, max_iter=500, tol=1e-7),
        newton_cg(value, lambda w, v: A @ v, start, tol=1e-10),
    ):
        assert found.converged
        np.testing.assert_allclose(found.w, exact, atol=1e-5)
        assert found.n_evaluations >= found.n_iter
    assert np.array_equal(start, kept)
    end = lbfgs(value, start, max_iter=10_000, tol=0.0)
    assert end.n_iter < 200  # a tolerance beyond the reach of the numbers does not mean for ever
    assert "rounding" in end.message or "no lower point" in end.message
    np.testing.assert_allclose(end.w, exact, atol=1e-6)
    again = lbfgs(value, exact, reference=1.0)
    assert (again.n_iter, again.converged) == (0, True)

    def stop(n, w, objective, norm):
        raise Stop("patience", "enough")

    for found in (
        lbfgs(value, start, callback=stop),
        newton_cg(value, lambda w, v: A @ v, start, callback=stop),
    ):
        assert (found.n_iter, found.converged, found.message) == (1, False, "enough")


def test_an_l1_weight_per_coordinate():
    A = np.diag([1.0, 2.0, 4.0])
    b = np.array([1.0, 1.0, 1.0])
    l1 = np.array([0.0, 0.5, 2.0])
    found = lbfgs(lambda w: (0.5 * w @ A @ w - b @ w, A @ w - b), np.zeros(3), l1=l1, tol=1e-12)
    np.testing.assert_allclose(found.w, [1.0, 0.25, 0.0], atol=1e-9)


# -- weights -----------------------------------------------------------------------------------


def test_class_weights_scale_samples_by_the_mean_over_their_labels():
    X, y = problem(9)
    weight = {"A": 3.0, "B": 0.5}
    by_hand = np.array([np.mean([weight.get(t, 1.0) for t in tags]) for tags in y])
    extra = np.random.default_rng(0).random(len(X)) + 0.5
    a = tw.CRF(tw.Chain(), class_weight=weight).fit(X, y, extra)
    b = tw.CRF(tw.Chain()).fit(X, y, by_hand * extra)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-12, atol=1e-15)
    flat = [t for tags in y for t in tags]
    balanced = {t: len(flat) / (3 * flat.count(t)) for t in "ABC"}
    a = tw.CRF(tw.Chain(), class_weight="balanced").fit(X, y)
    b = tw.CRF(tw.Chain(), class_weight=balanced).fit(X, y)
    assert np.array_equal(a.coef_, b.coef_)


def test_a_class_weight_moves_the_predictions():
    X, y = [["w"]] * 5, [["A"]] * 3 + [["B"]] * 2
    assert tw.CRF(tw.Chain(), l2=0.01).fit(X, y).predict([["w"]]) == [["A"]]
    assert tw.CRF(tw.Chain(), l2=0.01, class_weight={"B": 3}).fit(X, y).predict([["w"]]) == [["B"]]


def test_sample_weights_scale_the_likelihood():
    X, y = problem(10)
    a = tw.CRF(tw.Chain(), l2=1.0, tol=1e-8).fit(X, y, np.full(len(X), 4.0))
    b = tw.CRF(tw.Chain(), l2=0.25, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6)


# -- stopping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{}, {"l1": 0.3}, {"solver": "newton-cg"}])
def test_the_objective_never_rises_and_the_history_tells_it(params):
    X, y = problem(11, n=15)
    model = tw.CRF(tw.Chain(), tol=1e-6, **params).fit(X, y)
    values = [record["objective"] for record in model.history_]
    assert all(b <= a for a, b in itertools.pairwise(values))
    assert values[-1] == model.objective_
    assert model.converged_
    assert model.stop_ == "converged"
    assert [record["iteration"] for record in model.history_] == list(range(1, model.n_iter_ + 1))
    wanted = {"iteration", "objective", "gradient", "seconds"} | ({"nonzero"} if "l1" in params else set())
    assert all(set(record) == wanted for record in model.history_)
    seconds = [record["seconds"] for record in model.history_]
    assert seconds == sorted(seconds)
    if "l1" in params:
        assert model.history_[-1]["nonzero"] == np.count_nonzero(model.coef_)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg"])
def test_max_iter_is_honoured(solver):
    X, y = problem(12)
    model = tw.CRF(tw.Chain(), solver=solver, max_iter=2, tol=1e-12).fit(X, y)
    assert (model.n_iter_, len(model.history_), model.converged_, model.stop_) == (2, 2, False, "max_iter")


def test_early_stopping_keeps_the_best_development_weights():
    X, y = problem(13, n=6, n_words=8)
    X_dev, y_dev = problem(14, n=20, n_words=8)
    seen = []

    def scoring(y_true, y_pred):
        assert y_true is y_dev
        seen.append(tw.metrics.token_accuracy(y_true, y_pred))
        return seen[-1]

    model = tw.CRF(tw.Chain(), l2=1e-4, tol=1e-12, patience=3, scoring=scoring)
    model.fit(X, y, X_dev=X_dev, y_dev=y_dev)
    scores = [record["dev"] for record in model.history_]
    assert scores == seen
    first = int(np.argmax(scores))
    assert len(scores) == first + 1 + 3  # equal scores do not renew the patience
    best = max(i for i, score in enumerate(scores) if score == max(scores))
    assert model.stop_ == "patience"
    assert model.message_ == "no better development score for 3 iterations"
    assert not model.converged_
    assert model.score(X_dev, y_dev) == pytest.approx(max(scores))
    assert model.objective_ == model.history_[best]["objective"]
    batch = model.space_.pack(X, y)
    assert model.objective_ == pytest.approx(objective(batch, model.coef_, 1e-4), rel=1e-12)
    # Without a scoring function it is the accuracy of the structure.
    same = tw.CRF(tw.Chain(), l2=1e-4, tol=1e-12, patience=3).fit(X, y, X_dev=X_dev, y_dev=y_dev)
    assert np.array_equal(same.coef_, model.coef_)


@pytest.mark.parametrize("seed", range(20, 25))
def test_early_stopping_ends_no_lower_than_the_undisturbed_run(seed):
    X, y = problem(seed, n=12, n_words=8)
    X_dev, y_dev = problem(seed + 100, n=30, n_words=8)
    undisturbed = tw.CRF(tw.Chain()).fit(X, y)
    watched = tw.CRF(tw.Chain()).fit(X, y, X_dev=X_dev, y_dev=y_dev)
    assert watched.score(X_dev, y_dev) >= undisturbed.score(X_dev, y_dev)


def test_scores_of_the_development_set_by_name():
    X, y = [["a", "b"], ["b", "a"], ["c"]], [["O", "B-X"], ["B-X", "O"], ["O"]]
    X_dev, y_dev = [["a", "b", "b", "c"]], [["O", "B-X", "O", "O"]]
    settings = {"l2": 1e-3, "max_iter": 5}
    by_name = {
        name: [
            r["dev"]
            for r in tw.CRF(tw.Chain(), scoring=name, **settings).fit(X, y, X_dev=X_dev, y_dev=y_dev).history_
        ]
        for name in (None, "entity_f1", "token_accuracy")
    }
    assert by_name[None] == by_name["entity_f1"]  # what suits labels such as B-X
    assert by_name[None] != by_name["token_accuracy"]
    with pytest.raises(tw.InputError, match="unknown score 'best'; expected one of base_pair_f1, "):
        tw.CRF(tw.Chain(), scoring="best").fit(X, y, X_dev=X_dev, y_dev=y_dev)
    with pytest.raises(tw.InputError, match="scoring must be a name, a function"):
        tw.CRF(tw.Chain(), scoring=3).fit(X, y, X_dev=X_dev, y_dev=y_dev)


def test_of_equal_development_scores_the_last_weights_are_kept():
    X, y = problem(13, n=6, n_words=8)
    params = {"l2": 1e-4, "tol": 1e-12}
    flat = tw.CRF(tw.Chain(), patience=3, scoring=lambda *_: 0.5, **params).fit(X, y, X_dev=X, y_dev=y)
    assert flat.n_iter_ == 4
    plain = tw.CRF(tw.Chain(), max_iter=4, **params).fit(X, y)
    assert np.array_equal(flat.coef_, plain.coef_)
    assert flat.objective_ == flat.history_[-1]["objective"]
    assert plain.stop_ == "max_iter"
    assert plain.message_ == "stopped after max_iter=4 iterations"


def test_the_development_set_may_hold_unknown_labels():
    X, y = problem(15)
    model = tw.CRF(tw.Chain(), patience=2).fit(X, y, X_dev=[["w0"]], y_dev=[["new"]])
    assert {record["dev"] for record in model.history_} == {0.0}
    with pytest.raises(tw.InputError, match="both X_dev and y_dev"):
        tw.CRF(tw.Chain()).fit(X, y, X_dev=X)
    with pytest.raises(tw.InputError, match="X has 1 samples but y has 2"):
        tw.CRF(tw.Chain()).fit(X, y, X_dev=[["w0"]], y_dev=[["A"], ["A"]])


@pytest.mark.parametrize("params", [{}, {"l1": 0.2}, {"solver": "newton-cg"}])
def test_a_warm_start_at_the_optimum_has_nothing_to_do(params):
    X, y = problem(16)
    model = tw.CRF(tw.Chain(), warm_start=True, **params).fit(X, y)
    first = model.coef_
    model.fit(X, y)
    assert (model.n_iter_, model.converged_) == (0, True)
    assert np.array_equal(model.coef_, first)


def test_a_warm_start_goes_on_and_carries_weights_by_name():
    X, y = problem(17)
    once = tw.CRF(tw.Chain(), max_iter=4, tol=1e-12, warm_start=True).fit(X, y)
    value = once.objective_
    once.fit(X, y)
    assert once.history_[0]["objective"] < value
    more_X, more_y = [*X, ["new", "w0"]], [*y, ["D", "A"]]
    warm = tw.CRF(tw.Chain(), tol=1e-8, warm_start=True).fit(X, y).fit(more_X, more_y)
    cold = tw.CRF(tw.Chain(), tol=1e-8).fit(more_X, more_y)
    assert warm.classes_ == ["A", "B", "C", "D"]
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-5)


def interrupt_after(monkeypatch, n_calls):
    plain = ChainBatch.expect
    calls = []

    def expect(self, *args, **kwargs):
        calls.append(1)
        if len(calls) > n_calls:
            raise KeyboardInterrupt
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(ChainBatch, "expect", expect)


@pytest.mark.parametrize("params", [{}, {"l1": 0.3}, {"solver": "newton-cg"}])
def test_an_interrupt_keeps_the_best_weights(params, monkeypatch):
    X, y = problem(18)
    whole = tw.CRF(tw.Chain(), tol=1e-10, **params).fit(X, y)
    interrupt_after(monkeypatch, 5)
    model = tw.CRF(tw.Chain(), tol=1e-10, **params)
    with pytest.warns(
        tw.FitInterrupted, match=r"CRF after \d+ iterations; the best weights so far were kept"
    ):
        model.fit(X, y)
    n = len(model.history_)
    assert 1 <= n == model.n_iter_
    assert not model.converged_
    assert model.stop_ == "interrupted"
    assert [r["objective"] for r in model.history_] == [r["objective"] for r in whole.history_[:n]]
    assert model.objective_ == whole.history_[n - 1]["objective"]
    assert isinstance(model.space_, ChainSpace)
    assert len(model.predict(X)) == len(X)


def test_an_interrupt_before_the_first_step_keeps_the_start(monkeypatch):
    X, y = problem(18)
    model = tw.CRF(tw.Chain(), warm_start=True).fit(X, y)
    before = model.coef_
    interrupt_after(monkeypatch, 0)
    with pytest.warns(tw.FitInterrupted, match="after 0 iterations"):
        model.fit(X, y)
    assert np.array_equal(model.coef_, before)


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = problem(19)
    model = tw.CRF(tw.Chain()).fit(X, y)
    before = dict(vars(model))
    for bad in ((X, y[:-1]), ([*X[:-1], [3.0]], y), (X, [*y[:-1], [["A"]] * len(y[-1])])):
        with pytest.raises(tw.InputError):
            model.fit(*bad)
        assert all(vars(model)[name] is value for name, value in before.items())


def test_pure_function_and_class_agree():
    X, y = problem(20)
    space = tw.Chain().bind(X, y)
    found, history = fit_crf(space.pack(X, y), np.zeros(space.n_features), l1=0.0, l2=1.0)
    model = tw.CRF(tw.Chain(), l2=1.0).fit(X, y)
    assert np.array_equal(found.w, model.coef_)
    assert len(history) == found.n_iter


def test_verbose_writes_one_log_line_per_iteration(caplog):
    X, y = problem(21)
    with caplog.at_level(logging.INFO, logger="trelliswork"):
        model = tw.CRF(tw.Chain(), verbose=2, max_iter=3, tol=1e-12).fit(X, y)
    assert len(caplog.records) == len(model.history_) == 3
    assert "objective" in caplog.records[0].getMessage()


def test_verbose_writes_a_line_every_few_seconds(caplog, monkeypatch):
    seconds = iter(range(0, 900, 3))  # every iteration takes three of them
    monkeypatch.setattr("trelliswork.learners.optimize.progress.time.perf_counter", lambda: next(seconds))
    with caplog.at_level(logging.INFO, logger="trelliswork"):
        tw.CRF(tw.Chain(), verbose=1, max_iter=10, tol=0).fit([["a", "b"]], [["x", "y"]])
    assert [message.split(":")[0] for message in caplog.messages] == ["CRF 4 of 10", "CRF 8 of 10"]


def test_verbose_says_one_line_per_iteration_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "logger", logging.Logger("trelliswork"))  # not pytest's
    tw.CRF(tw.Chain(), verbose=2, max_iter=3, tol=0).fit([["a", "b"]], [["x", "y"]])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("CRF ") and "objective" in line for line in lines)


def test_prior_is_where_the_penalty_pulls_and_the_search_starts():
    X, y = problem(22)
    plain = tw.CRF(tw.Chain(), l2=0.5).fit(X, y)
    names = plain.space_.feature_names
    prior = np.random.default_rng(0).normal(size=len(names))
    for solver in ("lbfgs", "newton-cg"):
        model = tw.CRF(tw.Chain(), l2=0.5, prior=prior, solver=solver, tol=1e-8).fit(X, y)
        batch = model.space_.pack(X, y)
        value, gradient = objective(batch, model.coef_), batch.expect(model.coef_)[1] - batch.gold_sum()
        assert np.allclose(gradient, -2 * 0.5 * (model.coef_ - prior), atol=1e-5)
        assert model.objective_ == pytest.approx(value + 0.5 * np.sum((model.coef_ - prior) ** 2))
    assert np.allclose(tw.CRF(tw.Chain(), l2=1e9, prior=prior).fit(X, y).coef_, prior, atol=1e-6)
    sparse = tw.CRF(tw.Chain(), l1=3.0, l2=0.0, prior=prior).fit(X, y)
    assert np.count_nonzero(sparse.coef_ == prior) > 0
    zero = tw.CRF(tw.Chain(), l2=0.5, prior=dict.fromkeys(names, 0.0)).fit(X, y)
    assert np.array_equal(zero.coef_, plain.coef_)


def test_prior_by_name_is_kept_in_model_files(tmp_path):
    X, y = problem(23)
    model = tw.CRF(tw.Chain(), prior={("transition", "A", "B"): 2.0}).fit(X, y)
    tw.save(model, tmp_path / "model.tw")
    again = tw.load(tmp_path / "model.tw")
    assert again.prior == model.prior
    assert np.array_equal(again.coef_, model.coef_)
    for bad in ({("transition", "A", "?"): 1.0}, [1.0], np.full(model.coef_.size, np.nan)):
        with pytest.raises(tw.InputError, match="prior"):
            tw.CRF(tw.Chain(), prior=bad).fit(X, y)


def _sentences(n, seed=0):
    """Words that mostly tell their label, in sentences of up to ten."""
    rng = np.random.default_rng(seed)
    y = [[int(label) for label in rng.integers(0, 3, rng.integers(0, 11))] for _ in range(n)]
    X = [
        [f"{label if rng.random() < 0.97 else rng.integers(3)}{rng.integers(20)}" for label in row]
        for row in y
    ]
    return X, y


@pytest.mark.parametrize("l1", [0.02, 0.01])
def test_steps_on_unsure_tokens_lead_to_the_same_minimum(l1):
    X, y = _sentences(150)
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    fits = []
    for n_tokens in (1, 10**9):
        chain = tw.Chain().with_limits(settling_tokens=n_tokens, settled=0.95)
        fits.append(tw.CRF(chain, l1, 0.05, tol=1e-8, max_iter=1000).fit(X, y, weights))
    with_models, plain = fits
    assert with_models.stop_ != "max_iter"
    assert with_models.n_iter_ != plain.n_iter_
    assert with_models.objective_ == pytest.approx(plain.objective_, rel=1e-8)
    np.testing.assert_allclose(with_models.coef_, plain.coef_, atol=1e-3)
    assert all(a["objective"] >= b["objective"] for a, b in itertools.pairwise(with_models.history_))
    threaded = tw.CRF(with_models.structure, l1, 0.05, tol=1e-8, max_iter=1000, n_jobs=2).fit(X, y, weights)
    np.testing.assert_array_equal(with_models.coef_, threaded.coef_)


def test_pieces_of_unsure_tokens_bend_as_the_whole_does():
    X, y = _sentences(100)
    w = tw.CRF(tw.Chain(), 0.0, 0.001).fit(X, y).coef_
    step = 1e-3 * np.random.default_rng(2).normal(size=w.size)
    left_out = []
    for settled in (0.9, 0.99, 0.999):
        limits = {"settling_tokens": 1, "settling_share": 1.0, "settled": settled}
        _, batch = tw.Chain().with_limits(**limits).compile(X, y)
        here = batch.expect(w)[1]
        pieces = batch.unsettled()
        assert 0 < pieces.batch.n_tokens < batch.n_tokens
        assert pieces.owners.size == len(pieces.batch)
        there = pieces.batch.expect(w)[1]
        whole, part = batch.expect(w + step)[1] - here, pieces.batch.expect(w + step)[1] - there
        left_out.append(np.linalg.norm(whole - part) / np.linalg.norm(whole))
    assert left_out == sorted(left_out, reverse=True)
    assert left_out[-1] < 0.05
