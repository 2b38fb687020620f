"""What held-out samples tell about loss, margin and length."""

from __future__ import annotations

import numpy as np

import trelliswork as tw
from trelliswork.learners.moments.held_out import Setting, told_by_others

RNG = np.random.default_rng(5)


def test_errors_count_and_not_how_sure_weights_are():
    """Weights that are far too sure, and right more often, are better than unsure ones."""
    X = [RNG.choice(["a", "b"], size=9).tolist() for _ in range(40)]
    wrong = iter((RNG.random(9 * 40) < 0.2).tolist())
    y = [["AB"[(word == "b") ^ next(wrong)] for word in x] for x in X]
    space, batch = tw.Chain().compile(X, y)
    sure = np.zeros(space.n_features)
    for i, name in enumerate(space.feature_names):
        if name in {("emission", "a", "A"), ("emission", "b", "B")}:
            sure[i] = 1000.0
    assert np.count_nonzero(sure) == 2
    none = np.zeros_like(sure)

    def solve(part, weights, setting):
        return (sure if setting.loss else none), none

    settings = [Setting(None), Setting("hamming")]
    told = told_by_others(batch, None, settings, solve)
    assert told.loss == "hamming"
    assert told.length == 0.125  # as many errors with every length: the least sure is the most probable
    assert told_by_others(batch.subset(np.arange(5)), None, settings, solve) == Setting(None)  # too few
