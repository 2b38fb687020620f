"""Alignments: counts, moments by other recursions, long pairs, other aligners, mistakes."""

from __future__ import annotations

from math import comb

import numba
import numpy as np
import pytest
from scipy.special import logsumexp

import trelliswork as tw
from trelliswork import Alignment, AlignPath, Fixed, InputError
from trelliswork.structures import Parts, read_matrix, write_matrix
from trelliswork.structures.alignment import search

PLAIN = bool(numba.config.DISABLE_JIT)  # then long pairs take hours
MODES = [
    {},
    {"canonical": True},
    {"mode": "semiglobal"},
    {"mode": "semiglobal", "free": "first"},
    {"mode": "semiglobal", "free": "second", "canonical": True},
    {"mode": "local"},
    {"mode": "local", "canonical": True},
]


def random_pairs(rng, n, low, high, letters="ABCD"):
    return [
        tuple("".join(rng.choice(list(letters), rng.integers(low, high + 1))) for _ in range(2))
        for _ in range(n)
    ]


def delannoy(n, m):
    return sum(comb(n, k) * comb(m, k) * 2**k for k in range(min(n, m) + 1))


def test_numbers_of_alignments():
    X = [("A" * n, "B" * m) for n in range(5) for m in range(6)]
    paths, canonical = (Alignment("linear", canonical=c).bind(X).pack(X).count() for c in (False, True))
    assert paths == [delannoy(len(a), len(b)) for a, b in X]
    assert canonical == [comb(len(a) + len(b), len(a)) for a, b in X]
    local = Alignment("linear", mode="local").bind(X).pack(X)
    assert np.allclose(np.exp(local.log_count()), local.count())


def scalar_moments(a, b, affine):
    """The scalar recursions over prefixes, in exact integers (all values times the number of paths)."""
    from fractions import Fraction

    n1, n2 = len(a), len(b)
    names = "msoe" if affine else "msg"
    pi, mu, v = {}, {}, {}

    def at(table, i, j, *key):
        return table.get((i, j, *key), 0) if i >= 0 and j >= 0 else 0

    for i in range(n1 + 1):
        for j in range(n2 + 1):
            up, left, diagonal = (i - 1, j), (i, j - 1), (i - 1, j - 1)
            cells = [c for c in (up, left, diagonal) if min(c) >= 0]
            pi[i, j] = sum(pi[c] for c in cells) if cells else 1
            same = int(i > 0 and j > 0 and a[i - 1] == b[j - 1])
            hit = {"m": same, "s": 1 - same}
            for p in names:  # sums over paths of the feature, not yet divided
                total = sum(mu[(*c, p)] for c in cells)
                if p in hit and diagonal in cells:
                    total += hit[p] * pi[diagonal]
                for one, two in (((i - 1, j), (i - 2, j)), ((i, j - 1), (i, j - 2))):
                    if p == "g":
                        total += at(pi, *one)
                    elif p == "e":
                        total += at(pi, *two)
                    elif p == "o":
                        total += at(pi, *one) - at(pi, *two)
                mu[i, j, p] = total
            for x, p in enumerate(names):
                for q in names[x:]:
                    total = sum(v[(*c, p, q)] for c in cells)
                    if diagonal in cells:
                        hp, hq = hit.get(p, 0), hit.get(q, 0)
                        total += hp * mu[(*diagonal, q)] + hq * mu[(*diagonal, p)] + hp * hq * pi[diagonal]
                    for u1, u2, u3 in (
                        ((i - 1, j), (i - 2, j), (i - 3, j)),
                        ((i, j - 1), (i, j - 2), (i, j - 3)),
                    ):
                        one, two, three = at(pi, *u1), at(pi, *u2), at(pi, *u3)
                        m1 = {r: at(mu, *u1, r) for r in names}
                        m2 = {r: at(mu, *u2, r) for r in names}
                        if p == q == "g":
                            total += 2 * m1["g"] + one
                        elif q == "g":
                            total += m1[p]
                        elif p == q == "o":
                            total += 2 * (m1["o"] - m2["o"] - two + three) + one - two
                        elif p == q == "e":
                            total += 2 * m2["e"] + 2 * three + two
                        elif (p, q) == ("o", "e"):
                            total += m2["o"] + two - 2 * three + m1["e"] - m2["e"]
                        elif q == "o":
                            total += m1[p] - m2[p]
                        elif q == "e":
                            total += m2[p]
                    v[i, j, p, q] = v[i, j, q, p] = total
    n = pi[n1, n2]
    mean = np.array([float(Fraction(mu[n1, n2, p], n)) for p in names])
    second = [
        [float(Fraction(v[n1, n2, p, q] * n - mu[n1, n2, p] * mu[n1, n2, q], n * n)) for q in names]
        for p in names
    ]
    return mean, np.array(second)


@pytest.mark.parametrize("model", ["linear", "affine"])
@pytest.mark.parametrize("lengths", [(0, 3), (1, 1), (4, 5), (12, 9), (30, 33)])
def test_moments_by_scalar_recursions(model, lengths):
    rng = np.random.default_rng(sum(lengths))
    x = tuple("".join(rng.choice(["A", "B"], n)) for n in lengths)
    batch = Alignment(model, alphabet="AB").bind([x]).pack([x])
    mean, covariance = scalar_moments(*x, affine=model == "affine")
    found = batch.moments()
    assert np.allclose(found.mean[0], mean, rtol=1e-10, atol=1e-10)
    assert np.allclose(found.covariance, covariance, rtol=1e-8, atol=1e-9)
    null = [2.0, 2.0, 1.0, 1.0][: mean.size]
    assert np.allclose(found.covariance @ null, 0.0, atol=1e-8)


def forward(batch, w, best):
    """Plain-Python recursion over the grid: sum (in logs) or maximum."""
    add = max if best else lambda *v: float(logsumexp(v))
    [a], [b] = batch.first, batch.second
    flags = batch.space.structure
    table = np.append(w, 0.0)[batch.of_pair]
    o, e = w[batch.space.of_gap]
    none, n1, n2 = -np.inf, a.size, b.size
    M, D, N = (np.full((n1 + 1, n2 + 1), none) for _ in range(3))
    local = flags.mode == "local"
    ends = [0.0]
    if not local:
        M[0, 0] = 0.0
    for i in range(n1 + 1):
        for j in range(n2 + 1):
            free_d = flags.mode == "semiglobal" and flags.free != "second" and j in (0, n2)
            free_i = flags.mode == "semiglobal" and flags.free != "first" and i in (0, n1)
            if i and j:
                before = [M[i - 1, j - 1], D[i - 1, j - 1], N[i - 1, j - 1]] + [0.0] * local
                M[i, j] = table[a[i - 1], b[j - 1]] + add(*before)
                ends.append(M[i, j])
            if i:
                od, ed = (0.0, 0.0) if free_d else (o, e)
                crossed = none if flags.canonical else N[i - 1, j] + od
                D[i, j] = add(M[i - 1, j] + od, D[i - 1, j] + ed, crossed)
            if j:
                oi, ei = (0.0, 0.0) if free_i else (o, e)
                N[i, j] = add(M[i, j - 1] + oi, D[i, j - 1] + oi, N[i, j - 1] + ei)
    return add(*ends) if local else add(M[n1, n2], D[n1, n2], N[n1, n2])


@pytest.mark.parametrize("scale", [1.0, 60.0, 2000.0])
@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_longer_pairs_by_a_plain_recursion(mode, scale):
    rng = np.random.default_rng(3)
    for x in random_pairs(rng, 1, 5, 9) if PLAIN else random_pairs(rng, 2, 10, 19):
        batch = Alignment("ordered-affine", alphabet="ABCD", **mode).bind([x]).pack([x])
        w = scale * rng.normal(size=batch.space.n_features)
        scores = batch.scores(w)
        assert np.allclose(batch.log_partition(scores)[0], forward(batch, w, best=False), rtol=1e-10)
        assert np.allclose(batch.argmax(scores).values[0], forward(batch, w, best=True), rtol=1e-10)
        h, step = rng.normal(size=w.size), 1e-6 * scale
        up, down = (batch.log_partition(batch.scores(w + s * step * h))[0] for s in (1, -1))
        mean = batch.expect(w)[1]
        assert np.isclose(mean @ h, (up - down) / (2 * step), rtol=1e-5, atol=1e-4)
        moved = batch.pull(batch.tangent(scores, batch.scores(h)))
        up, down = (batch.expect(w + s * step * h)[1] for s in (1, -1))
        assert np.allclose(moved, (up - down) / (2 * step), rtol=1e-4, atol=1e-3)
        assert np.allclose(batch.moments(w).covariance @ h, moved, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_checkpoints_do_not_change_paths(mode):
    rng = np.random.default_rng(5)
    X = random_pairs(rng, 2, 12, 30) if PLAIN else random_pairs(rng, 6, 100, 160)
    structure = Alignment("substitution-affine", alphabet="ABCD", precision="double", **mode)
    batch = structure.bind(X).pack(X)
    scores = batch.scores(rng.integers(-4, 5, batch.space.n_features).astype(float))
    whole = batch.argmax(scores)
    blocks = structure.with_limits(traced_cells=0).bind(X).pack(X).argmax(scores)
    assert np.array_equal(whole.codes.values, blocks.codes.values)


def test_long_pairs_neither_overflow_nor_vanish():
    rng = np.random.default_rng(0)
    n = 60 if PLAIN else 1500
    x = random_pairs(rng, 1, n, n, "ACGT")[0]
    batch = Alignment("affine", alphabet="dna").bind([x]).pack([x])
    for w in ([5.0, -4.0, -10.0, -0.5], [-5.0, 3.0, 9.0, 9.0], [0.0, 0.0, 0.0, 0.0]):
        log_z, mean = batch.expect(np.array(w))
        best = batch.argmax(batch.scores(np.array(w))).values[0]
        assert best - 1e-6 <= log_z[0] <= best + 2 * n * np.log(3)
        assert np.isclose(mean @ [2, 2, 1, 1], 2.0 * n, rtol=1e-9)  # every residue is somewhere
    assert np.isclose(batch.log_count()[0], n * np.log(3 + 8**0.5) - 0.5 * np.log(n), atol=1.0)


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_scores_are_those_of_biopython(mode):
    align = pytest.importorskip("Bio.Align")
    aligner = align.PairwiseAligner(mode="local" if mode == "local" else "global")
    aligner.substitution_matrix = align.substitution_matrices.load("BLOSUM62")
    aligner.open_gap_score, aligner.extend_gap_score = -11, -1
    if mode == "semiglobal":
        aligner.end_gap_score = 0
    rng = np.random.default_rng(1)
    X = random_pairs(rng, 20, 1, 30, "ARNDCQEGHILKMFPSTWYV")
    weights = tw.alignment_weights("BLOSUM62", gap_open=-11, gap_extend=-1)
    model = Fixed(Alignment("substitution-affine", mode=mode), weights)
    batch = model.pack(X)
    scores = model.part_scores(batch, X)
    assert batch.argmax(scores).values.tolist() == [aligner.score(*x) for x in X]
    assert np.allclose(batch.best_scores(scores), [aligner.score(*x) for x in X])


def test_posteriors_and_expected_accuracy():
    X = [("GATTACA", "GCATGCT"), ("GAT", "")]
    weights = {("match",): 2.0, ("mismatch",): -1.0, ("open",): -2.0, ("extend",): -0.5}
    model = Fixed(Alignment("affine"), weights)
    found, empty = model.predict_marginals(X)
    assert found["match"].shape == (7, 7)
    assert empty["match"].shape == (3, 0)
    assert np.allclose(found["match"].sum(axis=1) + found["first"], 1.0)
    assert np.allclose(found["match"].sum(axis=0) + found["second"], 1.0)
    assert empty["first"].tolist() == [1.0, 1.0, 1.0]
    batch = model.pack(X[:1])
    [best] = model.predict_mea(X[:1])
    worth = [
        sum(found["match"][i, j] for i, j in AlignPath.from_gapped(*y).pairs())
        for y in model.space_.enumerate(("GATT", "GCAT"))
    ]
    assert worth  # enumeration of the whole pair is too long; a short one below
    short = [("GATT", "GCAT")]
    [table] = model.predict_marginals(short)
    values = {
        y: sum(table["match"][i, j] for i, j in AlignPath.from_gapped(*y).pairs())
        for y in model.space_.enumerate(short[0])
    }
    assert np.isclose(values[model.predict_mea(short)[0]], max(values.values()))
    assert best[0].replace("-", "") == X[0][0]
    assert batch.mea(model.part_scores(batch, X[:1]), threshold=1.0).codes.values.tolist().count(0) == 0


def test_scores_of_cells_and_of_samples():
    """Scores may come from elsewhere: per cell, and with weights per sample."""
    X = [("AB", "BA"), ("A", "AB")]
    batch = Alignment("linear", alphabet="AB").bind(X).pack(X)
    rng = np.random.default_rng(0)
    cell, feature = rng.normal(size=6), rng.normal(size=(2, 3))
    both = batch.log_partition(Parts(feature=feature, miss=None, cell=cell))
    for i, x in enumerate(X):
        one = batch.subset(np.array([i]))
        own = cell[batch.cell_ptr[i] : batch.cell_ptr[i + 1]]
        outputs = list(batch.space.enumerate(x))
        many = batch.space.pack([x] * len(outputs), outputs)
        values = many.evaluate(
            many.gold_codes, Parts(feature=feature[i], miss=None, cell=np.tile(own, len(outputs)))
        )
        assert np.isclose(both[i], logsumexp(values))
        alone = Parts(feature=feature[i], miss=None, cell=own)
        assert np.isclose(one.argmax(alone).values[0], values.max())
        assert np.isclose(one.kbest(alone, 3)[0].values[2], np.sort(values)[-3])


def test_local_strings_reach_from_match_to_match():
    model = Fixed(Alignment("linear", mode="local"), {("match",): 1.0, ("mismatch",): -5.0, ("gap",): -5.0})
    [found] = model.predict([("XXGATTCC", "YGATTA")])
    assert found == ("XX-GATTCC-", "--YGATT--A")
    assert model.predict([("AA", "CC")]) == [("AA--", "--CC")]
    path = Fixed(Alignment("linear", mode="local", output="path"), model.weights).predict(
        [("XXGATTCC", "YGATTA")]
    )[0]
    assert (path.start, path.stop, path.to_cigar()) == ((2, 1), (6, 5), "4M")


def test_canonical_order_is_made():
    X, y = [("AB", "BA")] * 2, [("-AB", "BA-"), ("A-B-", "-B-A")]
    batch = Alignment("affine", canonical=True).bind(X, y).pack(X, y)
    assert batch.unpack(batch.gold_codes) == [("-AB", "BA-"), ("AB--", "--BA")]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([("AB", "A-")], None, "sample 0: the second sequence has the gap symbol '-' at position 1"),
        ([(["A", "-"], ["A"])], None, "sample 0: the first sequence has the gap symbol '-' at position 1"),
        (["AB"], None, "sample 0: expected a pair of sequences"),
        ([("A", "B"), ("A", "B", "C")], None, "sample 1: expected a pair of sequences"),
        ([("A", 3)], None, "sample 0: the second sequence is 3"),
        ([("AB", "A")], [("AB", "A")], "sample 0: the gapped sequences have 2 and 1 columns"),
        ([("AB", "A")], [("A-B", "A--")], "sample 0: column 1 is a gap in both"),
        (
            [("AB", "A")],
            [("AB", "C-")],
            "residue 0 of the second gapped sequence is 'C', that of the input 'A'",
        ),
        ([("AB", "A")], [("ABA", "A--")], "the first gapped sequence has 3 residues, the first input 2"),
        ([("AB", "A")], ["AB"], "sample 0: expected a pair of gapped sequences or an AlignPath"),
        ([("AB", "A")], [AlignPath.from_cigar("1M")], "does not fit sequences of 2 and 1 residues"),
    ],
)
def test_mistakes_are_named(X, y, message):
    y = [("AB", "A-")] * len(X) if y is None else y
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace("+", r"\+")):
        tw.Perceptron(Alignment("substitution")).fit(X, y)


def test_choices_are_checked():
    for name in ("model", "mode", "free", "unknown", "core", "output", "precision"):
        with pytest.raises(InputError, match=f"{name} must be one of"):
            Alignment(**{name: "other"}).bind([("A", "A")])


@pytest.mark.parametrize(
    "choice",
    [
        {"gap": ""},
        {"gap": "--"},
        {"gap": None},
        {"alphabet": ""},
        {"alphabet": 5},
        {"alphabet": "AC-"},
        {"canonical": "maybe"},
    ],
)
def test_other_choices_are_checked(choice):
    with pytest.raises(InputError, match=next(iter(choice))):
        tw.CRF(Alignment(**choice)).fit([("AC", "A")], [("AC", "A-")])


def test_an_alphabet_without_symbols():
    model = tw.CRF(Alignment()).fit([("", "")], [("", "")])
    assert model.predict([("", "")]) == [("", "")]
    with pytest.raises(InputError, match="not in the alphabet"):
        model.predict([("A", "")])


def test_symbols_outside_the_alphabet():
    X, y = [("ACGT", "ACT")], [("ACGT", "AC-T")]
    model = tw.Generative(Alignment("substitution", alphabet="dna")).fit(X, y)
    with pytest.raises(
        InputError, match="sample 1: symbol 'N' at position 2 of the second sequence is not in"
    ):
        model.predict([("A", "C"), ("ACG", "ACN")])
    lenient = tw.Generative(Alignment("substitution", alphabet="dna", unknown="zero")).fit(X, y)
    assert lenient.predict([("ACG", "ACN")]) == [("ACG", "ACN")]
    assert lenient.predict([("acgt", "act")]) == [("acgt", "ac-t")]  # lower case of a named alphabet
    inferred = tw.Generative(Alignment("affine")).fit(X, y)  # equality needs no alphabet
    assert inferred.predict([("ACNNGT", "ACNNT")]) == [("ACNNGT", "ACNN-T")]
    plain = tw.Generative(Alignment("substitution")).fit(X, y)
    assert plain.predict([("acgt", "act")]) == [("acgt", "ac-t")]  # residues are known by their letters
    plain = tw.Generative(Alignment("substitution")).fit([("ABJ", "AB")], [("ABJ", "AB-")])
    with pytest.raises(InputError, match="symbol 'a' at position 0"):  # otherwise case tells symbols apart
        plain.predict([("acg", "AC")])


def test_empty_sequences_align_with_gaps():
    X, y = [("AB", "AB"), ("", "AB"), ("", "")], [("AB", "AB"), ("--", "AB"), ("", "")]
    model = tw.Perceptron(Alignment("affine")).fit(X, y)
    assert model.predict(X) == y


def test_symbols_of_any_kind():
    X, y = [([1, 2, "x"], [1, "x"])], [([1, 2, "x"], [1, "-", "x"])]
    model = tw.SODA(Alignment("linear"), reference="uniform", reg=1e-6).fit(X, y)
    assert model.predict(X) == [([1, 2, "x"], [1, "-", "x"])]


def test_core_columns_alone_count():
    X, y = [("ACgt", "ACgt")], [("ACg-t", "AC-gt")]
    structure = Alignment("linear", alphabet="dna", core="upper")
    assert structure.accuracy(y, [("ACgt", "ACgt")]) == 1.0
    assert structure.accuracy(y, [("-ACgt", "A-Cgt")]) == 0.5
    costs, _ = structure.bind(X, y).pack(X, y).mismatch()
    assert costs.miss.tolist() == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.filterwarnings("ignore::trelliswork.InputWarning")
@pytest.mark.parametrize("output", ["strings", "path"])
def test_core_columns_of_paths_have_the_letters_of_the_input(output):
    structure = Alignment("linear", alphabet="dna", core="upper", output=output)
    never = Fixed(structure, {("match",): -5.0, ("mismatch",): -5.0, ("gap",): 1.0})
    for x, share in ((("ac", "ac"), 1.0), (("AC", "AC"), 0.0)):
        assert never.score([x], [x]) == never.score([x], [AlignPath.from_cigar("2M")]) == share
    with pytest.raises(InputError, match="an AlignPath has none"):
        structure.accuracy([AlignPath.from_cigar("2M")], [("ac", "ac")])


@pytest.mark.parametrize("k", [1, 2, 100])
def test_kbest_settles_ties_like_the_prediction(k):
    X = [("AAA", "AA"), ("AB", "BA"), ("", "A"), ("AAB", "ABB"), ("AAAA", "A")]
    for mode in MODES:
        model = Fixed(Alignment("linear", **mode), {("match",): 1.0, ("mismatch",): -1.0, ("gap",): -0.5})
        for best, found in zip(model.predict(X), model.predict_kbest(X, k=k), strict=True):
            outputs = [candidate.output for candidate in found]
            assert outputs[0] == best
            assert len(set(outputs)) == len(outputs)
            assert np.all(np.diff([candidate.score for candidate in found]) <= 0)


def test_kbest_refuses_what_is_too_long():
    x = ("A" * 4000, "A" * 4000)
    with pytest.raises(InputError, match="too many for k-best"):
        Fixed(Alignment("linear"), {("gap",): -1.0}).predict_kbest([x], 2)


def loss_bounds(w, X):
    """What "single" and "short" may lose, as the docstring of Alignment states it."""
    n1, n2 = np.array([(len(a), len(b)) for a, b in X]).T
    s, g = w[:-2] - 2 * w[-1], w[-2] - w[-1]
    sums = np.minimum(n1, n2) * max(s.max(), 0) + (n1 + n2) * max(g, 0) + 5 * abs(g)
    step = (sums + 2 * np.abs(s).max()) / (65000 - (n1 + n2) / 2)
    return 1.2e-7 * (n1 + n2) * sums, (n1 + n2) * step


@pytest.mark.skipif(PLAIN, reason="vectors exist in compiled code only")
@pytest.mark.parametrize("precision", ["auto", "single", "short"])
@pytest.mark.parametrize("canonical", [False, True])
def test_short_vectors_find_the_same(precision, canonical):
    rng = np.random.default_rng(7)
    X = random_pairs(rng, 25, 1, 90) + random_pairs(rng, 12, 60, 200)
    space = Alignment("substitution-affine", alphabet="ABCD", precision=precision, canonical=canonical).bind(
        X
    )
    exact = Alignment("substitution-affine", alphabet="ABCD", precision="double", canonical=canonical).bind(X)
    batch, reference = space.pack(X, n_jobs=2), exact.pack(X)
    for _ in range(3):
        w = rng.integers(-6, 7, space.n_features) / 2.0
        w[-2:] = -np.sort(rng.integers(0, 8, 2))[::-1] / 2.0 if rng.random() < 0.7 else w[-2:]
        found, wanted = batch.argmax(batch.scores(w)), reference.argmax(reference.scores(w))
        assert np.array_equal(found.values, wanted.values)
        assert np.array_equal(found.codes.values, wanted.codes.values)
        assert np.allclose(batch.best_scores(batch.scores(w)), wanted.values)
    w = rng.normal(size=space.n_features)
    found, wanted = batch.argmax(batch.scores(w)).values, reference.argmax(reference.scores(w)).values
    assert (found <= wanted + 1e-9).all()
    single, short = loss_bounds(w, X)
    assert (wanted - found <= (short if precision == "short" else single) + 1e-9).all()


GAPS = [
    (-1.3, -0.2),
    (-1.3, -1e6),
    (-1e6, -0.3),
    (-1e6, -1e6),
    (0.7, 0.4),
    (0.4, 0.7),
    (2.1, -3.3),
    (1e6, 1e6),
]


@pytest.mark.skipif(PLAIN, reason="vectors exist in compiled code only")
@pytest.mark.parametrize("gaps", GAPS, ids=str)
@pytest.mark.parametrize("scale", [1.0, 1e-10, 1e-40, 1e37, 1e200])
def test_extreme_gaps_and_scales(gaps, scale):
    """Real-valued weights: within the stated bounds, whatever is large or small."""
    rng = np.random.default_rng(11)
    X = random_pairs(rng, 2, 100, 130) + random_pairs(rng, 1, 70, 70)
    w = scale * np.append(rng.normal(size=10), gaps)
    found, scores = {}, {}
    for precision in ("double", "auto", "single", "short"):
        batch = Alignment(alphabet="ABCD", precision=precision).bind(X).pack(X)
        found[precision] = batch.argmax(batch.scores(w)).values
        scores[precision] = batch.best_scores(batch.scores(w))
        exact = batch.best_scores(batch.scores(w), fast=False)
        assert np.allclose(exact, found["double"], rtol=1e-9, atol=1e-9 * scale)
    single, short = loss_bounds(w, X)
    worth = 3e-3 * np.array([min(map(len, x)) for x in X]) * np.ptp(w[:-2])
    for precision, bound in (("auto", np.minimum(single, worth)), ("single", single), ("short", short)):
        slack = bound + 1e-9 * np.abs(found["double"])
        assert (np.abs(found["double"] - found[precision]) <= slack).all()
        assert (np.abs(found["double"] - scores[precision]) <= slack).all()


@pytest.mark.skipif(PLAIN, reason="vectors exist in compiled code only")
def test_small_weights_are_not_zero():
    a = "".join(np.random.default_rng(0).choice(list("ACGT"), 80))
    x = (a, a[3:] + "ACG")
    weights = {("match",): 1.1, ("mismatch",): -0.7, ("gap",): -0.9}
    for scale in (1.0, 1e-10, 1e-200):
        own = {name: scale * value for name, value in weights.items()}
        for precision in ("auto", "single", "short"):
            [(first, second)] = Fixed(Alignment("linear", precision=precision), own).predict([x])
            assert sum(p == q for p, q in zip(first, second, strict=True)) >= 77


def test_auto_takes_short_vectors_for_common_scores():
    rng = np.random.default_rng(0)
    X = random_pairs(rng, 1, 300, 300, "ARNDCQEGHILKMFPSTWYV")
    space = Alignment(alphabet="protein").bind(X)
    batch = space.pack(X)
    w = np.append(rng.normal(-1.0, 1.5, space.n_features - 2), [-11.2, -1.1])
    w[[k for k, name in enumerate(space.feature_names[:-2]) if name[1] == name[2]]] += 6.0
    law = batch._law(batch.scores(w))
    assert search._fits_single(batch, law, np.arange(1)).tolist() == [True]


@pytest.mark.skipif(PLAIN, reason="100 million cells")
def test_very_long_pairs_in_bounded_memory():
    x = ("ACGT" * 2500, "ACGT" * 10 + "ACG" + "ACGT" * 2490)
    weights = {("match",): 1.0, ("mismatch",): -1.0, ("open",): -2.0, ("extend",): -0.5}
    [(first, second)] = Fixed(Alignment("affine", precision="double"), weights).predict([x])
    assert (first.replace("-", ""), second.replace("-", "")) == x
    assert sum(a == b for a, b in zip(first, second, strict=True)) >= 9990


def test_names_of_pairs_do_not_depend_on_the_order_of_the_alphabet():
    weights = tw.alignment_weights({("A", "R"): 1, ("R", "R"): 2, ("A", "A"): 3}, gap_open=-1, gap_extend=-1)
    found = [Fixed(Alignment(alphabet=letters), weights).predict([("ARA", "RA")]) for letters in ("AR", "RA")]
    assert found[0] == found[1] == [("ARA", "-RA")]


@pytest.mark.parametrize(
    ("matrix", "gaps", "message"),
    [
        ({("A", "C"): np.nan}, {}, r"the matrix scores \('A', 'C'\) with nan; scores must be finite"),
        ({("A", "C"): 1.0}, {"gap_open": np.nan}, "gap_open is nan; it must be a finite number"),
        ({("A", "C"): 1.0}, {"gap_extend": np.inf}, "gap_extend is inf; it must be a finite number"),
        ({("A", "C"): 1.0}, {"gap_extend": "1"}, "gap_extend is '1'; it must be a finite number"),
    ],
)
def test_matrices_and_gaps_are_finite(matrix, gaps, message):
    with pytest.raises(InputError, match=message):
        tw.alignment_weights(matrix, **{"gap_open": -1.0, **gaps})


def test_a_matrix_with_more_letters_than_the_alphabet():
    weights = tw.alignment_weights({("A", "A"): 1.0, ("A", "*"): -4.0}, gap_open=-1, gap_extend=-1)
    with pytest.raises(InputError, match=r"1 names are not features.*letters='ACGT'\) takes only"):
        Fixed(Alignment(alphabet="dna"), weights).predict([("A", "A")])


def test_matrices_that_the_format_can_hold(tmp_path):
    table = {("A", "A"): 1.0, ("A", "B"): -0.2, ("B", "B"): -0.0}
    model = Fixed(Alignment("substitution"), tw.alignment_weights(table, gap_open=-0.0))
    text = write_matrix(model, tmp_path / "m.txt")
    assert "-0" not in text
    assert read_matrix(tmp_path / "m.txt")["A", "A"] == 1.0
    for symbol in ("#", "#2", "a b", ""):
        model = Fixed(Alignment("substitution"), {("pair", symbol, symbol): 1.0, ("gap",): -1.0})
        with pytest.raises(InputError, match="cannot hold the symbol"):
            write_matrix(model)


def test_mixed_case_residues_are_one_alphabet():
    upper = [("GATTACA", "GAT-ACA"), ("GATC", "GA-C")]
    mixed = [("GAttACA", "gaT-ACA"), ("gatc", "GA-c")]
    found = []
    for y in (upper, mixed):
        X = [tuple(row.replace("-", "") for row in pair) for pair in y]
        model = tw.CRF(Alignment("substitution")).fit(X, y)
        assert model.space_.symbols == ["A", "C", "G", "T"]
        found.append(model.coef_)
    np.testing.assert_allclose(found[0], found[1])
    # Words are no residues, and lower case alone stays as it is.
    assert Alignment().bind([("Ajo", "aJO")]).symbols == ["A", "J", "O", "a", "j", "o"]
    assert Alignment().bind([("ac", "ac")]).symbols == ["a", "c"]


def test_sequences_of_biopython():
    seq = pytest.importorskip("Bio.Seq").Seq
    record = pytest.importorskip("Bio.SeqRecord").SeqRecord
    y = [("GATTACA", "GAT-ACA"), ("GATC", "GA-C")]
    X = [tuple(row.replace("-", "") for row in pair) for pair in y]
    plain = tw.CRF(Alignment("substitution")).fit(X, y)
    bio_X, bio_y = ([tuple(map(seq, pair)) for pair in pairs] for pairs in (X, y))
    model = tw.CRF(Alignment("substitution")).fit(bio_X, bio_y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.predict([(record(seq("GATC")), seq("GAC"))]) == plain.predict([("GATC", "GAC")])
    assert model.score(bio_X, bio_y) == plain.score(X, y)
    np.testing.assert_array_equal(model.log_prob(bio_X, bio_y), plain.log_prob(X, y))
