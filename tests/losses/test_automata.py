"""Losses inside the law: every row of the table of losses against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.losses import (
    F1,
    Counted,
    Edit,
    Hamming,
    Markovian,
    NGrams,
    Rational,
    WeightedAutomaton,
    ZeroOne,
)
from trelliswork.losses.automata import TooManyStates
from trelliswork.losses.forms import LogForm
from trelliswork.losses.inside import Additive, inside, loss_automata
from trelliswork.losses.oracle import Oracle
from trelliswork.structures.chain.product import ChainView
from trelliswork.structures.derivations.product import GraphProduct

X = [["a", "b", "a", "c"], ["b", "a"], ["c"], ["a", "a", "b"]]
Y = [["A", "B", "C", "A"], ["B", "B"], ["C"], ["A", "C", "A"]]


def changes(y_true, t, labels):
    edge = t > 0 and (labels[-2] != labels[-1]) != (y_true[t - 1] != y_true[t])
    return float(edge) + 0.5 * (labels[-1] != y_true[t])


def far(y_true, t, labels):
    return 0.0 if labels == tuple(y_true[max(0, t - 2) : t + 1]) else 0.3 * len(set(labels))


def several_paths(y_true):
    arcs = []
    for i, a in enumerate(y_true):
        arcs += [(i, a, i + 1, 0.0), (i, None, i + 1, 1.0), (i, a, i + 1, 0.5)]
    return WeightedAutomaton(arcs, 0, {len(y_true): 0.0})


LOSSES = {
    "hamming": Hamming(),
    "normalized": Hamming(normalized=True),
    "edit": Edit(),
    "capped": Edit(cap=1),
    "costs": Edit(insertion=0.7, deletion=1.3, substitution={("A", "B"): 0.4}),
    "normalized edit": Edit(normalized=True),
    "zero-one": ZeroOne(),
    "pairs": Markovian(changes),
    "triples": Markovian(far, 3),
    "ngrams": NGrams(2, c=20),
    "long ngrams": NGrams(3, c=20),
    "root": Counted(Hamming(), lambda v, _: math.sqrt(v)),
    "matches": Counted(NGrams(2, c=0), lambda v, best: -math.log((1 - v) / (20 - best))),
    "sum": Rational(several_paths, semiring="log"),
    "least": Rational(several_paths, semiring="tropical"),
}
CHAINS = {
    "order1": tw.Chain(),
    "order2": tw.Chain(2),
    "edges": tw.Chain(edge_features="all", start=False),
    "joined": tw.Chain(2, edge_features={3: "all"}, start=False),
}
CHAINS["limits"] = tw.Chain(transitions=[tuple(p) for p in ("AB", "BC", "CA", "BB", "AC", "AA")])


def against_enumeration(structure, X, y, loss, rng):
    space = structure.bind(X, y)
    batch = space.pack(X, y)
    w = rng.normal(size=space.n_features)
    scores = batch.scores(w)
    made = inside(batch, loss)
    log_z, features = made.expect(w)
    risk, best = made.risk(scores), made.argmax(scores)
    worst = Oracle(batch, loss, LogForm()).find(w)
    gold = batch.evaluate(batch.gold_codes, scores)
    least, largest = made.smallest(), made.largest()
    share = rng.random(len(X))
    weighted = made.risk_features(scores, share)
    mean, under_risk = np.zeros(w.size), np.zeros(w.size)
    for i, x in enumerate(X):
        outputs = list(space.enumerate(x))
        many = batch.subset(np.full(len(outputs), i))
        codes = space.pack([x] * len(outputs), outputs).gold_codes
        phi = many.features(codes).toarray()
        s, values = phi @ w, loss.evaluate(many, codes)
        total = s + values
        assert np.isclose(log_z[i], np.logaddexp.reduce(total), atol=1e-9)
        p = np.exp(s - np.logaddexp.reduce(s))
        assert np.isclose(risk[i], p @ values, atol=1e-9)
        assert np.isclose(best.values[i], total.max(), atol=1e-9)
        with np.errstate(divide="ignore"):
            logs = s + np.log(values)
        assert np.isclose(worst.value[i] + gold[i], logs.max(), atol=1e-9)
        assert np.isclose(least[i], values.min(), atol=1e-9)
        assert np.isclose(largest[i], values.max(), atol=1e-9)
        mean += np.exp(total - log_z[i]) @ phi
        under_risk += share[i] * (p * values) @ phi / (p @ values)
    assert np.allclose(features, mean, atol=1e-9)
    assert np.allclose(weighted, under_risk, atol=1e-9)
    assert np.allclose(made.loss_of(best.codes) + batch.evaluate(best.codes, scores), best.values, atol=1e-9)
    return made


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("name", LOSSES)
def test_chains(name, chain):
    made = against_enumeration(CHAINS[chain], X, Y, LOSSES[name], np.random.default_rng(0))
    assert isinstance(made, Additive) == (name in ("hamming", "normalized"))


def label_graph(tokens):
    yield tw.Edge(len(tokens))
    for t in reversed(range(len(tokens))):
        for label in "ABC":
            yield tw.Edge(t, [t + 1], [(tokens[t], label), label], label)


def trees(tokens):
    """Binary trees with a label at every node; parts repeat."""
    n = len(tokens)
    for i in range(n):
        for label in "AB":
            yield tw.Edge((i, i + 1), [], [(tokens[i], label)], label)
    for size in range(2, n + 1):
        for i in range(n - size + 1):
            for k in range(i + 1, i + size):
                for label in "XY":
                    yield tw.Edge((i, i + size), [(i, k), (k, i + size)], [label, k - i], (label, k - i))


TREES = [[("X", 1), "A", ("Y", 1), "B", "A"], [("X", 1), "A", "A"], ["B"]]
ON_DERIVATIONS = ["edit", "capped", "costs", "normalized edit", "zero-one", "ngrams", "root"]


@pytest.mark.parametrize("name", ON_DERIVATIONS)
def test_derivations(name):
    rng = np.random.default_rng(1)
    if name != "root":  # parts carry no position: all labels of the first sample are right somewhere
        against_enumeration(tw.Derivations(label_graph), X, Y, LOSSES[name], rng)
    against_enumeration(tw.Derivations(trees), [["a", "b", "a"], ["b", "a"], ["b"]], TREES, LOSSES[name], rng)


@pytest.mark.parametrize("chain", CHAINS)
def test_chain_recursion_against_the_general_engine(chain):
    rng = np.random.default_rng(2)
    space = CHAINS[chain].bind(X, Y)
    batch = space.pack(X, Y)
    automata = loss_automata(batch, Edit(cap=2))
    fast, general = batch.product(automata), GraphProduct(ChainView(batch), automata)
    scores, weights = batch.scores(rng.normal(size=space.n_features)), rng.random(len(X))
    for scale in (0.0, 1.0, -0.5):
        assert np.allclose(fast.log_partition(scores, scale), general.log_partition(scores, scale))
        assert np.allclose(fast.argmax(scores, scale).values, general.argmax(scores, scale).values)
        assert np.array_equal(
            fast.argmax(scores, scale).codes.values, general.argmax(scores, scale).codes.values
        )
    assert np.allclose(fast.risk(scores), general.risk(scores))
    for risk in (False, True):
        one = batch.pull(fast.marginals(scores, 0.0, weights=weights, risk=risk))
        two = batch.pull(general.marginals(scores, 0.0, weights=weights, risk=risk))
        assert np.allclose(one, two)


def test_scores_far_apart_go_to_the_general_engine():
    space = tw.Chain().bind(X, Y)
    batch = space.pack(X, Y)
    made = inside(batch, Edit())
    w = 400.0 * np.random.default_rng(3).normal(size=space.n_features)
    log_z, features = made.expect(w)
    assert np.allclose(log_z, made.argmax(batch.scores(w)).values, rtol=1e-3)
    step = 1e-3 * np.random.default_rng(4).normal(size=w.size)
    moved = made.expect(w + step)[0].sum() - made.expect(w - step)[0].sum()
    assert np.isclose(moved, 2 * features @ step, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["none", *LOSSES])
def test_gradient_by_finite_differences(name):
    space = tw.Chain(2).bind(X, Y)
    batch = space.pack(X, Y)
    rng = np.random.default_rng(5)
    w, step = rng.normal(size=space.n_features), 1e-5 * rng.normal(size=space.n_features)
    made = inside(batch, LOSSES.get(name))
    moved = made.expect(w + step)[0].sum() - made.expect(w - step)[0].sum()
    assert np.isclose(moved, 2 * made.expect(w)[1] @ step, rtol=1e-6, atol=1e-12)


def test_sizes_of_edit_automata():
    # n = 4: 28 columns in all; a cap keeps the growth down.
    sizes = [Edit().automaton(list("abcd")[:n], list("abcd"), n).n_states for n in (1, 2, 3, 4)]
    assert sizes == sorted(sizes)
    reference = list("abcdabcd")
    free = Edit().automaton(reference, list("abcd"), 8).n_states
    assert Edit(cap=2).automaton(reference, list("abcd"), 8).n_states < free / 3


def test_too_many_states_name_the_count_and_the_remedy():
    labels = list("abcdefgh") * 4
    with pytest.raises(TooManyStates, match=r"sample 0: the automaton of Edit\(\) has [\d,]+ states .*cap=3"):
        tw.VotedCRF(tw.Chain(), loss=Edit(), penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(
            [labels], [labels]
        )
    assert Edit(cap=2).automaton(labels, list("abcdefgh"), 32).n_states < 50_000
    with pytest.raises(TooManyStates, match="lower n"):
        Markovian(changes, 4).automaton(labels, list("abcdefgh"), 32, limit=1000)


def one_or_two(tokens):
    yield tw.Edge("end")
    for label in "AB":
        yield tw.Edge("second", ["end"], [("second", label)], label)
    for label in "AB":
        yield tw.Edge("first", ["second"], [("first", label)], label)
        yield tw.Edge("first", ["end"], [("only", label)], label)


def count(finals):
    arcs = [(0, None, 1, 0.0), (1, None, 2, 1.0), (2, None, 2, 0.0)]
    return Rational(lambda y: WeightedAutomaton(arcs, 0, finals))


def test_outputs_of_several_lengths_may_end_in_any_final_state():
    structure, X2, Y2 = tw.Derivations(one_or_two), ["x", "x"], [["A"], ["B", "A"]]
    batch = structure.bind(X2, Y2).pack(X2, Y2)
    with pytest.raises(tw.InputError, match=r"sample 0: the automaton of Rational rejects the output"):
        inside(batch, count({2: 0.0}))
    with pytest.raises(tw.InputError, match="rejects the output"):
        tw.VotedCRF(structure, loss=count({1: 0.0}), penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(X2, Y2)
    # No output is empty: the start need not be final.
    loss = count({1: 0.0, 2: 0.0})
    against_enumeration(structure, X2, Y2, loss, np.random.default_rng(0))
    double = Counted(loss, lambda v, _: 2 * v)
    np.testing.assert_allclose(double.max_values(batch), [2.0, 2.0])


def test_svm_refuses_automata_that_explode():
    X30 = [["a", "b", "c"] * 10, ["c", "b", "a"] * 10]
    with pytest.raises(TooManyStates, match=r"sample 0: the automaton of Edit\(\) has [\d,]+ states .*cap=3"):
        tw.StructuredSVM(tw.Chain(), loss=Edit(), max_iter=3).fit(X30, X30)
    with pytest.warns(tw.FitWarning, match="raise max_iter"):
        model = tw.StructuredSVM(tw.Chain(), 1.0, loss="edit", max_iter=1, C_mode="absolute").fit(X30, X30)
    assert len(model.predict_min_risk(X30[:1], "edit", k=2)[0]) == 30


def test_nondeterministic_automata_need_a_semiring():
    with pytest.raises(tw.InputError, match="not deterministic: state 0 has several arcs"):
        Rational(several_paths)(["A"], ["A"])
    with pytest.raises(tw.InputError, match="semiring must be"):
        Rational(several_paths, semiring="min")(["A"], ["A"])
    assert Rational(several_paths, semiring="tropical")(["A", "B"], ["A", "C"]) == 1.0
    both = math.log((1 + math.exp(0.5)) ** 2)
    assert np.isclose(Rational(several_paths, semiring="log")(["A", "B"], ["A", "B"]), both)


def test_bad_automata():
    with pytest.raises(tw.InputError, match="an arc is"):
        WeightedAutomaton([(0, "a", 1)], 0, {0: 0.0})
    with pytest.raises(tw.InputError, match="finite"):
        WeightedAutomaton([(0, "a", 1, np.inf)], 0, {0: 0.0})
    with pytest.raises(tw.InputError, match="final state"):
        WeightedAutomaton([(0, "a", 1, 0.0)], 0, {})
    dead = Rational(lambda y: WeightedAutomaton([(0, "A", 0, 0.0)], 0, {0: 0.0}))
    with pytest.raises(tw.InputError, match="no arc of the automaton reads 'B'"):
        dead(["A"], ["B"])
    rejects = Rational(lambda y: WeightedAutomaton([(0, None, 1, 0.0), (1, None, 1, 0.0)], 0, {0: 0.0}))
    with pytest.raises(tw.InputError, match="rejects some outputs"):
        rejects(["A"], ["B"])
    with pytest.raises(tw.InputError, match="WeightedAutomaton"):
        Rational(lambda y: 3)(["A"], ["A"])


@pytest.mark.parametrize(
    "loss", [Edit(insertion=0.0), Edit(substitution={("A", "B"): 0.0}), Edit(deletion=-1.0), Edit(cap=-1)]
)
def test_bad_edit_costs(loss):
    with pytest.raises(tw.InputError, match="must"):
        loss(["A"], ["B"])


def test_losses_without_automaton_are_refused():
    with pytest.raises(tw.Unsupported, match="neither a sum over the parts of Chain nor an automaton"):
        tw.VotedCRF(tw.Chain(), loss=F1(), penalty_mode="absolute", lam=1e-4, beta=1e-3).fit(X, Y)


def test_functions_that_are_not_finite():
    with pytest.raises(tw.InputError, match="finite"):
        Counted(Hamming(), lambda v, _: np.inf)(["A"], ["B"])
    with pytest.raises(tw.InputError, match="finite"):
        Markovian(lambda y, t, labels: np.nan)(["A"], ["B"])
    with pytest.raises(tw.InputError, match="at least 1"):
        NGrams(0)(["A"], ["B"])
