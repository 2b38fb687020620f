"""Endings of words: how many output symbols a piece may have by default."""

from __future__ import annotations

import pytest

import trelliswork as tw

_ONE = ["cat", "dog", "bus", "box", "lady", "toy", "baby", "dish", "fox", "boy", "city"]
SINGULAR = [*_ONE, "tree", "glass", "day", "key", "puppy", "story", "pen", "pony", "tax", "kiss"]
NEW = ["party", "dress", "fix", "berry", "lily", "ray", "ten"]


def plural(word):
    if word.endswith(("s", "x", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


@pytest.mark.parametrize("learner", [tw.CRF, tw.Generative])
def test_an_ending_is_one_piece(learner):
    model = learner(tw.Transducer()).fit(SINGULAR, [plural(word) for word in SINGULAR])
    pieces = model.space_.pieces
    written = {"".join(model.space_.output_symbols[s] for s in out) for out in pieces.outputs}
    assert "ies" in written
    assert "ti" not in written
    assert sum(a == plural(b) for a, b in zip(model.predict(NEW), NEW)) >= 6


@pytest.mark.parametrize("learner", [tw.ZScore, tw.SODA])
def test_moments_do_not_learn_words_by_heart(learner):
    y = [plural(word) for word in SINGULAR]
    right, loose = (
        sum(
            a == plural(b) for a, b in zip(learner(tw.Transducer(), **reg).fit(SINGULAR, y).predict(NEW), NEW)
        )
        for reg in ({}, {"reg": 1e-6})
    )
    assert right >= 6
    assert right > loose


def test_outputs_with_symbols_of_their_own_have_short_pieces():
    X, y = ["ab", "ba", "aab"], ["1112", "2111", "11111"]
    assert tw.CRF(tw.Transducer()).fit(X, y).space_.pieces.max_out == 2
