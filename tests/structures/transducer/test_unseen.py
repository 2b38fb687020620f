"""Input symbols that training did not have, against enumeration and by what users expect."""

from __future__ import annotations

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.structures.transducer.unseen import Unseen, kind_of, similar

WORDS = ["cat", "rice", "face", "tree", "fair", "chair", "lake", "clear", "bear", "rat"]
SOUNDS = {
    "cat": "kat",
    "act": "akt",
    "tic": "tik",
    "city": "siti",
    "ice": "is",
    "acid": "asid",
    "face": "fas",
}
MIXED = ["éa", "aé", "Ab", "日b", "b日é", "b?", "É", "bé"]


@pytest.fixture(scope="module")
def plurals():
    return tw.CRF(tw.Transducer(), l2=0.1).fit(WORDS, [word + "s" for word in WORDS])


@pytest.fixture(scope="module")
def speech():
    return tw.CRF(tw.Transducer(), l2=0.1).fit(list(SOUNDS), list(SOUNDS.values()))


def tiny(learner=tw.CRF, **params):
    """A model that copies a and b, and writes something after some of them."""
    X = ["ab", "ba", "aab", "b", "abb", "a", "bab"]
    y = ["abs", "bas", "aabs", "b", "abb", "as", "bas"]
    return learner(tw.Transducer(min_context=1, window=2, longest=3, **params)).fit(X, y)


def test_copied_where_training_copies(plurals):
    assert plurals.space_.unseen.kinds == ["digit", "letter", "other"]
    assert plurals.predict(["éclair", "Face", "café", "日rat", "r-at"]) == [
        "éclairs",
        "Faces",
        "cafés",
        "日rats",
        "r-ats",
    ]
    # Characters of private use mean something to programs, and are no text.
    assert plurals.predict(["ca\ue000t"]) == ["cats"]


def test_read_like_the_letter_where_training_does_not_copy(speech):
    assert speech.space_.unseen.kinds == []
    assert speech.predict(["çàct", "TACİT", "ｔacit"]) == ["kakt", "tasit", "tasit"]
    assert speech.predict(["ta日cit", "?"]) == speech.predict(["tacit", ""])
    # All features are those of the letter, those of the neighbours included.
    [plain], [marked] = (speech.predict_kbest([x], 5) for x in ("tacit", "tácît"))
    assert [(c.output, c.score) for c in plain] == [(c.output, c.score) for c in marked]


def test_neighbours_of_a_copy_see_the_letter(plurals):
    one, other = plurals.pack(["rété"]), plurals.pack(["rete"])
    w = np.random.default_rng(0).normal(size=plurals.space_.n_features)
    scores = [batch.scores(w).edge[batch.edge_ptr[0] : batch.edge_ptr[1]] for batch in (one, other)]
    assert np.allclose(one.windows.times(w)[: one.arcs.ptr[1]], other.windows.times(w)[: other.arcs.ptr[1]])
    assert scores[0].size <= scores[1].size  # pieces of e that do not write it are not proposed for é


@pytest.mark.parametrize("params", [{}, {"prune": 0.0, "max_in": 2}, {"order": 0}])
@pytest.mark.parametrize("learner", [tw.CRF, tw.Generative])
def test_probabilities_of_all_outputs_sum_to_one(learner, params):
    model = tiny(learner, **params)
    for x in MIXED:
        outputs = list(model.space_.enumerate(x))
        p = np.exp(model.log_prob([x] * len(outputs), outputs))
        assert p.sum() == pytest.approx(1.0)
        assert outputs[int(p.argmax())] == model.predict([x])[0]
        listed = model.predict_kbest([x], 100)[0]
        assert sorted(c.output for c in listed) == sorted(outputs)
        assert np.allclose([c.probability for c in listed], [p[outputs.index(c.output)] for c in listed])
        assert set(model.sample([x], 20, random_state=0)[0]) <= set(outputs)
        for symbol in set(x) - set("ab"):
            assert all(output.count(symbol) == x.count(symbol) for output in outputs)
    assert model.log_prob(["éa"], ["a"]).tolist() == [-np.inf]
    assert model.log_prob(["éa"], ["èa"]).tolist() == [-np.inf]


def test_marginals_are_those_of_the_outputs():
    model = tiny()
    batch = model.pack(["éb"])
    scores = model.part_scores(batch, ["éb"])
    paths = batch.kbest(scores, 1000)[0]
    wanted: dict = {}
    for p, pairs in zip(
        np.exp(paths.values - batch.log_partition(scores)[0]),
        [batch._parts_of(0, row) for row in paths.codes],
        strict=True,
    ):
        for pair in pairs:
            wanted[pair] = wanted.get(pair, 0.0) + p
    assert model.predict_marginals(["éb"])[0] == pytest.approx(wanted)
    assert {read for read, _ in wanted} == {"é", "b", ""}  # endings are written of no letter


def test_known_outputs_with_new_symbols():
    model = tiny()
    free = model.predict_kbest(["bé", "日"], 50)
    few = {c.output for c in free[0][1:3]}
    assert few
    bound = model.predict_kbest(["bé", "日"], 50, known=[few, "日"])
    assert [c.output for c in bound[0]] == [c.output for c in free[0] if c.output in few]
    assert sum(c.probability for c in bound[0]) == pytest.approx(1.0)
    assert [c.output for c in bound[1]] == ["日"]
    with pytest.raises(tw.InputError, match="sample 1"):
        model.predict(["ab", "bé"], known=[None, "be"])


def test_true_outputs_with_new_symbols_in_every_form_of_a_batch():
    model = tiny()
    X, y = ["ab", "bé", "日a", "éa"], ["abs", {"bé", "bés"}, "日a", "éa"]
    space, w = model.space_, np.random.default_rng(2).normal(size=model.space_.n_features)
    batch = space.pack(X, y, unknown="mark")
    wanted = batch.gold_values(batch.scores(w))
    assert np.all(np.isfinite(wanted))
    assert batch.unpack(batch.gold_codes)[1:] in (["bé", "日a", "éa"], ["bés", "日a", "éa"])
    part = batch.subset([3, 1])
    restored = space.restore(part.state())
    whole = part.joined(batch.subset([2]))
    for found, index in ((part, [3, 1]), (restored, [3, 1]), (whole, [3, 1, 2]), (part.into(space), [3, 1])):
        assert np.allclose(found.gold_values(found.scores(w)), wanted[index])
        assert found.inputs == [space.ends.added(tuple(X[i])) for i in index]
    costs, _ = batch.mismatch()
    assert not costs.edge[batch._edges(batch.gold_codes)].any()
    with pytest.raises(tw.InputError, match=r"sample 0: .*cannot write"):
        space.pack(["é"], ["e"])
    with pytest.raises(tw.InputError, match="new symbols"):
        space.restore(part.state() | {"new_symbols": ["é"]})


def test_alignments_as_outputs():
    pairs = [[("a", "a"), ("b", "bs")], [("b", "b"), ("a", "as")], [("a", "as")]]
    model = tw.CRF(tw.Transducer(output="pieces", min_context=1)).fit(["ab", "ba", "a"], pairs)
    outputs = list(model.space_.enumerate("bá"))
    assert [("b", "b"), ("á", "ás")] in outputs
    assert np.exp(model.log_prob(["bá"] * len(outputs), outputs)).sum() == pytest.approx(1.0)
    assert model.predict(["bá"]) == [[("b", "b"), ("á", "ás")]]


def test_tags_are_not_copied():
    rows = [(["<PL>", *word, "<PL>"], [*word, "s"]) for word in WORDS]
    rows += [(["<SG>", *word, "<SG>"], [*word]) for word in WORDS]
    model = tw.CRF(tw.Transducer(), l2=0.1).fit(*map(list, zip(*rows, strict=True)))
    assert "long" not in model.space_.unseen.kinds
    assert model.predict([["<PL>", *"café", "<PL>"]]) == [[*"cafés"]]
    [found] = model.predict([["<DU>", *"café", "<DU>"]])
    assert found[:4] == [*"café"]
    assert "<DU>" not in found


def test_long_symbols_are_copied_where_long_symbols_are():
    X = [["ta", "ka"], ["ka", "ri"], ["ri", "ta", "ka"], ["ta"]]
    model = tw.CRF(tw.Transducer(min_context=1)).fit(X, X)
    assert model.predict([["ta", "mo", "Ka"]]) == [["ta", "mo", "Ka"]]
    numbers = [[1, 2], [2, 3], [3, 1, 1]]
    assert tw.CRF(tw.Transducer(min_context=1)).fit(numbers, numbers).predict([[1, 7]]) == [[1, 7]]


def test_kinds_are_decided_on_their_own():
    """Digits are kept beside letters of another script, and tones go although letters are copied."""
    X = ["аб1", "ба2", "ав12", "ва", "1"]
    table = str.maketrans("абв", "xyz")
    model = tw.Generative(tw.Transducer(min_context=1)).fit(X, [x.translate(table) for x in X])
    assert model.space_.unseen.kinds == ["digit"]
    assert model.predict(["а7q"]) == ["x7"]
    tones = tw.Generative(tw.Transducer(min_context=1)).fit(["a1b2", "b1a2", "ab1"], ["ab", "ba", "ab"])
    assert tones.space_.unseen.kinds == ["letter"]
    assert tones.predict(["c3a"]) == ["ca"]


@pytest.mark.parametrize(
    ("symbol", "first"),
    [("É", "É"), ("İ", "İ"), ("Ａ", "Ａ"), ("\u212b", "\u212b"), ("CH", "CH")],
)
def test_similar_symbols_begin_with_the_symbol(symbol, first):
    assert next(iter(similar(symbol))) == first


def test_similar_symbols():
    order = list(dict.fromkeys(similar("É")))
    assert order.index("é") < order.index("E") < order.index("e")
    assert "i" in similar("İ")
    assert "A" in similar("Ａ")
    assert "ch" in similar("CH")
    assert not {"", "ᄀ"} & set(similar("\u0301")) | {"", "ᄀ"} & set(similar("가"))
    assert list(similar(7)) == []
    assert [kind_of(s) for s in ("e", "\u0301", "7", "-", "ab", 3, "\ue000", None)] == [
        "letter",
        "letter",
        "digit",
        "other",
        "long",
        "long",
        None,
        None,
    ]


def test_the_decision_is_kept_in_files(plurals, speech, tmp_path):
    X = ["éclair", "café", "çàct", "日"]
    for model in (plurals, speech):
        tw.save(model, tmp_path / "model.tw")
        loaded = tw.load(tmp_path / "model.tw")
        assert loaded.space_.unseen.kinds == model.space_.unseen.kinds
        wanted, found = (m.predict_kbest(X, 5) for m in (model, loaded))
        assert [[(c.output, c.score) for c in row] for row in found] == [
            [(c.output, c.score) for c in row] for row in wanted
        ]
    with pytest.raises(tw.InputError, match="damaged"):
        Unseen(["vowel"])


def test_without_the_decision_new_symbols_are_dropped(plurals):
    """As in files that were written before there was one."""
    state = {k: v for k, v in plurals.space_.state().items() if k != "copied_kinds"}
    space = type(plurals.space_).from_state(plurals.space_.structure, state)
    batch = space.pack(["écat", "cat"])
    assert batch.novel is None
    assert list(space.enumerate("écat")) == list(space.enumerate("cat"))
    named = plurals.space_.structure.bind_names(plurals.space_.feature_names)
    assert named.unseen is None
