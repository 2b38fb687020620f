"""The automaton of observed contexts against the longest observed suffix."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trelliswork._ngrams import Coded
from trelliswork._ragged import Ragged
from trelliswork.structures.backoff import Contexts


def coded(strings):
    rows = Ragged.from_list(strings, np.int64)
    return Coded(rows.values.astype(np.int64), rows.offsets)


@pytest.mark.parametrize("longest", [0, 1, 2, 3])
@pytest.mark.parametrize("min_count", [1, 2])
def test_steps_lead_to_the_longest_observed_suffix(longest, min_count):
    strings = np.random.default_rng(longest).integers(0, 3, (8, 5)).tolist() + [[], [2]]
    automaton = Contexts.observed(coded(strings), 3, longest, min_count)
    marked = [[3, *s] for s in strings]
    counts = {}
    for s in marked:
        for n in range(1, longest + 1):
            for a in range(len(s) - n + 1):
                counts[tuple(s[a : a + n])] = counts.get(tuple(s[a : a + n]), 0) + 1
    kept = {(), *(c for c, n in counts.items() if n >= min_count)} | ({(3,)} if longest else set())
    assert set(automaton.contexts) == kept
    for text in itertools.product(range(3), repeat=4):
        state = automaton.start
        for t, symbol in enumerate(text):
            state = automaton.step[state, symbol]
            before = (3, *text[: t + 1])
            wanted = next(before[a:] for a in range(len(before) + 1) if before[a:] in kept)
            assert automaton.contexts[state] == wanted


def test_suffixes():
    automaton = Contexts(2, [(0,), (1,), (0, 1), (1, 0), (2,), (2, 1)])
    for context, shorter in zip(automaton.contexts, automaton.suffix.tolist(), strict=True):
        assert automaton.contexts[shorter] == context[1:]


def test_all_observed_is_the_dense_table():
    text = list(itertools.product(range(2), repeat=4))
    automaton = Contexts.observed(coded(text), 2, 2)
    assert len(automaton.contexts) == 1 + 3 + (4 + 2)  # empty; 0, 1, start; pairs and start with a symbol
