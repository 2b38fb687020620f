"""compare: the table, the page, what happens to learners that cannot or take too long."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.features import TokenWindow
from trelliswork.selection.confusions import confusions
from trelliswork.selection.splits import make_splits

rng = np.random.default_rng(0)
WORDS = {"D": ["the", "a"], "N": ["cat", "dog", "run"], "V": ["run", "sees"]}
Y = [["D", "N", "V"][: int(rng.integers(1, 4))] for _ in range(30)]
X = [[str(rng.choice(WORDS[a])) for a in row] for row in Y]
ROWS = np.eye(3)


@pytest.fixture(scope="module")
def comparison():
    return tw.compare(X, Y, tw.Chain(), ["CRF", "Generative", "Perceptron"], budget=20)


def test_table(comparison):
    table = comparison.table
    assert len({len(column) for column in table.values()}) == 1
    assert set(table["learner"]) == {"CRF", "Generative", "Perceptron", "most frequent"}
    assert table["score"] == sorted(table["score"])
    assert comparison.best == table["learner"][0]
    assert table["near_best"][0]
    assert not table["near_best"][-1]
    assert table["learner"][-1] == "most frequent"
    top = table["score"][0] + table["standard_error"][0]
    assert table["near_best"] == [score <= top for score in table["score"]]
    assert table["failure"] == [None] * 4
    sizes = dict(zip(table["learner"], table["bytes"], strict=True))
    assert sizes["CRF"] > 100
    assert sizes["most frequent"] is None


def test_scores_are_those_of_models_fitted_without_the_samples(comparison):
    found = comparison.predictions("Generative")
    assert tw.metrics.token_error(Y, found) == pytest.approx(
        dict(zip(comparison.table["learner"], comparison.table["score"], strict=True))["Generative"]
    )
    (train, test), *_ = make_splits(Y, 3)
    settings = comparison.entries["Generative"].folds[0].settings
    model = tw.Generative(tw.Chain(), **settings).fit([X[i] for i in train], [Y[i] for i in train])
    assert model.predict([X[i] for i in test]) == [found[i] for i in test]


def test_learner_to_go_on_with(comparison):
    learner = comparison.learner("CRF")
    assert learner.get_params().items() >= comparison.settings("CRF").items()
    assert learner.fit(X, Y).predict([["the", "cat"]]) == [["D", "N"]]


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert not {"src", "href"} & dict(attrs).keys()  # the page needs no other file
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()


def test_text_and_page(comparison, tmp_path):
    text = str(comparison)
    assert re.search(r"^\S+ \*", text.splitlines()[1])
    assert "token_error" in text.splitlines()[0]
    assert comparison._repr_html_().startswith("<table>")
    page = comparison.to_html(tmp_path / "page.html", title="a < b")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    parser = Tags()
    parser.feed(page)
    assert {"script", "table"} <= parser.seen
    assert not parser.open
    assert "<h1>a &lt; b</h1>" in page
    drawn = json.loads(re.search(r"^const data = (.*);$", page, re.MULTILINE)[1])
    assert drawn["falling"]
    assert all(len(line) > 1 for curve in drawn["curves"] for line in curve["lines"])
    assert {curve["across"] for curve in drawn["curves"]} >= {"l2"}
    assert len(drawn["mistakes"]) == len(comparison.confusions(top=15))


def test_features_estimators_and_names():
    found = tw.compare(
        X,
        Y,
        learners={"small": tw.CRF(tw.Chain(), l2=1e3), "b": "Perceptron"},
        features=TokenWindow(),
        budget=9,
    )
    assert set(found.table["learner"]) == {"small", "Perceptron", "most frequent"}
    twice = tw.compare(X, Y, learners=[tw.Generative(tw.Chain())] * 2, budget=9)
    assert set(twice.table["learner"]) == {"Generative", "Generative'", "most frequent"}


def test_learners_that_cannot_are_told_so():
    wrong = tw.CRF(tw.Chain(order=0))
    found = tw.compare(X, Y, learners={"wrong": wrong, "right": tw.Generative(tw.Chain())}, budget=9)
    failures = dict(zip(found.table["learner"], found.table["failure"], strict=True))
    assert failures["right"] is None
    assert "order must be" in failures["wrong"]
    assert found.table["learner"][-1] == "wrong"
    assert "order must be" in str(found)
    with pytest.raises(tw.InputError, match="no learner could be fitted"):
        tw.compare([("A", "A")] * 6, [("A", "A")] * 6, tw.Alignment("nothing"), ["Generative"], budget=9)


def test_budget_is_kept():
    other = [["?"] * len(y) for y in Y]  # both are right, so that there are mistakes for ever
    endless = tw.Perceptron(tw.Chain(), max_iter=10**7)
    started = time.perf_counter()
    found = tw.compare((X + X) * 5, (Y + other) * 5, learners=[endless], budget=0.1)
    assert time.perf_counter() - started < 5.0
    assert found.table["out_of_time"][found.table["learner"].index("Perceptron")]


@pytest.mark.parametrize(
    ("learners", "message"),
    [
        ("CRF", "'all' or a list"),
        (["crf"], "unknown learner 'crf'"),
        ([], "is empty"),
        ([tw.CRF], "expected names"),
    ],
)
def test_bad_learners(learners, message):
    with pytest.raises(tw.InputError, match=message):
        tw.compare(X, Y, learners=learners)


def test_confusions():
    assert confusions(tw.Classes(), ROWS, ["a", "a", "b"], ["b", "b", None]) == [("a", "b", 2)]
    trees = ["(S (NP (N cats)) (VP (V sit)))"], ["(S (VP (N cats)) (V sit))"]
    assert sorted(confusions(tw.Grammar(), [None], *trees)) == [("NP", "VP", 1), ("VP", "(nothing)", 1)]
    folds = confusions(tw.RNA("g6"), ["GGAAAUC"], ["(.....)"], [".(...)."])
    assert folds == [("G-C", "(nothing)", 1), ("(nothing)", "G-U", 1)]
    columns = confusions(tw.Alignment(), [("ACG", "AG")], [("ACG", "A-G")], [("ACG", "AG-")])
    assert columns == [("C:-", "C:G", 1), ("G:G", "G:-", 1)]
    strings = confusions(tw.Transducer(), ["ab"], [{"xy", "xz"}], ["xw"])
    assert strings == [("y", "w", 1)]


class Slow(tw.Generative):
    """Cannot be ended early."""

    seconds = 0.5

    def fit(self, X, y, sample_weight=None):
        time.sleep(self.seconds)
        return super().fit(X, y, sample_weight)


class Slower(Slow):
    seconds = 1.5


def test_with_little_time_learners_are_compared_as_they_are():
    learners = {"slow": Slow(tw.Chain()), "quick": tw.Generative(tw.Chain())}
    found = tw.compare(X, Y, learners=learners, budget=4.0)
    rows = dict(zip(found.table["learner"], found.table["tuned"], strict=True))
    assert rows == {"slow": False, "quick": True, "most frequent": False}
    assert found.table["failure"] == [None] * 3
    assert found.settings("slow") == {}
    assert re.search("slow .*no time to tune", str(found))


def test_no_learner_is_left_out_for_the_sake_of_tuning():
    class Leisurely(Slow):
        seconds = 0.3  # 2.4 for two folds of four learners

    found = tw.compare(X, Y, learners=[Leisurely(tw.Chain()) for _ in range(4)], budget=2.8, cv=2)
    assert found.table["failure"] == [None] * 5


def test_a_learner_that_cannot_be_ended_does_not_take_the_time_of_others():
    learners = {"slow": Slower(tw.Chain()), "quick": tw.Generative(tw.Chain())}
    found = tw.compare(X, Y, learners=learners, budget=2.0)
    failures = dict(zip(found.table["learner"], found.table["failure"], strict=True))
    assert re.search(r"a fit takes \S+ s and has \S+ s; raise budget", failures["slow"])
    assert failures["quick"] is None


def test_iterators_columns_and_tables():
    found = tw.compare(iter(X), (y for y in Y), learners=["Generative"], budget=5)
    assert len(found.predictions()) == 30
    frame = type(
        "Frame", (), {"columns": ["w"], "to_numpy": None, "shape": (3, 1), "__len__": lambda self: 3}
    )()
    with pytest.raises(tw.InputError, match=r"^X is one table of 3 rows"):
        tw.compare(frame, ["D", "N", "V"], learners=["CRF", "Generative"], budget=5)


def test_a_letter_that_only_one_fold_has():
    pairs = [("ACCA", "ACA"), ("CAC", "CC")] * 3 + [("AWA", "AA")]
    aligned = [("ACCA", "A-CA"), ("CAC", "C-C")] * 3 + [("AWA", "A-A")]
    found = tw.compare(pairs, aligned, tw.Alignment(), ["Perceptron"], budget=5)
    assert found.table["failure"] == [None]
    assert found.learner().structure.unknown == "error"


@pytest.mark.parametrize("y", [np.array([0, 1, 0]), ["a", "b", "a"], [7, 1, 2]])
def test_single_labels_need_a_structure(y):
    with pytest.raises(tw.InputError, match=r"sample 0: .* name the structure: compare\(X, y, Classes"):
        tw.compare(np.eye(3), y)
