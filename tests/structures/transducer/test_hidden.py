"""Sums over hidden alignments against enumeration, and outputs that several alignments share."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from trelliswork import CRF, InputError, Parts, Transducer, losses
from trelliswork._ragged import gather_ranges
from trelliswork.structures.derivations.batch import DerivationBatch

X = ["abc", "ba", "cab", "a", ""]
Y = ["xyz", {"y", "yx"}, "zxxy", "x", ""]


@pytest.fixture(params=[{}, {"order": 2, "max_in": 2}, {"order": 0, "max_out": 3}])
def bound(request):
    space = Transducer(window=1, longest=2, min_context=1, **request.param).bind(X, Y)
    w = np.random.default_rng(3).normal(size=space.n_features)
    return space, w


def alignments(space, w, x):
    """Every alignment of one input: what it writes, its score and its features."""
    batch = space.pack([x])
    codes = batch.kbest(batch.scores(w), 10**5)[0].codes
    many = batch.subset(np.zeros(len(codes), dtype=int))
    features = many.features(codes).toarray()
    return many.unpack(codes), features @ w, features


def test_sums_over_the_alignments_of_true_outputs(bound):
    space, w = bound
    batch = space.pack(X, Y)
    weights = np.array([1.0, 2.0, 0.5, 0.0, 3.0])
    log_known, target = batch.expect_known(w, weights)
    wanted = np.zeros(space.n_features)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        outputs, scores, features = alignments(space, w, x)
        right = [o in (y if isinstance(y, set) else {y}) for o in outputs]
        assert log_known[i] == pytest.approx(logsumexp(scores[right]))
        p = np.exp(scores[right] - logsumexp(scores[right]))
        wanted += weights[i] * (p @ features[right])
    assert np.allclose(target, wanted)
    assert np.allclose(batch.gold_values(batch.scores(w)), log_known)


def test_completions_are_best_alignments_of_a_true_output(bound):
    space, _ = bound
    batch = space.pack(X, Y)
    assert batch.partly_known
    for found, y in zip(batch.unpack(batch.gold_codes), Y, strict=True):
        assert found in (y if isinstance(y, set) else {y})


def test_candidates_are_outputs_and_their_probabilities_sums(bound):
    space, w = bound
    batch = space.pack(X)
    scores = batch.scores(w)
    for i, (x, found) in enumerate(zip(X, batch.candidates(scores, 400), strict=True)):
        outputs, values, _ = alignments(space, w, x)
        total = {o: logsumexp([v for p, v in zip(outputs, values) if p == o]) for o in outputs}
        listed = batch.unpack_sample(i, found.codes)
        assert len(set(listed)) == len(listed) == len(total) == len(list(space.enumerate(x)))
        assert np.allclose(found.values, sorted(total.values(), reverse=True))
        assert np.allclose(found.values, [total[o] for o in listed])
    best = batch.unpack(batch.predicted(scores).codes)
    assert best == [batch.unpack_sample(i, f.codes)[0] for i, f in enumerate(batch.candidates(scores, 50))]


def test_gradient_of_the_hidden_objective():
    space = Transducer(window=1, longest=2, min_context=1, max_out=2).bind(X, Y)
    batch = space.pack(X, Y)
    rng = np.random.default_rng(5)
    w, h = rng.normal(size=(2, space.n_features))

    def value(v):
        (log_z, expected), (log_known, target) = batch.expect(v), batch.expect_known(v)
        return (log_z - log_known).sum(), expected - target

    up, down = (value(w + s * h)[0] for s in (1e-5, -1e-5))
    assert (up - down) / 2e-5 == pytest.approx(value(w)[1] @ h, rel=1e-6)


def test_subsets_and_large_scores(bound):
    space, w = bound
    batch = space.pack(X, Y)
    part = batch.subset([3, 1, 1])
    assert np.allclose(part.expect_known(w)[0], batch.expect_known(w)[0][[3, 1, 1]])
    huge = 1e4 * w
    assert np.allclose(batch.expect(huge)[0], batch.log_partition(batch.scores(huge)))


def test_probabilities_of_all_outputs_sum_to_one():
    model = CRF(Transducer(window=1, longest=2, min_context=1), l2=0.3).fit(X, Y)
    for x in ("ab", "bca"):
        outputs = list(model.space_.enumerate(x))
        assert np.exp(model.log_prob([x] * len(outputs), outputs)).sum() == pytest.approx(1.0)
        listed = model.predict_kbest([x], 100)[0]
        wanted = np.exp(model.log_prob([x] * len(listed), [c.output for c in listed]))
        assert np.allclose([c.probability for c in listed], wanted)
    assert model.log_prob(["ab"], ["zzzzzzz"]).tolist() == [-np.inf]
    assert model.log_prob(["ab"], ["q"]).tolist() == [-np.inf]


def test_odd_inputs():
    model = CRF(Transducer(min_context=1)).fit(X, Y)
    assert model.predict(["", "??", "a" * 300])[:2] == ["", ""]
    assert model.score(X, Y) == 1.0
    assert model.predict([]) == []


def test_lists_of_symbols_and_several_lists():
    X = [["c", "a"], ["a", "c"]]
    y = [[["K", "AA"], ["K", "AE"]], ["AA", "K"]]
    model = CRF(Transducer(min_context=1)).fit(X, y)
    assert model.predict([["a", "c", "a"]]) == [["AA", "K", "AA"]]
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        ("", "x", "sample 1: 0 input symbols cannot be written as 1 output symbols, at most 5 .*; drop the"),
        ("a", "x" * 9, "sample 1: 1 input symbols cannot .* 9 output symbols, at most 5 .*; give max_out=9,"),
        ("a", set(), "sample 1: an empty set of outputs"),
        ("a", 3, "sample 1: an output is int"),
        ("a", [["x"], [["y"]]], "sample 1: a symbol of an output is not hashable"),
        (7, "a", "sample 1: X is int"),
    ],
)
def test_bad_pairs(x, y, said):
    with pytest.raises(InputError, match=said):
        Transducer().bind(["ab", x], ["xy", y])


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ("xy", "expected an alignment"),
        ([("a", "x")], "do not spell the input"),
        ([("a", "x"), ("", "y"), ("b", "y")], "do not spell the input"),
    ],
)
def test_bad_alignments(y, said):
    with pytest.raises(InputError, match=f"sample 0: .*{said}"):
        Transducer(output="pieces").bind(["ab"], [y])


@pytest.mark.parametrize(
    "params",
    [{"order": -1}, {"max_in": 0}, {"max_out": 0}, {"window": 1.5}, {"output": "text"}, {"longest": 0}],
)
def test_bad_parameters(params):
    name = next(iter(params))
    with pytest.raises(InputError, match=f"^{name} must be"):
        Transducer(**params).bind(X, Y)


def test_alignment_model_prefers_what_recurs():
    pairs = ["".join(p) for p in itertools.product("ab", repeat=3)]
    space = Transducer(min_context=1).bind(pairs, [p.replace("a", "xy").replace("b", "z") for p in pairs])
    found = {
        (space.input_of(("ab"[i[0]],)), space.writing_of(p)) for p, i in enumerate(space.pieces.inputs[:-2])
    }
    assert found == {("a", "xy"), ("b", "z")}


def test_many_states_and_pieces():
    """So many that joins are kept in a hash table."""
    numbers = [[i] for i in range(2100)]
    space = Transducer(1, min_context=1, window=0).bind(numbers, numbers)
    assert len(space.grams.contexts.contexts) * len(space.pieces) > 1 << 22
    batch = space.pack([[1, 5, 2099, 1, 5]])
    assert batch.unpack(batch.argmax(batch.scores(np.zeros(space.n_features))).codes) == [[1, 5, 2099, 1, 5]]
    assert [space.grams.contexts.contexts[q] for q, _, _ in batch.joins[1:4]] == [(1,), (5,), (2099,)]


def test_least_expected_edit_distance_by_enumeration():
    structure = Transducer(prune=0.0)
    model = CRF(structure, l2=0.5).fit(["ab", "ba", "aab", "b"], ["xy", "yx", "xy", "z"])
    distance = losses.Edit()
    for x in ("aba", "ab", "b"):
        batch = model.pack([x])
        scores = model.part_scores(batch, [x])
        paths = batch.kbest(scores, 10**6)[0]
        values = np.exp(paths.values - batch.log_partition(scores)[0])
        written = batch.unpack_sample(0, paths.codes)
        assert values.sum() == pytest.approx(1.0)
        candidates = list(dict.fromkeys(written[:10]))
        risks = [sum(p * distance(c, o) for p, o in zip(values, written, strict=True)) for c in candidates]
        assert model.predict_min_risk([x], loss="edit", k=10) == [candidates[int(np.argmin(risks))]]


def test_restarts_are_the_same_for_the_same_seed():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abc"), size=5)) for _ in range(12)]
    y = [x.replace("ab", "x").replace("c", "yy") for x in X]
    spaces = [Transducer(max_in=2, restarts=n, seed=s).bind(X, y) for n, s in ((0, 0), (4, 1), (4, 1))]
    values = []
    for space in spaces:
        batch = space.pack(X, y)
        pieces = batch.alignments(batch.gold_codes)
        values.append((space.feature_names, pieces))
    assert values[1] == values[2]  # the same seed, the same pieces
    with pytest.raises(InputError, match="restarts"):
        Transducer(restarts=-1).bind(X, y)


def test_known_outputs_limit_every_verb():
    model = CRF(Transducer(), l2=0.5).fit(["ab", "ba", "aab", "b"], ["xy", "yx", "xy", "z"])
    x = ["ab", "aab", "ba", "", "ab"]
    free = model.predict_kbest(x, k=50)
    known = [{c.output for c in free[0][1:4]}, None, "yx", "", list(free[4][2].output)]
    bound = model.predict_kbest(x, k=50, known=known)
    for entry, every, few in zip(known, free, bound, strict=True):
        wanted = None if entry is None else {"".join(entry)} if not isinstance(entry, set) else entry
        agreeing = [c for c in every if wanted is None or c.output in wanted]
        assert [c.output for c in few] == [c.output for c in agreeing]
        assert np.allclose([c.score for c in few], [c.score for c in agreeing])
        total = sum(c.probability for c in agreeing)
        assert np.allclose([c.probability for c in few], [c.probability / total for c in agreeing])
    assert model.predict(x, known=known) == [few[0].output for few in bound]
    assert sum(model.predict_marginals(["ab"], known=["xy"])[0].values()) == pytest.approx(2.0)
    assert model.sample(["ab"], 3, known=["xy"], random_state=0)[0] == ["xy"] * 3
    with pytest.raises(InputError, match="sample 0"):
        model.predict(["a"], known=["zzzzzz"])


@pytest.mark.parametrize("k", [1, 2, 7, 64])
def test_lists_of_best_paths_are_those_of_derivation_graphs(bound, k):
    space, w = bound
    batch = space.pack([*X, "", "abcab", "?a"])
    # Rounded scores tie often, so that the order of equal paths counts.
    for scores in (batch.scores(w), Parts(edge=np.rint(batch.scores(w).edge))):
        found, wanted = batch._kbest(scores, k), DerivationBatch._kbest(batch, scores, k)
        assert np.array_equal(found[0], wanted[0])
        assert np.array_equal(found[1], wanted[1])
        assert np.array_equal(found[2].values, wanted[2].values)
        assert np.array_equal(found[2].offsets, wanted[2].offsets)
    costs = Parts(edge=np.where(np.random.default_rng(k).random(batch.n_edges) < 0.1, -np.inf, 0.0))
    possible = np.flatnonzero(batch.log_partition(batch.scores(w), costs) > -np.inf)
    part = batch.subset(possible)
    kept = Parts(edge=costs.edge[gather_ranges(batch.edge_ptr, possible)])
    found, wanted = (kind._kbest(part, part.scores(w), k, kept) for kind in (type(part), DerivationBatch))
    assert np.array_equal(found[0], wanted[0])
    assert np.array_equal(found[2].values, wanted[2].values)


def test_lists_of_best_paths_refuse_inputs_without_any(bound):
    space, w = bound
    batch = space.pack(X)
    with pytest.raises(InputError, match="sample 0: no output is possible"):
        batch.kbest(batch.scores(w), 3, Parts(edge=np.full(batch.n_edges, -np.inf)))
