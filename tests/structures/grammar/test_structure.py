"""Grammars: reading trees, unknown words, sentences without trees, bad input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import trelliswork as tw
from trelliswork import CRF, Fixed, Generative, Grammar, InputError
from trelliswork._trees import as_node, leaves, normalized, parse_tree, tags, to_string
from trelliswork.structures.grammar.shape import Shape, escape, labels_of, rules_of, tree_of

PENN = (
    "( (S (NP-SBJ-1 (NNP Ms.) (NNP Haag)) (VP (VBZ plays) (NP (NNP Elianti)) (SBAR (-NONE- 0) "
    "(S (NP (-NONE- *T*-1)) (VP (VBD said))))) (. .)) )"
)
PLAIN = "(S (NP (NNP Ms.) (NNP Haag)) (VP (VBZ plays) (NP (NNP Elianti)) (SBAR (S (VP (VBD said))))) (. .))"
Y = [
    "(S (NP (D the) (N dog)) (VP (V sees) (NP (D a) (N cat))))",
    "(S (NP (D the) (N cat)) (VP (V sleeps)))",
    "(S (NP (D a) (A big) (N dog)) (VP (V sees) (NP (D the) (A big) (N cat))))",
]
X = [leaves(parse_tree(tree)) for tree in Y]


def test_penn_conventions():
    assert to_string(normalized(parse_tree(PENN))) == PLAIN
    kept = to_string(normalized(parse_tree(PENN), functions=True, empty=True))
    assert kept == " ".join(PENN.split())[2:-2]


@pytest.mark.parametrize(
    ("unary", "binarize", "horizontal", "vertical"),
    list(itertools.product(["collapse", "strict", "keep"], ["right", "left"], [None, 0, 1, 2], [1, 3])),
)
def test_rules_and_back(unary, binarize, horizontal, vertical):
    odd = "(S+X (S (A^B (S+X w))) (P|<Q r) (A^B (T (U v) (T\\ x))) (N n))"
    slashed = "(S\\ (S\\ (T\\+ (A a) (B\\ b) (C c))) (A\\^ (A\\ a)) (B b))"
    for text in (PLAIN, odd, slashed, "(A b (S a) c)"):
        tree = parse_tree(text)
        rules = rules_of(tree, leaves(tree), Shape(unary, binarize, horizontal, vertical))
        assert tree_of(rules, iter(leaves(tree))) == tree
        if unary == "strict":
            assert not any(rule[0] == "unary" for rule in rules)


def test_symbols_spell_any_label():
    for label in ("S", "a+b", "x^y", "p|<q", "b\\", "PRT|ADVP", "\\+\\", "|\\<"):
        assert labels_of(escape(label)) == (label,)
        assert labels_of(f"S+{escape(label)}+VP^{escape(label)}") == ("S", label, "VP")
        assert labels_of(f"{escape(label)}|<D N>") == ()
    assert labels_of("S+VP^S") == ("S", "VP")
    assert labels_of("NP|<D N>") == ()


def test_markovisation_adds_trees():
    y = ["(S (A a) (B b) (C c))", "(S (D d) (B b) (E e))"]
    X = [leaves(parse_tree(tree)) for tree in y]
    seen = Generative(Grammar(min_count=1, horizontal=None)).fit(X, y)
    loose = Generative(Grammar(min_count=1, horizontal=1)).fit(X, y)
    assert seen.predict([["a", "b", "e"]]) == ["(S (X a) (X b) (X e))"]
    assert loose.predict([["a", "b", "e"]]) == ["(S (A a) (B b) (E e))"]


def test_probabilistic_grammar_is_smoothed_relative_frequency():
    model = Generative(Grammar(min_count=1, vertical=1), smoothing=0.5).fit(X, Y)
    w = model.weights_by_name()
    vp = [name for name in model.space_.feature_names if name[0] != "root" and name[1] == "VP"]
    assert len(vp) == 2
    assert w["binary", "VP", "V", "NP"] == pytest.approx(np.log(2.5 / 4))
    assert sum(np.exp(w[name]) for name in vp) == pytest.approx(1)
    assert w.get(("root", "S"), 0.0) == pytest.approx(0.0)


def test_unknown_words_by_class():
    y = [*Y, "(S (NP (N Rover)) (VP (V jumping)))", "(S (NP (N Rex)) (VP (V running)))"]
    X = [leaves(parse_tree(tree)) for tree in y]
    model = Generative(Grammar(min_count=2)).fit(X, y)
    assert model.predict([["Max", "hopping"]]) == ["(S (NP (N Max)) (VP (V hopping)))"]
    # A narrow class that was never seen falls back on a wider one, and everything on <unk>.
    assert model.predict([["Max", "hops"]]) == ["(S (NP (N Max)) (VP (V hops)))"]
    strict = Generative(Grammar(unknown=None)).fit(X, y)
    assert strict.predict([["Max", "sleeps"]]) == ["(S (X Max) (X sleeps))"]
    hand = Fixed(Grammar(["S -> 'a' | '<unk>' | S S"]), {("root", "S"): 0.0})
    assert hand.predict([["zebra"]]) == ["(S zebra)"]


@pytest.mark.parametrize("verb", ["predict", "predict_mea"])
def test_sentences_without_trees(verb):
    impossible = ["sees", "sees", "the"]
    model = Generative(Grammar(min_count=1)).fit(X, Y)
    flat = "(S (X sees) (X sees) (X the))"
    assert getattr(model, verb)([X[0], impossible]) == [Y[0], flat]
    [_, only] = model.predict_kbest([X[0], impossible], 3)
    assert [(c.output, c.score, c.probability) for c in only] == [(flat, -np.inf, 0.0)]
    assert model.sample([impossible], 2) == [[flat, flat]]
    assert model.predict_marginals([impossible]) == [{}]
    assert model.log_prob([impossible], [flat])[0] == -np.inf
    none = Generative(Grammar(min_count=1, no_parse="none")).fit(X, Y)
    assert getattr(none, verb)([impossible]) == [None]
    assert none.score([*X, impossible], [*Y, "(S (V sees) (V sees) (D the))"]) < 1
    error = Generative(Grammar(min_count=1, no_parse="error")).fit(X, Y)
    with pytest.raises(InputError, match=r"sample 1: .* no tree for sees sees the"):
        getattr(error, verb)([X[0], impossible])
    tagged = Generative(Grammar(input="tags")).fit([tags(parse_tree(t)) for t in Y], Y)
    assert tagged.predict([[("go", "V"), ("now", "Z")]]) == ["(S (V go) (Z now))"]


def test_max_recall_has_most_expected_brackets():
    rng = np.random.default_rng(0)
    space = Grammar("S -> S S | T | 'a'\nT -> S T | 'a'").bind([["a"]], ["(S a)"])
    sentence = ["a"] * 5
    batch = space.pack([sentence])
    scores = batch.scores(rng.normal(size=space.n_features))
    found = batch.mea(scores)
    probability = batch.unpack_marginals(batch.marginals(scores))[0]
    from trelliswork._trees import brackets

    totals = [
        sum(probability[b] for b in brackets(as_node(tree), tagged=True))
        for tree in space.enumerate(sentence)
    ]
    assert found.values[0] == pytest.approx(max(totals))
    assert totals[list(space.enumerate(sentence)).index(batch.unpack(found.codes)[0])] == pytest.approx(
        max(totals)
    )


def test_span_probabilities():
    model = CRF(Grammar(min_count=1)).fit(X, Y)
    [spans] = model.predict_marginals(X[:1])
    assert spans["S", 0, 5] == pytest.approx(1)
    assert spans["N", 1, 2] == pytest.approx(1)
    assert all(0 <= p <= 1 + 1e-9 for p in spans.values())


def test_spans_with_a_repeated_label_are_expected_counts():
    grammar = Grammar("S -> NP\nNP -> NP | T T\nT -> 'a'", max_unary=3)
    model = Fixed(grammar, {("unary", "NP", "NP"): -0.5})
    [spans] = model.predict_marginals([["a", "a"]])
    trees = model.predict_kbest([["a", "a"]], 10)[0]
    assert sum(c.probability for c in trees) == pytest.approx(1)
    wanted = sum(c.probability * c.output.count("(NP") for c in trees)
    assert spans["NP", 0, 2] == pytest.approx(wanted)
    assert wanted > 1


def test_score_of_trees_without_brackets_counts_tags():
    model = Generative(Grammar(min_count=1)).fit([["a"], ["b"]], ["(NN a)", "(VB b)"])
    words = [["a"], ["b"]]
    assert model.score(words, ["(NN a)", "(VB b)"]) == 1.0
    assert model.score(words, ["(VB a)", "(NN b)"]) == 0.0
    assert model.score(words, ["(VB a)", "(VB b)"], sample_weight=[1.0, 3.0]) == 0.75
    assert model.score(words, ["(NP (NN a))", "(VB b)"]) == 0.0  # one bracket: F1 again


def test_counts_are_exact():
    space = Grammar("S -> S S | 'a'").bind([["a"]], ["(S a)"])
    batch = space.pack([["a"] * n for n in (1, 5, 40)])
    catalan = 1
    for n in range(39):
        catalan = catalan * 2 * (2 * n + 1) // (n + 2)
    assert batch.count() == [1, 14, catalan]
    assert batch.log_count()[2] == pytest.approx(np.log(float(catalan)))


def test_forests_are_built_again_when_there_is_no_room():
    structure = Grammar(min_count=1)
    space = structure.bind(X, Y)
    w = np.random.default_rng(0).normal(size=space.n_features)
    kept = space.pack(X, Y).expect(w)
    again = structure.with_limits(kept_edges=0).bind(X, Y).pack(X, Y)
    for a, b in zip(kept, again.expect(w)):
        assert np.array_equal(a, b)
    assert not again.store._kept
    space = structure.with_limits(kept_edges=0, listed_work=0).bind(X, Y)
    for a, b in zip(kept, space.pack(X, Y, n_jobs=2).expect(w)):  # sums without forests
        np.testing.assert_allclose(a, b, atol=1e-10)
    np.testing.assert_allclose(kept[0], space.pack(X).log_partition(again.scores(w)), atol=1e-10)
    space = structure.with_limits(forest_edges=3).bind(X, Y)
    with pytest.raises(InputError, match="sample 0: a sentence of 5 words has too many trees"):
        space.pack(X, Y).kbest(again.scores(w), 2)


def test_long_strings_of_a_small_grammar():
    space = Grammar("S -> S S | 'x' S 'y' | 'x' | 'y'").bind([["x"]], ["(S x)"])
    rng = np.random.default_rng(0)
    long = [["x", "y"][i] for i in rng.integers(2, size=150)]
    batch = space.pack([long])
    w = rng.normal(size=space.n_features)
    log_z, expected = batch.expect(w)
    up, down = (batch.log_partition(batch.scores(w + d))[0] for d in (1e-5, -1e-5))
    assert (up - down) / 2e-5 == pytest.approx(expected.sum(), rel=1e-6)
    assert batch.argmax(batch.scores(w)).values[0] < log_z[0]


def test_nltk_trees_in_and_out(tmp_path):
    nltk = pytest.importorskip("nltk")
    trees = [nltk.Tree.fromstring(text) for text in Y]
    model = CRF(Grammar(min_count=1)).fit(X, trees)
    assert model.predict(X) == trees
    tw.save(model, tmp_path / "m.tw")
    assert tw.load(tmp_path / "m.tw").predict(X[:1]) == trees[:1]
    assert model.score(X, Y) == 1.0


def test_brackets_in_words():
    x = ["(", "dog", ")"]
    model = CRF(Grammar(min_count=1)).fit([x], ["(S (L -LRB-) (N dog) (R -RRB-))"])
    assert model.predict([x]) == ["(S (L -LRB-) (N dog) (R -RRB-))"]


PLAIN_BRACKETS, TREE_BRACKETS = ["(", "a", ")"], ["-LRB-", "a", "-RRB-"]


@pytest.mark.parametrize("seen", [PLAIN_BRACKETS, TREE_BRACKETS])
@pytest.mark.parametrize("params", [{"min_count": 1}, {"min_count": 2}, {"unknown": None}])
def test_both_spellings_of_brackets_are_one_word(seen, params):
    y = ["(P (-LRB- -LRB-) (N a) (-RRB- -RRB-))", "(S (D b) (N a))"]
    model = Generative(Grammar(**params)).fit([seen, ["b", "a"]], y)
    plain, escaped = model.predict_kbest([PLAIN_BRACKETS, TREE_BRACKETS], 2)
    assert plain == escaped
    assert plain[0].output == y[0]
    assert np.isfinite(plain[0].score)
    assert "(" not in {word for rule in model.space_.rules for word in rule}
    mixed = Generative(Grammar(**params)).fit([PLAIN_BRACKETS, TREE_BRACKETS], y[:1] * 2)
    assert mixed.space_.rules == Generative(Grammar(**params)).fit([seen] * 2, y[:1] * 2).space_.rules


def test_brackets_as_tags_and_in_given_rules():
    y = ["(P (-LRB- -LRB-) (N N) (-RRB- -RRB-))"]
    tags_of = [["(", "N", ")"], ["-LRB-", "N", "-RRB-"]]
    for seen in tags_of:
        model = Generative(Grammar(input="tags")).fit([seen], y)
        assert model.predict(tags_of) == y * 2
    hand = Fixed(Grammar("S -> '(' S ')' | 'a' | '_' | T\nT -> ' '"), {("wrap", "S", "(", "S", ")"): 1.0})
    assert hand.predict([PLAIN_BRACKETS, TREE_BRACKETS]) == ["(S -LRB- (S a) -RRB-)"] * 2
    assert hand.predict([[" "], ["_"]]) == ["(S (T _))", "(S _)"]  # words that rules tell apart stay apart


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (["a"], "(S (N a)", r"sample 1: unbalanced brackets: 1 '\(' without '\)'"),
        (["a"], "(S (N a)))", r"sample 1: unbalanced brackets: '\)' after the end"),
        (["a"], "(S (N a)) b", r"sample 1: unbalanced brackets: 'b' after the end"),
        (["a"], "(S (N))", r"sample 1: the node \(N\) has no children"),
        (["a"], "(S ())", r"sample 1: an empty bracket"),
        (["a"], "", r"sample 1: expected a tree, got nothing"),
        (["a"], "S", r"sample 1: expected a bracketed tree"),
        (["a"], 3, r"sample 1: expected a bracketed string or an nltk.Tree, got int"),
        (["a"], "(S (N b))", r"sample 1: token 0 is 'a' but the tree has 'b' there"),
        (["a", "b"], "(S (N a))", r"sample 1: the sentence has 2 words but its tree has 1"),
        (["a"], "(S (-NONE- *))", r"sample 1: the tree has no words but empty elements"),
        (["a", "b"], "( (N a) (N b))", r"sample 1: the outer bracket has no label"),
        (["a", "b"], "(S (N a) b)", r"sample 1: the node \(S ...\) has words beside phrases"),
        ([], "(S (N a))", r"sample 1: the sentence is empty"),
        ("ab", "(S (N a))", r"sample 1: expected a list of tokens, got the string 'ab'; split it first"),
        ([None], "(S (N a))", r"sample 1: token 0: expected a string or a pair"),
    ],
)
def test_bad_trees(x, y, message):
    with pytest.raises(InputError, match=message):
        CRF(Grammar()).fit([X[0], x], [Y[0], y])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("", "there is no rule"),
        ("S NP VP", 'expected "A -> B C"'),
        ("S -> ", "derives nothing; empty"),
        ("S -> A | \nA -> 'a'", "derives nothing; empty"),
        ("S -> ''", "empty word"),
        ("S -> 'a' B\nB -> 'b'", "mixes words and symbols"),
        ("S -> A", "'A', which 'S' derives, has no rule"),
        (
            "S -> A\nA -> S",
            "the unary rules make a cycle, S -> A -> S|the unary rules make a cycle, A -> S -> A",
        ),
        ([3], "expected 'A -> B C' or a pair"),
        (3, "rules must be lines such as"),
        ("S -> 'dog", "a quotation mark without its pair"),
        ("S -> 'dog\"", "a quotation mark without its pair"),
    ],
)
def test_bad_rules(rules, message):
    with pytest.raises(InputError, match=message):
        Grammar(rules).bind([["a"]], ["(S a)"])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"input": "letters"}, "input must be one of 'words', 'tags'"),
        ({"unary": "drop"}, "unary must be one of"),
        ({"vertical": 0}, "vertical must be a whole number >= 1"),
        ({"horizontal": -1}, "horizontal must be a whole number >= 0"),
        ({"beam": 0}, "beam must be None or a number > 0"),
        ({"beam": "wide"}, "beam must be None or a number > 0"),
        ({"rules": "S -> 'a'", "start": "T"}, "start: 'T' has no rule"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(InputError, match=message):
        Grammar(**params).bind(X, Y)


def test_trees_outside_the_grammar():
    space = Grammar(min_count=1, vertical=1).bind(X, Y)
    odd = "(S (NP (D the) (N cat)) (V sleeps))"
    with pytest.raises(
        InputError, match=r"sample 1: the tree .* is not one of this grammar: there is no rule S -> NP V"
    ):
        space.pack([X[0], X[1]], [Y[0], odd])
    model = CRF(Grammar(min_count=1)).fit(X, Y)
    assert model.log_prob([X[1]], [odd])[0] == -np.inf
    assert model.log_prob([X[1]], [None])[0] == -np.inf
    with pytest.raises(InputError, match=r"sample 1: unbalanced brackets"):
        model.log_prob(X[:2], [Y[0], Y[1][:-1]])
    with pytest.raises(InputError, match=r"sample 0: the sentence has 5 words but its tree has 3"):
        model.log_prob(X[:1], Y[1:2])


def test_more_data_bring_more_rules():
    model = tw.Perceptron(Grammar(min_count=1, vertical=1), max_iter=5)
    model.partial_fit(X[:1], Y[:1])
    model.partial_fit(X[1:], Y[1:])
    assert ("unary", "VP", "V") in model.space_.feature_names
    assert model.predict(X) == Y


def test_unary_cycles_in_trees():
    y = ["(S (NP (S (V go))) (N now))", "(S (V go))"]
    X = [leaves(parse_tree(tree)) for tree in y]
    with pytest.raises(InputError, match="make a cycle"):
        CRF(Grammar(unary="keep")).fit([["a"], *X], ["(NP (S (NP (N a))))", *y])
    model = CRF(Grammar(unary="keep", max_unary=2, min_count=1)).fit(X, y)
    assert model.predict(X) == y
    with pytest.raises(InputError, match="too many unary rules in a row"):
        CRF(Grammar(unary="keep", max_unary=0, min_count=1)).fit(X, y)


SPANS_X = [["d", "n", "v"], ["n", "v"], ["d", "n", "v", "n"]]
SPANS_Y = ["(S (NP (D d) (N n)) (VP (V v)))", "(S (NP (N n)) (VP (V v)))"]
SPANS_Y.append("(S (NP (D d) (N n)) (VP (V v) (NP (N n))))")


def test_span_features_are_those_of_the_training_trees(tmp_path):
    structure = tw.Grammar(min_count=1, vertical=1, span_features=["first", "after", "length"])
    space = structure.bind(SPANS_X, SPANS_Y)
    names = space.feature_names[len(space.rules) :]
    assert ("span", "first word", "d", "NP") in names
    assert ("span", "after word", "v", "NP") in names
    assert ("span", "length", "2", "NP") in names
    assert not any(name[1].startswith(("last", "second", "before", "around")) for name in names)
    # The second tree has one NP, over its first word.
    counts = dict(zip(space.feature_names, space.pack(SPANS_X, SPANS_Y).gold().toarray()[1], strict=True))
    own = [name for name, value in counts.items() if value and name[0] == "span" and name[3].startswith("NP")]
    assert sorted(name[1:3] for name in own) == [("after word", "v"), ("first word", "n"), ("length", "1")]
    model = tw.CRF(structure, l2=0.01).fit(SPANS_X, SPANS_Y)
    assert model.predict(SPANS_X) == SPANS_Y
    assert model.tables()["top"]["span"]
    tw.save(model, tmp_path / "model.tw")
    again = tw.load(tmp_path / "model.tw")
    assert np.allclose(again.log_prob(SPANS_X, SPANS_Y), model.log_prob(SPANS_X, SPANS_Y))


def test_span_features_tell_attachments_apart():
    # The same tags: only the word decides whether the last phrase belongs to the noun.
    tags = ["V", "N", "P", "N"]
    high = "(S (V {}) (NP (N {})) (PP (P {}) (NP (N {}))))"
    low = "(S (V {}) (NP (NP (N {})) (PP (P {}) (NP (N {})))))"
    rows = [(["saw", "dogs", word, "parks"], shape) for word, shape in (("with", high), ("of", low))] * 3
    X = [list(zip(words, tags, strict=True)) for words, _ in rows]
    y = [shape.format(*words) for words, shape in rows]
    options = {"input": "tags", "vertical": 1, "unary": "keep"}
    with pytest.warns(tw.FitWarning, match="no weight other than zero"):
        assert tw.CRF(tw.Grammar(**options)).fit(X, y).score(X, y) < 1.0
    assert tw.CRF(tw.Grammar(**options, span_features=True), l2=0.01).fit(X, y).score(X, y) == 1.0


def test_span_features_that_there_are_not():
    with pytest.raises(tw.InputError, match="span_features must be True, None or a list of 'first'"):
        tw.Grammar(span_features=["middle"]).bind(SPANS_X, SPANS_Y)
    with pytest.raises(tw.Unsupported, match="span_features does not tell its factors"):
        tw.Grammar(span_features=True).bind(SPANS_X, SPANS_Y).pack(SPANS_X).factors()
