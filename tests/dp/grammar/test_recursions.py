"""Charts and packed forests against enumeration, the derivation engine and nltk."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from trelliswork import Grammar
from trelliswork.dp.derivations import hypergraph
from trelliswork.dp.grammar import forest as grammar_forest
from trelliswork.dp.grammar import inside, viterbi
from trelliswork.structures.grammar.tables import GrammarTables, sorted_rules


def random_rules(rng, n_symbols=4, n_words=3, n_binary=10, n_unary=3, n_wrap=2):
    """Rules with every form; unary rules go from lower to higher letters, so that there is no cycle."""
    symbols, words = [f"A{i}" for i in range(n_symbols)], [f"w{i}" for i in range(n_words)]
    rules = [("root", symbols[0]), ("root", symbols[1])]
    rules += [("lexical", symbols[rng.integers(n_symbols)], word) for word in words for _ in range(2)]
    rules += [("binary", *(symbols[i] for i in rng.integers(n_symbols, size=3))) for _ in range(n_binary)]
    for _ in range(n_unary):
        a, b = sorted(rng.choice(n_symbols, 2, replace=False))
        rules.append(("unary", symbols[a], symbols[b]))
    for _ in range(n_wrap):
        a, b = rng.integers(n_symbols, size=2)
        x, y = rng.integers(n_words, size=2)
        rules.append(("wrap", symbols[a], words[x], symbols[b], words[y]))
    return sorted_rules(rules)


def derivations(grammar, words):
    """Rule numbers of every derivation, by plain recursion."""
    by_head = {}
    for r, rule in enumerate(grammar.dp_rules):
        if rule[0] != "root":
            by_head.setdefault(rule[1], []).append((r, rule))

    def derive(symbol, i, j):
        for r, rule in by_head.get(symbol, ()):
            if rule[0] == "lexical" and j == i + 1 and words[i] == rule[2]:
                yield [r]
            elif rule[0] == "unary":
                yield from ([r, *below] for below in derive(rule[2], i, j))
            elif rule[0] == "wrap" and j - i > 2 and (words[i], words[j - 1]) == (rule[2], rule[4]):
                yield from ([r, *below] for below in derive(rule[3], i + 1, j - 1))
            elif rule[0] == "binary":
                for k in range(i + 1, j):
                    for left in derive(rule[2], i, k):
                        yield from ([r, *left, *right] for right in derive(rule[3], k, j))

    for r, rule in enumerate(grammar.dp_rules):
        if rule[0] == "root":
            yield from ([r, *codes] for codes in derive(rule[1], 0, len(words)))


def numbers(grammar, words):
    return np.array([grammar.terminals[word] for word in words], dtype=np.int64)


def best(grammar, scores, sentences, beam=np.inf):
    words = [numbers(grammar, s) for s in sentences]
    ptr = np.concatenate([[0], np.cumsum([w.size for w in words])]).astype(np.int64)
    tables = (grammar.arrays, grammar.context, grammar.word_class)
    return viterbi.viterbi(*tables, scores, ptr, np.concatenate(words), beam, 0, len(words))


MOST_TREES = 3000


@pytest.mark.parametrize("seed", range(12))
def test_viterbi_and_forest_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    grammar = GrammarTables(random_rules(rng))
    words = list(grammar.terminals)
    sentences = [[words[i] for i in rng.integers(len(words), size=n)] for n in (1, 2, 3, 4, 5, 5)]
    scores = rng.normal(size=(len(sentences), len(grammar.dp_rules)))
    values, ptr, rules = best(grammar, scores, sentences)
    for s, sentence in enumerate(sentences):
        trees = [tuple(codes) for codes in itertools.islice(derivations(grammar, sentence), MOST_TREES + 1)]
        if len(trees) > MOST_TREES:  # some random grammars have tens of thousands; the others are enough
            continue
        totals = [scores[s, list(codes)].sum() for codes in trees]
        found = tuple(rules[ptr[s] : ptr[s + 1]].tolist())
        graph, complete = grammar_forest.forest(
            grammar.arrays, grammar.context, grammar.word_class, numbers(grammar, sentence), 10**6
        )
        node_ptr, tail_ptr, tails, edge_rule, symbol, start, end = graph
        assert complete
        graph = (np.array([0, symbol.size]), node_ptr, tail_ptr, tails)
        assert hypergraph.count(*graph) == [len(trees)]
        if not trees:
            assert values[s] == -np.inf
            assert found == ()
            assert symbol.tolist() == [-1]
            continue
        assert values[s] == pytest.approx(max(totals), abs=1e-12)
        assert found in trees
        log_beta = np.empty(symbol.size)
        hypergraph.inside(*graph, scores[s][edge_rule], 0, 1, log_beta)
        assert log_beta[-1] == pytest.approx(logsumexp(totals), abs=1e-10)
        tables = (grammar.arrays, grammar.context, grammar.word_class)
        chart = inside.inside(*tables, scores[s], numbers(grammar, sentence))
        assert chart[0] == pytest.approx(logsumexp(totals), abs=1e-10)
        expected = np.zeros(len(grammar.dp_rules))
        used = inside.outside(grammar.arrays, scores[s], numbers(grammar, sentence), *chart, expected)
        p = np.exp(totals - logsumexp(totals))
        wanted = sum(q * np.bincount(codes, minlength=expected.size) for q, codes in zip(p, trees))
        np.testing.assert_allclose(expected, wanted, atol=1e-10)
        assert used.sum() == pytest.approx(expected.sum() - 1)  # all but the root
        # Nothing useless is left: every node and every edge is in some tree.
        rho_node, rho = np.empty(symbol.size), np.empty(edge_rule.size)
        hypergraph.marginals(*graph, scores[s][edge_rule], 0, 1, log_beta, rho_node, rho)
        assert rho.min() > 0
        first, last = np.empty(len(found), dtype=np.int64), np.empty(len(found), dtype=np.int64)
        codes = np.array(found)
        assert grammar_forest.spans(grammar.arrays.kind, codes, first, last)
        nodes = set(zip(symbol.tolist(), start.tolist(), end.tolist()))
        heads = np.where(grammar.arrays.kind[codes] == 0, -1, grammar.arrays.head[codes])
        assert set(zip(heads.tolist(), first.tolist(), last.tolist())) <= nodes


def test_spans_refuse_what_is_no_tree():
    grammar = GrammarTables(sorted_rules([("root", "A"), ("binary", "A", "A", "A"), ("lexical", "A", "x")]))
    kind = grammar.arrays.kind
    number = {rule[0]: i for i, rule in enumerate(grammar.dp_rules)}
    whole = [number[k] for k in ("root", "binary", "lexical", "lexical")]
    for codes, good in ((whole, True), (whole[:-1], False), ([*whole, whole[-1]], False)):
        start, end = np.zeros(len(codes), dtype=np.int64), np.zeros(len(codes), dtype=np.int64)
        assert grammar_forest.spans(kind, np.array(codes), start, end) == good
    assert (start[:4].tolist(), end[:4].tolist()) != ([], [])


def test_ties_go_to_the_earliest_split():
    space = Grammar("S -> S S | 'a'").bind([["a"]], ["(S a)"])
    batch = space.pack([["a"] * 4])
    found = batch.argmax(batch.scores(np.zeros(space.n_features)))
    assert batch.unpack(found.codes) == ["(S (S a) (S (S a) (S (S a) (S a))))"]


def test_beam_drops_what_is_far_behind():
    space = Grammar("S -> A A [1] | B B\nA -> 'x'\nB -> 'x'").bind([["x"]], ["(S (A x) (A x))"])
    w = np.zeros(space.n_features)
    w[space.feature_names.index(("lexical", "B", "x"))] = -3.0
    w[space.feature_names.index(("binary", "S", "B", "B"))] = 10.0
    scores = w[space.grammar.feature][None]
    exact, _, _ = best(space.grammar, scores, [["x", "x"]])
    beam, _, _ = best(space.grammar, scores, [["x", "x"]], 2.0)
    assert (exact[0], beam[0]) == (4.0, 0.0)


def test_viterbi_equals_nltk():
    nltk = pytest.importorskip("nltk")
    text = """
    S -> NP VP [1.0]
    NP -> Det N [0.5] | NP PP [0.25] | 'John' [0.1] | 'I' [0.15]
    Det -> 'the' [0.8] | 'my' [0.2]
    N -> 'man' [0.5] | 'telescope' [0.5]
    VP -> VP PP [0.1] | V NP [0.7] | V [0.2]
    V -> 'ate' [0.35] | 'saw' [0.65]
    PP -> P NP [1.0]
    P -> 'with' [0.61] | 'under' [0.39]
    """
    pcfg = nltk.PCFG.fromstring(text)
    weights = {}
    for rule in pcfg.productions():
        right = [str(part) for part in rule.rhs()]
        if rule.is_lexical():
            kind = "lexical"
        else:
            kind = "binary" if len(right) == 2 else "unary"
        weights[kind, str(rule.lhs()), *right] = rule.logprob() * np.log(2)
    from trelliswork import Fixed

    model = Fixed(Grammar(pcfg), weights)
    parser = nltk.ViterbiParser(pcfg)
    for text in (
        "I saw the man with my telescope",
        "John ate",
        "the man saw John under the telescope with I",
    ):
        sentence = text.split()
        [wanted] = parser.parse(sentence)
        best_one, *rest = model.predict_kbest([sentence], 3)[0]
        assert best_one.score == pytest.approx(np.log(wanted.prob()), abs=1e-9)
        if not rest or best_one.score > rest[0].score + 1e-9:
            assert model.predict([sentence]) == [" ".join(str(wanted).split(" (p=")[0].split())]
