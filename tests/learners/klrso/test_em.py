"""Predicted multinomials from outputs that are known in part, by expectation-maximisation."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.learners.klrso.em import expected_counts

X = [list("+ab"), list("+aab"), list("+ba"), list("-ab"), list("-aab"), list("-ba")]
Y = [list(row) for row in ("SXY", "SXXY", "SYX", "SYX", "SYYX", "SXY")]
SOME = [row if i % 3 else [None, *row[1:-1], {"X", "Y"}] for i, row in enumerate(Y)]
OPTIONS = {"reg": 0.05, "min_count": 0.5, "weighting": "count", "tol": 1e-9}


TAXONOMY = {"thing": {"animal": {"cat": {}, "dog": {}}, "plant": {"oak": {}, "elm": {}}}}
DOCS = [["meow", "fur"], ["woof", "fur"], ["leaf", "acorn"], ["leaf", "wing"]] * 4
LABELS = [["cat", "dog", "oak", "elm"][i % 4] for i in range(16)]
CLASSES = [
    "animal" if i == 4 else {"oak", "elm"} if i in (2, 7) else None if i == 9 else LABELS[i]
    for i in range(16)
]
CASES = {
    "chain": (tw.Chain(), X, SOME),
    "classes": (tw.Classes(), DOCS, [None if label == "animal" else label for label in CLASSES]),
    "taxonomy": (tw.Classes(TAXONOMY), DOCS, CLASSES),
    "grammar": (
        tw.Grammar(["S -> S S | T S | 'a' | 'b'", "T -> 'a' | 'b'"], unknown=None),
        [["a", "b"], ["b", "a", "a"], ["a", "a", "b"], ["b", "b", "a"]],
        ["(S (T a) (S b))", {("S", 1, 3)}, "(S (S (S a) (S a)) (S b))", {("S", 0, 2)}],
    ),
    "rna": (
        tw.RNA("g6"),
        ["GGAAACC", "GCAAAGC", "GGGAAACCC", "GAAAC"],
        ["((...))", None, "(((...)))", "(...)"],
    ),
}


def law_of(model, X):
    """Log-probabilities of outputs, one dict per input, by enumeration under the weights of the input."""
    found = []
    for x in X:
        outputs = list(model.space_.enumerate(x))
        batch = model.space_.pack([x] * len(outputs), outputs)
        found.append((outputs, batch.gold_values(model.part_scores(batch, [x] * len(outputs)))))
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_penalised_likelihood_never_falls(case):
    structure, X, y = CASES[case]
    model = tw.KLRSO(structure, fill_in="em", **OPTIONS).fit(X, y)
    values = [record["objective"] for record in model.rounds_]
    assert model.completed_by_ == "em"
    assert len(values) > 1
    assert np.all(np.diff(values) > 0)
    # It is the probability of what is known, less the penalty on the last functions.
    log_p = 0.0
    for x, known, (outputs, scores) in zip(X, y, law_of(model, X), strict=True):
        log_p += np.logaddexp.reduce(
            [s for o, s in zip(outputs, scores, strict=True) if model.space_.agrees(x, known, o)]
        )
    penalty = model.reg * sum(
        float(A @ K @ A) for K in [model.kernel_(model.inputs_, model.inputs_)] for A in model.dual_coef_.T
    )
    assert np.isclose(values[-1], log_p - penalty, rtol=1e-6)


@pytest.mark.parametrize("case", ["chain", "taxonomy", "grammar"])
def test_expected_counts_are_those_of_all_outputs_that_agree(case):
    structure, X, y = CASES[case]
    model = tw.KLRSO(structure, fill_in="em", **OPTIONS).fit(X, y)
    batch = model.space_.pack(X, y)
    K = model._compared(X)
    counts = expected_counts(batch, lambda some, part: some.scores_each(model._weights(some, K[part])), 2)
    for i, (outputs, scores) in enumerate(law_of(model, X)):
        fine = [j for j, output in enumerate(outputs) if model.space_.agrees(X[i], y[i], output)]
        p = np.exp(scores[fine] - np.logaddexp.reduce(scores[fine]))
        features = model.space_.pack([X[i]] * len(fine), [outputs[j] for j in fine]).gold()
        assert np.allclose(counts[[i]].toarray().ravel(), features.T @ p)


def test_the_last_round_is_a_stationary_point():
    structure, X, y = CASES["chain"]
    model = tw.KLRSO(structure, fill_in="em", reg=0.2, min_count=0.5, weighting="count", tol=1e-10).fit(X, y)
    gram = model.kernel_(model.inputs_, model.inputs_)
    batch = model.space_.pack(X, y)
    best = model.dual_coef_.copy()

    def value():
        penalty = model.reg * np.einsum("il,ij,jl->", model.dual_coef_, gram, model.dual_coef_)
        return batch.gold_values(model.part_scores(batch, X)).sum() - penalty

    rng, top = np.random.default_rng(0), value()
    for _ in range(20):
        direction = rng.normal(size=best.shape)
        model.dual_coef_ = best + 1e-4 * direction / np.linalg.norm(direction)
        assert value() < top + 1e-6


def test_outputs_that_are_known_are_the_ordinary_fit():
    plain = tw.KLRSO(tw.Chain(), **OPTIONS).fit(X, Y)
    model = tw.KLRSO(tw.Chain(), fill_in="em", **OPTIONS).fit(X, Y)
    assert np.array_equal(model.dual_coef_, plain.dual_coef_)
    assert np.array_equal(model.log_prob_, plain.log_prob_)
    assert (model.rounds_, model.completed_by_) == ([], None)


def test_weights_are_repetitions():
    double = tw.KLRSO(tw.Chain(), fill_in="em", **OPTIONS).fit([*X, X[0]], [*SOME, SOME[0]])
    weighted = tw.KLRSO(tw.Chain(), fill_in="em", **OPTIONS).fit(X, SOME, sample_weight=[2, 1, 1, 1, 1, 1])
    assert np.allclose(double.log_prob(X, Y), weighted.log_prob(X, Y), atol=1e-4)


def test_what_is_known_helps():
    model = tw.KLRSO(tw.Chain(), fill_in="em", **OPTIONS).fit(X, SOME)
    assert model.predict(X) == Y


def test_refusals():
    with pytest.raises(tw.InputError, match="every use counts: weighting='count'"):
        tw.KLRSO(tw.Chain(), fill_in="em").fit(X, SOME)
    with pytest.raises(tw.InputError, match="fill_in must be 'crf' or 'em'"):
        tw.KLRSO(tw.Chain(), fill_in="guess").fit(X, SOME)
    with pytest.raises(tw.Unsupported, match="not made of probabilities"):
        tw.KLRSO(tw.RNA(), fill_in="em", weighting="count").fit(["GGAAACC", "GGGAAACCC"], [None, "(((...)))"])
