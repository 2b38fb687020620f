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
    assert "es" in written
    assert "ti" not in written
    assert sum(a == plural(b) for a, b in zip(model.predict(NEW), NEW)) >= 6


@pytest.mark.parametrize(("before", "after"), [("", "ta"), ("wa", ""), ("ge", "t")])
def test_endings_of_letters_that_had_none(before, after, tmp_path):
    X = ["cat", "rice", "tree", "fair", "chair", "lake", "clear", "bear", "rat", "echo"]
    model = tw.CRF(tw.Transducer(), l2=0.1).fit(X, [before + x + after for x in X])
    assert model.space_.ends == (bool(before), bool(after))
    new = ["off", "trail", "x-é", ""]
    wanted = [before + x + after if x else "" for x in new]
    assert model.predict(new) == wanted
    assert model.predict_kbest(new[:1], 2)[0][0].output == wanted[0]
    assert model.predict(new[:1], known=new[:1]) == new[:1]
    batch = model.pack(new[:1])
    [alignment] = batch.alignments(batch.argmax(model.part_scores(batch, new[:1])).codes)
    assert ["".join(side) for side in zip(*alignment)] == [new[0], wanted[0]]
    tw.save(model, tmp_path / "m.tw")
    assert tw.load(tmp_path / "m.tw").predict(new) == wanted
    assert model.structure.bind_names(model.space_.feature_names).ends == model.space_.ends
    with pytest.raises(tw.InputError, match="the ends of its inputs"):
        type(model.space_).from_state(model.structure, model.space_.state() | {"ends": [1]})


def test_ends_are_for_texts_that_grow():
    for X, y in [
        (["ab", "ba"], ["ba", "ab"]),
        ([["a", "b"], ["b", "a"]], [["a", "b", "b"], ["b", "a", "b"]]),
    ]:
        assert not any(tw.Transducer().bind(X, y).ends)
    assert not any(tw.Transducer().bind(["a␃", "b␃"], ["a␃x", "b␃x"]).ends)


@pytest.mark.parametrize("learner", [tw.ZScore, tw.SODA])
def test_moments_do_not_learn_words_by_heart(learner):
    X, y = list(map(list, SINGULAR)), [list(plural(word)) for word in SINGULAR]  # no symbols for ends
    right, loose = (
        sum(
            "".join(a) == plural(b)
            for a, b in zip(learner(tw.Transducer(), **reg).fit(X, y).predict(list(map(list, NEW))), NEW)
        )
        for reg in ({}, {"reg": 1e-6})
    )
    assert right >= 6
    assert right > loose


def test_outputs_with_symbols_of_their_own_have_short_pieces():
    X, y = ["ab", "ba", "aab"], ["1112", "2111", "11111"]
    assert tw.CRF(tw.Transducer()).fit(X, y).space_.pieces.max_out == 2
