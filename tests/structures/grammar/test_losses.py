"""Losses of trees and the exact F1 table against enumeration of all trees."""

from __future__ import annotations

import numpy as np
import pytest

from trelliswork import Grammar, StructuredSVM
from trelliswork._trees import as_node, brackets, leaves, parse_tree
from trelliswork.losses import F1, BracketF1, Brackets, Hamming
from trelliswork.losses.forms import Form
from trelliswork.losses.oracle import Oracle

RULES = ["S -> S S | A | A S B | 'a'", "A -> 'b' S 'b' | B B", "B -> 'a' | C", "C -> 'a' | 'b'"]
TREEBANK = [
    "(S (NP (D D) (N N)) (VP (V V) (NP (NP (N N)) (PP (P P) (NP (N N))))))",
    "(S (NP (N N)) (VP (V V) (NP (D D) (N N)) (PP (P P) (NP (N N)))))",
    "(FRAG (NP (NP (N N)) (PP (P P) (NP (D D) (N N)))))",
]


REPEATED = [
    "(S (NP (NP (N N))) (V V))",
    "(S (NP (N N)) (V V))",
    "(S (NP (NP (N N) (N N))) (V V))",
    "(S (NP (N N) (N N)) (V V))",
]


def cases():
    space = Grammar(RULES).bind([["a"]], ["(S a)"])
    for x in (list("aab"), list("baba"), list("aaa"), ["a"]):
        yield space, x
    X = [leaves(parse_tree(tree)) for tree in TREEBANK]
    for unary in ("collapse", "strict", "keep"):
        space = Grammar(input="tags", unary=unary, horizontal=1).bind(X, TREEBANK)
        for x in X:
            yield space, x
    X = [leaves(parse_tree(tree)) for tree in REPEATED]  # a label above itself, over the same words
    for unary, max_unary in (("collapse", None), ("strict", None), ("keep", 3)):
        space = Grammar(input="tags", unary=unary, max_unary=max_unary).bind(X, REPEATED)
        for x in X[1::2]:
            yield space, x


@pytest.mark.parametrize("rescale", ["slack", "margin"])
@pytest.mark.parametrize("slack", ["l1", "l2"])
@pytest.mark.parametrize("loss", [BracketF1(), F1(), Brackets(), Hamming()])
def test_most_violated_tree(loss, slack, rescale):
    rng = np.random.default_rng(3)
    for space, x in cases():
        trees = list(space.enumerate(x))
        packed = space.pack([x] * len(trees), trees)
        for gold in rng.choice(trees, min(len(trees), 3), replace=False):
            for scale in (0.1, 1.0):
                w = scale * rng.normal(size=space.n_features)
                scores = packed.evaluate(packed.gold_codes, packed.scores(w))
                if isinstance(loss, F1):
                    losses = np.array([BracketF1()(gold, tree) for tree in trees])
                elif isinstance(loss, Hamming):
                    spans = set(brackets(as_node(gold), tagged=True))
                    found = [brackets(as_node(tree), tagged=True) for tree in trees]
                    losses = np.array([sum(b not in spans for b in own) for own in found], dtype=float)
                else:
                    losses = np.array([loss(gold, tree) for tree in trees])
                form = Form(slack, rescale)
                h, s = form.plane(losses)
                wanted = (h - s * (scores[trees.index(gold)] - scores)).max()
                oracle = Oracle(space.pack([x], [gold]), loss, form)
                answer = oracle.find(w)
                assert answer.value[0] == pytest.approx(max(wanted, answer.value[0] if wanted <= 0 else -1))
                assert answer.value[0] <= max(wanted, 0) + 1e-9
                if wanted > 0:
                    tree = oracle.batch.unpack(answer.codes)[0]
                    assert losses[trees.index(tree)] == pytest.approx(answer.loss[0])


def test_losses_agree_with_their_part_costs():
    for space, x in cases():
        trees = list(space.enumerate(x))[:40]
        packed = space.pack([x] * len(trees), trees)
        batch = space.pack([x] * len(trees), trees[:1] * len(trees))
        direct = [Brackets()(trees[0], tree) for tree in trees]
        assert Brackets().evaluate(batch, packed.gold_codes) == pytest.approx(direct)
        assert BracketF1().evaluate(batch, packed.gold_codes).min() == 0.0
        part = Hamming(normalized=True).evaluate(batch, packed.gold_codes)
        size = len(brackets(as_node(trees[0]), tagged=True))
        assert part * size == pytest.approx(Hamming().evaluate(batch, packed.gold_codes))


@pytest.mark.filterwarnings("ignore::trelliswork.FitWarning")
@pytest.mark.parametrize("rescale", ["slack", "margin"])
def test_machine_with_f1(rescale):
    X = [leaves(parse_tree(tree)) for tree in TREEBANK]
    grammar = Grammar(input="tags")
    model = StructuredSVM(
        grammar, C=100, loss="bracket-f1", slack="l2", rescale=rescale, C_mode="absolute"
    ).fit(X, TREEBANK)
    assert model.score(X, TREEBANK) > 0.9
    assert model.gap_ <= 1e-3


def test_losses_of_missing_trees():
    gold = "(S (NP (N cats)) (V sit))"
    assert BracketF1()(gold, None) == 1.0
    assert Brackets()(gold, None) == 4.0
    assert BracketF1()(gold, gold) == Brackets()(gold, gold) == 0.0
