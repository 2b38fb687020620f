"""Labels as normal distributions of rows of numbers with one covariance: linear discriminant analysis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as la

__all__ = ["NormalLaw", "normal_law"]

_LEAST_SHRINKAGE = 1e-8  # columns may be copies of each other


class NormalLaw(NamedTuple):
    """Log-densities of the labels, less what is the same for all of them: linear in the row.

    Attributes
    ----------
    weights : ndarray of shape (n_columns, n_labels)
        Weights of the columns.
    bias : ndarray of shape (n_labels,)
        Constants; 0 for labels that were not seen, which are as far away as the mean of all rows.
    counts : ndarray of shape (n_labels,)
        Sums of the weights of the rows of each label.
    """

    weights: np.ndarray
    bias: np.ndarray
    counts: np.ndarray


def normal_law(rows: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, n_labels: int) -> NormalLaw:
    """Means by label and a common covariance, shrunk as much as its own noise tells.

    Columns are measured in their standard deviations. The covariance within labels is mixed with a multiple
    of the identity; the part of the latter is that of Ledoit and Wolf (2004), which goes to 0 as rows are
    added.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Numbers.
    codes : ndarray of int, shape (n_rows,)
        Labels.
    weights : ndarray or None
        Weight of every row; 2 is the same as having it twice.
    n_labels : int
        Number of labels.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.structures.normal import normal_law
    >>> rows = np.array([[0.0, 1.0], [2.0, 1.2], [10.0, 1.0], [12.0, 1.2]])
    >>> law = normal_law(rows, np.array([0, 0, 1, 1]), None, 2)
    >>> (rows @ law.weights + law.bias).argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    share = np.ones(codes.size) if weights is None else weights
    total = float(share.sum())
    counts = np.bincount(codes, share, minlength=n_labels)
    mean = share @ rows / max(total, 1e-300)
    deviation = np.sqrt(share @ (rows - mean) ** 2 / max(total, 1e-300))
    unit = np.where(deviation > 0, deviation, 1.0)
    rows = (rows - mean) / unit
    sums = np.zeros((n_labels, rows.shape[1]))
    np.add.at(sums, codes, rows * share[:, None])
    means = sums / np.where(counts > 0, counts, 1.0)[:, None]
    within = rows - means[codes]
    if not within.any():  # one row per label: all that is known is how far apart they are
        within = rows
    covariance = _shrunk(within, share, total)
    if not covariance.any():
        return NormalLaw(np.zeros(sums.shape[::-1]), np.zeros(n_labels), counts)
    table = la.solve(covariance, means.T, assume_a="pos")
    bias = -0.5 * np.einsum("cd,dc->c", means, table)
    table /= unit[:, None]
    return NormalLaw(table, bias - mean @ table, counts)


def _shrunk(rows: np.ndarray, share: np.ndarray, total: float) -> np.ndarray:
    """Covariance of rows about 0, mixed with a multiple of the identity."""
    n_columns = rows.shape[1]
    covariance = (rows.T * share) @ rows / total
    size = float(np.trace(covariance)) / max(n_columns, 1)
    squares = float(np.sum(covariance**2))
    norms = np.einsum("ij,ij->i", rows, rows)
    noise = (float(share @ norms**2) / total - squares) / total
    spread = squares - n_columns * size**2
    part = 1.0 if spread <= noise else max(noise / spread, _LEAST_SHRINKAGE)
    out = (1.0 - part) * covariance
    out[np.diag_indices(n_columns)] += part * size
    return out
