"""Label sequences: hyper-parameters, labels and inputs, constraints, ties, and scores of any size."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.special import logsumexp

import trelliswork as tw
from trelliswork.metrics import entity_spans
from trelliswork.structures.chain.contexts import scheme_masks

X = [["the", "cat"], ["a", "dog", "barks"], ["the", "dog"]]
Y = [["D", "N"], ["D", "N", "V"], ["D", "N"]]
LEARNERS = (tw.CRF, tw.Perceptron, tw.Generative, tw.ZScore, tw.SODA)


def learners(**params):
    return [make(tw.Chain(**params)) for make in LEARNERS]


# -- hyper-parameters ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"order": 0}, "order must be a whole number of at least 1, got 0"),
        ({"order": 1.5}, "order must be"),
        ({"order": 30, "ngrams": "all"}, "order 30 with 3 labels means .* n-grams; lower the order"),
        ({"emissions": "some"}, "emissions must be 'all' or 'observed'"),
        ({"transitions": "none"}, "transitions must be 'all', 'observed' or a list of pairs"),
        ({"transitions": ["DN"]}, r"expected pairs \(from, to\), got 'DN'"),
        ({"transitions": None}, "transitions must be 'all', 'observed' or a list of pairs, got None"),
        ({"transitions": [("D", ["N"])]}, r"expected pairs \(from, to\), got \('D', \['N'\]\)"),
        ({"scheme": "IOBX"}, "scheme must be one of"),
        ({"scheme": ["BIO"]}, r"scheme must be one of .* got \['BIO'\]"),
        ({"edge_features": 5}, "edge_features must be 'all', a list of prefixes, a dict .*, or None, got 5"),
        ({"edge_features": [1]}, r"edge_features must be 'all', a list of prefixes, .* got \[1\]"),
        ({"labels": 5}, "labels must be a list of hashable labels or None, got 5"),
        ({"labels": [["a"]]}, "labels must be a list of hashable labels"),
        ({"labels": []}, "labels must be a list of hashable labels"),
        ({"edge_features": "some"}, "edge_features must be 'all'"),
        ({"min_count": -1}, "min_count must be a whole number"),
        ({"min_count": np.nan}, "min_count must be a whole number"),
    ],
)
def test_hyper_parameters_are_checked(params, message):
    for model in learners(**params):
        with pytest.raises(tw.InputError, match=message):
            model.fit(X, Y)


def test_an_order_that_would_fill_the_memory_is_refused_at_once():
    X, y = [["u", "v", "w"]], [["a", "b", "c"]]
    with pytest.raises(tw.InputError, match="order 12 with 3 labels means over"):
        tw.CRF(tw.Chain(order=12, ngrams="all")).fit(X, y)
    assert tw.CRF(tw.Chain(order=12)).fit(X, y).predict(X) == y
    with pytest.raises(tw.InputError, match="lower the order"):
        tw.CRF(tw.Chain(order=10**9)).fit(X, y)


# -- labels and tokens ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [["a", "b"], [0, 1], [True, False], [(1, 2), (3, 4)], [None, "x"], [1.5, "y"], [frozenset("a"), "b"]],
    ids=str,
)
def test_any_hashable_label_comes_back(labels):
    X = [["u", "v"], ["v"], ["u"]]
    y = [[labels[0], labels[1]], [labels[1]], [labels[0]]]
    model = tw.CRF(tw.Chain(labels=labels), l2=0.01).fit(X, y)  # given: None and sets are labels, too
    found = model.predict(X)
    assert found == y
    assert all(type(a) is type(b) for row, truth in zip(found, y) for a, b in zip(row, truth))


@pytest.mark.filterwarnings("ignore::trelliswork.FitWarning")
def test_prepared_features_serve_several_models_and_pickles():
    X = tw.Chain().prepare([["u", "v"], ["v", "w"]])
    y = [["a", "b"], ["b", "b"]]
    first = tw.CRF(tw.Chain(), l2=0.01).fit(X, y)
    second = tw.CRF(tw.Chain(), l2=0.01).fit(X[[1]], y[1:])
    assert first.predict(X) == y
    assert second.predict(X[[1]]) == y[1:]
    assert first.predict(X) == first.predict(pickle.loads(pickle.dumps(X)))


def test_sets_are_read_in_a_fixed_order():
    letters = set("abcdefgh")  # in an order that is another one in every process
    for token, prefix in (({"f": letters}, "f:"), (letters, "")):
        space = tw.Chain().bind([[token, token]], [["A", "B"]])
        assert space.attributes == [prefix + letter for letter in sorted(letters)]


# -- constraints and ties ------------------------------------------------------------------------


def test_labels_that_break_the_scheme():
    for model in learners(scheme="BIO", invalid="strict"):
        with pytest.raises(
            tw.InputError,
            match=r"sample 1: the output \['O', 'I-X'\] breaks the constraints .* use invalid='repair'",
        ):
            model.fit([["a"], ["b", "c"]], [["O"], ["O", "I-X"]])
        with pytest.raises(tw.InputError, match="label 'N' is neither 'O' nor B-TYPE or I-TYPE"):
            model.fit([["a"]], [["N"]])
    for model in learners(scheme="BIOES", invalid="strict"):
        with pytest.raises(tw.InputError, match="sample 0: the output"):
            model.fit([["a"]], [["B-X"]])
    for model in learners(transitions=[("A", "B")]):
        with pytest.raises(tw.InputError, match=r"sample 1: the output .* or drop the constraint$"):
            model.fit([["a", "b"], ["a", "b"]], [["A", "B"], ["B", "B"]])
    for model in learners(transitions=[("A", "B"), ("B", "b"), ("a", "A")]):
        with pytest.raises(tw.InputError, match=r"\(transitions has 'a', 'b', not in the data\)"):
            model.fit([["a", "b"], ["a", "b"]], [["A", "B"], ["B", "B"]])


@pytest.mark.parametrize("scheme", ["BIO", "BIOES"])
def test_repaired_labels_keep_their_entities_and_the_scheme(scheme):
    labels = ["O", *(f"{role}-{kind}" for role in scheme if role != "O" for kind in "XY")]
    follows, first, last = scheme_masks(scheme, labels)
    place = {label: i for i, label in enumerate(labels)}

    def fits(row):
        codes = [place[label] for label in row]
        return (
            first[codes[0]] and last[codes[-1]] and all(follows[a, b] for a, b in itertools.pairwise(codes))
        )

    rows = [list(row) for n in (1, 2, 3) for row in itertools.product(labels, repeat=n)]
    for row, new in zip(rows, tw.Chain(scheme=scheme).readable(rows), strict=True):
        assert fits(new)
        assert entity_spans(new) == entity_spans(row)
        assert not fits(row) or new == row


def test_labels_that_break_the_scheme_are_repaired():
    X, broken = [["a"], ["b", "c", "c"]], [["O"], ["O", "I-X", "I-X"]]
    for model in learners(scheme="BIO"):
        model.fit(X, broken)
        assert model.classes_ == ["B-X", "I-X", "O"]
        assert model.log_prob(X, broken).tolist() == model.log_prob(X, [["O"], ["O", "B-X", "I-X"]]).tolist()
        assert model.log_prob(X, [["N"], ["O", "O", "O"]])[0] == -np.inf
    with pytest.raises(tw.InputError, match="label 'N' is neither 'O' nor B-TYPE or I-TYPE"):
        tw.CRF(tw.Chain(scheme="BIO")).fit([["a"]], [["N"]])
    with pytest.raises(tw.InputError, match="invalid must be 'repair' or 'strict', got 'mend'"):
        tw.CRF(tw.Chain(invalid="mend")).fit(X, broken)


@pytest.mark.parametrize("params", [{}, {"order": 2}, {"edge_features": "all"}, {"scheme": "BIO"}], ids=str)
def test_allowed_labels_agree_with_enumeration(params):
    rng = np.random.default_rng(5)
    labels = ["B-X", "I-X", "O"]
    train = [[f"w{rng.integers(4)}" for _ in range(4)] for _ in range(6)]
    gold = [["B-X", "I-X", "O", "B-X"], ["O", "B-X", "I-X", "I-X"], ["O", "O", "B-X", "O"]] * 2
    model = tw.CRF(tw.Chain(**params), l2=0.1).fit(train, gold)
    choices = [None, "O", {"B-X", "O"}, ["B-X", "I-X"], "B-X", None]
    for _ in range(8):
        x = [f"w{rng.integers(5)}" for _ in range(int(rng.integers(1, 5)))]
        row = [choices[rng.integers(len(choices))] for _ in x]
        sets = [labels if c is None else [c] if isinstance(c, str) else c for c in row]
        every = list(model.space_.enumerate(x))
        outputs = [y for y in every if all(a in s for a, s in zip(y, sets, strict=True))]
        free = np.exp(model.log_prob([x] * len(every), every))
        p = np.array([free[every.index(y)] for y in outputs])
        if not outputs:
            with pytest.raises(tw.InputError, match="sample 0: no label sequence is allowed"):
                model.predict([x], allowed=[row])
            continue
        p /= p.sum()
        ranked = sorted(zip(p, outputs, strict=True), key=lambda pair: -pair[0])
        assert model.predict([x], allowed=[row]) == [ranked[0][1]]
        found = model.predict_kbest([x], k=len(outputs) + 1, allowed=[row])[0]
        assert [c.output for c in found] == [y for _, y in ranked]
        np.testing.assert_allclose([c.probability for c in found], [q for q, _ in ranked], atol=1e-9)
        rows = np.zeros((len(x), 3))
        for q, y in ranked:
            rows[np.arange(len(x)), [labels.index(a) for a in y]] += q
        np.testing.assert_allclose(model.predict_marginals([x], allowed=[row])[0], rows, atol=1e-9)
        some = model.log_prob([x] * len(every), every, allowed=[row] * len(every))
        wanted = [np.log(p[outputs.index(y)]) if y in outputs else -np.inf for y in every]
        np.testing.assert_allclose(some, wanted, atol=1e-9)
        draws = model.sample([x], 50, random_state=0, allowed=[row])[0]
        assert all(y in outputs for y in draws)


def test_outputs_of_a_tie_follow_the_order_of_labels():
    model = tw.Fixed(tw.Chain(labels=["A", "B"]), {}).fit()
    for n in range(1, 5):
        assert model.predict([["x"] * n]) == [["A"] * n]
        found = [c.output for c in model.predict_kbest([["x"] * n], k=2**n)[0]]
        assert sorted(found) == [list(y) for y in itertools.product("AB", repeat=n)]


# -- scores of any size --------------------------------------------------------------------------


def enumerated(model, x):
    """Log partition, marginals, best score and mean features of one short sequence, from all outputs."""
    space = model.space_
    batch = space.pack([x])
    codes = np.array([[space.labels.index(label) for label in y] for y in space.enumerate(x)])
    every = batch.subset(np.zeros(len(codes), dtype=np.int64))
    ragged = tw.Ragged(codes.ravel(), every.offsets)
    values = every.evaluate(ragged, every.scores(model.coef_))
    log_z = logsumexp(values)
    p = np.exp(values - log_z)
    rows = np.array([[p[codes[:, t] == a].sum() for a in range(space.n_labels)] for t in range(len(x))])
    return log_z, rows, values.max(), p @ every.features(ragged).toarray()


@pytest.mark.parametrize("params", [{}, {"scheme": "BIO"}, {"order": 2}], ids=str)
@pytest.mark.parametrize("scale", [1.0, 100.0, 250.0, 500.0, 1e3, 1e4])
def test_extreme_weights_agree_with_enumeration(scale, params):
    # Between 200 and 1000 scaled probabilities used to lose labels that mattered later.
    rng = np.random.default_rng(int(scale))
    labels = ["B-X", "I-X", "O"]
    chain = tw.Chain(labels=labels, **params)
    for _ in range(25):
        x = [f"w{t}" for t in range(rng.integers(2, 6))]
        names = [("emission", word, label) for word in x for label in labels]
        names += [("transition", a, b) for a in labels for b in labels if scale and (a, b) != ("O", "I-X")]
        model = tw.Fixed(chain, {name: scale * rng.normal() for name in names}).fit()
        log_z, rows, best, mean = enumerated(model, x)
        batch = model.space_.pack([x])
        scores = batch.scores(model.coef_)
        assert batch.log_partition(scores)[0] == pytest.approx(log_z, rel=1e-12)
        assert batch.argmax(scores).values[0] == pytest.approx(best, rel=1e-12)
        np.testing.assert_allclose(model.predict_marginals([x])[0], rows, atol=1e-9)
        value, expected = batch.expect(model.coef_)
        assert value[0] == pytest.approx(log_z, rel=1e-12)
        np.testing.assert_allclose(expected, mean, atol=1e-9)
        each = batch.pull_each(batch.marginals(scores, each=True)).toarray()[0]
        np.testing.assert_allclose(each, mean, atol=1e-9)
        if scale == 1.0:
            continue
        # A short step in the scores moves almost nothing, whatever the direction: no NaN, no overflow.
        assert np.isfinite(batch.covariance_product(model.coef_, np.ones(model.coef_.size))).all()


@pytest.mark.parametrize("slowly", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("where", ["first", "last"])
def test_a_label_may_recover_from_any_depth(where, order, slowly):
    # At one end A lies 800 below B, far under the range of a double; elsewhere B pays more
    # than that, so that A is right in the end. Slowly: in small steps, A and B never meeting.
    if slowly:
        words = [*["odd"] * 3, *["w"] * 4]
        weights = {("emission", "odd", "A"): -280.0, ("emission", "w", "B"): -280.0}
    else:
        words = ["odd", *["w"] * 5]
        weights = {("emission", "odd", "A"): -800.0, ("transition", "B", "B"): -500.0}
        weights |= {("transition", "A", "B"): -1000.0, ("transition", "B", "A"): -1000.0}
    words = words if where == "first" else words[::-1]
    pairs = [("A", "A"), ("B", "B")] if slowly else "all"
    model = tw.Fixed(tw.Chain(order, transitions=pairs), weights).fit()
    log_z, rows, _, mean = enumerated(model, words)
    batch = model.space_.pack([words])
    assert batch.log_partition(batch.scores(model.coef_))[0] == pytest.approx(log_z, rel=1e-12)
    value, expected = batch.expect(model.coef_)
    assert value[0] == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(expected, mean, atol=1e-9)
    np.testing.assert_allclose(model.predict_marginals([words])[0], rows, atol=1e-9)
    assert model.predict([words]) == [["A"] * len(words)]


def test_extreme_and_ordinary_sequences_side_by_side():
    weights = {("emission", f"w{i}", label): 0.1 * i * (label == "A") for i in range(5) for label in "AB"}
    weights |= {
        ("emission", "huge", "A"): 2e3,
        ("emission", "tiny", "A"): -2e3,
        ("transition", "A", "A"): 0.3,
    }
    model = tw.Fixed(tw.Chain(), weights).fit()
    samples = [["w1", "w2"], ["huge", "tiny", "w1"], ["w3"], ["tiny", "huge"], ["w4", "w0", "w2"]]
    batch = model.space_.pack(samples)
    log_z, expected = batch.expect(model.coef_)
    single = [model.space_.pack([x]).expect(model.coef_) for x in samples]
    np.testing.assert_allclose(log_z, [float(v[0]) for v, _ in single], rtol=1e-13)
    np.testing.assert_allclose(expected, sum(e for _, e in single), atol=1e-12)
    for x, value in zip(samples, log_z, strict=True):
        assert value == pytest.approx(enumerated(model, x)[0], rel=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_scores_that_overflow_are_not_called_forbidden(order):
    weights = {("emission", "w", label): sign * 1e308 for label, sign in (("A", -1), ("B", -1))}
    model = tw.Fixed(tw.Chain(order), weights)
    for ask in (model.predict, model.predict_kbest, model.predict_marginals, model.sample):
        with pytest.raises(tw.InputError, match="sample 1: the scores overflow; scale the weights"):
            ask([["z"], ["w"] * 9])
