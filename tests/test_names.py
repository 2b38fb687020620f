"""Alphabets look up shared stems once; the answers are those of one look-up per name."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trelliswork._names import Alphabet, Names

# Names and stems that may start with a prefix themselves, as an extra feature of a user may.
stem = st.sampled_from(["", "a", "b", "+1:a", "-1:", "+1:+1:a", "c"])
prefix = st.sampled_from(["", "+1:", "-1:"])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(prefix, stem), max_size=12),
    st.lists(stem, min_size=1, unique=True),
    st.lists(prefix, min_size=1, max_size=3),
    st.randoms(use_true_random=False),
)
def test_numbers_equal_single_look_ups(pairs, stems, prefixes, random):
    names = list(dict.fromkeys(p + s for p, s in pairs))
    alphabet = Alphabet(zip(names, range(len(names))))
    lists = []
    for p in prefixes:
        chosen = np.array([j for j in range(len(stems)) if random.random() < 0.7], dtype=np.int64)
        lists.append(Names(stems, chosen, p))
    asked = [*lists, ["a", "nothing", "+1:a"]]
    for _ in range(60):  # at first one by one, later by stems
        for numbers, one in zip(alphabet.numbers(asked), asked, strict=True):
            assert numbers.tolist() == [alphabet.get(name, -1) for name in one]


def test_stems_are_looked_up_once_there_are_many():
    alphabet = Alphabet({"a": 0, "+1:a": 1})
    stems = ["a"]
    lists = [Names(stems, np.array([0]), prefix) for prefix in ("", "+1:")]
    for _ in range(20):
        assert [numbers.tolist() for numbers in alphabet.numbers(lists)] == [[0], [1]]
    assert list(alphabet._split) == [("", "+1:")]


def test_names_are_a_sequence():
    names = Names(["a", "b", "c"], np.array([2, 0]), "+1:")
    assert list(names) == ["+1:c", "+1:a"]
    assert names[0] == "+1:c"
    assert list(names[1:]) == ["+1:a"]
    assert len(names) == 2
    assert "+1:a" in names
    assert "b" not in names


def test_alphabet_pickles():
    alphabet = Alphabet({"a": 0, "+1:a": 1})
    alphabet.numbers([Names(["a"], np.array([0]), p) for p in ("", "+1:")])
    copy = pickle.loads(pickle.dumps(alphabet))
    assert copy == alphabet
    assert isinstance(copy, Alphabet)
