"""compare: the table, the page, what happens to learners that cannot or take too long."""

from __future__ import annotations

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
    settings = comparison.entries["Generative"].settings[0]
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
    assert {"svg", "polyline", "table"} <= parser.seen
    assert not [tag for tag in parser.open if tag not in ("polyline", "rect")]
    assert "<h1>a &lt; b</h1>" in page


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
    started = time.perf_counter()
    found = tw.compare(X * 10, Y * 10, learners=[tw.CRF(tw.Chain(), tol=0.0, max_iter=10**6)], budget=0.5)
    assert time.perf_counter() - started < 5.0
    assert found.table["out_of_time"][found.table["learner"].index("CRF")]


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
    assert confusions(tw.Classes(), ["a", "a", "b"], ["b", "b", None]) == [("a", "b", 2)]
    trees = ["(S (NP (N cats)) (VP (V sit)))"], ["(S (VP (N cats)) (V sit))"]
    assert sorted(confusions(tw.Grammar(), *trees)) == [("NP", "VP", 1), ("VP", "(nothing)", 1)]
