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
from trelliswork.dp.places import place_of

__all__ = ["contexts_before", "expect", "viterbi"]

_LISTED = 4  # best steps of a context that the contexts which end like it look at
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
                    place = place_of(label, pair_ptr[r], pair_ptr[r + 1], label[p])
                    if place == pair_ptr[r + 1] or label[place] != label[p]:
                        mass[p] += below[r]


@njit
def expect(unary, step, top, failures, offsets, start, stop, weights, log_z, unary_out, used, failed):
    """Log sums of the sequences ``start .. stop - 1``; expected labels and, times weights, expected steps.

    ``step`` are the exponentials of the scores of steps less ``top``; what is expected of them is added to
    ``used``. A step that several contexts share counts for the one that makes it. Without rows in
    ``unary_out`` only the sums are computed. Marks sequences whose probabilities leave the range of numbers.
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


@njit
def _rest(suffix, pair_ptr, label, value, q):
    """Sum of the values of the steps that a context leaves to shorter ones, added up."""
    total = 0.0
    shorter, end = suffix[q], q
    while end >= 0 and shorter >= 0:
        for p in range(pair_ptr[shorter], pair_ptr[shorter + 1]):
            # Taken here unless a longer suffix makes the step itself; those hold the labels of longer ones.
            place = place_of(label, pair_ptr[end], pair_ptr[end + 1], label[p])
            if place == pair_ptr[end + 1] or label[place] != label[p]:
                total += value[p]
        end, shorter = shorter, suffix[shorter]
    return total


@njit
def _enlist(values, labels, count, value, label):
    """Put a step into a list of the best; their number."""
    if count == _LISTED:
        if not value > values[_LISTED - 1]:
            return count
        count -= 1
    k = count
    while k > 0 and values[k - 1] < value:
        values[k], labels[k] = values[k - 1], labels[k - 1]
        k -= 1
    values[k], labels[k] = value, label
    return count + 1


@njit
def _best_steps(unary, trans, failures, successor, after, best, values, labels, counts, bounds, mark):
    """Best score after each context: over the steps it makes and those it leaves to its suffix.

    Contexts that others end like have a list of their best steps; no other step is above their bound.
    """
    suffix, pair_ptr, label, target, _, child_ptr, _ = failures
    n_labels = unary.size
    mark[:] = -1
    for q in range(suffix.size):
        shorter = suffix[q]
        top = -np.inf
        listed = child_ptr[q + 1] > child_ptr[q]
        count = np.int64(0)
        for p in range(pair_ptr[q], pair_ptr[q + 1]):
            b = label[p]
            value = unary[b] + trans[q, b] + after[target[p]]
            mark[b] = q
            top = max(top, value)
            if listed:
                count = _enlist(values[q], labels[q], count, value, b)
        bound = -np.inf
        if shorter >= 0:
            bound = bounds[shorter]
            reached = top >= bound
            for k in range(counts[shorter]):
                if mark[labels[shorter, k]] != q:
                    top = max(top, values[shorter, k])
                    reached = True
                    if not listed:
                        break
                    count = _enlist(values[q], labels[q], count, values[shorter, k], labels[shorter, k])
            if not reached:
                for b in range(n_labels):
                    if mark[b] != q:
                        top = max(top, unary[b] + trans[q, b] + after[successor[q, b]])
            while count and values[q, count - 1] < bound:
                count -= 1
        best[q] = top
        counts[q] = count
        bounds[q] = max(bound, values[q, _LISTED - 1]) if count == _LISTED else bound


@njit
def viterbi(unary, trans, failures, successor, offsets, start, stop, labels, score):
    """Best label sequences ``start .. stop - 1`` (-1 where nothing is allowed) and their scores.

    Ties go to the lexicographically smallest sequence.
    """
    n, n_labels = trans.shape
    longest = 0
    for s in range(start, stop):
        longest = max(longest, offsets[s + 1] - offsets[s])
    best, mark = np.zeros((longest, n)), np.empty(n_labels, np.int64)
    values, listed = np.empty((n, _LISTED)), np.empty((n, _LISTED), np.int64)
    counts, bounds, step = np.empty(n, np.int64), np.empty(n), np.empty(n_labels)
    for s in range(start, stop):
        lo, n_steps = offsets[s], offsets[s + 1] - offsets[s]
        score[s] = 0.0
        for t in range(n_steps - 1, 0, -1):
            if t == n_steps - 1:
                best[t] = 0.0
            row, after = unary[lo + t], best[t]
            _best_steps(
                row, trans, failures, successor, after, best[t - 1], values, listed, counts, bounds, mark
            )
        if n_steps == 1:
            best[0] = 0.0
        q = np.int64(-1)
        for t in range(n_steps):
            choice = 0
            for b in range(n_labels):
                after = best[t, b] if t == 0 else trans[q, b] + best[t, successor[q, b]]
                step[b] = unary[lo + t, b] + after
                if step[b] > step[choice]:
                    choice = b
            if t == 0:
                score[s] = step[choice]
                if score[s] == -np.inf:
                    labels[lo : lo + n_steps] = -1
                    break
            labels[lo + t] = choice
            q = np.int64(choice) if t == 0 else successor[q, choice]
