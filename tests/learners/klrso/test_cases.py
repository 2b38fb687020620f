"""Generative models with predicted multinomials: odd data and kernels, and what holds on every structure."""

from __future__ import annotations

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import bounds
from trelliswork.kernels import Normalized, Spectrum
from trelliswork.learners.klrso import problems
from trelliswork.structures import Chain

CHAINS = (
    [list("+ab"), list("+aab"), list("+ba"), list("-ab"), list("-aab"), list("-ba")],
    [list("SXY"), list("SXXY"), list("SYX"), list("SYX"), list("SYYX"), list("SXY")],
)
TREES = [
    "(S (NP (D the) (N dog)) (VP (V sees)))",
    "(S (NP (D a) (N cat)) (VP (V sees) (NP (D the) (N dog))))",
    "(S (NP (N cats)) (VP (V sleep)))",
    "(S (NP (N dogs)) (VP (V see) (NP (N cats))))",
    "(S (NP (N dogs)) (VP (V see)))",
]
SENTENCES = [[word.strip("()") for word in tree.split() if word.endswith(")")] for tree in TREES]
FOLDS = (
    ["GGGAAACCC", "GCGCAAAGCGC", "GGAUUCGCC", "AAGGGUUUUCCC", "ACGUAACG"],
    ["(((...)))", "((((...))))", "((.....))", "..(((....)))", "........"],
)
PAIRS = (
    [("GATTACA", "GATACA"), ("TTAC", "TAC"), ("CATCAT", "CATAT"), ("GGT", "GCT")],
    [("GATTACA", "GAT-ACA"), ("TTAC", "-TAC"), ("CATCAT", "CAT-AT"), ("GGT", "GCT")],
)
CASES = {
    "chain": (Chain(), *CHAINS),
    "grammar": (tw.Grammar(min_count=1), SENTENCES, TREES),
    "g6": (tw.RNA("g6"), *FOLDS),
    "nested": (tw.RNA("nested", depth=2), *FOLDS),
    "alignment": (tw.Alignment("substitution", alphabet="dna"), *PAIRS),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weighting", ["example", "count"])
def test_stationary_on_every_structure(case, weighting):
    """A = w (T - P) / (2 reg)."""
    structure, X, y = CASES[case]
    model = tw.KLRSO(structure, reg=0.05, weighting=weighting, min_count=2, tol=1e-10).fit(X, y)
    assert model.heads_
    counts = model.space_.pack(X, y).gold().toarray()
    shares = model.predict_multinomials(X)
    for number, head in enumerate(model.heads_):
        own = slice(model.outcome_ptr_[number], model.outcome_ptr_[number + 1])
        c = counts[:, model.outcomes_[own]]
        uses = c.sum(axis=1)
        P = shares[head][1] / shares[head][1].sum(axis=1, keepdims=True)
        w = uses if weighting == "count" else uses > 0
        dual = w[:, None] * (c / np.maximum(uses, 1)[:, None] - P) / (2 * 0.05)
        assert np.abs(dual - model.dual_coef_[:, own]).max() < 1e-5, head


@pytest.mark.parametrize("case", CASES)
def test_outputs_are_scored_by_the_predicted_probabilities(case):
    """Against the sum over all outputs of tiny inputs."""
    structure, X, y = CASES[case]
    model = tw.KLRSO(structure, reg=0.02, min_count=1).fit(X, y)
    at = min(range(len(X)), key=lambda i: len("".join(map("".join, X[i]))))
    outputs = list(model.space_.enumerate(X[at]))
    batch = model.space_.pack([X[at]] * len(outputs), outputs)
    log_p = model.log_prob_.copy()
    for number, (_, shares) in enumerate(model.predict_multinomials([X[at]]).values()):
        own = slice(model.outcome_ptr_[number], model.outcome_ptr_[number + 1])
        log_p[model.outcomes_[own]] = np.log(shares[0])
    # What is not a choice (gaps of alignments) stays as in the generative model.
    w = model.coef_ + batch.outcome_weights(log_p) - batch.outcome_weights(model.log_prob_)
    scores = batch.gold() @ w
    expected = scores - np.logaddexp.reduce(scores)
    assert np.allclose(model.log_prob([X[at]] * len(outputs), outputs), expected, atol=1e-8)
    best = model.predict_kbest([X[at]], k=1)[0][0]
    assert np.isclose(np.log(best.probability), expected.max(), atol=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_large_reg_is_the_generative_model_with_every_verb(case):
    structure, X, y = CASES[case]
    plain, model = (
        tw.Generative(structure).fit(X, y),
        tw.KLRSO(structure, reg=1e12, min_count=1).fit(X, y),
    )
    assert np.allclose(model.log_prob(X, y), plain.log_prob(X, y), atol=1e-8)
    for a, b in ((model, plain), (plain, model)):  # one of several best outputs
        assert np.allclose(a.log_prob(X, b.predict(X)), a.log_prob(X, a.predict(X)), atol=1e-8)
    assert model.sample(X[:2], 2, random_state=0) == plain.sample(X[:2], 2, random_state=0)
    free = tw.KLRSO(structure, reg=1e12, min_count=1, bias="free", weighting="count", smoothing=1e-9)
    plain = tw.Generative(structure, smoothing=1e-9).fit(X, y)
    assert np.allclose(free.fit(X, y).log_prob(X, y), plain.log_prob(X, y), atol=1e-4)


def test_zero_counts():
    X, y = CHAINS
    for min_count in (0, 1):
        model = tw.KLRSO(Chain(labels=["S", "X", "Y", "never"]), min_count=min_count).fit(X, y)
        assert not [head for head in model.heads_ if "never" in head]
        names, shares = model.predict_multinomials(X)[("transition", "X")]
        assert ("transition", "X", "never") not in names  # keeps its smoothed probability
        assert (shares.sum(axis=1) < 1).all()
        assert np.isfinite(model.log_prob(X, [["never"] * len(x) for x in X])).all()
    # Samples without weight are no counts.
    left = tw.KLRSO(Chain(), min_count=0).fit(X + X, y + y[3:] + y[:3], sample_weight=[1] * 6 + [0] * 6)
    alone = tw.KLRSO(Chain(), min_count=0).fit(X, y)
    assert np.allclose(left.log_prob(X, y), alone.log_prob(X, y), atol=1e-6)


def test_heads_seen_once_or_with_one_input_are_generative():
    X, y = CHAINS
    model = tw.KLRSO(Chain(), min_count=1).fit([*X, list("qr")], [*y, list("ZZ")])
    plain = tw.Generative(Chain()).fit([*X, list("qr")], [*y, list("ZZ")])
    own = [
        i for i, name in enumerate(model.space_.feature_names) if name[0] == "emission" and name[-1] == "Z"
    ]
    assert not set(own) & set(model.outcomes_.tolist())
    assert np.array_equal(model.coef_[own], plain.coef_[own])
    # One input with contradicting outputs: nothing depends on the input.
    same = tw.KLRSO(Chain(), min_count=1).fit([X[0]] * 3, [y[0], y[3], y[3]])
    assert same.heads_ == []
    assert same.predict([X[0]]) == tw.Generative(Chain()).fit([X[0]] * 3, [y[0], y[3], y[3]]).predict([X[0]])


def test_equal_rows_of_features_are_averaged_too():
    X = [["a"], ["a"], ["a"], ["b"], ["b"]]
    y = [["P"], ["Q"], ["Q"], ["P"], ["Q"]]
    options = {"reg": 0.3, "min_count": 1, "heads": [("start",)], "tol": 1e-10}

    def rows(X):
        return np.array([[float(x[0] == "a"), float(x[0] == "b")] for x in X])

    given = tw.KLRSO(Chain(), "linear", features=rows, **options).fit(X, y)
    found = tw.KLRSO(Chain(), Normalized(Spectrum(1, 1)), **options).fit(X, y)
    a, b = (m.predict_multinomials([["a"], ["b"]])[("start",)][1] for m in (given, found))
    assert np.allclose(a, b, atol=1e-8)
    assert len(found.inputs_) == 2
    with pytest.raises(tw.InputError, match="features gives 3 columns; in training it gave 2"):
        given.set_params(features=lambda X: np.zeros((len(X), 3))).predict(X)


def test_one_bad_value_of_a_kernel_is_named_by_its_sample():
    X, y = CHAINS

    def kernel(A, B):
        out = Spectrum(1, 2)(A, B)
        out[[a[0] == "-" for a in A]] = np.nan
        return out

    repeated = [X[0], *X], [y[0], *y]  # of equal inputs the first is compared
    with pytest.raises(tw.InputError, match="sample 4: the kernel gives nan; it must be finite"):
        tw.KLRSO(Chain(), kernel, min_count=1).fit(*repeated)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda A, B: 1e300 * Spectrum(1, 2)(A, B), "the kernel gives 5e\\+300; .* no larger than 1e\\+100"),
        (lambda A, B: -np.inf * Spectrum(1, 1)(A, B), "the kernel gives -inf"),
        (lambda A, B: 1j * Spectrum(1, 2)(A, B), "array of real numbers, got complex128"),
        (lambda A, B: "similar", "array of real numbers, got <U7"),
        (lambda A, B: None, "array of real numbers, got object"),
        (lambda A, B: 1.0, r"shape \(\) for 6 and 6 inputs"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_kernels_that_are_none(kernel, message):
    with pytest.raises(tw.InputError, match=message):
        tw.KLRSO(Chain(), kernel, min_count=1).fit(*CHAINS)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12])
@pytest.mark.parametrize("reg", [1e-300, 1.0, 1e100])
def test_extreme_scales_stay_finite(scale, reg):
    X, y = CHAINS
    model = tw.KLRSO(Chain(), lambda A, B: scale * Spectrum(1, 2)(A, B), reg=reg, min_count=1).fit(X, y)
    assert np.isfinite(model.log_prob(X, y)).all()


def test_unknown_inputs_fall_back_to_the_constants():
    X, y = CHAINS
    model, plain = tw.KLRSO(Chain(), min_count=1).fit(X, y), tw.Generative(Chain()).fit(X, y)
    assert model.predict([list("zzz"), []]) == plain.predict([list("zzz"), []])
    assert np.allclose(model.log_prob([list("zz")], [list("SX")]), plain.log_prob([list("zz")], [list("SX")]))


def test_what_does_not_fit_in_memory_is_refused():
    X, y = CHAINS
    options = {"names": np.arange(6), "basis": "cholesky", "rng": np.random.default_rng(0), "max_bytes": 100}
    with pytest.raises(tw.InputError, match=r"the Gram matrix of 6 inputs takes .* set n_basis"):
        problems.make_design(Spectrum(1, 3), X, n_basis=None, **options)
    assert problems.make_design(Spectrum(1, 3), X, n_basis=3, **options).chosen.size == 3
    assert tw.KLRSO(Chain(), min_count=1, n_basis=3).fit(X, y).score(X, y) > 0.5
    with pytest.raises(tw.InputError, match=r"6 inputs times 20 outcomes are too many coefficients"):
        problems.check_size(6, 20, max_bytes=100)
    problems.check_size(6, 2, max_bytes=100)


def test_least_risk_uses_the_probabilities_of_each_input():
    X, y = CHAINS
    model = tw.KLRSO(Chain(), reg=0.01, min_count=1).fit(X, y)
    assert model.predict_min_risk(X, "zero-one") == model.predict(X) == y
    assert model.predict_min_risk(X, "hamming", k=20) == model.predict_mea(X)


def test_bounds_refuse_models_without_one_weight_vector():
    model = tw.KLRSO(Chain(), min_count=1).fit(*CHAINS)
    for bound in (bounds.soda, bounds.margin):
        with pytest.raises(tw.InputError, match="this KLRSO compares inputs by a kernel; bounds need one"):
            bound(model, *CHAINS)


def test_progress_over_the_multinomials(caplog):
    with caplog.at_level("INFO", logger="trelliswork"):
        model = tw.KLRSO(Chain(), min_count=1, verbose=2).fit(*CHAINS)
    assert len(caplog.messages) == len(model.heads_)
    for head in model.heads_:
        assert f"head {head}  inputs " in caplog.text
