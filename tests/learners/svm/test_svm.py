"""Structural support vector machines: optima, certificates, input, persistence."""

from __future__ import annotations

import copy
import functools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import trelliswork as tw
from trelliswork import Chain, Classes, Derivations, Edge, InputError
from trelliswork._ragged import Ragged
from trelliswork.learners.svm.fit import fit_svm
from trelliswork.learners.svm.one_slack import _Cuts
from trelliswork.learners.svm.planes import Shard
from trelliswork.losses import Hamming, Tree, as_loss
from trelliswork.losses.forms import Form
from trelliswork.losses.oracle import Found

# Prices of the mean slack, as in the objective that the tests write out.
StructuredSVM = functools.partial(tw.StructuredSVM, C_mode="absolute")
FORMS = [(s, r) for s in ("l1", "l2") for r in (None, "margin", "slack")]
TREE = {"animal": {"cat": {}, "dog": {}}, "plant": {"oak": {}, "elm": {}}}


def segmentation(tokens):
    n = len(tokens)
    yield Edge(n)
    for i in reversed(range(n)):
        for j in range(i + 1, min(i + 2, n) + 1):
            for label in "NO":
                yield Edge(i, (j,), [("words", "".join(tokens[i:j]), label)], (i, j, label))


def chain_data(n=6, seed=0, longest=4):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(m, 2)) for m in rng.integers(1, longest + 1, n)]
    y = [rng.choice(["A", "B"], len(x)).tolist() for x in X]
    return X, y


def bare(kind):
    """Data whose columns are taken as they are, so that enumeration finds the same optimum."""
    structure, X, y = data(kind)
    return structure.set_params(scale=None) if "scale" in structure.get_params() else structure, X, y


def data(kind):
    if kind == "chain":
        return Chain(), *chain_data()
    if kind == "chain-order-2":
        return Chain(2), *chain_data()
    if kind == "chain-observed":
        X = [["a", "b", "a"], ["b"], ["c", "a"], ["a", "a", "c", "b"]]
        return (
            Chain(emissions="observed", transitions="observed"),
            X,
            [["X", "Y", "X"], ["Y"], ["X", "X"], ["Y", "X", "X", "Y"]],
        )
    if kind == "classes":
        rng = np.random.default_rng(3)
        return Classes(), rng.normal(size=(9, 2)), rng.choice(["cat", "dog", "oak"], 9)
    if kind == "classes-tree":
        rng = np.random.default_rng(4)
        return (
            Classes(TREE),
            sp.csr_matrix(rng.normal(size=(9, 2))),
            rng.choice(["cat", "dog", "oak"], 9),
        )
    if kind == "classes-shares":
        rng = np.random.default_rng(5)
        shares = {"animal": 0.3, "plant": 1.7}
        return (
            Classes(TREE, ancestor_weight=shares),
            rng.normal(size=(9, 2)),
            rng.choice(["cat", "dog", "oak"], 9),
        )
    X = [["a", "b", "a"], ["b"], ["c", "a"]]
    return (
        Derivations(segmentation),
        X,
        [[(0, 2, "N"), (2, 3, "O")], [(0, 1, "O")], [(0, 1, "N"), (1, 2, "N")]],
    )


KINDS = ["chain", "chain-order-2", "chain-observed", "classes", "classes-tree", "classes-shares", "segments"]


def reference(structure, X, y, form, loss, C):
    """Optimal value of the enumerated primal problem, by a general solver."""
    space = structure.bind(X, y)
    batch = space.pack(X, y)
    planes, heights, owner = [], [], []
    gold = batch.gold().toarray()
    for i in range(len(batch)):
        outputs = list(space.enumerate(X[i]))
        packed = space.pack([X[i]] * len(outputs), outputs)
        features = packed.gold().toarray()
        losses = loss.evaluate(batch.subset(np.full(len(outputs), i)), packed.gold_codes)
        h, s = form.plane(losses)
        for j, codes in enumerate(packed.gold_codes):
            if not np.array_equal(codes, batch.gold_codes[i]):
                planes.append(s[j] * (gold[i] - features[j]))
                heights.append(h[j])
                owner.append(i)
    A, h, owner = np.array(planes), np.array(heights), np.array(owner)
    n, d = len(batch), A.shape[1]
    rows = np.zeros((len(h), n))
    rows[np.arange(len(h)), owner] = 1.0
    power = 2 if form.slack == "l2" else 1

    def value(v):
        return 0.5 * v[:d] @ v[:d] + C / (power * n) * np.sum(v[d:] ** power)

    def slope(v):
        return np.concatenate([v[:d], C / n * v[d:] ** (power - 1)])

    M = np.hstack([A, rows])
    limits = [{"type": "ineq", "fun": lambda v: M @ v - h, "jac": lambda v: M}]
    start = np.concatenate([np.zeros(d), np.full(n, h.max())])
    bounds = [(None, None)] * d + [(0, None)] * n
    options = {"maxiter": 2000, "ftol": 1e-13}
    found = minimize(value, start, jac=slope, bounds=bounds, constraints=limits, options=options)
    return found.fun


def solvers(slack):
    return ("bcfw", "working-set", "one-slack") if slack == "l1" else ("bcfw", "working-set")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("slack", "rescale"), FORMS)
def test_every_solver_reaches_the_optimum(kind, slack, rescale):
    structure, X, y = bare(kind)
    wanted = reference(structure, X, y, Form(slack, rescale), Hamming(), 2.0)
    for solver in solvers(slack):
        model = StructuredSVM(structure, 2.0, slack=slack, rescale=rescale, solver=solver, tol=1e-6)
        model.fit(X, y)
        assert model.gap_ <= 1e-6
        assert model.primal_ == pytest.approx(wanted, rel=1e-5), solver
        assert model.dual_ <= wanted * (1 + 1e-6)
        assert model.history_[-1]["certified"]


@pytest.mark.parametrize("loss", ["zero-one", "tree", "f1", "edit"])
def test_losses(loss):
    for kind in ("classes-tree",) if loss == "tree" else ("classes-tree", "chain"):
        structure, X, y = bare(kind)
        wanted = reference(structure, X, y, Form("l1", "margin"), as_loss(loss), 3.0)
        for solver in ("bcfw", "working-set"):
            model = StructuredSVM(structure, 3.0, loss=loss, solver=solver, tol=1e-6).fit(X, y)
            assert model.primal_ == pytest.approx(wanted, rel=1e-5), solver


@pytest.mark.parametrize(("slack", "rescale"), FORMS)
def test_dual_variables(slack, rescale):
    """Weights are the sum of the support set, and the dual constraints of the paper hold."""
    for kind in ("chain", "classes"):
        structure, X, y = data(kind)
        for solver in solvers(slack):
            model = StructuredSVM(structure, 2.0, slack=slack, rescale=rescale, solver=solver, tol=1e-7)
            model.fit(X, y)
            batch = model.space_.pack(X, y)
            n = len(batch)
            example, outputs, alpha = zip(*model.support_, strict=True)
            guess = model.space_.pack([X[i] for i in example], list(outputs))
            w = np.array(alpha) @ (batch.gold()[list(example)] - guess.gold()).toarray()
            np.testing.assert_allclose(w, model.coef_, atol=2e-3)
            if slack == "l1":
                losses = Hamming().evaluate(batch.subset(np.array(example)), guess.gold_codes)
                mass = np.array(alpha) / (losses if rescale == "slack" else 1.0)
                assert np.bincount(example, mass, minlength=n).max() <= 2.0 / n * (1 + 1e-9)


def test_gap_is_primal_minus_dual():
    structure, X, y = data("chain")
    for solver in ("bcfw", "working-set", "one-slack"):
        model = StructuredSVM(structure, 5.0, solver=solver, tol=1e-4).fit(X, y)
        batch = model.space_.pack(X, y)
        costs, _ = batch.mismatch()
        scores = batch.scores(model.coef_)
        slack = batch.argmax(scores, costs).values - batch.evaluate(batch.gold_codes, scores)
        primal = 0.5 * model.coef_ @ model.coef_ + 5.0 * np.maximum(slack, 0).mean()
        assert model.primal_ == pytest.approx(primal)
        assert model.gap_ == pytest.approx((primal - model.dual_) / primal)
        duals = [record["dual"] for record in model.history_]
        assert np.all(np.diff(duals) >= -1e-9)


def test_several_shards_and_little_memory():
    X, y = chain_data(40, seed=1, longest=5)
    batch = Chain().bind(X, y).pack(X, y)
    for form in (Form("l1", "margin"), Form("l1", None)):
        wanted, _ = fit_svm(batch, 40.0, Hamming(), form, tol=1e-5, solver="working-set")
        options = {"tol": 1e-3, "samples_per_shard": 7}
        for cache_mb in (1000.0, 0.02):
            for solver in ("auto", "working-set"):
                few, _ = fit_svm(batch, 40.0, Hamming(), form, cache_mb=cache_mb, solver=solver, **options)
                assert few.primal == pytest.approx(wanted.primal, rel=2e-3)


def test_constraints_and_outputs_stay_within_their_memory(monkeypatch):
    seen = []
    add = Shard.add

    def watched(self, found, weights):
        new = add(self, found, weights)
        seen.append(self.nbytes / 2**20)
        return new

    monkeypatch.setattr(Shard, "add", watched)
    rng = np.random.default_rng(2)
    X = [np.hstack([rng.normal(size=(m, 2)), np.ones((m, 20))]) for m in rng.integers(1, 15, 10)]
    y = [rng.choice(["A", "B", "C"], len(x)).tolist() for x in X]
    params = {"C": 30.0, "tol": 1e-2, "slack": "l2", "rescale": None}
    wanted = StructuredSVM(Chain(), **params).fit(X, y)
    assert max(seen) > 0.35
    seen.clear()
    model = StructuredSVM(Chain(), cache_mb=0.2, max_iter=1000, **params).fit(X, y)
    assert max(seen) <= 0.22
    assert model.primal_ == pytest.approx(wanted.primal_, rel=2e-2)


def test_cuts_stay_within_their_memory():
    X, y = chain_data(30, seed=3, longest=6)
    wanted = StructuredSVM(Chain(), 30.0, tol=1e-3).fit(X, y)
    model = StructuredSVM(Chain(), 30.0, tol=1e-3, solver="one-slack", cache_mb=0.01).fit(X, y)
    assert model.primal_ == pytest.approx(wanted.primal_, rel=2e-3)
    cuts = _Cuts(5, 1e-3)
    rng = np.random.default_rng(0)
    found = Found(Ragged(np.zeros(9, dtype=np.int64), [0, 9]), np.ones(1), np.ones(1))
    for _ in range(40):
        cuts.add(rng.normal(size=5), 1.0, found)
        cuts.solve(10.0, 1e-6)
        assert cuts.beta.size == len(cuts.outputs) == cuts.rows.shape[0] <= 20
        assert cuts.mass == pytest.approx(cuts.beta.sum())


def test_what_is_not_proved_is_not_certified():
    X, y = chain_data(10, longest=5)
    for loss, rescale in (("hamming", "slack"), ("f1", "margin")):
        model = StructuredSVM(Chain(2), 3.0, loss=loss, rescale=rescale, approx=True, tol=0.01).fit(X, y)
        assert not any(record["certified"] for record in model.history_)
    for rescale in ("margin", "slack"):  # nothing to approximate
        model = StructuredSVM(Chain(), 3.0, rescale=rescale, approx=True, tol=0.01).fit(X, y)
        assert model.history_[-1]["certified"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("slack", "rescale"), [("l1", "margin"), ("l2", None), ("l1", "slack")])
@pytest.mark.parametrize("solver", ["bcfw", "working-set"])
def test_warm_start(kind, slack, rescale, solver):
    structure, X, y = bare(kind)
    params = {"slack": slack, "rescale": rescale, "solver": solver, "tol": 1e-5}
    cold = {C: StructuredSVM(structure, C, warm_start=True, **params).fit(X, y) for C in (0.5, 2.0, 20.0)}
    for first, C in ((2.0, 2.0), (2.0, 0.5), (0.5, 20.0)):
        wanted = cold[C]
        model = copy.deepcopy(cold[first]).set_params(C=C).fit(X, y)
        assert model.primal_ == pytest.approx(wanted.primal_, rel=3e-5)
        assert model.dual_ <= wanted.primal_ * (1 + 1e-9)
        if first == C:
            assert model.history_[0]["dual"] >= wanted.dual_ - 1e-4 * abs(wanted.dual_)
            assert model.n_iter_ <= wanted.n_iter_


def test_warm_start_with_other_data():
    """Samples and labels may come and go; what fits is used."""
    X, y = chain_data(20, seed=4)
    for params in ({}, {"kernel": "rbf"}, {"slack": "l2", "rescale": None}, {"solver": "one-slack"}):
        model = StructuredSVM(Chain(), 5.0, warm_start=True, tol=1e-4, **params).fit(X[:12], y[:12])
        wanted = StructuredSVM(Chain(), 5.0, tol=1e-4, **params).fit(X, y)
        assert model.fit(X, y).primal_ == pytest.approx(wanted.primal_, rel=3e-4)
        model.fit(X[:3], [["A"] * len(row) for row in y[:3]])  # a label is gone
        assert model.predict(X[:1]) == [["A"] * len(X[0])]


def test_averaged_iterates():
    X, y = chain_data(20)
    model = StructuredSVM(Chain(), 5.0, average=True, tol=1e-2).fit(X, y)
    exact = StructuredSVM(Chain(), 5.0, tol=1e-5).fit(X, y)
    assert model.primal_ == pytest.approx(exact.primal_, rel=1.1e-2)


def test_crammer_and_singer():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 4, 60)
    C = 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=100_000)
        theirs.fit(X, y)
    scores = X @ theirs.coef_.T + 1.0
    scores[np.arange(60), y] -= 1.0
    slack = scores.max(axis=1) - scores[np.arange(60), y]
    objective = 0.5 * np.sum(theirs.coef_**2) + C * slack.sum()
    for loss in ("hamming", "zero-one"):
        for rescale in ("margin", None):
            ours = StructuredSVM(Classes(bias=False), C * 60, loss=loss, rescale=rescale, tol=1e-7).fit(X, y)
            assert ours.primal_ == pytest.approx(objective, rel=1e-5)
            np.testing.assert_allclose(ours.coef_.reshape(5, 4).T, theirs.coef_, atol=1e-3)


def test_hard_margin():
    X = [[np.array([1.0, 0.0]), np.array([0.0, 1.0])], [np.array([0.5, 0.0])]]
    X = [np.array(x) for x in X]
    y = [["A", "B"], ["A"]]
    for solver in ("bcfw", "working-set"):
        model = StructuredSVM(Chain(), slack="none", rescale=None, solver=solver, tol=1e-6).fit(X, y)
        soft = StructuredSVM(Chain(), 1e6, rescale=None, tol=1e-6).fit(X, y)
        assert model.primal_ == pytest.approx(soft.primal_, rel=1e-4)
        assert model.predict(X) == y
    for rescale in ("margin", "slack"):
        with pytest.raises(InputError, match="needs rescale=None"):
            StructuredSVM(Chain(), slack="none", rescale=rescale).fit(X, y)


@pytest.mark.parametrize("solver", ["bcfw", "working-set"])
def test_what_a_hard_margin_cannot_separate(solver):
    model = StructuredSVM(Chain(), slack="none", rescale=None, solver=solver)
    with pytest.raises(InputError, match=r"cannot be separated.*use slack='l1'"):
        model.fit([["a"], ["a"]], [["X"], ["Y"]])  # the same input with two outputs
    X, y = chain_data(12)
    with pytest.raises(InputError, match=r"cannot be separated.*use slack='l1'"):
        model.fit(X, y)
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"cannot be separated.*use slack='l1'"):
        clone(model).set_params(structure=Classes()).fit(rng.normal(size=(30, 2)), rng.integers(0, 3, 30))


@pytest.mark.parametrize("kind", ["chain", "classes", "segments"])
@pytest.mark.parametrize("solver", ["bcfw", "working-set"])
def test_weights_are_repetitions(kind, solver):
    structure, X, y = data(kind)
    n = len(y)
    weights = np.array([2, 0, *([1] * (n - 2))])
    repeat = np.repeat(np.arange(n), weights)
    many_X = X[repeat] if hasattr(X, "shape") else [X[i] for i in repeat]
    model = StructuredSVM(structure, 2.0, tol=1e-7, solver=solver)
    one = clone(model).fit(X, y, sample_weight=weights).primal_
    assert one == pytest.approx(clone(model).fit(many_X, [y[i] for i in repeat]).primal_, rel=1e-6)


def test_class_weight():
    structure, X, y = data("classes")
    heavy = StructuredSVM(structure, 1.0, class_weight={"cat": 50.0}).fit(X, y)
    found = [guess for guess, truth in zip(heavy.predict(X), y, strict=True) if truth == "cat"]
    assert set(found) == {"cat"}


def test_same_seed_same_bits():
    X, y = chain_data(30)
    for params in ({}, {"rescale": "slack"}, {"solver": "one-slack"}, {"kernel": "rbf"}):
        models = [StructuredSVM(Chain(), 5.0, n_jobs=jobs, **params).fit(X, y) for jobs in (1, 2)]
        bits = [m.dual_coef_ if "kernel" in params else m.coef_ for m in models]
        assert bits[0].tobytes() == bits[1].tobytes()


def test_does_not_converge():
    X, y = chain_data(20)
    with pytest.warns(tw.FitWarning, match="above tol=1e-09; raise max_iter"):  # by far
        model = StructuredSVM(Chain(), 100.0, tol=1e-9, max_iter=2).fit(X, y)
    assert model.stop_ == "max_iter"
    assert StructuredSVM(Chain(), 1.0).fit(X, y).stop_ == "converged"


@pytest.mark.parametrize("solver", ["bcfw", "working-set", "one-slack"])
@pytest.mark.parametrize("rescale", ["margin", "slack"])
def test_interrupt_keeps_the_weights(solver, rescale, monkeypatch):
    from trelliswork.learners.optimize.progress import Progress

    calls = []

    def step(self, **values):
        calls.append(values)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "step", step)
    X, y = chain_data(20)
    with pytest.warns(tw.FitInterrupted, match="StructuredSVM after 3 rounds"):
        model = StructuredSVM(Chain(), 100.0, tol=1e-9, solver=solver, rescale=rescale).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.primal_)
    assert model.stop_ == "interrupted"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "C must be a finite number > 0"),
        ({"tol": -1.0}, "tol must be"),
        ({"cache_mb": np.inf}, "cache_mb must be"),
        ({"max_iter": 0}, "max_iter must be a whole number >= 1"),
        ({"slack": "L1"}, "slack must be"),
        ({"rescale": "both"}, "rescale must be"),
        ({"solver": "smo"}, "solver must be one of"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"kernel": "cubic"}, "kernel must be one of"),
        ({"solver": "one-slack", "slack": "l2"}, "needs slack='l1' and no kernel"),
        ({"solver": "one-slack", "kernel": "rbf"}, "needs slack='l1' and no kernel"),
        ({"average": True, "solver": "working-set"}, "average=True needs"),
        ({"structure": "chain"}, "structure must be a Structure"),
    ],
)
def test_bad_parameters(params, message):
    X, y = chain_data(3)
    with pytest.raises(InputError, match=message):
        StructuredSVM(**({"structure": Chain()} | params)).fit(X, y)


@pytest.mark.parametrize("solver", ["bcfw", "one-slack"])
@pytest.mark.parametrize("kind", ["chain-observed", "classes"])
def test_a_prior_is_what_weights_are_pulled_towards(kind, solver):
    structure, X, y = data(kind)
    X = np.abs(X) if kind == "classes" else X
    model = StructuredSVM(structure, 3.0, prior="generative", prior_margin=0.5, solver=solver, tol=1e-6)
    model.fit(X, y)
    np.testing.assert_allclose(model.prior_coef_, tw.Generative(structure).fit(X, y).coef_)
    space = model.space_
    problems = []
    for x, gold in zip(X, y, strict=True):
        outputs = list(space.enumerate(x))
        phi = space.pack([x] * len(outputs), outputs).gold().toarray()
        loss = Hamming().between(space, [x] * len(outputs), [gold] * len(outputs), outputs)
        problems.append((phi, 0.5 * loss, outputs.index(gold)))

    def objective(w):
        slack = [max(height - (phi[true] - phi) @ w) for phi, height, true in problems]
        away = w - model.prior_coef_
        return away @ away / 2 + 3.0 * np.mean(slack)

    assert model.primal_ == pytest.approx(objective(model.coef_))
    assert model.gap_ <= 1e-5
    assert model.primal_ < objective(model.prior_coef_)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert objective(model.coef_ + 0.01 * rng.normal(size=model.coef_.size)) > model.primal_


def test_when_there_is_a_prior():
    X, y = ["GGGAAACCC", "GCGCAAAGCGC"], ["(((...)))", "((((...))))"]
    found = tw.StructuredSVM(tw.RNA("g6")).fit(X, y)
    np.testing.assert_array_equal(found.prior_coef_, tw.Generative(tw.RNA("g6")).fit(X, y).coef_)
    assert found.predict(X) == y
    for params in ({"prior": None}, {"slack": "l2", "approx": True}, {"loss": "f1"}):
        assert tw.StructuredSVM(tw.RNA("g6"), max_iter=50, **params).fit(X, y).prior_coef_ is None
    assert tw.StructuredSVM(Chain()).fit(*chain_data()).prior_coef_ is None
    for params, message in (
        ({"slack": "l2"}, "needs slack='l1'"),
        ({"kernel": "rbf"}, "no kernel"),
        ({"loss": "f1"}, "not a sum over parts"),
    ):
        with pytest.raises(InputError, match=message):
            StructuredSVM(tw.RNA("g6"), prior="generative", **params).fit(X, y)
    with pytest.raises(InputError, match="prior must be"):
        StructuredSVM(tw.RNA("g6"), prior="flat").fit(X, y)


def test_grid_search():
    X, y = chain_data(12)
    search = GridSearchCV(
        StructuredSVM(Chain()), {"C": [0.1, 10.0], "loss": ["hamming", Hamming(True)]}, cv=2
    )
    assert search.fit(X, y).best_score_ > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", [None, "poly"])
def test_save_and_load(kind, kernel, tmp_path):
    structure, X, y = data(kind)
    if kernel is not None and kind == "segments":
        pytest.skip("no rows")
    model = StructuredSVM(structure, loss=Hamming(normalized=True), kernel=kernel).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert list(again.predict(X)) == list(model.predict(X))
    tw.save(model, tmp_path / "model.tw")
    given = {"structure": structure} if kind == "segments" else {}
    again = tw.load(tmp_path / "model.tw", **given)
    assert list(again.predict(X)) == list(model.predict(X))
    assert repr(again) == repr(model)
    assert again.support_ == model.support_
    assert again.stop_ == "converged"


def test_taxonomy_and_tree_loss_lower_the_tree_loss():
    rng = np.random.default_rng(0)
    labels = np.array(["cat", "dog", "oak", "elm"])
    centre = np.array([[3.0, 0.4], [3.0, -0.4], [-3.0, 0.4], [-3.0, -0.4]])

    def draw(n):
        k = rng.integers(0, 4, n)
        return centre[k] + rng.normal(size=(n, 2)), labels[k]

    X, y = draw(12)
    X_test, y_test = draw(2000)
    loss = Tree(TREE)
    mean = {}
    for name, structure, kind in (
        ("flat", Classes(), "zero-one"),
        ("tree", Classes(TREE), "tree"),
    ):
        guess = StructuredSVM(structure, 10.0, loss=kind).fit(X, y).predict(X_test)
        mean[name] = np.mean([loss(a, b) for a, b in zip(y_test.tolist(), guess, strict=True)])
    assert mean["tree"] <= mean["flat"]
