"""Notations for outputs that are known in part, and what is said of bad ones."""

from __future__ import annotations

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.structures.known import choices, is_open

TREES = ["(S (NP (D the) (N dog)) (VP (V sleeps)))", "(S (NP (N cats)) (VP (V see) (NP (D a) (N dog))))"]
SENTENCES = [["the", "dog", "sleeps"], ["cats", "see", "a", "dog"]]


def test_none_and_sets_are_labels_if_they_are_given():
    assert is_open(None)
    assert not is_open(None, ["N", None])
    assert choices([None, frozenset("a")], [None], 0) == [(None,), ("a",)]
    model = tw.CRF(tw.Chain(labels=["A", None])).fit([["a", "b"]], [["A", None]])
    assert model.predict([["a", "b"]]) == [["A", None]]


def test_observed_pairs_and_transitions_are_those_that_may_occur():
    X, y = [["a", "b", "c"], ["d", "a"]], [["X", {"X", "Y"}, None], ["Y", "Z"]]
    space = tw.Chain(emissions="observed", transitions="observed").bind(X, y)
    names = space.feature_names
    assert ("emission", "b", "X") in names
    assert ("emission", "b", "Y") in names
    assert not any(name[:2] == ("emission", "c") for name in names)
    assert space.allowed.tolist() == [[True] * 3, [True] * 3, [False] * 3]  # nothing is seen to follow Z


BAD = {
    "chain, empty set": (
        tw.Chain(),
        [["a"], ["b"]],
        [["A"], [set()]],
        "sample 1: the set of labels of token",
    ),
    "chain, scheme": (
        tw.Chain(scheme="BIO", labels=["B-X", "I-X", "O"]),
        [["a", "b"]],
        [[{"O"}, {"I-X"}]],
        "sample 0: no label sequence agrees",
    ),
    "classes": (tw.Classes(labels=["a"]), [[1.0]], [{"a", "z"}], "sample 0: label 'z' of place 0 is not one"),
    "rna": (tw.RNA("g6"), ["GGAAACC"], ["xxx<xxx"], "sample 0: no output agrees"),
    "rna, pair": (tw.RNA("g6"), ["GGAAAGC"], ["?(???)?"], "sample 0: the pair"),
    "alignment": (tw.Alignment("linear"), [("AB", "A")], [{(0, 1)}], "sample 0: .*is no pair of residues"),
    "alignment, crossing": (
        tw.Alignment("linear"),
        [("AB", "AB")],
        [{(0, 1), (1, 0)}],
        "sample 0: no output agrees",
    ),
    "grammar": (
        tw.Grammar(min_count=1),
        SENTENCES,
        [TREES[0], {("NP", 2, 9)}],
        "sample 1: .*is no bracket of a sentence of 4 words",
    ),
    "grammar, no tree": (tw.Grammar(), SENTENCES, [None, set()], "no tree is known as a whole"),
    "grammar, crossing": (
        tw.Grammar(min_count=1),
        SENTENCES,
        [TREES[0], {(None, 0, 2), (None, 1, 3)}],
        "sample 1: no output agrees",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_outputs_are_one_line(name):
    structure, X, y, message = BAD[name]
    with pytest.raises(tw.InputError, match=message):
        structure.compile(X, y)


def test_known_needs_an_entry_per_sample():
    model = tw.CRF(tw.Chain()).fit([["a", "b"]], [["A", "B"]])
    with pytest.raises(tw.InputError, match="known has 2 entries for 1 samples"):
        model.predict([["a"]], known=[None, None])
    with pytest.raises(tw.InputError, match="2 labels"):
        model.predict([["a"]], known=[["A", "B"]])
    with pytest.raises(tw.InputError, match="give y as a whole"):
        model.log_prob([["a", "b"]], [["A", None]], known=[None])
    assert np.isneginf(model.log_prob([["a"]], [["A"]], known=[["B"]])[0])


def test_brackets_of_trees():
    model = tw.CRF(tw.Grammar(min_count=1)).fit(SENTENCES * 2, [*TREES, TREES[0], {("NP", 2, 4)}])
    assert model.predict(SENTENCES[1:], known=[{("VP", 1, 4)}]) == TREES[1:]
    [[best, *_]] = model.predict_kbest(SENTENCES[:1], 2, known=[{("NP", 0, 2)}])
    assert best.output == TREES[0]


def test_whole_structures_of_rna_keep_their_meaning():
    space = tw.RNA("g6").bind()
    whole = space.pack(["GGAAACC"], ["<<...>>"])  # WUSS: pairs
    assert not whole.partly_known
    assert whole.unpack(whole.gold_codes) == ["((...))"]
    assert space.pack(["GGAAACC"], ["<?...?>"]).partly_known
