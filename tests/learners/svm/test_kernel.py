"""Kernels in the joint space."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import PolynomialFeatures

import trelliswork as tw
from trelliswork import Chain, Classes, Derivations, InputError, Unsupported
from trelliswork.accelerated import find
from trelliswork.accelerated.ascent import DualProblem
from trelliswork.accelerated.svm_classes import GramAscent, RowAscent, ascent, gram_of
from trelliswork.kernels import KERNELS, RBF, Linear, Polynomial, as_kernel
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.svm.ascent import dual_problem, solve_ascent
from trelliswork.learners.svm.fit import fit_svm
from trelliswork.learners.svm.solvers import Solution
from trelliswork.learners.svm.weights import Expansion
from trelliswork.losses import as_loss
from trelliswork.losses.forms import Form
from trelliswork.structures.abilities import Rows, require

# Prices of the mean slack, as in the objective that the tests write out.
StructuredSVM = functools.partial(tw.StructuredSVM, C_mode="absolute")


def chain_data(n=10, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.integers(0, 3, size=(m, 3)).astype(float) for m in rng.integers(1, 6, n)]
    return X, [rng.choice(["A", "B", "C"], len(x)).tolist() for x in X]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_kernels(make):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(Linear()(make(A), make(B)), A @ B.T)
    wanted = polynomial_kernel(A, B, degree=3, gamma=0.5, coef0=2.0)
    np.testing.assert_allclose(Polynomial(3, gamma=0.5, coef0=2.0)(make(A), make(B)), wanted)
    np.testing.assert_allclose(RBF(0.7)(make(A), make(B)), rbf_kernel(A, B, gamma=0.7))


@pytest.mark.parametrize("kernel", [Polynomial(0), Polynomial(2.5), Polynomial(gamma=0.0), RBF(-1.0)])
def test_bad_kernels(kernel):
    with pytest.raises(InputError, match="must be"):
        kernel(np.eye(2), np.eye(2))


def test_names():
    for name, cls in KERNELS.items():
        assert type(as_kernel(name)) is cls
    with pytest.raises(InputError, match="kernel must be one of"):
        as_kernel("cubic")


@pytest.mark.parametrize(
    "kind", ["chain", "chain-order-2", "chain-sparse", "classes", "classes-tree", "classes-shares"]
)
@pytest.mark.parametrize(("slack", "rescale"), [("l1", "margin"), ("l2", None), ("l1", "slack")])
def test_linear_kernel_is_the_linear_model(kind, slack, rescale):
    X, y = chain_data(6)
    structure = Chain(2) if kind == "chain-order-2" else Chain()
    if kind == "chain-sparse":
        X = [sp.csr_matrix(x) for x in X]
    if kind.startswith("classes"):
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(20, 3)), rng.choice(["a", "b", "c"], 20)
        structure = Classes(
            None if kind == "classes" else {"u": ["a", "b"], "v": ["c"]},
            ancestor_weight=0.4 if kind == "classes-shares" else 1.0,
        )
    params = {"C": 5.0, "slack": slack, "rescale": rescale, "tol": 1e-6}
    linear = StructuredSVM(structure, **params).fit(X, y)
    for solver in ("bcfw", "working-set"):
        dual = StructuredSVM(structure, kernel="linear", solver=solver, **params).fit(X, y)
        assert dual.primal_ == pytest.approx(linear.primal_, rel=1e-5)
        assert not hasattr(dual, "coef_")
        a, b = linear.predict_kbest(X, 2), dual.predict_kbest(X, 2)
        np.testing.assert_allclose(
            [c.score for row in a for c in row], [c.score for row in b for c in row], atol=5e-2
        )


def test_polynomial_kernel_is_the_expanded_model():
    X, y = chain_data()
    expand = PolynomialFeatures(2).fit(X[0])
    scale = np.ones(expand.n_output_features_)
    for j, powers in enumerate(expand.powers_):
        scale[j] = {0: 1.0, 1: np.sqrt(2.0)}.get(powers.sum(), 1.0 if powers.max() == 2 else np.sqrt(2.0))
    params = {"C": 5.0, "tol": 1e-6}
    structure = Chain(scale=None)  # columns that are scaled first have other products
    primal = StructuredSVM(structure, **params).fit([expand.transform(x) * scale for x in X], y)
    dual = StructuredSVM(structure, kernel=Polynomial(2), **params).fit(X, y)
    assert dual.primal_ == pytest.approx(primal.primal_, rel=1e-5)


@pytest.mark.parametrize("cache_mb", [1000.0, 5e-3, 1e-3])
def test_several_shards_and_little_memory(cache_mb):
    X, y = chain_data(25, seed=2)
    kernel = RBF(0.3)
    wanted = StructuredSVM(Chain(), 5.0, kernel=kernel, tol=1e-4).fit(X, y)
    batch = wanted.space_.pack(X, y)
    params = {"kernel": kernel, "tol": 1e-4, "cache_mb": cache_mb, "rows_per_shard": 5}
    solution, expansion = fit_svm(batch, 5.0, as_loss("hamming"), Form("l1", "margin"), **params)
    assert solution.primal == pytest.approx(wanted.primal_, rel=2e-4)
    view = require(batch, Rows).row_view()
    w = expansion.weights(view, kernel, rows_at_a_time=7)
    np.testing.assert_allclose(w, expansion.weights(view, kernel), rtol=1e-12)
    predicted = batch.unpack(view.batch.argmax(view.batch.scores(w)).codes)
    assert batch.space.accuracy(X, y, predicted) == pytest.approx(wanted.score(X, y), abs=0.05)


def test_equal_rows_are_evaluated_once():
    calls = []

    def kernel(A, B):
        calls.append((A.shape[0], B.shape[0]))
        return A @ B.T

    X = [np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])] * 6
    model = StructuredSVM(Chain(), kernel=kernel).fit(X, [["A", "B", "A"]] * 6)
    assert max(max(pair) for pair in calls) <= 2
    calls.clear()
    model.predict(X)
    assert calls == [(2, model.support_rows_.shape[0])]


@pytest.mark.parametrize("structure", [Chain(scale=None), Classes()])
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda A, B: np.ones(3), r"the kernel gave an array of shape \(3,\) for \d+ and \d+ inputs"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "sample 0: the kernel gives nan"),
        (lambda A, B: np.full((len(A), len(B)), "x"), "must give an array of real numbers"),
    ],
)
def test_kernels_that_give_no_numbers(structure, kernel, message):
    X, y = chain_data(4)
    if isinstance(structure, Classes):
        X, y = np.eye(3), ["a", "b", "c"]
    with pytest.raises(InputError, match=message):
        StructuredSVM(structure, kernel=kernel).fit(X, y)


def test_errors_name_samples():
    X = np.array([[2.0], [2.0], [1.0], [5.0], [3.0]])

    def kernel(A, B):
        return np.where(A == 5.0, np.nan, 1.0) * A @ B.T

    with pytest.raises(InputError, match="sample 3: the kernel gives nan"):
        StructuredSVM(Classes(scale=None), kernel=kernel).fit(X, list("abcab"))
    model = StructuredSVM(Classes(scale=None), kernel=kernel).fit(X[:3], list("abc"))
    with pytest.raises(InputError, match="sample 1: the kernel gives nan"):
        model.predict(np.array([[1.0], [5.0], [0.5]]))
    with pytest.raises(InputError, match="sample 0: the kernel gives nan"):
        StructuredSVM(Chain(scale=None), kernel=kernel).fit([X[2:4], X[:1]], [["a", "b"], ["a"]])
    with pytest.raises(InputError, match="give the kernel, not precomputed values"):
        StructuredSVM(Classes(), kernel="precomputed").fit(np.eye(3), list("abc"))


@pytest.mark.parametrize("slack", ["l2", "none"])
def test_no_kernel(slack):
    X, y = class_data("dense", n=30, width=3)
    params = {"slack": slack, "rescale": None}
    with pytest.raises(InputError, match="not positive semidefinite"):
        StructuredSVM(Classes(bias=False), 10.0, kernel=lambda A, B: -(A @ B.T), **params).fit(X, y)
    with pytest.raises(InputError, match="not positive semidefinite"):
        StructuredSVM(
            Classes(bias=False), 10.0, kernel=lambda A, B: 2 * np.tanh(A @ B.T - 1.0), **params
        ).fit(X, y)


def test_support_is_that_of_the_model():
    for seed in range(8):
        X, y = class_data("dense", n=60, width=3, seed=seed)
        for kernel in (RBF(0.5), None):
            model = StructuredSVM(Classes(scale=None), 300.0, kernel=kernel, tol=1e-2).fit(X, y)
            coef = np.zeros((60, 4))
            for i, label, alpha in model.support_:
                coef[i, model.space_.labels.index(y[i])] += alpha
                coef[i, model.space_.labels.index(label)] -= alpha
            products = (X @ X.T if kernel is None else kernel(X, X)) + 1.0
            scores = model.part_scores(model.pack(X), X).label
            np.testing.assert_allclose(products @ coef, scores, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", None])
@pytest.mark.parametrize("solver", ["auto", "working-set"])
def test_hard_margins_that_cannot_be(kernel, solver):
    same = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    params = {"slack": "none", "rescale": None, "kernel": kernel, "solver": solver}
    with pytest.raises(InputError, match="cannot be separated with a hard margin"):
        StructuredSVM(Classes(), **params).fit(same, ["a", "b", "a"])
    if kernel is None:
        with pytest.raises(InputError, match="cannot be separated with a hard margin"):
            StructuredSVM(Classes(bias=False), **params).fit(np.eye(3)[:, :2], ["a", "b", "a"])
    model = StructuredSVM(Classes(), **params).fit(same, ["a", "b", "a"], sample_weight=[1.0, 0.0, 1.0])
    assert model.predict(same) == ["a", "a", "a"]


def test_very_large_c():
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.random.default_rng(1).choice(["a", "b", "c"], 30)
    model = StructuredSVM(Classes(scale=None), 1e11, kernel=RBF(1.0)).fit(X, y)
    assert model.gap_ <= 1e-3


def test_structures_without_rows():
    with pytest.raises(Unsupported, match=r"kernels on input rows or on parts.*Alignment, Chain, Classes"):
        StructuredSVM(Derivations(lambda x: [("r", (), ["f"], "p")]), kernel="rbf").fit(["x"], [["p"]])
    with pytest.raises(Unsupported, match="kernels on input rows"):
        StructuredSVM(Chain(edge_features="all"), kernel="rbf").fit(*chain_data(3))


def objective(model, X, y, C):
    """Primal objective of a fitted kernel model, from scratch (L1 slacks, margin rescaling)."""
    expansion = Expansion(model.support_rows_, model.dual_coef_, model.linear_coef_)
    return objective_of(model.space_.pack(X, y), expansion, model.kernel, C)


def objective_of(batch, expansion, kernel, C):
    view = require(batch, Rows).row_view()
    scores = view.batch.scores(expansion.weights(view, kernel))
    slack = batch.argmax(scores, batch.mismatch()[0]).values - batch.evaluate(batch.gold_codes, scores)
    products = kernel(expansion.rows, expansion.rows) @ expansion.coef
    norm = np.sum(expansion.coef * products) + expansion.rest @ expansion.rest
    return 0.5 * norm + C * np.maximum(slack, 0).mean()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["bcfw", "working-set"])
@pytest.mark.parametrize("max_iter", [1, 2, 3, 5, 1000])
def test_objectives_are_those_of_the_returned_model(max_iter, solver):
    X, y = chain_data(20, seed=5)
    batch = Chain().bind(X, y).pack(X, y)
    options = {"kernel": RBF(0.3), "max_iter": max_iter, "solver": solver, "rows_per_shard": 6}
    for cache_mb in (1000.0, 1e-3):
        solution, expansion = fit_svm(
            batch, 20.0, as_loss("hamming"), Form("l1", "margin"), cache_mb=cache_mb, **options
        )
        assert solution.primal == pytest.approx(objective_of(batch, expansion, RBF(0.3), 20.0), rel=1e-9)
        assert solution.gap == pytest.approx((solution.primal - solution.dual) / solution.primal)


def class_data(kind, n=24, width=120, seed=3):
    """Few rows with many columns, where inner products are cheaper than weights."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c", "d"], n)
    X = rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.5) + 0.3 * (y == "a")[:, None]
    X[3] = X[5]  # equal rows
    if kind == "empty":
        X[4] = 0.0
    if kind in ("sparse", "empty"):
        X = sp.csr_matrix(X)
    return X, y


@pytest.mark.parametrize("kind", ["dense", "sparse", "empty"])
@pytest.mark.parametrize("tree", [None, {"u": ["a", "b"], "v": ["c", "d"]}])
@pytest.mark.parametrize("slack", ["l1", "l2"])
@pytest.mark.parametrize("rescale", ["margin", "slack"])
def test_weights_scores_and_planes_reach_one_optimum(kind, tree, slack, rescale):
    X, y = class_data(kind)
    loss = "zero-one" if tree is None else "tree"
    params = {"C": 2.0, "loss": loss, "slack": slack, "rescale": rescale, "tol": 1e-7}
    structure = Classes(tree, ancestor_weight=0.7)
    batch = StructuredSVM(structure).fit(X, y).space_.pack(X, y)
    problem = DualProblem(1.0 - np.eye(4), np.ones((4, 4)), np.ones(len(batch)), np.zeros(len(batch)))
    assert isinstance(find("svm", batch)(batch, problem, 1000.0), GramAscent)
    by_scores = StructuredSVM(structure, **params).fit(X, y)
    kernel = StructuredSVM(structure, kernel="linear", **params).fit(X, y)
    planes = StructuredSVM(structure, solver="working-set", **params).fit(X, y)
    for other in (kernel, planes):
        assert other.primal_ == pytest.approx(by_scores.primal_, rel=1e-6)
    form, shares, by_weights = Form(slack, rescale), np.full(len(batch), 2.0 / len(batch)), Solution()
    problem = dual_problem(batch, as_loss(loss), form, shares)
    rows = ascent(batch, problem, 1000.0, gram_from=np.inf)
    assert isinstance(rows, RowAscent)
    rng = np.random.RandomState(0)
    options = {"tol": 1e-7, "max_iter": 1000, "progress": Progress("SVM", None, 0), "solution": by_weights}
    solve_ascent(rows, form, shares, rng=rng, **options)
    assert by_weights.primal == pytest.approx(by_scores.primal_, rel=1e-6)
    np.testing.assert_allclose(by_weights.weights, by_scores.coef_, atol=2e-3)
    right = by_scores.space_.pack(X, y)
    slacks = kernel.part_scores(right, X).label - by_scores.part_scores(right, X).label
    np.testing.assert_allclose(slacks, 0.0, atol=1e-2)


@pytest.mark.parametrize("slack", ["l1", "l2"])
def test_kernels_of_classes(slack):
    """Inner products of samples, planes, and planes in shards: the same optimum, certified."""
    X, y = class_data("dense", n=24, width=3)
    params = {"C": 20.0, "kernel": RBF(0.5), "slack": slack, "tol": 1e-6}
    model = StructuredSVM(Classes(), **params).fit(X, y)
    if slack == "l1":
        assert model.primal_ == pytest.approx(objective(model, X, y, 20.0), rel=1e-9)
    batch = model.space_.pack(X, y)
    view = require(batch, Rows).row_view()
    gram = gram_of(view.batch, view, RBF(0.5), rows_at_a_time=7)
    np.testing.assert_allclose(gram, gram_of(view.batch, view, RBF(0.5)), rtol=1e-12)
    scores = model.part_scores(batch, X).label
    options = {"kernel": RBF(0.5), "tol": 1e-6, "rows_per_shard": 9}
    for other in ({"cache_mb": 5e-3}, {"solver": "working-set"}):
        solution, expansion = fit_svm(
            batch, 20.0, as_loss("hamming"), Form(slack, "margin"), **options, **other
        )
        assert solution.primal == pytest.approx(model.primal_, rel=3e-6)
        values = view.batch.scores(expansion.weights(view, RBF(0.5))).label
        np.testing.assert_allclose(values, scores, atol=2e-2)
    first = model.n_iter_
    again = model.set_params(warm_start=True).fit(X, y)
    assert again.n_iter_ < first
    assert again.gap_ <= 1e-6
    wider = again.set_params(C=25.0).fit(X, y)
    cold = StructuredSVM(Classes(), **{**params, "C": 25.0}).fit(X, y)
    assert wider.primal_ == pytest.approx(cold.primal_, rel=2e-6)


def test_hard_margin():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    y = ["same", "same", "other", "other"]
    hard = StructuredSVM(Classes(), kernel=RBF(2.0), slack="none", rescale=None, tol=1e-6).fit(X, y)
    soft = StructuredSVM(Classes(), 1e5, kernel=RBF(2.0), rescale=None, tol=1e-6).fit(X, y)
    assert hard.primal_ == pytest.approx(soft.primal_, rel=1e-4)
    scores = hard.part_scores(hard.pack(X), X).label
    right = [list(hard.classes_).index(label) for label in y]
    margins = scores[np.arange(4), right] - scores[np.arange(4), [1 - r for r in right]]
    assert margins.min() >= 1 - 1e-9
    with pytest.raises(InputError, match="cannot be separated"):
        StructuredSVM(Classes(), kernel="linear", slack="none", rescale=None).fit(X, y)


def common(A, B):
    return np.minimum(A[:, None], B).sum(axis=2)


@pytest.mark.parametrize("kernel", ["rbf", RBF(0.3), Polynomial(3, gamma=0.5), common])
@pytest.mark.parametrize("kind", ["chain", "chain-sparse", "classes"])
def test_save_and_load(kind, kernel, tmp_path):
    X, y = chain_data(8)
    structure = Chain()
    if kind == "chain-sparse":
        if kernel is common:
            pytest.skip("dense rows only")
        X = [sp.csr_matrix(x) for x in X]
    if kind == "classes":
        # The kernel of common counts is none where columns are centred.
        structure = Classes(scale=None if kernel is common else "auto")
        X, y = np.random.default_rng(0).random((12, 3)), ["a", "b", "c"] * 4
    model = StructuredSVM(structure, 5.0, kernel=kernel).fit(X, y)
    tw.save(model, tmp_path / "model.tw")
    given = {"functions": {"kernel": common}} if kernel is common else {}
    again = tw.load(tmp_path / "model.tw", **given)
    assert again.predict(X) == model.predict(X)
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
    assert again.gap_ == model.gap_


def test_reading_a_kernel_model():
    X, y = chain_data(5)
    model = StructuredSVM(Chain(), kernel="rbf").fit(X, y)
    assert model.predict([]) == []
    for verb in (model.tables, model.weights_by_name):
        with pytest.raises(InputError, match="a kernel model has no weights by name"):
            verb()
    model.set_params(kernel=None).fit(X, y)
    assert model.tables()
    assert not hasattr(model, "dual_coef_")


def test_one_label_alone():
    model = StructuredSVM(Chain(), kernel="rbf").fit([np.ones((2, 3))], [["A", "A"]])
    assert model.predict([np.zeros((3, 3))]) == [["A", "A", "A"]]


@pytest.mark.parametrize("size", [1.0, 100.0])
@pytest.mark.parametrize("learner", [StructuredSVM, tw.Perceptron])
def test_a_gaussian_of_default_width_tells_opposite_corners_apart(learner, size):
    rng = np.random.default_rng(0)
    X, T = (size * (rng.choice([-1, 1], size=(n, 2)) + rng.normal(0, 0.3, size=(n, 2))) for n in (150, 200))
    y, truth = (["same" if a * b > 0 else "other" for a, b in rows] for rows in (X, T))
    model = learner(Classes(), kernel=RBF()).fit(X, y)
    assert model.kernel_.gamma > 1
    assert np.mean(np.asarray(model.predict(T)) == truth) > 0.9


def test_the_width_that_was_taken_is_kept_in_files_and_tuned_around(tmp_path):
    rng = np.random.default_rng(0)
    X = 5 * rng.normal(size=(40, 2))
    y = ["same" if a * b > 0 else "other" for a, b in X]
    for model in (
        StructuredSVM(Classes(), kernel=RBF()).fit(X, y),
        tw.Perceptron(Classes(), kernel="rbf").fit(X, y),
        tw.KernelRegression("rbf", tw.Values(), ridge=0.1).fit(X, X),
    ):
        tw.save(model, tmp_path / "model.tw")
        again = tw.load(tmp_path / "model.tw")
        assert again.kernel_.gamma == model.kernel_.gamma
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    learner = StructuredSVM(Classes(), kernel=RBF())
    tuned = tw.Tuned(learner, tune=["kernel__gamma"], n_values=3, cv=2).fit(X, y)
    low, middle, high = sorted(tuned.results_["kernel__gamma"])
    assert (low / middle, high / middle) == pytest.approx((0.01, 100.0), rel=1e-3)
