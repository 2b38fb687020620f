"""Strength of regularisation relative to the data.

A penalty of a given size is weak for features with large values and strong for features with small ones, and
it matters less the more samples there are. The units here take that out, so that one default does for binary
attributes and pixels, for a hundred and a hundred thousand samples. Two numbers describe the data:

- V, the mean squared norm of the features of one part of an output (a token with its label, a class, a column
  of an alignment): multiplying all features by 10 multiplies V by 100;
- m, the number of samples that a feature occurs in, on average over the features that occur in true outputs.
  It is small for attributes of text, most of which are rare, and large for pixels, which say little alone.

The factors in front were chosen on the tasks that ``python -m benchmarks defaults`` lists as such.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trelliswork.learners.asking import summed
from trelliswork.structures.base import Batch

__all__ = ["DataScale"]

_L2, _L1, _PRICE = 0.004, 0.05, 3.0
_PRIOR_PRICE = {"generative": 5.0, "given": 150.0}
_RIDGE = {"generative": (0.08, 0.5), "observed": (0.1, 0.5), "total": (0.01, 1.0)}


class DataScale(NamedTuple):
    """What the strength of a penalty is measured by.

    Attributes
    ----------
    norm : float
        V, mean squared norm of the features of one part.
    support : float
        m, mean number of samples that a feature occurs in.
    n_samples : float
        Number of samples, or sum of their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork import Classes, CRF
    >>> from trelliswork.learners.strength import DataScale
    >>> X, y = np.array([[1.0, 0.0], [0.0, 2.0]]), ["a", "b"]
    >>> model = CRF(Classes(bias=False, scale=None)).fit(X, y)
    >>> DataScale.of(model.pack(X, y))
    DataScale(norm=2.5, support=1.0, n_samples=2.0)
    """

    norm: float
    support: float
    n_samples: float

    @classmethod
    def of(cls, batch: Batch, weights: np.ndarray | None = None) -> DataScale:
        """Scale of samples with their true outputs.

        Parameters
        ----------
        batch : Batch
            The samples.
        weights : ndarray or None
            Weight of each sample; 2 is the same as having the sample twice.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # solvers refuse what is too large
            totals, squares, n_samples = summed(batch, gold_powers, weights=weights)
            used = squares > 0
            support = float(np.mean(totals[used] ** 2 / squares[used])) if used.any() else 1.0
            norm = batch.unit_norm(weights) or 1.0
        scale = cls(norm, support, n_samples)
        return scale if np.isfinite(scale).all() else cls(1.0, 1.0, scale.n_samples)

    @property
    def l2(self) -> float:
        """Factor of the squared norm of the weights beside a sum of log-likelihoods: 0.004 V sqrt(m)."""
        return _L2 * self.norm * self.support**0.5

    @property
    def l1(self) -> float:
        """Factor of their absolute values beside a sum of log-likelihoods: 0.05 sqrt(V m)."""
        return _L1 * (self.norm * self.support) ** 0.5

    @property
    def price(self) -> float:
        """Price of the mean slack beside half the squared norm of the weights: 3 n / V."""
        return _PRICE * self.n_samples / self.norm

    def prior_price(self, prior: str) -> float:
        """Price of the mean slack where weights are pulled towards a prior, however many samples there are.

        A prior is there because the slacks alone would lead astray.

        Parameters
        ----------
        prior : {"generative", "given"}
            Weights of a generative model, ``5 / V``, or other ones, ``150 / V``.
        """
        return _PRIOR_PRICE[prior] / self.norm

    def ridge(self, reference: str) -> float:
        """Ridge beside a sum of covariances under a reference law.

        Parameters
        ----------
        reference : {"generative", "observed", "total"}
            The law: ``0.08 V sqrt(m)`` and ``0.1 V sqrt(m)``; "total" is the generative one where margins
            are those of the whole model, ``0.01 V m``.
        """
        factor, power = _RIDGE[reference]
        return factor * self.norm * self.support**power


def gold_powers(batch: Batch, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, float]:
    """Sizes of the features of true outputs and their squares, summed, and the weight of all samples."""
    share = np.ones(len(batch)) if weights is None else weights
    gold = abs(batch.gold())
    with np.errstate(over="ignore", invalid="ignore"):
        return share @ gold, share @ gold.power(2), float(share.sum())
