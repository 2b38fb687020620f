"""Every verb of the hypergraph recursions against enumeration of all derivations."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from trelliswork._ragged import offsets_of
from trelliswork.dp.derivations import hypergraph as hg
from trelliswork.dp.derivations.kbest import kbest
from trelliswork.dp.derivations.loss import loss_profile, profile_derivation

N_FEATURES = 3
MAX_DERIVATIONS = 60
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
# Interpreted, the long chain is shortened; 3^2000 still overflows float64.
LONG = 2_000 if numba.config.DISABLE_JIT else 200_000

laws = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])


def build(graphs, features=None):
    """Batch from ``graphs[i][v] = [(score, tails), ...]`` with tails numbered within the graph."""
    nodes, scores, degrees, arity, tails = [], [], [], [], []
    for graph in graphs:
        base = len(degrees)
        nodes.append(len(graph))
        for edges in graph:
            degrees.append(len(edges))
            for score, below in edges:
                scores.append(score)
                arity.append(len(below))
                tails.extend(base + u for u in below)
    b = SimpleNamespace(
        n_graphs=len(graphs),
        graph_ptr=offsets_of(nodes),
        node_ptr=offsets_of(degrees),
        tail_ptr=offsets_of(arity),
        tails=np.array(tails, dtype=np.int64),
        scores=np.array(scores, dtype=np.float64),
    )
    b.n_nodes, b.n_edges = int(b.graph_ptr[-1]), b.scores.size
    b.graph = (b.graph_ptr, b.node_ptr, b.tail_ptr, b.tails)
    b.roots = b.graph_ptr[1:] - 1
    b.phi = np.zeros((b.n_edges, N_FEATURES)) if features is None else features
    entries = [[(j, x) for j, x in enumerate(row) if x] for row in b.phi]
    b.feat_ptr = offsets_of([len(row) for row in entries])
    b.feat_idx = np.array([j for row in entries for j, _ in row], dtype=np.int64)
    b.feat_val = np.array([x for row in entries for _, x in row], dtype=np.float64)
    return b


@st.composite
def batches(draw, exact=False):
    """Random batches with few derivations; ``exact``: scores with exact sums and many ties.

    Hypothesis picks limits (first choices, its favourites, are the rich ones) and a seed;
    drawn edge by edge, nearly all roots would be dead or have one derivation.
    """
    n_graphs = draw(st.integers(1, 3))
    max_nodes = draw(st.sampled_from([6, 4, 2]))
    max_arity = draw(st.sampled_from([3, 2, 1]))
    forbidden = draw(st.sampled_from([0.0, 0.1, 0.3]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    graphs = []
    for size in rng.integers(1, max_nodes + 1, n_graphs):
        graph, numbers = [], []
        for v in range(size):
            edges, number = [], 0
            for _ in range(rng.choice(4, p=[0.05, 0.25, 0.35, 0.35])):
                below = rng.integers(0, v, rng.integers(0, max_arity + 1)).tolist() if v else []
                product = math.prod(numbers[u] for u in below)
                if number + product <= MAX_DERIVATIONS:
                    score = rng.choice([-0.5, 0.0, 0.25, 0.5]) if exact else rng.normal(scale=2.0)
                    edges.append((-np.inf if rng.random() < forbidden else score, below))
                    number += product
            graph.append(edges)
            numbers.append(number)
        graphs.append(graph)
    n_edges = sum(len(edges) for graph in graphs for edges in graph)
    features = rng.normal(size=(n_edges, N_FEATURES)) * (rng.random((n_edges, N_FEATURES)) < 0.7)
    b = build(graphs, features)
    b.rng = rng
    return b


def enumerate_nodes(b, scores=None):
    """All finite derivations (score, edges in pre-order) of every node, in the order of ``kbest``."""
    scores = b.scores if scores is None else scores
    table = []
    for v in range(b.n_nodes):
        found = []
        for e in range(b.node_ptr[v], b.node_ptr[v + 1]):
            below = [table[u] for u in b.tails[b.tail_ptr[e] : b.tail_ptr[e + 1]]]
            for ranks in itertools.product(*(range(len(t)) for t in below)):
                score, edges = float(scores[e]), (e,)
                for t, r in zip(below, ranks):
                    score += t[r][0]
                    edges += t[r][1]
                if score > -np.inf:
                    found.append((-score, e, ranks, edges))
        table.append([(-negative, edges) for negative, _, _, edges in sorted(found)])
    return table


def gibbs(b, root, table):
    """Probabilities (n,) and edge usage counts (n, n_edges) of the derivations of a root."""
    scores = np.array([s for s, _ in table[root]])
    usage = np.array([np.bincount(edges, minlength=b.n_edges) for _, edges in table[root]], dtype=float)
    p = np.exp(scores - scores.max())
    return p / p.sum(), usage


def run_inside(b, scores=None):
    log_beta = np.full(b.n_nodes, np.nan)
    hg.inside(*b.graph, b.scores if scores is None else scores, 0, b.n_graphs, log_beta)
    return log_beta


def run_viterbi(b, scores=None):
    best, back = np.full(b.n_nodes, np.nan), np.full(b.n_nodes, -7)
    hg.viterbi(*b.graph, b.scores if scores is None else scores, 0, b.n_graphs, best, back)
    return best, back


def run_marginals(b, log_beta, scores=None):
    rho_node, rho_edge = np.full(b.n_nodes, np.nan), np.full(b.n_edges, np.nan)
    hg.marginals(
        *b.graph, b.scores if scores is None else scores, 0, b.n_graphs, log_beta, rho_node, rho_edge
    )
    return rho_node, rho_edge


def run_tangent(b, log_beta, rho_edge, direction):
    dlog_z, drho = np.full(b.n_graphs, np.nan), np.full(b.n_edges, np.nan)
    hg.tangent(*b.graph, b.scores, 0, b.n_graphs, log_beta, rho_edge, direction, dlog_z, drho)
    return dlog_z, drho


def run_moments(b, log_beta, weights):
    cov = np.zeros((N_FEATURES, N_FEATURES))
    means = np.full((b.n_graphs, N_FEATURES), np.nan)
    features = (b.feat_ptr, b.feat_idx, b.feat_val)
    hg.moments_dense(*b.graph, b.scores, features, 0, b.n_graphs, log_beta, weights, cov, means)
    return weights @ means, cov, means


def run_profile(b, costs, max_loss, start=0, stop=None):
    stop = b.n_graphs if stop is None else stop
    shape = (b.graph_ptr[stop] - b.graph_ptr[start], max_loss + 1)
    table, choice = np.full(shape, np.nan), np.full(shape, -7)
    profile = np.full((b.n_graphs, max_loss + 1), np.nan)
    loss_profile(*b.graph, b.scores, costs, start, stop, table, choice, profile)
    return table, choice, profile


def cut(ptr, values):
    return [tuple(values[ptr[r] : ptr[r + 1]].tolist()) for r in range(len(ptr) - 1)]


# ---- counting and log partition ------------------------------------------------------------------


@laws
@given(batches())
def test_count_and_log_count(b):
    allowed = b.scores > -np.inf
    table = enumerate_nodes(b)
    exact = hg.count(*b.graph, allowed)
    assert exact == [len(table[r]) for r in b.roots]
    everything = enumerate_nodes(b, np.zeros(b.n_edges))
    assert hg.count(*b.graph) == [len(everything[r]) for r in b.roots]
    log_count = run_inside(b, np.where(allowed, 0.0, -np.inf))[b.roots]
    assert_allclose(log_count, [math.log(n) if n else -np.inf for n in exact], **CLOSE)


@laws
@given(batches())
def test_inside(b):
    table, log_beta = enumerate_nodes(b), run_inside(b)
    for v in range(b.n_nodes):
        if table[v]:
            assert_allclose(log_beta[v], np.logaddexp.reduce([s for s, _ in table[v]]), **CLOSE)
        else:
            assert log_beta[v] == -np.inf


def test_inside_takes_large_scores():
    b = build([[[(1e4, []), (1e4, [])], [(-3e4, [0]), (-np.inf, [0])]]])
    assert_allclose(run_inside(b), [1e4 + math.log(2), -2e4 + math.log(2)], rtol=1e-15)


# ---- best derivations ----------------------------------------------------------------------------


@laws
@given(st.one_of(batches(), batches(exact=True)))
def test_viterbi(b):
    table = enumerate_nodes(b)
    best, back = run_viterbi(b)
    for v in range(b.n_nodes):
        assert best[v] == (table[v][0][0] if table[v] else -np.inf)
        assert (back[v] == -1) == (not table[v])
        expected = table[v][0][1] if table[v] else ()
        assert tuple(hg.derivation(b.tail_ptr, b.tails, back, v)) == expected
    expected = [table[r][0][1] if table[r] else () for r in b.roots]
    assert cut(*hg.derivations(b.graph_ptr, b.tail_ptr, b.tails, 0, b.n_graphs, back)) == expected


def test_viterbi_tie_is_the_lowest_edge():
    # Edges 0, 1: equal leaves. Edges 2, 3, 4 of the root: 3 and 4 tie above 2.
    b = build([[[(1.0, []), (1.0, [])], [(0.0, [0]), (0.5, [0]), (-0.5, [0, 0])]]])
    best, back = run_viterbi(b)
    assert best.tolist() == [1.0, 1.5]
    assert hg.derivation(b.tail_ptr, b.tails, back, 1).tolist() == [3, 0]


@laws
@given(st.one_of(batches(), batches(exact=True)), st.sampled_from([0, 1, 2, 3, 7, 1000]))
def test_kbest_is_sorted_enumeration(b, k):
    table = enumerate_nodes(b)
    best, back = run_viterbi(b)
    list_ptr, totals, edge_ptr, edges = kbest(*b.graph, b.scores, 0, b.n_graphs, k, best, back)
    lists = cut(edge_ptr, edges)
    assert list_ptr[-1] == len(lists) == len(totals)
    for i, root in enumerate(b.roots):
        expected = table[root][:k]
        rows = slice(list_ptr[i], list_ptr[i + 1])
        # Equality of ordered lists: values, tie order, no duplicates, nothing of score -inf.
        assert lists[rows] == [edges for _, edges in expected]
        assert totals[rows].tolist() == [s for s, _ in expected]
        if k and expected:
            assert lists[rows][0] == tuple(hg.derivation(b.tail_ptr, b.tails, back, root))


def test_kbest_on_a_larger_graph():
    # A ladder with repeated and shared tails; 2-best of each node give many equal totals.
    rng = np.random.default_rng(3)
    graph = [[(float(s), []) for s in rng.integers(-3, 3, 4)] for _ in range(3)]
    for v in range(3, 9):
        graph.append([(float(rng.integers(-2, 2)), rng.integers(0, v, 2).tolist()) for _ in range(2)])
    b = build([graph])
    best, back = run_viterbi(b)
    n_paths = hg.count(*b.graph)[0]
    k = 500
    list_ptr, totals, edge_ptr, edges = kbest(*b.graph, b.scores, 0, 1, k, best, back)
    lists = cut(edge_ptr, edges)
    assert list_ptr[-1] == len(set(lists)) == k < n_paths
    assert np.all(np.diff(totals) <= 0)
    assert_allclose(totals, [b.scores[list(edges)].sum() for edges in lists], **CLOSE)
    # The multiset of the k best scores by plain truncated convolution.
    tops = []
    for v in range(b.n_nodes):
        found = []
        for e in range(b.node_ptr[v], b.node_ptr[v + 1]):
            joint = [b.scores[e]]
            for u in b.tails[b.tail_ptr[e] : b.tail_ptr[e + 1]]:
                joint = sorted((x + y for x in joint for y in tops[u]), reverse=True)[:k]
            found += joint
        tops.append(sorted(found, reverse=True)[:k])
    assert totals.tolist() == tops[-1]


# ---- marginals, tangents, moments ----------------------------------------------------------------


@laws
@given(batches())
def test_marginals_are_expected_usage(b):
    table = enumerate_nodes(b)
    rho_node, rho_edge = run_marginals(b, run_inside(b))
    expected = np.zeros(b.n_edges)
    for root in b.roots:
        if table[root]:
            p, usage = gibbs(b, root, table)
            expected += p @ usage
        assert rho_node[root] == (1.0 if table[root] else 0.0)
    assert_allclose(rho_edge, expected, **CLOSE)
    heads = np.repeat(np.arange(b.n_nodes), np.diff(b.node_ptr))
    assert_allclose(np.bincount(heads, rho_edge, b.n_nodes), rho_node, **CLOSE)


@laws
@given(batches())
def test_tangent_is_covariance_times_direction(b):
    direction = b.rng.normal(size=b.n_edges)
    log_beta, table = run_inside(b), enumerate_nodes(b)
    _, rho = run_marginals(b, log_beta)
    dlog_z, drho = run_tangent(b, log_beta, rho, direction)
    expected, expected_log_z = np.zeros(b.n_edges), np.zeros(b.n_graphs)
    for i, root in enumerate(b.roots):
        if table[root]:
            p, usage = gibbs(b, root, table)
            totals = usage @ direction
            expected_log_z[i] = p @ totals
            expected += (p * (totals - p @ totals)) @ usage
    assert_allclose(drho, expected, **CLOSE)
    assert_allclose(dlog_z, expected_log_z, **CLOSE)
    # Central differences of the marginals and of the log partitions.
    step = 1e-5
    up, down = b.scores + step * direction, b.scores - step * direction
    beta_up, beta_down = run_inside(b, up), run_inside(b, down)
    difference = (run_marginals(b, beta_up, up)[1] - run_marginals(b, beta_down, down)[1]) / (2 * step)
    assert_allclose(drho, difference, rtol=1e-6, atol=1e-6)
    alive = b.roots[log_beta[b.roots] > -np.inf]
    assert_allclose(
        dlog_z[log_beta[b.roots] > -np.inf],
        (beta_up[alive] - beta_down[alive]) / (2 * step),
        rtol=1e-6,
        atol=1e-6,
    )


@laws
@given(batches())
def test_moments(b):
    log_beta, table = run_inside(b), enumerate_nodes(b)
    weights = b.rng.uniform(0.5, 2.0, b.n_graphs)
    weights[b.rng.random(b.n_graphs) < 0.2] = 0.0
    mean, cov, means = run_moments(b, log_beta, weights)
    expected = np.zeros((b.n_graphs, N_FEATURES))
    expected_cov = np.zeros((N_FEATURES, N_FEATURES))
    for i, root in enumerate(b.roots):
        if table[root]:
            p, usage = gibbs(b, root, table)
            totals = usage @ b.phi
            expected[i] = p @ totals
            centred = totals - expected[i]
            expected_cov += weights[i] * (centred.T * p) @ centred
    assert_allclose(means, expected, **CLOSE)
    assert_allclose(mean, weights @ expected, **CLOSE)
    assert_allclose(cov, expected_cov, **CLOSE)
    assert_array_equal(cov, cov.T)
    # C h by the tangent is the same matrix.
    h = b.rng.normal(size=N_FEATURES)
    _, rho = run_marginals(b, log_beta)
    _, drho = run_tangent(b, log_beta, rho, b.phi @ h)
    graph_of_edge = np.repeat(np.arange(b.n_graphs), np.diff(b.node_ptr[b.graph_ptr]))
    assert_allclose((weights[graph_of_edge] * drho) @ b.phi, cov @ h, **CLOSE)


def test_moments_add_to_the_sum():
    b = build([[[(0.0, []), (0.0, [])]]], np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]))
    cov, means = np.ones((3, 3)), np.empty((1, 3))
    features = (b.feat_ptr, b.feat_idx, b.feat_val)
    hg.moments_dense(*b.graph, b.scores, features, 0, 1, run_inside(b), np.array([4.0]), cov, means)
    assert_allclose(means, [[0.5, 1.0, 0.0]])
    assert_allclose(cov, [[2.0, -1.0, 1.0], [-1.0, 5.0, 1.0], [1.0, 1.0, 1.0]])


def times(x, y):
    """Product of the second-order expectation semiring: mass, two first moments, second moment."""
    (p1, r1, s1, t1), (p2, r2, s2, t2) = x, y
    d = range(N_FEATURES)
    return (
        p1 * p2,
        [p1 * r2[i] + p2 * r1[i] for i in d],
        [p1 * s2[i] + p2 * s1[i] for i in d],
        [[p1 * t2[i][j] + p2 * t1[i][j] + r1[i] * s2[j] + r2[i] * s1[j] for j in d] for i in d],
    )


def plus(x, y):
    d = range(N_FEATURES)
    return (
        x[0] + y[0],
        [x[1][i] + y[1][i] for i in d],
        [x[2][i] + y[2][i] for i in d],
        [[x[3][i][j] + y[3][i][j] for j in d] for i in d],
    )


@pytest.mark.parametrize("seed", range(4))
def test_expectation_semiring_in_fractions(seed):
    rng = np.random.default_rng(seed)
    d = range(N_FEATURES)
    graph, weights, phi = [], [], []
    for v in range(7):
        edges = []
        for _ in range(rng.integers(1, 4)):
            weights.append(Fraction(int(rng.integers(1, 9)), int(rng.integers(1, 9))))
            phi.append([Fraction(int(x), 2) for x in rng.integers(-2, 3, N_FEATURES)])
            below = rng.integers(0, v, rng.integers(0, 4)).tolist() if v else []
            edges.append((math.log(weights[-1]), below))
        graph.append(edges)
    b = build([graph], np.array(phi, dtype=float))
    zero = (Fraction(0), [Fraction(0)] * 3, [Fraction(0)] * 3, [[Fraction(0)] * 3 for _ in d])
    inside = []
    for v in range(b.n_nodes):
        total = zero
        for e in range(b.node_ptr[v], b.node_ptr[v + 1]):
            w, f = weights[e], phi[e]
            value = (w, [w * x for x in f], [w * x for x in f], [[w * x * y for y in f] for x in f])
            for u in b.tails[b.tail_ptr[e] : b.tail_ptr[e + 1]]:
                value = times(value, inside[u])
            total = plus(total, value)
        inside.append(total)
    z, r, _, t = inside[-1]
    mu = [x / z for x in r]
    log_beta = run_inside(b)
    assert_allclose(log_beta[-1], math.log(z.numerator) - math.log(z.denominator), **CLOSE)
    mean, cov, _ = run_moments(b, log_beta, np.ones(1))
    assert_allclose(mean, np.array(mu, dtype=float), **CLOSE)
    exact = [[float(t[i][j] / z - mu[i] * mu[j]) for j in d] for i in d]
    assert_allclose(cov, exact, rtol=1e-10, atol=1e-10 * np.abs(exact).max())


# ---- sampling ------------------------------------------------------------------------------------


def test_random_bits_are_xoshiro128plusplus():
    state = np.array([1, 2, 3, 4])
    expected = [641, 1573767, 3222811527, 3517856514, 836907274]  # published test vector
    assert [int(hg._next32(state)) for _ in expected] == expected


def test_random_streams_differ():
    states = set()
    for seed, stream in itertools.product([0, 1, -1, 2**32, 2**62], [*range(50), 2**32, 2**33]):
        state = np.empty(4, dtype=np.int64)
        hg._seed(seed, stream, state)
        assert np.all((state >= 0) & (state < 2**32))
        states.add(tuple(state.tolist()))
    assert len(states) == 5 * 52
    assert len({s[0] for s in states}) == len({s[3] for s in states}) == 5 * 52


def test_sample_frequencies():
    leaf = [(0.0, []), (-np.inf, []), (1.0, [])]
    graphs = [
        [leaf, [(0.3, [0]), (-0.2, [0, 0]), (0.1, [])], [(0.0, [1, 0]), (1.0, [1])]],
        [[(0.0, [])] * 5],
        [[(-np.inf, [])], [(0.0, [0])]],
    ]
    b = build(graphs)
    n = 2_000 if numba.config.DISABLE_JIT else 20_000
    ptr, edges = hg.sample(*b.graph, b.scores, 0, 3, run_inside(b), n, 12345)
    draws, table = cut(ptr, edges), enumerate_nodes(b)
    for i in (0, 1):
        p, _ = gibbs(b, b.roots[i], table)
        outcomes = {edges: j for j, (_, edges) in enumerate(table[b.roots[i]])}
        observed = np.bincount([outcomes[x] for x in draws[i * n : (i + 1) * n]], minlength=len(p))
        assert stats.chisquare(observed, n * p).pvalue > 1e-4
    assert set(draws[2 * n :]) == {()}


@laws
@given(batches(), st.integers(-(2**63), 2**63 - 1))
def test_sample_ignores_chunks(b, seed):
    log_beta, table = run_inside(b), enumerate_nodes(b)
    whole = cut(*hg.sample(*b.graph, b.scores, 0, b.n_graphs, log_beta, 5, seed))
    pieces, shorter = [], []
    for i in range(b.n_graphs):
        pieces += cut(*hg.sample(*b.graph, b.scores, i, i + 1, log_beta, 5, seed))
        shorter += cut(*hg.sample(*b.graph, b.scores, i, i + 1, log_beta, 2, seed))
        possible = {edges for _, edges in table[b.roots[i]]} or {()}
        assert set(whole[5 * i : 5 * i + 5]) <= possible
        assert shorter[-2:] == whole[5 * i : 5 * i + 2]
    assert whole == pieces


# ---- loss profiles -------------------------------------------------------------------------------


@laws
@given(batches(), st.integers(0, 6))
def test_loss_profile(b, max_loss):
    costs = b.rng.integers(0, 4, b.n_edges)
    table = enumerate_nodes(b)
    scores, choice, profile = run_profile(b, costs, max_loss)
    for i, root in enumerate(b.roots):
        expected = np.full(max_loss + 1, -np.inf)
        for score, edges in table[root]:
            loss = costs[list(edges)].sum()
            if loss <= max_loss:
                expected[loss] = max(expected[loss], score)
        assert_allclose(profile[i], expected, **CLOSE)
        for loss in range(max_loss + 1):
            edges = profile_derivation(b.tail_ptr, b.tails, costs, scores, choice, 0, root, loss)
            if expected[loss] == -np.inf:
                assert edges.size == 0
                continue
            assert tuple(edges) in {edges for _, edges in table[root]}
            assert costs[edges].sum() == loss
            assert_allclose(b.scores[edges].sum(), expected[loss], **CLOSE)
        assert profile_derivation(b.tail_ptr, b.tails, costs, scores, choice, 0, root, -1).size == 0
        assert profile_derivation(b.tail_ptr, b.tails, costs, scores, choice, 0, root, max_loss + 1).size == 0
        # One graph at a time gives the same tables.
        base = b.graph_ptr[i]
        one, picked, row = run_profile(b, costs, max_loss, i, i + 1)
        assert_array_equal(row[i], profile[i])
        assert_array_equal(one, scores[base : b.graph_ptr[i + 1]])
        assert_array_equal(
            profile_derivation(b.tail_ptr, b.tails, costs, one, picked, base, root, max_loss),
            profile_derivation(b.tail_ptr, b.tails, costs, scores, choice, 0, root, max_loss),
        )


def test_loss_profile_of_wide_edges():
    rng = np.random.default_rng(5)
    leaves = [[(x, []) for x in rng.normal(size=3)] for _ in range(3)]
    b = build([[*leaves, [(0.0, [0, 1, 2, 0, 1]), (0.5, [2, 2, 1, 0]), (-0.5, [0, 1, 0])]]])
    costs = rng.integers(0, 4, b.n_edges)
    table = enumerate_nodes(b)[3]
    losses = np.array([costs[list(edges)].sum() for _, edges in table])
    for max_loss in (3, 20):
        scores, choice, profile = run_profile(b, costs, max_loss)
        for loss in range(max_loss + 1):
            expected = max((s for (s, _), x in zip(table, losses) if x == loss), default=-np.inf)
            assert_allclose(profile[0, loss], expected, **CLOSE)
            edges = profile_derivation(b.tail_ptr, b.tails, costs, scores, choice, 0, 3, loss)
            assert (edges.size == 0) == (expected == -np.inf)
            if edges.size:
                assert costs[edges].sum() == loss
                assert_allclose(b.scores[edges].sum(), expected, **CLOSE)


def test_loss_profile_ties():
    # Root edge 4 uses node 0 twice; loss 1 may fall on either: the later tail takes the least.
    b = build([[[(0.0, []), (0.0, []), (0.0, [])], [(-1.0, [0, 0]), (0.0, [0, 0]), (0.0, [0, 0])]]])
    costs = np.array([0, 1, 1, 0, 0, 0])
    scores, choice, profile = run_profile(b, costs, 3)
    assert profile[0].tolist() == [0.0, 0.0, 0.0, -np.inf]
    found = [
        profile_derivation(b.tail_ptr, b.tails, costs, scores, choice, 0, 1, loss).tolist()
        for loss in range(4)
    ]
    assert found == [[4, 0, 0], [4, 1, 0], [4, 1, 1], []]


# ---- extremes ------------------------------------------------------------------------------------


def chain(n):
    """Chain of ``n`` nodes with three parallel edges each."""
    arity = np.ones(3 * n, dtype=np.int64)
    arity[:3] = 0
    b = SimpleNamespace(n_graphs=1, n_nodes=n, n_edges=3 * n)
    b.graph_ptr, b.node_ptr, b.tail_ptr = np.array([0, n]), np.arange(0, 3 * n + 1, 3), offsets_of(arity)
    b.tails = np.repeat(np.arange(n - 1), 3)
    b.graph = (b.graph_ptr, b.node_ptr, b.tail_ptr, b.tails)
    b.scores = np.zeros(3 * n)
    b.roots = np.array([n - 1])
    b.phi = np.tile(np.eye(3), (n, 1))
    b.feat_ptr, b.feat_idx = np.arange(3 * n + 1), np.tile(np.arange(3), n)
    b.feat_val = np.ones(3 * n)
    return b


def test_long_chain_does_not_overflow():
    n = LONG
    b = chain(n)
    log_beta = run_inside(b)
    assert_allclose(log_beta[-1], n * math.log(3), rtol=1e-10)  # n roundings, all the same way
    rho_node, rho = run_marginals(b, log_beta)
    assert_allclose(rho_node, 1.0, rtol=1e-9)
    assert_allclose(rho, 1 / 3, rtol=1e-9)
    direction = np.tile([1.0, 0.0, 0.0], n)
    dlog_z, drho = run_tangent(b, log_beta, rho, direction)
    assert_allclose(dlog_z, n / 3, rtol=1e-9)
    assert_allclose(drho, np.tile([2 / 9, -1 / 9, -1 / 9], n), atol=1e-11)
    mean, cov, _ = run_moments(b, log_beta, np.ones(1))
    assert_allclose(mean, n / 3, rtol=1e-9)
    assert_allclose(cov, n * (np.eye(3) / 3 - 1 / 9), rtol=1e-10)
    ptr, edges = hg.sample(*b.graph, b.scores, 0, 1, log_beta, 2, 7)
    assert ptr.tolist() == [0, n, 2 * n]
    usage = np.bincount(edges % 3, minlength=3)
    assert np.all(np.abs(usage - 2 * n / 3) < 6 * math.sqrt(2 * n * 2 / 9))
    assert hg.count(*chain(500).graph) == [3**500]


def test_long_chain_best_lists():
    n = LONG
    b = chain(n)
    b.scores = np.random.default_rng(0).normal(size=3 * n)
    best, back = run_viterbi(b)
    rows = np.sort(b.scores.reshape(n, 3), axis=1)
    assert_allclose(best[-1], rows[:, 2].sum(), rtol=1e-10)
    edges = hg.derivation(b.tail_ptr, b.tails, back, n - 1)
    assert_array_equal(edges[::-1], 3 * np.arange(n) + b.scores.reshape(n, 3).argmax(axis=1))
    _, totals, edge_ptr, listed = kbest(*b.graph, b.scores, 0, 1, 4, best, back)
    assert_array_equal(np.diff(edge_ptr), n)
    assert_array_equal(listed[:n], edges)
    # The second and third best change one edge each.
    gaps = np.sort(np.concatenate([rows[:, 2] - rows[:, 1], rows[:, 2] - rows[:, 0]]))
    assert totals[0] == best[-1]
    assert_allclose(totals[0] - totals[1:3], gaps[:2], atol=1e-6)


def test_dead_nodes_and_unreachable_roots():
    inf = -np.inf
    graphs = [
        [[], [(0.0, [0])]],  # the only leaf is dead
        [[(1.0, [])], [(inf, [0])]],  # forbidden edge
        [[]],  # a lone dead root
        [[(2.0, [])], [], [(0.0, [0]), (5.0, [1])]],  # a dead node beside a good one
    ]
    b = build(graphs, np.ones((6, N_FEATURES)))
    log_beta = run_inside(b)
    assert log_beta[b.roots].tolist() == [inf, inf, inf, 2.0]
    assert hg.count(*b.graph, b.scores > inf) == [0, 0, 0, 1]
    best, back = run_viterbi(b)
    assert back[b.roots].tolist() == [-1, -1, -1, 4]
    assert cut(*hg.derivations(b.graph_ptr, b.tail_ptr, b.tails, 0, 4, back)) == [(), (), (), (4, 3)]
    list_ptr, totals, _, edges = kbest(*b.graph, b.scores, 0, 4, 5, best, back)
    assert list_ptr.tolist() == [0, 0, 0, 0, 1]
    assert (totals.tolist(), edges.tolist()) == ([2.0], [4, 3])
    _, rho = run_marginals(b, log_beta)
    assert rho.tolist() == [0, 0, 0, 1, 1, 0]
    # A direction that is not finite on impossible edges does no harm.
    direction = np.array([inf, 0, inf, 1, 1, inf])
    dlog_z, drho = run_tangent(b, log_beta, rho, direction)
    assert dlog_z.tolist() == [0, 0, 0, 2]
    assert drho.tolist() == [0] * 6
    mean, cov, means = run_moments(b, log_beta, np.ones(4))
    assert mean.tolist() == [2.0] * 3
    assert not cov.any()
    assert means.tolist() == [[0.0] * 3] * 3 + [[2.0] * 3]
    assert cut(*hg.sample(*b.graph, b.scores, 0, 4, log_beta, 1, 0)) == [(), (), (), (4, 3)]
    _, _, profile = run_profile(b, np.ones(6, dtype=np.int64), 2)
    assert profile.tolist() == [[inf] * 3] * 3 + [[inf, inf, 2.0]]


def test_ranges_leave_the_rest_alone():
    b = build([[[(0.0, []), (1.0, [])]]] * 3, np.ones((6, N_FEATURES)))
    log_beta = run_inside(b)
    rho_node, rho = np.full(3, 9.0), np.full(6, 9.0)
    hg.marginals(*b.graph, b.scores, 1, 2, log_beta, rho_node, rho)
    assert (rho_node == 9.0).tolist() == [True, False, True]
    assert (rho == 9.0).tolist() == [True, True, False, False, True, True]
    dlog_z, drho = np.full(3, 9.0), np.full(6, 9.0)
    hg.tangent(*b.graph, b.scores, 1, 2, log_beta, rho, np.ones(6), dlog_z, drho)
    assert dlog_z.tolist() == [9.0, 1.0, 9.0]
    assert (drho == 9.0).tolist() == [True, True, False, False, True, True]
    best, back = np.full(3, 9.0), np.full(3, 9)
    hg.viterbi(*b.graph, b.scores, 1, 2, best, back)
    assert best.tolist() == [9.0, 1.0, 9.0]
    assert back.tolist() == [9, 3, 9]
    list_ptr, _, _, edges = kbest(*b.graph, b.scores, 1, 2, 2, best, back)
    assert (list_ptr.tolist(), edges.tolist()) == ([0, 2], [3, 2])
    ptr, edges = hg.sample(*b.graph, b.scores, 1, 1, log_beta, 3, 0)
    assert (ptr.tolist(), edges.size) == ([0], 0)
