"""Losses: zero on equality, bounds, and part costs against direct evaluation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from trelliswork import Alignment, AlignPath, Chain, Classes, Derivations, Edge, InputError
from trelliswork.losses import (
    F1,
    LOSSES,
    BasePairs,
    BracketF1,
    Brackets,
    Counted,
    Edit,
    Hamming,
    Loss,
    Markovian,
    MissedPairs,
    NGrams,
    Rational,
    Tree,
    WeightedAutomaton,
    ZeroOne,
    as_loss,
)
from trelliswork.losses.inside import inside

TREE = {"top": {"V": {"X": {}, "Y": {}}, "W": {"Z": {}}}}
WORDS = [["a", "b", "a"], ["b"], ["c", "a"], []]
TAGS = [["X", "Y", "Z"], ["Y"], ["X", "X"], []]


def segmentation(tokens):
    n = len(tokens)
    yield Edge(n)
    for i in reversed(range(n)):
        for j in range(i + 1, min(i + 2, n) + 1):
            for label in "NO":
                yield Edge(i, (j,), [("words", "".join(tokens[i:j]), label)], (i, j, label))


SEGMENTS = [[(0, 2, "N"), (2, 3, "O")], [(0, 1, "O")], [(0, 1, "N"), (1, 2, "N")]]
CASES = {
    "chain": (Chain(), WORDS, TAGS),
    "chain-order-2": (Chain(2), WORDS, TAGS),
    "classes": (Classes(), np.eye(3), ["X", "Y", "Z"]),
    "classes-sparse": (Classes(TREE), sp.identity(3, format="csr"), ["Z", "X", "Y"]),
    "segments": (Derivations(segmentation), WORDS[:3], SEGMENTS),
}
LOSS = {
    "zero-one": ZeroOne(),
    "hamming": Hamming(),
    "hamming-normalized": Hamming(normalized=True),
    "hamming-weighted": Hamming(label_weight={"X": 2.5, (0, 1, "N"): 0.5}),
    "f1": F1(),
    "edit": Edit(),
    "edit-normalized": Edit(normalized=True),
    "tree": Tree(TREE),
}


def enumerated(name):
    structure, X, y = CASES[name]
    space = structure.bind(X, y)
    batch = space.pack(X, y)
    gold = batch.unpack(batch.gold_codes)
    for i in range(len(batch)):
        outputs = list(space.enumerate(X[i]))
        packed = space.pack([X[i]] * len(outputs), outputs)
        yield i, gold[i], outputs, packed.gold_codes, batch.subset(np.full(len(outputs), i))


def applies(loss, name):
    return not (isinstance(loss, Tree) and name == "segments")


def direct(loss, name, a, b):
    if name.startswith("classes"):
        return loss.label_loss(a, b)
    return loss(a, b)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", LOSS)
def test_part_costs_are_the_loss(kind, name):
    loss = LOSS[kind]
    if not applies(loss, name):
        pytest.skip("no labels")
    decomposes = isinstance(loss, (Hamming, Tree)) or name.startswith("classes")
    for _, gold, outputs, codes, batch in enumerated(name):
        assert (loss.part_costs(batch) is not None) == decomposes
        wanted = [direct(loss, name, gold, output) for output in outputs]
        np.testing.assert_allclose(loss.evaluate(batch, codes), wanted, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", LOSS)
def test_bounds(kind, name):
    loss = LOSS[kind]
    if not applies(loss, name):
        pytest.skip("no labels")
    for i, gold, outputs, codes, batch in enumerated(name):
        assert np.all(loss.evaluate(batch, codes) <= loss.max_values(batch) + 1e-12), i
        assert direct(loss, name, gold, gold) == 0.0
        for output in outputs:
            value = direct(loss, name, gold, output)
            assert 0.0 <= value <= loss.max_value(gold) + 1e-12


def test_every_loss_is_covered():
    elsewhere = {BasePairs, Brackets, BracketF1, MissedPairs}  # of RNA, of parse trees, of alignments
    assert {type(loss) for loss in LOSS.values()} | elsewhere == set(LOSSES.values())


@pytest.mark.parametrize("kind", LOSS)
def test_clone(kind):
    assert repr(clone(LOSS[kind])) == repr(LOSS[kind])


def test_edit_distance_against_a_plain_recursion():
    def plain(a, b):
        if not a or not b:
            return len(a) + len(b)
        return min(plain(a[1:], b) + 1, plain(a, b[1:]) + 1, plain(a[1:], b[1:]) + (a[0] != b[0]))

    rng = np.random.default_rng(0)
    for _ in range(60):
        a, b = ("".join(rng.choice(list("ab"), n)) for n in rng.integers(0, 5, 2))
        assert Edit()(a, b) == plain(a, b)


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_missed_pairs_by_parts(mode):
    X, y = [("ABA", "AB"), ("", "A")], [("ABA", "A-B"), ("-", "A")]
    space = Alignment("linear", mode=mode).bind(X, y)
    batch, loss = space.pack(X, y), MissedPairs()
    for i, x in enumerate(X):
        outputs = list(space.enumerate(x))
        many = batch.subset(np.full(len(outputs), i))
        codes = space.pack([x] * len(outputs), outputs).gold_codes
        np.testing.assert_allclose(loss.evaluate(many, codes), [loss(y[i], output) for output in outputs])
    assert loss.max_value(y[0]) == 1.0


def test_missed_pairs_with_another_gap_symbol():
    X, y, wrong = [("GATTA", "GATA")], [("GATTA", "GA.TA")], [("GATTA", "G.ATA")]
    space = Alignment("linear", gap=".").bind(X, y)
    packed = MissedPairs().evaluate(space.pack(X, y), space.pack(X, wrong).gold_codes)
    assert MissedPairs(gap=".")(y[0], wrong[0]) == packed[0] == 0.25


@pytest.mark.parametrize("output", ["strings", "path"])
@pytest.mark.parametrize("mode", ["global", "local"])
def test_hamming_counts_the_true_pairs_of_alignments(mode, output):
    X, y = [("ABA", "AB"), ("", "A")], [("ABA", "A-B"), ("-", "A")]
    space = Alignment("linear", mode=mode, output=output).bind(X, y)
    batch = space.pack(X, y)
    golds = batch.unpack(batch.gold_codes)
    assert batch.gold_sizes().tolist() == [2, 0]
    for i, x in enumerate(X):
        outputs = list(space.enumerate(x))
        many = batch.subset(np.full(len(outputs), i))
        codes = space.pack([x] * len(outputs), outputs).gold_codes
        for loss in (Hamming(), Hamming(normalized=True)):
            values = loss.evaluate(many, codes)
            n_true = 1 if loss.normalized else batch.gold_sizes()[i]
            missed = [n_true * MissedPairs()(golds[i], output) for output in outputs]
            np.testing.assert_allclose(values, missed)
            many_x, many_y = [x] * len(outputs), [golds[i]] * len(outputs)
            np.testing.assert_array_equal(loss.between(space, many_x, many_y, outputs), values)
            assert loss.max_values(batch)[i] == values.max()


def test_hamming_reads_labels_and_parts_alone():
    path = AlignPath([("M", 1)])
    for call in (lambda: Hamming()(path, path), lambda: Hamming().max_value(path)):
        with pytest.raises(InputError, match=r"not AlignPath; Hamming.*between"):
            call()
    assert Hamming()(("B-PER", "I-PER"), ("B-PER", "O")) == 1.0
    assert Hamming()(("D", "N"), ("N", "D")) == 2.0
    assert Hamming().max_value(("D", "N")) == 2.0


def test_hamming_of_core_columns():
    X, y = [("ACgt", "ACgt")], [("ACgt", "ACgt")]
    structure = Alignment("linear", alphabet="dna", core="upper")
    assert structure.bind(X, y).pack(X, y).gold_sizes().tolist() == [2]
    with pytest.raises(InputError, match="core='upper' needs letters"):
        MissedPairs(core="upper")(AlignPath([("M", 4)]), y[0])


def test_f1_of_nothing_and_of_entities():
    assert F1()([], []) == 0.0
    assert F1()([], ["a"]) == 1.0
    assert F1(entities=True)(["B-P", "O"], ["O", "O"]) == 1.0


def test_tree_takes_the_taxonomy_of_the_structure():
    X, y = np.eye(3), ["X", "Y", "Z"]
    batch = Classes(TREE).bind(X, y).pack(X, y)
    np.testing.assert_array_equal(Tree().part_costs(batch)[0].label, Tree(TREE).part_costs(batch)[0].label)
    with pytest.raises(InputError, match="needs a structure with a taxonomy"):
        Tree()("X", "Y")
    with pytest.raises(InputError, match="'Q' is not in the taxonomy"):
        Tree(TREE)("X", "Q")


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan])
def test_bad_weights(weight):
    batch = Chain().bind(WORDS, TAGS).pack(WORDS, TAGS)
    with pytest.raises(InputError, match="label_weight"):
        Hamming(label_weight={"X": weight}).part_costs(batch)


def test_names():
    assert isinstance(as_loss("zero-one"), ZeroOne)
    loss = Edit()
    assert as_loss(loss) is loss
    with pytest.raises(InputError, match="loss must be one of"):
        as_loss("hinge")


def test_edit_has_one_meaning():
    assert repr(as_loss("edit")) == "Edit(cap=3)"


def wrong_first(y_true):
    arcs = [(0, y_true[0], 1, 0.0), (0, None, 1, 4.0), (1, None, 1, 0.0)]
    return WeightedAutomaton(arcs, 0, {1: 0.0})


SEQUENCE_LOSSES = {
    "counted": (Counted(Hamming(), lambda v, _: 5 * v), 0.0, 5.0),
    "counted edit": (Counted(Edit(substitution=3.0), lambda v, _: v + 1.0), 1.0, 3.0),
    "edit": (Edit(substitution={("XX", "Y"): 0.5}), 0.0, 1.0),
    "ngrams": (NGrams(1, c=3), 2.0, 3.0),
    "own ngrams": (NGrams(1), 0.0, 1.0),
    "markovian": (Markovian(lambda y, t, labels: 7.0 * (labels[-1] != y[t])), 0.0, 7.0),
    "rational": (Rational(wrong_first), 0.0, 4.0),
}


@pytest.mark.parametrize("kind", SEQUENCE_LOSSES)
def test_sequence_losses_of_one_label(kind):
    """A label is a sequence of one, not of its letters, and not just right or wrong."""
    loss, right, wrong = SEQUENCE_LOSSES[kind]
    X, y = np.eye(3), ["XX", "Y", "Z"]
    batch = Classes().bind(X, y).pack(X, y)
    table = np.where(np.eye(3, dtype=bool), right, wrong)
    if kind == "edit":
        table[0, 1] = 0.5
    made = inside(batch, loss)
    np.testing.assert_allclose(made.risk(batch.scores(np.zeros(batch.space.n_features))), table.mean(axis=1))
    np.testing.assert_allclose(loss.max_values(batch), table.max(axis=1))


def test_own_losses_of_labels():
    class Steps(Loss):
        def __call__(self, y_true, y_pred):
            return abs(y_true - y_pred)

        def max_value(self, y_true):
            return 10.0

    X, y = np.eye(3), [1, 2, 4]
    batch = Classes().bind(X, y).pack(X, y)
    assert Steps().evaluate(batch, batch.gold_codes).tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(
        inside(batch, Steps()).risk(batch.scores(np.zeros(batch.space.n_features))), [4 / 3, 1, 5 / 3]
    )


@pytest.mark.parametrize(
    "loss",
    [
        Counted(Edit(), lambda v, _: 1 + v),
        Counted(Hamming(), lambda v, _: abs(v - 1.0)),
        Markovian(lambda y, t, labels: float(len(set(labels))), 2),
        Rational(wrong_first),
    ],
)
@pytest.mark.parametrize("name", ["chain", "classes"])
def test_largest_values_that_only_the_outputs_tell(loss, name):
    structure, X, y = CASES[name]
    X, y = X[:3], y[:3]
    space = structure.bind(X, y)
    batch = space.pack(X, y)
    for i, found in enumerate(loss.max_values(batch)):
        outputs = list(space.enumerate(X[i]))
        packed = space.pack([X[i]] * len(outputs), outputs)
        values = loss.evaluate(batch.subset(np.full(len(outputs), i)), packed.gold_codes)
        assert np.isclose(found, values.max())
    with pytest.raises(InputError, match="does not know its largest value"):
        loss.max_value(y[0])


@pytest.mark.parametrize(
    "loss",
    [
        Edit(True, substitution=0.1),
        Edit(True, insertion=5.0),
        Edit(True, deletion=3.0),
        Edit(True, cap=1),
        Edit(True, substitution=0.3, insertion=0.5, deletion=2.0),
    ],
)
def test_normalized_distances_are_below_their_bound(loss):
    words = ["", "a", "abcd", "xyz", "abcdefgh"]
    for a in words:
        found = [loss(a, b) for b in words]
        assert max(found) <= loss.max_value(a) + 1e-12
    labels = Chain().bind(WORDS, TAGS).pack(WORDS, TAGS)
    assert np.all(loss.max_values(labels) <= [loss.max_value(y) for y in TAGS])


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (Edit(cap="3"), "cap is '3'"),
        (Edit(insertion="3"), "insertion is '3'"),
        (Edit(substitution=None), "substitution is None"),
        (Edit(substitution={"A": 2}), "'A' is not a pair"),
        (NGrams(2, c="a"), "c is 'a'"),
        (NGrams(2, c=np.nan), "c is nan"),
        (Counted("hamming", abs), "base must be a Loss"),
        (Counted(Hamming(), 3), "function must be a function"),
        (Counted(Hamming(), lambda v, _: "x"), "the function of .* is 'x'"),
        (Markovian(3), "cost must be a function"),
        (Rational(lambda y: WeightedAutomaton([(0, "X", 0, "1")], 0, {0: 0.0})), "weight of arc"),
        (Rational(lambda y: WeightedAutomaton([(0, "X", 0, 1)], 0, {0: "1"})), "final state 0 is '1'"),
        (Rational(lambda y: WeightedAutomaton([(0, "X", 0, 1)], 0, {0: np.nan})), "final state 0 is nan"),
        (Rational(lambda y: WeightedAutomaton([(0, "X", 0, 1)], 0, 3)), "final must be a dict"),
    ],
)
def test_bad_parameters_are_named_at_use(loss, message):
    with pytest.raises(InputError, match=message):
        loss(["X"], ["X"])
    batch = Chain().bind(WORDS, TAGS).pack(WORDS, TAGS)
    with pytest.raises(InputError, match=message):
        inside(batch, loss)


def test_bounds_of_edit_distances():
    X, y = CASES["segments"][1:]
    longer = Derivations(segmentation).bind(X, y).pack(X, y)  # outputs may have more segments than the truth
    assert np.isinf(Edit().max_values(longer)).all()
    assert np.all(Edit(normalized=True).max_values(longer) == 1.0)
    labels = Chain().bind(WORDS, TAGS).pack(WORDS, TAGS)
    assert Edit().max_values(labels).tolist() == [3.0, 1.0, 2.0, 0.0]


def test_parts_have_no_positions():
    assert Hamming()([(0, 1), (1, 2), (2, 3)], [(1, 2), (2, 3), (3, 4)]) == 1.0
    assert Hamming()(["a", "b"], ["b", "a"]) == 2.0
