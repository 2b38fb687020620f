"""Sentences that would take too long are refused before the work begins."""

import time

import pytest

import trelliswork as tw
from trelliswork.metrics import bracket_scores

X, Y = [["a", "b"], ["a", "b", "b"]], ["(S (A a) (B b))", "(S (A a) (X (B b) (B b)))"]


def test_long_sentences_are_refused_at_once():
    model = tw.Generative(tw.Grammar()).fit(X, Y)
    long = ["a"] * 100_000
    started = time.process_time()
    with pytest.raises(tw.InputError, match=r"sample 1: a sentence of 100,000 words takes too long"):
        model.predict([X[0], long])
    with pytest.raises(tw.InputError, match="takes too long"):
        tw.Generative(tw.Grammar()).fit([long], ["(S " + "(A a) " * 100_000 + ")"])
    assert time.process_time() - started < 20
    with pytest.raises(tw.InputError, match="at most 2 words"):
        tw.Generative(tw.Grammar().with_limits(sentence_work=8)).fit(X, Y)


def test_deep_trees_are_scored():
    deep = "(S " * 20_000 + "(A a)" + ")" * 20_000
    assert bracket_scores([deep], ["(S (A a))"]).n_correct == 1


def test_the_best_tree_needs_no_list_of_all():
    model = tw.Generative(tw.Grammar().with_limits(forest_edges=1)).fit(X, Y)
    [[best]] = model.predict_kbest(X[:1], k=1)
    assert str(best.output) == Y[0]
    assert 0 < best.probability <= 1
    with pytest.raises(tw.InputError, match="too many trees to be listed"):
        model.predict_kbest(X[:1], k=2)
