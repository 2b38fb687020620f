"""The race, and the laws that let it give up settings."""

from __future__ import annotations

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.selection import behind, race


def test_behind_is_the_paired_t_statistic():
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200))
    statistic = ttest_rel(a, b).statistic * np.sqrt(200 / 199)  # ours divides by n, not by n - 1
    assert behind(a, b) == pytest.approx(statistic)
    assert behind(a, b) == -behind(b, a)
    assert behind(a, a) == 0.0
    assert behind(a + 1.0, a) > 1e6


def test_race_is_that_of_all_rounds_for_those_that_are_left():
    rng = np.random.default_rng(1)
    noise = {(c, i): rng.normal(size=30) for c in range(4) for i in range(3)}
    judge = lambda c, i: 0.3 * c + noise[c, i]  # noqa: E731
    whole, short = race(range(4), range(3), judge, limit=None), race(range(4), range(3), judge, limit=2.0)
    assert whole.left == [0, 1, 2, 3]
    assert short.best == whole.best == 0
    assert len(short.left) < 4
    for candidate in short.left:
        assert np.array_equal(
            np.concatenate(short.losses[candidate]), np.concatenate(whole.losses[candidate])
        )


def test_race_needs_candidates():
    with pytest.raises(tw.InputError, match="needs candidates"):
        race([], [1], lambda c, i: [0.0])
