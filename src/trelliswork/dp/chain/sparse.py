"""Label chains whose contexts are kept as observed, with scaled probabilities.

A context makes some steps itself; all others it leaves to its suffix, the context without its first label
(``structures/chain/sparse.py``). A step of a context is then shared by all longer contexts that leave it to
this one, and a token costs as many operations as there are steps, not contexts times labels. Sums over
groups of contexts are differences; where little would be left of one, it is added up term by term.
"""

from __future__ import annotations

import math

import numpy as np

from trelliswork._jit import njit

__all__ = ["contexts_before", "expect"]

_LITTLE = 1e-6  # part of a sum below which a difference is not trusted


@njit
def contexts_before(labels, offsets, successor):
    """Context before each token, -1 at the first token of a sequence."""
    out = np.full(labels.size, -1, np.int64)
    for s in range(offsets.size - 1):
        for t in range(offsets[s] + 1, offsets[s + 1]):
            before = labels[t - 1] if t == offsets[s] + 1 else successor[out[t - 1], labels[t - 1]]
            out[t] = before
    return out


@njit
def _shared(alpha, failures, below, mass):
    """Probability of the contexts that take each step: its own and those that leave it to it.

    ``below`` becomes the probability of a context and of all that have it as a suffix.
    """
    suffix, pair_ptr, label, _, up, child_ptr, child = failures
    n = suffix.size
    for q in range(n):
        below[q] = alpha[q]
    for q in range(n - 1, -1, -1):  # longer contexts have higher numbers
        if suffix[q] >= 0:
            below[suffix[q]] += below[q]
        for p in range(pair_ptr[q], pair_ptr[q + 1]):
            mass[p] = below[q]
    for q in range(n):
        if suffix[q] >= 0:
            for p in range(pair_ptr[q], pair_ptr[q + 1]):
                mass[up[p]] -= below[q]
    for q in range(n):
        for p in range(pair_ptr[q], pair_ptr[q + 1]):
            if mass[p] < _LITTLE * below[q]:
                mass[p] = alpha[q]
                for j in range(child_ptr[q], child_ptr[q + 1]):
                    r = child[j]
                    at = pair_ptr[r] + np.searchsorted(label[pair_ptr[r] : pair_ptr[r + 1]], label[p])
                    if at == pair_ptr[r + 1] or label[at] != label[p]:
                        mass[p] += below[r]


@njit
def expect(unary, factors, top, failures, offsets, start, stop, weights, log_z, unary_out, trans_out, failed):
    """Log sums of the sequences ``start .. stop - 1``; expected labels and, times weights, expected steps.

    ``factors`` are the exponentials of the scores of all steps less ``top``. A step that several contexts
    share counts for the one that makes it. Without rows in ``unary_out`` only the sums are computed. Marks
    sequences whose probabilities leave the range of numbers.
    """
    suffix, pair_ptr, label, target, up, _, _ = failures
    n, n_labels = suffix.size, unary.shape[1]
    longest = 0
    for s in range(start, stop):
        longest = max(longest, offsets[s + 1] - offsets[s])
    alpha, scale = np.empty((longest, n)), np.empty(longest)
    factor = np.empty((longest, n_labels))
    below, mass, value = np.empty(n), np.empty((longest, label.size)), np.empty(label.size)
    beta, ahead = np.empty(n), np.empty(n)
    # Steps one after the other: their places in the tables of all contexts and labels are far apart.
    step, used = np.empty(label.size), np.zeros(label.size)
    for q in range(n):
        for p in range(pair_ptr[q], pair_ptr[q + 1]):
            step[p] = factors[q, label[p]]
    for s in range(start, stop):
        lo, n_steps = offsets[s], offsets[s + 1] - offsets[s]
        log_z[s] = 0.0
        failed[s] = False
        for t in range(n_steps):
            highest = -np.inf
            for b in range(n_labels):
                highest = max(highest, unary[lo + t, b])
            if not highest > -np.inf:
                highest = 0.0
            log_z[s] += highest + (top if t else 0.0)
            for b in range(n_labels):
                factor[t, b] = math.exp(unary[lo + t, b] - highest)
            for q in range(n):
                alpha[t, q] = 0.0
            if t == 0:
                for b in range(n_labels):
                    alpha[0, b] = factor[0, b]
            else:
                _shared(alpha[t - 1], failures, below, mass[t])
                for q in range(n):
                    for p in range(pair_ptr[q], pair_ptr[q + 1]):
                        alpha[t, target[p]] += mass[t, p] * step[p] * factor[t, label[p]]
            total = 0.0
            for q in range(n):
                total += alpha[t, q]
            if not (1e-200 < total < 1e200):
                failed[s] = True
                break
            for q in range(n):
                alpha[t, q] /= total
            scale[t] = total
            log_z[s] += math.log(total)
        if failed[s] or not unary_out.shape[0]:
            continue
        for q in range(n):
            beta[q] = 1.0
        for t in range(n_steps - 1, 0, -1):
            for b in range(n_labels):
                unary_out[lo + t, b] = 0.0
            for q in range(n):
                own, others = 0.0, 0.0
                for p in range(pair_ptr[q], pair_ptr[q + 1]):
                    b = label[p]
                    value[p] = step[p] * factor[t, b] * beta[target[p]] / scale[t]
                    expected = weights[s] * mass[t, p] * value[p]
                    unary_out[lo + t, b] += expected
                    used[p] += expected
                    own += value[p]
                    if up[p] >= 0:
                        others += value[up[p]]
                if suffix[q] < 0:
                    ahead[q] = own
                    continue
                rest = ahead[suffix[q]] - others
                if rest < _LITTLE * ahead[suffix[q]]:
                    rest = _rest(suffix, pair_ptr, label, value, q)
                ahead[q] = own + rest
            beta, ahead = ahead, beta
        for b in range(n_labels):
            if n_steps:
                unary_out[lo, b] = weights[s] * alpha[0, b] * beta[b]
    for q in range(n if unary_out.shape[0] else 0):
        for p in range(pair_ptr[q], pair_ptr[q + 1]):
            trans_out[q, label[p]] += used[p]


@njit
def _rest(suffix, pair_ptr, label, value, q):
    """Sum of the values of the steps that a context leaves to shorter ones, added up."""
    total = 0.0
    shorter, end = suffix[q], q
    while end >= 0 and shorter >= 0:
        for p in range(pair_ptr[shorter], pair_ptr[shorter + 1]):
            # Taken here unless a longer suffix makes the step itself; those hold the labels of longer ones.
            at = pair_ptr[end] + np.searchsorted(label[pair_ptr[end] : pair_ptr[end + 1]], label[p])
            if at == pair_ptr[end + 1] or label[at] != label[p]:
                total += value[p]
        end, shorter = shorter, suffix[shorter]
    return total
