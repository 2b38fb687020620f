"""Scores of base pairs."""

from __future__ import annotations

import pytest

from trelliswork import InputError
from trelliswork.metrics import base_pair_scores


@pytest.mark.parametrize(
    ("true", "found"),
    [
        ("((....))", "((...))."),
        ("((...)).", "((....))"),
        ("((...)).", ".(...).."),
        ("(((...)))", ".((...))."),
        (".((...)).", "((.....))"),
        ("..((....))", ".((.....))"),
    ],
)
def test_slip_is_the_same_in_both_directions(true, found):
    there, back = (base_pair_scores([a], [b], slip=1) for a, b in ((true, found), (found, true)))
    assert (there.right, there.predicted, there.true) == (back.right, back.true, back.predicted)


def test_every_pair_of_a_shifted_helix_is_right():
    assert base_pair_scores(["((((....))))"], ["((((...))))."], slip=1).right == 4
    assert base_pair_scores(["((((....))))"], ["((((...))))."]).right == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slip": -1}, "slip must be a whole number >= 0"),
        ({"slip": 0.5}, "slip must be a whole number >= 0"),
        ({"sample_weight": [1.0]}, r"sample_weight must have one entry per sample \(2\)"),
        ({"sample_weight": [1.0, -1.0]}, "sample 1: sample_weight is -1"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(InputError, match=message):
        base_pair_scores(["(...)"] * 2, ["(...)"] * 2, **options)
