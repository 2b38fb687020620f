"""Weights times any power of ten: what enumeration says in exact arithmetic, or one clear error."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.learners.exact import exact_sums
from trelliswork.structures import STRUCTURES

POWERS = (-300, -20, 2, 5, 9, 11, 13, 16, 18, 60, 200, 300)
MOST = 60  # outputs of a sample; their list and its probabilities are compared as a whole
FEW = 3  # of these that are asked one by one, beside the best: each is told apart from its rivals exactly


def problems():
    """Structures with small samples."""
    for name, cls in STRUCTURES.items():
        for i, (structure, X, y) in enumerate(cls.examples()):
            if name not in ("Alignment", "Retrieval"):
                yield f"{name}-{i}", structure, X, y
    pairs, rows = [("AB", "B"), ("BA", "BA")], [("AB", "-B"), ("BA", "BA")]
    yield "Alignment", tw.Alignment("affine"), pairs, rows
    yield "Retrieval", tw.Retrieval(tw.Alignment()), [("a", ["b", "a"])], [(1, ("a", "a"))]


PROBLEMS = {name: problem for name, *problem in problems()}


@pytest.fixture(scope="module", params=list(PROBLEMS))
def model(request):
    structure, X, y = PROBLEMS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = tw.Perceptron(structure, max_iter=1).fit(X, y)
    samples = []
    for x in X:
        outputs = []
        for output in fitted.space_.enumerate(x):
            outputs.append(output)
            if len(outputs) > MOST:
                break
        if 1 < len(outputs) <= MOST:
            samples.append((x, outputs, fitted.pack([x] * len(outputs), outputs)))
    return fitted, samples[:2], X


def weights_of(kind, n_features, power):
    """Random numbers of either sign, small whole numbers with many ties, or one number and little else."""
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        if kind == "normal":
            return rng.normal(size=n_features) * 10.0**power
        if kind == "ties":
            return rng.integers(-1, 2, n_features) * 10.0**power
        return np.full(n_features, 10.0**power) + rng.integers(-2, 3, n_features)


def answer(verb, *args):
    """What a verb says; None for the error that it may raise."""
    try:
        return verb(*args)
    except tw.InputError as error:
        assert "scale the weights or the features down" in str(error)  # noqa: PT017
        return None


@pytest.mark.parametrize("kind", ["normal", "ties", "alike"])
def test_answers_are_exact_or_refused(model, kind):
    fitted, samples, X = model
    answered = 0
    for power in POWERS:
        fitted.coef_ = weights_of(kind, fitted.space_.n_features, power)
        for sample in samples:
            answered += compare(fitted, *sample)
        lists = answer(fitted.predict_kbest, X, 3)
        for ranked in lists or ():
            p = [c.probability for c in ranked]
            assert all(0 <= q <= 1 for q in p)
            assert sum(p) <= 1 + 1e-9
            assert all(a.score >= b.score for a, b in itertools.pairwise(ranked))
            assert len({repr(c.output) for c in ranked}) == len(ranked)
    assert answered or not samples


def compare(model, x, outputs, batch):
    """Compare all verbs with exact sums over all outputs; returns how many of them answered."""
    if type(batch).candidates is not tw.structures.Batch.candidates or isinstance(
        model.structure, tw.Retrieval
    ):
        return 1  # outputs of several derivations, lists of candidates: the law above alone
    sums = exact_sums(batch, model.coef_, batch.gold_codes)
    best = max(sums)
    shares = np.array([math.exp(max(float(s - best), -800.0)) for s in sums])
    shares /= shares.sum()
    answered = 0
    predicted = answer(model.predict, [x])
    if predicted is not None:
        answered += 1
        number = [repr(output) for output in outputs].index(repr(predicted[0]))
        assert near(sums[number], best, model.coef_)
    some = sorted({int(shares.argmax()), *range(0, len(outputs), len(outputs) // FEW + 1)})
    log_p = answer(model.log_prob, [x] * len(some), [outputs[j] for j in some])
    if log_p is not None:
        answered += 1
        np.testing.assert_allclose(np.exp(log_p), shares[some], atol=1e-4)
    lists = answer(model.predict_kbest, [x], len(outputs) + 1)
    if lists is not None:
        answered += 1
        assert len(lists[0]) == len(outputs)
        places = {repr(output): j for j, output in enumerate(outputs)}
        order = [places[repr(c.output)] for c in lists[0]]
        np.testing.assert_allclose([c.probability for c in lists[0]], shares[order], atol=1e-4)
        assert near(sums[order[0]], best, model.coef_)
    marginals = answer(model.predict_marginals, [x])
    one = model.pack([x])
    if marginals is not None and one.indicates_all:
        answered += 1
        codes, total = batch.gold_codes, None
        for j in range(len(outputs)):
            piece = one.indicators(codes[np.array([j])], shares[j : j + 1])
            total = piece if total is None else total + piece
        same(marginals[0], one.unpack_marginals(total)[0])
    return answered


def near(a, b, weights):
    """Whether two exact scores are the same but for what double precision cannot hold."""
    return abs(a - b) <= 100 * Fraction(np.finfo(float).eps) * Fraction(float(np.abs(weights).max()))


def same(a, b):
    if isinstance(a, dict):
        assert a.keys() <= b.keys()
        for key, value in b.items():
            same(a.get(key, 0.0), value)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for left, right in zip(a, b):
            same(left, right)
    elif hasattr(a, "toarray"):
        np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-4)
    elif isinstance(a, (float, np.ndarray)):
        np.testing.assert_allclose(a, b, atol=1e-4)
