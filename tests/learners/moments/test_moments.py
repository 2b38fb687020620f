"""ZScore and SODA: closed solutions, variants, and moments as sums."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import trelliswork as tw
from trelliswork import metrics
from trelliswork.learners.moments.constraints import WorkingSet
from trelliswork.learners.moments.sums import BatchMoments, SampledMoments
from trelliswork.learners.optimize.ridge import Matrix, Ridge, conjugate_gradients
from trelliswork.structures.chain.uniform import UniformChain
from trelliswork.testing import check_learner


def zscore(structure, reg=1e-6, *, reference="uniform", loss=None, **params):
    """As in the paper: the uniform law, no loss, and hardly any ridge."""
    return tw.ZScore(structure, reg, reference=reference, loss=loss, **params)


def soda(structure, reg=1e-6, *, reference="uniform", loss=None, **params):
    return tw.SODA(structure, reg, reference=reference, loss=loss, **params)


BOTH = pytest.mark.parametrize("learner", [pytest.param(zscore, id="ZScore"), pytest.param(soda, id="SODA")])


def tagged(rng, n=8, labels="XYZ", noise=0.2):
    """Words that mostly give their label away."""
    X, y = [], []
    for _ in range(n):
        tags = [labels[rng.integers(len(labels))] for _ in range(rng.integers(1, 6))]
        seen = [t if rng.random() >= noise else labels[rng.integers(len(labels))] for t in tags]
        X.append([f"{t}{rng.integers(2)}" for t in seen])
        y.append(tags)
    return X, y


def segments(tokens):
    """Segmentations into pieces of at most three tokens, labelled N or O."""
    n = len(tokens)
    yield tw.Edge(n)
    for i in reversed(range(n)):
        for j in range(i + 1, min(i + 3, n) + 1):
            for label in "NO":
                features = {("words", "".join(tokens[i:j]), label): 1.0, ("length", label): float(j - i)}
                yield tw.Edge(i, (j,), features, (i, j, label))


WORDS = [["a", "b", "a"], ["b"], ["c", "a"], ["a", "a", "c", "b"]]
CUTS = [[(0, 2, "N"), (2, 3, "O")], [(0, 1, "O")], [(0, 1, "N"), (1, 2, "N")], [(0, 1, "O"), (1, 4, "N")]]
BEASTS = {"animal": {"cat": {}, "dog": {}}, "tree": {"oak": {}, "elm": {}}}


def rows(rng, n=10, words=False):
    """Rows that mostly give their class away."""
    names = ["cat", "dog", "oak", "elm"]
    codes = np.arange(n) % 4
    if words:
        X = [[names[c], "fur" if c < 2 else "leaf", f"x{rng.integers(3)}"] for c in codes]
    else:
        X = list(np.eye(4)[codes] + 0.5 * rng.normal(size=(n, 4)))
    return X, [names[c] for c in codes]


FIXED = tw.Chain(labels=["X", "Y", "Z"])
STRUCTURES = {
    "chain": (tw.Chain(), *tagged(np.random.default_rng(0))),
    "labels given": (FIXED, *tagged(np.random.default_rng(0))),
    "observed pairs": (tw.Chain(emissions="observed"), *tagged(np.random.default_rng(1))),
    "observed transitions": (tw.Chain(transitions="observed"), *tagged(np.random.default_rng(2))),
    "order 2": (tw.Chain(2), *tagged(np.random.default_rng(3))),
    "edges": (tw.Chain(edge_features="all"), *tagged(np.random.default_rng(4))),
    "derivations": (tw.Derivations(segments), WORDS, CUTS),
    # Of columns as they come, which the enumeration below has; their scale is tested in test_scaling.py.
    "classes": (tw.Classes(scale=None), *rows(np.random.default_rng(5))),
    "classes given": (
        tw.Classes(labels=["elm", "cat", "dog", "oak"], scale=None),
        *rows(np.random.default_rng(6)),
    ),
    "taxonomy": (tw.Classes(BEASTS), *rows(np.random.default_rng(7), words=True)),
    "taxonomy shared": (tw.Classes(BEASTS, ancestor_weight=0.4, scale=None), *rows(np.random.default_rng(8))),
}
EVERY = pytest.mark.parametrize("name", STRUCTURES)


def by_name(model, values=None):
    values = model.coef_ if values is None else values
    return dict(zip(model.space_.feature_names, values.tolist(), strict=True))


def assert_same_weights(a, b, tol=1e-8):
    one, two = by_name(a), by_name(b)
    assert one.keys() == two.keys()
    size = max(map(abs, one.values()))
    assert max(abs(one[name] - two[name]) for name in one) <= tol * max(size, 1.0)


def enumerated(structure, X, y, weights=None):
    """Covariance, deviations, total weight from all outputs."""
    space = structure.bind(X, y)
    d = space.n_features
    C, b = np.zeros((d, d)), []
    weights = np.ones(len(X)) if weights is None else weights
    for x, gold, w in zip(X, y, weights):
        outputs = list(space.enumerate(x))
        phi = space.pack([x] * len(outputs), outputs).gold().toarray()
        mean = phi.mean(axis=0)
        C += w * (phi - mean).T @ (phi - mean) / len(outputs)
        b.append(phi[outputs.index(gold)] - mean)
    return space, C, np.array(b), weights


# -- the two linear systems --------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_solve_the_enumerated_systems(name, weighted):
    structure, X, y = STRUCTURES[name]
    weights = np.random.default_rng(0).random(len(X)) + 0.5 if weighted else None
    _, C, b, w = enumerated(structure, X, y, weights)
    rhs = w @ b
    lam = 1e-3 * np.trace(C) / len(C)
    z = zscore(structure, 1e-3, tol=1e-12).fit(X, y, weights)
    np.testing.assert_allclose(z.lam_, lam)
    np.testing.assert_allclose(z.coef_, np.linalg.solve(C + lam * np.eye(len(C)), rhs), atol=1e-7)
    np.testing.assert_allclose(z.z_score_, z.coef_ @ rhs / np.sqrt(z.coef_ @ C @ z.coef_))
    full = C + (b.T * w) @ b
    s = soda(structure, 1e-3, tol=1e-12).fit(X, y, weights)
    np.testing.assert_allclose(s.coef_, np.linalg.solve(full + lam * np.eye(len(C)), rhs), atol=1e-7)
    value = s.coef_ @ C @ s.coef_ + w @ (b @ s.coef_ - 1) ** 2
    np.testing.assert_allclose(s.objective_, value, rtol=1e-6)


@EVERY
def test_one_sample_makes_both_proportional(name):
    structure, X, y = STRUCTURES[name]
    z, s = (cls(structure, 0.1, reg_mode="absolute", tol=1e-13).fit(X[-1:], y[-1:]) for cls in (zscore, soda))
    _, _, b, _ = enumerated(structure, X[-1:], y[-1:])
    np.testing.assert_allclose(s.coef_, z.coef_ / (1 + b[0] @ z.coef_), atol=1e-9)
    assert s.predict(X[-1:]) == z.predict(X[-1:])


@EVERY
@BOTH
def test_costs_are_those_of_enumeration(name, learner):
    structure, X, y = STRUCTURES[name]
    space = structure.bind(X, y)
    weights = np.random.default_rng(0).random(len(X)) + 0.5
    batch = space.pack(X, y)
    constant = batch.mismatch()[1]
    got = BatchMoments(batch, None, weights, "hamming")
    mean = variance = 0.0
    covariance = deviation = np.zeros(space.n_features)
    for i, (x, gold, w) in enumerate(zip(X, y, weights)):
        outputs = list(space.enumerate(x))
        packed = space.pack([x] * len(outputs), outputs)
        phi = packed.gold().toarray()
        many = batch.subset(np.full(len(outputs), i)).mismatch()[0]
        zeros = packed.scores(np.zeros(space.n_features))
        loss = packed.evaluate(packed.gold_codes, zeros + many) + constant[i]
        mean, variance = mean + w * loss.mean(), variance + w * loss.var()
        covariance = covariance + w * (phi - phi.mean(axis=0)).T @ (loss - loss.mean()) / len(outputs)
        deviation = deviation + w * loss.mean() * (phi[outputs.index(gold)] - phi.mean(axis=0))
    np.testing.assert_allclose(got.cost_mean, mean)
    np.testing.assert_allclose(got.cost_variance, variance, atol=1e-9)
    np.testing.assert_allclose(got.cost_covariance, covariance, atol=1e-9)
    np.testing.assert_allclose(got.cost_deviation, deviation, atol=1e-9)


@EVERY
def test_costs_a_part_at_a_time(name):
    structure, X, y = STRUCTURES[name]
    batch = structure.bind(X, y).pack(X, y)
    weights = np.random.default_rng(0).random(len(X)) + 0.5
    whole = BatchMoments(batch, None, weights, "hamming")
    parts = BatchMoments(batch, None, weights, "hamming", samples_at_a_time=3)
    for what in ("cost_mean", "cost_covariance", "cost_deviation"):
        np.testing.assert_allclose(getattr(parts, what), getattr(whole, what), atol=1e-10)


@BOTH
@pytest.mark.parametrize("taxonomy", [None, [("r", "a"), ("r", "s"), ("s", "b"), ("s", "c")]])
def test_solvers_of_classes_agree(learner, taxonomy):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(40, 5)), rng.choice(list("abc"), 40, p=[0.6, 0.3, 0.1])
    weights = rng.random(40) + 0.5
    weights[3] = 0.0
    structure = tw.Classes(taxonomy, ancestor_weight=0.7) if taxonomy else tw.Classes()
    found = {
        s: learner(structure, 1e-2, reference="uniform", solver=s, tol=1e-12).fit(X, y, sample_weight=weights)
        for s in ("direct", "cholesky", "cg")
    }
    assert [m.history_[-1]["solver"] for m in found.values()] == ["direct", "cholesky", "cg"]
    for a, b in itertools.combinations(found.values(), 2):
        assert_same_weights(a, b, 1e-7)


@BOTH
def test_solvers_agree(learner):
    X, y = tagged(np.random.default_rng(5), n=20)
    found = {
        s: learner(tw.Chain(), 1e-3, solver=s, tol=1e-12).fit(X, y) for s in ("direct", "cholesky", "cg")
    }
    assert [m.history_[-1]["solver"] for m in found.values()] == ["direct", "cholesky", "cg"]
    for a, b in itertools.combinations(found.values(), 2):
        assert_same_weights(a, b, 1e-7)
    assert found["cg"].history_[-1]["cg_iterations"] > 0
    assert learner(tw.Chain()).fit(X, y).history_[-1]["solver"] == "direct"
    overlapping = [[[w, w[0]] for w in x] for x in X]
    assert learner(tw.Chain()).fit(overlapping, y).history_[-1]["solver"] == "cholesky"
    with pytest.raises(tw.InputError, match="one symbol per token"):
        learner(tw.Chain(), solver="direct").fit(overlapping, y)


@BOTH
def test_a_matrix_that_does_not_fit_is_refused(learner):
    chain = tw.Chain().with_limits(matrix_bytes=1000)
    X, y = tagged(np.random.default_rng(5))
    with pytest.raises(tw.InputError, match="GiB"):
        learner(chain, solver="cholesky").fit(X, y)
    assert learner(chain, solver="cg").fit(X, y).score(X, y) > 0.5


@BOTH
@pytest.mark.parametrize("reference", ["uniform", "observed", "generative"])
@pytest.mark.parametrize("solver", ["auto", "cholesky", "cg"])
@pytest.mark.parametrize(
    "data",
    [
        ([["a"]], [["X"]]),
        ([["a"]], [["X"]] * 1),
        ([["a", "b"]], [["X", "X"]]),
        ([["a", "b"]], [["X", "Y"]]),
        ([["a"], ["b"]], [["X"], ["Y"]]),
        ([["a"], []], [["X"], []]),
        ([["a", "b", "a"]] * 2, [["X", "Y", "X"], ["Y", "X", "Y"]]),
    ],
)
def test_tiny_and_degenerate_data(learner, reference, solver, data):
    X, y = data
    for reg in (0.0, 1e-6):
        model = learner(tw.Chain(), reg, reference=reference, solver=solver).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.z_score_)
        assert [len(p) for p in model.predict([*X, ["new", "a", "b"]])] == [*map(len, X), 3]


@BOTH
@pytest.mark.parametrize(
    "params", [{}, {"loss": "hamming"}, {"constraints": "slack"}, {"constraints": "hard"}]
)
@pytest.mark.parametrize("n_labels", [3, 7])
def test_outputs_that_cancel_leave_no_weights(learner, params, n_labels):
    labels = [f"L{i}" for i in range(n_labels)]
    for structure in (tw.Chain(), tw.Chain(labels=labels)):
        for reg in (0.0, 1e-6):
            model = learner(structure, reg, **params).fit([["x"]] * n_labels, [[label] for label in labels])
            assert np.abs(model.coef_).max() < 1e-6


@BOTH
@pytest.mark.parametrize("solver", ["auto", "cg"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_features_that_overflow_are_refused(learner, solver):
    X, y = [[{"a": 1e170}, {"b": 1e170}]], [["X", "Y"]]
    with pytest.raises(tw.InputError, match="too large"):
        learner(tw.Chain(), solver=solver).fit(X, y)


def test_without_ridge_the_systems_are_still_solved():
    X, y = tagged(np.random.default_rng(6), n=12)
    _, C, b, w = enumerated(tw.Chain(), X, y)
    rhs = w @ b
    for solver, name in (("auto", "direct"), ("cholesky", "eigenvalues"), ("cg", "cg")):
        model = zscore(tw.Chain(), 0.0, solver=solver, tol=1e-10).fit(X, y)
        assert model.history_[-1]["solver"] in (name, "cg", "cholesky")
        np.testing.assert_allclose(C @ model.coef_, rhs, atol=1e-6)
        assert np.abs(model.coef_).max() < 1e3


def test_conjugate_gradients_stop_at_null_directions():
    matrix = np.diag([2.0, 1.0, 0.0])

    def plain(r, out):
        out[:] = r

    solved = conjugate_gradients(
        lambda v: matrix @ v, np.array([2.0, 3.0, 0.0]), plain, tol=1e-12, max_iter=10
    )
    np.testing.assert_allclose(solved.x, [1.0, 3.0, 0.0])
    assert solved.residual < 1e-12
    assert solved.stop == "converged"
    solved = conjugate_gradients(lambda v: 0 * v, np.ones(2), plain, tol=1e-3, max_iter=5)
    assert not solved.x.any()
    assert (solved.n_iter, solved.stop) == (0, "no progress")
    solved = conjugate_gradients(lambda v: matrix @ v, np.ones(3), plain, tol=1e-12, max_iter=1)
    assert (solved.n_iter, solved.stop) == (1, "max_iter")


@pytest.mark.parametrize("reference", ["uniform", "observed"])
@pytest.mark.parametrize("kind", [zscore, soda])
def test_preconditioned_solutions_are_solutions(reference, kind):
    chain = tw.Chain().with_limits(tokens_per_frequent=7)  # some attributes in the block, some outside
    rng = np.random.default_rng(1)
    y = [[f"L{i}" for i in rng.integers(3, size=n)] for n in (4, 7, 1, 5, 6)]
    X = [[{f"w{rng.integers(6)}": 1.0, "bias": 1.0} for _ in row] for row in y]
    settings = {"reference": reference, "reg_mode": "absolute", "symbols": None}
    exact = kind(chain, 0.5, solver="cholesky", **settings).fit(X, y)
    found = kind(chain, 0.5, solver="cg", tol=1e-12, **settings).fit(X, y)
    np.testing.assert_allclose(found.coef_, exact.coef_, atol=1e-9)


@pytest.mark.parametrize(
    ("scale", "reg"), [(1.0, 1e-30), (1.0, 1e-300), (1e25, 1e-6), (1e-25, 1e-6), (1.0, 1e30)]
)
@pytest.mark.parametrize("kind", [zscore, soda])
def test_preconditioner_of_any_size(kind, scale, reg):
    chain = tw.Chain(start=False, end=False).with_limits(tokens_per_frequent=7)
    rng = np.random.default_rng(1)
    y = [[f"L{i}" for i in rng.integers(3, size=n)] for n in (4, 7, 1, 5, 6)]
    X = [[{f"w{rng.integers(6)}": scale, "bias": scale} for _ in row] for row in y]
    model = kind(chain, reg, solver="cg", tol=1e-6).fit(X, y)
    assert model.history_[-1]["residual"] < 1e-6
    assert np.isfinite(model.coef_).all()


# -- reference laws --------------------------------------------------------------------------------


def test_observed_reference_keeps_to_what_was_seen():
    X, y = [["a", "b", "a"], ["b", "a"]], [["X", "Y", "X"], ["Y", "X"]]
    model = zscore(tw.Chain(), reference="observed").fit(X, y)
    assert model.predict([["b", "a", "b"]]) == [["Y", "X", "Y"]]
    assert model.log_prob([["a", "b"]], [["X", "X"]]) == -np.inf
    rng = np.random.default_rng(0)
    X, y = tagged(rng, n=15)
    model = soda(tw.Chain(), 1e-3, reference="observed", tol=1e-12).fit(X, y)
    limited = model.space_
    _, C, b, w = enumerated_in(limited, X, y)
    lam = 1e-3 * np.trace(C) / len(C)
    wanted = np.linalg.solve(C + (b.T * w) @ b + lam * np.eye(len(C)), w @ b)
    np.testing.assert_allclose(model.coef_, wanted, atol=1e-7)


def enumerated_in(space, X, y):
    class Bound:
        def bind(self, X, y):
            return space

    return enumerated(Bound(), X, y)


def test_observed_needs_a_chain():
    with pytest.raises(tw.Unsupported, match="Derivations does not tell"):
        zscore(tw.Derivations(segments), reference="observed").fit(WORDS, CUTS)


def gradient(model, X, y, scores_of):
    batch = model.space_.pack(X, y)
    parts = scores_of(batch)
    return batch.gold_sum() - batch.pull(batch.marginals(parts)) - model.lam_ * model.coef_


@EVERY
@BOTH
def test_many_steps_reach_the_crf(name, learner):
    structure, X, y = STRUCTURES[name]
    steps = learner(structure, 0.5, reg_mode="absolute", n_steps=60, tol=1e-10).fit(X, y)
    crf = tw.CRF(structure, l2=0.25, tol=1e-9, max_iter=2000).fit(X, y)
    assert_same_weights(steps, crf, 1e-5)
    values = [h["objective"] for h in steps.history_]
    assert values == sorted(values, reverse=True)


def test_many_steps_from_a_generative_reference():
    X, y = tagged(np.random.default_rng(8), n=12)
    model = zscore(tw.Chain(), 1.0, reg_mode="absolute", reference="generative", n_steps=50).fit(X, y)
    left = gradient(model, X, y, lambda batch: model.part_scores(batch, X))
    assert np.abs(left).max() < 1e-6


def test_generative_reference_averages_attributes():
    X, y = tagged(np.random.default_rng(9), n=12)
    double = [[[w, f"again {w}"] for w in x] for x in X]
    one, two = (tw.Chain().bind(x, y).pack(x, y) for x in (X, double))
    w = one.reference_weights(0.1)
    scores = two.reference_scores(two.reference_weights(0.1))
    space = two.space
    table = space.emission_layout.table(space.split(two.reference_weights(0.1))[0])
    at = [space.columns[a] for a in double[0][0]]
    start = table[len(space.attributes)] + (table[len(space.attributes) + 1] if len(X[0]) == 1 else 0.0)
    np.testing.assert_allclose(scores.unary[0], table[at].mean(axis=0) + start)
    np.testing.assert_allclose(one.reference_scores(w).unary, one.scores(w).unary)
    # A symbol that was never seen says nothing about its label.
    unknown = one.space.pack([["new", "new"]]).reference_scores(w).unary
    plain = one.space.emission_layout.table(one.space.split(w)[0])
    np.testing.assert_allclose(unknown[0], plain[-3])


def test_margins_of_the_whole_model_are_those_nearest_to_the_loss():
    X, y = tagged(np.random.default_rng(12), 4, labels="XY")
    model = tw.SODA(tw.Chain(), 0.5, reg_mode="absolute", tol=1e-12, total_margin=4.0).fit(X, y)
    assert (model.reference_, model.loss_, model.total_margin_) == ("generative", "hamming", 4.0)
    reference = tw.SODA(tw.Chain(), 1e12, reg_mode="absolute").fit(X, y)  # weights of 0
    H, right = 0.5 * np.eye(model.space_.n_features), 0.0
    for x, gold in zip(X, y, strict=True):
        outputs = [list(o) for o in itertools.product("XY", repeat=len(x))]
        phi = model.pack([x] * len(outputs), outputs).gold().toarray()
        score = reference.log_prob([x] * len(outputs), outputs)
        law = np.exp(score)
        true = outputs.index(gold)
        one = model.pack([x])
        unary = one.reference_scores(model.reference_coef_).unary  # transitions cost nothing: not counted
        tokens = [sum(row["XY".index(a)] for row, a in zip(unary, o, strict=True)) for o in outputs]
        behind, ahead = phi[true] - phi, tokens[true] - np.array(tokens)
        wrong = np.array([sum(a != b for a, b in zip(o, gold, strict=True)) for o in outputs])
        H = H + (behind.T * law) @ behind
        right = right + (behind.T * law) @ (4.0 * wrong - ahead)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(H, right), atol=1e-6)


@BOTH
def test_a_total_margin_needs_a_reference_and_a_loss(learner):
    X, y = tagged(np.random.default_rng(12), 4)
    for params in ({"loss": "hamming"}, {"reference": "generative"}):
        model, plain = (
            learner(tw.Chain(), 1e-3, total_margin=margin, **params).fit(X, y) for margin in (4.0, None)
        )
        assert model.total_margin_ is None
        np.testing.assert_array_equal(model.coef_, plain.coef_)
    with pytest.raises(tw.InputError, match="total_margin"):
        learner(tw.Chain(), total_margin=-1.0).fit(X, y)


def test_generative_reference_on_derivations():
    params = {"reg_mode": "absolute", "reference": "generative"}
    model = zscore(tw.Derivations(segments), 1.0, **params).fit(WORDS, CUTS)
    batch = model.space_.pack(WORDS, CUTS)
    w0 = model.reference_coef_
    moments = batch.moments(w0)
    b = batch.gold_sum() - moments.mean.sum(axis=0)
    wanted = np.linalg.solve(moments.covariance + np.eye(b.size), b)
    np.testing.assert_allclose(model.coef_, wanted, atol=1e-9)


# -- losses ----------------------------------------------------------------------------------------


def losses_of(space, X, y):
    for x, gold in zip(X, y):
        outputs = list(space.enumerate(x))
        phi = space.pack([x] * len(outputs), outputs).gold().toarray()
        yield phi, phi[outputs.index(gold)], np.array([sum(a != b for a, b in zip(o, gold)) for o in outputs])


@pytest.mark.parametrize("chain", [tw.Chain(), FIXED, tw.Chain(transitions="observed")])
def test_hamming_soda_minimises_its_squares(chain):
    X, y = tagged(np.random.default_rng(10), n=6)
    model = soda(chain, 1e-2, reg_mode="absolute", loss="hamming", tol=1e-12).fit(X, y)
    left = 2 * model.lam_ * model.coef_
    for phi, gold, loss in losses_of(model.space_, X, y):
        a = gold - phi
        left = left + 2 * ((a @ model.coef_ - loss) @ a) / len(phi)
    assert np.abs(left).max() < 1e-8


@pytest.mark.parametrize("chain", [tw.Chain(), FIXED])
def test_fixed_margin_z_is_the_best_of_its_plane(chain):
    X, y = tagged(np.random.default_rng(11), n=6)
    tau = 0.7
    model = zscore(chain, 1e-2, reg_mode="absolute", loss="hamming", tau=tau, tol=1e-12).fit(X, y)
    b, pull, margin = 0.0, model.lam_ * model.coef_, 0.0
    for phi, gold, loss in losses_of(model.space_, X, y):
        centred = phi - phi.mean(axis=0)
        pull = pull + centred.T @ (centred @ model.coef_ + loss - loss.mean()) / len(phi)
        b = b + gold - phi.mean(axis=0)
        margin += (gold - phi.mean(axis=0)) @ model.coef_ - loss.mean()
    np.testing.assert_allclose(margin, tau, atol=1e-8)
    along = (pull @ b) / (b @ b)
    np.testing.assert_allclose(pull, along * b, atol=1e-8)


def test_large_tau_is_the_plain_z_score():
    X, y = tagged(np.random.default_rng(12))
    plain = zscore(tw.Chain(), 1e-3).fit(X, y).coef_
    far = zscore(tw.Chain(), 1e-3, loss="hamming", tau=1e9).fit(X, y).coef_
    np.testing.assert_allclose(far / np.linalg.norm(far), plain / np.linalg.norm(plain), atol=1e-6)


def test_losses_may_be_dicts_or_objects():
    X, y = tagged(np.random.default_rng(13))

    class Double(tw.losses.Loss):
        def part_costs(self, batch):
            costs, constant = batch.mismatch()
            return costs * 2.0, constant

    one = soda(tw.Chain(), loss=dict.fromkeys("XYZ", 2.0)).fit(X, y)
    assert_same_weights(one, soda(tw.Chain(), loss=Double()).fit(X, y))
    np.testing.assert_allclose(one.coef_, 2 * soda(tw.Chain(), loss="hamming").fit(X, y).coef_, atol=1e-9)
    for bad, message in (("edit", "not a sum over the parts of Chain"), (3, "loss must be one of")):
        with pytest.raises(tw.InputError, match=message):
            soda(tw.Chain(), loss=bad).fit(X, y)
    with pytest.raises(tw.Unsupported, match="loss 'pairs' compares outputs of the kind 'alignment'"):
        soda(tw.Chain(), loss="pairs").fit(X, y)
    pairs, gapped = [("ab", "b"), ("b", "ab")], [("ab", "-b"), ("-b", "ab")]
    named, plain = (
        soda(tw.Alignment("linear"), loss=loss).fit(pairs, gapped)
        for loss in ("pairs", tw.losses.MissedPairs())
    )
    assert np.array_equal(named.coef_, plain.coef_)


# -- constraints -----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("slack", [None, "quadratic", "linear"])
def test_dual_is_primal(learner, slack):
    rng = np.random.default_rng(14)
    d, penalty = 4, 0.5
    root = rng.normal(size=(d, d))
    H = root @ root.T + 0.1 * np.eye(d)
    b = rng.normal(size=d)
    rows = rng.normal(size=(5, d)) + 0.3 * b
    owners = [0, 0, 1, 2, 2]
    ridge = Ridge(Matrix(H), 0.0)
    found = WorkingSet(ridge, b, slack, np.full(3, penalty))
    for owner, row in zip(owners, rows):
        found.add(owner, sp.csr_matrix(row))
    n = 3 if slack else 0
    constraints = [{"type": "ineq", "fun": lambda v: v[:d] @ b - 1}]
    for owner, row in zip(owners, rows):
        shift = (lambda v, i=owner: v[d + i]) if slack else (lambda v: 0.0)
        constraints.append({"type": "ineq", "fun": lambda v, r=row, s=shift: v[:d] @ r + s(v)})
    if slack == "linear":
        constraints += [{"type": "ineq", "fun": lambda v, i=i: v[d + i]} for i in range(n)]

    def value(v):
        paid = {None: 0.0, "quadratic": penalty / 2 * v[d:] @ v[d:], "linear": penalty * v[d:].sum()}[slack]
        return v[:d] @ H @ v[:d] / 2 + paid

    start = np.concatenate([b / (b @ b), np.full(n, 5.0)])
    best = minimize(
        value, start, constraints=constraints, method="SLSQP", options={"ftol": 1e-14, "maxiter": 500}
    )
    assert best.success
    np.testing.assert_allclose(found.theta, best.x[:d], atol=1e-5)


@pytest.mark.parametrize("slack", [None, "quadratic", "linear"])
def test_dual_is_primal_with_a_reference(slack):
    rng = np.random.default_rng(15)
    d, penalty, n = 4, 0.5, 3
    root = rng.normal(size=(d, d))
    H = root @ root.T + 0.1 * np.eye(d)
    b, rows, leads = rng.normal(size=d), rng.normal(size=(5, d)), rng.normal(size=5)
    owners = [0, 0, 1, 2, 2]
    if slack is None:
        rows, leads, owners = rows[:4], leads[:4], owners[:4]
    found = WorkingSet(Ridge(Matrix(H), 0.0), b, slack, np.full(n, penalty), added=True)
    np.testing.assert_allclose(found.theta, np.linalg.solve(H, b))
    for owner, row, lead in zip(owners, rows, leads):
        found.add(owner, sp.csr_matrix(row), lead)

    def value(v):
        paid = {None: 0.0, "quadratic": penalty / 2 * v[d:] @ v[d:], "linear": penalty * v[d:].sum()}[slack]
        return v[:d] @ H @ v[:d] / 2 - v[:d] @ b + paid

    constraints = [
        {"type": "ineq", "fun": lambda v, r=r, m=m, i=i: v[:d] @ r + m + (v[d + i] if slack else 0.0)}
        for r, m, i in zip(rows, leads, owners)
    ]
    constraints += [{"type": "ineq", "fun": lambda v, i=i: v[d + i]} for i in range(n if slack else 0)]
    start = np.concatenate([np.zeros(d), np.full(n if slack else 0, 5.0)])
    options = {"ftol": 1e-14, "maxiter": 500}
    best = minimize(value, start, constraints=constraints, method="SLSQP", options=options)
    assert best.success
    np.testing.assert_allclose(found.theta, best.x[:d], atol=1e-5)


@BOTH
def test_constraints_with_a_generative_reference(learner):
    X, y = tagged(np.random.default_rng(15), n=25, noise=0.0)
    X, y = [*X, *[["X0"]] * 60, ["rare"]], [*y, *[["X"]] * 60, ["Z"]]
    params = {"reg": 30.0, "reg_mode": "absolute", "reference": "generative", "smoothing": 30.0}
    params["margin"] = 1e-3
    plain = learner(tw.Chain(), **params).fit(X, y)
    model = learner(tw.Chain(), constraints="hard", **params).fit(X, y)
    assert plain.score(X, y) < 1.0 == model.score(X, y)
    assert model.n_constraints_ > 0
    # Where nothing is broken the constraints change nothing.
    params["reg"], params["smoothing"] = 1.0, 0.1
    assert_same_weights(
        learner(tw.Chain(), **params).fit(X, y), learner(tw.Chain(), constraints="hard", **params).fit(X, y)
    )
    X, y = [["a"]] * 3, [["X"], ["X"], ["Y"]]
    with pytest.raises(tw.InputError, match="constraints='slack'"):
        learner(tw.Chain(), constraints="hard", **params).fit(X, y)
    for slack in ("quadratic", "linear"):
        model = learner(tw.Chain(), constraints="slack", slack=slack, **params).fit(X, y)
        assert np.isfinite(model.coef_).all()


@BOTH
def test_hard_constraints_separate_separable_data(learner):
    X, y = tagged(np.random.default_rng(15), n=25, noise=0.0)
    y[0] = list(y[0])
    plain = learner(tw.Chain(), 1e-4).fit(X, y)
    model = learner(tw.Chain(), 1e-4, constraints="hard").fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.n_constraints_ >= (plain.score(X, y) < 1.0)
    assert model.history_[-1]["added"] == 0
    assert plain.n_constraints_ == 0


@BOTH
@pytest.mark.parametrize("margin", [0.0, 1e-4, 0.02])
def test_constraints_hold_by_their_margin(learner, margin):
    X, y = tagged(np.random.default_rng(15), n=12, noise=0.0)
    X, y = [*X, *[["X0"]] * 60, ["rare"], ["rare", "X0"]], [*y, *[["X"]] * 60, ["Z"], ["Z", "X"]]
    model = learner(tw.Chain(), 3.0, constraints="hard", margin=margin).fit(X, y)
    assert model.n_constraints_ > 0
    for phi, gold, loss in losses_of(model.space_, X, y):
        assert ((gold - phi) @ model.coef_ >= margin * loss - 1e-5).all()
    if margin:
        assert model.score(X, y) == 1.0


def test_impossible_constraints_suggest_slack():
    X, y = [["a"]] * 3, [["X"], ["X"], ["Y"]]
    with pytest.raises(tw.InputError, match="constraints='slack'"):
        zscore(tw.Chain(), constraints="hard").fit(X, y)
    for slack in ("quadratic", "linear"):
        model = zscore(tw.Chain(), constraints="slack", slack=slack).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert model.n_constraints_ > 0


def test_slack_grows_hard_with_its_price():
    X, y = tagged(np.random.default_rng(16), n=10, noise=0.0)
    hard = zscore(tw.Chain(), 0.1, constraints="hard").fit(X, y)
    dear = zscore(tw.Chain(), 0.1, constraints="slack", slack_penalty=1e9).fit(X, y)
    assert_same_weights(hard, dear, 1e-4)


# -- sampling --------------------------------------------------------------------------------------


def test_sampled_moments_converge():
    X, y = tagged(np.random.default_rng(17), n=5)
    batch = tw.Chain().bind(X, y).pack(X, y)
    exact = BatchMoments(batch, None, None, "hamming")
    gaps = []
    for n in (50, 2500):
        drawn = SampledMoments(batch, None, None, "hamming", n, np.random.default_rng(0))
        gaps.append(np.abs(drawn.second.dense() - exact.second.dense()).max())
        v = np.random.default_rng(1).normal(size=batch.space.n_features)
        for moment in (drawn.covariance, drawn.second):
            np.testing.assert_allclose(moment.product(v), moment.dense() @ v, atol=1e-10)
        np.testing.assert_allclose(
            drawn.covariance.diagonal(), drawn.covariance.dense().diagonal(), atol=1e-10
        )
    assert gaps[1] < 0.3 * gaps[0]
    assert gaps[1] < 0.15
    np.testing.assert_allclose(drawn.deviation, exact.deviation, atol=0.2)
    np.testing.assert_allclose(drawn.cost_mean, exact.cost_mean, rtol=0.02)
    np.testing.assert_allclose(drawn.cost_variance, exact.cost_variance, rtol=0.1)
    np.testing.assert_allclose(drawn.cost_covariance, exact.cost_covariance, atol=0.2)
    np.testing.assert_allclose(drawn.cost_deviation, exact.cost_deviation, atol=0.5)


def test_sampled_second_moment_about_gold_is_unbiased():
    X, y = tagged(np.random.default_rng(18), n=3)
    batch = tw.Chain().bind(X, y).pack(X, y)
    exact = BatchMoments(batch, None, None).second.dense()
    rng = np.random.default_rng(0)
    draws = [SampledMoments(batch, None, None, None, 3, rng).second.dense() for _ in range(200)]
    error = np.std(draws, axis=0) / np.sqrt(len(draws))
    assert (np.abs(np.mean(draws, axis=0) - exact) <= 5 * error + 1e-9).all()


@EVERY
@BOTH
def test_sampled_learners(name, learner):
    structure, X, y = STRUCTURES[name]
    exact = learner(structure, 1e-2).fit(X, y)
    drawn = learner(structure, 1e-2, moments="sampled", n_samples=400).fit(X, y)
    angle = exact.coef_ @ drawn.coef_ / np.linalg.norm(exact.coef_) / np.linalg.norm(drawn.coef_)
    assert angle > 0.95
    again = learner(structure, 1e-2, moments="sampled", n_samples=400).fit(X, y)
    assert np.array_equal(drawn.coef_, again.coef_)


# -- sums ------------------------------------------------------------------------------------------

VARIANTS = [
    {},
    {"loss": "hamming"},
    {"reference": "observed"},
    {"reference": "generative", "reg": 1.0},
    {"constraints": "slack"},
    {"constraints": "slack", "margin": 0.05},
    {"n_steps": 3},
]


@EVERY
@BOTH
@pytest.mark.parametrize("params", VARIANTS, ids=lambda p: ",".join(p) or "plain")
def test_shards_in_any_order_give_the_same(name, learner, params):
    structure, X, y = STRUCTURES[name]
    if params.get("reference") == "observed" and not isinstance(structure, tw.Chain):
        return
    if params.get("reference") == "generative" and isinstance(X[0], np.ndarray):
        return  # counts cannot be negative
    params = {"reg": 1e-3, "tol": 1e-12, **params}
    weights = np.random.default_rng(0).random(len(X)) + 0.5
    whole = learner(structure, **params).fit(X, y, weights)
    half = len(X) // 2
    first, second = slice(None, half), slice(half, None)
    tol = 1e-6 if params.get("constraints") or params.get("n_steps") else 1e-8
    streamed = learner(structure, **params)
    for part in (second, first):
        streamed.partial_fit(X[part], y[part], weights[part], solve=part == first)
    fitted = learner(structure, **params).fit(X[second], y[second], weights[second])
    merged = fitted.merge(
        learner(structure, **params).partial_fit(X[first], y[first], weights[first], solve=False)
    )
    assert_same_weights(whole, streamed, tol)
    assert_same_weights(whole, merged, tol)
    if not params.get("constraints"):  # those that hold with equality are ties, which rounding breaks
        assert merged.predict(X) == streamed.predict(X) == whole.predict(X)
    assert merged.moments_.n_samples == len(X)


@BOTH
def test_too_few_iterations_are_told(learner):
    _, X, y = STRUCTURES["labels given"]
    settings = {"solver": "cg", "reg": 1e-3, "tol": 1e-10}
    message = r"after max_iter=2 iterations at a relative residual of .*, above 1e-10; raise max_iter, tol or"
    with pytest.warns(ConvergenceWarning, match=message) as told:
        model = learner(tw.Chain(), max_iter=2, **settings).fit(X, y)
    assert len(told) == 1
    assert model.history_[-1]["residual"] > 1e-10
    learner(tw.Chain(), max_iter=500, **settings).fit(X, y)  # an error if there were a warning
    learner(tw.Chain(), max_iter=2, **{**settings, "tol": 10.0}).fit(X, y)


def test_estimated_ridges_do_not_depend_on_order():
    rng = np.random.default_rng(0)
    y = [["XYZ"[i] for i in rng.integers(3, size=3)] for _ in range(40)]
    X = [[[f"a{rng.integers(400)}", f"b{rng.integers(400)}"] for _ in row] for row in y]
    settings = {"reg": 0.1}
    whole = zscore(tw.Chain(2), **settings).partial_fit(X, y, solve=False)
    halves = (slice(20, 40), slice(20))
    parts = [zscore(tw.Chain(2), **settings).partial_fit(X[part], y[part], solve=False) for part in halves]
    assert whole.moments_.space.n_features > 600
    lams = []
    for state in (whole.moments_, parts[0].merge(parts[1]).moments_):
        law = state.batch.covariance()
        assert not law.exact_diagonal
        lams.append(law.diagonal().mean())
    np.testing.assert_allclose(*lams, rtol=1e-9)


@BOTH
def test_labels_given_keep_sums_only(learner):
    structure, X, y = STRUCTURES["labels given"]
    model = learner(structure).fit(X, y)
    assert "sums" in repr(model.moments_)
    assert "compiled features" in repr(learner(tw.Chain()).fit(X, y).moments_)


@EVERY
def test_states_are_saved_merged_and_solved_again(name, tmp_path):
    structure, X, y = STRUCTURES[name]
    half = len(X) // 2
    for i, part in enumerate((slice(None, half), slice(half, None))):
        weights = np.full(len(X[part]), 1.5) if i else None
        tw.save(soda(structure, 1e-3, tol=1e-12).fit(X[part], y[part], weights), tmp_path / f"{i}.tw")
    given = {"structure": structure} if name == "derivations" else {}
    one, two = (tw.load(tmp_path / f"{i}.tw", **given) for i in range(2))
    merged = one.merge(two)
    weights = np.where(np.arange(len(X)) < half, 1.0, 1.5)
    for reg in (1e-3, 0.5):
        whole = soda(structure, reg, tol=1e-12).fit(X, y, weights)
        assert_same_weights(merged.resolve(reg), whole)
    assert merged.reg == 0.5


@BOTH
def test_sums_are_for_what_they_were_made_with(learner):
    structure, X, y = STRUCTURES["labels given"]
    changes = {
        "reference": "observed",
        "loss": "hamming",
        "constraints": "slack",
        "n_steps": 2,
        "moments": "sampled",
    }
    for name, value in changes.items():
        model = learner(structure).fit(X, y).set_params(**{name: value})
        with pytest.raises(tw.InputError, match=f"sums for {name}="):
            model.resolve()
        with pytest.raises(tw.InputError, match="sums"):
            model.partial_fit(X, y)
    # Solvers that go through the samples keep them.
    words = [[t[0] for t in x] for x in X]
    direct = learner(structure, 1e-3, solver="direct").fit(words, y)
    assert direct.history_[-1]["solver"] == "direct"
    assert_same_weights(direct, learner(structure, 1e-3).fit(words, y))
    assert "compiled" in repr(learner(structure, solver="cg").fit(X, y).moments_)


class Scaled(tw.losses.Loss):
    def __init__(self, factor):
        self.factor = factor

    def part_costs(self, batch):
        costs, constant = batch.mismatch()
        return costs * self.factor, constant * self.factor


def test_parameters_are_equal_by_value():
    X, y = tagged(np.random.default_rng(0))
    one, two = dict.fromkeys("XYZ", 1.0), dict.fromkeys("ZYX", 1)
    for a, b in [(one, two), (Scaled(2), Scaled(2.0))]:
        models = [
            soda(tw.Chain(labels=names), loss=v).fit(X, y)
            for names, v in [(list("XYZ"), a), (tuple("XYZ"), b)]
        ]
        models[0].merge(models[1])
    with pytest.raises(tw.InputError, match="equal parameters: loss"):
        soda(tw.Chain(), loss=Scaled(2)).fit(X, y).merge(soda(tw.Chain(), loss=Scaled(3)).fit(X, y))


def test_a_refused_ridge_changes_nothing():
    X, y = tagged(np.random.default_rng(0))
    model = zscore(tw.Chain()).fit(X, y)
    with pytest.raises(tw.InputError, match="reg must be"):
        model.resolve(-1.0)
    assert model.reg == 1e-6


def test_sampled_shards_draw_afresh():
    structure = tw.Classes(labels=["a", "b"])
    X, y = [["u"]], ["a"]
    model = zscore(structure, moments="sampled", n_samples=20)
    shares = []
    for _ in range(4):
        before = 0.0 if not shares else model.moments_.sums.arrays["deviation"]
        model.partial_fit(X, y)
        shares.append(tuple(np.round(model.moments_.sums.arrays["deviation"] - before, 9)))
    assert len(set(shares)) > 1


def test_near_the_largest_size_sums_and_features_mix():
    X, y = [["a", "b"], ["b"], ["c", "a", "d"]], [["X", "Y"], ["Y"], ["Z", "X", "X"]]
    small = FIXED.bind(X[:2], y[:2]).n_features
    one = zscore(FIXED, 1e-3).fit(X[:2], y[:2])
    limited = FIXED.with_limits(uniform_matrix_features=small)
    two = zscore(limited, 1e-3).fit(X[2:], y[2:])
    assert "compiled" in repr(two.moments_)
    whole = zscore(limited, 1e-3).fit(X, y)
    assert_same_weights(two.merge(one), whole)


def test_moments_can_be_left_out(tmp_path):
    X, y = tagged(np.random.default_rng(0))
    model = zscore(tw.Chain(), keep_moments=False).fit(X, y)
    assert not hasattr(model, "moments_")
    with pytest.raises(tw.InputError, match="keep_moments=True"):
        model.resolve(0.1)
    with pytest.raises(tw.InputError, match="keep_moments=True"):
        model.partial_fit(X, y)
    with pytest.raises(tw.InputError, match="has seen no data"):
        zscore(tw.Chain()).resolve(0.1)


def test_merge_wants_the_same_kind_of_model():
    X, y = tagged(np.random.default_rng(0))
    model = zscore(tw.Chain()).fit(X, y)
    with pytest.raises(tw.InputError, match="got CRF"):
        model.merge(tw.CRF(tw.Chain()))
    with pytest.raises(tw.InputError, match="loss is None here and 'hamming' there"):
        model.merge(zscore(tw.Chain(), loss="hamming").fit(X, y))
    with pytest.raises(tw.InputError, match="one structure"):
        model.merge(zscore(tw.Chain(start=False)).fit(X, y))


# -- what a model says --------------------------------------------------------------------------------


@EVERY
def test_soda_bounds_the_relative_rank(name):
    structure, X, y = STRUCTURES[name]
    model = soda(structure, 1e-3).fit(X, y)
    for i, (x, gold) in enumerate(zip(X, y)):
        outputs = list(model.space_.enumerate(x))
        phi = model.space_.pack([x] * len(outputs), outputs).gold().toarray()
        values = phi @ model.coef_
        best = values[outputs.index(gold)]
        share = np.mean(values >= best - 1e-9)
        got, exact = metrics.relative_rank(model, [x], [gold], return_exact=True)
        assert exact[0], i
        np.testing.assert_allclose(got[0], share)
        assert share <= np.mean((best - values - 1) ** 2) + 1e-9


def test_margin_of_an_impossible_output():
    model = zscore(tw.Chain()).fit([["a", "b"]], [["X", "Y"]])
    assert model.margins([["a"]], [["unheard of"]]).tolist() == [-np.inf]
    assert model.margins([], []).size == 0
    # An input that has no output at all.
    X, y = [["a", "b"], ["b"]], [["X", "Y"], ["Y"]]
    model = zscore(tw.Chain(transitions=[("X", "Y")])).fit(X, y)
    for standardized in (False, True):
        margins = model.margins([["a"] * 3, *X], [["X", "Y", "X"], *y], standardized=standardized)
        assert margins[0] == -np.inf
        assert np.isfinite(margins[1:]).all()


@EVERY
def test_margins(name):
    structure, X, y = STRUCTURES[name]
    model = soda(structure, 1e-3).fit(X, y)
    margins, standardized = (model.margins(X, y, standardized=s) for s in (False, True))
    for i, (x, gold) in enumerate(zip(X, y)):
        outputs = list(model.space_.enumerate(x))
        values = model.space_.pack([x] * len(outputs), outputs).gold().toarray() @ model.coef_
        wanted = values[outputs.index(gold)] - values.mean()
        np.testing.assert_allclose(margins[i], wanted, atol=1e-10)
        np.testing.assert_allclose(
            standardized[i], wanted / values.std() if values.std() > 1e-12 else 0.0, atol=1e-8
        )


@BOTH
@pytest.mark.parametrize(
    "params",
    [
        {"reference": "observed", "tol": 1e-9},
        {"reference": "generative", "reg": 1.0, "tol": 1e-9},
        {"loss": "hamming"},
        {"n_steps": 4},
        {"constraints": "slack"},
    ],
    ids=lambda p: ",".join(p),
)
def test_laws_of_variants(learner, params):
    X, y = tagged(np.random.default_rng(20), n=10)
    X, y = [[*x, "X0", "Y0", "Z0"] for x in X], [[*labels, "X", "Y", "Z"] for labels in y]
    check_learner(learner(tw.Chain(), **{"reg": 1e-2, **params}), X, y)


@BOTH
def test_laws_on_derivations(learner):
    check_learner(learner(tw.Derivations(segments), 1e-2), WORDS * 2, CUTS * 2)


@BOTH
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"reg": -1}, "reg must be"),
        ({"reg": float("nan")}, "reg must be"),
        ({"reg_mode": "x"}, "reg_mode must be one of 'relative', 'absolute', got 'x'"),
        ({"reference": "prior"}, "reference must be one of"),
        ({"constraints": "soft"}, "constraints must be"),
        ({"slack": "cubic"}, "slack must be"),
        ({"moments": "some"}, "moments must be"),
        ({"solver": "lu"}, "solver must be"),
        ({"n_steps": 0}, "n_steps must be"),
        ({"n_samples": 0.5}, "n_samples must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"slack_penalty": 0}, "slack_penalty must be"),
        ({"margin": -1}, "margin must be"),
        ({"n_steps": 2, "loss": "hamming"}, "cannot be combined with loss"),
        ({"n_steps": 2, "moments": "sampled"}, "cannot be combined with moments"),
        ({"constraints": "hard", "loss": "hamming"}, "choose one"),
        ({"reference": "observed", "symbols": "w"}, "symbols must be"),
    ],
)
def test_bad_parameters(learner, params, message):
    X, y = tagged(np.random.default_rng(0))
    model = learner(tw.Chain(), **params)
    with pytest.raises(tw.InputError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_tau_must_be_positive():
    with pytest.raises(tw.InputError, match="tau must be"):
        zscore(tw.Chain(), tau=0.0).fit([["a"]], [["X"]])


def test_an_interrupt_keeps_the_best_so_far(monkeypatch):
    X, y = tagged(np.random.default_rng(0), n=20)
    product, calls = UniformChain.product, itertools.count()

    def tired(self, v):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return product(self, v)

    monkeypatch.setattr(UniformChain, "product", tired)
    with pytest.warns(tw.FitInterrupted, match="conjugate gradients after 3"):
        model = zscore(tw.Chain(), solver="cg", tol=1e-12).fit(X, y)
    assert model.score(X, y) > 0.5
    assert model.stop_ == "interrupted"


def test_why_a_search_stopped_is_told(tmp_path):
    X, y = tagged(np.random.default_rng(0), n=20)
    assert zscore(tw.Chain()).fit(X, y).stop_ == "converged"
    assert zscore(tw.Chain(), constraints="slack").fit(X, y).stop_ == "converged"
    with pytest.warns(ConvergenceWarning):
        assert soda(tw.Chain(), solver="cg", tol=1e-12, max_iter=2).fit(X, y).stop_ == "max_iter"
    steps = {"reg": 1.0, "reg_mode": "absolute"}
    few = zscore(tw.Chain(), n_steps=2, **steps).fit(X, y)
    assert few.stop_ == "max_iter"
    assert zscore(tw.Chain(), n_steps=50, **steps).fit(X, y).stop_ in ("converged", "no progress")
    tw.save(few, tmp_path / "model.tw")
    assert tw.load(tmp_path / "model.tw").stop_ == "max_iter"


@BOTH
def test_constraints_relaxed_by_epsilon(learner):
    X, y = [["a"]] * 3, [["X"], ["X"], ["Y"]]
    params = {"reference": "uniform", "loss": None, "constraints": "hard"}
    with pytest.raises(tw.InputError, match="constraints='slack'"):
        learner(tw.Chain(), 1e-3, **params).fit(X, y)
    model = learner(tw.Chain(), 1e-3, epsilon=3.0, **params).fit(X, y)
    for phi, gold, _ in losses_of(model.space_, X, y):
        assert ((gold - phi) @ model.coef_ >= -3.0 - 1e-6).all()
    # Where nothing is broken, it changes nothing; a very small one is as good as none.
    X, y = tagged(np.random.default_rng(15), n=12, noise=0.0)
    exact = learner(tw.Chain(), 3.0, constraints="hard").fit(X, y)
    near = learner(tw.Chain(), 3.0, constraints="hard", epsilon=1e-9).fit(X, y)
    assert_same_weights(exact, near)
