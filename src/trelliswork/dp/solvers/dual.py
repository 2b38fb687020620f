"""Coordinate ascent on the dual of a small quadratic program."""

from __future__ import annotations

import math

import numpy as np

from trelliswork._jit import njit


@njit
def coordinate_ascent(gram, linear, group, cap, alpha, tol, max_sweeps):
    """Maximise ``linear . alpha - alpha' gram alpha / 2`` over alpha >= 0; alpha is the start.

    The entries of a group g >= 0 may sum to ``cap[g]`` at the most; group -1 has no cap. At
    the cap, pairs of a group exchange weight, since single entries could no longer move.
    Returns the number of sweeps; stops when no step is longer than ``tol``.
    """
    n = linear.size
    slope = linear - gram @ alpha
    used = np.zeros(cap.size)
    for i in range(n):
        if group[i] >= 0:
            used[group[i]] += alpha[i]
    for sweep in range(1, max_sweeps + 1):
        longest = 0.0
        for i in range(n):
            if gram[i, i] <= 0.0:
                continue
            new = max(0.0, alpha[i] + slope[i] / gram[i, i])
            g = group[i]
            if g >= 0:
                new = min(new, max(0.0, cap[g] - (used[g] - alpha[i])))
            step = new - alpha[i]
            if step != 0.0:
                alpha[i] = new
                if g >= 0:
                    used[g] += step
                for j in range(n):
                    slope[j] -= step * gram[j, i]
                longest = max(longest, abs(step) * math.sqrt(gram[i, i]))
            if g < 0 or used[g] < cap[g] * (1.0 - 1e-12):
                continue
            for j in range(i + 1, n):
                if group[j] != g:
                    continue
                curvature = gram[i, i] + gram[j, j] - 2.0 * gram[i, j]
                if curvature <= 0.0:
                    continue
                step = (slope[i] - slope[j]) / curvature
                step = min(max(step, -alpha[i]), alpha[j])
                if step == 0.0:
                    continue
                alpha[i] += step
                alpha[j] -= step
                for m in range(n):
                    slope[m] -= step * (gram[m, i] - gram[m, j])
                longest = max(longest, abs(step) * math.sqrt(curvature))
        if longest <= tol:
            return sweep
    return max_sweeps
