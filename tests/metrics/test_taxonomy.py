"""Hierarchical F1, by hand."""

import pytest

from trelliswork import InputError
from trelliswork.metrics import hierarchical_f1

TREE = {"animal": {"cat": {}, "dog": {"poodle": {}, "pug": {}}}, "plant": {"oak": {}}}


def test_nodes_above_labels_count():
    assert hierarchical_f1(["cat", "oak"], ["cat", "oak"], TREE) == 1.0
    assert hierarchical_f1(["cat"], ["oak"], TREE) == 0.0  # the root does not count
    assert hierarchical_f1([], [], TREE) == 0.0
    # animal, dog, poodle against animal, cat: one node of three and of two.
    assert hierarchical_f1(["poodle"], ["cat"], TREE) == pytest.approx(2 * 1 / (3 + 2))
    # An inner node stands for what is above it; nodes of all samples count together.
    assert hierarchical_f1(["poodle", "oak"], ["dog", "pug"], TREE) == pytest.approx(2 * 2 / (5 + 5))


def test_labels_that_the_taxonomy_lacks_stand_for_themselves():
    assert hierarchical_f1(["yeast", "cat"], ["yeast", "rust"], TREE) == pytest.approx(2 * 1 / (3 + 2))


def test_as_many_predictions_as_labels():
    with pytest.raises(InputError):
        hierarchical_f1(["cat"], [], TREE)
