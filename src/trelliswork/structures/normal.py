"""Labels as normal distributions of rows of numbers with one covariance: linear discriminant analysis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from trelliswork._errors import InputError

__all__ = ["NormalLaw", "holds_measurements", "normal_law", "normal_law_of"]

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


class Measured(Protocol):
    """Samples with rows of numbers and labels."""

    space: Any
    emission: Any

    def summed(self, question: Callable[..., Any], *args: Any, weights: np.ndarray | None = None) -> Any:
        """Answer to a question that adds up over samples."""

    def labelled_rows(self, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Rows, the codes of their true labels, and the weights of rows."""


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
    return _law(lambda question, *args: question(rows, codes, share, *args), n_labels)


def normal_law_of(batch: Measured, weights: np.ndarray | None) -> NormalLaw:
    """:func:`normal_law` of the rows and the true labels of samples, which may lie in blocks.

    Parameters
    ----------
    batch : Measured
        Samples.
    weights : ndarray or None
        Weight of every sample.
    """
    return _law(
        lambda question, *args: batch.summed(_of_samples, question, *args, weights=weights),
        batch.space.n_labels,
    )


def holds_measurements(batch: Measured) -> bool:
    """Whether rows are measurements, not counts.

    Parameters
    ----------
    batch : Measured
        Samples.
    """
    return batch.space.measured and bool(batch.summed(_other_than_counts))


def _other_than_counts(batch: Measured, weights: np.ndarray | None) -> int:
    return int(not batch.emission.holds_counts)


def _of_samples(batch: Measured, question: Callable[..., Any], *args: Any) -> Any:
    *others, weights = args
    rows, codes, share = batch.labelled_rows(weights)
    return question(rows, codes, np.ones(codes.size) if share is None else share, *others)


def _law(ask: Callable[..., Any], n_labels: int) -> NormalLaw:
    """The law from sums over rows."""
    import scipy.linalg as la  # slow to import

    total, counts, sums = ask(_sums, n_labels)
    mean = sums / max(total, 1e-300)
    deviation = np.sqrt(ask(_squares, mean) / max(total, 1e-300))
    unit = np.where(deviation > 0, deviation, 1.0)
    means = ask(_label_sums, mean, unit, n_labels) / np.where(counts > 0, counts, 1.0)[:, None]
    products, norms, differing = ask(_products, mean, unit, means)
    if not differing:  # one row per label: all that is known is how far apart they are
        products, norms, _ = ask(_products, mean, unit, np.zeros_like(means))
    covariance = _shrunk(products / max(total, 1e-300), norms, total)
    if not np.isfinite(covariance).all():
        raise InputError("the squares of the columns overflow; scale the features down")
    if not covariance.any():
        return NormalLaw(np.zeros(means.shape[::-1]), np.zeros(n_labels), counts)
    table = la.solve(covariance, means.T, assume_a="pos")
    bias = -0.5 * np.einsum("cd,dc->c", means, table)
    table /= unit[:, None]
    return NormalLaw(table, bias - mean @ table, counts)


def _sums(
    rows: np.ndarray, codes: np.ndarray, share: np.ndarray, n_labels: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """Weight of all rows and of those of each label, and the sum of all rows."""
    return float(share.sum()), np.bincount(codes, share, minlength=n_labels), share @ rows


def _label_sums(
    rows: np.ndarray, codes: np.ndarray, share: np.ndarray, mean: np.ndarray, unit: np.ndarray, n_labels: int
) -> np.ndarray:
    """Sums of the rows of each label, in deviations from the mean."""
    sums = np.zeros((n_labels, rows.shape[1]))
    np.add.at(sums, codes, (rows - mean) / unit * share[:, None])
    return sums


def _squares(rows: np.ndarray, codes: np.ndarray, share: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return share @ (rows - mean) ** 2


def _products(
    rows: np.ndarray,
    codes: np.ndarray,
    share: np.ndarray,
    mean: np.ndarray,
    unit: np.ndarray,
    means: np.ndarray,
) -> tuple[np.ndarray, float, int]:
    """Products of what rows are off the means of their labels, fourth powers, and how many rows are off."""
    within = (rows - mean) / unit - means[codes]
    norms = np.einsum("ij,ij->i", within, within)
    return (within.T * share) @ within, float(share @ norms**2), int(np.count_nonzero(norms))


def _shrunk(covariance: np.ndarray, norms: float, total: float) -> np.ndarray:
    """Covariance mixed with a multiple of the identity, from the sum of the squared norms' squares, too."""
    n_columns = covariance.shape[0]
    size = float(np.trace(covariance)) / max(n_columns, 1)
    squares = float(np.sum(covariance**2))
    noise = (norms / total - squares) / total
    spread = squares - n_columns * size**2
    part = 1.0 if spread <= noise else max(noise / spread, _LEAST_SHRINKAGE)
    out = (1.0 - part) * covariance
    out[np.diag_indices(n_columns)] += part * size
    return out
