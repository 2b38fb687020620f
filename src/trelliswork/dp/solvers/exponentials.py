"""Coordinate ascent for sums of maxima of exponentials with an L1 penalty."""

from __future__ import annotations

import math

import numpy as np

from trelliswork._jit import njit

_HIGHEST = 300.0  # of a logarithm; beyond it products of exponentials would overflow


@njit
def _moved_dot(first, last, indices, data, pull, l1, stiff, step):
    """``d . w`` and the curvature along ``d`` after ``step`` times ``d`` was added to the pull."""
    dot, curvature = 0.0, 0.0
    for entry in range(first, last):
        j = indices[entry]
        v = pull[j] + step * data[entry]
        size = abs(v) - l1[j]
        if size > 0.0:
            dot += data[entry] * math.copysign(size, v)
            curvature += data[entry] * data[entry]
    return dot / stiff, curvature / stiff


@njit
def ascend(owner, indptr, indices, data, log_factor, alpha, total, pull, l1, stiff, tol, max_sweeps):
    """Maximise the dual of ``sum_i max_p exp(log_factor_p - d_p . w)`` plus penalties, over alpha >= 0.

    The weights that belong to a pull v are ``sign(v) max(|v| - l1, 0) / stiff``. ``alpha`` of all planes,
    ``total`` of every sample and ``pull`` are the start and are changed. A plane is at its optimum where its
    exponent is the log of the total of its sample, or below it at alpha = 0. Returns the largest change of
    such a log in the last sweep.
    """
    worst = 0.0
    for _ in range(max_sweeps):
        worst = 0.0
        for p in range(owner.size):
            first, last, i = indptr[p], indptr[p + 1], owner[p]
            rest = total[i] - alpha[p]
            dot, curvature = _moved_dot(first, last, indices, data, pull, l1, stiff, -alpha[p])
            high = min(log_factor[p] - dot, _HIGHEST)  # the exponent without this plane's alpha
            if alpha[p] == 0.0 and rest > 0.0 and high <= math.log(rest):
                continue
            new = 0.0
            if rest <= 1e-300 or high > math.log(rest):
                # The root of exponent(tau) - tau, tau the log of the total: exponent falls with tau.
                dot, curvature = _moved_dot(
                    first, last, indices, data, pull, l1, stiff, math.exp(high) - total[i]
                )
                low = log_factor[p] - dot
                if rest > 0.0:
                    low = max(low, math.log(rest))
                tau = min(max(math.log(total[i]), low), high) if total[i] > 0.0 else 0.5 * (low + high)
                for _round in range(60):
                    amount = math.exp(tau)
                    dot, curvature = _moved_dot(
                        first, last, indices, data, pull, l1, stiff, amount - total[i]
                    )
                    value = log_factor[p] - dot - tau
                    if value > 0.0:
                        low = tau
                    else:
                        high = tau
                    step = value / (1.0 + curvature * amount)
                    if abs(step) <= 1e-14 or high - low <= 1e-14:
                        break
                    tau += step
                    if not low < tau < high:
                        tau = 0.5 * (low + high)
                new = max(math.exp(tau) - rest, 0.0)
            change = new - alpha[p]
            if change == 0.0:
                continue
            before = math.log(total[i]) if total[i] > 0.0 else -np.inf
            for entry in range(first, last):
                pull[indices[entry]] += change * data[entry]
            alpha[p] = new
            total[i] = rest + new
            after = math.log(total[i]) if total[i] > 0.0 else -np.inf
            worst = max(worst, abs(after - before))
        if worst <= tol:
            break
    return worst
