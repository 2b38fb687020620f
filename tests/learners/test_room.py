"""Fits that cannot fit into memory are refused before they begin."""

import os
import re
import warnings

import numpy as np
import pytest
from benchmarks.room import growth, problems, random_tree

import trelliswork as tw
from trelliswork.learners import LEARNERS, room
from trelliswork.structures import Unsupported
from trelliswork.structures.grammar.sizes import forest_sizes


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    X = [{f"w{k}": 1.0 for k in rng.integers(30_000, size=100)} for _ in range(400)]
    return X, [f"c{i % 200}" for i in range(400)]


@pytest.mark.parametrize("learner", sorted(set(LEARNERS) - {"Fixed"}))
def test_refused_with_size_and_advice(monkeypatch, wide, learner):
    monkeypatch.setattr(room, "available", lambda: 50 << 20)
    try:
        with pytest.raises(tw.InputError, match=r"would take about [\d.]+ GiB, and 0.0 are free; take fewer"):
            LEARNERS[learner](tw.Classes()).fit(*wide)
    except Unsupported:
        pytest.skip("does not learn classes")


def test_what_is_free():
    assert room.available() > 1 << 20


def test_small_fits_do_not_ask(monkeypatch):
    monkeypatch.setattr(room, "available", lambda: pytest.fail("asked"))
    tw.CRF(tw.Chain()).fit([["a"]], [["A"]])


def test_estimates_grow_with_what_they_are_made_of():
    structure = tw.Chain()
    few = structure.compile([["a", "b"]], [["A", "B"]])[1]
    many = structure.compile([[f"w{i}" for i in range(100)]], [[f"L{i % 10}" for i in range(100)]])[1]
    for learner in (tw.CRF, tw.Perceptron, tw.ZScore, tw.StructuredSVM):
        assert room.memory_of_fit(learner(structure), few) < room.memory_of_fit(learner(structure), many)
    longer = tw.RNA("g6").compile(["GAAAC" * 40], ["(...)" * 40])[1]
    assert longer.working_bytes("expect") > 80 * 200**2 > longer.working_bytes("viterbi") > 0


@pytest.fixture(scope="module")
def treebank():
    rng = np.random.default_rng(4)
    y = [random_tree(rng, n) for n in rng.integers(4, 18, size=40)]
    return [re.findall(r"w\d+", tree) for tree in y], y


def test_sizes_of_forests_are_known_from_a_few(treebank):
    batch = tw.Grammar().compile(*treebank)[1]
    nodes, edges = forest_sizes(batch.store, batch.index)
    made = [batch.forest(i) for i in range(len(batch))]
    for estimated, true in (
        (nodes, [forest.n_nodes for forest in made]),
        (edges, [forest.rule.size for forest in made]),
    ):
        assert sum(true) / 1.5 < estimated.sum() < 1.5 * sum(true)
        assert np.corrcoef(estimated, true)[0, 1] > 0.95


def test_treebank_that_is_too_large_is_refused(monkeypatch, treebank):
    monkeypatch.setattr(room, "available", lambda: 4 << 20)
    batch = tw.Grammar().compile(*treebank)[1]
    for learner in (tw.CRF, tw.StructuredSVM, tw.ZScore):
        with pytest.raises(tw.InputError, match=r"on 40 samples .* would take about 0.0 GiB"):
            room.check_room(learner(tw.Grammar()), batch, small=1 << 20)
    room.check_room(tw.Perceptron(tw.Grammar()), batch, small=1 << 20)  # which lists no trees


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="peaks are not told here")
@pytest.mark.parametrize("learner", ["CRF", "Perceptron", "SODA"])
def test_estimates_are_within_a_factor_of_two(learner):
    """``python -m benchmarks room`` does the same for all learners and structures."""
    [small, big] = [
        next(rest for name, *rest in problems(size) if name == "Chain, weights") for size in (1, 0)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LEARNERS[learner](small[0]).fit(*small[1:])  # compiles
        estimated, measured = growth(learner, *big)
    assert measured / 2 < estimated < 2 * measured
