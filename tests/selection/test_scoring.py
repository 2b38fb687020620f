"""Measures by name equal the metrics of the same name; their standard errors those of the bootstrap."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold

import trelliswork as tw
from trelliswork import metrics
from trelliswork.selection.scoring import MEASURES, as_measure

TAGS = ["O", "B-PER", "I-PER", "B-LOC"]
RNA = ["((...))", "(.....)", "......."]
TREES = ["(S (NP (N cats)) (VP (V sit)))", "(S (N cats) (VP (V sit)))", "(S (N cats) (V sit))"]


def random_pairs(kind, n=60, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "tags":
        true = [[str(t) for t in rng.choice(TAGS, size=int(rng.integers(1, 8)))] for _ in range(n)]
        return true, [[t if rng.random() < 0.7 else "O" for t in row] for row in true]
    if kind == "strings":
        true = ["".join(rng.choice(list("abc"), size=int(rng.integers(1, 6)))) for _ in range(n)]
        return true, [t[: int(rng.integers(0, 6))] + "b" for t in true]
    options = {"rna": RNA, "trees": TREES, "labels": ["cat", "dog", "oak"]}[kind]
    return [[str(v) for v in rng.choice(options, size=n)] for _ in range(2)]


@pytest.mark.parametrize(
    ("name", "kind", "metric"),
    [
        ("token_accuracy", "tags", metrics.token_accuracy),
        ("token_error", "tags", metrics.token_error),
        ("accuracy", "tags", metrics.sequence_accuracy),
        ("entity_f1", "tags", metrics.entity_f1),
        ("entity_precision", "tags", metrics.entity_precision),
        ("entity_recall", "tags", metrics.entity_recall),
        ("pair_f1", "rna", metrics.base_pair_f1),
        ("bracket_f1", "trees", metrics.bracket_f1),
        ("edit", "strings", metrics.edit_error),
        ("accuracy", "labels", lambda a, b: np.mean(np.array(a) == np.array(b))),
        ("error", "labels", lambda a, b: np.mean(np.array(a) != np.array(b))),
    ],
)
def test_measure_is_the_metric_and_its_error_that_of_the_bootstrap(name, kind, metric):
    true, guess = random_pairs(kind)
    judged = MEASURES[name].judge(None, true, true, guess)
    assert judged.score == pytest.approx(metric(true, guess))
    rng = np.random.default_rng(0)
    draws = rng.integers(len(true), size=(2000, len(true)))
    scores = judged.part[draws].sum(axis=1) / judged.size[draws].sum(axis=1)
    assert judged.standard_error == pytest.approx(scores.std(), rel=0.1)


def test_tree_loss_and_columns():
    taxonomy = {"animal": {"cat": {}, "dog": {}}, "plant": {"oak": {}}}
    judged = MEASURES["tree"].judge(tw.Classes(taxonomy), [0] * 3, ["cat"] * 3, ["cat", "dog", "oak"])
    assert judged.part.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(tw.InputError, match="needs a structure with a taxonomy"):
        MEASURES["tree"].judge(tw.Classes(), [0], ["cat"], ["cat"])
    pair = ("AC-G", "ACCG")
    assert MEASURES["columns"].judge(tw.Alignment(), [("ACG", "ACCG")], [pair], [pair]).score == 1.0


def test_lengths_are_checked():
    with pytest.raises(tw.InputError, match="sample 1: 2 labels against 1"):
        MEASURES["token_error"].judge(None, [0, 0], [["a"], ["a", "b"]], [["a"], ["a"]])


def test_defaults():
    tree = {"r": {"a": {}, "b": {}}}
    for learner, y, name in (
        (tw.CRF(tw.Chain()), [["B-PER", "O"]], "entity_f1"),
        (tw.CRF(tw.Chain()), [["D", "N"]], "token_error"),
        (tw.CRF(tw.RNA("g6")), ["(...)"], "pair_f1"),
        (tw.CRF(tw.Grammar()), TREES, "bracket_f1"),
        (tw.CRF(tw.Classes()), ["a"], "error"),
        (tw.StructuredSVM(tw.Classes(tree), loss="tree"), ["a"], "tree"),
        (tw.CRF(tw.Alignment()), [("A", "A")], "columns"),
        (tw.KernelRegression(), ["abc"], "edit"),
        (tw.KernelRegression(output="values"), [1.0], "score"),
    ):
        assert as_measure(None, learner, y).name == name


X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]] * 2
Y = [["D", "N"]] * 8


def test_scorers_in_a_grid():
    for scoring in (tw.scorers["token_error"], tw.scorers["accuracy"]):
        grid = GridSearchCV(tw.CRF(tw.Chain()), {"l2": [0.1, 1.0]}, cv=KFold(2), scoring=scoring)
        assert grid.fit(X, Y).best_score_ in (0.0, 1.0)
        assert pickle.loads(pickle.dumps(scoring)).measure is scoring.measure


@pytest.mark.parametrize(
    ("name", "structure", "X", "y"),
    [
        ("entity_f1", tw.Chain(), [["a", "b"], ["b"], ["a"]], [["O", "B-X"], ["B-X"], ["O"]]),
        ("pair_f1", tw.RNA("g6"), ["GGAAACC", "GAAAC", "GGAAAAC"], ["((...))", "(...)", "(.....)"]),
        ("bracket_f1", tw.Grammar(min_count=1), [["cats", "sit"]] * 3, TREES[:1] * 3),
        ("columns", tw.Alignment(), [("ACC", "AC"), ("CAC", "CC")], [("ACC", "AC-"), ("CAC", "C-C")]),
        ("edit", tw.Transducer(min_context=1), ["ab", "ba"], ["xy", "yx"]),
        ("tree", tw.Classes({"p": {"a": {}, "b": {}}, "q": {"c": {}}}), [[0.0], [1.0], [2.0]], list("abc")),
        ("error", tw.Classes(), [[0.0], [1.0], [2.0]], list("abc")),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_every_structure_has_a_scorer(name, structure, X, y):
    folds = KFold(2, shuffle=True, random_state=0)
    grid = GridSearchCV(tw.CRF(structure), {"l2": [0.01, 0.1]}, cv=folds, scoring=tw.scorers[name])
    rows = np.array(X * 4) if isinstance(structure, tw.Classes) else X * 4
    grid.fit(rows, y * 4)
    assert np.isfinite(grid.best_score_)
    measure = MEASURES[name]
    best = measure.evaluate(grid.best_estimator_, rows, y * 4).score
    assert grid.score(rows, y * 4) == measure.sign * best  # greater is better


def test_own_measures():
    def metric(y_true, y_pred):
        return float(len(y_true) == len(y_pred))

    for scoring in (metric, make_scorer(metrics.token_accuracy), tw.scorers["token_accuracy"]):
        model = tw.Tuned(tw.CRF(tw.Chain()), scoring=scoring, n_values=2, cv=2).fit(X, Y)
        assert model.best_score_ == 1.0
    with pytest.raises(tw.InputError, match="scoring must be"):
        as_measure(3, tw.CRF(tw.Chain()), Y)
