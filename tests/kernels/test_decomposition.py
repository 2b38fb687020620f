"""The weighted decomposition kernel against its definition."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.kernels import Normalized, WeightedDecomposition


def by_definition(x, z, selector, context):
    def windows(s):
        for t in range(len(s) - selector + 1):
            first = t - (context - selector) // 2
            yield tuple(s[t : t + selector]), Counter(s[max(first, 0) : max(first + context, 0)])

    return float(sum(sum((h & g).values()) for s, h in windows(x) for r, g in windows(z) if s == r))


@pytest.mark.parametrize(("selector", "context"), [(1, 5), (2, 5), (1, 1), (2, 2), (3, 4)])
def test_definition(selector, context):
    rng = np.random.default_rng(selector)
    A = ["".join(rng.choice(list("abc"), size=n)) for n in (0, 1, 2, 5, 9)]
    B = [list(rng.choice(list("abcd"), size=n)) for n in (0, 3, 7, 8)]
    kernel = WeightedDecomposition(selector, context)
    expected = [[by_definition(list(a), b, selector, context) for b in B] for a in A]
    assert np.array_equal(kernel([list(a) for a in A], B), expected)
    assert np.array_equal(kernel(A, A), [[by_definition(a, b, selector, context) for b in A] for a in A])
    assert np.array_equal(kernel.diagonal(A), np.diag(kernel(A, A)))
    cosines = Normalized(kernel)(A, A)
    assert np.linalg.eigvalsh(cosines).min() > -1e-12


def test_bad_sizes():
    with pytest.raises(tw.InputError, match="selector must be"):
        WeightedDecomposition(0)(["a"], ["a"])
    with pytest.raises(tw.InputError, match="at least as long"):
        WeightedDecomposition(3, 2)(["a"], ["a"])
