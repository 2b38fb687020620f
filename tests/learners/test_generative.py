"""Hidden Markov models from counts, and weights that come from elsewhere."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import trelliswork as tw

X = [["a", "b", "a"], ["b"], ["a", "c"]]
Y = [["P", "Q", "P"], ["Q"], ["P", "P"]]


def weights(model):
    return dict(zip(model.space_.feature_names, model.coef_.tolist(), strict=True))


def test_weights_are_logarithms_of_smoothed_relative_frequencies():
    w = weights(tw.Generative(tw.Chain(), 1.0).fit(X, Y))
    # P emits a, a, a, c; Q emits b, b; three symbols and the unknown one, for which c stands as well.
    emissions = {"P": {"a": 3, "b": 0, "c": 1}, "Q": {"a": 0, "b": 2, "c": 0}}
    for label, counts in emissions.items():
        once = counts["c"]
        total = sum(counts.values()) + once + 4
        for symbol, n in counts.items():
            assert w["emission", symbol, label] == pytest.approx(math.log((n + 1) / total))
        assert w["unknown", label] == pytest.approx(math.log((once + 1) / total))
    # First labels: P twice, Q once. Steps: P->Q, Q->P, P->P; stops: P twice, Q once.
    assert w["start", "P"] == pytest.approx(math.log(3 / 5))
    assert w["start", "Q"] == pytest.approx(math.log(2 / 5))
    steps = {"P": {"P": 1, "Q": 1, None: 2}, "Q": {"P": 1, "Q": 0, None: 1}}
    for label, counts in steps.items():
        total = sum(counts.values()) + 3
        for after, n in counts.items():
            name = ("end", label) if after is None else ("transition", label, after)
            assert w[name] == pytest.approx(math.log((n + 1) / total))


def test_smoothing_and_sample_weights_enter_the_counts():
    sample_weight = [2.0, 0.5, 1.0]
    w = weights(tw.Generative(tw.Chain(end=False, unknown=False), 0.1).fit(X, Y, sample_weight))
    # P emits a (2 + 2 + 1 times) and c (1); V = 3 symbols and the unknown one.
    assert w["emission", "a", "P"] == pytest.approx(math.log(5.1 / 6.4))
    assert w["emission", "b", "Q"] == pytest.approx(math.log(2.6 / 2.9))
    assert w["start", "Q"] == pytest.approx(math.log(0.6 / 3.7))
    # Without end weights a step is over labels alone, as in the classical formula.
    assert w["transition", "P", "P"] == pytest.approx(math.log(1.1 / 3.2))
    assert w["transition", "Q", "P"] == pytest.approx(math.log(2.1 / 2.2))


def test_hidden_markov_model_against_a_viterbi_by_hand():
    model = tw.Generative(tw.Chain()).fit(X, Y)
    w = weights(model)

    def joint(x, y):
        total = w["start", y[0]] + w["end", y[-1]]
        total += sum(w.get(("emission", s, t), w["unknown", t]) for s, t in zip(x, y, strict=True))
        return total + sum(w["transition", a, b] for a, b in itertools.pairwise(y))

    for x in (["a"], ["a", "b", "new"], ["c", "c", "b", "a"]):
        every = sorted(itertools.product("PQ", repeat=len(x)), key=lambda y, x=x: -joint(x, y))
        assert model.predict([x]) == [list(every[0])]
        total = sum(math.exp(joint(x, y)) for y in every)
        found = model.log_prob([x], [list(every[1])])[0]
        assert found == pytest.approx(joint(x, every[1]) - math.log(total))


def test_emissions_with_the_unknown_symbol_sum_to_one():
    for chain in (tw.Chain(), tw.Chain(min_count=2), tw.Chain(emissions="observed")):
        w = weights(tw.Generative(chain, 0.3).fit(X, Y))
        for label in "PQ":
            total = sum(
                math.exp(v) for n, v in w.items() if n[0] in ("emission", "unknown") and n[-1] == label
            )
            assert total == pytest.approx(1.0)


def total_probability(model, longest):
    """Joint probability of all label sequences of up to ``longest`` labels (emissions summed out)."""
    w = weights(model)
    total = 0.0
    for n in range(1, longest + 1):
        for y in itertools.product(model.classes_, repeat=n):
            value = w["start", y[0]] + w["end", y[-1]]
            for size in range(2, model.structure.order + 2):
                for t in range(n - size + 1):
                    value += w.get(("transition", *y[t : t + size]), -math.inf)
            total += math.exp(value)
    return total


STOPS = [["P"], ["P"], ["Q"], ["P", "Q"], ["Q"]]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_probabilities_of_all_label_sequences_sum_to_one(order):
    # Most sequences stop at once, so that long ones hold little mass.
    data = [["a"] * len(y) for y in STOPS * 4], STOPS * 4
    model = tw.Generative(tw.Chain(order), 0.01).fit(*data)
    assert total_probability(model, 8) == pytest.approx(1.0, abs=1e-5)
    assert total_probability(model, 8) <= 1.0 + 1e-12


def test_forbidden_steps_and_ends_take_no_share():
    y = [["B-X", "E-X"], ["O"], ["S-X"], ["O"], ["S-X"], ["B-X", "I-X", "E-X"]] * 3
    X_bio = [["a"] * len(tags) for tags in y]
    model = tw.Generative(tw.Chain(scheme="BIOES"), 0.05).fit(X_bio, y)
    w = weights(model)
    for label in model.classes_:
        total = sum(math.exp(v) for name, v in w.items() if name[:2] == ("transition", label))
        if label[0] in "ESO":
            total += math.exp(w["end", label])
        assert total == pytest.approx(1.0)
    first = sum(math.exp(w["start", label]) for label in ("B-X", "S-X", "O"))
    assert first == pytest.approx(1.0)


def test_longer_contexts_telescope():
    y = [["P", "Q", "P", "P"], ["Q", "P", "P", "Q"], ["P", "P", "P"]]
    data = [["a"] * len(tags) for tags in y], y
    model = tw.Generative(tw.Chain(2, end=False), 0.5).fit(*data)
    w = weights(model)
    triples = [tags[t : t + 3] for tags in y for t in range(len(tags) - 2)]
    for a, b, c in itertools.product("PQ", repeat=3):
        n = triples.count([a, b, c])
        seen = sum(triples.count([a, b, z]) for z in "PQ")
        value = w["transition", b, c] + w["transition", a, b, c]
        assert value == pytest.approx(math.log((n + 0.5) / (seen + 1.0)))
    one = weights(tw.Generative(tw.Chain(end=False), 0.5).fit(*data))
    for name in one:
        assert w[name] == pytest.approx(one[name])


def test_unknown_words_fall_back_on_the_chain():
    model = tw.Generative(tw.Chain()).fit(X, Y)
    assert model.predict([["new", "newer"]]) == model.predict([["strange", "other"]])
    rare = tw.Generative(tw.Chain(min_count=2), 1.0).fit(X, Y)
    assert "c" not in rare.space_.attributes
    # c was seen with P only, so unknown words lean towards P.
    w = weights(rare)
    assert w["unknown", "P"] == pytest.approx(math.log(2 / 7))  # a, b, unknown: (1 + 1) / (4 + 3)
    assert w["unknown", "Q"] == pytest.approx(math.log(1 / 5))
    assert rare.predict([["new"]]) == [["P"]]


def test_default_smoothing_is_relative_to_the_values_of_features():
    model = tw.Generative(tw.Chain()).fit(X, Y)
    assert model.smoothing_ == 0.2
    rows = np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0], [4.0, 0.0, 0.0]])
    one, ten = (tw.Generative(tw.Classes(bias=False)).fit(k * rows, list("aba")) for k in (1.0, 10.0))
    assert (one.smoothing_, ten.smoothing_) == (0.2 * 2.5, 0.2 * 25.0)
    np.testing.assert_allclose(ten.coef_, one.coef_)
    assert tw.Generative(tw.RNA("g6")).fit(["GAAAC"], ["(...)"]).smoothing_ == 1.0


def test_negative_features_are_refused():
    with pytest.raises(tw.InputError, match="must not be negative"):
        tw.Generative(tw.Chain()).fit([[{"f": -1.0}]], [["A"]])
    for bad in (0, -1.0, math.nan, math.inf, "much"):
        with pytest.raises(tw.InputError, match="smoothing must be a finite number > 0"):
            tw.Generative(tw.Chain(), bad).fit(X, Y)


def test_structure_argument_is_not_changed():
    chain = tw.Chain(emissions="observed")
    model = tw.Generative(chain).fit(X, Y)
    assert chain.emissions == "observed"
    assert model.structure is chain
    assert ("emission", "b", "P") in model.space_.feature_names


# -- weights from elsewhere ----------------------------------------------------------------------


def test_fixed_by_names_needs_no_data():
    model = tw.Fixed(
        tw.Chain(),
        {
            ("emission", "cat", "N"): 1.0,
            ("transition", "D", "N"): 0.5,
            ("start", "D"): 0.25,
            ("end", "N"): 0.125,
            ("unknown", "D"): 0.0625,
        },
    )
    assert model.predict([["the", "cat"]]) == [["D", "N"]]
    assert model.predict_kbest([["the", "cat"]], k=1)[0][0].score == 1.9375
    assert model.classes_ == ["D", "N"]
    assert model.score([["the", "cat"]], [["D", "N"]]) == 1.0
    assert tw.Fixed(tw.Chain(), model.weights).score([["the", "cat"]], [["D", "D"]]) == 0.5


def test_fixed_by_array_follows_the_names_of_the_data():
    names = tw.Chain().bind(X, Y).feature_names
    values = np.random.default_rng(0).normal(size=len(names))
    a = tw.Fixed(tw.Chain(), values).fit(X, Y)
    b = tw.Fixed(tw.Chain(), dict(zip(names, values, strict=True))).fit(X, Y)
    assert np.array_equal(a.coef_, b.coef_)
    assert a.predict(X) == b.predict(X)
    a.coef_[:] = 0.0
    assert values.any()  # the argument is not shared


def test_fixed_errors():
    cases = [
        (np.zeros(3), (), r"weights given as an array need fit\(X, y\)"),
        (np.zeros(3), (X, Y), r"weights must have 16 entries, got shape \(3,\)"),
        ({("emission", "z", "P"): 1.0}, (X, Y), r"1 names are not features.*first \('emission', 'z', 'P'\)"),
        ({("emission", "z"): 1.0}, (), r"unknown feature \('emission', 'z'\)"),
        ({"z": 1.0}, (), "unknown feature 'z'"),
        ({("start", "P"): math.nan}, (), r"weights: \('start', 'P'\) is nan; it must be a finite number"),
        ({("start", "P"): math.inf}, (), r"weights: \('start', 'P'\) is inf"),
        ({("start", "P"): "1"}, (), r"weights: \('start', 'P'\) is '1'"),
        ({("start", "P"): None}, (), r"weights: \('start', 'P'\) is None"),
        (np.full(16, math.nan), (X, Y), "weights must be finite"),
        (["1"] * 16, (X, Y), "weights: entry 0 is '1'; it must be a finite number"),
        (3, (X, Y), r"weights must have 16 entries, got shape \(\)"),
        ({}, (), r"the weights name no label; .* Chain\(labels=\[...\]\)"),
    ]
    for given, data, message in cases:
        with pytest.raises(tw.InputError, match=message):
            tw.Fixed(tw.Chain(), given).fit(*data)
    with pytest.raises(tw.InputError, match="structure must be a Structure"):
        tw.Fixed("chain", {}).fit(X, Y)


@pytest.mark.parametrize(
    "chain",
    [
        tw.Chain(),
        tw.Chain(2),
        tw.Chain(emissions="observed"),
        tw.Chain(edge_features="all"),
        tw.Chain(start=False, end=False, unknown=False),
    ],
    ids=str,
)
def test_a_model_travels_by_its_weights(chain):
    crf = tw.CRF(chain, l1=0.01, l2=0.1).fit(X, Y)
    named = crf.weights_by_name()
    assert 0.0 not in named.values()
    copied = tw.Fixed(chain, named).fit()
    assert copied.classes_ == crf.classes_
    test = [*X, ["new", "a", "b", "b"], ["c"]]
    assert copied.predict(test) == crf.predict(test)
    for a, b in zip(copied.predict_marginals(test), crf.predict_marginals(test), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    bound = tw.Fixed(chain, named).fit(X, Y)
    assert np.array_equal(bound.coef_, crf.coef_)


def test_fixed_binds_new_weights(tmp_path):
    one, two = {("start", "P"): 1.0, ("start", "Q"): 0.0}, {("start", "Q"): 1.0, ("start", "R"): 0.0}
    model = tw.Fixed(tw.Chain(), one)
    assert model.predict([["a"]]) == [["P"]]
    assert model.set_params(weights=two).predict([["a"]]) == [["Q"]]
    assert model.weights_by_name() == {("start", "Q"): 1.0}
    assert model.set_params(structure__labels=["Z"]).fit().classes_ == ["Q", "R", "Z"]
    coef = model.coef_
    assert model.set_params(n_jobs=1).coef_ is coef
    tw.save(model, tmp_path / "fixed.tw")
    back = tw.load(tmp_path / "fixed.tw")
    assert back.predict([["a"]]) == [["Q"]]
    assert back.set_params(weights=one).predict([["a"]]) == [["P"]]
    # Alphabets that came from data are not guessed again from the names of the weights.
    bound = tw.Fixed(tw.Chain(), np.zeros(16)).fit(X, Y).set_params(weights=one)
    with pytest.raises(NotFittedError, match="call fit"):
        bound.predict(X)
