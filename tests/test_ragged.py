"""Stacked sequences: every kind of values and of index."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from trelliswork import Ragged

OFFSETS = [0, 2, 2, 3]
ROWS = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])


def plain(r):
    return [(x.toarray() if sp.issparse(x) else x).tolist() for x in r]


@pytest.mark.parametrize(
    "values",
    [
        ROWS,
        sp.coo_matrix(ROWS),
        sp.csc_array(ROWS),
        ["a", "b", "c"],
        ("a", "b", "c"),
        [["a"], ["b"], ["c"]],
        [["a", "b"], [], {"c": 1.0}],
    ],
    ids=lambda v: type(v).__name__,
)
def test_every_kind_of_values_can_be_cut(values):
    r = Ragged(values, OFFSETS)
    items = plain(r)
    assert [len(x) for x in items] == [2, 0, 1]
    assert plain(r[::-1]) == items[::-1]
    assert plain(r[[2, 0, -1]]) == [items[2], items[0], items[2]]
    assert plain(r[np.array([True, False, True])]) == [items[0], items[2]]
    assert plain(r[np.array([0, 2], dtype=np.uint8), ...]) == [items[0], items[2]]
    assert plain(r[[]]) == plain(r[1:1]) == []


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([True, False], r"mask of shape \(2,\) for 3 sequences"),
        ([True] * 4, r"mask of shape \(4,\)"),
        ([0.0, 1.0], r"expected a list of whole numbers or a mask, got float64 of shape \(2,\)"),
        (1.5, "expected a list of whole numbers"),
        (["a"], "expected a list of whole numbers"),
        ([[0], [1]], r"got int64 of shape \(2, 1\)"),
        ([0, 3], "sequences 0 to 3 of 3"),
        ([-4, 0], "sequences -4 to 0 of 3"),
        (3, "sequence 3 of 3"),
    ],
)
def test_bad_indexes(index, message):
    with pytest.raises(IndexError, match=message):
        Ragged(ROWS, OFFSETS)[index]
