"""What held-out samples tell about loss, margin and length."""

from __future__ import annotations

import numpy as np
import pytest

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

    def solve(part, weights):
        return lambda setting: ((sure if setting.loss else none), none)

    settings = [Setting(None), Setting("hamming")]
    told = told_by_others(batch, None, settings, solve)
    assert told.loss == "hamming"
    assert told.length == 0.125  # as many errors with every length: the least sure is the most probable
    assert told_by_others(batch.subset(np.arange(5)), None, settings, solve) == Setting(None)  # too few


@pytest.mark.parametrize("kind", [tw.ZScore, tw.SODA])
@pytest.mark.parametrize("rare", [0.03, 0.6])
def test_ridge_of_an_observed_law_suits_rare_and_frequent_labels(kind, rare):
    """Its size derived from the data alone was worse than the most frequent label."""
    rng = np.random.default_rng(int(100 * rare))

    def drawn(n):
        labels = [
            rng.choice(["O", "A", "B"], 12, p=[1 - rare, rare / 2, rare / 2]).tolist() for _ in range(n)
        ]
        return [
            [f"{b if rng.random() < 0.7 else 'x'}{rng.integers(40)}" for b in row] for row in labels
        ], labels

    (X, y), (X_new, y_new) = drawn(90), drawn(60)
    model = kind(tw.Chain(), reference="observed").fit(X, y)
    wrong, most = (
        np.mean([a != b for row, other in zip(y_new, found) for a, b in zip(row, other)])
        for found in (model.predict(X_new), [["O"] * 12] * 60)
    )
    assert wrong <= most * (1.0 if rare < 0.1 else 0.8)
