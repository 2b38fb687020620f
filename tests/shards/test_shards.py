"""Fits to data in partitions give what fits to all data in memory give."""

from __future__ import annotations

import gzip
import itertools
import warnings

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.features import TokenWindow
from trelliswork.shards.blocks import Room
from trelliswork.shards.leaves import in_leaves
from trelliswork.shards.tree import TreeSum
from trelliswork.structures import STRUCTURES

MAKE = {
    "CRF": tw.CRF,
    "CRF l1": lambda s: tw.CRF(s, l1=0.1, l2=0.1),
    "CRF newton": lambda s: tw.CRF(s, solver="newton-cg"),
    "VotedCRF": lambda s: tw.VotedCRF(s, l2=0.5),
    "Generative": tw.Generative,
    "ZScore": tw.ZScore,
    "ZScore uniform": lambda s: tw.ZScore(s, reference="uniform", loss=None),
    "SODA": tw.SODA,
    "StructuredSVM": lambda s: tw.StructuredSVM(s, solver="one-slack"),
    "KLRSO": lambda s: tw.KLRSO(s, min_count=1),
}
GIVEN = {"SODA": lambda s: tw.SODA(s, 1e-2, total_margin=1.0)}  # no samples are left out to tell them
ALWAYS = ("CRF", "VotedCRF", "Generative", "SODA", "StructuredSVM")
pytestmark = [
    pytest.mark.filterwarnings("ignore::trelliswork.FitWarning"),
    pytest.mark.filterwarnings("ignore::trelliswork.InputWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def tagged(n=40, seed=0):
    """Noisy label sequences."""
    rng = np.random.default_rng(seed)
    y = [["ABC"[k] for k in rng.integers(0, 3, rng.integers(1, 6))] for _ in range(n)]
    X = [[a.lower() + str(rng.integers(4)) if rng.random() < 0.8 else "x" for a in row] for row in y]
    return X, y


def cut(X, y, *places):
    """Partitions that end at the given places."""
    bounds = [0, *places, len(y)]
    return [(X[a:b], y[a:b]) for a, b in itertools.pairwise(bounds)]


def close(one, other):
    scale = max(float(np.abs(other).max(initial=0.0)), 1e-12)
    return float(np.abs(one - other).max(initial=0.0)) <= 1e-8 * scale


def outcome(model, *data):
    try:
        return model.fit(*data)
    except (tw.Unsupported, tw.InputError) as error:
        return str(error)


@pytest.mark.parametrize("name", STRUCTURES)
def test_weights_are_those_of_a_fit_in_memory(name):
    for number, (structure, X, y) in enumerate(STRUCTURES[name].examples()):
        structure = structure.with_limits(leaf_samples=1)  # every sample is a block
        for learner in MAKE if number == 0 and name in ("Chain", "Classes") else ALWAYS:
            make = (MAKE if number == 0 else MAKE | GIVEN)[learner]
            whole = outcome(make(structure), X, y)
            shards = tw.Shards(cut(X, y, 1, 1), memory=0)  # one partition is empty, all blocks are in files
            parts = outcome(make(structure), shards)
            if isinstance(whole, str):
                assert isinstance(parts, str), (structure, learner)
                continue
            assert not isinstance(parts, str), (structure, learner, parts)
            assert parts.space_.feature_names == whole.space_.feature_names
            assert np.array_equal(parts.coef_, whole.coef_), (structure, learner)  # to the last bit
            if learner == "KLRSO":
                assert np.array_equal(parts.dual_coef_, whole.dual_coef_)


@pytest.mark.parametrize("name", STRUCTURES)
def test_surveys_of_parts_make_the_space_of_the_whole(name):
    for structure, X, y in STRUCTURES[name].examples():
        whole = structure.bind(structure.prepare(X), y).state()
        first, *rest = [structure.survey(X[i : i + 1], y[i : i + 1]) for i in range(len(y))]
        for survey in rest:
            first = first.joined(survey)
        np.testing.assert_equal(first.space().state(), whole)


def test_rare_attributes_and_labels_known_in_part_are_surveyed_alike():
    X, y = tagged(12)
    y[3] = [None] * len(y[3])
    y[5] = [{"A", "B"}] * len(y[5])
    for chain in (
        tw.Chain(min_count=2, emissions="observed"),
        tw.Chain(transitions="observed"),
        tw.Chain(2, edge_features={2: "all", 3: ["a"]}),
    ):
        surveys = [chain.survey(*part) for part in cut(X, y, 4, 5, 6)]
        joined = surveys[0].joined(surveys[1]).joined(surveys[2].joined(surveys[3]))
        np.testing.assert_equal(joined.space().state(), chain.bind(X, y).state())


def test_sums_do_not_depend_on_who_has_which_leaf():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 7, 32, 33):
        values = rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n)
        results = set()
        for _ in range(5):
            holders = [TreeSum(n) for _ in range(3)]
            for leaf in rng.permutation(n).tolist():
                holders[rng.integers(3)].add(leaf, float(values[leaf]))
            results.add(holders[0].merged(holders[1]).merged(holders[2]).result)
        assert len(results) == 1


def test_maps_do_not_depend_on_how_they_came_about():
    X, y = tagged(30)
    X = [[{"word": t, "first": t[0]} for t in x] for x in X]
    for chain in (tw.Chain(), tw.Chain(emissions="observed", min_count=2)):
        space, whole = chain.compile(X, y)
        for tokens in (np.arange(3, 5), np.arange(30)):
            rows = [X[i] for i in tokens], [y[i] for i in tokens]
            halves = [space.pack(*(data[a:b] for data in rows)) for a, b in ((0, 1), (1, 30))]
            made = [whole.subset(tokens), space.pack(*rows), halves[0].joined(halves[1])]
            maps = [batch.canonical().emission for batch in made]
            for one in maps[1:]:
                for a, b in zip(one.blocks, maps[0].blocks, strict=True):
                    assert np.array_equal(a.index, b.index)
                    assert np.array_equal(a.matrix.indices, b.matrix.indices)
                    assert np.array_equal(a.matrix.data, b.matrix.data)
            w, parts = np.linspace(-1.0, 1.0, space.n_features), made[0].canonical()
            total, features = parts.spread_expected(w)
            assert total == pytest.approx(made[0].expected(w)[0])
            np.testing.assert_allclose(features.dense(), made[0].expected(w)[1], rtol=1e-12, atol=1e-12)
            assert (parts.emission.own is not None) == (tokens.size < 30)


def test_partitions_and_places_of_blocks_do_not_matter():
    X, y = tagged(90)
    weights = np.random.default_rng(0).random(90)
    for chain, least in (
        (tw.Chain(), 1),
        (tw.Chain(emissions="observed", min_count=2), 20),
        (tw.Chain(2, edge_features="all"), 512),
    ):
        chain = chain.with_limits(leaf_samples=least)
        whole = tw.CRF(chain, class_weight="balanced").fit(X, y, weights)
        for places, memory in (((), 1 << 30), ((13, 13, 50), 0), (range(1, 90), 5000)):
            shards = tw.Shards(cut(X, y, *places), memory=memory)
            parts = tw.CRF(chain, class_weight="balanced").fit(shards, None, weights)
            assert np.array_equal(parts.coef_, whole.coef_), (chain, places)


def test_columns_of_numbers_are_scaled_by_the_same_bits():
    rng = np.random.default_rng(0)
    y = [["AB"[k] for k in rng.integers(0, 2, rng.integers(1, 5))] for _ in range(25)]
    X = [rng.normal(size=(len(row), 3)) + [[3.0 * (a == "A"), 0.0, 100.0] for a in row] for row in y]
    mixed = [[{"word": a, "size": float(v[0])} for a, v in zip(r, x, strict=True)] for r, x in zip(y, X)]
    chain = tw.Chain().with_limits(leaf_samples=3)
    for inputs, learner in itertools.product((X, mixed), (tw.CRF, GIVEN["SODA"])):
        whole = learner(chain).fit(inputs, y)
        parts = learner(chain).fit(tw.Shards(cut(inputs, y, 1, 2, 20), memory=0))
        assert np.array_equal(parts.coef_, whole.coef_)
    rows, labels = np.concatenate(X), [a for row in y for a in row]
    classes = tw.Classes().with_limits(leaf_samples=5)
    for learner in (tw.CRF, tw.ZScore, tw.SODA):
        whole = learner(classes).fit(rows, labels)
        parts = learner(classes).fit(tw.Shards(cut(rows, labels, 9, 30)))
        assert np.array_equal(parts.coef_, whole.coef_)


def test_steps_on_what_is_not_settled():
    X, y = tagged(120)
    limits = {"settling_tokens": 40, "settling_share": 1.0, "settled": 0.6, "leaf_samples": 25}
    chain = tw.Chain().with_limits(**limits)
    weights = np.linspace(0.5, 2.0, 120)
    l1 = 0.02  # without it there are no such steps
    whole = tw.CRF(chain, l1, max_iter=10).fit(X, y, weights)
    few, plain = (tw.CRF(one, l1, max_iter=4).fit(X, y).objective_ for one in (chain, tw.Chain()))
    assert abs(few - plain) > 1e-3 * plain  # there were some: the search went another way
    parts = tw.CRF(chain, l1, max_iter=10).fit(tw.Shards(cut(X, y, 7), memory=0), None, weights)
    assert np.array_equal(parts.coef_, whole.coef_)
    whole = tw.CRF(chain, l1).fit(X, y)
    assert np.array_equal(tw.CRF(chain, l1).fit(tw.Shards(cut(X, y, 40))).coef_, whole.coef_)


def test_start_from_some_samples():
    X, y = tagged(120)
    plain, coarse = tw.Chain(), tw.Chain().with_limits(coarse_samples=40, leaf_samples=25)
    weights = np.linspace(0.5, 2.0, 120)

    def fit(chain, *data, **settings):
        return tw.CRF(chain, l1=0.1, l2=0.1, **settings).fit(*data)

    few = fit(coarse, X, y, max_iter=3)
    assert few.objective_ < fit(plain, X, y, max_iter=3).objective_  # there was such a start
    for weighted in ((), (weights,)):
        whole = fit(coarse, X, y, *weighted, tol=1e-6, max_iter=2000)
        slow = fit(plain, X, y, *weighted, tol=1e-6, max_iter=2000)
        assert whole.objective_ == pytest.approx(slow.objective_, rel=1e-6)
    parts = fit(coarse, tw.Shards(cut(X, y, 7, 80), memory=0), None, weights, tol=1e-6, max_iter=2000)
    assert np.array_equal(parts.coef_, whole.coef_)
    l2 = np.full(whole.coef_.size, 0.1)
    both = [tw.CRF(coarse, l1=0.1, l2=one, max_iter=5).fit(X, y).coef_ for one in (0.1, l2)]
    np.testing.assert_array_equal(*both)
    jobs = [fit(coarse, X, y, max_iter=5, n_jobs=n).coef_ for n in (1, 2)]
    np.testing.assert_array_equal(*jobs)


def test_other_references_and_many_features():
    X, y = tagged(60)
    for learner in (
        lambda: tw.ZScore(tw.Chain(), reference="observed"),
        lambda: tw.SODA(tw.Chain(), solver="cg", tol=1e-12),
        lambda: tw.SODA(tw.Chain(), n_steps=3),
        lambda: tw.ZScore(tw.Chain(labels=list("ABC")), reference="uniform"),
    ):
        whole, parts = learner().fit(X, y), learner().fit(tw.Shards(cut(X, y, 11, 30)))
        assert np.array_equal(parts.coef_, whole.coef_)
    limits = {"tokens_per_frequent": 20, "matrix_features": 5}
    for reference in ("generative", "uniform"):  # conjugate gradients with their preconditioner
        chain = tw.Chain().with_limits(**limits, direct_labels=0, uniform_matrix_features=5)
        fits = [
            tw.ZScore(chain, reg=0.1, reference=reference, tol=1e-12).fit(*data)
            for data in ((X, y), (tw.Shards(cut(X, y, 20)),))
        ]
        assert fits[1].history_[-1]["solver"] == "cg"
        assert np.array_equal(fits[1].coef_, fits[0].coef_)


def test_labels_known_in_part():
    X, y = tagged(30)
    y = [[None if t == 0 and i % 3 == 0 else a for t, a in enumerate(row)] for i, row in enumerate(y)]
    y[4] = [{"A", "B"} for _ in y[4]]
    for learner in (lambda: tw.CRF(tw.Chain(), l2=0.1), lambda: tw.Generative(tw.Chain())):
        whole, parts = learner().fit(X, y), learner().fit(tw.Shards(cut(X, y, 2, 10)))
        assert close(parts.coef_, whole.coef_)
    svm = tw.StructuredSVM(tw.Chain(), C=1.0, C_mode="absolute").fit(tw.Shards(cut(X, y, 9)))
    assert svm.rounds_[-1]["changed"] == 0
    assert svm.gap_ <= svm.tol


def test_the_gap_of_a_support_vector_machine_is_certified():
    X, y = tagged(50)
    chain = tw.Chain().with_limits(leaf_samples=8)
    whole, parts, joint = (
        tw.StructuredSVM(chain).fit(X, y),
        tw.StructuredSVM(chain).fit(tw.Shards(cut(X, y, 20))),
        tw.StructuredSVM(chain, solver="one-slack").fit(X, y),
    )
    assert np.array_equal(parts.coef_, joint.coef_)
    assert joint.support_
    assert parts.gap_ <= 1e-3
    assert parts.history_[-1]["certified"]
    assert parts.dual_ <= whole.primal_ * (1 + 1e-9)
    assert whole.dual_ <= parts.primal_ * (1 + 1e-9)
    with pytest.raises(tw.Unsupported, match="one-slack"):
        tw.StructuredSVM(tw.Chain(), slack="l2").fit(tw.Shards(cut(X, y, 20)))


def test_perceptron_mixes_and_learns():
    X, y = tagged(60)
    one, other = (tw.Perceptron(tw.Chain()).fit(tw.Shards(cut(X, y, *places))) for places in ((), (7, 30)))
    assert close(one.coef_, other.coef_)
    assert one.score(X, y) >= tw.Perceptron(tw.Chain()).fit(X, y).score(X, y) - 0.1
    assert one.partial_fit(X[:2], y[:2]).n_iter_ == other.n_iter_ + 1


@pytest.fixture
def files(tmp_path):
    X, y = tagged(20)
    for number, (inputs, outputs) in enumerate(cut(X, y, 8, 8, 13)):
        lines = ["".join(f"{t} {a}\n" for t, a in zip(*pair)) for pair in zip(inputs, outputs, strict=True)]
        text = "\n".join(lines)
        if number == 2:
            (tmp_path / "train-2.conll.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (tmp_path / f"train-{number}.conll").write_text(text, encoding="utf-8")
    return tmp_path, X, y


def test_files_functions_and_iterators(files):
    folder, X, y = files
    whole = tw.CRF(tw.Chain()).fit(X, y)
    pairs = cut(X, y, 8, 13)
    for shards in (
        tw.Shards(f"{folder}/train-*.conll*"),  # the second file is empty
        tw.Shards(sorted(folder.iterdir())),
        tw.Shards([lambda pair=pair: pair for pair in pairs]),
        tw.Shards(iter(pairs), folder=folder / "kept"),
    ):
        assert close(tw.CRF(tw.Chain()).fit(shards).coef_, whole.coef_)
    assert repr(shards) == "Shards(3 partitions, 20 samples)"
    window = TokenWindow()
    parts = tw.CRF(tw.Chain()).fit(tw.Shards(f"{folder}/train-*.conll*", features=window))
    whole = tw.CRF(tw.Chain()).fit(window.transform(X), y)
    assert parts.space_.feature_names == whole.space_.feature_names  # though every file had its own table
    assert np.array_equal(parts.coef_, whole.coef_)


def test_mistakes_name_the_file_and_the_line(files):
    folder, X, y = files
    shards = tw.Shards(f"{folder}/train-*.conll*")
    chain = tw.Chain(transitions=[("A", "A")])
    with pytest.raises(tw.InputError, match=r"train-0\.conll:\d+: the output .* breaks the constraints"):
        tw.CRF(chain).fit(shards)
    with pytest.raises(tw.InputError, match=r"partition 1: sample 2: 1 tokens in X but 2 labels"):
        tw.CRF(tw.Chain()).fit(tw.Shards([(X, y), (X[:2] + [["a"]], y[:2] + [["A", "B"]])]))
    (folder / "train-3.conll").write_text("a A\n\nb B\nc\n", encoding="utf-8")
    with pytest.raises(tw.InputError, match=r"train-3\.conll:4: 1 column; expected 2"):
        tw.CRF(tw.Chain()).fit(tw.Shards(f"{folder}/train-*.conll*"))
    with pytest.raises(tw.InputError, match=r"nothing-.* there is no such file"):
        tw.Shards(f"{folder}/nothing-*.conll")
    with pytest.raises(tw.InputError, match="X is empty"):
        tw.CRF(tw.Chain()).fit(tw.Shards([([], [])]))


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        (lambda: None, "partitions must be a pattern of file names"),
        (lambda: 5, "partitions must be a pattern of file names"),
        (lambda: b"train-*", "partitions must be a pattern of file names"),
        (lambda: {"train": 1}, "partitions must be a pattern of file names"),
        (lambda: "", "'': there is no such file"),
        (lambda: ["nowhere/a.conll"], r"nowhere/a\.conll: no such file"),
        (lambda: [], "there is no partition at all"),
        (lambda: iter(()), "there is no partition at all"),
        (lambda: [None], r"partition 0: expected inputs and outputs, \(X, y\), got NoneType"),
        (lambda: iter([1, object()]), r"partition 0: expected inputs and outputs, \(X, y\), got int"),
        (lambda: [lambda: None], r"partition 0: expected inputs and outputs, \(X, y\), got NoneType"),
        (lambda: [("ab", "cd")], "partition 0: X must be a list of samples, got str"),
        (lambda: [(None, [["A"]])], "partition 0: X must be a list of samples, got NoneType"),
        (lambda: [([["a"]], None)], "partition 0: there are no outputs to learn from"),
        (lambda: [([["a"]], [["A"], ["B"]])], "partition 0: X has 1 samples but y has 2"),
        (lambda: iter([([], []), ([], [])]), "X is empty: at least one sample is needed"),
        (lambda: iter([([[lambda: 0]], [["A"]])]), "partition 0: .* give a list of functions"),
    ],
)
def test_what_is_no_partition_is_one_clear_error(partitions, message):
    with pytest.raises(tw.InputError, match=message):
        tw.CRF(tw.Chain()).fit(tw.Shards(partitions()))


def test_partitions_with_one_label():
    X, y = [["a"], ["b"], ["c"], ["a"]], [["A"], ["B"], ["B"], ["A"]]
    shards = tw.Shards(cut(X, y, 1, 3))
    assert close(tw.CRF(tw.Chain()).fit(shards).coef_, tw.CRF(tw.Chain()).fit(X, y).coef_)
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 1.0], [1.0, 0.2]])
    labels = np.array([0, 1, 1, 0])
    whole = tw.CRF(tw.Classes()).fit(rows, labels)
    parts = tw.CRF(tw.Classes()).fit(tw.Shards(cut(rows, labels, 1, 3)))
    assert close(parts.coef_, whole.coef_)
    assert parts.n_features_in_ == 2
    assert np.array_equal(parts.predict(rows), whole.predict(rows))


def test_learners_that_need_all_samples_say_so():
    shards = tw.Shards([([["a"]], [["A"]])])
    with pytest.raises(
        tw.Unsupported, match=r"StructBoost needs all samples in memory.*Perceptron take Shards"
    ):
        tw.StructBoost(tw.Chain()).fit(shards)
    with pytest.raises(tw.Unsupported, match="held-out"):
        tw.KLRSO(tw.Chain(), mixture="held-out").fit(shards)


def test_models_are_ordinary(tmp_path):
    X, y = tagged(20)
    model = tw.SODA(tw.Chain()).fit(tw.Shards(cut(X, y, 5)))
    tw.save(model, tmp_path / "model.tw")
    assert tw.load(tmp_path / "model.tw").predict(X) == model.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tw.CRF(tw.Chain(min_count=3)).fit(tw.Shards(cut(X, y, 1)))  # a block of nothing but rare attributes


def test_settings_are_chosen_on_partitions():
    X, y = tagged(30)
    shards = tw.Shards(cut(X, y, 10))
    options = {"tune": {"l2": [1.0, 0.1]}, "cv": 2, "race": None}
    whole = tw.Tuned(tw.CRF(tw.Chain()), **options).fit(X, y)
    parts = tw.Tuned(tw.CRF(tw.Chain()), **options).fit(shards)
    assert parts.best_params_ == whole.best_params_
    assert parts.results_["score"] == pytest.approx(whole.results_["score"], abs=0.02)  # ties
    assert close(parts.best_estimator_.coef_, whole.best_estimator_.coef_)
    some = shards.subset(np.arange(5, 25))
    assert close(tw.CRF(tw.Chain()).fit(some).coef_, tw.CRF(tw.Chain()).fit(X[5:25], y[5:25]).coef_)


def test_memory_of_blocks():
    """Workers count what blocks take; one in a file takes nothing, and arrays of recursions are shared."""
    X, y = [["a", "b"] * 50] * 20, [["A", "B"] * 50] * 20
    space, batch = tw.Chain().compile(X, y)
    kept, mapped = Room(1 << 30).kept(batch), Room(0).kept(batch)
    assert mapped.__sizeof__() < 2000 < kept.__sizeof__()
    leaves = in_leaves(tw.Chain().with_limits(leaf_samples=5).compile(X, y)[1])
    leaves.expected(np.zeros(space.n_features))
    first, *others = (block.batch._scratch[0] for block in leaves.blocks.blocks)
    assert len(others) >= 2
    assert all(np.shares_memory(first, other) for other in others)
