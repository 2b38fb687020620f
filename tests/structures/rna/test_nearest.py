"""The nearest-neighbour model: repair, structures known in part, evidence, windows, penalties by group."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

import trelliswork as tw
from trelliswork import RNA, InputError
from trelliswork.structures import Evidence, pair_table

NEAREST = RNA("nearest-neighbour")
X = ["GGGAAACACAGAAACUC", "GCAGAAACAAGC", "GGACGAAAGAACC"]
Y = ["(.(...)...(...).)", "((........))", "((.(....)..))"]


@pytest.mark.parametrize(
    ("x", "y", "kept", "message"),
    [
        ("GGAACC", "((..))", "(....)", "fewer than 3"),
        ("GGAAACC", "((...))", "((...))", ""),
        (
            "GGG" + "A" * 40 + "GAAAC" + "CCC",
            "(((" + "." * 40 + "(...))))",
            "(((" + "." * 45 + ")))",
            "more than 30",
        ),
        ("GAAACG", "(...).", "(...).", ""),
    ],
)
def test_repair(x, y, kept, message):
    if message:
        with pytest.raises(InputError, match=message):
            NEAREST.bind().pack([x], [y])
    batch = NEAREST.with_params(invalid="repair").bind().pack([x], [y])
    assert batch.unpack(batch.gold_codes) == [kept]
    batch.check_gold()
    assert NEAREST.representable([x], [y]) == [not message]


def test_repair_respects_the_window():
    structure = RNA("nearest-neighbour", window=8, invalid="repair")
    batch = structure.bind().pack(["GGGAAACCC"], ["(((...)))"])
    assert batch.unpack(batch.gold_codes) == [".((...))."]


def test_structures_known_in_part():
    space = NEAREST.bind()
    w = np.random.default_rng(0).normal(size=space.n_features)
    for known in ("?????????????????", "((?????????????))", "(???...?????????)", "....?????????????"):
        batch = space.pack(X[:1], [known])
        assert batch.partly_known
        batch.check_gold()
        table = pair_table(known.replace("?", "."))
        fine = []
        for y in space.enumerate(X[0]):
            found = pair_table(y)
            if all(mark == "?" or table[i] == found[i] for i, mark in enumerate(known)):
                fine.append(y)
        packed = space.pack(X[:1] * len(fine), fine)
        scores = packed.evaluate(packed.gold_codes, packed.scores(w))
        log_z, mean = batch.expect_known(w)
        assert np.isclose(log_z[0], logsumexp(scores))
        assert np.allclose(mean, np.exp(scores - log_z[0]) @ packed.gold().toarray())
    model = tw.CRF(NEAREST, l2=0.1).fit(X, ["(.(...)...?????.)", *Y[1:]])
    assert model.predict(X[1:]) == Y[1:]
    with pytest.raises(InputError, match="sample 0: no output agrees"):
        RNA("g6").bind().pack(["GGAAACC"], ["xxx<xxx"])


def test_evidence_travels_with_its_sequence():
    X = ["GGGAAACCC", Evidence("GGGAAACCC", constraint="x........"), "ACGU"]
    model = tw.CRF(NEAREST, l2=0.1).fit(["GGGAAACCC"] * 2, ["(((...)))"] * 2)
    found = model.predict(X)
    assert found == ["(((...)))", ".((...)).", "...."]
    batch = model.pack(X)
    turned = batch.subset([1, 0])
    assert turned.unpack(turned.argmax(turned.scores(model.coef_)).codes) == found[1::-1]
    both = batch.subset([0]).joined(batch.subset([1]))
    assert both.unpack(both.argmax(both.scores(model.coef_)).codes) == found[:2]
    assert model.predict_mea(X)[1][0] == "."
    assert model.predict_marginals(X)[1][0, 0] == pytest.approx(1.0)
    assert model.log_prob(X[1:2], ["(((...)))"])[0] == -np.inf
    for learner in (tw.CRF(RNA("g6"), l2=0.1), model):
        fitted = learner.fit(X, ["(((...)))", ".((...)).", "...."])
        assert len(fitted.sample(X, 3, random_state=0)[1]) == 3
        assert {y[0] for y in fitted.sample(X, 20, random_state=0)[1]} == {"."}


def test_reactive_bases_are_unpaired():
    model = tw.pretrained("rna")
    x = "GGCGGCGAAAGCUGCC"
    before = model.predict_marginals([x])[0]
    shape = [3.0, 3.0] + [float("nan")] * 14
    after = model.predict_marginals([Evidence(x, shape=shape)])[0]
    assert after[0, 0] > before[0, 0]
    calm = model.predict_marginals([Evidence(x, shape=[0.0] * 16)])[0]
    assert np.diag(calm).sum() < np.diag(before).sum()
    none = model.predict_marginals([Evidence(x, shape=[-999.0] * 16)])[0]
    assert np.allclose(none, before)
    for bad, message in (([1.0], "1 reactivities"), (["a"] * 16, "numbers"), ([np.inf] * 16, "infinite")):
        with pytest.raises(InputError, match=message):
            model.predict(["ACGU", Evidence(x, shape=bad)])
    with pytest.raises(InputError, match="slope must be a finite number"):
        model.predict([Evidence(x, shape=shape, slope=float("nan"))])


def test_scores_of_paired_bases():
    model = tw.pretrained("rna")
    x, y, bonus = "GGCGGCGAAAGCUGCC", "((((((....))))))", np.linspace(-1.0, 2.0, 16)
    evidence = Evidence(x, paired=bonus)
    batch = model.pack([evidence])
    scores = batch.scores(model.coef_)
    plain = model.pack([x], [y])
    paired = sum(bonus[i] for i, mark in enumerate(y) if mark != ".")
    gold = model.pack([evidence], [y])
    assert gold.evaluate(gold.gold_codes, gold.scores(model.coef_))[0] == pytest.approx(
        plain.evaluate(plain.gold_codes, plain.scores(model.coef_))[0] + paired
    )
    step = 1e-5  # the derivative of the log partition is the probability of being paired
    log_z = [
        model.pack([Evidence(x, paired=bonus + s * np.eye(16)[3])]).log_partition(scores)[0]
        for s in (-step, step)
    ]
    unpaired = model.predict_marginals([evidence])[0][3, 3]
    assert (log_z[1] - log_z[0]) / (2 * step) == pytest.approx(1 - unpaired, rel=1e-5)
    for bad, message in (
        ([1.0], "1 scores"),
        ([np.inf] * 16, "base 0 is not finite"),
        ([1e9] * 16, "by more than"),
    ):
        with pytest.raises(InputError, match=message):
            model.predict([Evidence(x, paired=bad)])


def test_window():
    rng = np.random.default_rng(1)
    x = "".join(rng.choice(list("ACGU"), 200))
    w = rng.normal(size=NEAREST.bind().n_features) * 0.3
    narrow = RNA("nearest-neighbour", window=30)
    batch = narrow.bind().pack([x])
    found = batch.unpack(batch.argmax(batch.scores(w)).codes)[0]
    pairs = [(i, j) for i, j in enumerate(pair_table(found)) if i < j]
    assert pairs
    assert max(j - i for i, j in pairs) < 30
    [P] = batch.unpack_marginals(batch.marginals(batch.scores(w)))
    assert sp.issparse(P)
    assert np.allclose(np.asarray(P.sum(axis=1)).ravel(), 1.0)
    assert len(batch.unpack(batch.mea(batch.scores(w)).codes)[0]) == 200
    # As wide as the sequence: the same as none.
    wide = RNA("nearest-neighbour", window=200).bind().pack([x])
    free = NEAREST.bind().pack([x])
    assert np.isclose(wide.log_partition(wide.scores(w))[0], free.log_partition(free.scores(w))[0])


def test_stretches_that_pair_perfectly_beside_others_that_do_not():
    model = tw.pretrained("rna")
    x = "G" * 220 + "AAAA" + "C" * 220 + "A" * 400
    [P] = model.predict_marginals([x])
    assert np.allclose(P.sum(axis=1), 1.0)
    assert P[:220, 224:444].sum() > 210
    assert model.log_prob([x], model.predict([x]))[0] < 0


def test_probabilities_of_a_genome():
    model = tw.pretrained("rna")
    x = "".join(np.random.default_rng(2).choice(list("ACGU"), 20_000))
    weights = dict(zip(model.space_.feature_names, model.coef_, strict=True))
    narrow = tw.Fixed(model.structure.with_params(window=40), weights)
    [P] = narrow.predict_marginals([x])
    assert np.allclose(np.asarray(P.sum(axis=1)).ravel(), 1.0)
    # Far from the ends of a stretch nothing depends on what is beyond.
    [part] = narrow.predict_marginals([x[10_000:10_400]])
    assert np.allclose(P[10_150:10_250, 10_150:10_250].toarray(), part[150:250, 150:250].toarray(), atol=1e-3)


def test_parameters():
    for params, message in (
        ({"min_hairpin": 1}, "min_hairpin"),
        ({"max_loop": 31}, "max_loop"),
        ({"window": 2}, "window"),
        ({"groups": ("nothing",)}, "groups"),
        ({"groups": "hairpin loops"}, "groups"),
    ):
        with pytest.raises(InputError, match=message):
            RNA("nearest-neighbour", **params).bind()
    with pytest.raises(InputError, match="window"):
        RNA("g6", window=30).bind()
    sizes = {"hairpin loops": 64 + 256, "hexaloops": 4096, "triples": 108, "helix lengths": 3}
    for group, size in sizes.items():
        assert RNA("nearest-neighbour", groups=(group,)).bind().n_features == 739 + size


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a penalty of 1e6
def test_penalty_by_group():
    strong = tw.CRF(NEAREST, l2={"stacking": 1e6, "base pair": 0.01}).fit(X, Y)
    names = strong.space_.feature_names
    size = {
        kind: np.abs([w for (k, _), w in zip(names, strong.coef_) if k == kind]).max() for kind, _ in names
    }
    assert size["stacking"] < 1e-4 < 0.01 < size["base pair"]
    same = tw.CRF(NEAREST, l2=np.full(739, 0.5)).fit(X, Y)
    assert np.allclose(same.coef_, tw.CRF(NEAREST, l2=0.5).fit(X, Y).coef_)
    for l2, message in (({"nothing": 1.0}, "nothing"), ({"stacking": -1.0}, "stacking"), (np.ones(3), "739")):
        with pytest.raises(InputError, match=message):
            tw.CRF(NEAREST, l2=l2).fit(X, Y)


def test_model_files(tmp_path):
    model = tw.CRF(NEAREST, l2=0.1).fit(X, Y)
    tw.save(model, tmp_path / "m.tw")
    assert tw.load(tmp_path / "m.tw").predict(X) == model.predict(X)
    with pytest.raises(InputError, match="no model 'dna'"):
        tw.pretrained("dna")


@pytest.mark.parametrize("grammar", ["nearest-neighbour", "g6"])
def test_constraints_that_no_structure_meets(grammar):
    space = RNA(grammar).bind()
    known = [Evidence("GGGAAACCC", constraint=marks) for marks in ("........>", ">........")]
    space.pack(known[:1])
    with pytest.raises(InputError, match="sample 2: the constraint cannot be met by any structure"):
        space.pack(["GGGAAACCC", *known])
