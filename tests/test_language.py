"""n-gram language models."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import trelliswork as tw

WORDS = ["abra", "cad", "abra", "bra", ""]


@pytest.mark.parametrize("smoothing", ["add", "kneser-ney"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_conditional_probabilities_sum_to_one(n, smoothing):
    model = tw.NGramModel(n, smoothing=smoothing).fit(WORDS)
    for context in ("", "a", "ab", "abr", "zz", "dddd"):
        row = model.probabilities(context)
        assert sum(row.values()) == pytest.approx(1.0, abs=1e-12)
        assert min(row.values()) > 0
    # All strings up to a length, and what is left over for longer or unknown ones.
    if n <= 2:
        strings = ["".join(s) for k in range(5) for s in itertools.product("abcdr", repeat=k)]
        assert np.exp(model.log_prob(strings)).sum() < 1.0


def test_add_a_by_hand():
    model = tw.NGramModel(2, smoothing="add", a=0.5).fit(["ab", "ab", "b"])
    # after the start: a 2, b 1 of 3; four events: a, b, end, unknown
    assert model.probabilities("")["a"] == pytest.approx(2.5 / 5)
    assert model.probabilities("a")["b"] == pytest.approx(2.5 / 4)
    assert model.probabilities("z")["b"] == pytest.approx(1 / 4)
    expected = np.log(2.5 / 5) + np.log(2.5 / 4) + np.log(3.5 / 5)
    assert model.log_prob(["ab"])[0] == pytest.approx(expected)


def test_kneser_ney_by_hand():
    model = tw.NGramModel(2, discount=0.5).fit(["ab", "ab", "cb"])
    # b follows a and c, the end follows b only, a and c follow the start only: 5 bigram types.
    low = {"a": 0.5 / 5, "b": 1.5 / 5, "c": 0.5 / 5, None: 0.5 / 5}
    left = 4 * 0.5 / 5 / 5  # shared evenly by a, b, c, end, unknown
    assert model.probabilities("a")["b"] == pytest.approx(1.5 / 2 + 0.25 * (low["b"] + left))
    assert model.probabilities("a")["c"] == pytest.approx(0.25 * (low["c"] + left))
    assert model.probabilities("z")["b"] == pytest.approx(low["b"] + left)


def test_weights_are_repetition():
    for smoothing in ("add", "kneser-ney"):
        one = tw.NGramModel(3, smoothing=smoothing).fit(WORDS, sample_weight=[1, 2, 1, 0, 1])
        two = tw.NGramModel(3, smoothing=smoothing).fit(["abra", "cad", "cad", "abra", ""])
        assert np.allclose(one.log_prob(["abra", "cad"]), two.log_prob(["abra", "cad"]))


def test_table_of_contexts():
    model = tw.NGramModel(3).fit(WORDS)
    first, table = model.context_table(list("abc"))
    assert first.shape == (4,)
    assert table.shape == (4 + 16, 4)
    assert np.exp(first[0]) == pytest.approx(model.probabilities("")["a"])
    assert np.exp(table[1, 0]) == pytest.approx(model.probabilities("b")["a"])
    assert np.exp(table[4 + 4 * 0 + 1, 3]) == pytest.approx(model.probabilities("ab")[None])
    with pytest.raises(tw.InputError, match="use a smaller n"):
        tw.NGramModel(6).fit(WORDS).context_table(list("abcdefghijklmnopqrstuvwxyz"))


def test_copies_and_mistakes():
    model = tw.NGramModel(2).fit([("x", 1), (1,)])
    copied = pickle.loads(pickle.dumps(model))
    assert copied.log_prob([("x",)])[0] == model.log_prob([("x",)])[0]
    with pytest.raises(NotFittedError):
        clone(model).log_prob(["x"])
    for bad, message in (
        ({"n": 0}, "n must be"),
        ({"smoothing": "none"}, "smoothing must be one of"),
        ({"smoothing": "add", "a": 0.0}, "a must be"),
        ({"discount": 1.5}, "discount must be"),
    ):
        with pytest.raises(tw.InputError, match=message):
            tw.NGramModel(**bad).fit(WORDS)
    with pytest.raises(tw.InputError, match="y is empty"):
        tw.NGramModel().fit([])
    for weights, message in (
        ([1.0], "one entry per sample"),
        ([0.0, 0.0], "zero for"),
        ([1.0, -1.0], "sample 1"),
    ):
        with pytest.raises(tw.InputError, match=message):
            tw.NGramModel(2).fit(["a", "b"], sample_weight=weights)
    with pytest.raises(tw.InputError, match="discount is 'x'"):
        tw.NGramModel(2, discount="x").fit(["a"])
    with pytest.raises(tw.InputError, match="a is 'x'"):
        tw.NGramModel(2, smoothing="add", a="x").fit(["a"])
