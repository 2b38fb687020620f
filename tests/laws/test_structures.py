"""Every law of ``trelliswork.testing`` over configurations of every structure."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from trelliswork import (
    RNA,
    Alignment,
    AlignPath,
    Chain,
    Classes,
    Derivations,
    Edge,
    Grammar,
    Ragged,
    Retrieval,
    Transducer,
)
from trelliswork._trees import leaves, parse_tree
from trelliswork.structures import STRUCTURES
from trelliswork.testing import check_structure

WORDS = [["a", "b", "a"], ["b"], ["c", "a"], ["a", "a", "c", "b"]]
TAGS = [["X", "Y", "X"], ["Y"], ["X", "X"], ["Y", "X", "X", "Y"]]
LISTS = [[["w=a", "cap"], ["w=b"]], [["w=b", "w=b"]], [["cap"], [], ["w=a"]]]
DICTS = [[{"w": "a", "n": 0.5}, {"w": "b", "cap": True}], [{"w": "b", "n": -2.0}], [{}, {"n": 1}, {"w": "a"}]]
TAGS_3 = [["X", "Y"], ["Y"], ["Y", "X", "Y"]]
BIO = [["B-P", "I-P", "O"], ["O"], ["B-P", "B-P"], ["O", "B-P", "I-P", "O"]]
BIOES = [["B-P", "E-P", "O"], ["S-P"], ["O", "S-P"], ["B-P", "I-P", "E-P", "O"]]
DENSE = [np.array([[1.0, 0.5], [0.0, -1.0]]), np.array([[2.0, 0.0]]), np.array([[1.0, 1.0], [0, 1], [3, 0]])]


def segmentation(tokens):
    """Segments of at most three tokens, labelled N or O."""
    n = len(tokens)
    yield Edge(n)
    for i in reversed(range(n)):
        for j in range(i + 1, min(i + 3, n) + 1):
            for label in "NO":
                features = {("words", "".join(tokens[i:j]), label): 1.0, ("length", label): float(j - i)}
                yield Edge(i, (j,), features, (i, j, label))


def bracketing(tokens):
    """Binary trees over the tokens, inner nodes labelled A or B; spans as parts."""
    n = len(tokens)
    for i in range(n):
        for a in "AB":
            yield Edge((i, i + 1, a), (), [("leaf", tokens[i], a)])
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            for a in "AB":
                for k in range(i + 1, j):
                    yield (
                        (i, j, a),
                        [(i, k, "A"), (k, j, "B")],
                        [("rule", a), ("width", width)],
                        (i, k, j, a),
                    )
    yield Edge("root", [(0, n, "A")], [], ("root", "A"))
    yield Edge("root", [(0, n, "B")], ["root B"], ("root", "B"))


def repeated_labels(tokens):
    """Label chains whose parts carry no position: outputs are found by exact matching."""
    n = len(tokens)
    for a in "XY":
        yield Edge((n, a))
    for t in reversed(range(n)):
        for a in ["X", "Y"] if t else ["^"]:
            for b in "XY":
                yield Edge((t, a), [(t + 1, b)], [("word", tokens[t], b), ("pair", a, b)], b)


def join(x, parts):
    return "".join(parts)


def split(x, y):
    return list(y)


SEGMENTS = [[(0, 2, "N"), (2, 3, "O")], [(0, 1, "O")], [(0, 1, "N"), (1, 2, "N")], [(0, 1, "O"), (1, 4, "N")]]
TREES = [
    [("root", "A"), (0, 1, 3, "A"), (1, 2, 3, "B")],
    [("root", "B")],
    [("root", "A"), (0, 1, 2, "A")],
    [("root", "B"), (0, 2, 4, "B"), (0, 1, 2, "A"), (2, 3, 4, "B")],
]
STRINGS = ["".join(tags) for tags in TAGS]

ROWS = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.5], [3.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
BEASTS = ["cat", "oak", "dog", "elm", "cat"]
TREE = {"animal": {"cat": {}, "dog": {}}, "plant": {"tree": {"oak": {}, "elm": {}}, "grass": {}}}
DAG = [
    ("thing", "pet"),
    ("thing", "plant"),
    ("thing", "wild"),
    ("pet", "cat"),
    ("pet", "dog"),
    ("wild", "dog"),
]
DAG += [("wild", "oak"), ("plant", "oak"), ("plant", "elm")]

SENTENCES = [
    "(S (NP (D the) (N dog)) (VP (V sees) (NP (N cats))))",
    "(S (NP (N cats)) (VP (V sleep)))",
    "(S (NP (D a) (A big) (N dog)) (VP (V sleep)))",
]
WORDS_OF = [leaves(parse_tree(tree)) for tree in SENTENCES]
TAGGED = [
    "(S (NP (D D) (N N)) (VP (V V) (NP (N N))))",
    "(S (NP (N N)) (VP (V V)))",
    "(S (NP (D D) (A A) (N N)) (VP (V V)))",
]
TAGS_OF = [leaves(parse_tree(tree)) for tree in TAGGED]
BOTH_OF = [list(zip(words, tags)) for words, tags in zip(WORDS_OF, TAGS_OF)]
ODD = ["S -> S S | A | 'a'", "A -> 'b' S 'b' | 'a'", ("S", ["S", "A", "S"])]
ODD_TREES = ["(S (S (S a) (S a)) (S (S a) (S a)))", "(S (S (A b (S a) b)) (S a))", "(S a)"]
PAIRS = [("ABA", "AB"), ("B", "AAB"), ("AB", "CA"), ("", "B"), ("A", ""), ("", "")]
GAPPED = [("ABA", "A-B"), ("B--", "AAB"), ("AB-", "-CA"), ("-", "B"), ("A", "-"), ("", "")]
LOCAL = [("ABA", "A-B"), ("--B", "AAB"), ("-AB", "CA-"), ("-", "B"), ("A", "-"), ("", "")]
BASES = ["GGAAUCC", "acgtu", "GNGAAACUC", "G"]
FOLDS = ["((...))", "(...)", "(.(...).)", "."]
FOLDS_2 = ["((...))", ".....", "(.(...).)", "."]
LOOPS = ["GGAAACCAGAAAC", "gnGAAAcuC", "GCGAAACAC", "A"]
LOOP_FOLDS = ["((...)).(...)", "(.(...).)", "(.(...).)", "."]

CASES = {
    "retrieval": (
        Retrieval(Alignment("linear")),
        [("AB", ["A", "BA"]), ("", ["B", "", "A"])],
        [(1, ("-AB", "BA-")), (0, ("-", "B"))],
    ),
    "align-linear": (Alignment("linear"), PAIRS, GAPPED),
    "align-affine": (Alignment("affine", alphabet="ABC"), PAIRS, GAPPED),
    "align-substitution": (Alignment("substitution"), PAIRS, GAPPED),
    "align-substitution-affine": (Alignment(), PAIRS, GAPPED),
    "align-ordered": (Alignment("ordered"), PAIRS, GAPPED),
    "align-canonical": (Alignment("ordered-affine", canonical=True), PAIRS, GAPPED),
    "align-semiglobal": (Alignment(mode="semiglobal"), PAIRS, GAPPED),
    "align-fit-first": (Alignment(mode="semiglobal", free="second", canonical=True), PAIRS, GAPPED),
    "align-fit-second": (Alignment("affine", mode="semiglobal", free="first"), PAIRS, GAPPED),
    "align-local": (Alignment(mode="local"), PAIRS, LOCAL),
    "align-local-canonical": (Alignment("linear", mode="local", canonical=True), PAIRS, LOCAL),
    "align-path": (Alignment("affine", output="path"), PAIRS, [AlignPath.from_gapped(*y) for y in GAPPED]),
    "align-unknown": (Alignment("ordered", alphabet="AC", unknown="zero"), PAIRS, GAPPED),
    "align-lists": (
        Alignment("linear"),
        [([1, "a"], [1]), (["a"], ["a", 2])],
        [([1, "a"], [1, "-"]), (["a", "-"], ["a", 2])],
    ),
    "chain": (Chain(), WORDS, TAGS),
    "chain-empty": (Chain(), [["a"], [], ["b", "a"], []], [["X"], [], ["Y", "X"], []]),
    "chain-order-2": (Chain(2), WORDS, TAGS),
    "chain-order-3": (Chain(3, end=False), WORDS, TAGS),
    "chain-observed": (Chain(emissions="observed"), WORDS, TAGS),
    "chain-transitions-observed": (Chain(transitions="observed", emissions="observed"), WORDS[:3], TAGS[:3]),
    "chain-transitions": (
        Chain(transitions=[("X", "Y"), ("Y", "X"), ("X", "X")]),
        WORDS[:3],
        TAGS[:3],
    ),
    "chain-bio": (Chain(scheme="BIO"), WORDS, BIO),
    "chain-bio-order-2": (Chain(2, scheme="BIO"), WORDS, BIO),
    "chain-bioes": (Chain(scheme="BIOES"), WORDS, BIOES),
    "chain-edges": (Chain(edge_features="all"), LISTS, TAGS_3),
    "chain-edges-observed": (Chain(2, edge_features=["w="], emissions="observed"), LISTS, TAGS_3),
    "chain-joined": (Chain(2, edge_features={2: ["w="], 3: "all"}), LISTS, TAGS_3),
    "chain-joined-long": (
        Chain(3, edge_features={2: "all", 4: "all"}, emissions="observed", transitions="observed"),
        LISTS,
        TAGS_3,
    ),
    "chain-joined-dense": (Chain(2, edge_features={3: ["1"]}), DENSE, TAGS_3),
    "chain-bare": (Chain(start=False, end=False, min_count=2), LISTS, TAGS_3),
    "chain-labels": (Chain(labels=["Y", "Z", "X"]), WORDS[:3], TAGS[:3]),
    "chain-dense": (Chain(), DENSE, TAGS_3),
    "chain-dense-edges": (Chain(edge_features=["1"]), Ragged.from_list(DENSE), TAGS_3),
    "chain-sparse": (Chain(), [sp.csr_matrix(x) for x in DENSE], TAGS_3),
    "chain-sparse-edges": (
        Chain(2, edge_features="all", emissions="observed"),
        Ragged(sp.coo_matrix(np.concatenate(DENSE)), [0, 2, 3, 6]),
        TAGS_3,
    ),
    "chain-dicts": (Chain(), DICTS, TAGS_3),
    "classes": (Classes(), ROWS, BEASTS),
    "classes-no-bias": (Classes(bias=False), ROWS, np.array([3, 1, 2, 2, 1])),
    "classes-sparse": (Classes(), sp.csr_matrix(ROWS), BEASTS),
    "classes-lists": (
        Classes(labels=["dog", "cat", "eel"]),
        [["fur", "paw"], ["fur"], []],
        ["cat", "dog", "cat"],
    ),
    "classes-dicts": (
        Classes(),
        [{"a": 1.5, "b": "x"}, {"a": -1.0}, {"c": True}],
        [("u", 1), ("v", 2), ("u", 1)],
    ),
    "classes-one": (Classes(), ROWS, ["cat"] * 5),
    "classes-tree": (Classes(TREE), ROWS, BEASTS),
    "classes-dag": (Classes(DAG, bias=False), ROWS, BEASTS),
    "classes-shares": (Classes(DAG, ancestor_weight=0.3), ROWS, BEASTS),
    "grammar": (Grammar(min_count=1), WORDS_OF, SENTENCES),
    "grammar-rare": (Grammar(unary="strict", vertical=2), WORDS_OF, SENTENCES),
    "grammar-tags": (Grammar(input="tags", horizontal=0), TAGS_OF, TAGGED),
    "grammar-pairs": (Grammar(input="tags", unary="strict", binarize="left"), BOTH_OF, SENTENCES),
    "grammar-keep": (Grammar(input="tags", unary="keep", horizontal=1, vertical=3), TAGS_OF, TAGGED),
    "grammar-spans": (Grammar(input="tags", vertical=1, span_features=True), BOTH_OF, SENTENCES),
    "grammar-rules": (Grammar(ODD), [list("aaaa"), list("baba"), ["a"]], ODD_TREES),
    "grammar-cycle": (
        Grammar(["S -> S S | A | 'a'", "A -> S | 'a'"], max_unary=2),
        [list("aa"), ["a"]],
        ["(S (S a) (S (A (S a))))", "(S (A a))"],
    ),
    "segments": (Derivations(segmentation), WORDS, SEGMENTS),
    "segments-min-count": (Derivations(segmentation, min_count=3), WORDS, SEGMENTS),
    "trees": (Derivations(bracketing), WORDS, TREES),
    "rna": (RNA("g6"), BASES, FOLDS),
    "rna-nested": (RNA("nested", depth=1), BASES, FOLDS),
    "rna-nested-3": (RNA("nested", depth=3), BASES, FOLDS),
    "rna-nearest": (RNA("nearest-neighbour"), LOOPS, LOOP_FOLDS),
    "rna-nearest-2": (RNA("nearest-neighbour", min_hairpin=2, max_loop=2, window=12), BASES, FOLDS_2),
    "transducer": (
        Transducer(output="pieces", min_context=1, window=1, longest=2),
        ["ab", "ba", "b", ""],
        [[("a", "x"), ("b", "")], [("b", "yx"), ("a", "x")], [("b", "y")], []],
    ),
    "transducer-order-2": (
        Transducer(2, output="pieces", min_context=1, window=2, longest=3),
        ["ab", "bab", "a"],
        [[("ab", "x")], [("b", "yx"), ("ab", "x")], [("a", "")]],
    ),
    "transducer-lists": (
        Transducer(0, output="pieces", min_count=2),
        [["k", 1], [1, "k"]],
        [[(("k",), ("x",)), ((1,), ())], [((1,), (2, "x")), (("k",), (2,))]],
    ),
    "strings": (Derivations(repeated_labels, encode=split, decode=join), WORDS, STRINGS),
}


# Chunks of one or two samples, so that several threads have something to do.
ALIGNED = {"cells_per_chunk": 8, "moment_cells_per_chunk": 8, "moment_features": 2}
CHUNKS = {
    Alignment: ALIGNED,
    Chain: {"tokens_per_chunk": 3, "graph_edges_per_chunk": 8, "rows_per_chunk": 2},
    Classes: {"rows_per_chunk": 2},
    Derivations: {"edges_per_chunk": 8},
    Grammar: {"work_per_chunk": 8},
    RNA: {"work_per_chunk": 40},
    Retrieval: ALIGNED,
    Transducer: {"edges_per_chunk": 1},
}


@pytest.mark.parametrize("mode", ["whole", "chunks", "chunks-tangents"])
@pytest.mark.parametrize("name", CASES)
def test_laws(name, mode):
    structure, X, y = CASES[name]
    if mode != "whole":
        structure = structure.with_limits(**CHUNKS[type(structure)])
    if mode == "chunks-tangents":  # moments from tangents, as with many features; other laws do not differ
        structure = structure.with_limits(increment_features=0)
        done = check_structure(structure, X, y, rng=len(name), laws=["moments", "same bits"])
        assert (done.laws, done.skipped) == (["moments", "same bits"], [])
        return
    done = check_structure(structure, X, y, rng=len(name))
    unable = [reason for reason in done.skipped if not reason.startswith("partly known")]
    assert not unable
    assert not done.skipped or isinstance(structure, (Retrieval, Transducer))
    assert len(done.laws) + len(done.skipped) == 22


def test_every_structure_is_covered():
    assert {type(structure).__name__ for structure, _, _ in CASES.values()} >= set(STRUCTURES)


@pytest.mark.parametrize("name", CASES)
def test_state_is_plain(name):
    structure, X, y = CASES[name]
    for value in structure.bind(X, y).state().values():
        if not isinstance(value, np.ndarray):
            json.dumps(value)
