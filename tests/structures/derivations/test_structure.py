"""Derivations beyond the laws: reading graphs, finding outputs, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import trelliswork
from trelliswork import Derivations, Edge, InputError, Parts


def chain(x):
    """Labels A and B for the letters of ``x``; parts without positions."""
    for a in "AB":
        yield Edge((len(x), a))
    for t in reversed(range(len(x))):
        for a in "AB" if t else "^":
            for b in "AB":
                yield Edge((t, a), [(t + 1, b)], [(x[t], b), (a, b)], b)


def fixed(*edges):
    """Space and one-sample batch of a constant graph."""
    space = Derivations(lambda x: edges).bind(["x"], None)
    return space, space.pack(["x"])


def test_tuples_dicts_and_repeated_names():
    space, batch = fixed(("leaf", (), {"f": 2.0, "g": -1.0}, "P"), ("root", ["leaf", "leaf"], ["g", "g"]))
    assert space.feature_names == [("feature", "f"), ("feature", "g")]
    assert batch.phi.toarray().tolist() == [[2.0, -1.0], [0.0, 2.0]]
    found = batch.argmax(batch.scores(np.ones(2)))
    assert batch.unpack(found.codes) == [["P", "P"]]
    assert batch.features(found.codes).toarray().tolist() == [[4.0, 0.0]]
    assert found.codes.values.tolist() == [1, 0, 0]  # top-down, numbered within the sample


def test_unreachable_edges_and_dead_ends_are_left_out():
    space, batch = fixed(
        Edge("island", (), ["unused"]),
        Edge("a", (), ["fa"], "A"),
        Edge("root", ["a", "nowhere"], ["dead"], "D"),
        Edge("root", ["a"], ["alive"], "R"),
    )
    assert ("feature", "unused") not in space.feature_names
    assert list(space.enumerate("x")) == [["R", "A"]]
    assert batch.count() == [1]
    assert_allclose(batch.log_count(), [0.0])
    assert batch.unpack(batch.argmax(batch.scores(np.zeros(3))).codes) == [["R", "A"]]


@pytest.mark.parametrize("edges", [(), (Edge("root", ["nowhere"], ["f"]),)], ids=["none", "dead"])
def test_no_output_is_possible(edges):
    space = Derivations(lambda x: edges if x else [Edge("root", (), ["f"], "P")]).bind([0, 1], None)
    batch = space.pack([0, 1])
    scores = batch.scores(np.zeros(space.n_features))
    node = "'nowhere'" if edges else "None"
    message = f"sample 1: no output is possible; build\\(x\\) has no edge for node {node}"
    for verb in (
        batch.argmax,
        lambda s: batch.kbest(s, 2),
        lambda s: batch.sample(s, 2, np.random.default_rng(0)),
    ):
        with pytest.raises(InputError, match=message):
            verb(scores)
    with pytest.raises(InputError, match=message):
        space.pack([0, 1], [["P"], ["P"]])
    assert batch.log_partition(scores).tolist() == [0.0, -np.inf]
    assert batch.marginals(scores).edge.sum() == 1.0
    assert batch.count() == [1, 0]
    assert list(space.enumerate(1)) == []


def test_cycles_are_refused():
    edges = [Edge("a", ["b"]), Edge("b", ["a"]), Edge("root", ["a"])]
    structure = Derivations(lambda x: [Edge("root")] if x == "fine" else edges)
    with pytest.raises(InputError, match="sample 1: build\\(x\\) makes a cycle through node 'a'"):
        structure.bind(["fine", "bad"], None)


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (7, "sample 0: edge 0 of build"),
        (("head", (), (), None, "more"), "sample 0: edge 0 of build"),
        (Edge(["list"]), "unhashable"),
        (Edge("head", part=["list"]), "unhashable"),
        (Edge("head", "tail"), "tails must be a list, got 'tail'"),
        (Edge("head", (), "word"), "must be a list or a dict, got 'word'"),
        (Edge("head", (), {"f": np.nan}), "sample 0: feature 'f' is nan; it must be a finite number"),
        (Edge("head", (), {"f": "2"}), "sample 0: feature 'f' is '2'; it must be a finite number"),
        (Edge("head", (), {"f": None}), "sample 0: feature 'f' is None"),
        (Edge("head", (), {"f": 10**400}), "sample 0: feature 'f' is too large"),
        (Edge("head", (), [["f"]]), "a feature name must be hashable"),
    ],
)
def test_bad_edges(edge, message):
    with pytest.raises(InputError, match=message):
        Derivations(lambda x: [edge]).bind(["x"], None)


def test_bad_functions():
    with pytest.raises(InputError, match="build must be a function from an input to edges, got 5"):
        Derivations(5).bind(["x"], None)
    with pytest.raises(InputError, match=r"sample 1: build\(x\) must give a list of edges, got NoneType"):
        Derivations(lambda x: chain(x) if x == "x" else None).bind(["x", "y"], None)

    def late(x):
        yield from chain(x)
        raise KeyError(x)

    for build in (late, lambda x: {}[x]):
        with pytest.raises(KeyError) as caught:
            Derivations(build).bind(["x"], None)
        assert caught.value.__notes__ == ["raised by build(x) for sample 0"]


def test_bad_inputs():
    structure = Derivations(chain)
    with pytest.raises(InputError, match="X must be a list of inputs"):
        structure.bind("xyz", None)
    space = structure.bind(["xy"], None)
    with pytest.raises(InputError, match="X has 2 inputs but y has 1"):
        space.pack(["x", "y"], [["A"]])
    for y in (["A", "A"], ["C"], [], [None]):
        with pytest.raises(InputError, match=r"sample 1: .* is not an output of build"):
            space.pack(["x", "y"], [["A"], y])
    with pytest.raises(InputError, match="sample 0: the parts of an output must be hashable"):
        space.pack(["x"], [[["A"]]])
    with pytest.raises(InputError, match="sample 0: expected a list of parts, got 3"):
        space.pack(["x"], [3])
    with pytest.raises(InputError, match="packed without outputs"):
        _ = space.pack(["x"]).gold_codes


def test_outputs_that_cannot_be_derived_can_be_marked():
    space = Derivations(chain).bind(["xy"], None)
    batch = space.pack(["x", "y"], [["A"], ["C"]], unknown="mark")
    assert batch.evaluate(batch.gold_codes, batch.scores(np.zeros(space.n_features))).tolist() == [0, -np.inf]
    with pytest.raises(InputError, match="sample 1"):
        batch.check_gold()
    space.pack(["x"], [["A"]]).check_gold()


def test_repeated_parts_are_matched_exactly():
    space = Derivations(chain).bind(["xyxyx"], None)
    for y in space.enumerate("xyxyx"):
        batch = space.pack(["xyxyx"], [y])
        assert batch.unpack(batch.gold_codes) == [y]
    long = "AABBBABA" * 400  # deeper than Python's recursion limit
    batch = space.pack(["x" * len(long)], [list(long)])
    assert "".join(batch.unpack(batch.gold_codes)[0]) == long


def test_matching_splits_between_tails():
    """Two tails that can each give one to three parts: only the right split derives the output."""

    def build(x):
        for side in "lr":
            for n in (1, 2, 3):
                yield Edge((side, n), [(side, n - 1)] if n > 1 else [], [(side, n)], "p")
            for n in (1, 2, 3):
                yield Edge(side, [(side, n)])
        yield Edge("root", ["l", "r"], [], "q" if x else None)

    space = Derivations(build).bind([0], None)
    batch = space.pack([0, 1], [["p"] * 6, ["q", "p", "p"]])
    assert batch.unpack(batch.gold_codes) == [["p"] * 6, ["q", "p", "p"]]
    with pytest.raises(InputError, match="not an output"):
        space.pack([0], [["p"] * 7])


def test_unseen_features_are_ignored():
    space = Derivations(chain).bind(["x"], None)
    batch = space.pack(["xz"])
    assert batch.phi.shape[1] == space.n_features == 4
    assert batch.scores(np.ones(4)).edge.max() == 2.0


def test_min_count():
    assert Derivations(chain, min_count=2).bind(["xx", "y"], None).feature_names == [
        ("feature", ("x", "A")),
        ("feature", ("x", "B")),
        ("feature", ("^", "A")),
        ("feature", ("^", "B")),
    ]


def test_prepared_inputs_are_built_once():
    calls = []

    def build(x):
        calls.append(x)
        return chain(x)

    structure = Derivations(build)
    prepared = structure.prepare(["xy", "x"])
    space = structure.bind(prepared, None)
    batch = space.pack(prepared, [["A", "B"], ["A"]])
    assert calls == ["xy", "x"]
    one = space.pack(prepared[1:], [["A"]])
    assert one.inputs == ["x"]
    assert_allclose(one.gold().toarray(), batch.gold().toarray()[1:])


def test_names_alone():
    structure = Derivations(chain)
    space = structure.bind_names([("feature", ("x", "A")), ("feature", "other")])
    assert space.n_features == 2
    assert space.pack(["x"]).scores(np.array([3.0, 1.0])).edge.max() == 3.0
    with pytest.raises(InputError, match="unknown feature 'x'"):
        structure.bind_names(["x"])


def test_mismatch_counts_parts_not_edges():
    """Two edges with the same part: neither costs anything when the part is true."""
    build = [Edge("a", (), ["f"], "A"), Edge("root", ["a"], ["g"], "R"), Edge("root", [], ["h"], "R")]
    space = Derivations(lambda x: build).bind(["x"], None)
    batch = space.pack(["x"], [["R"]])
    costs, constant = batch.mismatch()
    assert costs.edge.tolist() == [1.0, 0.0, 0.0]
    assert constant.tolist() == [0.0]
    assert batch.mismatch({"A": 5.0})[0].edge.tolist() == [5.0, 0.0, 0.0]


def test_unpack_of_lists_says_whose_they_are():
    space = Derivations(chain).bind(["xy"], None)
    batch = space.pack(["x", "xy"])
    lists = batch.kbest(batch.scores(np.arange(space.n_features)), 3)
    assert len(batch.unpack_sample(1, lists[1].codes)) == 3
    with pytest.raises(ValueError, match="3 outputs for 2 samples"):
        batch.unpack(lists[1].codes)
    again = batch.subset([1, 1, 1])
    assert again.unpack(lists[1].codes) == batch.unpack_sample(1, lists[1].codes)


def test_marginals_for_users():
    space = Derivations(chain).bind(["xy"], None)
    batch = space.pack(["xy", "x"])
    found = batch.unpack_marginals(batch.marginals(batch.scores(np.zeros(space.n_features))))
    assert found[0] == pytest.approx({"A": 1.0, "B": 1.0})
    assert found[1] == pytest.approx({"A": 0.5, "B": 0.5})


def test_space_grows():
    space = Derivations(chain).bind(["x"], None)
    grown = space.grown(["y"], None)
    assert grown.features[: space.n_features] == space.features
    assert grown.features[space.n_features :] == [("y", "A"), ("y", "B")]


@pytest.mark.parametrize("learner", ["CRF", "Perceptron", "Generative"])
def test_learners(learner):
    X = ["xy", "yx", "xxy", "y"]
    y = [["A", "B"], ["B", "A"], ["A", "A", "B"], ["B"]]
    model = getattr(trelliswork, learner)(Derivations(chain)).fit(X, y)
    assert model.predict(["xyx"]) == [["A", "B", "A"]]
    assert model.score(X, y) == 1.0
    assert model.predict_kbest(["x"], k=5)[0][0].output == ["A"]
    assert model.predict_marginals(["x"])[0]["A"] > 0.5
    assert model.log_prob(["x"], [["C"]]).tolist() == [-np.inf]


def test_large_counts_are_exact():
    space = Derivations(chain).bind(["x"], None)
    batch = space.pack(["x" * 2000])
    assert batch.count() == [2**2000]
    assert_allclose(batch.log_count(), [2000 * np.log(2)])


def test_empty_batch():
    space = Derivations(chain).bind(["x"], None)
    batch = space.pack([], [])
    scores = batch.scores(np.zeros(4))
    assert len(batch.argmax(scores).codes) == 0
    assert batch.kbest(scores, 2) == []
    assert batch.log_partition(scores).shape == (0,)
    assert batch.moments().covariance.shape == (4, 4)
    assert batch.gold().shape == (0, 4)
    assert [len(draw) for draw in batch.sample(scores, 2, np.random.default_rng(0))] == [0, 0]
    assert batch.loss_profile(scores, batch.mismatch()[0], 2).shape == (0, 3)


def test_costs_and_missing_scores_are_zeros():
    space = Derivations(chain).bind(["xy"], None)
    batch = space.pack(["xy"])
    assert_allclose(batch.log_partition(Parts(edge=None)), [np.log(4)])
    ones = Parts(edge=np.ones(batch.n_edges))
    assert_allclose(batch.log_partition(ones, Parts(edge=None)), [np.log(4) + 3])


def test_clone_and_repr():
    structure = Derivations(chain, min_count=2)
    copy = clone(structure)
    assert copy.build is chain
    assert copy.get_params() == structure.get_params()
    assert "min_count=2" in repr(structure)


def test_sampling_does_not_depend_on_the_number_of_draws():
    space = Derivations(chain).bind(["xy"], None)
    batch = space.pack(["xy", "xyx"])
    scores = batch.scores(np.zeros(space.n_features))
    few = batch.sample(scores, 2, np.random.default_rng(3))
    many = batch.sample(scores, 6, np.random.default_rng(3))
    assert [a.values.tolist() for a in few] == [b.values.tolist() for b in many[:2]]
