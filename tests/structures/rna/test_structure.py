"""RNA structures: notation, repair, mistakes, verbs that the laws do not reach."""

from __future__ import annotations

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import RNA, InputError
from trelliswork.losses import F1, BasePairs
from trelliswork.losses.forms import Form
from trelliswork.losses.oracle import Oracle
from trelliswork.structures import base_pairs, dot_bracket, pair_table

X = ["GGAAUCC", "ACGUUAU", "GNGAAACUC", "GCAAAGC"]
Y = ["((...))", "(...)..", "(.(...).)", "((...))"]


def test_notation():
    assert base_pairs("<<[(..)]>>") == [(3, 6), (0, 9), (1, 8), (2, 7)]
    assert pair_table("((,_A.)):a") == [7, 6, -1, -1, 9, -1, 1, 0, -1, 4]
    for text in ("", "....", "((..)).", "(..)(..)", "((.[[.))..]]"):
        assert dot_bracket(pair_table(text)) == text
    assert dot_bracket([3, 4, 5, 0, 1, 2]) == "([{)]}"
    with pytest.raises(InputError, match="closes nothing"):
        base_pairs("..)")
    with pytest.raises(InputError, match=r"'<' at position 1 .from 1. is never closed"):
        base_pairs("<..")
    with pytest.raises(InputError, match=r"'x' at position 2 .from 1. closes nothing"):
        base_pairs("(x)")
    with pytest.raises(InputError, match="is no mark of a structure"):
        base_pairs("(*)")
    with pytest.raises(InputError, match="not a pair table"):
        dot_bracket([1, 2, 0])
    with pytest.raises(InputError, match="more than"):
        dot_bracket([*range(40, 80), *range(40)])


REPAIRED = {
    "empty loop": ("GGCC", "(())", "(..)"),
    "loop of one": ("GAC", "(.)", "..."),
    "two too tight": ("GGGCCC", "((()))", "((..))"),
    "loop of one inside": ("AGACU", "((.))", "(...)"),
    "not canonical": ("GGAAAGA", "((...))", "......."),
    "not canonical outside": ("AGAAACA", "((...))", ".(...)."),
    "not canonical inside": ("GAAAAAC", "((...))", "(.....)"),
    "unknown base": ("GNAAANC", "((...))", "(.....)"),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_repair(name):
    bases, given, wanted = REPAIRED[name]
    batch = RNA("g6", invalid="repair").bind().pack([bases], [given])
    assert batch.unpack(batch.gold_codes) == [wanted]
    batch.check_gold()
    with pytest.raises(InputError, match=r"sample 0: the pair .* use RNA\(invalid='repair'\)"):
        RNA("g6").bind().pack([bases], [given])
    assert RNA("g6").representable([bases, bases], [given, wanted]) == [False, True]


def test_pseudoknots_lose_the_later_brackets():
    bases, given = "GGAAGGACCAACC", "((..[[.))..]]"
    batch = RNA("g6", invalid="repair").bind().pack([bases], [given])
    assert batch.unpack(batch.gold_codes) == ["((.....))...."]
    with pytest.raises(InputError, match=r"the pair \(4, 12\) crosses another one"):
        RNA("g6").bind().pack([bases], [given])


def test_repaired_structures_are_those_of_the_grammar():
    rng = np.random.default_rng(0)
    space = RNA("g6", invalid="repair").bind()
    for _ in range(200):
        n = int(rng.integers(1, 12))
        bases = "".join(rng.choice(list("ACGUN"), n))
        table, free = [-1] * n, list(rng.permutation(n))
        while len(free) > 1 and rng.random() < 0.8:
            i, j = free.pop(), free.pop()
            table[i], table[j] = j, i
        batch = space.pack([bases], [dot_bracket(table)])
        [text] = batch.unpack(batch.gold_codes)
        assert text in list(space.enumerate(bases))
        assert set(base_pairs(text)) <= set(base_pairs(dot_bracket(table)))


def test_letters():
    space = RNA("g6").bind()
    seqs = ["ACGU", "acgt", "NRYX", "AcGt"]
    rows = [row.tolist() for row in space.pack(seqs).bases]
    assert rows == [[0, 1, 2, 3], [0, 1, 2, 3], [4] * 4, [0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ("", "sample 1: the sequence is empty"),
        ("AC-GU", "sample 1: '-' at position 3 .from 1. is no base.*remove gaps"),
        ("ACGZ", "sample 1: 'Z' at position 4 .from 1. is no base"),
        ("AC€", "sample 1: '€' at position 3"),
        (17, "sample 1: expected an RNA sequence"),
        (["A", "C"], "sample 1: expected an RNA sequence"),
    ],
)
def test_bad_sequences(x, message):
    with pytest.raises(InputError, match=message):
        tw.Perceptron(RNA("g6")).fit(["AAAA", x], ["....", "...."])
    model = tw.Generative(RNA("g6")).fit(X, Y)
    with pytest.raises(InputError, match=message):
        model.predict(["A", x])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ("((..)", "sample 1: unbalanced brackets"),
        ("...", "sample 1: the sequence has 4 bases but the structure 3 places"),
        ("(..*", r"sample 1: '\*' at position 4"),
    ],
)
def test_bad_structures(y, message):
    for invalid in ("strict", "repair"):
        with pytest.raises(InputError, match=message):
            tw.Generative(RNA("g6", invalid=invalid)).fit(["AAAA", "GAAC"], ["....", y])


def test_bad_parameters():
    for structure, message in (
        (RNA("g7"), "grammar must be"),
        (RNA("g6", invalid="ignore"), "invalid must be"),
        (RNA("nested", depth=0), "depth must be"),
        (RNA("g6", depth=True), "depth must be"),
        (RNA("g6", gamma=0.0), "gamma must be"),
        (RNA("g6", gamma=np.inf), "gamma is inf"),
    ):
        with pytest.raises(InputError, match=message):
            tw.Generative(structure).fit(X, Y)
    with pytest.raises(InputError, match="X must be a list"):
        RNA("g6").prepare("ACGU")


def test_log_prob_of_what_the_grammar_does_not_have():
    model = tw.Generative(RNA("g6")).fit(X, Y)
    found = model.log_prob(["GGAAUCC", "GAC"], ["((...))", "(.)"])
    assert np.isfinite(found[0])
    assert found[1] == -np.inf


def test_no_sequences():
    model = tw.Generative(RNA("nested")).fit(["GGAAACC"], ["((...))"])
    assert model.predict([]) == model.predict_mea([]) == model.predict_marginals([]) == []
    assert model.predict_kbest([]) == model.sample([], 2, random_state=0) == []
    assert model.log_prob([], []).shape == (0,)


def test_generative_is_a_grammar_with_probabilities():
    model = tw.Generative(RNA("nested", depth=2), smoothing=0.5).fit(X, Y)
    for members in model.space_.multinomials.values():
        assert np.isclose(np.exp(model.coef_[members]).sum(), 1.0)
    assert len(model.space_.multinomials) == 8  # S, L at depths 0-2, F at 1 and 2
    names = {name for _, name in model.space_.feature_names}
    assert {"S0 -> L0 S0", "L0 -> g F1 c", "F1 -> a F1 u", "L2 -> g F2 c", "F2 -> L2 S2"} <= names
    assert not any(name.startswith("F0") for name in names)


def test_covariance_has_rank_12():
    rng = np.random.default_rng(1)
    seqs = ["".join(rng.choice(list("ACGU"), 10)) for _ in range(40)]
    batch = RNA("g6").bind().pack(seqs)
    C = batch.moments().covariance
    assert np.linalg.matrix_rank(C, tol=1e-8 * np.trace(C)) == 12
    products = batch.covariance_product(None, np.eye(19))
    assert np.allclose(C, products)


def test_pair_probabilities():
    model = tw.CRF(RNA("g6"), l2=0.1).fit(X, Y)
    for x, P in zip(X, model.predict_marginals(X), strict=True):
        assert P.shape == (len(x), len(x))
        assert np.array_equal(P, P.T)
        assert np.allclose(P.sum(axis=1), 1.0)
    assert model.predict_marginals(["GGAAUCC"])[0][0, 6] > 0.5


@pytest.mark.parametrize("gamma", [0.2, 1.0, 3.0])
def test_expected_accuracy(gamma):
    model = tw.CRF(RNA("g6", gamma=gamma), l2=0.1).fit(X, Y)
    for x, found in zip(X, model.predict_mea(X), strict=True):
        [P] = model.predict_marginals([x])

        def gain(text, P=P):
            return sum(gamma * P[i, j] if j >= 0 else P[i, i] for i, j in enumerate(pair_table(text)))

        assert np.isclose(gain(found), max(map(gain, model.space_.enumerate(x))))


def test_costs_count_pairs_of_one_structure_only():
    space = RNA("g6").bind()
    for x, y in zip(X, Y, strict=True):
        outputs = list(space.enumerate(x))
        batch = space.pack([x] * len(outputs), [y] * len(outputs))
        codes = space.pack([x] * len(outputs), outputs).gold_codes
        zeros = batch.scores(np.zeros(19))
        for weights, missed, wrong in ((None, 1, 1), ({"(": 2.0, ".": 0.5}, 2.0, 0.5)):
            costs, constant = batch.mismatch(weights)
            got = batch.evaluate(codes, zeros + costs) + constant
            true = set(base_pairs(y))
            found = [set(base_pairs(o)) for o in outputs]
            assert weights or np.allclose(got, [BasePairs()(y, o) for o in outputs])
            assert weights or max(got) <= BasePairs().max_value(y)
            assert np.allclose(got, [missed * len(true - f) + wrong * len(f - true) for f in found])


@pytest.mark.parametrize("form", [Form(s, r) for s in ("l1", "l2") for r in ("margin", "slack")])
def test_f1_oracle_is_exact(form):
    rng = np.random.default_rng(4)
    space = RNA("g6").bind()
    batch, loss = space.pack(X, Y), F1()
    oracle = Oracle(batch, loss, form)
    for _ in range(4):
        w = rng.normal(size=19)
        found = oracle.find(w)
        assert np.allclose(loss.evaluate(batch, found.codes), found.loss)
        for i, x in enumerate(X):
            outputs = list(space.enumerate(x))
            packed = space.pack([x] * len(outputs), outputs)
            scores = packed.evaluate(packed.gold_codes, packed.scores(w))
            losses = np.array([loss(base_pairs(Y[i]), base_pairs(o)) for o in outputs])
            h, s = form.plane(losses)
            violations = h - s * (scores[outputs.index(Y[i])] - scores)
            assert np.isclose(found.value[i], violations.max())


def test_f1_on_long_sequences_searches_lists():
    rng = np.random.default_rng(2)
    x = "".join(rng.choice(list("ACGU"), 80))
    model = tw.Generative(RNA("g6")).fit(X, Y)
    y = model.predict([x])
    batch = RNA("g6").bind().pack([x], y)
    with pytest.raises(tw.Unsupported, match="at most 64 bases, not 80"):
        batch.argmax_by_counts(batch.scores(model.coef_), None)
    found = Oracle(batch, F1(), Form("l1", "margin"), approx=True).find(model.coef_)
    assert found.value[0] >= 0
    long = RNA("g6").bind().pack([x * 6], ["." * 480])
    scores, costs = long.scores(model.coef_), long.mismatch()[0]
    with pytest.raises(InputError, match="too many for a table of all losses"):
        long.loss_profile(scores, costs, 3)


def test_moments_are_kept_in_files(tmp_path):
    settings = {"reference": "generative", "reg": 1.0, "reg_mode": "absolute"}
    model = tw.ZScore(RNA("g6"), **settings).fit(X[:2], Y[:2])
    tw.save(model, tmp_path / "m.tw")
    again = tw.load(tmp_path / "m.tw").partial_fit(X[2:], Y[2:])
    whole = tw.ZScore(RNA("g6"), **settings).fit(X, Y)
    assert np.allclose(again.coef_, whole.coef_)
    batch = RNA("g6").bind().pack(X, Y)
    state = batch.state()
    for change in (
        {"bases": state["bases"] + 5},
        {"lengths": state["lengths"][:-1]},
        {"gold": np.full_like(state["gold"], 99)},
        {"gold": np.full_like(state["gold"], 1)},
    ):
        with pytest.raises((InputError, ValueError)):
            batch.space.restore(state | change)


def test_uniform_draws_and_counts():
    batch = RNA("g6").bind().pack(["GGAAUCC"])
    outputs = list(batch.space.enumerate("GGAAUCC"))
    assert np.isclose(np.exp(batch.log_count()[0]), len(outputs))
    draws = batch.sample(batch.scores(np.zeros(19)), 3, np.random.default_rng(0))
    more = batch.sample(batch.scores(np.zeros(19)), 5, np.random.default_rng(0))
    assert [d.values.tolist() for d in draws] == [d.values.tolist() for d in more[:3]]


def test_scores_may_differ_between_samples():
    rng = np.random.default_rng(6)
    batch = RNA("g6").bind().pack(X, Y)
    w = rng.normal(size=(len(X), 19))
    each = tw.Parts(rule=w, pair=None)
    alone = [batch.subset(np.array([i])) for i in range(len(X))]
    assert np.allclose(
        batch.log_partition(each), [b.log_partition(b.scores(w[i]))[0] for i, b in enumerate(alone)]
    )
    assert np.allclose(
        batch.argmax(each).values, [b.argmax(b.scores(w[i])).values[0] for i, b in enumerate(alone)]
    )


def test_too_long_is_refused():
    model = tw.Generative(RNA("g6").with_limits(table_bytes=1 << 20)).fit(X, Y)
    with pytest.raises(InputError, match="sample 1: 1,000 bases would take"):
        model.predict(["ACGU", "A" * 1000])


def test_score_is_f1_of_pairs():
    model = tw.Generative(RNA("g6")).fit(X, Y)
    found = model.predict(X)
    assert np.isclose(model.score(X, Y), tw.metrics.base_pair_f1(Y, found))


def test_biopython_records():
    Seq = pytest.importorskip("Bio.Seq").Seq
    SeqRecord = pytest.importorskip("Bio.SeqRecord").SeqRecord
    model = tw.Generative(RNA("g6")).fit(X, Y)
    assert model.predict([Seq("GGAAUCC"), SeqRecord(Seq("GGAAUCC"))]) == model.predict(["GGAAUCC"] * 2)


def test_svm_without_pairs_says_so():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGU"), 40)) for _ in range(6)]
    y = ["(((....)))" + "." * 30] * 6
    structure = RNA("g6", invalid="repair")
    with pytest.warns(tw.FitWarning, match="pair"):
        model = tw.StructuredSVM(structure, 0.01, C_mode="absolute", prior=None, loss="base-pairs").fit(X, y)
    assert set("".join(model.predict(X))) == {"."}
