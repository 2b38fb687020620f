"""Bounds: against simulation, enumeration and large fresh samples."""

from __future__ import annotations

import collections
import itertools
import math

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import bounds
from trelliswork.bounds._rank import largest_feature
from trelliswork.losses import Counted, Edit, Hamming, Markovian
from trelliswork.structures.chain.graph import chain_graph, edge_features, token_features

LABELS = ["A", "B", "C"]


def tagged(rng, n, noise=0.15):
    X, y = [], []
    for _ in range(n):
        tags = [LABELS[i] for i in rng.integers(0, 3, int(rng.integers(1, 5)))]
        X.append([(t if rng.random() > noise else LABELS[rng.integers(3)]).lower() for t in tags])
        y.append(tags)
    return X, y


def graph(tokens):
    yield tw.Edge(len(tokens))
    for t in reversed(range(len(tokens))):
        for label in LABELS:
            yield tw.Edge(t, [t + 1], [(tokens[t], label), (label, 0.5)], label)


def rows(X):
    return np.array([[float(len(x)), float(x.count("a")), 1.0] for x in X])


SPACES = {
    "order1": (tw.Chain(), None),
    "order2": (tw.Chain(2), None),
    "edges": (tw.Chain(edge_features="all"), None),
    "joined": (tw.Chain(2, edge_features={2: "all", 3: "all"}), None),
    "derivations": (tw.Derivations(graph), None),
    "classes": (tw.Classes(), rows),
    "taxonomy": (tw.Classes({"u": LABELS[:2], "v": LABELS[2:]}, ancestor_weight=0.4), rows),
}


def bound_space(name, n=12):
    X, y = tagged(np.random.default_rng(0), n)
    structure, convert = SPACES[name]
    if convert is not None:
        X, y = convert(X), [row[0] for row in y]
    return structure.bind(X, y), X, y


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", SPACES)
def test_simulated_complexity_is_below_the_bound(name, norm):
    space, X, _ = bound_space(name)
    closed = bounds.factor_graph_complexity(space, X, norm=norm, radius=2.0)
    drawn = bounds.factor_graph_complexity(space, X, norm=norm, radius=2.0, method="monte_carlo", n_draws=60)
    assert drawn.value - 4 * drawn.error > 0
    assert drawn.value - 4 * drawn.error <= closed.value
    assert float(closed) == closed.value


def test_one_feature_one_factor_is_exact():
    # N = s = 1: the complexity is 1 and the bound sqrt(2 log 2).
    structure = tw.Derivations(lambda x: [tw.Edge("root", part=1, features=["f"])])
    space = structure.bind(["x"], [[1]])
    assert bounds.factor_graph_complexity(space, ["x"], method="monte_carlo").value == 1.0
    assert np.isclose(bounds.factor_graph_complexity(space, ["x"]).value, math.sqrt(2 * math.log(2)))


@pytest.mark.parametrize("name", ["order1", "order2", "edges", "joined"])
def test_chain_factors_against_the_graph(name):
    space, X, _ = bound_space(name)
    batch = space.pack(X)
    factors = batch.factors()
    chain = chain_graph(batch)
    phi = edge_features(chain, batch, *token_features(batch)).toarray()
    used = chain.token >= 0
    assert np.allclose(factors.values, np.bincount(chain.sequence[used], minlength=len(X)))
    scale = factors.counts[chain.sequence] * used
    assert np.allclose(factors.usage(), scale @ (phi != 0))
    assert np.allclose(factors.largest(), np.abs(phi).max(axis=0))
    longest = np.linalg.norm(phi, axis=1).max()
    assert longest <= factors.norm() + 1e-9
    assert name == "joined" or np.isclose(factors.norm(), longest)  # not all joins have a weight
    # Variances of the signed sums: own order and whole order.
    rng = np.random.default_rng(1)
    for own in (False, True):
        draws = np.array([factors.draw(rng, own=own) for _ in range(400)])
        expected = scale @ phi**2 if not own else factors.usage(own=True)
        assert np.allclose((draws**2).mean(axis=0), expected, rtol=0.5, atol=1e-9)


@pytest.mark.parametrize("kind", ["additive", "multiplicative"])
def test_empirical_margin_against_enumeration(kind):
    X, y = tagged(np.random.default_rng(2), 15)
    model = tw.CRF(tw.Chain()).fit(X, y)
    for loss in (Hamming(), Edit()) if kind == "additive" else (Hamming(),):
        found = bounds.margin(model, X, y, rho=1.7, kind=kind, loss=loss)
        total = 0.0
        for x, truth in zip(X, y, strict=True):
            outputs = list(model.space_.enumerate(x))
            batch = model.space_.pack([x] * len(outputs), outputs)
            s = batch.gold() @ model.coef_
            gap = (s[outputs.index(truth)] - s) / 1.7
            values = np.array([loss(truth, output) for output in outputs])
            worst = (values - gap if kind == "additive" else values * (1 - gap)).max()
            total += min(max(worst, 0.0), found.limit)
        assert np.isclose(found.empirical, total / len(X))
        assert np.isclose(found.value, found.empirical + found.complexity + found.confidence)


@pytest.mark.parametrize("families", [None, "order"])
@pytest.mark.parametrize("kind", ["additive", "multiplicative"])
def test_fresh_risk_is_below_the_margin_bound(kind, families):
    rng = np.random.default_rng(3)
    X, y = tagged(rng, 60)
    fresh, truth = tagged(rng, 3000)
    model = tw.VotedCRF(tw.Chain(), 1e-3, 0.02, penalty_mode="absolute").fit(X, y)
    risk = 1.0 - np.mean(
        [
            np.mean([a == b for a, b in zip(p, t, strict=True)])
            for p, t in zip(model.predict(fresh), truth, strict=True)
        ]
    )
    for rho in (0.5, 2.0, 20.0):
        found = bounds.margin(model, X, y, rho=rho, kind=kind, families=families)
        assert risk <= found.value


def test_bounds_fall_with_samples_and_say_when_they_are_vacuous():
    X, y = tagged(np.random.default_rng(4), 2000)
    model = tw.VotedCRF(tw.Chain(), 1e-3, 0.05, penalty_mode="absolute").fit(X, y)
    small = bounds.margin(model, X[:50], y[:50], rho=1.0)
    large = bounds.margin(model, X, y, rho=1.0)
    assert large.complexity < small.complexity
    assert large.confidence < small.confidence
    assert small.vacuous
    assert "vacuous" in str(small)
    assert "vacuous" not in str(bounds.pac(5, 10_000))


@pytest.mark.parametrize("families", [None, "kind"])
def test_a_margin_bound_that_says_something(families):
    """Many samples, few features, small weights: the bound is below 1, and above the risk."""
    n, rng = 4000, np.random.default_rng(7)
    y = [[LABELS[i]] for i in rng.integers(0, 2, n)]
    X = [[label.lower() if rng.random() > 0.05 else "ab"[rng.integers(2)] for label in row] for row in y]
    model = tw.VotedCRF(
        tw.Chain(start=False, end=False, unknown=False), 0.0, 0.1, penalty_mode="absolute"
    ).fit(X, y)
    found = bounds.margin(model, X, y, families=families)
    assert not found.vacuous
    assert "vacuous" not in str(found)
    assert 1.0 - model.score(X, y) < found.value < 1.0


def test_soda_looks_at_all_outputs():
    chain = tw.Chain(start=False, end=False, unknown=False)
    X, y = [["a"] * 6], [list("ABABAB")]
    found = bounds.soda(tw.SODA(chain, reference="uniform", loss=None, reg=1e-6).fit(X, y), X, y)
    assert found.parts["Cf"] == 6.0  # AAAAAA


@pytest.mark.parametrize("name", SPACES)
def test_largest_feature_of_all_outputs(name):
    space, X, y = bound_space(name)
    phi = [
        space.pack([x] * len(outputs), outputs).gold().toarray()
        for x in X
        for outputs in [list(space.enumerate(x))]
    ]
    exact = max((np.maximum(p.max(axis=0), 0) - np.minimum(p.min(axis=0), 0)).max() for p in phi)
    assert largest_feature(space.pack(X, y)) >= exact - 1e-12


def test_arguments_by_position():
    X, y = tagged(np.random.default_rng(8), 8)
    model = tw.CRF(tw.Chain()).fit(X, y)
    assert bounds.margin(model, X, y, 2.0, 0.1, "multiplicative").parts["delta"] == 0.1
    assert bounds.soda(model, X, y, 0.1).parts["delta"] == 0.1
    assert bounds.factor_graph_complexity(model.space_, X, "l2", "bound").parts["norm"] == "l2"
    assert bounds.pac(5, 10, 0.1).parts["delta"] == 0.1


def test_losses_that_only_the_outputs_bound():
    X, y = tagged(np.random.default_rng(9), 6)
    model = tw.CRF(tw.Chain()).fit(X, y)
    wrong = Markovian(lambda truth, t, labels: float(labels[-1] != truth[t]), 1)
    plain = bounds.margin(model, X, y, loss=Hamming())
    assert bounds.margin(model, X, y, loss=wrong).value == pytest.approx(plain.value)
    assert bounds.margin(model, X, y, loss=Counted(Edit(), lambda v, _: 2 * v)).limit == 2 * max(map(len, X))


def test_pac_formula():
    found = bounds.pac(5, 100, delta=0.1, largest=3)
    assert np.isclose(found.value, (25 * math.log(6) - 3 * math.log(3) + 5 - math.log(0.1)) / 100)
    assert bounds.pac(3, 10).value > 0


def test_soda_bound_exact_and_sampled():
    X, y = tagged(np.random.default_rng(5), 30, noise=0.05)
    model = tw.SODA(tw.Chain(unknown=False), reference="uniform", loss=None, reg=1e-6).fit(X, y)
    exact = bounds.soda(model, X, y)
    total, norms = 0.0, []
    for x, truth in zip(X, y, strict=True):
        outputs = list(model.space_.enumerate(x))
        batch = model.space_.pack([x] * len(outputs), outputs)
        phi = batch.gold()[outputs.index(truth)].toarray() - batch.gold().toarray()
        total += np.mean((phi @ model.coef_ - 1.0) ** 2)
        norms.append(np.linalg.norm(phi.T @ phi / len(outputs)))
    assert np.isclose(exact.empirical, total / len(X))
    c = exact.parts["radius"] ** 2
    assert exact.parts["R2"] >= 2 / math.sqrt(len(X)) * c * math.sqrt(np.mean(np.square(norms))) - 1e-9
    drawn = bounds.soda(model, X, y, n_draws=300)
    assert np.isclose(drawn.empirical, exact.empirical, rtol=0.2)
    assert np.isclose(drawn.parts["R2"], exact.parts["R2"], rtol=0.2)
    assert drawn.parts["R1"] > 0
    assert drawn.value > exact.value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, s, X, y: bounds.pac(2, 10), "n_features must be a whole number of at least 3"),
        (lambda m, s, X, y: bounds.pac(5.5, 10), "n_features must be"),
        (lambda m, s, X, y: bounds.pac(5, 0), "n_samples must be"),
        (lambda m, s, X, y: bounds.factor_graph_complexity(tw.Chain(), X), "space must be"),
        (lambda m, s, X, y: bounds.pac(5, 10, delta=1.0), "delta"),
        (lambda m, s, X, y: bounds.margin(m, X, y, rho=0.0), "rho"),
        (lambda m, s, X, y: bounds.margin(m, X, y, kind="mean"), "kind"),
        (lambda m, s, X, y: bounds.margin(m, [], []), "X is empty"),
        (lambda m, s, X, y: bounds.factor_graph_complexity(s, X, norm="l3"), "norm"),
        (lambda m, s, X, y: bounds.factor_graph_complexity(s, X, method="guess"), "method"),
        (lambda m, s, X, y: bounds.factor_graph_complexity(s, X, radius=-1.0), "radius"),
        (lambda m, s, X, y: bounds.factor_graph_complexity(s, []), "X is empty"),
        (lambda m, s, X, y: bounds.factor_graph_complexity(s, X, features=[]), "none was chosen"),
        (lambda m, s, X, y: bounds.soda(m, X, y, delta=0.0), "delta"),
        (lambda m, s, X, y: bounds.margin(m, X, y, rho="1"), "rho is '1'"),
        (lambda m, s, X, y: bounds.margin(m, X, y, delta="1"), "delta is '1'"),
        (lambda m, s, X, y: bounds.margin(m, X, y, radius="1"), "radius is '1'"),
        (lambda m, s, X, y: bounds.margin(m, X, y, radius=1e-6), "norm of the weights is"),
        (lambda m, s, X, y: bounds.margin(m, X, y, radius=1e-6, norm="l2"), "norm of the weights is"),
        (lambda m, s, X, y: bounds.margin(m, X, y, norm="zz"), "norm must be"),
        (lambda m, s, X, y: bounds.margin(m, X, y, norm="zz", families="order"), "norm must be"),
        (lambda m, s, X, y: bounds.margin(m, X, y, norm="l2", families="order"), "use norm='l1'"),
        (lambda m, s, X, y: bounds.margin(m, X, y, radius=1e6, families="order"), "no radius"),
        (lambda m, s, X, y: bounds.margin(3, X, y), "model must be a fitted learner"),
        (lambda m, s, X, y: bounds.soda(m, X, y, radius=1e-3), "norm of the weights is"),
        (lambda m, s, X, y: bounds.soda(m, X, y, n_draws=0), "n_draws must be"),
        (lambda m, s, X, y: bounds.soda(m, X, y, n_draws=3, random_state="x"), "random_state must be"),
        (
            lambda m, s, X, y: bounds.factor_graph_complexity(s, X, "l1", "monte_carlo", n_draws=2.5),
            "n_draws",
        ),
        (lambda m, s, X, y: bounds.factor_graph_complexity(s, X, features=[1000]), "features must be"),
        (lambda m, s, X, y: bounds.factor_graph_complexity(s, X, "l2", features=[0]), "features: the bound"),
        (lambda m, s, X, y: bounds.factor_graph_complexity(s, X, "l2", own=True), "own"),
    ],
)
def test_bad_arguments(call, message):
    X, y = tagged(np.random.default_rng(6), 8)
    model = tw.CRF(tw.Chain()).fit(X, y)
    with pytest.raises(tw.InputError, match=message):
        call(model, model.space_, X, y)


def test_factors_of_alignments_against_their_moves():
    for model in ("linear", "affine"):
        X = [("ABA", "BA"), ("B", "AAB")]
        space = tw.Alignment(model).bind(X, [("ABA", "-BA"), ("--B", "AAB")])
        factors = space.pack(X).factors()
        counts, used = [], np.zeros(space.n_features)
        names = {name: k for k, name in enumerate(space.feature_names)}
        gaps = {k: name for name, k in names.items() if name[0] not in ("match", "mismatch")}
        for first, second in X:
            n1, n2 = len(first), len(second)
            here, nodes = np.zeros(space.n_features), 0
            for i, j, state in itertools.product(range(n1 + 1), range(n2 + 1), "MDI"):
                nodes += 1  # every node has a move, or the end
                if i < n1 and j < n2:
                    here[names["match" if first[i] == second[j] else "mismatch",]] += 1
                for move in ("D" if i < n1 else "", "I" if j < n2 else ""):
                    if move:
                        kind = "gap" if model == "linear" else "extend" if state == move else "open"
                        here[names[kind,]] += 1
            counts.append(nodes)
            used += nodes * here
        assert gaps
        assert np.array_equal(factors.counts, counts)
        assert np.allclose(factors.usage(), used)


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("model", ["linear", "affine", "substitution"])
def test_factors_of_alignments_against_their_graph(mode, canonical, model):
    from trelliswork.structures.alignment.graph import _edge_scores, _grid, edge_features

    X = [("ABA", "BA"), ("B", "AAB"), ("AB", "B")]
    space = tw.Alignment(model, mode=mode, canonical=canonical).bind(X, None)
    batch, w = space.pack(X), np.random.default_rng(0).normal(size=space.n_features)
    law = batch._law(batch.scores(w))
    for p in range(len(X)):
        grid = _grid(batch, p)
        n_nodes, n_edges, used = edge_features(batch, p)
        assert n_nodes == np.count_nonzero(np.diff(grid.graph.node_ptr))
        assert n_edges == grid.kind.size
        assert np.isclose(_edge_scores(batch, law, p, grid).sum(), used @ w)


def test_factors_of_trees_against_enumeration():
    nltk = pytest.importorskip("nltk")
    X = [["a", "b", "a"], ["a", "a", "a"]]
    y = ["(S (A a) (S (B b) (A a)))", "(S (S (A a) (A a)) (A a))"]
    space = tw.Grammar(horizontal=None, vertical=1, min_count=1).bind(X, y)
    factors = space.pack(X).factors()
    for i, x in enumerate(X):
        edges = set()

        def walk(tree, start, edges=edges):
            if isinstance(tree[0], str):
                edges.add((tree.label(), start, start + 1, tree[0]))
                return start + 1
            middle = walk(tree[0], start)
            end = walk(tree[1], middle)
            edges.add((tree.label(), start, end, middle, tree[0].label(), tree[1].label()))
            return end

        for tree in space.enumerate(x):
            walk(nltk.Tree.fromstring(tree), 0)
        alone = space.pack([x]).factors()
        assert alone.values[0] == len(edges) + 1  # and the edge to the root
        assert alone.counts[0] == len({edge[:3] for edge in edges}) + 1
        by_rule = collections.Counter((edge[0], *edge[4:]) if len(edge) > 4 else edge[::3] for edge in edges)
        found = (alone.usage() / alone.counts[0])[alone.usage() > 0]
        assert sorted(found.tolist())[-len(by_rule) :] == sorted(by_rule.values())
        assert factors.values[i] == alone.values[0]


@pytest.mark.parametrize("grammar", ["g6", "nested"])
def test_factors_of_folds_are_edges_with_their_rules(grammar):
    from trelliswork.structures.rna.graph import edge_features, graphs

    X = ["GGAAACC", "GCAAGC"]
    space = tw.RNA(grammar).bind(X, ["((...))", "(....)"])
    batch, w = space.pack(X), np.random.default_rng(0).normal(size=space.n_features)
    pairs = zip(edge_features(batch), graphs(batch, batch.scores(w)), strict=True)
    for (n_nodes, n_edges, used), made in pairs:
        assert np.isclose(made.scores.sum(), w @ used)
        assert (n_nodes, n_edges) == (made.graph.node_ptr.size - 1, made.scores.size)
    drawn = [batch.factors().draw(np.random.default_rng(k)) for k in range(300)]
    assert np.allclose(np.mean(np.square(drawn), axis=0), batch.factors().usage(), rtol=0.5)


@pytest.mark.parametrize("grammar", ["auto", "nearest-neighbour"])
def test_factors_of_loops_are_the_edges_of_their_graph(grammar):
    from trelliswork.structures.rna.factors import entry_features

    X = ["GGGAAAUCCC", "GGCGAAAGCCGCAUUCGGCAAAC"]
    space = tw.RNA(grammar).bind(X)
    batch, rng = space.pack(X), np.random.default_rng(0)
    w = rng.normal(size=space.n_features)
    factors, rows, owner = batch.factors(), [], []
    listed = zip(batch.loop_entries(), batch._graphs(batch.scores(w)), strict=True)
    for i, ((n_nodes, entries), made) in enumerate(listed):
        phi = entry_features(entries, space.map)
        assert np.allclose(phi @ w, made.scores)  # edge by edge
        assert (n_nodes, len(entries)) == (factors.counts[i], factors.values[i])
        rows.append(phi.toarray())
        owner += [i] * len(entries)
    phi, scale = np.concatenate(rows), factors.counts[owner]
    assert np.allclose(factors.usage(), scale @ (phi != 0))
    share = np.array([2.0, 0.5])
    assert np.allclose(factors.usage(share), (scale * share[owner]) @ (phi != 0))
    assert np.allclose(factors.largest(), np.abs(phi).max(axis=0))
    assert np.isclose(factors.norm(), np.sqrt((phi**2).sum(axis=1).max()))
    drawn = np.array([factors.draw(rng) for _ in range(600)])
    expected = scale @ phi**2
    used = expected > 0
    assert np.allclose(drawn[:, ~used], 0.0)
    assert np.allclose(np.mean(drawn**2, axis=0)[used], expected[used], rtol=0.35)


def test_penalties_and_bounds_of_loops_follow_their_families():
    X, y = ["GGGAAAUCCC", "GGCGAAAGCC"], ["(((....)))", "(((....)))"]
    plain = tw.VotedCRF(tw.RNA("nearest-neighbour"), 1e-3, 1e-3).fit(X, y)
    assert np.ptp(plain.r_) == 0.0  # listing all loops takes longer than learning
    asked = tw.VotedCRF(tw.RNA("nearest-neighbour"), 1e-3, 1e-3, r="sparsity").fit(X, y)
    assert np.ptp(asked.r_) > 0.0
    closed = bounds.factor_graph_complexity(asked.space_, X, norm="l1")
    drawn = bounds.factor_graph_complexity(asked.space_, X, norm="l1", method="monte_carlo", n_draws=60)
    assert 0.0 < drawn.value < closed.value


def test_penalties_of_trees_and_alignments_follow_their_families():
    X, y = [["a", "b"], ["b", "a"]], ["(S (A a) (B b))", "(S (B b) (A a))"]
    model = tw.VotedCRF(tw.Grammar(min_count=1), 0.1, 0.1, max_iter=5, tol=1.0).fit(X, y)
    assert len(model.r_) > 1
    assert np.ptp(model.r_) > 0


def test_pac_without_errors_and_with_them():
    clean, noisy = bounds.pac(5, 10_000), bounds.pac(5, 10_000, error=0.1)
    log_number = 25 * math.log(2) - 3 * math.log(3) + 5 - math.log(0.05)
    assert math.isclose(clean.value, log_number / 10_000)
    assert math.isclose(noisy.value, 0.1 + math.sqrt(log_number / 20_000))
    assert math.isclose(noisy.empirical + noisy.complexity + noisy.confidence, noisy.value)
    # Simulated: the worst of K random predictors stays below its bound in nearly all draws.
    rng = np.random.default_rng(0)
    risks = rng.uniform(0.1, 0.4, 200)
    errors = rng.binomial(500, risks, (400, 200)) / 500
    allowed = errors + math.sqrt((math.log(200) + math.log(1 / 0.05)) / 1000)
    assert ((risks > allowed).any(axis=1)).mean() <= 0.05
    with pytest.raises(tw.InputError, match="at most 1"):
        bounds.pac(5, 100, error=2.0)


@pytest.mark.parametrize("slack", ["l1", "l2"])
@pytest.mark.parametrize("rescale", ["margin", "slack", None])
@pytest.mark.parametrize("kernel", [None, "poly"])
def test_constraints_of_the_working_set_algorithm(slack, rescale, kernel):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(14, 3)), [str(k % 3) for k in range(14)]
    loss = Hamming(label_weight={"0": 2.0, "1": 1.0, "2": 1.0})
    epsilon, C = 0.05, 4.0
    options = {"C": C, "C_mode": "absolute", "loss": loss, "slack": slack, "rescale": rescale}
    options |= {"kernel": kernel}
    model = tw.StructuredSVM(tw.Classes(), epsilon=epsilon, **options).fit(X, y)
    best = tw.StructuredSVM(tw.Classes(), tol=1e-7, **options).fit(X, y)
    assert model.stop_ == "converged"
    if slack == "l1":
        assert model.primal_ <= best.primal_ + C * epsilon
    space = model.space_
    rows = space.pack(X)
    gram = np.einsum("ij,ij->i", X, X).max() + 1.0
    radius = math.sqrt(2.0 * ((gram + 1.0) ** 3 + 2.0 if kernel else gram))
    bound = bounds.svm_constraints(
        len(rows), C, radius, epsilon, largest_loss=2.0, slack=slack, rescale=rescale
    )
    assert 0 < model.n_constraints_ <= bound


def test_epsilon_on_sequences_and_its_refusals():
    X, y = tagged(np.random.default_rng(4), 20)
    loose = tw.StructuredSVM(tw.Chain(), epsilon=0.5).fit(X, y)
    tight = tw.StructuredSVM(tw.Chain(), epsilon=0.01).fit(X, y)
    assert loose.n_constraints_ < tight.n_constraints_
    assert tight.primal_ - tight.dual_ <= tight.C_ * 0.01 * 1.05
    radius = 2.0 * max(map(len, X)) * math.sqrt(2.0)
    longest = float(max(map(len, X)))
    assert tight.n_constraints_ <= bounds.svm_constraints(
        len(X), tight.C_, radius, 0.01, largest_loss=longest
    )
    with pytest.raises(tw.InputError, match=r"epsilon=\.\.\. needs solver='working-set'"):
        tw.StructuredSVM(tw.Chain(), epsilon=0.1, solver="one-slack").fit(X, y)
    with pytest.raises(tw.InputError, match="svm_constraints needs slack"):
        bounds.svm_constraints(10, 1.0, 1.0, 0.1, slack="none")
