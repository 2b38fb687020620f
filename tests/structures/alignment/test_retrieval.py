"""Relatives among decoys: laws for every learner, mistakes."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import trelliswork as tw
from trelliswork import Alignment, InputError, Retrieval
from trelliswork.learners import LEARNERS
from trelliswork.losses import Hamming
from trelliswork.testing import check_learner, check_structure

MAKE = {
    "CRF": lambda s: tw.CRF(s, l2=0.5, tol=1e-7),
    "Perceptron": lambda s: tw.Perceptron(s, max_iter=4),
    "StructuredSVM": lambda s: tw.StructuredSVM(s, tol=1e-8, C_mode="absolute", C=1.0),
    # The pairs can be told apart, so the objective is nearly flat along large weights.
    "VotedCRF": lambda s: tw.VotedCRF(s, tol=1e-7, penalty_mode="absolute", lam=1e-4, beta=1e-3),
}


def aligned(rng, n=10):
    """Noisy alignments of short strings of A, B and C; every symbol in every sample."""
    X, y = [], []
    for _ in range(n):
        columns = []
        for k in range(int(rng.integers(3, 6))):
            a, b = (str(s) for s in rng.choice(list("ABC"), 2))
            u = rng.random()
            columns.append(
                (a, "-") if k and u < 0.15 else ("-", b) if k and u < 0.3 else (a, a if u < 0.8 else b)
            )
        columns += [("A", "A"), ("B", "B"), ("C", "C")]
        y.append(tuple("".join(row) for row in zip(*columns, strict=True)))
        X.append(tuple(row.replace("-", "") for row in y[-1]))
    return X, y


HUNTS = [("AB", ["A", "BA"]), ("", ["B", "", "A"]), ("ABC", ["AC"]), ("BA", ["CB", "BCA", "A"])]
FOUND = [(1, ("-AB", "BA-")), (0, ("-", "B")), (0, ("ABC", "A-C")), (1, ("B-A", "BCA"))]
FOUND_LOCAL = [(1, ("-AB", "BA-")), (0, ("-", "B")), (0, ("ABC", "A-C")), (1, ("B-A", "BCA"))]


@pytest.mark.parametrize("model", ["linear", "ordered", "substitution-affine"])
@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_laws_of_retrieval(model, mode):
    y = FOUND_LOCAL if mode == "local" else FOUND
    done = check_structure(Retrieval(Alignment(model, mode=mode)), HUNTS, y)
    assert [reason.partition(":")[0] for reason in done.skipped] == ["partly known"]


@pytest.mark.parametrize("name", LEARNERS)
def test_laws_on_retrieval(name):
    X, y = aligned(np.random.default_rng(2), n=6)
    rng = np.random.default_rng(3)
    hunts, found = [], []
    for (first, second), output in zip(X, y, strict=True):
        place = int(rng.integers(3))
        candidates = ["".join(rng.permutation(list(second))) for _ in range(2)]
        hunts.append((first, [*candidates[:place], second, *candidates[place:]]))
        found.append((place, output))
    structure = Retrieval(Alignment("affine"))
    if name == "Fixed":
        check_learner(tw.Fixed(structure, {("match",): 1.0, ("open",): -1.0}), hunts, found)
    else:
        check_learner(MAKE.get(name, LEARNERS[name])(structure), hunts, found)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([("A", [])], [(0, ("A", "A"))], "sample 0: expected at least one candidate"),
        ([("A", "B")], [(0, ("A", "B"))], "sample 0: expected at least one candidate in a list"),
        (["A"], [(0, ("A", "B"))], "sample 0: expected a sequence and a list of candidates"),
        ([("A", ["B"])], [(1, ("A", "B"))], r"sample 0: candidate 1 is not one of 0 .. 0"),
        ([("A", ["B"])], [("A", "B")], "sample 0: candidate 'A'"),
        (
            [("A", ["B"]), ("A", ["B"])],
            [(0, ("A", "B")), (0, ("A", "C"))],
            "sample 1: residue 0 of the second",
        ),
    ],
)
def test_mistakes_of_retrieval(X, y, message):
    with pytest.raises(InputError, match=message):
        tw.Perceptron(Retrieval(Alignment("linear"))).fit(X, y)


def test_most_probable_candidate():
    weights = {("match",): 1.0, ("mismatch",): -1.0, ("gap",): -1.0}
    model = tw.Fixed(Retrieval(Alignment("linear")), weights)
    X = [("GATT", ["GAT", "TTTT", "GATT"]), ("AC", ["CA"])]
    shares = model.predict_marginals(X)
    found = model.predict_mea(X)
    assert [t for t, _ in found] == [int(p.argmax()) for p in shares]
    assert found[0] == (2, ("GATT", "GATT"))


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="vectors exist in compiled code only")
def test_training_searches_in_double_precision():
    """Only predictions may be rounded: gaps that a learner certifies must be exact."""
    rng = np.random.default_rng(4)
    first, *others = ("".join(rng.choice(list("ABC"), 90)) for _ in range(5))
    X, y = [(first, others)], [(0, tw.AlignPath.from_cigar("90M"))]
    batches = []
    for precision in ("short", "double"):
        structure = Retrieval(Alignment("substitution-affine", alphabet="ABC", precision=precision))
        batches.append(structure.bind(X, y).pack(X, y))
    w = rng.normal(size=batches[0].space.n_features) - 40.0 * np.eye(batches[0].space.n_features)[-1]
    costs = batches[0].mismatch()[0]
    searches = [
        lambda batch, scores: batch.argmax(scores, costs).values,
        lambda batch, scores: batch.loss_profile(scores, costs, 1),
        lambda batch, scores: batch.argmax_at_loss(scores, costs, np.array([1])).values,
    ]
    for search in searches:
        found, wanted = (search(batch, batch.scores(w)) for batch in batches)
        np.testing.assert_array_equal(found, wanted)
    rounded, exact = (batch.pairs.best_scores(batch.pairs.scores(w)) for batch in batches)
    assert np.abs(rounded - exact).max() > 1e-3  # what training would see


def test_normalised_hamming_is_that_of_candidates():
    X, y = [("AB", ["AB", "BA"])], [(0, ("AB", "AB"))]
    batch = Retrieval(Alignment("linear")).bind(X, y).pack(X, y)
    wrong = batch.space.pack(X, [(1, ("AB", "BA"))]).gold_codes
    assert Hamming(normalized=True).evaluate(batch, wrong).tolist() == [1.0]
