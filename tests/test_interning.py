"""Attributes numbered all at once are those of tokens read one by one."""

import numpy as np
import pytest

from trelliswork import _tokens
from trelliswork._interning import intern_rows

SENTENCES = {
    "words": [["a", "b"], [], ["b", "c", "a"]],
    "lists": [[["x", "y"], ["y"]], [["y", "x"], [], ["x", "y", "x"]], [["x", "y"]]],
    "tuples": [[("x", "y"), ("y",)], [["y"]]],
    "dicts": [
        [{"w": "a", "cap": True, "n": 2.5}, {"w": "b", "cap": False, "n": 0}],
        [{}, {"w": "a", "cap": 1, "n": np.float32(2.5)}, {"w:a": True, "none": None}],
    ],
}


@pytest.mark.parametrize("kind", SENTENCES)
@pytest.mark.parametrize("at_a_time", [1, 100])
def test_the_same_table_as_one_by_one(kind, at_a_time):
    X = SENTENCES[kind]
    names, matrix, index = intern_rows(X, at_a_time)
    block = _tokens._one_by_one(X).blocks[0]
    table = block.matrix.toarray()[block.rows]
    assert names == block.names
    np.testing.assert_array_equal(matrix.toarray()[index], table)
    assert matrix.shape[0] == len({row.tobytes() for row in table}) or kind != "words"


@pytest.mark.parametrize(
    "X",
    [
        [["a", ["b"]]],
        [[{"a"}]],
        [[{"a": ["b"]}]],
        [[{"a": float("nan")}]],
        [[{1: "a"}]],
        [[{"a": 10**400}]],
        [[["a", 1]]],
        [],
    ],
)
def test_what_is_not_simple_is_left_to_the_caller(X):
    assert intern_rows(X) is None
