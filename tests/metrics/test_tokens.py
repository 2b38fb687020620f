"""Shares of right tokens and sequences, on every kind of sequence."""

from __future__ import annotations

import numpy as np
import pytest

from trelliswork import Ragged, metrics


@pytest.mark.parametrize("y", [[], [[]]])
def test_nothing_to_divide_by(y):
    assert metrics.token_error(y, y) == 0.0
    assert metrics.token_accuracy(y, y) == metrics.sequence_accuracy(y, y) == 1.0


@pytest.mark.parametrize(
    "convert",
    [
        list,
        tuple,
        lambda y: [np.array(s) for s in y],
        lambda y: Ragged.from_list(y),
        lambda y: ["".join(s) for s in y],
    ],
    ids=["list", "tuple", "arrays", "Ragged", "strings"],
)
def test_token_rates_take_every_kind_of_sequence(convert):
    y_true, y_pred = convert([["a", "b"], ["a"], ["c", "a"]]), [["a", "b"], ["b"], ["c", "b"]]
    assert metrics.token_error(y_true, y_pred) == 0.4
    assert metrics.token_accuracy(y_true, y_pred) == 0.6
    assert metrics.sequence_accuracy(y_true, y_pred) == pytest.approx(1 / 3)


def test_labels_of_mixed_kinds():
    assert metrics.token_accuracy([[("a", 1), (), 2]], [[("a", 1), 0, 2.0]]) == pytest.approx(2 / 3)
    assert metrics.token_accuracy([np.array([1, 2])], [["1", 2]]) == 0.5


def test_labels_that_are_not_known_are_passed_over():
    assert metrics.token_accuracy([["a", None, {"b", "c"}]], [["a", "x", "d"]]) == 0.5
    assert metrics.sequence_accuracy([["a", None], [None]], [["a", "x"], ["y"]]) == 1.0


@pytest.mark.parametrize(
    "metric",
    [
        metrics.token_error,
        metrics.token_accuracy,
        metrics.sequence_accuracy,
        metrics.entity_scores,
        metrics.entity_f1,
    ],
)
def test_unequal_lengths_are_one_error(metric):
    with pytest.raises(ValueError, match=r"^sample 1: y_true has 2 labels, y_pred has 1$"):
        metric([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match=r"^y_true has 1 sequences, y_pred has 2$"):
        metric([["O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match=r"^sample 0: y_pred must be a list of labels .* got int$"):
        metric([["O"]], [3])
