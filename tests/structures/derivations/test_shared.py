"""Outputs that several derivations share, against enumeration of the derivations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from trelliswork import CRF, Derivations, Edge, Perceptron, StructuredSVM, load, save

X = ["ab", "ba", "aab", "b", "abba"]
Y = [list(enumerate(x.upper())) for x in X]


def build(x):
    """Labels of letters; how they are grouped into trees, and the colour of each leaf, is hidden."""
    for i in range(len(x)):
        for label, colour in product("AB", "xy"):
            yield Edge((i, i + 1), [], [(x[i], label), (x[i], colour), (label, colour)], (i, label))
    for size in range(2, len(x) + 1):
        for i in range(len(x) - size + 1):
            for m in range(i + 1, i + size):
                yield Edge((i, i + size), [(i, m), (m, i + size)], [("cut", m - i, x[m])])


def walk(edges, node):
    """Parts and features of every derivation of a node, by plain recursion."""
    for edge in edges:
        if edge.head == node:
            for below in product(*(list(walk(edges, u)) for u in edge.tails)):
                parts = [edge.part] if edge.part is not None else []
                names = list(edge.features)
                for more_parts, more_names in below:
                    parts, names = parts + more_parts, names + more_names
                yield parts, names


def derivations(space, w, x):
    """Outputs, scores and features of all derivations of an input."""
    edges = list(build(x))
    found = list(walk(edges, edges[-1].head))
    phi = np.zeros((len(found), space.n_features))
    for row, (_, names) in zip(phi, found, strict=True):
        for name in names:
            row[space.columns[name]] += 1.0
    return [parts for parts, _ in found], phi @ w, phi


@pytest.fixture(scope="module")
def bound():
    space = Derivations(build, shared=True).bind(X, Y)
    return space, np.random.default_rng(1).normal(size=space.n_features)


def test_sums_over_the_derivations_of_true_outputs(bound):
    space, w = bound
    weights = np.array([1.0, 0.5, 2.0, 0.0, 3.0])
    batch = space.pack(X, Y)
    stored, joined = space.restore(batch.state()), batch.joined(batch).subset(np.arange(5))
    for same in (batch, stored, joined, batch.into(space)):
        log_known, mean = same.expect_known(w, weights)
        wanted = np.zeros(space.n_features)
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            outputs, scores, phi = derivations(space, w, x)
            right = np.array([o == y for o in outputs])
            assert right.sum() > 1
            assert log_known[i] == pytest.approx(logsumexp(scores[right]))
            wanted += weights[i] * np.exp(scores[right] - logsumexp(scores[right])) @ phi[right]
        assert np.allclose(mean, wanted)
        assert np.allclose(same.gold_values(same.scores(w)), log_known)


def test_completions_are_best_derivations_of_the_true_output(bound):
    space, w = bound
    batch = space.pack(X, Y)
    found = batch.completion(batch.scores(w))
    assert batch.unpack(found.codes) == Y
    for x, y, value in zip(X, Y, found.values, strict=True):
        outputs, scores, _ = derivations(space, w, x)
        assert value == pytest.approx(max(s for o, s in zip(outputs, scores, strict=True) if o == y))
    costs, constant = batch.completed(found.codes).mismatch()
    assert not batch.evaluate(found.codes, costs).any()
    assert not constant.any()


def test_gradient_of_the_hidden_objective(bound):
    space, w = bound
    batch, h = space.pack(X, Y), np.random.default_rng(2).normal(size=space.n_features)

    def value(v):
        (log_z, expected), (log_known, target) = batch.expect(v), batch.expect_known(v)
        return (log_z - log_known).sum(), expected - target

    up, down = (value(w + s * h)[0] for s in (1e-5, -1e-5))
    assert (up - down) / 2e-5 == pytest.approx(value(w)[1] @ h, rel=1e-6)


def test_outputs_are_listed_once_with_the_sums_of_their_derivations(bound):
    space, w = bound
    batch = space.pack(X[:4])
    scores = batch.scores(w)
    for i, (x, found) in enumerate(zip(X, batch.candidates(scores, 200), strict=False)):
        outputs, values, _ = derivations(space, w, x)
        totals = {tuple(o): -np.inf for o in outputs}
        for o, v in zip(outputs, values, strict=True):
            totals[tuple(o)] = np.logaddexp(totals[tuple(o)], v)
        listed = list(map(tuple, batch.unpack_sample(i, found.codes)))
        assert sorted(listed) == sorted(totals) == sorted(map(tuple, space.enumerate(x)))
        assert np.allclose(found.values, sorted(totals.values(), reverse=True))
        assert np.allclose(found.values, [totals[o] for o in listed])


def test_one_derivation_each_is_the_ordinary_fit_and_sets_of_parts_may_be_mixed_in():
    def plain(x):
        yield Edge(len(x))
        for i in reversed(range(len(x))):
            for label in "AB":
                yield Edge(i, [i + 1], [(x[i], label)], (i, label))

    one, other = (CRF(Derivations(plain, shared=s), l2=0.1).fit(X, Y) for s in (False, True))
    assert np.allclose(one.coef_, other.coef_, atol=1e-4)
    known = [*Y[:3], {(0, "B")}, None]
    one, other = (Derivations(plain, shared=s).bind(X, known) for s in (False, True))
    w = np.random.default_rng(0).normal(size=one.n_features)
    values = [space.pack(X, known) for space in (one, other)]
    assert np.allclose(*(batch.gold_values(batch.scores(w)) for batch in values))
    assert np.allclose(
        values[1].gold_values(values[1].scores(w))[4], values[1].log_partition(values[1].scores(w))[4]
    )


@pytest.mark.parametrize("learner", [CRF, Perceptron, StructuredSVM])
def test_learners(learner, tmp_path):
    structure = Derivations(build, shared=True)
    model = learner(structure).fit(X, Y)
    assert model.predict(X) == Y
    assert model.predict(["ab"], known=[[(0, "B"), (1, "B")]]) == [[(0, "B"), (1, "B")]]
    outputs = list(model.space_.enumerate("ab"))
    assert np.exp(model.log_prob(["ab"] * len(outputs), outputs)).sum() == pytest.approx(1.0)
    assert model.log_prob(["ab"], [[(0, "A")]]).tolist() == [-np.inf]
    save(model, tmp_path / "m.tw")
    assert load(tmp_path / "m.tw", structure=structure).predict(X) == Y
