"""The most violated output, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trelliswork import Chain, Classes, Derivations, Edge, InputError
from trelliswork.losses import F1, Edit, Hamming, Loss, ZeroOne
from trelliswork.losses.forms import Form
from trelliswork.losses.oracle import Oracle
from trelliswork.structures import Unsupported

FORMS = [Form(s, r) for s in ("l1", "l2") for r in (None, "margin", "slack")]
LOSSES = [Hamming(), Hamming(normalized=True), Hamming(label_weight={"A": 3.0}), ZeroOne(), Edit(), F1()]


def segmentation(tokens):
    n = len(tokens)
    yield Edge(n)
    for i in reversed(range(n)):
        for j in range(i + 1, min(i + 2, n) + 1):
            for label in "NO":
                yield Edge(i, (j,), [("words", "".join(tokens[i:j]), label)], (i, j, label))


def enumerated(batch, X, loss, form, w):
    """Largest violation of every sample (at least 0)."""
    best = []
    gold = batch.evaluate(batch.gold_codes, batch.scores(w))
    for i in range(len(batch)):
        outputs = list(batch.space.enumerate(X[i]))
        packed = batch.space.pack([X[i]] * len(outputs), outputs)
        losses = loss.evaluate(batch.subset(np.full(len(outputs), i)), packed.gold_codes)
        margins = gold[i] - packed.evaluate(packed.gold_codes, packed.scores(w))
        right = [bool(np.array_equal(c, batch.gold_codes[i])) for c in packed.gold_codes]
        h, s = form.plane(losses)
        values = np.where(right, 0.0, h - s * margins)
        best.append(max(values.max(), 0.0))
    return np.array(best)


def problem(seed, kind="chain"):
    rng = np.random.default_rng(seed)
    X = [rng.choice(list("abc"), n).tolist() for n in rng.integers(1, 6, 4)]
    if kind.startswith("chain"):
        structure = Chain(2 if kind == "chain-2" else 1)
        y = [rng.choice(["A", "B", "C"][: 2 + seed % 2], len(x)).tolist() for x in X]
    elif kind == "classes":
        structure, y = Classes(), rng.choice(["A", "B", "C", "D"], len(X)).tolist()
    else:
        structure = Derivations(segmentation)
        y = [[(i, i + 1, str(rng.choice(["N", "O"]))) for i in range(len(x))] for x in X]
    space = structure.bind(X, y)
    return space.pack(X, y), X, rng.normal(size=space.n_features) * rng.choice([0.1, 1.0, 4.0])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    form=st.sampled_from(FORMS),
    loss=st.sampled_from(LOSSES),
    kind=st.sampled_from(["chain", "chain-2", "classes", "segments"]),
)
def test_against_enumeration(seed, form, loss, kind):
    batch, X, w = problem(seed, kind)
    found = Oracle(batch, loss, form).find(w)
    wanted = enumerated(batch, X, loss, form, w)
    np.testing.assert_allclose(np.maximum(found.value, 0.0), wanted, atol=1e-7)
    margins = batch.evaluate(batch.gold_codes, batch.scores(w)) - batch.evaluate(found.codes, batch.scores(w))
    h, s = form.plane(found.loss)
    at = found.value > 1e-9
    np.testing.assert_allclose((h - s * margins)[at], found.value[at], atol=1e-7)
    if form.rescale is not None:
        np.testing.assert_allclose(loss.evaluate(batch, found.codes)[at], found.loss[at], atol=1e-9)


@pytest.mark.parametrize("form", [Form("l1", "slack"), Form("l2", "slack"), Form("l2", "margin")], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_profile_and_lists_and_tangents_agree(seed, form, monkeypatch):
    batch, X, w = problem(seed)
    wanted = enumerated(batch, X, Hamming(), form, w)
    oracle = Oracle(batch, Hamming(), form)
    everything = np.arange(len(batch))
    table = oracle._profile(everything)
    by_profile = oracle._by_table(table, table.batch.scores(w))
    np.testing.assert_allclose(np.maximum(by_profile.value, 0), wanted, atol=1e-9)
    lam = np.full(len(batch), 0.3)
    monkeypatch.setattr(Oracle, "_profile", lambda self, at, most=0: None)
    by_lists = oracle._lists(w, everything, lam, None)
    np.testing.assert_allclose(np.maximum(by_lists.value, 0), wanted, atol=1e-9)
    impatient = Oracle(batch, Hamming(), form, max_tangents=1)
    np.testing.assert_allclose(impatient.find(w).value, wanted, atol=1e-9)


def test_approximate_search_is_a_lower_bound():
    form = Form("l1", "slack")
    for seed in range(10):
        batch, X, w = problem(seed, "chain-2")
        oracle = Oracle(batch, Hamming(), form, approx=True)
        assert not oracle.exact
        assert np.all(oracle.find(w).value <= enumerated(batch, X, Hamming(), form, w) + 1e-9)


@pytest.mark.parametrize("form", [Form("l1", "slack"), Form("l2", "slack"), Form("l2", "margin")], ids=str)
@pytest.mark.parametrize(
    ("loss", "quick"),
    [
        (Hamming(), True),
        (Hamming(label_weight={"A": 3.0}), True),
        (Hamming(normalized=True), True),
        (Hamming(label_weight={"A": 0.37}), False),
        (Hamming(label_weight={"A": 1e6}), False),
    ],
    ids=str,
)
def test_chains_with_few_losses_are_searched_by_their_table(form, loss, quick):
    """Exact at once; fractions and large numbers would need long tables and go the other way."""
    for seed in range(4):
        batch, X, w = problem(seed)
        oracle = Oracle(batch, loss, form, approx=quick)
        assert oracle.exact
        assert (oracle._whole is not None) == quick
        wanted = enumerated(batch, X, loss, form, w)
        np.testing.assert_allclose(np.maximum(oracle.find(w).value, 0.0), wanted, rtol=1e-7, atol=1e-9)


class Distance(Loss):
    """Edit distance that has no automaton."""

    def __call__(self, y_true, y_pred):
        return Edit()(y_true, y_pred)

    def max_value(self, y_true):
        return float(len(y_true))


class Unbounded(Distance):
    """The same without a bound."""

    def max_value(self, y_true):
        return np.inf


def test_long_lists_end_with_a_clear_error():
    X, y = [["a"] * 8], [["A", "B"] * 4]
    space = Chain().bind(X, y)
    oracle = Oracle(space.pack(X, y), Distance(), Form("l1", "margin"), max_candidates=4)
    with pytest.raises(Unsupported, match="use approx=True, or a loss that decomposes"):
        oracle.find(np.zeros(space.n_features))


def test_a_sample_with_one_output():
    X, y = [["a"], []], [["A"], []]
    space = Chain().bind(X, y)
    for form in FORMS:
        found = Oracle(space.pack(X, y), Hamming(), form).find(np.zeros(space.n_features))
        assert np.all(found.value <= 0)


def test_edit_distance_to_longer_outputs():
    """The length of the truth is no bound on its distance to a longer output."""
    X, y = [["a", "b", "c", "a"]], [[(0, 2, "N"), (2, 4, "N")]]
    space = Derivations(segmentation).bind(X, y)
    batch = space.pack(X, y)
    rng = np.random.default_rng(0)
    for form in (Form("l1", "margin"), Form("l1", "slack")):
        for _ in range(10):
            w = rng.normal(size=space.n_features)
            found = Oracle(batch, Edit(), form).find(w)
            np.testing.assert_allclose(
                np.maximum(found.value, 0), enumerated(batch, X, Edit(), form, w), atol=1e-9
            )
        with pytest.raises(Unsupported, match=r"use approx=True, or a loss that has a bound on the outputs"):
            Oracle(batch, Unbounded(), form, max_candidates=4).find(w)


class TooSmall(Distance):
    """A loss whose bound is wrong."""

    def max_values(self, batch):
        return np.full(len(batch), 0.5)


def test_a_wrong_bound_is_noticed():
    X, y = [["a"] * 3], [["A", "B", "A"]]
    batch = Chain().bind(X, y).pack(X, y)
    with pytest.raises(InputError, match=r"sample 0: an output has the loss .* above max_value = 0.5"):
        Oracle(batch, TooSmall(), Form("l1", "margin")).find(np.zeros(batch.space.n_features))


@pytest.mark.parametrize("form", [Form("l1", "slack"), Form("l2", "margin")], ids=str)
def test_fractions_of_one_length_have_a_profile(form):
    """Normalised losses of long outputs are searched by their whole numbers of errors."""
    rng = np.random.default_rng(0)
    X = [rng.choice(list("abc"), n).tolist() for n in (40, 7)]
    y = [rng.choice(["A", "B", "C"], len(x)).tolist() for x in X]
    space = Chain().bind(X, y)
    batch, w = space.pack(X, y), rng.normal(size=space.n_features)
    plain = Oracle(batch, Hamming(), form)
    table = plain._profile(np.arange(2))
    wanted = []
    for i, lengths in enumerate((40, 7)):
        losses, best = table.losses[i] / lengths, table.best(batch.scores(w))[i]
        h, s = form.plane(losses)
        gold = batch.evaluate(batch.gold_codes, batch.scores(w))[i]
        with np.errstate(invalid="ignore"):
            wanted.append(np.nanmax(h - s * (gold - best)))
    found = Oracle(batch, Hamming(normalized=True), form, max_candidates=16).find(w)
    np.testing.assert_allclose(found.value, wanted, atol=1e-9)
