"""The structured perceptron on label chains of order 1: decode, compare, move."""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.solvers.chain_decoding import best_labels


@njit(fastmath={"contract"})
def perceptron_pass(features, limits, labels, order, step_sizes, weights, sums, clock):
    """Visit the sequences of ``order`` once, in place; returns the number of mistakes.

    Parameters
    ----------
    features : Features
        Features of the tokens.
    limits : Limits
        Hard constraints.
    labels : TrueLabels
        What the labels are known to be.
    order : int array
        Sequences to visit.
    step_sizes : (n_sequences,)
        Factor on what a mistake changes.
    weights : Weights
        Weights; those of attributes in either precision.
    sums : Sums
        Sums of ``clock * update`` from which the averages are made.
    clock : (1,)
        Samples seen so far; counted in place, so that it always belongs to the weights.
    """
    indptr, indices, data, token_rows = features
    trans_mask, start_ok, end_ok = limits
    offsets, gold, opened, possible = labels
    emission, stored, trans = weights
    emission_sum, trans_sum = sums
    n_labels = trans.shape[0]
    longest = 0
    for s in order:
        longest = max(longest, offsets[s + 1] - offsets[s])
    best, limited = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    guesses = np.empty(longest, dtype=np.int64)
    masked = np.empty((n_labels, n_labels))
    for a in range(n_labels):
        for b in range(n_labels):
            masked[a, b] = trans[a, b] + trans_mask[a, b]
    mistakes = 0
    for s in order:
        start = offsets[s]
        n_steps = offsets[s + 1] - start
        clock[0] += 1.0
        if n_steps == 0:
            continue
        for t in range(n_steps):
            row = best[t]
            for k in range(n_labels):
                row[k] = 0.0
            for block in range(token_rows.shape[1]):
                r = token_rows[start + t, block]
                if r < 0:
                    continue
                if data.size == 0:
                    for j in range(indptr[r], indptr[r + 1]):
                        source = emission[indices[j]]
                        for k in range(n_labels):
                            row[k] += source[k]
                else:
                    for j in range(indptr[r], indptr[r + 1]):
                        x = data[j]
                        source = emission[indices[j]]
                        for k in range(n_labels):
                            row[k] += x * source[k]
        for k in range(n_labels):
            if not start_ok[k]:
                best[0, k] = -np.inf
            if not end_ok[k]:
                best[n_steps - 1, k] = -np.inf
        if opened.size != 0 and opened[s]:
            for t in range(n_steps):
                for k in range(n_labels):
                    limited[t, k] = best[t, k] if possible[start + t, k] else -np.inf
            best_labels(limited, masked, n_steps, gold[start : start + n_steps])
        best_labels(best, masked, n_steps, guesses)
        wrong = False
        for t in range(n_steps):
            wrong |= guesses[t] != gold[start + t]
        if not wrong:
            continue
        mistakes += 1
        now = clock[0]
        step = step_sizes[s]
        for t in range(n_steps):
            right, guess = gold[start + t], guesses[t]
            if right != guess:
                for block in range(token_rows.shape[1]):
                    r = token_rows[start + t, block]
                    if r < 0:
                        continue
                    for j in range(indptr[r], indptr[r + 1]):
                        c = indices[j]
                        x = step if data.size == 0 else data[j] * step
                        if stored.shape[0] == 0 or stored[c, right]:
                            emission[c, right] += x
                            emission_sum[c, right] += now * x
                        if stored.shape[0] == 0 or stored[c, guess]:
                            emission[c, guess] -= x
                            emission_sum[c, guess] -= now * x
            if t > 0 and (right != guess or gold[start + t - 1] != guesses[t - 1]):
                a, b = gold[start + t - 1], right
                trans[a, b] += step
                trans_sum[a, b] += now * step
                masked[a, b] = trans[a, b] + trans_mask[a, b]
                a, b = guesses[t - 1], guess
                trans[a, b] -= step
                trans_sum[a, b] -= now * step
                masked[a, b] = trans[a, b] + trans_mask[a, b]
    return mistakes
