"""Pre-images of n-gram counts: existence, number, enumeration, repair."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import trelliswork as tw
from trelliswork._ngrams import distinct_rows
from trelliswork.learners.regression.preimage_graph import DeBruijn
from trelliswork.learners.regression.preimage_repair import repair


def with_counts(counts, letters, length, n, boundary=("^", "$")):
    """All strings of a length that have given counts."""
    strings = map("".join, itertools.product(letters, repeat=length))
    return sorted(s for s in strings if tw.ngram_counts(s, n, boundary=boundary) == counts)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_random_strings_are_recovered_and_counted(n):
    rng = np.random.default_rng(n)
    model = tw.NGramModel(2).fit(["abc"])
    for trial in range(40):
        letters = "abc"[: 2 + trial % 2]
        y = "".join(rng.choice(list(letters), rng.integers(0, 8)))
        counts = tw.ngram_counts(y, n)
        if not counts:
            continue
        expected = with_counts(counts, letters, len(y), n)
        found = tw.preimage(counts, n, method="exact", language_model=model)
        assert sorted(found.candidates) == expected
        assert found.number == len(expected) == tw.preimage(counts, n).number
        assert tw.ngram_counts(found.output, n) == counts
        assert found.exact
        assert not found.truncated
        scores = model.log_prob(found.candidates)
        assert np.all(np.diff(scores) <= 1e-12)
        again = tw.preimage(counts, n, method="repair")
        assert again.exact
        assert again.cost == 0
        assert again.output in expected
        euler = tw.preimage(counts, n, method="euler")
        assert euler.exact
        assert euler.output in expected


@pytest.mark.parametrize("n", [2, 3])
def test_strings_without_boundaries(n):
    rng = np.random.default_rng(10 + n)
    for _ in range(40):
        y = "".join(rng.choice(list("ab"), rng.integers(n, 8)))
        counts = tw.ngram_counts(y, n, boundary=None)
        for method in ("exact", "repair"):
            found = tw.preimage(counts, n, boundary=None, method=method)
            assert tw.ngram_counts(found.output, n, boundary=None) == counts, (y, method, found)


def test_circuits_without_boundaries_begin_anywhere():
    model = tw.NGramModel(2).fit(["ab", "ba"])
    for y in ("bbabab", "aba", "abaaaa", "abbab", "bcabbb", "ab", "cabca"):
        counts = tw.ngram_counts(y, 2, boundary=None)
        strings = map("".join, itertools.product("abc", repeat=len(y)))
        same = {t for t in strings if tw.ngram_counts(t, 2, boundary=None) == counts}
        assert tw.preimage(counts, 2, boundary=None).number == len(same)
        rows = np.array(sorted([ord(c) for c in gram] for gram in counts))
        graph = DeBruijn(rows, np.array([counts["".join(map(chr, row))] for row in rows]))
        assert graph.number(exact_vertices=0) == pytest.approx(len(same))
        found = tw.preimage(counts, 2, boundary=None, language_model=model)
        assert set(found.candidates) == same
        assert not found.truncated
        few = tw.preimage(counts, 2, boundary=None, language_model=model, cap=2)
        assert len(few.candidates) == min(2, len(same))
        assert few.truncated == (len(same) > 2)


def test_long_random_strings():
    rng = np.random.default_rng(5)
    y = "".join(rng.choice(list("abcdefgh"), 20_000))
    found = tw.preimage(tw.ngram_counts(y, 3), 3)
    assert tw.ngram_counts(found.output, 3) == tw.ngram_counts(y, 3)
    assert found.number == math.inf or found.number > 1


def test_the_papers_examples():
    # Figure 1.3: bigrams ab 1, bc 2, ca 1, cb 1, with a as start and end symbol.
    fig3 = {"ab": 1, "bc": 2, "ca": 1, "cb": 1}
    closed = tw.preimage(fig3, 2, boundary=None)
    assert closed.exact
    assert tw.ngram_counts(closed.output, 2, boundary=None) == fig3
    graph, names = small_graph(fig3)
    edges = graph.trail()
    assert "".join(names[graph.rows[e, -1]] for e in edges) == "bcbca"
    # Figure 1.4: one more loop cc, two pre-images.
    fig4, names = small_graph(fig3 | {"cc": 1})
    strings = {"".join(names[fig4.rows[e, -1]] for e in row) for row in fig4.trails(10).edges}
    assert strings == {"bcbcca", "bccbca"}
    assert fig4.number() == 2
    # Figures 1.5 and 1.6: one bc added or removed repairs at cost 1.
    for change in (1, -1):
        graph, _ = small_graph(fig3 | {"bc": 2 + change})
        assert graph.fault()[0] == "balance"
        assert repair(graph, graph.counts.astype(float), "absolute").cost == 1.0
        paths, _ = graph.paths()
        assert len(paths) == sum((fig3 | {"bc": 2 + change}).values())  # every edge once


def small_graph(counts):
    names = sorted({c for gram in counts for c in gram})
    rows = np.array([[names.index(c) for c in gram] for gram in sorted(counts)])
    values = np.array([counts[gram] for gram in sorted(counts)])
    a = names.index("a")
    return DeBruijn(rows, values, (a,), (a,)), names


def test_balance_is_not_enough():
    apart = {"^a": 1, "a$": 1, "bc": 1, "cb": 1}
    with pytest.raises(tw.InputError, match="'b' does not hang together with the rest"):
        tw.preimage(apart, 2, method="exact")
    found = tw.preimage(apart, 2)
    assert found.output == "a"
    assert not found.exact
    assert found.cost == 2.0
    linked = tw.preimage({**apart, "ab": 0.45, "ba": 0.45}, 2)
    assert sorted(linked.output) == ["a", "a", "b", "b", "c"]
    assert linked.cost == pytest.approx(2 * 0.55**2)
    big = {"^a": 1, "a$": 1, "bc": 9, "cb": 9}
    assert tw.preimage(big, 2, allowed=["ab", "ba"]).cost == 2.0


def realisable(rows, start, end, top=2):
    """All counts up to ``top`` that have a pre-image."""
    graph = DeBruijn(rows, np.zeros(len(rows)), start, end)
    every = map(np.array, itertools.product(range(top + 1), repeat=len(rows)))
    wanted = np.zeros(len(graph.vertices), dtype=np.int64)
    wanted[graph.start] += 1
    wanted[graph.end] -= 1
    balanced = (graph.with_counts(c) for c in every)
    return np.array([g.counts for g in balanced if (g.surplus() == wanted).all() and g.fault() is None])


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_repair_is_the_nearest(loss):
    rng = np.random.default_rng(7)
    rows = distinct_rows(np.array([[2, 0], [2, 1], [0, 0], [0, 1], [1, 0], [0, 3], [1, 3]]))
    possible = realisable(rows, (2,), (3,))
    for _ in range(25):
        wanted = rng.normal(0.4, 0.6, len(rows))
        graph = DeBruijn(rows, np.zeros(len(rows)), (2,), (3,))
        found = repair(graph, wanted, loss)
        assert graph.with_counts(found.counts).fault() is None
        gap = possible - wanted
        best = (gap**2 if loss == "squared" else np.abs(gap)).sum(axis=1).min()
        assert found.cost == pytest.approx(best, abs=1e-9)
        assert found.excess == 0.0


def nearest_string(counts, loss, boundary, alphabet="abc", longest=5):
    """Least distance of any string, by enumeration."""
    best = np.inf
    for length in range(longest + 1):
        for letters in itertools.product(alphabet, repeat=length):
            own = tw.ngram_counts("".join(letters), 2, boundary=boundary)
            gaps = np.array([own.get(g, 0) - counts.get(g, 0.0) for g in {*own, *counts}])
            best = min(best, (gaps**2).sum() if loss == "squared" else np.abs(gaps).sum())
    return best


@pytest.mark.parametrize("boundary", [("^", "$"), None])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_loose_parts_are_joined_or_left_as_is_cheapest(loss, boundary):
    rng = np.random.default_rng(10)
    inner = ["".join(g) for g in itertools.product("abc", repeat=2)]
    allowed = inner + (["^a", "^b", "^c", "a$", "b$", "c$", "^$"] if boundary else [])
    found = tw.preimage({"cc": 1}, 2, method="repair", loss=loss, allowed=allowed, boundary=boundary)
    assert found.cost == (2.0 if boundary else 0.0)  # cc, or nothing at all
    for _ in range(12):
        counts = {g: float(rng.choice([0.6, 1.0, 1.4])) for g in rng.choice(inner, 2, replace=False)}
        found = tw.preimage(counts, 2, method="repair", loss=loss, allowed=allowed, boundary=boundary)
        assert found.cost == pytest.approx(nearest_string(counts, loss, boundary), abs=1e-9)
        assert found.excess == 0.0


def test_the_excess_bounds_what_joining_costs():
    rng = np.random.default_rng(11)
    inner = ["".join(g) for g in itertools.product("abc", repeat=2)]
    allowed = [*inner, "^a", "^b", "^c", "a$", "b$", "c$"]
    codes = [["abc^$".index(symbol) for symbol in gram] for gram in allowed]
    graph = DeBruijn(np.array(codes), np.zeros(len(allowed)), (3,), (4,))
    uncertain = 0
    for _ in range(30):
        wanted = np.isin(allowed, rng.choice(inner, 2, replace=False)).astype(float)
        best, joined = repair(graph, wanted, "squared"), repair(graph, wanted, "squared", exact_up_to=0)
        assert best.cost <= joined.cost + 1e-9
        assert joined.cost - joined.excess <= best.cost + 1e-9
        uncertain += joined.excess > 0
    assert uncertain


def test_repair_of_whole_counts_is_whole_and_balanced():
    rng = np.random.default_rng(8)
    table = {gram for _ in range(20) for gram in tw.ngram_counts("".join(rng.choice(list("abcd"), 6)), 2)}
    for _ in range(20):
        counts = tw.ngram_counts("".join(rng.choice(list("abcd"), 6)), 2)
        gram = rng.choice(sorted(counts))
        counts[gram] += int(rng.choice([-1, 1, 2]))
        found = tw.preimage(counts, 2, allowed=table)
        own = tw.ngram_counts(found.output, 2)
        gap = sum((own.get(g, 0) - counts.get(g, 0)) ** 2 for g in {*own, *counts})
        assert found.cost == gap


def test_shorter_ngrams_weigh_in_exactly():
    import scipy.sparse as sp

    from trelliswork.learners.regression.preimage_repair import Lower

    rng = np.random.default_rng(9)
    rows = distinct_rows(np.array([[2, 0], [2, 1], [0, 1], [1, 0], [0, 3], [1, 3]]))
    part_of = sp.csr_matrix([[float(row[1] == c) for row in rows] for c in (0, 1)])
    possible = realisable(rows, (2,), (3,))
    for _ in range(15):
        wanted, short = rng.normal(0.4, 0.6, len(rows)), rng.normal(1.0, 0.7, 2)
        graph = DeBruijn(rows, np.zeros(len(rows)), (2,), (3,))
        found = repair(graph, wanted, "squared", None, Lower(part_of, short))
        far = np.abs(possible @ part_of.T.toarray() - short).sum(axis=1)
        best = (((possible - wanted) ** 2).sum(axis=1) + far).min()
        assert found.cost == pytest.approx(best, abs=1e-9)


def test_language_model_ranks_and_weighs():
    counts = tw.ngram_counts("abcb", 2)
    model = tw.NGramModel(2).fit(["abcbab"])
    found = tw.preimage(tw.ngram_counts("aabab", 2), 2, language_model=tw.NGramModel(3).fit(["abaab"] * 9))
    assert found.output == "abaab"
    assert found.candidates[0] == found.output
    assert found.number == len(found.candidates) == len(with_counts(tw.ngram_counts("aabab", 2), "ab", 5, 2))
    uncertain = dict.fromkeys(counts, 0.5)
    uncertain["^a"] = uncertain["b$"] = 1.0
    tie = tw.preimage(uncertain, 2, language_model=model, lm_weight=0.01)
    assert tie.output in ("ab", "abcb")
    with pytest.raises(tw.InputError, match="order up to 2"):
        tw.preimage(counts, 2, language_model=tw.NGramModel(3).fit(["ab"]), lm_weight=1.0)


def test_enumeration_is_capped_and_says_so():
    y = "abcacbabcbacabc" * 2
    found = tw.preimage(tw.ngram_counts(y, 2), 2, language_model=tw.NGramModel(2).fit([y]), cap=50)
    assert len(found.candidates) == 50
    assert found.truncated
    assert found.number > 50
    assert all(tw.ngram_counts(c, 2) == tw.ngram_counts(y, 2) for c in found.candidates)


def test_generalised_algorithm_uses_every_edge():
    rng = np.random.default_rng(11)
    for _ in range(30):
        rows = distinct_rows(rng.integers(0, 4, (8, 2)))
        graph = DeBruijn(rows, rng.integers(0, 3, len(rows)))
        edges, bounds = graph.paths()
        assert np.array_equal(np.bincount(edges, minlength=len(rows)), graph.counts)
        assert bounds[0] == 0
        assert bounds[-1] == len(edges)


def test_numbers_agree_in_large_graphs():
    counts = tw.ngram_counts("abcacbabcbacabc", 2)
    rows = np.array(sorted([ord(c) for c in gram] for gram in counts))
    values = np.array([counts["".join(map(chr, row))] for row in rows])
    graph = DeBruijn(rows, values, (ord("^"),), (ord("$"),))
    exact = graph.number()
    assert exact == tw.preimage(counts, 2).number
    assert isinstance(exact, int)
    assert graph.number(exact_vertices=0) == pytest.approx(exact)


def test_mistakes_are_named():
    for counts, n, message in (
        ({"ab": 1, "abc": 1}, None, "has 3 symbols; expected 2"),
        ({"ab": np.nan}, 2, "the count of 'ab' is nan"),
        ({}, None, "counts is empty"),
        ({3: 1}, 1, "n-grams must be strings or tuples"),
        ({"ab": 1}, 0, "n must be a whole number >= 1"),
        (["ab"], 2, "counts must be a mapping"),
        ({"^a": "x"}, 2, "the count of '\\^a' is 'x'; it must be a finite number"),
        ({"^a": 1e18}, 2, "the counts sum up to 1,000,000,000,000,000,000; at most"),
        ({"^a": 1, "aa": 2e6 + 0.5, "a$": 1}, 2, "the squared loss takes at most 1,000,000"),
        ({}, 2, "nothing leads from the start to the end"),
    ):
        with pytest.raises(tw.InputError, match=message):
            tw.preimage(counts, n)
    with pytest.raises(tw.InputError, match="method must be one of"):
        tw.preimage({"ab": 1}, 2, method="magic")
    with pytest.raises(tw.InputError, match="nothing leads from the start to the end"):
        tw.preimage({"ab": 1}, 2, method="repair")
    with pytest.raises(tw.InputError, match="not all whole numbers"):
        tw.preimage({"^a": 0.5, "a$": 1}, 2, method="exact")
    with pytest.raises(tw.InputError, match="cap must be a whole number"):
        tw.preimage({"^a": 1, "a$": 1}, 2, cap=0)
    for options, message in (
        ({"lm_weight": 1.0}, "lm_weight is the weight of a language_model"),
        ({"language_model": "kneser-ney"}, "language_model must be an NGramModel or None, got str"),
        ({"allowed": 3}, "allowed must be a list of n-grams"),
    ):
        with pytest.raises(tw.InputError, match=message):
            tw.preimage({"^a": 1, "a$": 1}, 2, **options)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        tw.preimage({"^a": 1, "a$": 1}, 2, language_model=tw.NGramModel(2))
    with pytest.raises(tw.InputError, match="boundary symbol"):
        tw.ngram_counts("a$b", 2)
    assert tw.ngram_counts("a$b", 2, boundary=("<", ">"))["$b"] == 1
    assert tw.preimage({}, 1).output == ""
    assert tw.preimage({("^", "x"): 1, ("x", "$"): 1}, 2).output == ["x"]
