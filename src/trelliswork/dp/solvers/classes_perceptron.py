"""A pass of the perceptron over rows with one class each."""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

__all__ = ["perceptron_pass"]


@njit
def perceptron_pass(rows, above, gold, order, weights, clock, w, u):
    """Visit the samples in a given order; returns the number of mistakes.

    Parameters
    ----------
    rows : tuple of ndarray
        Features of the samples in CSR form: pointers, attributes, values.
    above : tuple of ndarray
        Classes and their ancestors in CSR form: pointers, columns of the weights, how much each counts.
    gold : ndarray of int64
        The true class of every sample.
    order : ndarray of int64
        Samples in the order of the visits.
    weights : ndarray
        Weight of every sample.
    clock : ndarray of one number
        Samples seen, this one included; counted in place.
    w, u : ndarray of shape (n_attributes, n_columns)
        Weights, and the sum for their average; changed in place.
    """
    row_ptr, attribute, value = rows
    above_ptr, column, share = above
    n_columns = w.shape[1]
    by_column = np.empty(n_columns)
    mistakes = 0
    for i in order:
        clock[0] += 1.0
        by_column[:] = 0.0
        for t in range(row_ptr[i], row_ptr[i + 1]):
            table = w[attribute[t]]
            for c in range(n_columns):
                by_column[c] += value[t] * table[c]
        guess, best = 0, -np.inf
        for label in range(above_ptr.size - 1):
            score = 0.0
            for a in range(above_ptr[label], above_ptr[label + 1]):
                score += share[a] * by_column[column[a]]
            if score > best:
                guess, best = label, score
        if guess == gold[i]:
            continue
        mistakes += 1
        for side in range(2):
            label, sign = (gold[i], weights[i]) if side == 0 else (guess, -weights[i])
            for t in range(row_ptr[i], row_ptr[i + 1]):
                for a in range(above_ptr[label], above_ptr[label + 1]):
                    step = sign * share[a] * value[t]
                    w[attribute[t], column[a]] += step
                    u[attribute[t], column[a]] += clock[0] * step
    return mistakes
