"""Every named loss on every structure: refused, or used inside as it is when called on outputs."""

from __future__ import annotations

import numpy as np
import pytest

import trelliswork as tw
from trelliswork._dotbracket import base_pairs
from trelliswork._trees import as_node, brackets
from trelliswork.losses import (
    F1,
    LOSSES,
    BasePairs,
    Hamming,
    Loss,
    MissedPairs,
    Tree,
    ZeroOne,
    as_loss,
    losses_of,
)
from trelliswork.losses.forms import Form
from trelliswork.losses.inside import inside, loss_automata
from trelliswork.losses.oracle import Oracle
from trelliswork.structures import STRUCTURES

TREE = {"top": {"V": {"X": {}, "Y": {}}, "W": {"Z": {}}}}
WORDS, TAGS = [["a", "b", "a"], ["b"], ["c", "a"]], [["X", "Y", "Z"], ["Y"], ["X", "X"]]
PARSES = ["(S (A a) (S (A a) (S b)))", "(S b)"]


def segmentation(tokens):
    yield tw.Edge(len(tokens))
    for i in reversed(range(len(tokens))):
        for j in range(i + 1, min(i + 2, len(tokens)) + 1):
            for label in "NO":
                yield tw.Edge(i, (j,), [("words", "".join(tokens[i:j]), label)], (i, j, label))


def spelled(tokens):
    """Labels of tokens, and of no more than the first two: outputs of several lengths, as one text."""
    yield tw.Edge("end")
    for t in reversed(range(len(tokens))):
        for label in "XY":
            yield tw.Edge(t, ("end" if t else 1 if len(tokens) > 1 else "end",), [(tokens[t], label)], label)
    yield tw.Edge("root", (0,))
    yield tw.Edge("root")


CASES = {
    "Chain": (tw.Chain(), WORDS, TAGS),
    "Chain-order-2": (tw.Chain(2), WORDS, TAGS),
    "Classes": (tw.Classes(), np.eye(3), ["X", "Y", "Z"]),
    "Classes-tree": (tw.Classes(TREE), np.eye(3), ["X", "Y", "Z"]),
    "Derivations": (
        tw.Derivations(segmentation),
        WORDS,
        [[(0, 2, "N"), (2, 3, "O")], [(0, 1, "O")], [(0, 1, "N"), (1, 2, "N")]],
    ),
    "Derivations-text": (
        tw.Derivations(spelled, encode=lambda x, y: list(y), decode=lambda x, parts: "".join(parts)),
        WORDS,
        ["XY", "", "YY"],
    ),
    "Grammar": (tw.Grammar(min_count=1), [["a", "a", "b"], ["b"]], PARSES),
    "RNA": (tw.RNA("g6"), ["GGAAACC", "GAAAC"], ["((...))", "....."]),
    "Alignment": (tw.Alignment("linear"), [("ABA", "AB"), ("", "A")], [("ABA", "A-B"), ("-", "A")]),
    "Alignment-path": (
        tw.Alignment("linear", mode="local", output="path"),
        [("ABA", "AB")],
        [tw.AlignPath.from_gapped("ABA", "A-B")],
    ),
    "Alignment-core": (tw.Alignment("linear", core="upper"), [("AbA", "Ab")], [("AbA", "Ab-")]),
    "Transducer": (
        tw.Transducer(output="pieces", min_context=1, window=1, longest=2),
        ["ab", "b"],
        [[("a", "x"), ("b", "")], [("b", "y")]],
    ),
    "Retrieval": (
        tw.Retrieval(tw.Alignment("linear")),
        [("AB", ["AB", "B"]), ("BA", ["A", "BB"])],
        [(0, ("AB", "AB")), (1, ("BA", "BB"))],
    ),
}
REFUSED = {
    "Chain": {"tree", "pairs", "brackets", "bracket-f1", "base-pairs"},
    "Classes": {"tree", "pairs", "brackets", "bracket-f1", "base-pairs"},
    "Classes-tree": {"pairs", "brackets", "bracket-f1", "base-pairs"},
    "Derivations": {"tree", "pairs", "brackets", "bracket-f1", "base-pairs"},
    "Grammar": {"edit", "tree", "pairs", "base-pairs"},
    "RNA": {"edit", "tree", "pairs", "brackets", "bracket-f1"},
    "Alignment": {"edit", "tree", "brackets", "bracket-f1", "base-pairs"},
    "Transducer": {"tree", "pairs", "brackets", "bracket-f1", "base-pairs"},
    "Retrieval": {"f1", "edit", "tree", "pairs", "brackets", "bracket-f1", "base-pairs"},
}


def pairs(structure, x, y):
    """Pairs of residues of an alignment, those of two capitals alone where these count."""
    path = y if isinstance(y, tw.AlignPath) else tw.AlignPath.from_gapped(*y)
    found = [tuple(pair) for pair in path.pairs().tolist()]
    core = structure.core == "upper"
    return [(i, j) for i, j in found if not core or (x[0][i].isupper() and x[1][j].isupper())]


def called(loss, structure, x, y, other):
    """The loss of two outputs, read by hand: what a text stands for only its structure knows."""
    kind = structure.output_kind
    if kind == "label" and not isinstance(loss, Tree):
        return loss([y], [other])
    if isinstance(loss, Tree):
        return Tree(TREE)(y, other)
    if kind == "list of parts" and isinstance(loss, Hamming):
        return float(sum(part not in y for part in other))
    if kind == "list of parts" and isinstance(loss, F1):
        y, other = list(y), list(other)  # also of a text
    if kind == "parse tree" and type(loss) in (Hamming, F1):
        tagged = isinstance(loss, Hamming)
        y, other = ([*brackets(as_node(tree), tagged=tagged)] for tree in (y, other))
    if kind == "RNA structure" and isinstance(loss, Hamming):
        return BasePairs()(y, other)
    if kind == "RNA structure" and isinstance(loss, F1):
        y, other = base_pairs(y), base_pairs(other)
    if kind == "alignment" and not isinstance(loss, ZeroOne):
        true, found = pairs(structure, x, y), pairs(structure, x, other)
        if isinstance(loss, F1):
            return loss(true, found)
        missed = float(len(set(true) - set(found)))
        return missed / max(len(true), 1) if isinstance(loss, MissedPairs) else missed
    if kind == "candidate" and isinstance(loss, Hamming):
        return float(y[0] != other[0])
    return loss(y, other)


def refused(name):
    known = REFUSED.get(name)
    return REFUSED[name.split("-")[0]] if known is None else known


def test_every_structure_is_covered():
    assert {type(structure).__name__ for structure, _, _ in CASES.values()} == set(STRUCTURES)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", CASES)
def test_a_loss_is_refused_or_used_as_it_is(name, loss):
    structure, X, y = CASES[name]
    space = structure.bind(X, y)
    taken = losses_of(space)
    assert set(LOSSES) - set(taken) == refused(name)
    if loss in taken:
        used_as_it_is(space, X, y, as_loss(loss))
        return
    for learner in (
        tw.StructuredSVM(structure, loss=loss, C_mode="absolute", C=1.0),
        tw.StructuredSVM(
            structure, loss=loss, rescale="slack", solver="working-set", C_mode="absolute", C=1.0
        ),
        tw.VotedCRF(structure, loss=loss, penalty_mode="absolute", lam=1e-4, beta=1e-3),
        tw.StructBoost(structure, loss=loss, penalty_mode="absolute", lam=1e-4, beta=1e-3),
        tw.SODA(structure, loss=as_loss(loss), reference="uniform", reg=1e-6),
    ):
        with pytest.raises((tw.Unsupported, tw.InputError)) as error:
            learner.fit(X, y)
        message = str(error.value)
        if loss == "tree" and structure.output_kind.startswith("label"):
            assert "needs a structure with a taxonomy" in message
        else:
            assert f"loss {loss!r} compares outputs of the kind" in message
            assert f"{type(structure).__name__} takes {', '.join(map(repr, taken))} or" in message
    fitted = tw.Perceptron(structure, max_iter=1).fit(X, y)
    for call in (
        lambda: fitted.predict_min_risk(X, loss=loss),
        lambda: tw.bounds.margin(fitted, X, y, loss=loss),
        lambda: as_loss(loss).between(space, X, y, y),
    ):
        with pytest.raises(
            (tw.Unsupported, tw.InputError), match=r"compares outputs|needs a structure with a tax"
        ):
            call()


def used_as_it_is(space, X, y, loss):
    batch = space.pack(X, y)
    w = np.random.default_rng(0).normal(size=space.n_features)
    golds, largest, most = batch.unpack(batch.gold_codes), [], []
    for i in range(len(batch)):
        outputs = list(space.enumerate(X[i]))
        packed = space.pack([X[i]] * len(outputs), outputs)
        wanted = np.array([called(loss, space.structure, X[i], golds[i], output) for output in outputs])
        many = batch.subset(np.full(len(outputs), i))
        np.testing.assert_allclose(loss.evaluate(many, packed.gold_codes), wanted, atol=1e-12)
        between = loss.between(space, [X[i]] * len(outputs), [golds[i]] * len(outputs), outputs)
        np.testing.assert_allclose(between, wanted, atol=1e-12)
        assert np.all(wanted <= loss.max_values(batch)[i] + 1e-12)
        margins = packed.gold() @ w - (batch.gold()[i] @ w)[0]
        wrong = np.array([output != golds[i] for output in outputs])
        largest.append(wanted.max())
        most.append((wanted + margins).max(where=wrong | (wanted == 0), initial=0.0))
    found = Oracle(batch, loss, Form("l1", "margin")).find(w)
    np.testing.assert_allclose(np.maximum(found.value, 0.0), most, atol=1e-9)
    if loss.part_costs(batch) is not None or loss_automata(batch, loss) is not None:
        np.testing.assert_allclose(inside(batch, loss).largest(), largest, atol=1e-9)


def test_own_losses_are_taken_by_all_structures():
    class Own(Loss):
        def __call__(self, y_true, y_pred):
            return 2.0 * (y_true != y_pred)

        def max_value(self, y_true):
            return 2.0

    for structure, X, y in CASES.values():
        assert Own().applies(structure.bind(X, y))
        tw.StructuredSVM(structure, loss=Own(), C_mode="absolute", C=1.0).fit(X, y)
