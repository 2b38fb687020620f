"""The averaged perceptron: compiled = plain, averages, streams."""

from __future__ import annotations

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.accelerated import find, perceptron_chain
from trelliswork.dp.solvers import chain_perceptron
from trelliswork.kernels import RBF
from trelliswork.learners.perceptron import perceptron_passes

LABELS = ["B-X", "I-X", "O"]


def random_data(rng, n=14, kind="words"):
    """Random valid BIO sequences of length 0 to 6 with features that say little."""
    X, y = [], []
    for _ in range(n):
        tags = []
        for _ in range(rng.integers(0, 7)):
            tag = LABELS[rng.integers(3)]
            tags.append("B-X" if tag == "I-X" and (not tags or tags[-1] == "O") else tag)
        if kind == "words":
            x = [f"w{rng.integers(5)}" for _ in tags]
        elif kind == "dicts":
            x = [{"w": f"{rng.integers(4)}", "size": rng.integers(-2, 3) / 2} for _ in tags]
        else:
            x = rng.integers(-2, 3, size=(len(tags), 3)) / 2
        X.append(x)
        y.append(tags)
    return X, y


CHAINS = {
    "plain": tw.Chain(),
    "bare": tw.Chain(start=False, end=False, unknown=False),
    "observed": tw.Chain(emissions="observed"),
    "seen": tw.Chain(transitions="observed", emissions="observed"),
    "scheme": tw.Chain(scheme="BIO"),
    "rare": tw.Chain(min_count=5, scheme="BIO", emissions="observed"),
}


def packed(chain, seed, kind="words"):
    rng = np.random.default_rng(seed)
    X, y = random_data(rng, kind=kind)
    space = chain.bind(X, y)
    return space.pack(X, y), rng


@pytest.mark.parametrize("kind", ["words", "dicts", "arrays"])
@pytest.mark.parametrize("name", CHAINS)
def test_compiled_pass_equals_the_plain_one(name, kind):
    batch, rng = packed(CHAINS[name], 1, kind)
    weights = rng.integers(0, 4, size=len(batch)) / 2  # halves: sums are exact in any order
    w = rng.integers(-3, 4, size=batch.space.n_features) / 4
    u = np.zeros_like(w)
    clocks = np.full((2, 1), 5.0)
    one, two = (w.copy(), u.copy()), (w.copy(), u.copy())
    wrong = 0
    for _ in range(4):
        order = rng.permutation(len(batch))
        (a,) = find("perceptron", batch)(batch, *one, [order], weights, clocks[0])
        (b,) = perceptron_passes(batch, *two, [order], weights, clocks[1])
        assert a == b
        assert np.array_equal(one[0], two[0])
        assert np.array_equal(one[1], two[1])
        assert clocks[0] == clocks[1]
        wrong += a
    assert wrong > 0


def test_compiled_pass_equals_the_plain_one_on_real_numbers():
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(n, 4)) for n in rng.integers(1, 8, size=20)]
    y = [[LABELS[i] for i in rng.integers(3, size=len(x))] for x in X]
    space = tw.Chain().bind(X, y)
    batch = space.pack(X, y)
    weights = rng.random(20)
    one, two = (np.zeros((2, space.n_features)) for _ in range(2))
    orders = [rng.permutation(20) for _ in range(3)]
    a = list(find("perceptron", batch)(batch, *one, orders, weights, np.zeros(1)))
    b = list(perceptron_passes(batch, *two, orders, weights, np.zeros(1)))
    assert a == b
    assert min(a) > 0
    np.testing.assert_allclose(one, two, atol=1e-11)


def naive(X, y, structure, n_passes, start=None, weights=None):
    """All weight vectors of the textbook algorithm, the first one included."""
    space = structure.bind(X, y)
    batch = space.pack(X, y)
    gold = batch.gold().toarray()
    w = np.zeros(space.n_features) if start is None else start
    every = [w]
    for _ in range(n_passes):
        mistakes = 0
        for i in range(len(X)):
            found = batch.argmax(batch.scores(w)).codes
            if not np.array_equal(found[i], batch.gold_codes[i]):
                w = w + (gold[i] - batch.features(found).toarray()[i]) * (
                    1 if weights is None else weights[i]
                )
                mistakes += 1
            every.append(w)
        if not mistakes:
            break
    return np.array(every)


@pytest.mark.parametrize(
    "structure",
    [tw.Chain(), tw.Chain(2), tw.Chain(edge_features="all"), tw.Chain(scheme="BIO", emissions="observed")],
    ids=str,
)
def test_the_result_is_the_mean_of_all_weight_vectors(structure):
    X, y = random_data(np.random.default_rng(3))
    weights = np.random.default_rng(4).integers(1, 4, size=len(X)) / 2
    model = tw.Perceptron(structure, 3, shuffle=False).fit(X, y, weights)
    every = naive(X, y, structure, 3, weights=weights)
    np.testing.assert_allclose(model.coef_, every.mean(axis=0), atol=1e-12)
    last = tw.Perceptron(structure, 3, shuffle=False, average=False).fit(X, y, weights)
    np.testing.assert_allclose(last.coef_, every[-1], atol=1e-12)


@pytest.mark.parametrize("structure", [tw.Chain(), tw.Chain(2), tw.Classes()], ids=str)
def test_half_is_the_mean_over_the_second_half_of_the_passes(structure):
    X, y = random_data(np.random.default_rng(3))
    if isinstance(structure, tw.Classes):
        X, y = [token for x in X for token in x], [label for labels in y for label in labels]
        X = [[token] if isinstance(token, str) else token for token in X]
    model = tw.Perceptron(structure, 4, shuffle=False, average="half").fit(X, y)
    every = naive(X, y, structure, 4)
    visits = 2 * len(X)  # and the first weights
    np.testing.assert_allclose(model.coef_, every[visits + 1 :].mean(axis=0), atol=1e-12)
    assert model.average_ == "half"


def test_what_is_averaged_is_told_by_held_out_samples():
    """Words alone: what the first passes learn of transitions is wrong. The choice has no order."""
    rng = np.random.default_rng(0)
    names = {f"n{i}" for i in range(40)}
    X = [[f"n{i}" if rng.random() < 0.2 else f"w{i}" for i in rng.integers(40, size=8)] for _ in range(90)]
    y = [["N" if w in names and rng.random() < 0.9 else "O" for w in x] for x in X]
    model = tw.Perceptron(tw.Chain()).fit(X, y)
    chosen = tw.Perceptron(tw.Chain(), average=model.average_).fit(X, y)
    np.testing.assert_array_equal(model.coef_, chosen.coef_)
    order = rng.permutation(len(X))
    again = tw.Perceptron(tw.Chain()).fit([X[i] for i in order], [y[i] for i in order])
    assert again.average_ == model.average_
    assert tw.Perceptron(tw.Chain()).fit(X[:5], y[:5]).average_ is True  # too few to tell
    with pytest.raises(tw.InputError, match="average must be"):
        tw.Perceptron(tw.Chain(), average="most").fit(X, y)


def test_alignments_start_from_counts():
    X, y = next(iter(tw.Alignment.examples()))[1:]
    counted = tw.Generative(tw.Alignment()).fit(X, y)
    model = tw.Perceptron(tw.Alignment(), average=False, max_iter=1).fit(X, y)
    moved = model.coef_ - 100.0 * counted.coef_
    np.testing.assert_allclose(moved, np.round(moved), atol=1e-6)  # whole steps


def test_a_warm_start_averages_from_the_old_weights_on():
    X, y = random_data(np.random.default_rng(5))
    model = tw.Perceptron(tw.Chain(), 2, shuffle=False, warm_start=True).fit(X, y)
    old = model.coef_
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, naive(X, y, tw.Chain(), 2, old).mean(axis=0), atol=1e-12)


def test_separable_data_end_without_mistakes():
    rng = np.random.default_rng(6)
    X = [
        [f"{LABELS[i]}{rng.integers(3)}" for i in rng.integers(3, size=rng.integers(1, 7))] for _ in range(30)
    ]
    y = [[token[:-1] for token in x] for x in X]
    model = tw.Perceptron(tw.Chain(), 100, average=False).fit(X, y)
    mistakes = [record["mistakes"] for record in model.history_]
    assert mistakes[-1] == 0
    assert all(mistakes[:-1])
    assert model.n_iter_ == len(mistakes) < 100
    assert model.stop_ == "converged"
    assert model.score(X, y) == 1.0
    assert tw.Perceptron(tw.Chain(), 100).fit(X, y).score(X, y) == 1.0


def test_a_constraint_leaves_nothing_forbidden_to_learn():
    X, y = random_data(np.random.default_rng(7))
    model = tw.Perceptron(tw.Chain(scheme="BIO")).fit(X, y)
    assert ("transition", "O", "I-X") not in model.space_.feature_names
    for tags in model.predict(X):
        assert all(b != "I-X" or a != "O" for a, b in zip(["O", *tags], tags, strict=False))


# -- streams -----------------------------------------------------------------------------------


def test_the_first_partial_fit_is_one_pass():
    X, y = random_data(np.random.default_rng(8))
    a = tw.Perceptron(tw.Chain()).partial_fit(X, y)
    b = tw.Perceptron(tw.Chain(), max_iter=1).fit(X, y)
    assert np.array_equal(a.coef_, b.coef_)
    assert a.n_iter_ == 1


@pytest.mark.parametrize("params", [{}, {"emissions": "observed"}, {"order": 2}], ids=str)
def test_a_stream_equals_one_pass_over_everything(params):
    structure = tw.Chain(labels=LABELS, **params)  # a label to come could be predicted too early
    X, y = random_data(np.random.default_rng(9), n=18)
    whole = tw.Perceptron(structure, max_iter=1, shuffle=False).fit(X, y)
    parts = tw.Perceptron(structure, shuffle=False)
    for i in range(0, 18, 6):
        assert parts.partial_fit(X[i : i + 6], y[i : i + 6]) is parts
    assert parts.n_iter_ == 3
    assert parts.clock_ == whole.clock_
    a, b = (dict(zip(m.space_.feature_names, m.coef_, strict=True)) for m in (whole, parts))
    if structure.emissions == "all":
        assert set(a) == set(b)
        for name, value in a.items():
            assert b[name] == pytest.approx(value, abs=1e-12)
    else:  # early steps of the stream do not know the pairs that come later
        assert set(a) == set(b)


def test_new_labels_and_attributes_join_the_model():
    model = tw.Perceptron(tw.Chain()).partial_fit([["the", "cat"]], [["D", "N"]])
    assert model.classes_ == ["D", "N"]
    before = model.weights_by_name()
    model.partial_fit([["barks", "loudly"]], [["V", "A"]])
    assert model.classes_ == ["A", "D", "N", "V"]
    assert set(model.space_.attributes) == {"the", "cat", "barks", "loudly"}
    assert before
    for _ in range(10):
        model.partial_fit([["the", "cat"], ["barks", "loudly"]], [["D", "N"], ["V", "A"]])
    assert model.predict([["the", "cat"], ["barks", "loudly"]]) == [["D", "N"], ["V", "A"]]
    assert len(model.history_) == 12


def test_a_stream_refuses_bad_parts_and_keeps_what_it_has():
    model = tw.Perceptron(tw.Chain()).partial_fit([["the", "cat"]], [["D", "N"]])
    before = model.coef_.copy()
    with pytest.raises(tw.InputError, match="sample 0: 2 tokens in X but 1 labels"):
        model.partial_fit([["the", "cat"]], [["D"]])
    with pytest.raises(tw.InputError, match="X is empty"):
        model.partial_fit([], [])
    assert np.array_equal(model.coef_, before)


def test_a_stream_keeps_to_its_kind_of_tokens_and_its_structure():
    model = tw.Perceptron(tw.Chain()).partial_fit([["the", "cat"]], [["D", "N"]])
    before = model.coef_.copy()
    with pytest.raises(
        tw.InputError, match="expected tokens with names as in fit, got arrays with 2 columns"
    ):
        model.partial_fit([np.eye(2)], [["D", "N"]])
    model.set_params(structure=tw.Chain(order=2))
    with pytest.raises(tw.InputError, match="structure was replaced after training; call fit"):
        model.partial_fit([["the", "cat"]], [["D", "N"]])
    assert np.array_equal(model.coef_, before)
    assert model.fit([["the", "cat"]], [["D", "N"]]).space_.order == 2


def test_partial_fit_goes_on_after_fit():
    X, y = random_data(np.random.default_rng(10))
    a = tw.Perceptron(tw.Chain(), 1, shuffle=False).fit(X, y).partial_fit(X, y)
    b = tw.Perceptron(tw.Chain(), 2, shuffle=False).fit(X, y)
    assert np.array_equal(a.coef_, b.coef_)


# -- seeds, weights, interrupts --------------------------------------------------------------------


def test_the_seed_decides_everything():
    X, y = random_data(np.random.default_rng(11), n=30)
    fits = [tw.Perceptron(tw.Chain(), 3, random_state=seed).fit(X, y).coef_ for seed in (0, 0, 1)]
    assert np.array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])
    rng = np.random.RandomState(0)
    assert np.array_equal(tw.Perceptron(tw.Chain(), 3, random_state=rng).fit(X, y).coef_, fits[0])


def test_weight_zero_teaches_nothing_and_class_weights_scale_the_steps():
    X, y = random_data(np.random.default_rng(12))
    weights = np.ones(len(X))
    weights[::2] = 0.0
    model = tw.Perceptron(tw.Chain(), 2, shuffle=False).fit(X, y, weights)
    alone = naive(X, y, tw.Chain(), 2, weights=weights).mean(axis=0)
    np.testing.assert_allclose(model.coef_, alone, atol=1e-12)
    a = tw.Perceptron(tw.Chain(), 3, class_weight=dict.fromkeys(LABELS, 2.0)).fit(X, y)
    b = tw.Perceptron(tw.Chain(), 3).fit(X, y, [2.0 if tags else 0.0 for tags in y])
    assert np.array_equal(a.coef_, b.coef_)


def test_an_interrupt_keeps_the_passes_so_far(monkeypatch):
    X, y = random_data(np.random.default_rng(13))
    two = tw.Perceptron(tw.Chain(), 2).fit(X, y)
    plain = chain_perceptron.perceptron_pass
    calls = []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(*args)

    monkeypatch.setattr(chain_perceptron, "perceptron_pass", interrupted)
    model = tw.Perceptron(tw.Chain(), 5)
    with pytest.warns(tw.FitInterrupted, match="Perceptron after 2 passes"):
        model.fit(X, y)
    assert np.array_equal(model.coef_, two.coef_)
    assert model.n_iter_ == 2
    assert model.stop_ == "interrupted"
    assert two.stop_ == "max_iter"


def test_an_interrupted_pass_still_averages_rightly(monkeypatch):
    """The clock counts with the weights, so a pass that is cut off does not skew the average."""
    rng = np.random.default_rng(0)
    X = [[f"w{i}" for i in rng.integers(20, size=6)] for _ in range(50)]
    y = [[f"L{int(w[1:]) % 3}" for w in x] for x in X]
    original = perceptron_chain.passes

    def cut_off(batch, w, u, orders, weights, clock):
        yield from original(batch, w, u, [next(iter(orders))], weights, clock)
        raise KeyboardInterrupt

    whole = tw.Perceptron(tw.Chain(), max_iter=1).fit(X, y)
    monkeypatch.setattr(perceptron_chain, "passes", cut_off)
    with pytest.warns(tw.FitInterrupted):
        cut = tw.Perceptron(tw.Chain(), max_iter=5, average=True).fit(X, y)
    assert cut.clock_ == whole.clock_ == len(X)
    np.testing.assert_array_equal(cut.coef_, whole.coef_)


@pytest.mark.parametrize("taxonomy", [None, {"low": ["0", "1"], "high": ["2", "3"]}])
def test_compiled_pass_over_classes_equals_the_plain_one(taxonomy):
    rng = np.random.default_rng(3)
    X, y = rng.integers(-2, 3, (40, 5)).astype(float), rng.integers(0, 4, 40).astype(str).tolist()
    space, batch = tw.Classes(taxonomy, ancestor_weight=0.5).compile(X, y)
    orders, weights = [rng.permutation(40) for _ in range(3)], rng.integers(1, 3, 40).astype(float)
    results = []
    for run in (find("perceptron", batch), perceptron_passes):
        w, u, clock = np.zeros(space.n_features), np.zeros(space.n_features), np.zeros(1)
        results.append((list(run(batch, w, u, orders, weights, clock)), w, u, clock))
    (mistakes, *one), (expected, *other) = results
    assert mistakes == expected
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("structure", ["Classes", "Chain"])
def test_a_linear_kernel_is_the_plain_perceptron(structure):
    rng = np.random.default_rng(5)
    if structure == "Classes":
        X, y, made = rng.normal(size=(25, 3)), [str(k % 3) for k in range(25)], tw.Classes(bias=False)
    else:
        X = [rng.normal(size=(4, 3)) for _ in range(12)]
        y, made = [[str(int(row[0] > 0)) for row in x] for x in X], tw.Chain()
    plain = tw.Perceptron(made, 4).fit(X, y)
    kernel = tw.Perceptron(made, 4, kernel="linear").fit(X, y)
    assert [h["mistakes"] for h in plain.history_] == [h["mistakes"] for h in kernel.history_]
    assert kernel.predict(X) == plain.predict(X)


def test_a_kernel_finds_what_no_line_divides(tmp_path):
    X = np.random.default_rng(6).normal(size=(80, 2))
    y = [str(a) for a in (X[:, 0] * X[:, 1] > 0)]
    assert tw.Perceptron(tw.Classes(), 20).fit(X, y).score(X, y) < 0.8
    model = tw.Perceptron(tw.Classes(), 20, kernel=RBF(16.0)).fit(X, y)
    assert model.score(X, y) > 0.9
    tw.save(model, tmp_path / "model.tw")
    assert tw.load(tmp_path / "model.tw").predict(X) == model.predict(X)
    with pytest.raises(tw.InputError, match="partial_fit knows no kernel"):
        model.partial_fit(X, y)
    with pytest.raises(tw.Unsupported, match="rows"):
        tw.Perceptron(tw.Retrieval(), kernel="rbf").fit([("ab", ["b", "a"])], [(0, ("ab", "-b"))])
