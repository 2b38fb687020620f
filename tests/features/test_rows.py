"""Scaling of rows: tf-idf as scikit-learn has it, and numbers."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import trelliswork as tw
from trelliswork.features import RowScaler
from trelliswork.io import read_rows

TEXTS = ["the cat sat on the mat", "the dog barks", "a cat and a dog", "mat"]


def test_tfidf_is_that_of_scikit_learn(tmp_path):
    (tmp_path / "t.csv").write_text("body,label\n" + "".join(f"{t},x\n" for t in TEXTS))
    rows = read_rows(str(tmp_path / "t.csv"), text=["body"])
    scaler = RowScaler(text=["body"])
    found = scaler.fit_transform(rows.X)
    other = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+").fit(TEXTS)
    expected = other.transform(TEXTS)
    for i, row in enumerate(found):
        for word, j in other.vocabulary_.items():
            assert row.get(f"body:{word}", 0.0) == pytest.approx(expected[i, j])
    assert scaler.transform([{"body:new": 1.0, "body:cat": 2.0}]) == [{"body:cat": 1.0}]


def test_numbers():
    rows = [{"a": 1.0, "b": 1, "c": 4.0, "d": "x"}, {"a": 3.0, "b": 0, "d": True}, {"a": 5.0, "b": 1}]
    scaler = RowScaler().fit(rows)
    assert scaler.numbers_ == ["a", "c"]
    scaled = scaler.transform(rows)
    assert np.mean([row["a"] for row in scaled]) == pytest.approx(0.0)
    assert np.std([row["a"] for row in scaled]) == pytest.approx(1.0)
    assert [scaled[0][key] for key in "bcd"] == [1, 1.0, "x"]
    assert RowScaler(numbers=False).fit_transform(rows) == rows
    assert RowScaler().fit_transform([{"a": 2.0}, {"a": 2.0}]) == [{"a": 0.0}] * 2
    for bad in ("text", [["a"]]):
        with pytest.raises(tw.InputError):
            scaler.transform(bad)
