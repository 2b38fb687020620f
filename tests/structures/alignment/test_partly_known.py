"""Reference alignments whose capitals alone are known: sums over all alignments that agree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

import trelliswork as tw
from trelliswork.structures.alignment.columns import reference_pairs

# Logarithms of 0 are silent in compiled code.
pytestmark = [pytest.mark.filterwarnings(f"ignore:{what}:RuntimeWarning") for what in ("divide", "invalid")]

X = [("ACgT", "AgTT"), ("acG", "aG"), ("aCa", "ac"), ("AA", "AA"), ("cAcg", "Acc")]
Y = [("ACgT-", "A-gTT"), ("acG", "a-G"), ("aCa", "-ac"), ("AA", "AA"), ("cAcg", "-Acc")]


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("mode", ["global", "semiglobal", "local"])
@pytest.mark.parametrize("scale", [1.0, 2000.0])  # as numbers and as logarithms
def test_sums_over_alignments_with_the_known_pairs(mode, canonical, scale):
    structure = tw.Alignment("affine", mode=mode, canonical=canonical, alphabet="dna", core="upper")
    space = structure.bind(X, Y)
    w = scale * np.random.default_rng(0).normal(size=space.n_features)
    log_z, expected, summed = [], np.zeros(space.n_features), np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    for x, y, weight in zip(X, Y, summed, strict=True):
        core = reference_pairs(y, "-", "upper")
        outputs = [o for o in space.enumerate(x) if core <= reference_pairs(o)]
        batch = space.pack([x] * len(outputs), outputs)
        features = batch.features(batch.gold_codes).toarray()
        log_z.append(logsumexp(features @ w))
        expected += weight * np.exp(features @ w - log_z[-1]) @ features
    found_z, found = space.pack(X, Y).expect_known(w, summed)
    assert np.allclose(found_z, log_z)
    assert np.allclose(found, expected)


def test_crf_ignores_how_the_rest_is_aligned():
    structure = tw.Alignment("affine", alphabet="dna", core="upper")
    other = [("A--CgT-", "AgT---T"), ("acG", "-aG"), ("aCa-", "-a-c"), ("AA", "AA"), ("cAcg-", "-A-cc")]
    assert reference_pairs(Y[1], "-", "upper") == reference_pairs(other[1], "-", "upper")
    first = tw.CRF(structure, l2=0.1).fit(X[1:], Y[1:])
    second = tw.CRF(structure, l2=0.1).fit(X[1:], other[1:])
    assert np.allclose(first.coef_, second.coef_)
    everything = tw.CRF(tw.Alignment("affine", alphabet="dna"), l2=0.1)
    assert not np.allclose(everything.fit(X[1:], Y[1:]).coef_, everything.fit(X[1:], other[1:]).coef_)
    with pytest.raises(tw.Unsupported, match="lbfgs"):
        tw.CRF(structure, solver="newton-cg").fit(X, Y)
