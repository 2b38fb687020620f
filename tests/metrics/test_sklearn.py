"""Scorers and cross-validation: ragged data through scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    cross_val_score,
    cross_validate,
)

from trelliswork import Ragged, metrics
from trelliswork.metrics import scorers


class Memory(BaseEstimator):
    """Remembers the last label of every token; unknown tokens get ``default``."""

    def __init__(self, default="O"):
        self.default = default

    def fit(self, X, y):
        self.table_ = {t: label for x, s in zip(X, y) for t, label in zip(x, s)}
        self.n_seen_ = len(X)
        return self

    def predict(self, X):
        return [[self.table_.get(t, self.default) for t in x] for x in X]

    def shorten(self, X):
        return ["one"]

    def seen(self, X):
        return [(self.n_seen_, len(x)) for x in X]


X = [["ana", "duerme"], ["el", "mar"], ["ana"], [], ["luis", "ve", "a", "ana"], ["mar"]] * 3
Y = [["B-PER" if t in ("ana", "luis") else "O" for t in x] for x in X]


def test_scorers_in_scikit_learn():
    scores = cross_val_score(Memory(), X, Y, cv=3, scoring=scorers.entity_f1, error_score="raise")
    assert scores.tolist() == [1.0, 1.0, 1.0]
    others = ("make_scorer", "base_pair_f1")  # the latter is of RNA structures
    many = {name: getattr(scorers, name) for name in scorers.__all__ if name not in others}
    result = cross_validate(Memory(), X, Y, cv=3, scoring=many, error_score="raise")
    assert result["test_neg_token_error"].tolist() == [0.0, 0.0, 0.0]
    search = GridSearchCV(
        Memory(), {"default": ["B-PER", "O"]}, cv=KFold(6), scoring=scorers.token_accuracy, n_jobs=1
    )
    search.fit(X + [["nuevo"]], Y + [["O"]])
    assert search.best_params_ == {"default": "O"}


def test_scorers_pickle_and_have_a_repr():
    loss = pickle.loads(pickle.dumps(metrics.make_scorer(metrics.token_error, greater_is_better=False)))
    assert loss(Memory().fit([["a"]], [["X"]]), [["a", "b"]], [["X", "Y"]]) == -0.5
    assert repr(loss) == "make_scorer(token_error, greater_is_better=False)"
    assert (
        repr(metrics.make_scorer(metrics.entity_f1, scheme="raw")) == "make_scorer(entity_f1, scheme='raw')"
    )


def object_array(data):
    out = np.empty(len(data), dtype=object)
    out[:] = data
    return out


class OnlyIntegers:
    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        if not isinstance(i, int):
            raise TypeError("integers only")
        return self.data[i]


@pytest.mark.parametrize("wrap", [list, tuple, object_array, OnlyIntegers, Ragged.from_list])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_val_predict_on_every_container(wrap, n_jobs):
    cv = KFold(4, shuffle=True, random_state=0)
    out = metrics.cross_val_predict(Memory(), wrap(X), Y, cv=cv, n_jobs=n_jobs)
    assert out == Y
    assert isinstance(out, list)


def test_cross_val_predict_methods_groups_and_masks():
    sizes = metrics.cross_val_predict(Memory(), X, Y, cv=3, method="seen")
    assert sizes == [(12, len(x)) for x in X]
    groups = [i % 2 for i in range(len(X))]
    assert metrics.cross_val_predict(Memory(), X, Y, cv=GroupKFold(2), groups=groups, method="seen")[0] == (
        9,
        2,
    )
    mask = np.arange(len(X)) < 10
    halves = [(~mask, mask), (mask, ~mask)]
    assert metrics.cross_val_predict(Memory(), X, Y, cv=halves, method="seen")[0] == (8, 2)


def test_cross_val_predict_on_sparse_rows():
    class Rows(BaseEstimator):
        def fit(self, X):
            self.n_ = X.shape[0]
            return self

        def predict(self, X):
            return X.toarray().sum(axis=1)

    rows = sp.coo_array(np.arange(12.0).reshape(6, 2))
    assert metrics.cross_val_predict(Rows(), rows, cv=3) == [1.0, 5.0, 9.0, 13.0, 17.0, 21.0]


def test_cross_val_predict_leaves_the_estimator_alone():
    model = Memory()
    metrics.cross_val_predict(model, X, Y, cv=2)
    assert not hasattr(model, "table_")


def test_cross_val_predict_errors():
    with pytest.raises(ValueError, match="X has 18 samples, y has 17"):
        metrics.cross_val_predict(Memory(), X, Y[:-1])
    with pytest.raises(ValueError, match=r"sample \d+ is in \d"):
        metrics.cross_val_predict(Memory(), X, Y, cv=ShuffleSplit(2, random_state=0))
    with pytest.raises(ValueError, match="shorten returned 1 results for 6 samples"):
        metrics.cross_val_predict(Memory(), X, Y, cv=3, method="shorten")
