"""Generative models with predicted multinomials."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import trelliswork as tw
from trelliswork.kernels import Composed, Linear, Normalized, Polynomial, Precomputed, Spectrum
from trelliswork.learners.klrso import estimator, problems, scoring
from trelliswork.learners.optimize.logistic import factor, fit_logistic, log_softmax
from trelliswork.structures import Chain


def tagged(n=14, seed=0, longest=6):
    """Sequences whose labels depend on their first token."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for i in range(n):
        first = "+-"[i % 2]
        rest = [str(s) for s in rng.choice(list("ab"), size=int(rng.integers(2, longest)))]
        X.append([first, *rest])
        y.append(["S", *("X" if (s == "a") == (first == "+") else "Y" for s in rest)])
    return X, y


TREES = [
    "(S (NP (D the) (N dog)) (VP (V sleeps)))",
    "(S (NP (D a) (N cat)) (VP (V sees) (NP (D the) (N dog))))",
    "(S (NP (N cats)) (VP (V sleep)))",
    "(S (NP (N dogs)) (VP (V see) (NP (N cats))))",
]


def leaves(tree):
    return [word.strip("()") for word in tree.split() if word.endswith(")")]


# -- one regression ----------------------------------------------------------------------------


@pytest.fixture
def regression():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(12, 4))
    T = rng.dirichlet(np.ones(3), size=12)
    return Z, T, rng.uniform(0.5, 3.0, size=12)


@pytest.mark.parametrize("solver", ["newton-cg", "lbfgs"])
@pytest.mark.parametrize("bias", [False, True])
def test_gradient_vanishes_and_the_dual_is_stationary(regression, solver, bias):
    Z, T, w = regression
    found = fit_logistic(Z, T, w, np.zeros(3), 0.3, bias=bias, solver=solver, tol=1e-7, max_iter=1000)
    assert found.stop == "converged"
    # F = K A + bias with A = w (T - P) / (2 reg)
    P = np.exp(log_softmax(Z @ Z.T @ found.dual + found.bias))
    assert np.abs(found.dual - w[:, None] * (T - P) / 0.6).max() < 1e-4
    assert np.allclose(Z.T @ found.dual, found.weights, atol=1e-5)
    if bias:
        assert np.abs(found.dual.sum(axis=0)).max() < 1e-4


def test_objective_by_finite_differences(regression):
    Z, T, w = regression
    found = fit_logistic(Z, T, w, np.array([0.5, 0.0, -1.0]), 0.2, tol=1e-10)

    def value(W):
        return -w @ (T * log_softmax(Z @ W + [0.5, 0.0, -1.0])).sum(axis=1) + 0.2 * (W**2).sum()

    assert np.isclose(value(found.weights), found.objective)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert value(found.weights + 1e-3 * rng.normal(size=found.weights.shape)) > found.objective


def test_factor_of_a_singular_matrix():
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(7, 3))
    L = factor(Z @ Z.T)
    assert L.shape == (7, 3)
    assert np.allclose(L @ L.T, Z @ Z.T)
    assert factor(np.zeros((3, 3))).shape == (3, 0)


# -- the model ---------------------------------------------------------------------------------


def rows(X):
    """Features of one-token sequences."""
    return np.array([[len(x[0]), x[0].count("a"), x[0].count("b")] for x in X], dtype=float)


@pytest.mark.parametrize("bias", ["free", "none"])
def test_equals_logistic_regression(bias):
    """One multinomial, the first label, with a linear kernel."""
    rng = np.random.default_rng(3)
    X = [["".join(rng.choice(list("abc"), size=int(rng.integers(1, 8))))] for _ in range(40)]
    y = [["PQR"[min(2, x[0].count("a") + int(rng.integers(2)))]] for x in X]
    model = tw.KLRSO(
        Chain(), "linear", features=rows, reg=0.7, bias=bias, min_count=1, heads=[("start",)], tol=1e-10
    ).fit(X, y)
    names, shares = model.predict_multinomials(X)[("start",)]
    assert [name for _, name in names] == ["P", "Q", "R"]
    other = LogisticRegression(C=1 / 1.4, fit_intercept=bias == "free", tol=1e-10, max_iter=2000)
    # The smoothed probabilities sum to 1 over the labels, all of which are predicted.
    assert np.allclose(shares, other.fit(rows(X), [row[0] for row in y]).predict_proba(rows(X)), atol=1e-6)
    # Features, kernel and Gram matrix are three ways to say the same.
    K = rows(X) @ rows(X).T
    again = tw.KLRSO(
        Chain(), lambda A, B: A @ B.T, features=lambda X: sp.csr_matrix(rows(X)), reg=0.7, bias=bias,
        min_count=1, heads=[("start",)], tol=1e-10,
    ).fit(X, y)  # fmt: skip
    assert np.allclose(again.predict_multinomials(X)[("start",)][1], shares, atol=1e-8)
    assert np.allclose(np.linalg.matrix_rank(K), 3)


@pytest.mark.parametrize("weighting", ["example", "count"])
def test_stationary_on_a_chain(weighting):
    X, y = tagged()
    y[0] = ["S", *("X" for _ in y[0][1:])]  # not a function of the input
    kernel = Composed(Normalized(Spectrum(1, 2)), Polynomial(2))
    model = tw.KLRSO(Chain(), kernel, reg=0.05, weighting=weighting, min_count=1, tol=1e-10).fit(X, y)
    batch = model.space_.pack(X, y)
    counts, place = batch.gold().toarray(), [model.inputs_.index(x) for x in X]
    shares = model.predict_multinomials(X)
    for number, head in enumerate(model.heads_):
        own = slice(model.outcome_ptr_[number], model.outcome_ptr_[number + 1])
        c = counts[:, model.outcomes_[own]]
        uses = c.sum(axis=1)
        P = shares[head][1] / shares[head][1].sum(axis=1, keepdims=True)
        w = uses if weighting == "count" else uses > 0
        each = w[:, None] * (c / np.maximum(uses, 1)[:, None] - P) / (2 * 0.05)
        summed = np.zeros((len(model.inputs_), c.shape[1]))
        np.add.at(summed, place, each)
        assert np.abs(summed - model.dual_coef_[:, own]).max() < 1e-5, head


@pytest.mark.parametrize(
    "structure",
    [Chain(), Chain(2), Chain(2, end=False, unknown=False), Chain(scheme="BIO"), Chain(edge_features="all")],
)
def test_large_reg_is_the_generative_model(structure):
    X, y = tagged()
    if structure.scheme:
        y = [[{"S": "O", "X": "B-X", "Y": "I-X" if t > 1 else "O"}[b] for t, b in enumerate(r)] for r in y]
        for r in y:
            for t in range(1, len(r)):
                r[t] = "O" if r[t] == "I-X" and r[t - 1] == "O" else r[t]
    plain = tw.Generative(structure).fit(X, y)
    model = tw.KLRSO(structure, reg=1e9, min_count=2).fit(X, y)
    assert model.heads_
    assert np.array_equal(model.coef_, plain.coef_)
    assert model.predict(X) == plain.predict(X)
    for a, b in zip(model.predict_marginals(X), plain.predict_marginals(X), strict=True):
        assert np.allclose(a, b, atol=1e-6)
    assert np.allclose(model.log_prob(X, y), plain.log_prob(X, y), atol=1e-6)


def test_free_bias_and_large_reg_are_relative_frequencies():
    X, y = tagged()
    model = tw.KLRSO(Chain(), reg=1e9, bias="free", weighting="count", min_count=1, smoothing=1e-9).fit(X, y)
    plain = tw.Generative(Chain(), smoothing=1e-9).fit(X, y)
    assert np.allclose(model.log_prob(X, y), plain.log_prob(X, y), atol=1e-4)
    no_bias = tw.KLRSO(Chain(), reg=1e9, bias="none", min_count=1).fit(X, y)
    _, shares = no_bias.predict_multinomials(X[:1])[("transition", "X")]
    assert np.allclose(shares, shares[0, 0])


def test_probabilities_depend_on_the_input():
    X, y = tagged(40)
    model = tw.KLRSO(Chain(), reg=0.01, min_count=1).fit(X, y)
    assert model.score(X, y) == 1.0
    assert tw.Generative(Chain()).fit(X, y).score(X, y) < 0.9
    best = model.predict_kbest(X[:1], k=3)[0]
    assert best[0].output == y[0]
    assert sum(c.probability for c in best) <= 1 + 1e-12
    assert model.predict_marginals(X[:1])[0].shape == (len(X[0]), 3)
    assert model.sample(X[:2], 3, random_state=0)[0][0][0] == "S"
    assert len(model.history_) == len(model.heads_)
    assert {"head", "iterations", "objective", "converged"} <= set(model.history_[0])


@pytest.mark.parametrize("order", [1, 2, 3])
def test_scores_each_is_scores_of_every_sample(order):
    X, y = tagged(6)
    for structure in (Chain(order), Chain(order, edge_features="all", emissions="observed")):
        batch = structure.bind(X, y).pack(X, y)
        W = np.random.default_rng(0).normal(size=(6, batch.space.n_features))
        found = batch.scores_each(W)
        for i in range(6):
            one = batch.subset(np.array([i]))
            value = one.evaluate(one.gold_codes, one.scores(W[i]))[0]
            assert np.isclose(batch.evaluate(batch.gold_codes, found)[i], value)
            assert np.isclose(batch.log_partition(found)[i], one.log_partition(one.scores(W[i]))[0])
        base = super(type(batch), batch).scores_each(W)
        assert np.allclose(base.unary, found.unary)
        assert np.allclose(base.trans, found.trans)


def test_many_samples_are_scored_in_pieces():
    X, y = tagged()
    batch = Chain().bind(X, y).pack(X, y)
    W = np.random.default_rng(0).normal(size=(len(batch), batch.space.n_features))
    whole = batch.scores_each(W)
    for samples_at_a_time in (1, 3, len(batch)):
        pieces = scoring.scores_in_pieces(batch, lambda part: W[part], samples_at_a_time)
        assert np.array_equal(pieces.unary, whole.unary)
        assert np.array_equal(pieces.trans, whole.trans)


def test_rare_outcomes_keep_their_probability():
    X, y = tagged()
    X[0], y[0] = [*X[0], "z"], [*y[0], "X"]
    model = tw.KLRSO(Chain(), reg=0.01, min_count=3).fit(X, y)
    names, shares = model.predict_multinomials(X)[("emission", "X")]
    assert ("emission", "z", "X") not in names
    kept = [i for i, n in enumerate(model.space_.feature_names) if n[0] == "emission" and n[-1] == "X"]
    rare = [i for i in kept if model.space_.feature_names[i] not in names]
    unknown = model.space_.feature_names.index(("unknown", "X"))
    left = np.exp(model.log_prob_[[*rare, unknown]]).sum()
    assert np.allclose(shares.sum(axis=1), 1 - left)


def test_only_some_heads():
    X, y = tagged()
    model = tw.KLRSO(Chain(), min_count=1, heads=[("emission", "X")]).fit(X, y)
    assert model.heads_ == [("emission", "X")]
    with pytest.raises(tw.InputError, match=r"heads: there is no 'VP'; there are \[\('start',\)"):
        tw.KLRSO(Chain(), heads=["VP"]).fit(X, y)


@pytest.mark.parametrize("basis", ["cholesky", "random"])
def test_basis(basis):
    X, y = tagged(20)
    exact = tw.KLRSO(Chain(), min_count=1).fit(X, y).log_prob(X, y)
    options = {"min_count": 1, "basis": basis, "random_state": 0}
    n = len({tuple(x) for x in X})
    assert np.allclose(tw.KLRSO(Chain(), n_basis=n, **options).fit(X, y).log_prob(X, y), exact)
    few = tw.KLRSO(Chain(), n_basis=10, **options).fit(X, y)
    assert len(few.inputs_) == few.dual_coef_.shape[0] == 10
    assert np.abs(few.log_prob(X, y) - exact).max() < 2.0


@pytest.mark.parametrize("basis", ["cholesky", "random"])
def test_a_basis_is_found_with_or_without_the_gram_matrix(basis):
    inputs = [tuple(x) for x in {tuple(x): None for x in tagged(20)[0]}]
    whole, columns = (
        problems.make_design(
            Spectrum(1, 3),
            inputs,
            np.arange(len(inputs)),
            10,
            basis,
            np.random.default_rng(0),
            columns_from=columns_from,
        )
        for columns_from in (1 << 31, 0)
    )
    assert np.array_equal(whole.chosen, columns.chosen)
    assert np.allclose(whole.features @ whole.features.T, columns.features @ columns.features.T)


def test_equal_inputs_with_different_outputs_are_averaged():
    X = [["a", "b"]] * 3 + [["b", "a"]] * 2
    y = [["P", "Q"], ["Q", "Q"], ["Q", "P"], ["P", "P"], ["Q", "P"]]
    model = tw.KLRSO(Chain(), reg=1e-4, bias="none", min_count=1, smoothing=1e-9).fit(X, y)
    assert len(model.inputs_) == 2
    names, shares = model.predict_multinomials([["a", "b"]])[("start",)]
    assert [n[1] for n in names] == ["P", "Q"]
    assert np.allclose(shares, [[1 / 3, 2 / 3]], atol=1e-2)
    weighted = tw.KLRSO(Chain(), reg=0.1, min_count=1).fit(X[1:], y[1:], sample_weight=[2, 1, 1, 3])
    index = [1, 1, 2, 3, 4, 4, 4]
    repeated = tw.KLRSO(Chain(), reg=0.1, min_count=1).fit([X[i] for i in index], [y[i] for i in index])
    assert np.allclose(weighted.log_prob(X, y), repeated.log_prob(X, y), atol=1e-5)


def test_heads_without_data_are_generative():
    X, y = tagged()
    once = [["q", "r"]], [["Z", "Z"]]
    model = tw.KLRSO(Chain(), min_count=1).fit(X + once[0], y + once[1])
    assert ("transition", "Z") not in model.heads_  # seen with one input only
    assert ("emission", "Z") not in model.heads_
    one = tw.KLRSO(Chain()).fit([["a"]], [["X"]])
    assert one.heads_ == []
    assert one.predict([["a"], ["b", "a"]]) == tw.Generative(Chain()).fit([["a"]], [["X"]]).predict(
        [["a"], ["b", "a"]]
    )


def test_grammar():
    X, y = [leaves(t) for t in TREES] * 2, TREES * 2
    structure = tw.Grammar(min_count=1, vertical=1)
    plain = tw.Generative(structure).fit(X, y)
    model = tw.KLRSO(structure, reg=1e9, min_count=1).fit(X, y)
    assert set(model.heads_) >= {"NP", "VP", "N"}
    assert np.allclose(model.log_prob(X, y), plain.log_prob(X, y), atol=1e-6)
    sharp = tw.KLRSO(structure, reg=0.01, min_count=1).fit(X, y)
    assert sharp.log_prob(X, y).sum() >= plain.log_prob(X, y).sum() - 1e-9
    assert sharp.predict(X) == y
    assert sharp.predict_kbest(X[:1], k=2)[0][0].output == y[0]
    tags = tw.Grammar(input="tags")
    pairs = [[("the", "D"), ("dog", "N"), ("sleeps", "V")], [("cats", "N"), ("sleep", "V")]] * 2
    assert tags.symbols(pairs)[:2] == [["D", "N", "V"], ["N", "V"]]
    tw.KLRSO(tags, min_count=1).fit(pairs, [TREES[0], TREES[2]] * 2).predict(pairs)


def test_inputs_of_every_kind():
    dicts = [[{"w": t, "n": 2.0} for t in x] for x in tagged()[0]]
    lists = [[[t, "bias"] for t in x] for x in tagged()[0]]
    y = tagged()[1]
    for X in (dicts, lists):
        model = tw.KLRSO(Chain(), reg=0.01, min_count=1).fit(X, y)
        assert model.score(X, y) > 0.9
    arrays = [np.array([[float(t == s) for s in "+-ab"] for t in x]) for x in tagged()[0]]
    model = tw.KLRSO(Chain(unknown=False), reg=0.01, min_count=1).fit(arrays, y)
    assert model.score(arrays, y) > 0.9
    sparse = [sp.csr_matrix(a) for a in arrays]
    again = tw.KLRSO(Chain(unknown=False), reg=0.01, min_count=1).fit(sparse, y)
    assert np.allclose(again.log_prob(sparse, y), model.log_prob(arrays, y))


def test_model_files(tmp_path):
    X, y = tagged()
    for kernel in ("auto", Composed(Normalized(Spectrum(2, 3)), Polynomial(3))):
        model = tw.KLRSO(Chain(), kernel, min_count=1).fit(X, y)
        tw.save(model, tmp_path / "m.tw")
        again = tw.load(tmp_path / "m.tw")
        assert np.array_equal(again.log_prob(X, y), model.log_prob(X, y))
    model = tw.KLRSO(Chain(), "linear", features=lambda X: np.array([[len(x), 1.0] for x in X]), min_count=1)
    tw.save(model.fit(X, y), tmp_path / "m.tw")
    again = tw.load(tmp_path / "m.tw", functions={"features": model.features})
    assert np.array_equal(again.log_prob(X, y), model.log_prob(X, y))


def test_a_file_with_wrong_sizes_is_refused(tmp_path):
    X, y = tagged()
    for name, change in {
        "dual_coef_": lambda a: a[:, 1:],
        "outcomes_": lambda a: a + 10_000,
        "outcome_ptr_": lambda a: a[::-1].copy(),
        "log_prob_": lambda a: a * np.nan,
    }.items():
        model = tw.KLRSO(Chain(), min_count=1).fit(X, y)
        setattr(model, name, change(getattr(model, name)))
        tw.save(model, tmp_path / "m.tw")
        with pytest.raises(tw.ModelFileError):
            tw.load(tmp_path / "m.tw")


def test_threads_do_not_change_a_bit():
    X, y = tagged()
    one, two = (tw.KLRSO(Chain(), min_count=1, n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.dual_coef_, two.dual_coef_)
    assert [r["head"] for r in one.history_] == [r["head"] for r in two.history_] == one.heads_


def test_interrupt_keeps_what_is_finished(monkeypatch):
    X, y = tagged()
    solve, calls = estimator.fit_logistic, []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return solve(*args, **kwargs)

    monkeypatch.setattr(estimator, "fit_logistic", interrupted)
    with pytest.warns(tw.FitInterrupted, match="2 of"):
        model = tw.KLRSO(Chain(), min_count=1).fit(X, y)
    assert len(model.heads_) == 2
    assert model.stop_ == "interrupted"
    assert len(model.predict(X)) == len(X)


def test_the_worst_reason_to_stop_is_told():
    X, y = tagged()
    assert tw.KLRSO(Chain(), min_count=1).fit(X, y).stop_ == "converged"
    assert tw.KLRSO(Chain(), min_count=1, max_iter=1).fit(X, y).stop_ == "max_iter"


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reg": 0}, "reg must be a finite number > 0"),
        ({"reg": np.nan}, "reg must be"),
        ({"weighting": "both"}, "weighting must be 'example' or 'count', got 'both'"),
        ({"bias": True}, "bias must be 'generative' or 'free' or 'none'"),
        ({"n_basis": 0}, "n_basis must be a whole number >= 1"),
        ({"basis": "greedy"}, "basis must be"),
        ({"solver": "sgd"}, "solver must be"),
        ({"min_count": -1}, "min_count must be"),
        ({"heads": "NP"}, "heads must be a list of names"),
        ({"kernel": "magic"}, "kernel must be one of"),
        ({"features": 3}, "features must be a function"),
        ({"features": lambda X: np.zeros((2, 2))}, "features must give a matrix with one row for each"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "sample 0: the kernel gives nan"),
        ({"kernel": lambda A, B: np.zeros((1, 1))}, r"the kernel gave an array of shape \(1, 1\)"),
    ],
)
def test_bad_arguments(options, message):
    X, y = tagged()
    with pytest.raises(tw.InputError, match=message):
        tw.KLRSO(Chain(), **options).fit(X, y)


def test_a_kernel_that_fails_at_prediction():
    X, y = tagged()
    broken = []

    def kernel(A, B):
        out = Spectrum(1, 2)(A, B)
        out[-1] = np.inf if broken else out[-1]
        return out

    model = tw.KLRSO(Chain(), kernel, min_count=1).fit(X, y)
    broken.append(1)
    with pytest.raises(tw.InputError, match="sample 1: the kernel gives inf"):
        model.predict(X[:2])


def test_structures_without_multinomials():
    edges = tw.Derivations(lambda x: [tw.Edge("root", part=a, features=[(x, a)]) for a in "ab"])
    with pytest.raises(tw.Unsupported, match=r"Derivations does not offer a generative model.*Chain"):
        tw.KLRSO(edges).fit(["x"], [["a"]])


def test_kernels_that_are_not_definite_do_no_harm():
    X, y = tagged()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = tw.KLRSO(Chain(), lambda A, B: -Spectrum(1, 2)(A, B), min_count=1).fit(X, y)
    assert np.isfinite(model.dual_coef_).all()
    zero = tw.KLRSO(Chain(), lambda A, B: np.zeros((len(A), len(B))), min_count=1).fit(X, y)
    plain = tw.Generative(Chain()).fit(X, y)
    assert np.allclose(zero.log_prob(X, y), plain.log_prob(X, y))


def test_precomputed_similarities():
    X, y = tagged()
    gram = Normalized(Spectrum(1, 3))(X, X)
    place = {tuple(x): i for i, x in enumerate(X)}

    def kernel(A, B):
        return Precomputed()(gram[[place[tuple(a)] for a in A]], [place[tuple(b)] for b in B])

    found = tw.KLRSO(Chain(), kernel, min_count=1).fit(X, y).log_prob(X, y)
    assert np.allclose(found, tw.KLRSO(Chain(), min_count=1).fit(X, y).log_prob(X, y))
    assert Linear()(np.eye(2), np.eye(2)).tolist() == np.eye(2).tolist()


@pytest.mark.parametrize("grammar", ["g6", "nested"])
def test_rna(grammar):
    X = ["GGGAAACCC", "GCGCAAAGCGC", "GGAUUCGCC", "AAGGGUUUUCCC"]
    y = ["(((...)))", "((((...))))", "((.....))", "..(((....)))"]
    structure = tw.RNA(grammar)
    plain = tw.Generative(structure).fit(X, y)
    model = tw.KLRSO(structure, reg=1e9, min_count=1).fit(X, y)
    assert {head[0] for head in model.heads_} == set("SLF")
    assert np.allclose(model.log_prob(X, y), plain.log_prob(X, y), atol=1e-5)
    sharp = tw.KLRSO(structure, reg=0.01, min_count=1).fit(X, y)
    assert (sharp.log_prob(X, y) > plain.log_prob(X, y)).all()
    assert structure.symbols(["ggtan"]) == ["GGUAN"]


def test_alignment():
    X = [("GATTACA", "GATACA"), ("TTAC", "TAC"), ("CATCAT", "CATAT"), ("GGT", "GCT")]
    y = [("GATTACA", "GAT-ACA"), ("TTAC", "-TAC"), ("CATCAT", "CAT-AT"), ("GGT", "GCT")]
    for structure in (tw.Alignment("affine"), tw.Alignment("substitution", alphabet="dna")):
        plain = tw.Generative(structure).fit(X, y)
        model = tw.KLRSO(structure, reg=1e9, min_count=1).fit(X, y)
        assert model.heads_ == ["pair"]
        assert np.allclose(model.log_prob(X, y), plain.log_prob(X, y), atol=1e-5)
        sharp = tw.KLRSO(structure, reg=0.01, min_count=1).fit(X, y)
        assert sharp.predict([]) == []
        assert len(sharp.predict(X)) == 4
    assert structure.symbols([("ga", "T")]) == [["G", "A", "\n", "T"]]


def test_mixture_with_the_generative_model():
    X, y = tagged_by_sign(60)
    options = {"reg": 0.1, "min_count": 1, "smoothing": 1.0}
    plain = tw.KLRSO(Chain(), **options).fit(X, y)
    whole = tw.KLRSO(Chain(), mixture=1.0, **options).fit(X, y)
    none = tw.KLRSO(Chain(), mixture=0.0, **options).fit(X, y)
    half = tw.KLRSO(Chain(), mixture=0.5, **options).fit(X, y)
    generative = tw.Generative(Chain(), smoothing=1.0).fit(X, y)
    assert np.allclose(plain.log_prob(X, y), whole.log_prob(X, y))
    assert np.allclose(none.log_prob(X, y), generative.log_prob(X, y))
    for head, (names, shares) in half.predict_multinomials(X[:3]).items():
        ours, theirs = (m.predict_multinomials(X[:3])[head] for m in (whole, none))
        assert names == ours[0]
        assert np.allclose(shares, 0.5 * ours[1] + 0.5 * theirs[1])
    # Outputs that depend on the input ask for the predictions, random ones for the generative model.
    chosen = tw.KLRSO(Chain(), mixture="held-out", **options).fit(X, y)
    assert chosen.mixture_ >= 0.7
    rng = np.random.default_rng(0)
    noise = [[str(rng.choice(list("XY"))) for _ in row] for row in y]
    assert tw.KLRSO(Chain(), mixture="held-out", reg=1e-3, min_count=1).fit(X, noise).mixture_ <= 0.3
    for bad in (2.0, "gate"):
        with pytest.raises(tw.InputError, match="mixture must be a number from 0 to 1"):
            tw.KLRSO(Chain(), mixture=bad).fit(X, y)


def tagged_by_sign(n):
    """After "-", X and Y change places."""
    rng = np.random.default_rng(1)
    X, y = [], []
    for _ in range(n):
        sign, letters = rng.choice(list("+-")), rng.choice(list("ab"), 5)
        X.append([str(sign), *map(str, letters)])
        y.append(["S", *("X" if (c == "a") == (sign == "+") else "Y" for c in letters)])
    return X, y
