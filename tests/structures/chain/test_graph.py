"""Chain verbs against the derivation engine run on the graph of the chain."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from trelliswork import Chain, InputError, Parts, Ragged
from trelliswork.dp.derivations import hypergraph as hg
from trelliswork.dp.derivations.kbest import kbest
from trelliswork.structures.chain import graph
from trelliswork.structures.chain.graph import chain_graph, edge_features, edge_values, token_features

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
LABELS = ["B-P", "I-P", "O"]
PAIRS = [(a, b) for a in LABELS for b in LABELS if (a, b) != ("O", "I-P")]
STRUCTURES = {
    "order-1": Chain(labels=LABELS),
    "order-2": Chain(2, labels=LABELS),
    "order-3": Chain(3, labels=LABELS, start=False),
    "scheme": Chain(scheme="BIO", labels=LABELS),
    "scheme-2": Chain(2, scheme="BIO", labels=LABELS),
    "pairs-3": Chain(3, transitions=PAIRS, labels=LABELS),
    "edges": Chain(edge_features="all", labels=LABELS),
    "edges-2": Chain(2, edge_features=["w=a"], labels=LABELS, emissions="observed"),
}


class Engine:
    """Verbs of the derivation engine on the graph of a chain batch."""

    def __init__(self, batch, scores):
        self.batch, self.chain = batch, chain_graph(batch)
        self.graph = self.chain.graph
        self.score = edge_values(self.chain, batch, *batch._trellis(scores, None))
        self.log_beta = np.empty(self.graph.graph_ptr[-1])
        hg.inside(*self.graph, self.score, 0, len(batch), self.log_beta)
        self.rho = np.empty(self.score.size)
        hg.marginals(
            *self.graph, self.score, 0, len(batch), self.log_beta, np.empty_like(self.log_beta), self.rho
        )

    @property
    def roots(self):
        return self.graph.graph_ptr[1:] - 1

    def parts(self, values):
        """Edge values summed into part arrays, one transition table per sequence."""
        batch, c = self.batch, self.chain
        k, n_contexts = batch.space.n_labels, batch.space.successor.shape[0]
        out = Parts(
            unary=np.zeros((batch.n_tokens, k)),
            trans=np.zeros((len(batch), n_contexts, k)),
            edge=np.zeros((batch.n_tokens, k, k)),
        )
        at = c.token >= 0
        np.add.at(out.unary, (c.token[at], c.label[at]), values[at])
        at = c.context >= 0
        np.add.at(out.trans, (c.sequence[at], c.context[at], c.label[at]), values[at])
        last = graph.last_label(batch.space, c.context[at])
        np.add.at(out.edge, (c.token[at], last, c.label[at]), values[at])
        return out

    def tangent(self, direction):
        slope, out = np.empty(len(self.batch)), np.empty(self.score.size)
        n = len(self.batch)
        hg.tangent(*self.graph, self.score, 0, n, self.log_beta, self.rho, direction, slope, out)
        return out

    def viterbi(self):
        best, back = np.empty_like(self.log_beta), np.empty(self.log_beta.size, dtype=np.int64)
        hg.viterbi(*self.graph, self.score, 0, len(self.batch), best, back)
        return best, back


def problem(name, seed, *, allowed=False, each=False):
    """Random batch with an empty sequence, and random part scores."""
    rng = np.random.default_rng(seed)
    structure = STRUCTURES[name]
    lengths = [3, 1, 0, 5, 2]
    X = [[[f"w={rng.choice(list('abc'))}", "bias"] for _ in range(n)] for n in lengths]
    y = [["O"] * n for n in lengths]
    space = structure.bind(X, y)
    masks = None
    if allowed:
        masks = [
            None if i == 1 else [[None, ("O", "B-P"), "O"][rng.integers(3)] for _ in range(n)]
            for i, n in enumerate(lengths)
        ]
    batch = space.pack(X, y, allowed=masks)
    w = rng.normal(size=space.n_features)
    scores = batch.scores(w)
    if each:
        tables = rng.normal(size=(len(batch), *scores.trans.shape))
        scores = Parts(unary=scores.unary, trans=tables, edge=scores.edge)
    return batch, w, scores, rng


def assert_parts(got, wanted):
    assert_allclose(got.unary, wanted.unary, **CLOSE)
    trans = wanted.trans if got.trans.ndim == 3 else wanted.trans.sum(axis=0)
    assert_allclose(got.trans, trans, **CLOSE)
    if got.edge is not None:
        assert_allclose(got.edge, wanted.edge, **CLOSE)


@pytest.mark.parametrize("each", [False, True], ids=["shared", "each"])
@pytest.mark.parametrize("allowed", [False, True], ids=["", "allowed"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_verbs(name, allowed, each):
    batch, _, scores, rng = problem(name, len(name), allowed=allowed, each=each)
    engine = Engine(batch, scores)
    assert_allclose(batch.log_partition(scores), engine.log_beta[engine.roots], **CLOSE)
    for per_sequence in (False, True):
        assert_parts(batch.marginals(scores, each=per_sequence), engine.parts(engine.rho))
    weights = rng.random(len(batch))
    assert_parts(
        batch.marginals(scores, weights=weights), engine.parts(engine.rho * weights[engine.chain.sequence])
    )
    direction = batch.scores(rng.normal(size=batch.space.n_features))
    if each:
        direction.trans = rng.normal(size=scores.trans.shape)
    along = edge_values(engine.chain, batch, direction.unary, direction.trans, None, direction.edge)
    assert_parts(batch.tangent(scores, direction, each=True), engine.parts(engine.tangent(along)))

    best, back = engine.viterbi()
    found = batch.argmax(scores)
    assert_allclose(found.values, best[engine.roots], **CLOSE)
    _, edges = hg.derivations(engine.graph.graph_ptr, *engine.graph[2:], 0, len(batch), back)
    labels = engine.chain.label[edges]
    # The same tokens in two places make ties, which rounding may break either way: compare scores.
    for codes in (found.codes, Ragged(labels[labels >= 0], batch.offsets)):
        assert_allclose(batch.evaluate(codes, scores), best[engine.roots], **CLOSE)
    list_ptr, totals, _, _ = kbest(*engine.graph, engine.score, 0, len(batch), 7, best, back)
    for i, several in enumerate(batch.kbest(scores, 7)):
        assert_allclose(several.values, totals[list_ptr[i] : list_ptr[i + 1]], **CLOSE)


@pytest.mark.parametrize("allowed", [False, True], ids=["", "allowed"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_features_and_moments(name, allowed):
    batch, w, scores, rng = problem(name, len(name) + 1, allowed=allowed)
    chain = chain_graph(batch)
    phi = edge_features(chain, batch, *token_features(batch))
    own = edge_values(chain, batch, scores.unary, scores.trans, None, scores.edge)
    assert_allclose(phi @ w, own, **CLOSE)
    weights = rng.random(len(batch))
    for at in (w, None):
        dense = batch.moments(at, weights)
        slow = super(type(batch), batch).moments(at, weights)
        assert_allclose(dense.mean, slow.mean, **CLOSE)
        assert_allclose(dense.covariance, slow.covariance, **CLOSE)


def test_a_range_of_sequences():
    batch, *_ = problem("order-2", 0)
    whole, part = chain_graph(batch), chain_graph(batch, 1, 4)
    at = np.isin(whole.sequence, [1, 2, 3])
    for name in ("sequence", "token", "context", "label"):
        assert_array_equal(getattr(part, name), getattr(whole, name)[at])
    assert chain_graph(batch, 2, 2).graph.graph_ptr.tolist() == [0]


def test_loss_profile_with_costs_on_transitions():
    batch, w, scores, rng = problem("edges", 3)
    k = len(LABELS)
    costs = Parts(
        unary=rng.integers(0, 2, (batch.n_tokens, k)),
        trans=rng.integers(0, 2, (len(batch), k, k)),
        edge=None,
    )
    profile = batch.loss_profile(scores, costs, 9)
    assert_allclose(profile.max(axis=1), batch.argmax(scores).values, **CLOSE)
    for i in range(len(batch)):
        for loss in np.flatnonzero(profile[i] > -np.inf):
            one = batch.subset([i])
            mine = slice(batch.offsets[i], batch.offsets[i + 1])
            part = Parts(unary=costs.unary[mine], trans=costs.trans[i : i + 1], edge=None)
            found = one.argmax_at_loss(one.scores(w), part, [loss])
            assert_allclose(found.values, profile[i, loss], **CLOSE)
            assert_allclose(one.evaluate(found.codes, one.scores(w)), profile[i, loss], **CLOSE)
            assert one.indicators(found.codes, each=True).dot(part) == loss


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["order-1", "scheme"])
def test_compiled_loss_profile_is_that_of_the_graph(kind, seed):
    batch, _, scores, rng = problem(kind, seed)
    assert batch.quick_profile
    k = batch.space.n_labels
    cost = rng.integers(0, 4, (batch.n_tokens, k)).astype(float)
    simple = Parts(unary=cost, trans=None, edge=None)
    general = Parts(unary=cost, trans=np.zeros((len(batch), k, k)), edge=None)
    for width in (0, 3, 20):
        fast, slow = (batch.loss_profile(scores, costs, width) for costs in (simple, general))
        assert_allclose(fast, slow, **CLOSE)
    for loss in range(20):
        possible = np.flatnonzero(slow[:, loss] > -np.inf)
        part = batch.subset(possible)
        own = np.concatenate(
            [np.zeros(0, dtype=int), *(np.arange(*batch.offsets[i : i + 2]) for i in possible)]
        )
        own_scores = Parts(unary=scores.unary[own], trans=scores.trans, edge=None)
        costs = Parts(unary=cost[own], trans=None, edge=None)
        found = part.argmax_at_loss(own_scores, costs, np.full(possible.size, loss))
        assert_allclose(found.values, slow[possible, loss], **CLOSE)
        assert_allclose(part.evaluate(found.codes, own_scores), found.values, **CLOSE)
        total = np.bincount(
            np.repeat(np.arange(possible.size), np.diff(part.offsets)),
            costs.unary[np.arange(own.size), found.codes.values],
            minlength=possible.size,
        )
        assert_array_equal(total, loss)


def test_ties_at_a_loss_go_to_the_first_labels():
    batch, _, scores, _ = problem("order-1", 0)
    k = batch.space.n_labels
    equal = Parts(unary=np.zeros_like(scores.unary), trans=np.zeros((k, k)), edge=None)
    codes = Ragged(np.zeros(batch.n_tokens, dtype=np.int64), batch.offsets)
    free = Parts(unary=np.zeros((batch.n_tokens, k)), trans=None, edge=None)
    found = batch.argmax_at_loss(equal, free, np.zeros(len(batch), dtype=np.int64))
    assert_array_equal(found.codes.values, codes.values)


def test_loss_profile_refusals():
    batch, _, scores, _ = problem("order-1", 0)
    with pytest.raises(InputError, match="whole numbers"):
        batch.loss_profile(scores, batch.mismatch({"O": 0.5})[0], 3)
    with pytest.raises(InputError, match="sample 1: no output has loss 2"):
        batch.argmax_at_loss(scores, batch.mismatch()[0], [0, 2, 0, 0, 0])


def test_evaluate_next_to_an_empty_sequence():
    space = Chain(scheme="BIO", invalid="strict").bind([["a", "b"]], [["B-P", "I-P"]])
    batch = space.pack([["a"], [], ["b"]], [["B-P"], [], ["I-P"]])
    values = batch.evaluate(batch.gold_codes, batch.scores(np.zeros(space.n_features)))
    assert values.tolist() == [0.0, 0.0, -np.inf]


def test_edge_scores_left_out_are_zeros():
    batch, _, scores, _ = problem("edges", 5)
    zeros = np.zeros_like(scores.edge)
    bare = batch.marginals(Parts(unary=scores.unary, trans=scores.trans, edge=None))
    full = batch.marginals(Parts(unary=scores.unary, trans=scores.trans, edge=zeros))
    assert_allclose(batch.pull(bare), batch.pull(full), **CLOSE)
