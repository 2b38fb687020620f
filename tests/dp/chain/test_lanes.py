"""Chains of any order in lanes, against the log-space recursion and against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trelliswork._ragged import offsets_of
from trelliswork.dp.chain import any_order
from trelliswork.dp.chain import lanes as chain_lanes
from trelliswork.dp.chain.trellis import Contexts, Expected, Groups, Sums, Trellis
from trelliswork.structures.chain.contexts import level_starts, successors
from trelliswork.structures.chain.trellis import NO_EDGES, arrange, factors_of
from trelliswork.structures.limits import ChainLimits


def in_lanes(unary, trans, order, offsets, weights, with_marginals=True):
    """Log partitions, marginals, expected transitions and failures."""
    n, k = offsets.size - 1, unary.shape[1]
    lanes = arrange(offsets, k**order, ChainLimits())
    factors, top, room = factors_of(trans[None])
    log_z, failed = np.empty(n), np.zeros(n, dtype=bool)
    marginals = np.empty(unary.shape if with_marginals else (0, k))
    counts = np.zeros(trans.shape)
    for first, last in lanes.chunks:
        chain_lanes.forward_backward(
            unary,
            factors[0],
            top[0],
            room[0],
            level_starts(k, order),
            Groups(offsets, lanes.members, lanes.group_ptr),
            first,
            last,
            weights,
            Sums(log_z, marginals, counts, failed),
        )
    return log_z, marginals, counts, failed


def in_logs(unary, trans, order, offsets, weights):
    n, k = offsets.size - 1, unary.shape[1]
    log_z, marginals, counts = np.empty(n), np.empty(unary.shape), np.zeros((1, *trans.shape))
    shared = np.zeros(n, dtype=np.int64)
    trellis = Trellis(unary, trans[None], shared, NO_EDGES)
    contexts = Contexts(successors(k, order), level_starts(k, order), offsets)
    expected = Expected(marginals, counts, shared, NO_EDGES)
    any_order.marginals(trellis, contexts, np.arange(n), weights, log_z, expected)
    return log_z, marginals, counts[0]


def problem(seed, k, order, lengths, scale=1.0, forbid=0.0):
    rng = np.random.default_rng(seed)
    offsets = offsets_of(np.array(lengths))
    unary = scale * rng.normal(size=(int(offsets[-1]), k))
    trans = scale * rng.normal(size=(int(level_starts(k, order)[-1]), k))
    trans[rng.random(trans.shape) < forbid] = -np.inf
    unary[rng.random(unary.shape) < forbid / 2] = -np.inf
    return unary, trans, order, offsets, rng.random(len(lengths))


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("forbid", [0.0, 0.3])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_same_sums_as_in_log_space(order, forbid, k):
    lengths = [0, 1, 2, 3, 9, 4, 1, 0, 7, 3, 12, 5]
    args = problem(order + k, k, order, lengths, forbid=forbid)
    log_z, marginals, counts, failed = in_lanes(*args)
    log_z2, marginals2, _ = in_logs(*args)
    assert np.array_equal(failed, log_z2 == -np.inf)
    right = np.repeat(~failed, np.diff(args[3]))
    np.testing.assert_allclose(log_z[~failed], log_z2[~failed], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(marginals[right], marginals2[right], rtol=1e-10, atol=1e-14)
    weights = np.where(failed, 0.0, args[4])
    np.testing.assert_allclose(counts, in_logs(*args[:4], weights)[2], rtol=1e-10, atol=1e-14)
    only = in_lanes(*args, with_marginals=False)
    np.testing.assert_array_equal(only[0][~failed], log_z[~failed])


@pytest.mark.parametrize("scale", [10.0, 60.0, 300.0])
@pytest.mark.parametrize("forbid", [0.0, 0.4])
def test_extreme_scores_are_right_or_flagged(scale, forbid):
    args = problem(3, 3, 2, [15, 14, 8, 8, 20, 3], scale, forbid)
    log_z, marginals, counts, failed = in_lanes(*args)
    log_z2, marginals2, _ = in_logs(*args)
    right = np.repeat(~failed, np.diff(args[3]))
    np.testing.assert_allclose(log_z[~failed], log_z2[~failed], rtol=1e-12)
    np.testing.assert_allclose(marginals[right], marginals2[right], rtol=1e-8, atol=1e-12)
    weights = np.where(failed, 0.0, args[4])
    np.testing.assert_allclose(counts, in_logs(*args[:4], weights)[2], rtol=1e-8, atol=1e-12)


def test_against_enumeration():
    unary, trans, order, offsets, weights = problem(0, 2, 2, [4])
    table = successors(2, order)
    total, mean = 0.0, np.zeros_like(unary)
    for labels in itertools.product(range(2), repeat=4):
        score, context = unary[0, labels[0]], labels[0]
        for t in range(1, 4):
            score += unary[t, labels[t]] + trans[context, labels[t]]
            context = table[context, labels[t]]
        total += np.exp(score)
        mean[np.arange(4), labels] += np.exp(score)
    log_z, marginals, _, failed = in_lanes(unary, trans, order, offsets, weights)
    assert not failed.any()
    assert log_z[0] == pytest.approx(np.log(total))
    np.testing.assert_allclose(marginals, weights[0] * mean / total, rtol=1e-12)


@pytest.mark.parametrize("lengths", [[30], [9, 30], [4, 30, 9], [30, 3, 30, 9], [9] * 9 + [1] * 3])
def test_few_lanes(lengths):
    args = problem(5, 3, 2, lengths)
    log_z, marginals, counts, failed = in_lanes(*args)
    expected = in_logs(*args)
    assert not failed.any()
    np.testing.assert_allclose(log_z, expected[0], rtol=1e-12)
    np.testing.assert_allclose(marginals, expected[1], atol=1e-12)
    np.testing.assert_allclose(counts, expected[2], atol=1e-12)


def test_many_lanes_and_long_chains_keep_their_scale():
    rng = np.random.default_rng(1)
    lengths = [2000, *rng.integers(1, 40, 60).tolist()]
    args = problem(2, 3, 2, lengths)
    log_z, marginals, _, failed = in_lanes(*args)
    assert not failed.any()
    np.testing.assert_allclose(log_z, in_logs(*args)[0], rtol=1e-11)
    np.testing.assert_allclose(marginals.sum(axis=1), np.repeat(args[4], lengths), rtol=1e-9)
