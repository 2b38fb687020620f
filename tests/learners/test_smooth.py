"""The quasi-Newton method on functions whose minimum is known."""

import numpy as np
import pytest

from trelliswork.learners.optimize import smooth


@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_pairs_in_single_precision_lead_to_the_same_minimum(l1):
    rng = np.random.default_rng(0)
    curvature, b = np.exp(rng.normal(size=2000)), rng.normal(size=2000)
    exact = np.sign(b) * np.maximum(np.abs(b) - l1, 0.0) / curvature
    least = float(0.5 * (curvature * exact) @ exact - b @ exact + l1 * np.abs(exact).sum())
    for long in (4000, 1000):  # more weights than there are here, and fewer
        minimum = smooth.lbfgs(
            lambda w: (float(0.5 * (curvature * w) @ w - b @ w), curvature * w - b),
            np.zeros(2000),
            l1=l1,
            max_iter=500,
            tol=1e-6,
            pairs=smooth.Pairs(10, 2000, long=long, block=300),
        )
        assert minimum.converged, minimum.message
        assert minimum.objective == pytest.approx(least, rel=1e-9)
