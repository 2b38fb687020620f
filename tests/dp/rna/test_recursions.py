"""RNA recursions against enumeration, finite differences and the hypergraph engine."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy.special import logsumexp

from trelliswork.dp.derivations import hypergraph
from trelliswork.dp.rna import graph as rna_graph
from trelliswork.dp.rna import inside, sample, viterbi
from trelliswork.dp.rna.rules import KIND, N_RULES

NONE = np.empty(0)
PLAIN = bool(numba.config.DISABLE_JIT)


def tables_of(seq):
    """All pair tables with canonical pairs, whether the grammar has them or not."""
    table = [-1] * len(seq)

    def fill(spans):
        spans = [(i, j) for i, j in spans if i <= j]
        if not spans:
            yield np.array(table)
            return
        (i, j), rest = spans[0], spans[1:]
        yield from fill([(i + 1, j), *rest])
        for k in range(i + 1, j + 1):
            if KIND[seq[i], seq[k]] >= 0:
                table[i], table[k] = k, i
                yield from fill([(i + 1, k - 1), (k + 1, j), *rest])
                table[i] = table[k] = -1

    return fill([(0, len(seq) - 1)])


class Case:
    """A random problem and what enumeration says about it."""

    def __init__(self, seq, n_depths, with_pairs, rng):
        self.seq, self.n = np.asarray(seq), len(seq)
        size = self.n * (self.n + 1) // 2
        self.table = rng.normal(size=(1, n_depths, N_RULES))
        self.pair = rng.normal(size=size) if with_pairs else NONE
        self.h = rng.normal(size=(1, n_depths, N_RULES))
        self.hp = rng.normal(size=size) if with_pairs else NONE
        self.offsets, self.pair_offsets = np.array([0, self.n]), np.array([0, size])
        self.D = n_depths
        tables = list(tables_of(self.seq))
        scores = np.array([self.score(t) for t in tables])
        self.outputs = [t for t, s in zip(tables, scores) if s > -np.inf]
        self.scores = scores[scores > -np.inf]

    def data(self, table=None, pair=None):
        return (
            self.seq,
            self.offsets,
            self.table if table is None else table,
            self.pair if pair is None else pair,
            self.pair_offsets,
            0,
            1,
        )

    def score(self, partner):
        value = np.empty(1)
        viterbi.evaluate(*self.data(), partner, value)
        return value[0]

    def expect(self, goal, width, table=None, pair=None):
        log_z, counts = np.empty(1), np.zeros((1, self.D, N_RULES))
        probs = np.empty(self.pair_offsets[1])
        along = (self.h, self.hp)
        inside.expect(*self.data(table, pair), width, goal, along, inside.Expected(log_z, counts, probs))
        return log_z[0], counts[0], probs


LENGTHS = (1, 2, 3, 4, 6, 8) if PLAIN else (1, 2, 3, 4, 6, 9, 10)
CASES = [(n, D, with_pairs) for D in (1, 2, 3) for n in LENGTHS for with_pairs in (False, True)]


@pytest.fixture(params=CASES, ids=lambda p: f"n{p[0]}-D{p[1]}-{'pairs' if p[2] else 'plain'}")
def case(request):
    n, D, with_pairs = request.param
    rng = np.random.default_rng([n, D, with_pairs])
    return Case(rng.integers(0, 5 if n % 3 == 0 else 4, n), D, with_pairs, rng)


def test_best_structures(case):
    partner, value = np.empty(case.n, dtype=np.int64), np.empty(1)
    viterbi.viterbi(*case.data(), partner, value)
    assert np.isclose(value[0], case.scores.max())
    assert np.isclose(case.score(partner), value[0])
    for k in (1, 2, 7, len(case.outputs) + 3):
        counts, totals, partners = viterbi.kbest(*case.data(), k)
        assert np.allclose(totals, np.sort(case.scores)[::-1][:k])
        rows = partners.reshape(counts[0], case.n)
        assert len({tuple(row) for row in rows.tolist()}) == counts[0] == min(k, len(case.outputs))
        assert np.allclose([case.score(row) for row in rows], totals)


@pytest.mark.parametrize("width", [64, 4, 1])
def test_probabilities(case, width):
    log_z, counts, probs = case.expect(inside.EVERYTHING, width)
    assert np.isclose(log_z, logsumexp(case.scores))
    assert case.expect(inside.LOG_Z, width)[0] == log_z
    wanted, uses = np.zeros((case.n, case.n)), np.zeros_like(counts)
    one = np.zeros((1, case.D, N_RULES))
    for p, partner in zip(np.exp(case.scores - log_z), case.outputs):
        for i, j in enumerate(partner):
            if j < 0 or j > i:
                wanted[i, max(i, j)] += p
        viterbi.count(case.seq, case.offsets, partner, one)
        uses += p * one[0]
    assert np.allclose(probs, wanted[np.triu_indices(case.n)])
    assert np.allclose(counts, uses)


@pytest.mark.parametrize("width", [64, 4, 1])
def test_derivatives_are_differences(case, width):
    step = 1e-6
    slope, counts, probs = case.expect(inside.DERIVATIVES, width)
    up, down = (
        case.expect(inside.EVERYTHING, width, case.table + s * case.h, case.pair + s * case.hp)
        for s in (step, -step)
    )
    for got, a, b in zip((slope, counts, probs), up, down, strict=True):
        assert np.allclose(got, (a - b) / (2 * step), atol=1e-7)


def test_draws_have_their_probabilities(case):
    chart = inside.inside(case.seq, case.table[0], case.pair, 4)
    n_draws = 2000
    uniform = np.random.default_rng(0).random((n_draws, 2 * case.n))
    rows = np.empty((n_draws, case.n), dtype=np.int64)
    sample.sample(case.seq, case.table[0], case.pair, 4, *chart, uniform, rows)
    p = np.exp(case.scores - logsumexp(case.scores))
    names = {tuple(t.tolist()): j for j, t in enumerate(case.outputs)}
    share = np.bincount([names[tuple(row)] for row in rows.tolist()], minlength=p.size) / n_draws
    assert np.all(np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / n_draws) + 3 / n_draws)


@pytest.mark.parametrize("D", [1, 3])
@pytest.mark.parametrize("n", [1, 8, 16] if PLAIN else [1, 8, 60, 150])
def test_hypergraph_engine_agrees(n, D):
    rng = np.random.default_rng([n, D])
    seq = rng.integers(0, 5 if n == 8 else 4, n)
    table = rng.normal(size=(1, D, N_RULES)) * (10.0 if n == 60 else 1.0)
    node_ptr, tail_ptr, tails, rules, places = rna_graph.derivation_graph(seq, D)
    graph = np.array([0, node_ptr.size - 1]), node_ptr, tail_ptr, tails
    scores = np.where(rules >= 0, table.ravel()[rules], 0.0)
    log_beta, rho_node, rho = np.empty(node_ptr.size - 1), np.empty(node_ptr.size - 1), np.empty(rules.size)
    hypergraph.inside(*graph, scores, 0, 1, log_beta)
    hypergraph.marginals(*graph, scores, 0, 1, log_beta, rho_node, rho)
    best, back = np.empty(log_beta.size), np.empty(log_beta.size, dtype=np.int64)
    hypergraph.viterbi(*graph, scores, 0, 1, best, back)

    size = n * (n + 1) // 2
    data = seq, np.array([0, n]), table, NONE, np.array([0, size]), 0, 1
    partner, value = np.empty(n, dtype=np.int64), np.empty(1)
    viterbi.viterbi(*data, partner, value)
    assert np.isclose(value[0], best[-1])
    width = inside.block_width(table, NONE)
    assert width == (64 if n != 60 else 8)
    log_z, counts, probs = np.empty(1), np.zeros((1, D, N_RULES)), np.empty(size)
    inside.expect(*data, width, inside.EVERYTHING, (table, NONE), inside.Expected(log_z, counts, probs))
    assert np.isclose(log_z[0], log_beta[-1])
    used = rules >= 0
    assert np.allclose(counts.ravel(), np.bincount(rules[used], rho[used], minlength=D * N_RULES))
    own = places >= 0
    assert np.allclose(probs, np.bincount(places[own], rho[own], minlength=size))


@pytest.mark.parametrize("scale", [100.0, 1e4, 1e6])
@pytest.mark.parametrize("D", [1, 2])
def test_sums_of_scores_that_are_far_apart(D, scale):
    """Beyond what doubles with a common power of two can tell apart, against sums of logarithms."""
    n, rng = 26, np.random.default_rng(int(scale) + D)
    seq = rng.integers(0, 4, n)
    table = rng.normal(size=(1, D, N_RULES)) * scale
    # Some rules are as good as others, so that not all probabilities are 0 or 1.
    table[..., rng.integers(0, N_RULES, 8)] = 0.0
    pair = np.where(rng.random(n * (n + 1) // 2) < 0.1, scale * rng.normal(size=n * (n + 1) // 2), 0.0)
    node_ptr, tail_ptr, tails, rules, places = rna_graph.derivation_graph(seq, D)
    graph = np.array([0, node_ptr.size - 1]), node_ptr, tail_ptr, tails
    scores = np.where(rules >= 0, table.ravel()[rules], 0.0) + np.where(places >= 0, pair[places], 0.0)
    log_beta, rho_node, rho = np.empty(node_ptr.size - 1), np.empty(node_ptr.size - 1), np.empty(rules.size)
    hypergraph.inside(*graph, scores, 0, 1, log_beta)
    hypergraph.marginals(*graph, scores, 0, 1, log_beta, rho_node, rho)
    width = inside.block_width(table, pair)
    assert width == 1
    data = seq, np.array([0, n]), table, pair, np.array([0, pair.size]), 0, 1
    log_z, counts, probs = np.empty(1), np.zeros((1, D, N_RULES)), np.empty(pair.size)
    inside.expect(*data, width, inside.EVERYTHING, (table, NONE), inside.Expected(log_z, counts, probs))
    assert np.isclose(log_z[0], log_beta[-1], rtol=1e-12)
    own, rounding = places >= 0, 1e-12 * scale * n
    assert np.allclose(probs, np.bincount(places[own], rho[own], minlength=pair.size), atol=rounding)
    assert np.allclose(
        counts.ravel(),
        np.bincount(rules[rules >= 0], rho[rules >= 0], minlength=D * N_RULES),
        atol=n * rounding,
    )
    chart = inside.inside(seq, table[0], pair, width)
    rows = np.empty((400, n), dtype=np.int64)
    assert sample.sample(seq, table[0], pair, width, *chart, rng.random((400, 2 * n)), rows)
    unpaired = probs[[i * n - (i * (i - 1)) // 2 for i in range(n)]]
    assert np.allclose((rows < 0).mean(axis=0), unpaired, atol=0.12)


def test_parses_are_structures():
    """G6 has exactly one derivation for every structure that it can represent."""
    rng = np.random.default_rng(5)
    for n in range(1, 11):
        seq = rng.integers(0, 4, n)
        node_ptr, tail_ptr, tails, *_ = rna_graph.derivation_graph(seq, 1)
        [parses] = hypergraph.count(np.array([0, node_ptr.size - 1]), node_ptr, tail_ptr, tails)
        assert parses == len(Case(seq, 1, False, rng).outputs)


@pytest.mark.skipif(PLAIN, reason="too long for plain Python")
def test_long_sequences_neither_overflow_nor_lose_probability():
    n = 700
    seq = np.random.default_rng(3).integers(0, 4, n)
    size = n * (n + 1) // 2
    i, j = np.triu_indices(n)
    for table in (np.full((1, 1, N_RULES), 3.0), np.full((1, 1, N_RULES), -3.0)):
        log_z, counts, probs = np.empty(1), np.zeros((1, 1, N_RULES)), np.empty(size)
        width = inside.block_width(table, NONE)
        data = seq, np.array([0, n]), table, NONE, np.array([0, size]), 0, 1
        inside.expect(*data, width, inside.EVERYTHING, (table, NONE), inside.Expected(log_z, counts, probs))
        assert abs(log_z[0]) > 710  # the partition function itself is no double
        each = np.bincount(i, probs, minlength=n) + np.bincount(j[i < j], probs[i < j], minlength=n)
        assert np.allclose(each, 1.0, atol=1e-9)


def test_no_structure_where_costs_forbid_it():
    seq = np.array([2, 0, 0, 1])
    pair = np.zeros(10)
    pair[0] = -np.inf  # the first base must pair
    data = seq, np.array([0, 4]), np.zeros((1, 1, N_RULES)), pair, np.array([0, 10]), 0, 1
    partner, value = np.empty(4, dtype=np.int64), np.empty(1)
    viterbi.viterbi(*data, partner, value)
    assert partner.tolist() == [3, -1, -1, 0]
    pair[3] = -np.inf  # nor with the last one
    viterbi.viterbi(*data, partner, value)
    assert value[0] == -np.inf
    log_z, counts, probs = np.empty(1), np.zeros((1, 1, N_RULES)), np.empty(10)
    inside.expect(*data, 64, inside.EVERYTHING, (data[2], NONE), inside.Expected(log_z, counts, probs))
    assert log_z[0] == -np.inf
    assert not counts.any()
    assert not probs.any()
