"""Passes of the perceptron with a kernel on input rows: the model is a sum over the rows of mistakes."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import numpy as np

from trelliswork._errors import InputError
from trelliswork.kernels import Kernel
from trelliswork.kernels._compose import similarities
from trelliswork.structures.abilities import RowView

__all__ = ["fitting_average", "kernel_matrix", "kernel_passes"]

_MAX_BYTES = 1 << 30
_MOST_PASSES = 1 << 10  # that an average goes on for
_WRONG = 0.05  # share of outputs: to get the last few right the average would give up what it is good for


def kernel_matrix(view: RowView, kernel: Kernel) -> np.ndarray:
    """Similarities of all rows of a view; refused where they would not fit into memory."""
    n = int(view.rows.shape[0])
    if 8 * n**2 > _MAX_BYTES:
        raise InputError(
            f"the kernel matrix of {n:,} different rows takes {8 * n**2 / 2**30:,.1f} GiB (at most 1); take "
            "fewer samples, or StructuredSVM(kernel=...), which keeps a part of it"
        )
    return similarities(kernel, view.rows, view.rows, view.first)


def kernel_passes(
    view: RowView,
    K: np.ndarray,
    w: np.ndarray,
    u: np.ndarray,
    orders: Iterable[np.ndarray],
    weights: np.ndarray,
    clock: np.ndarray,
) -> Generator[int, None, None]:
    """Passes of the kernel perceptron, one per order of samples; yields the number of mistakes.

    Parameters
    ----------
    view : RowView
        Samples with their true outputs.
    K : ndarray of shape (n_rows, n_rows)
        Similarities of the rows.
    w, u : ndarray
        Coefficients of the features of the view, and their moves times the clock, for the average; changed in
        place.
    orders, weights, clock
        As in :func:`~trelliswork.learners.perceptron.perceptron_passes`.
    """
    n_rows, n_columns = K.shape[0], view.n_columns
    stop = n_rows * n_columns
    work = _seen(view, K, w)
    table = work[:stop].reshape(n_rows, n_columns)
    for order in orders:
        mistakes = 0
        for i in order:
            clock[0] += 1.0
            sample = view.batch.subset([i])
            guess = sample.argmax(sample.scores(work)).codes
            if np.array_equal(guess.values, sample.gold_codes.values):
                continue
            mistakes += 1
            move = (sample.gold() - sample.features(guess)).tocoo()
            place, step = move.col, move.data * weights[i]
            np.add.at(w, place, step)
            np.add.at(u, place, clock[0] * step)
            of_row = place < stop
            rows, which = np.unique(place[of_row] // n_columns, return_inverse=True)
            change = np.zeros((rows.size, n_columns))
            np.add.at(change, (which, place[of_row] % n_columns), step[of_row])
            table += K[:, rows] @ change
            np.add.at(work, place[~of_row], step[~of_row])
        yield mistakes


def fitting_average(
    view: RowView, K: np.ndarray, average: np.ndarray, last: np.ndarray, n_passes: int
) -> np.ndarray:
    """Average that goes on with the last weights, which make no mistake, until it makes few.

    A kernel often learns few samples in few passes, most of which were made with weights that knew little.

    Parameters
    ----------
    view : RowView
        Samples with their true outputs.
    K : ndarray of shape (n_rows, n_rows)
        Similarities of the rows.
    average, last : ndarray
        Coefficients of the features of the view: mean over the passes, and after the last of them.
    n_passes : int
        Passes of the average.
    """
    seen, final = _seen(view, K, average), _seen(view, K, last)
    batch, more = view.batch, 0
    while more <= _MOST_PASSES:
        share = more / (n_passes + more)
        guess = batch.argmax(batch.scores(seen + share * (final - seen))).codes
        wrong = sum(not np.array_equal(a, b) for a, b in zip(guess, batch.gold_codes, strict=True))
        if wrong <= _WRONG * len(batch):
            return average + share * (last - average)
        more = max(1, 2 * more)
    return last


def _seen(view: RowView, K: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Weights that samples see, of coefficients of their rows."""
    stop = K.shape[0] * view.n_columns
    return np.concatenate([(K @ w[:stop].reshape(K.shape[0], view.n_columns)).ravel(), w[stop:]])
