"""Voted conditional random fields and structured boosting."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import trelliswork as tw
from trelliswork.learners.optimize.progress import Progress
from trelliswork.learners.optimize.proximal import LazyAdaGrad, fista, proximal_norm, shrink
from trelliswork.learners.optimize.stops import STOP_REASONS
from trelliswork.learners.voted.maxima import _Bundle
from trelliswork.learners.voted.problem import Problem
from trelliswork.learners.voted.solvers import _boost_terms, _boost_value
from trelliswork.losses import Counted, Edit, Hamming, Loss, Markovian, NGrams, Rational, ZeroOne, as_loss
from trelliswork.losses.forms import Form
from trelliswork.losses.inside import inside
from trelliswork.losses.oracle import Oracle
from trelliswork.structures.families import find_families

X = [["a", "b", "a"], ["b", "a"], ["c"], ["a", "a", "b"], ["b", "c", "a"]]
Y = [["A", "B", "C"], ["B", "B"], ["C"], ["A", "C", "A"], ["B", "C", "A"]]


def problem_of(structure, loss, X=X, Y=Y):
    space = structure.bind(X, Y)
    batch = space.pack(X, Y)
    share = np.arange(1.0, len(X) + 1)
    l1 = np.full(space.n_features, 0.01)
    return Problem(batch, loss, find_families(space, "auto"), l1, share / share.sum())


def enumerated(problem, X, w):
    """Losses, margins and feature differences of all outputs of every sample."""
    space, batch = problem.batch.space, problem.batch
    for i, x in enumerate(X):
        outputs = list(space.enumerate(x))
        codes = space.pack([x] * len(outputs), outputs).gold_codes
        many = batch.subset(np.full(len(outputs), i))
        loss = problem.loss.evaluate(many, codes)
        phi = many.features(codes).toarray()
        d = many.gold().toarray() - phi
        yield problem.share[i], loss, d @ w, d


@pytest.mark.parametrize(
    "loss", [Hamming(), Edit(cap=3), ZeroOne(), Hamming(True), Hamming(label_weight={"A": 0.7})]
)
@pytest.mark.parametrize("scale", [0.0, 3.0])
def test_boosting_objective_and_gradient(loss, scale):
    problem = problem_of(tw.Chain(), loss)
    w = np.random.default_rng(0).normal(size=problem.l1.size)
    value, gradient = _boost_value(problem, _boost_terms(inside(problem.batch, loss)), scale)(w)
    total, expected, largest = 0.0, np.zeros_like(w), 0.0
    for share, losses, margins, d in enumerated(problem, X, w):
        terms = losses * np.exp(-margins)
        total += share * terms.sum()
        expected -= share * terms @ d
        largest += share * terms.max()
    assert np.isclose(value, total * math.exp(-scale), rtol=1e-9)
    assert np.allclose(gradient, expected * math.exp(-scale), rtol=1e-8, atol=1e-10)
    assert np.isclose(_Bundle(problem).visit(w), largest + problem.penalty(w), rtol=1e-9)


def exact_optimum(problem, X):
    """Least mean of maxima plus penalties, by a general solver over all outputs."""
    d, n = problem.l1.size, len(X)
    planes = [
        (i, math.log(share * loss), row)
        for i, (share, losses, _, rows) in enumerate(enumerated(problem, X, np.zeros(d)))
        for loss, row in zip(losses, rows)
        if loss > 0
    ]
    owner, offset = np.array([p[0] for p in planes]), np.array([p[1] for p in planes])
    rows = np.array([p[2] for p in planes])
    # Variables: positive and negative parts of the weights, and the log of every sample's maximum.
    A = np.hstack([rows, -rows, np.eye(n)[owner]])

    def value(v):
        p, q, u = v[:d], v[d : 2 * d], v[2 * d :]
        w = p - q
        slope = np.concatenate([problem.l1 + 2 * problem.l2 * w, problem.l1 - 2 * problem.l2 * w, np.exp(u)])
        return problem.l1 @ (p + q) + problem.l2 * w @ w + np.exp(u).sum(), slope

    start = np.concatenate([np.zeros(2 * d), [offset[owner == i].max() for i in range(n)]])
    found = minimize(
        value,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * (2 * d) + [(None, None)] * n,
        constraints={"type": "ineq", "fun": lambda v: A @ v - offset, "jac": lambda v: A},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success
    return found.fun


@pytest.mark.parametrize("loss", [Hamming(), Edit(cap=1)])
@pytest.mark.parametrize(("beta", "l2"), [(0.3, 0.0), (0.02, 0.0), (0.02, 0.01)])
def test_maxima_reach_the_optimum_of_a_general_solver(loss, beta, l2):
    problem = problem_of(tw.Chain(), loss)
    problem.l1[:] = beta
    problem.l2 = l2
    best = exact_optimum(problem, X)
    for start in ("crf", "zero"):
        model = tw.StructBoost(
            tw.Chain(),
            0.0,
            beta,
            l2=l2,
            loss=loss,
            form="max",
            start=start,
            tol=1e-4,
            penalty_mode="absolute",
        ).fit(X, Y, sample_weight=np.arange(1.0, 6.0))
        assert model.converged_
        assert model.gap_ <= 1e-4
        assert model.objective_ * (1 - model.gap_) <= best * (1 + 1e-8)  # the bound is one
        assert best <= model.objective_ * (1 + 1e-8) <= best * (1 + 2e-4)


def test_boosting_by_default_ends_where_predictions_stay():
    rng = np.random.default_rng(1)
    X, y = (np.repeat(values, 5, axis=0) for values in (rng.normal(size=(20, 4)), rng.integers(0, 3, 20)))
    model, exact = (tw.StructBoost(tw.Classes(), **tol).fit(X, y) for tol in ({}, {"tol": 1e-6}))
    assert model.n_iter_ < 100 < exact.n_iter_
    np.testing.assert_array_equal(model.predict(X), exact.predict(X))


def test_maxima_warn_when_the_rounds_end():
    with pytest.warns(ConvergenceWarning, match="StructBoost ended at max_iter=2"):
        model = tw.StructBoost(tw.Chain(), 0.0, 0.02, form="max", max_iter=2, penalty_mode="absolute").fit(
            X, Y
        )
    assert model.stop_ == "max_iter"
    assert model.gap_ > model.tol


def test_boosting_gradient_by_finite_differences_and_overflow():
    problem = problem_of(tw.Chain(2), Hamming())
    value = _boost_value(problem, _boost_terms(inside(problem.batch, Hamming())), 0.0)
    rng = np.random.default_rng(1)
    w, step = rng.normal(size=problem.l1.size), 1e-6 * rng.normal(size=problem.l1.size)
    moved = value(w + step)[0] - value(w - step)[0]
    assert np.isclose(moved, 2 * value(w)[1] @ step, rtol=1e-6)
    assert value(1e4 * w)[0] == np.inf


@pytest.mark.parametrize("structure", ["Classes", "Derivations"])
def test_boosting_on_other_structures(structure):
    if structure == "Classes":
        rng = np.random.default_rng(2)
        X, y = rng.normal(size=(30, 4)), [str(i % 3) for i in range(30)]
        X[np.arange(30), np.arange(30) % 3] += 1.5
        model = tw.StructBoost(tw.Classes(), 0.0, 0.05, penalty_mode="absolute").fit(X, y)
        assert (
            tw.StructBoost(tw.Classes(), 0.0, 0.05, form="max", penalty_mode="absolute").fit(X, y).score(X, y)
            >= 0.7
        )
    else:
        X, y = [["a", "b"], ["b", "a"], ["a", "a"]] * 4, [["A", "B"], ["B", "A"], ["A", "A"]] * 4
        model = tw.StructBoost(
            tw.Derivations(labels), loss=Edit(), penalty_mode="absolute", lam=1e-4, beta=1e-3
        ).fit(X, y)
    assert model.score(X, y) >= 0.7
    assert model.objective_ < np.inf


SENTENCES = [["d", "n", "v"], ["n", "v"], ["d", "n", "v", "n"]]
PARSES = ["(S (NP (D d) (N n)) (VP (V v)))", "(S (NP (N n)) (VP (V v)))"]
PARSES.append("(S (NP (D d) (N n)) (VP (V v) (NP (N n))))")
OTHERS = {
    "grammar": (tw.Grammar(), "brackets", SENTENCES, PARSES),
    "grammar hamming": (tw.Grammar(), "hamming", SENTENCES, PARSES),
    "rna": (tw.RNA("g6"), "base-pairs", ["GGAAACC", "GAAAC"], ["((...))", "(...)"]),
    "alignment": (
        tw.Alignment("affine"),
        "pairs",
        [("ABA", "AB"), ("AA", "A")],
        [("ABA", "AB-"), ("AA", "-A")],
    ),
    "linear": (tw.Alignment("linear"), "pairs", [("ABA", "AB"), ("AA", "A")], [("ABA", "AB-"), ("AA", "-A")]),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("form", ["sum", "max"])
@pytest.mark.filterwarnings("ignore:StructBoost ended")
def test_boosting_on_trees_folds_and_alignments(name, form):
    structure, loss, data, outputs = OTHERS[name]
    problem = problem_of(structure, as_loss(loss), data, outputs)
    w = np.random.default_rng(8).normal(size=problem.l1.size)
    if form == "sum":
        value = _boost_value(problem, _boost_terms(inside(problem.batch, problem.loss)), 0.0)(w)[0]
    else:
        value = _Bundle(problem).visit(w) - problem.penalty(w)
    total = 0.0
    for share, losses, margins, _ in enumerated(problem, data, w):
        each = losses * np.exp(-margins)
        total += share * (each.sum() if form == "sum" else each.max())
    assert np.isclose(value, total, rtol=1e-8)
    model = tw.StructBoost(
        structure, 0.0, 0.05, loss=loss, form=form, max_iter=3, penalty_mode="absolute"
    ).fit(data, outputs)
    assert np.isfinite(model.objective_)


def test_losses_that_are_negative_for_some_output_are_refused():
    data, outputs = [list("wxyz"), list("wwww")], [list("AAAB"), list("BABB")]  # AAAA has the loss -1
    for form in ("sum", "max"):
        with pytest.raises(tw.InputError, match=r"sample 0: .* is negative, -1, for some output"):
            tw.StructBoost(tw.Chain(), 1e-6, 1e-6, loss=NGrams(2), form=form, penalty_mode="absolute").fit(
                data, outputs
            )
    # A sum over parts.
    with pytest.raises(tw.InputError, match="negative, -1,"):
        tw.StructBoost(tw.Classes(), loss=Gain(), penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(
            np.eye(3), ["A", "B", "C"]
        )


class Gain(Loss):
    def __call__(self, y_true, y_pred):
        return 0.0 if y_true == y_pred else 3.0 - 4.0 * (y_pred == "C")


def labels(tokens):
    yield tw.Edge(len(tokens))
    for t in reversed(range(len(tokens))):
        for label in "AB":
            yield tw.Edge(t, [t + 1], [(tokens[t], label), label], label)


def test_without_loss_and_lam_it_is_an_l1_crf():
    voted = tw.VotedCRF(
        tw.Chain(), 0.0, 0.3 / len(X), loss=None, tol=1e-9, max_iter=500, penalty_mode="absolute"
    ).fit(X, Y)
    crf = tw.CRF(tw.Chain(), 0.3, 0.0, tol=1e-9, max_iter=500).fit(X, Y)
    assert np.isclose(voted.objective_ * len(X), crf.objective_, rtol=1e-9)
    assert np.allclose(voted.coef_, crf.coef_, atol=1e-4)


@pytest.mark.parametrize(
    "loss", ["hamming", "edit", "none", NGrams(2), Counted(Hamming(), lambda v, _: v**0.5)]
)
def test_solvers_agree(loss):
    one = tw.VotedCRF(
        tw.Chain(2), 0.001, 0.05, loss=loss, tol=1e-7, max_iter=500, penalty_mode="absolute"
    ).fit(X, Y)
    two = tw.VotedCRF(
        tw.Chain(2), 0.001, 0.05, loss=loss, tol=1e-7, max_iter=5000, solver="fista", penalty_mode="absolute"
    ).fit(X, Y)
    assert np.isclose(one.objective_, two.objective_, rtol=1e-6)
    assert one.history_[-1]["gradient"] <= 1e-6
    assert sum(one.history_[-1]["families"]) == one.history_[-1]["nonzero"] == np.count_nonzero(one.coef_)


def test_quadratic_penalty():
    made = tw.VotedCRF(tw.Chain(), 0.0, 1e-9, l2=0.2, loss=None, tol=1e-7, penalty_mode="absolute").fit(X, Y)
    crf = tw.CRF(tw.Chain(), l2=0.2 * len(X), tol=1e-9).fit(X, Y)
    assert np.allclose(made.coef_, crf.coef_, atol=1e-4)


def test_structboost_starts_anywhere():
    one = tw.StructBoost(tw.Chain(), 0.0, 0.2, tol=1e-7, max_iter=1000, penalty_mode="absolute").fit(X, Y)
    two = tw.StructBoost(
        tw.Chain(), 0.0, 0.2, tol=1e-7, max_iter=1000, start="zero", penalty_mode="absolute"
    ).fit(X, Y)
    assert np.isclose(one.objective_, two.objective_, rtol=1e-6)
    long = [["a", "b"] * 300, ["b"] * 2]  # the objective at zero is about 3^600
    y = [["A", "B"] * 300, ["C"] * 2]
    model = tw.StructBoost(tw.Chain(), 0.0, 0.2, start="zero", penalty_mode="absolute").fit(long, y)
    assert np.isfinite(model.coef_).all()
    assert model.predict(long) == y


def test_families_and_rates():
    chain = tw.Chain(2, edge_features="all")
    model = tw.VotedCRF(chain, penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(X, Y)
    assert model.families_ == ["order 1", "order 2", "order 3"]
    assert model.r_.shape == (3,)
    assert (model.r_ > 0).all()
    assert list(model.n_nonzero_) == model.families_
    kinds = tw.VotedCRF(chain, families="kind", penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(X, Y)
    assert set(kinds.families_) == {"emission", "start", "end", "unknown", "edge", "transition"}
    own = tw.VotedCRF(
        chain,
        families={"labels": ["transition"], "rest": lambda name: True},
        r=[2.0, 1.0],
        penalty_mode="absolute",
        lam=1e-4,
        beta=1e-3,
    )
    own.fit(X, Y)
    assert own.families_ == ["labels", "rest"]
    assert own.r_.tolist() == [2.0, 1.0]
    by_function = tw.VotedCRF(
        chain, families=lambda name: name[-1], penalty_mode="absolute", lam=1e-4, beta=1e-3
    ).fit(X, Y)
    assert set(by_function.families_) == {"A", "B", "C"}
    for r in ("paper", "monte_carlo"):
        assert (tw.VotedCRF(chain, r=r, penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(X, Y).r_ > 0).all()
    # A family that costs more keeps fewer weights.
    dear = tw.VotedCRF(tw.Chain(), 0.05, 1e-4, r=[0.1, 50.0], penalty_mode="absolute").fit(X, Y)
    assert dear.n_nonzero_["order 2"] == 0
    assert dear.n_nonzero_["order 1"] > 0


def test_rates_follow_the_formula():
    model = tw.VotedCRF(
        tw.Chain(unknown=False, start=False, end=False),
        r="sparsity",
        penalty_mode="absolute",
        lam=1e-4,
        beta=1e-3,
    ).fit(X, Y)
    m, lengths = len(X), np.array([len(x) for x in X])
    used = max(sum(len(x) * x.count(a) for x in X) for a in "abc")
    assert np.isclose(model.r_[0], math.sqrt(2 * used * math.log(2 * 9) / m))
    assert np.isclose(model.r_[1], math.sqrt(2 * (lengths @ (lengths - 1)) * math.log(2 * 9) / m))
    paper = tw.VotedCRF(
        tw.Chain(unknown=False, start=False, end=False),
        r="paper",
        penalty_mode="absolute",
        lam=1e-4,
        beta=1e-3,
    ).fit(X, Y)
    assert np.allclose(paper.r_, 3 * math.sqrt(math.log(9)))


@pytest.mark.parametrize(
    ("structure", "X", "y", "families"),
    [
        (
            tw.RNA("g6"),
            ["GGAAACC", "GCAAAGC"],
            ["((...))", "((...))"],
            ["branching", "unpaired base", "outer pair", "stacked pair"],
        ),
        (
            tw.Grammar(["S -> S S | T S | 'a' | 'b'", "T -> 'a' | 'b'"], unknown=None),
            [["a", "b"], ["b", "a", "a"]],
            ["(S (T a) (S b))", "(S (S b) (S (T a) (S a)))"],
            ["root", "lexical", "binary"],
        ),
        (
            tw.Alignment("affine"),
            [("abc", "ac"), ("ab", "abb")],
            [("abc", "a-c"), ("ab-", "abb")],
            ["match", "mismatch", "open", "extend"],
        ),
    ],
)
def test_families_of_other_structures_differ_in_complexity(structure, X, y, families):
    model = tw.VotedCRF(structure, max_iter=1, tol=1.0).fit(X, y)
    assert model.families_ == families
    # The families that are used in more places cost more than the one that is used least.
    assert len(np.unique(np.round(model.r_, 6))) == len(families)
    used = structure.bind(X, y).pack(X).factors().usage(own=True)
    of_family = np.array([used[model.family_of_ == k].max() for k in range(len(families))])
    sizes = np.bincount(model.family_of_)
    assert np.allclose(
        model.r_**2 / (of_family * np.log(2 * sizes)),
        (model.r_[0] ** 2) / (of_family[0] * np.log(2 * sizes[0])),
    )


def test_loops_are_families_by_their_kinds():
    X, y = ["GGAAACC", "GCAAAGC"], ["((...))", "((...))"]
    space = tw.RNA("nearest-neighbour").bind(X, y)
    assert space.feature_kinds == [kind for kind, _ in space.feature_names]


def test_order_above_the_length_of_sequences():
    model = tw.VotedCRF(tw.Chain(3), loss="edit", penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(
        [["a"], ["b", "a"]] * 3, [["A"], ["B", "A"]] * 3
    )
    assert model.n_nonzero_["order 4"] == 0
    assert model.predict([["b", "a"]]) == [["B", "A"]]


def test_path_is_warm_and_picks_on_the_development_part():
    lams = [0.001, 0.1, 0.01]
    model = tw.VotedCRF(tw.Chain(), beta=0.001, penalty_mode="absolute", lam=1e-4).fit_path(
        X, Y, lams, X_dev=X, y_dev=Y
    )
    assert [step["lam"] for step in model.path_] == [0.1, 0.01, 0.001]
    best = max(step["score"] for step in model.path_)
    assert model.score(X, Y) == best
    assert np.array_equal(model.coef_, next(s["coef"] for s in model.path_ if s["lam"] == model.lam_))
    alone = tw.VotedCRF(tw.Chain(), 0.001, 0.001, max_iter=500, penalty_mode="absolute").fit(X, Y)
    assert np.isclose(model.path_[-1]["objective"], alone.objective_, rtol=1e-3)
    with pytest.raises(tw.InputError, match="lams"):
        tw.VotedCRF(tw.Chain(), penalty_mode="absolute", lam=1e-4, beta=1e-3).fit_path(X, Y, [])
    with pytest.raises(tw.InputError, match="lams must be a list"):
        tw.VotedCRF(tw.Chain(), penalty_mode="absolute", lam=1e-4, beta=1e-3).fit_path(X, Y, 0.1)
    with pytest.raises(tw.InputError, match="both X_dev and y_dev"):
        tw.VotedCRF(tw.Chain(), penalty_mode="absolute", lam=1e-4, beta=1e-3).fit_path(X, Y, [1.0], X_dev=X)


def test_path_keeps_how_the_chosen_search_ended():
    model = tw.VotedCRF(tw.Chain(), 0.0, 0.0, max_iter=3, tol=1e-9, penalty_mode="absolute")
    # No output is right: equal scores.
    model.fit_path(X, Y, [0.001, 10.0, 20.0], X_dev=[["z"]], y_dev=[["Z"]])
    assert model.lam_ == 20.0
    assert model.converged_
    assert model.stop_ == "converged"
    assert "good enough" in model.message_
    with pytest.raises(tw.InputError, match="beta are both 0"):
        tw.VotedCRF(tw.Chain(), 0.0, 0.0, penalty_mode="absolute").fit_path(X, Y, [0.1, 0.0])
    assert not hasattr(model.set_params(lam=0.1).fit(X, Y), "path_")


def test_a_tie_keeps_the_sparsest():
    # A search that was cut short has weights to spare; the next one starts from them and loses some.
    model = tw.VotedCRF(tw.Chain(), beta=0.0, r=[1.0, 1.0], max_iter=5, penalty_mode="absolute", lam=1e-4)
    model.fit_path(X, Y, [0.05, 0.04], X_dev=[["z"]], y_dev=[["Z"]])
    first, second = (step["nonzero"] for step in model.path_)
    assert second < first
    assert model.lam_ == 0.04


@pytest.mark.parametrize("learner", [tw.VotedCRF, tw.StructBoost])
@pytest.mark.parametrize("r", ["sparsity", [1.0, 1.0]])
def test_a_weight_of_two_is_the_sample_twice(learner, r):
    shared = {"penalty_mode": "absolute", "lam": 0.01, "beta": 0.05, "r": r, "tol": 1e-7, "max_iter": 500}
    twice = learner(tw.Chain(), **shared).fit([*X, X[0]], [*Y, Y[0]])
    weighted = learner(tw.Chain(), **shared).fit(X, Y, sample_weight=[2, 1, 1, 1, 1])
    assert np.allclose(weighted.r_, twice.r_)
    assert np.isclose(weighted.objective_, twice.objective_, rtol=1e-6)
    plain = learner(tw.Chain(), **shared).fit(X, Y)
    assert not np.isclose(weighted.objective_, plain.objective_, rtol=1e-3)


def test_class_weights_are_sample_weights():
    weight = {"A": 3.0, "B": 1.0, "C": 2.0}
    each = [np.mean([weight[label] for label in y]) for y in Y]
    one = tw.VotedCRF(tw.Chain(), class_weight=weight, penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(X, Y)
    two = tw.VotedCRF(tw.Chain(), penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(X, Y, sample_weight=each)
    assert np.array_equal(one.coef_, two.coef_)
    assert not np.array_equal(
        one.coef_, tw.VotedCRF(tw.Chain(), penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(X, Y).coef_
    )


@pytest.mark.parametrize("structure", [tw.Chain(), tw.Chain(2), "Classes", "Derivations"])
def test_simulated_rates_know_no_scale_of_the_weights(structure):
    data, outputs = X, Y
    if structure == "Classes":
        structure, data, outputs = tw.Classes(), np.eye(5), list("ABCAB")
    elif structure == "Derivations":
        structure, outputs = tw.Derivations(labels), [["A"] * len(x) for x in X]
    plain = tw.VotedCRF(structure, r="monte_carlo", penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(
        data, outputs
    )
    heavy = tw.VotedCRF(structure, r="monte_carlo", penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(
        data, outputs, sample_weight=[1e4] * 5
    )
    assert np.allclose(heavy.r_, plain.r_)


@pytest.mark.parametrize("how", ["sample_weight", "class_weight"])
def test_weights_of_a_stream(how):
    shared = {"batch_size": 1, "r": [1.0, 1.0], "penalty_mode": "absolute", "lam": 1e-4, "beta": 1e-3}
    plain = tw.VotedCRF(tw.Chain(), **shared).partial_fit(X, Y)
    if how == "sample_weight":
        model = tw.VotedCRF(tw.Chain(), **shared).partial_fit(X, Y, sample_weight=[1000, 1e-3, 1, 1, 1])
    else:
        model = tw.VotedCRF(tw.Chain(), class_weight={"A": 50.0}, **shared).partial_fit(X, Y)
    assert not np.allclose(plain.coef_, model.coef_, rtol=1e-3)
    same = tw.VotedCRF(tw.Chain(), **shared).partial_fit(X, Y, sample_weight=[7.0] * 5)
    assert np.allclose(plain.coef_, same.coef_)


def test_a_stream_after_a_fit_starts_its_steps_anew():
    model = tw.VotedCRF(tw.Chain(), penalty_mode="absolute", lam=1e-4, beta=1e-3).partial_fit(X, Y)
    model.fit(X[1:3], Y[1:3])
    assert not hasattr(model, "squares_")
    assert model.partial_fit(X, Y).coef_.size == model.squares_.size
    assert not hasattr(model.fit_path(X[1:3], Y[1:3], [0.1]), "squares_")


@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_stream_reaches_the_batch_solution(l2):
    common = {"lam": 0.0, "beta": 0.02, "l2": l2, "penalty_mode": "absolute"}
    batch = tw.VotedCRF(tw.Chain(), tol=1e-6, max_iter=500, **common).fit(X, Y)
    stream = tw.VotedCRF(tw.Chain(), step=1.0, batch_size=1, **common)
    for _ in range(60):
        stream.partial_fit(X, Y)
    again = batch.history_[-1]["objective"]
    fitted = tw.VotedCRF(tw.Chain(), max_iter=1, warm_start=True, **common)
    fitted.space_, fitted.coef_ = stream.space_, stream.coef_
    assert fitted.fit(X, Y).history_[0]["objective"] <= 1.15 * again
    assert 0 < stream.history_[-1]["nonzero"] < stream.coef_.size
    stream.partial_fit([["d", "b"]], [["D", "B"]])
    assert stream.predict([["d"]])[0][0] in "ABCD"
    assert "D" in stream.classes_


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_lazy_steps_are_the_eager_ones(l2):
    rng = np.random.default_rng(3)
    d, n = 6, 40
    gradients = [rng.normal(size=d) * (rng.random(d) < 0.3) for _ in range(n)]
    l1 = rng.random(d)
    w, squares = np.zeros(d), np.zeros(d)
    lazy = LazyAdaGrad(w, squares, l1, 0.5, l2)
    eager, sums = np.zeros(d), np.zeros(d)
    for g in gradients:
        at = np.flatnonzero(g)
        lazy.catch_up(at)
        lazy.update(at, g[at])
        sums += g**2
        rate = np.divide(0.5, np.sqrt(sums), out=np.zeros(d), where=sums > 0)
        eager = shrink(eager - rate * g, rate * l1) / (1.0 + 2.0 * rate * l2)
    lazy.finish()
    assert np.allclose(w, eager)


@pytest.mark.parametrize("solver", ["owlqn", "fista"])
def test_solvers_refuse_features_that_overflow(solver):
    huge = [[{"a": 1e200}], [{"a": -1e200}]]
    with pytest.raises(tw.InputError, match="the search cannot start"):
        tw.VotedCRF(tw.Chain(scale=None), solver=solver, penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(
            huge, [["A"], ["B"]]
        )


def test_advice_names_losses_that_the_structure_has():
    structure, _, data, outputs = OTHERS["linear"]
    with pytest.raises(tw.Unsupported, match="'pairs'"):
        tw.VotedCRF(structure, loss="edit", penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(data, outputs)
    with pytest.raises(tw.Unsupported, match="'brackets'"):
        tw.VotedCRF(tw.Grammar(), loss="bracket-f1", penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(
            SENTENCES, PARSES
        )


def test_fista_on_a_quadratic():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(20, 8))
    H, b = A.T @ A, rng.normal(size=8) * 5
    found = fista(
        lambda w: (0.5 * w @ H @ w - b @ w, H @ w - b),
        np.zeros(8),
        l1=np.full(8, 2.0),
        max_iter=2000,
        tol=1e-6,
    )
    assert found.converged
    assert proximal_norm(found.w, H @ found.w - b, np.full(8, 2.0)) < 1e-4
    assert (found.w == 0).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tw.VotedCRF(tw.Chain(), 0.0, 0.0, penalty_mode="absolute"), "beta are both 0"),
        (lambda: tw.StructBoost(tw.Chain(), 0, 0, penalty_mode="absolute"), "beta are both 0"),
        (lambda: tw.VotedCRF(tw.Chain(), 1.0, 0.0, r=[0, 0], penalty_mode="absolute"), "beta are both 0"),
        (lambda: tw.VotedCRF(tw.Chain(), -1.0, penalty_mode="absolute", beta=1e-3), "lam must be"),
        (
            lambda: tw.VotedCRF(tw.Chain(), solver="sgd", penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "solver must be",
        ),
        (
            lambda: tw.VotedCRF(tw.Chain(), loss="mse", penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "loss must be one of",
        ),
        (
            lambda: tw.VotedCRF(tw.Chain(), families="size", penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "families must be",
        ),
        (
            lambda: tw.VotedCRF(
                tw.Chain(),
                families={"x": ["nothing"], "y": lambda n: True},
                penalty_mode="absolute",
                lam=1e-4,
                beta=1e-3,
            ),
            "'x' is empty",
        ),
        (
            lambda: tw.VotedCRF(
                tw.Chain(), families={"x": ["emission"]}, penalty_mode="absolute", lam=1e-4, beta=1e-3
            ),
            "belongs to no family",
        ),
        (
            lambda: tw.VotedCRF(tw.Chain(), r="large", penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "r must be one of",
        ),
        (
            lambda: tw.VotedCRF(tw.Chain(), r=[1.0], penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "one finite number >= 0 for each of the 2 families",
        ),
        (
            lambda: tw.VotedCRF(tw.Chain(), r={"order 1": 1.0}, penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "one finite number >= 0 for each",
        ),
        (
            lambda: tw.VotedCRF(tw.Chain(), r=["a", "b"], penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "one finite number >= 0 for each",
        ),
        (
            lambda: tw.VotedCRF(
                tw.Chain(), families=lambda name: [name], penalty_mode="absolute", lam=1e-4, beta=1e-3
            ),
            "is not hashable",
        ),
        (
            lambda: tw.VotedCRF(tw.Chain(), families={"x": 3}, penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "'x' needs a function or a list",
        ),
        (
            lambda: tw.VotedCRF(tw.Chain(), families={}, penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "belongs to no family",
        ),
        (
            lambda: tw.VotedCRF(tw.Chain(), loss=Rational(3), penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "build must be a function",
        ),
        (
            lambda: tw.VotedCRF(
                tw.Chain(),
                loss=Markovian(lambda y, t, labels: "x"),
                penalty_mode="absolute",
                lam=1e-4,
                beta=1e-3,
            ),
            "must be a finite number",
        ),
        (
            lambda: tw.StructBoost(tw.Chain(), loss="none", penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "needs a loss",
        ),
        (
            lambda: tw.StructBoost(tw.Chain(), form="mean", penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "form must be",
        ),
        (
            lambda: tw.StructBoost(tw.Chain(), start="svm", penalty_mode="absolute", lam=1e-4, beta=1e-3),
            "start must be",
        ),
        (
            lambda: tw.StructBoost(
                tw.Chain(), loss=NGrams(2, c=1000), penalty_mode="absolute", lam=1e-4, beta=1e-3
            ),
            "for the true output",
        ),
        (
            lambda: tw.StructBoost(
                tw.Chain(),
                loss=Counted(Hamming(), lambda v, _: -v),
                penalty_mode="absolute",
                lam=1e-4,
                beta=1e-3,
            ),
            "negative",
        ),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(tw.InputError, match=message):
        make().fit(X, Y)


def test_losses_that_are_zero_for_wrong_outputs():
    # Only the number of errors beyond one counts: outputs with one error have loss 0.
    mild = Counted(Hamming(), lambda v, _: max(v - 1.0, 0.0))
    boosted = tw.StructBoost(tw.Chain(), loss=mild, penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(X, Y)
    assert np.isfinite(boosted.objective_)
    assert (
        tw.VotedCRF(tw.Chain(), loss=mild, penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(X, Y).score(X, Y)
        > 0.5
    )
    # No output of these samples is worse than the truth: nothing to learn.
    nothing = tw.StructBoost(tw.Chain(), loss=mild, penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(
        [["a"], ["b"]], [["A"], ["B"]]
    )
    assert not nothing.coef_.any()
    assert list(itertools.chain(*nothing.predict([["a"]]))) in (["A"], ["B"])


def test_minimum_risk_decoding():
    X3, y3 = X * 2, Y * 2
    model = tw.CRF(tw.Chain(), l2=2.0).fit(X3, y3)
    space = model.space_
    for loss in (Edit(), Hamming()):
        found = model.predict_min_risk(X, loss, k=100)
        for x, output in zip(X, found, strict=True):
            outputs = list(space.enumerate(x))
            p = np.exp(model.log_prob([x] * len(outputs), outputs))
            risk = [sum(q * loss(other, one) for q, other in zip(p, outputs, strict=True)) for one in outputs]
            assert np.isclose(risk[outputs.index(output)], min(risk))
    assert model.predict_min_risk(X, "zero-one") == model.predict(X)
    assert model.predict_min_risk([], "edit") == []


def test_support_vector_machine_with_edit_loss():
    for loss in (Edit(), Edit(cap=1), NGrams(2, c=20)):
        oracle = Oracle(tw.Chain().bind(X, Y).pack(X, Y), loss, Form("l1", "margin"))
        w = np.random.default_rng(7).normal(size=oracle.batch.space.n_features)
        found = oracle.find(w)
        problem = Problem(oracle.batch, loss, find_families(oracle.batch.space, "order"), w, np.ones(len(X)))
        for i, (_, losses, margins, _) in enumerate(enumerated(problem, X, w)):
            assert np.isclose(found.value[i], (losses - margins).max())
    assert tw.StructuredSVM(tw.Chain(), C=100, loss="edit", C_mode="absolute").fit(X, Y).gap_ <= 1e-3


@pytest.mark.parametrize("learner", [tw.VotedCRF, tw.StructBoost])
def test_why_the_search_stopped_is_told(learner, monkeypatch, tmp_path):
    assert learner(tw.Chain(), 0.0, 0.2, tol=1e-2, max_iter=500).fit(X, Y).stop_ == "converged"
    model = learner(tw.Chain(), tol=1e-12, max_iter=2).fit(X, Y)
    assert model.stop_ == "max_iter"
    tw.save(model, tmp_path / "model.tw")
    assert tw.load(tmp_path / "model.tw").stop_ == "max_iter"

    def step(self, **values):
        raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "step", step)
    with pytest.warns(tw.FitInterrupted):
        assert learner(tw.Chain()).fit(X, Y).stop_ == "interrupted"


def test_boosting_that_changes_its_scale_tells_the_end_of_the_last_search():
    model = tw.StructBoost(
        tw.Chain(), start="zero", tol=1e-12, max_iter=30, penalty_mode="absolute", lam=1e-4, beta=1e-3
    ).fit(X, Y)
    assert model.n_iter_ == len(model.history_) <= 30
    assert model.stop_ in STOP_REASONS
    assert model.converged_ == (model.stop_ == "converged")
