"""Outputs of largest expected accuracy against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from trelliswork import Chain


@pytest.mark.parametrize("order", [1, 2])
def test_mea_has_the_most_right_labels(order):
    rng = np.random.default_rng(order)
    X, y = [["a", "b", "a"], ["b"], []], [["X", "Y", "Z"], ["Y"], []]
    space = Chain(order=order, transitions=[("X", "Y"), ("Y", "Z"), ("Y", "Y"), ("Z", "X"), ("X", "X")]).bind(
        X, y
    )
    batch = space.pack(X)
    scores = batch.scores(rng.normal(size=space.n_features))
    found = batch.mea(scores)
    marginals = batch.unpack_marginals(batch.marginals(scores))
    place = {label: k for k, label in enumerate(space.labels)}
    for x, p, value in zip(X, marginals, found.values, strict=True):
        expected = [
            sum(p[t, place[label]] for t, label in enumerate(output)) for output in space.enumerate(x)
        ]
        assert value == pytest.approx(max(expected))
