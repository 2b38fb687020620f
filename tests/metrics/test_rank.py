"""The share of outputs that a model ranks above the right one, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.metrics import relative_rank


def fitted():
    """A model of words that mostly give their label away, and its training data."""
    rng = np.random.default_rng(1)
    X, y = [], []
    for _ in range(6):
        tags = [str(rng.choice(list("XYZ"))) for _ in range(rng.integers(1, 6))]
        X.append(
            [f"{tag if rng.random() >= 0.2 else rng.choice(list('XYZ'))}{rng.integers(2)}" for tag in tags]
        )
        y.append(tags)
    return tw.ZScore(tw.Chain(), reference="uniform", loss=None, reg=1e-6).fit(X, y), X, y


def test_shares_by_sampling():
    model, X, y = fitted()
    wrong = [[("X", "Y", "Z")[(ord(t) + 1) % 3] for t in tags] for tags in y]
    exact, flags = relative_rank(model, X, wrong, return_exact=True)
    assert flags.all()
    drawn, flags = relative_rank(model, X, wrong, max_rank=1, n_samples=5000, return_exact=True)
    assert not flags.all()
    np.testing.assert_allclose(drawn, exact, atol=0.04)


def test_small_scores_are_told_apart():
    model, X, y = fitted()
    expected = relative_rank(model, X, y)
    model.coef_ = model.coef_ * 1e-12
    np.testing.assert_allclose(relative_rank(model, X, y), expected)


def test_the_worst_outputs():
    model, X, _ = fitted()
    batch = model.space_.pack(X)
    worst = batch.unpack(batch.argmax(batch.scores(-model.coef_)).codes)
    shares, exact = relative_rank(model, X, worst, max_rank=4, return_exact=True)
    assert exact.all()
    for x, share in zip(X, shares):
        outputs = list(model.space_.enumerate(x))
        values = model.space_.pack([x] * len(outputs), outputs).gold().toarray() @ model.coef_
        np.testing.assert_allclose(share, np.mean(values >= values.min() - 1e-9))


def test_impossible_outputs():
    model, _, _ = fitted()
    assert relative_rank(model, [["X0"]], [["unheard of"]]).tolist() == [1.0]
    # An input that has no output at all.
    X, y = [["a", "b"], ["b"]], [["X", "Y"], ["Y"]]
    model = tw.ZScore(tw.Chain(transitions=[("X", "Y")]), reference="uniform", loss=None, reg=1e-6).fit(X, y)
    assert relative_rank(model, [["a"] * 3], [["X", "Y", "X"]]).tolist() == [1.0]


def test_mistakes():
    model, X, y = fitted()
    for bad in (0, "many", 2.5):
        with pytest.raises(tw.InputError, match="max_rank must be a whole number >= 1"):
            relative_rank(model, X, y, max_rank=bad)
    with pytest.raises(tw.InputError, match="samples but y has"):
        relative_rank(model, X, y[:1])
