"""Recursions of the nearest-neighbour model against a slow scorer that reads loops off the structure."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy.special import logsumexp

from trelliswork import RNA
from trelliswork.dp.rna.rules import BASES, PAIRS
from trelliswork.structures import Evidence, Parts, pair_table
from trelliswork.structures.rna import sums
from trelliswork.structures.rna.features import GROUPS

PLAIN = bool(numba.config.DISABLE_JIT)


def features_of(x, y, longest=30):
    """Names of the features of a structure, with repeats; written from the description, not from the code."""
    table, n, found = pair_table(y), len(x), []

    def base(k):
        return x[k] if 0 <= k < n and x[k] in BASES else None

    def kind(i, j):
        return x[i] + x[j]

    def flank(after, before, pair):
        if after is None or before is None:
            return None
        return f"{pair[0]}{after}..{before}{pair[1]}"

    def end(loop, i, j):
        """An end of a helix: the loop is between i + 1 and j - 1, going around if i > j."""
        pair, after, before = kind(i, j), base(i + 1), base(j - 1)
        found.append(("helix end", pair))
        if loop in ("multiloop", "outer"):
            found.append((loop, "paired"))
            for group in ("dangle", f"{loop} dangle"):
                if after:
                    found.append((group, f"{pair[0]}{after}..{pair[1]}"))
                if before:
                    found.append((group, f"{pair[0]}..{before}{pair[1]}"))
        elif loop in ("hairpin", "1xn", "internal") and flank(after, before, pair):
            found.append(("mismatch", flank(after, before, pair)))
            found.append((f"{loop} mismatch", flank(after, before, pair)))

    def stack(group, i, j, p, q):
        a = f"5'-{x[i]}{x[p]}-3' 3'-{x[j]}{x[q]}-5'"
        b = f"5'-{x[q]}{x[j]}-3' 3'-{x[p]}{x[i]}-5'"
        found.append((group, {a, b}))

    def at_least(group, first, length):
        found.extend((group, f"at least {k}") for k in range(first, min(length, longest) + 1))

    def inner_pairs(i, j):
        k, out = i + 1, []
        while k < j:
            if table[k] > k:
                out.append((k, table[k]))
                k = table[k]
            k += 1
        return out

    branches = inner_pairs(-1, n)
    found += [("outer", "unpaired")] * (n - sum(q - p + 1 for p, q in branches))
    for p, q in branches:
        end("outer", q, p)
    for i, j in [(i, j) for i, j in enumerate(table) if i < j]:
        found.append(("base pair", {"AU": "AU", "UA": "AU", "GC": "GC", "CG": "GC"}.get(kind(i, j), "GU")))
        inside = inner_pairs(i, j)
        outer_stack = i > 0 and j + 1 < n and table[i - 1] == j + 1
        if outer_stack and table[i + 1] == j - 1:
            a = f"5'-{x[i - 1]}{x[i]}{x[i + 1]}-3' 3'-{x[j + 1]}{x[j]}{x[j - 1]}-5'"
            b = f"5'-{x[j - 1]}{x[j]}{x[j + 1]}-3' 3'-{x[i + 1]}{x[i]}{x[i - 1]}-5'"
            found.append(("triple", {a, b}))
        if not outer_stack:
            pairs = next(k for k in range(1, n) if table[i + k] != j - k)
            found.append(("lonely pair", "") if pairs == 1 else ("helix length", f"{pairs} pairs"))
        if not inside:
            found.append(("hairpin loop", x[i + 1 : j]))
            at_least("hairpin length", 3, j - i - 1)
            end("hairpin", i, j)
        elif len(inside) > 1:
            found.append(("multiloop", "loop"))
            found += [("multiloop", "unpaired")] * (j - i - 1 - sum(q - p + 1 for p, q in inside))
            end("multiloop", i, j)
            for p, q in inside:
                end("multiloop", q, p)
        else:
            [(p, q)] = inside
            a, b = sorted((p - i - 1, j - q - 1))
            if b == 0:
                stack("stacking", i, j, p, q)
            elif a == 0:
                at_least("bulge length", 1, b)
                if b == 1:
                    stack("stacking over a bulge", i, j, p, q)
                    bulged = base(i + 1 if p - i == 2 else j - 1)
                    found += [("bulged base", bulged)] if bulged else []
                else:
                    end("bulge", i, j)
                    end("bulge", q, p)
            else:
                at_least("internal length", 2, a + b)
                at_least("internal asymmetry", 1, b - a)
                if a == b:
                    at_least("internal symmetric", 1, a)
                if b <= 4:
                    found.append(("internal loop", f"{a}x{b}"))
                loop = "1x1" if b == 1 else "1xn" if a == 1 else "internal"
                end(loop, i, j)
                end(loop, q, p)
                if b == 1 and base(i + 1) and base(j - 1):
                    found.append(("1x1 bases", ".".join(sorted(base(i + 1) + base(j - 1)))))
    return found


def count(space, x, y):
    index = {name: k for k, name in enumerate(space.feature_names)}
    out = np.zeros(space.n_features)
    for group, name in features_of(x, y):
        names = name if isinstance(name, set) else {name}
        columns = [index[group, one] for one in names if (group, one) in index][:1]
        if group in ("triple", "helix length", "hairpin loop") and not columns:
            continue  # groups that are not asked for, long helices and other loops
        out[columns[0]] += 1.0
    return out


# Sequences that have bulges, internal loops of all classes and multiloops.
SEQUENCES = [
    "GGGAAACACAGAAACUC",
    "GCAGAAACAAGC",
    "GGACGAAAGAACC",
    "GGAAGCAAAGCACC",
    "GANGAAACCUC",
    "ACGU",
    "G",
    "GACGAGAAAAAACUCGUC",  # with all optional features: helices of up to six pairs, a loop of six bases
]


class Case:
    """A random problem and what enumeration says about it."""

    def __init__(self, x, rng, evidence, **params):
        self.x = Evidence(x, shape=rng.random(len(x))) if evidence else x
        self.structure = RNA("nearest-neighbour", **params)
        self.space = self.structure.bind()
        self.batch = self.space.pack([self.x])
        self.w, self.h = rng.normal(size=(2, self.space.n_features)) * 0.7
        size = self.batch.pair_ptr[-1]
        self.pair, self.hp = rng.normal(size=(2, size))
        self.outputs = list(self.space.enumerate(x))
        self.phi = np.array([count(self.space, x, y) for y in self.outputs])
        self.cells = np.zeros((len(self.outputs), size))
        left, right = self.batch.cells(len(x))
        for row, y in zip(self.cells, self.outputs):
            table = np.array(pair_table(y))
            row[:] = np.where(left == right, table[left] < 0, table[left] == right)
        self.parts = Parts(rule=self.w, pair=self.pair)
        self.scores = self.phi @ self.w + self.cells @ self.pair
        if evidence:
            self.scores += self.cells @ self.batch.evidence
        self.p = np.exp(self.scores - logsumexp(self.scores))


CASES = [(k, evidence) for k in range(2 if PLAIN else len(SEQUENCES)) for evidence in (False, True)]
PARAMS = [{}, {"min_hairpin": 2, "max_loop": 3}, {"window": 11}]


def params_of(k):
    return {"groups": GROUPS} if k == len(SEQUENCES) - 1 else PARAMS[k % 3 if k else 0]


@pytest.fixture(
    scope="module", params=CASES, ids=lambda p: f"{SEQUENCES[p[0]]}-{'evidence' if p[1] else 'plain'}"
)
def case(request):
    k, evidence = request.param
    return Case(SEQUENCES[k], np.random.default_rng(k), evidence, **params_of(k))


def test_features_are_read_off_the_loops(case):
    packed = case.space.pack([str(getattr(case.x, "seq", case.x))] * len(case.outputs), case.outputs)
    assert np.array_equal(packed.gold().toarray(), case.phi)


def test_best_structures(case):
    [listed] = case.batch.kbest(case.parts, len(case.outputs) + 2)
    assert np.allclose(listed.values, np.sort(case.scores)[::-1])
    assert len(set(case.batch.unpack(listed.codes))) == len(case.outputs)
    best = case.batch.argmax(case.parts)
    assert np.isclose(best.values[0], case.scores.max())
    assert case.batch.unpack(best.codes)[0] == case.outputs[int(case.scores.argmax())]
    assert np.allclose(case.batch.evaluate(best.codes, case.parts), best.values)


def test_sums(case):
    assert np.isclose(case.batch.log_partition(case.parts)[0], logsumexp(case.scores))
    marginals = case.batch.marginals(case.parts)
    assert np.allclose(marginals.rule, case.p @ case.phi)
    assert np.allclose(marginals.pair, case.p @ case.cells)
    probabilities = case.batch._expect("expect", case.parts, pairs=True, rules=False)[2]
    assert np.allclose(probabilities, marginals.pair, atol=1e-12)


def test_derivatives(case):
    slope = case.phi @ case.h + case.cells @ case.hp
    slope = (slope - case.p @ slope) * case.p
    moved = case.batch.tangent(case.parts, Parts(rule=case.h, pair=case.hp))
    assert np.allclose(moved.rule, slope @ case.phi)
    assert np.allclose(moved.pair, slope @ case.cells)


@pytest.mark.parametrize("k", [0, 1, 4, 7])
def test_sums_in_logarithms(monkeypatch, k):
    """The same sums where plain numbers are out of range."""
    case = Case(SEQUENCES[k], np.random.default_rng(k), k > 0, **params_of(k))
    monkeypatch.setattr(sums, "_scaled", lambda problem: None)
    test_sums(case)
    test_derivatives(case)
    test_draws(case)


def test_weights_of_any_size(case):
    for factor in (300.0, 1e5):
        parts = case.parts * factor
        known = 0.0 if case.batch.evidence is None else case.cells @ case.batch.evidence
        scores = (case.scores - known) * factor + known
        assert np.isclose(case.batch.log_partition(parts)[0], logsumexp(scores))
        assert np.allclose(case.batch.marginals(parts).pair, np.exp(scores - logsumexp(scores)) @ case.cells)


def test_draws(case):
    draws = case.batch.sample(case.parts, 2000, np.random.default_rng(0))
    names = [case.batch.unpack(codes)[0] for codes in draws]
    share = np.array([names.count(y) for y in case.outputs]) / len(names)
    assert share.sum() == pytest.approx(1.0)
    assert np.all(np.abs(share - case.p) <= 5 * np.sqrt(case.p * (1 - case.p) / 2000) + 3 / 2000)


def test_all_pairs_have_all_features():
    """Together the sequences use every kind of feature."""
    space = RNA("nearest-neighbour", groups=GROUPS).bind()
    used = {group for x in SEQUENCES for y in space.enumerate(x) for group, _ in features_of(x, y)}
    assert used >= {group for group, _ in space.feature_names} - {"internal symmetric"}
    assert len(PAIRS) == 6


def test_forced_bases_and_forbidden_pairs():
    x = "GGGAAACACAGAAACUC"
    space = RNA("nearest-neighbour").bind()
    w = np.random.default_rng(3).normal(size=space.n_features)
    for constraint in (
        "|................",
        "..x.........|....",
        "(...............)",
        "<....|....x...>..",
        "......(...)......",
    ):
        try:
            batch = space.pack([Evidence(x, constraint=constraint)])
        except ValueError:
            continue
        free = space.pack([x])
        fine = [y for y in space.enumerate(x) if _meets(y, constraint)]
        packed = space.pack([x] * len(fine), fine)
        scores = packed.evaluate(packed.gold_codes, packed.scores(w))
        if not fine:
            assert batch.log_partition(batch.scores(w))[0] == -np.inf
            continue
        assert np.isclose(batch.log_partition(batch.scores(w))[0], logsumexp(scores))
        assert np.isclose(batch.argmax(batch.scores(w)).values[0], scores.max())
        mean = np.exp(scores - logsumexp(scores)) @ packed.gold().toarray()
        assert np.allclose(batch.marginals(batch.scores(w)).rule, mean)
        assert free.log_partition(free.scores(w))[0] > batch.log_partition(batch.scores(w))[0]


def _meets(y, constraint):
    table, pairs = pair_table(y), pair_table("".join(c if c in "()" else "." for c in constraint))
    for i, mark in enumerate(constraint):
        j = table[i]
        if mark in "()" and j != pairs[i]:
            return False
        if (mark == "x" and j >= 0) or (mark in "|<>" and j < 0):
            return False
        if (mark == "<" and j < i) or (mark == ">" and j > i):
            return False
    return True


@pytest.mark.skipif(PLAIN, reason="long")
def test_long_sequences_stay_in_range():
    rng = np.random.default_rng(5)
    x = "".join(rng.choice(list("ACGU"), 300)) + "G" * 120 + "AAAA" + "C" * 120
    space = RNA("nearest-neighbour").bind()
    batch = space.pack([x])
    w = rng.normal(size=space.n_features) * 0.1
    for strength in (0.0, 2.0):
        w[:3] = strength
        scores = batch.scores(w)
        best, log_z = batch.argmax(scores), batch.log_partition(scores)
        assert np.isclose(batch.evaluate(best.codes, scores)[0], best.values[0])
        assert best.values[0] < log_z[0] < best.values[0] + 2.0 * len(x)
        pairs = batch._expect("expect", scores, pairs=True, rules=False)[2]
        assert np.isfinite(pairs).all()
        assert pairs.min() > -1e-9
        assert pairs.max() < 1 + 1e-9
