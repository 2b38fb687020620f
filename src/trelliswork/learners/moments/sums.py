"""First and second moments of a data set under a reference law: what the solvers need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._stored import fitting, numbers
from trelliswork.learners.optimize.ridge import Matrix, SecondMoment
from trelliswork.losses import as_loss
from trelliswork.structures.base import Batch, Parts, Space
from trelliswork.structures.covariance import Covariance, check_dense

__all__ = [
    "BatchMoments",
    "MomentSums",
    "SampledMoments",
    "SampledSecondMoment",
    "part_costs",
    "without_rounding",
]


_ROUNDING = 1e-13  # of the sum of the gold features: a deviation below is nothing else


def without_rounding(values: np.ndarray, moments: Any, cost: float = 1.0) -> np.ndarray:
    """Zeros where gold and mean features agree: learners that scale weights by them would blow them up.

    ``values`` are differences of sums of features, ``cost`` is the mean factor of a sample in them.
    """
    largest = _largest(values)
    if largest > 1e-3 * moments.total * cost or largest > _ROUNDING * moments.size * cost:
        return values
    return np.zeros_like(values)


def _largest(values: np.ndarray) -> float:
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def part_costs(batch: Batch, loss: Any) -> tuple[Parts, np.ndarray]:
    """Costs of parts and a constant per sample for the ``loss`` of a learner.

    Parameters
    ----------
    batch : Batch
        Samples with their outputs.
    loss : str, dict or Loss
        A loss that is a sum over parts, as :func:`~trelliswork.losses.as_loss` reads it.
    """
    measured = as_loss(loss)
    measured.check(batch.space)
    decomposed = measured.part_costs(batch)
    if decomposed is None:
        raise InputError(
            f"{measured!r} is not a sum over the parts of {type(batch.space.structure).__name__}, and its "
            "moments are not known; use loss='hamming' or None"
        )
    costs, constant = decomposed
    return costs, np.broadcast_to(np.asarray(constant, dtype=np.float64), (len(batch),))


class BatchMoments:
    """Exact moments of a batch under the law of part scores (None: uniform).

    Parameters
    ----------
    batch : Batch
        Samples with their outputs.
    scores : Parts or None
        The law.
    weights : ndarray or None
        Weight of each sample.
    loss : object or None
        As in :func:`part_costs`.
    samples_at_a_time : int
        Samples whose costs are in memory together.

    Attributes
    ----------
    covariance, second : SecondMoment
        About the mean, and about the gold outputs.
    deviation : ndarray
        Weighted sum of gold less mean features.
    total, size : float
        Sum of the weights, and largest entry of the sum of gold features.
    cost_mean, cost_variance : float
        Sums over samples of mean and variance of the loss.
    cost_covariance, cost_deviation : ndarray
        Sums of the covariance of loss and features, and of mean loss times deviation.
    """

    def __init__(
        self,
        batch: Batch,
        scores: Parts | None,
        weights: np.ndarray | None,
        loss: Any = None,
        *,
        samples_at_a_time: int = 1024,
    ):
        self.batch, self.scores, self.weights, self.loss = batch, scores, weights, loss
        self.samples_at_a_time = samples_at_a_time
        self._law = batch.covariance(scores, weights)
        self.covariance: SecondMoment = self._law
        if not self._law.exact_diagonal and self._law.n_features <= self._law.max_dense:
            self.covariance = Matrix(self._law.dense())  # needed for the exact trace anyway
        self.total = float(len(batch) if weights is None else weights.sum())

    @cached_property
    def second(self) -> SecondMoment:
        """Second moment about the gold outputs."""
        if isinstance(self.covariance, Matrix):
            return Matrix(self.covariance.values + self._law.spread())
        return self._law.turned("gold")

    @cached_property
    def deviation(self) -> np.ndarray:
        """Weighted sum of gold less mean features."""
        return without_rounding(self._law.deviation(), self)

    @cached_property
    def size(self) -> float:
        """Largest entry of the weighted sum of gold features; a pass over the data that is seldom needed."""
        return _largest(self.batch.gold_sum(self.weights))

    def _pieces(self) -> Iterator[tuple[Batch, Covariance, np.ndarray | None, Parts, np.ndarray]]:
        """Samples, their law and weights, costs of parts and mean loss, a part of the samples at a time."""
        n = len(self.batch)
        if self.scores is not None or n <= self.samples_at_a_time or self.batch.in_blocks:
            yield self._piece(self.batch, self._law, self.weights)
            return
        for index in np.array_split(np.arange(n), -(-n // self.samples_at_a_time)):
            part, weights = self.batch.subset(index), None if self.weights is None else self.weights[index]
            yield self._piece(part, part.covariance(None, weights), weights)

    def _piece(
        self, batch: Batch, law: Covariance, weights: np.ndarray | None
    ) -> tuple[Batch, Covariance, np.ndarray | None, Parts, np.ndarray]:
        costs, constant = part_costs(batch, self.loss)
        mean = batch.dot_each(law.marginals(weighted=False, each=True), costs) + constant
        return batch, law, weights, costs, mean if weights is None else mean * weights

    @cached_property
    def _cost_sums(self) -> tuple[float, np.ndarray]:
        """Mean of the loss and its covariance with the features."""
        mean, covariance = 0.0, np.zeros(self._law.n_features)
        for batch, law, _, costs, mean_costs in self._pieces():
            mean += float(mean_costs.sum())
            covariance += batch.pull(law.tangent(costs))
        return mean, covariance

    @cached_property
    def cost_variance(self) -> float:
        """Sum of the variances of the loss."""
        costs = part_costs(self.batch, self.loss)[0]
        moved = self.batch.dot_each(self._law.tangent(costs, weighted=False, each=True), costs)
        return float(moved.sum() if self.weights is None else moved @ self.weights)

    @property
    def cost_mean(self) -> float:
        """Sum of the mean losses."""
        return self._cost_sums[0]

    @property
    def cost_covariance(self) -> np.ndarray:
        """Covariance of loss and features, summed."""
        return self._cost_sums[1]

    @cached_property
    def cost_deviation(self) -> np.ndarray:
        """Mean loss times deviation, summed."""
        total = np.zeros(self._law.n_features)
        for _, law, _, _, mean_costs in self._pieces():
            total += law.deviation(mean_costs)
        return total


class SampledSecondMoment:
    """Second moment of features drawn at random.

    Parameters
    ----------
    draws : csr_matrix of shape (n_draws * n_samples, n_features)
        Features; draw j of sample i in row ``j * n_samples + i``.
    gold : csr_matrix of shape (n_samples, n_features) or None
        Origin of the moment; None is the mean of each sample's draws.
    weights : ndarray of shape (n_samples,)
        Weight of each sample.
    """

    max_dense = 3000
    exact_diagonal = True

    def __init__(self, draws: sp.csr_matrix, gold: sp.csr_matrix | None, weights: np.ndarray):
        self.draws, self.gold, self.weights = draws, gold, weights
        self.n_draws = draws.shape[0] // max(weights.size, 1)

    @property
    def n_features(self) -> int:
        """Order of the matrix."""
        return self.draws.shape[1]

    def product(self, v: np.ndarray) -> np.ndarray:
        """The matrix times a vector."""
        along = np.asarray(self.draws @ v).reshape(self.n_draws, -1)
        share = self.weights / self.n_draws
        if self.gold is None:
            centred = (along - along.mean(axis=0)) * share
            return np.asarray(self.draws.T @ centred.ravel())
        ahead = (np.asarray(self.gold @ v) - along) * share
        return np.asarray(self.gold.T @ ahead.sum(axis=0) - self.draws.T @ ahead.ravel())

    def means(self) -> sp.csr_matrix:
        """Mean of the draws of each sample."""
        n = self.weights.size
        rows = np.arange(self.draws.shape[0])
        share = sp.csr_matrix((np.full(rows.size, 1.0 / self.n_draws), (rows % n, rows)), (n, rows.size))
        return sp.csr_matrix(share @ self.draws)

    def diagonal(self) -> np.ndarray:
        """Variances about the means of the draws."""
        share = np.tile(self.weights / self.n_draws, self.n_draws)
        return np.asarray(self.draws.power(2).T @ share - self.means().power(2).T @ self.weights).clip(0.0)

    def dense(self) -> np.ndarray:
        """The matrix."""
        origin = self.means() if self.gold is None else self.gold
        rows = self.draws - sp.vstack([origin] * self.n_draws, format="csr")
        share = sp.diags_array(np.tile(self.weights / self.n_draws, self.n_draws))
        return np.asarray((rows.T @ share @ rows).toarray())

    def direct(self, lam: float) -> Any:
        """There is no direct solver."""
        return None

    def preconditioner(self, lam: float) -> Any:
        """The diagonal does."""
        return None


class SampledMoments:
    """Moments estimated from outputs drawn at random from the law; attributes as in ``BatchMoments``.

    The moment about the gold outputs, ``mean of a a'`` with a = gold - drawn features, is unbiased.

    Parameters
    ----------
    batch, scores, weights, loss
        As in :class:`BatchMoments`.
    n_samples : int
        Draws per sample.
    rng : numpy.random.Generator
        Source of randomness.
    """

    def __init__(
        self,
        batch: Batch,
        scores: Parts | None,
        weights: np.ndarray | None,
        loss: Any,
        n_samples: int,
        rng: np.random.Generator,
    ):
        scores = batch.scores(np.zeros(batch.space.n_features)) if scores is None else scores
        sample_weights = np.ones(len(batch)) if weights is None else weights
        drawn = batch.sample(scores, n_samples, rng)
        draws = batch.features_of_draws(drawn)
        gold = batch.gold()
        law = SampledSecondMoment(draws, None, sample_weights)
        self.covariance: SecondMoment = law
        self.second: SecondMoment = SampledSecondMoment(draws, gold, sample_weights)
        deviations = gold - law.means()
        self.total, self.size = float(sample_weights.sum()), _largest(np.asarray(gold.T @ sample_weights))
        self.deviation = without_rounding(np.asarray(deviations.T @ sample_weights), self)
        if loss is not None:
            costs, constant = part_costs(batch, loss)
            losses = np.array(
                [batch.dot_each(batch.indicators(codes, each=True), costs) + constant for codes in drawn]
            )
            mean = losses.mean(axis=0)
            centred = (losses - mean) * sample_weights / n_samples
            self.cost_mean = float(sample_weights @ mean)
            self.cost_variance = float(np.sum(centred * (losses - mean)))
            self.cost_covariance = np.asarray(draws.T @ centred.ravel())
            self.cost_deviation = np.asarray(deviations.T @ (sample_weights * mean))


class MomentSums:
    """Moments as plain sums, which add up over shards; attributes as in :class:`BatchMoments`.

    Parameters
    ----------
    arrays : dict
        ``covariance`` and ``spread`` (d, d), ``deviation``, ``cost_covariance`` and
        ``cost_deviation`` (d,), and the numbers ``total``, ``size``, ``cost_mean`` and ``cost_variance``.
    """

    _SQUARE = ("covariance", "spread")
    _VECTORS = ("deviation", "cost_covariance", "cost_deviation")
    _NUMBERS = ("total", "size", "cost_mean", "cost_variance")

    def __init__(self, arrays: Mapping[str, Any]):
        self.arrays = dict(arrays)
        for name in (*self._VECTORS, *self._NUMBERS):
            setattr(self, name, self.arrays[name])
        self.deviation = without_rounding(self.deviation, self)

    total: float
    size: float
    deviation: np.ndarray
    cost_mean: float
    cost_variance: float
    cost_covariance: np.ndarray
    cost_deviation: np.ndarray

    @classmethod
    def of(cls, moments: BatchMoments | SampledMoments, with_loss: bool) -> MomentSums:
        """Sums of the moments of one batch."""
        covariance = moments.covariance.dense()
        d = covariance.shape[0]
        arrays: dict[str, Any] = {
            "covariance": covariance,
            "spread": moments.second.dense() - covariance,
            "deviation": moments.deviation,
            "total": moments.total,
            "size": moments.size,
        }
        for name in cls._VECTORS[1:]:
            arrays[name] = getattr(moments, name) if with_loss else np.zeros(d)
        for name in cls._NUMBERS[2:]:
            arrays[name] = float(getattr(moments, name)) if with_loss else 0.0
        return cls(arrays)

    @cached_property
    def covariance(self) -> SecondMoment:
        """About the mean."""
        return Matrix(self.arrays["covariance"])

    @cached_property
    def second(self) -> SecondMoment:
        """About the gold outputs."""
        return Matrix(self.arrays["covariance"] + self.arrays["spread"])

    def padded(self, old: Space, new: Space) -> MomentSums:
        """The same sums in a space with more features."""
        if old is new:
            return self
        place = {name: i for i, name in enumerate(new.feature_names)}
        columns = np.array([place[name] for name in old.feature_names], dtype=np.int64)
        out = dict(self.arrays)
        d = new.n_features
        check_dense(d)
        for name in self._SQUARE:
            out[name] = np.zeros((d, d))
            out[name][np.ix_(columns, columns)] = self.arrays[name]
        for name in self._VECTORS:
            out[name] = np.zeros(d)
            out[name][columns] = self.arrays[name]
        return MomentSums(out)

    def __add__(self, other: MomentSums) -> MomentSums:
        return MomentSums({name: value + other.arrays[name] for name, value in self.arrays.items()})

    @classmethod
    def checked(cls, arrays: Mapping[str, Any], d: int) -> MomentSums:
        """Sums from a file."""
        declared = (
            dict.fromkeys(cls._SQUARE, numbers("features", "features"))
            | dict.fromkeys(cls._VECTORS, numbers("features"))
            | dict.fromkeys(cls._NUMBERS, numbers())
        )
        stored = fitting(arrays, declared, "moments", features=d)
        return cls(stored | {n: float(stored[n]) for n in cls._NUMBERS})
