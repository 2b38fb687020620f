"""The bound of SODA, on the rank of the true output among all outputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trelliswork.bounds._base import (
    Bound,
    check_delta,
    check_draws,
    checked_radius,
    generator_of,
    training_batch,
)
from trelliswork.structures.abilities import Factored
from trelliswork.structures.base import Batch

__all__ = ["largest_feature", "soda"]


def soda(
    model: Any,
    X: Any,
    y: Any,
    delta: float = 0.05,
    *,
    radius: float | None = None,
    n_draws: int | None = None,
    random_state: Any = 0,
) -> Bound:
    """Bound on the expected relative rank of the true output among all outputs.

    The empirical part is the mean of ``(score(true) - score(output) - 1)^2`` over all outputs, an
    upper bound on the share of outputs that score above the true one.

    Parameters
    ----------
    model : fitted learner
        With weights ``coef_``, SODA for instance.
    X, y : lists of inputs and outputs
        The training samples.
    delta : float, default=0.05
        One minus the confidence. Smaller values are surer and make the bound larger.
    radius : float or None, default=None
        Bound on the Euclidean norm of the weights, fixed before training and no smaller than that norm;
        None takes the norm.
    n_draws : int or None, default=None
        Number of outputs drawn per sample, if the moments were estimated; None for exact moments. More make
        the bound smaller.
    random_state : int or None, default=0
        Seed of the draws. Another number is another random choice, no better or worse.

    Examples
    --------
    >>> from trelliswork import SODA, Chain, bounds
    >>> X, y = [["the", "cat"], ["a", "dog"]] * 4, [["D", "N"], ["D", "N"]] * 4
    >>> bound = bounds.soda(SODA(Chain()).fit(X, y), X, y)
    >>> bound.vacuous, sorted(bound.parts)
    (True, ['Cf', 'M', 'R1', 'R2', 'delta', 'n_draws', 'n_samples', 'radius'])
    """
    check_delta(delta)
    if n_draws is not None:
        check_draws(n_draws)
    rng = generator_of(random_state)
    batch = training_batch(model, X, y)
    w = np.asarray(model.coef_)
    radius = checked_radius(radius, float(np.linalg.norm(w)))
    c, n, d = radius**2, len(batch), w.size
    gold = batch.gold()
    largest = max(largest_feature(batch), 1.0)
    uniform = batch.scores(np.zeros(d))
    if n_draws is None:
        means = batch.means()
        b = gold - means
        along = b @ w
        # The variance of the scores is the slope of their mean along the weights themselves.
        slope = batch.tangent(uniform, batch.scores(w), each=True)
        variance = np.maximum(batch.dot_each(slope, batch.scores(w)), 0.0)
        empirical = float(np.mean(variance + (along - 1.0) ** 2))
        frobenius = _second_moment_norms(batch, b)
        r1, draws_term = 0.0, 0.0
    else:
        rows = batch.features_of_draws(batch.sample(uniform, n_draws, rng)).tocsr()
        phi = [gold - rows[r * n : (r + 1) * n] for r in range(n_draws)]
        squares = np.array([np.asarray(p.multiply(p).sum(axis=1)).ravel() for p in phi])
        empirical = float(np.mean([(p @ w - 1.0) ** 2 for p in phi]))
        r1_each = c * np.sqrt((squares**2).mean(axis=0)) + 2 * radius * np.sqrt(squares.mean(axis=0)) + 1.0
        r1 = float(np.mean(2.0 / math.sqrt(n_draws) * r1_each))
        b = sum(phi[1:], phi[0]) / n_draws
        frobenius = np.array([_gram_norm([p[i] for p in phi]) for i in range(n)])
    b_square = np.asarray(b.multiply(b).sum(axis=1)).ravel()
    spread = c * math.sqrt(float(np.mean(frobenius**2)))
    r2 = 2.0 / math.sqrt(n) * (spread + 2 * radius * math.sqrt(float(b_square.mean())) + 1.0)
    bound_m = (largest * math.sqrt(d * c) + 1.0) ** 2
    confidence = 3 * bound_m * math.sqrt(math.log(4 / delta) / (2 * n))
    if n_draws is not None:
        draws_term = 3 * bound_m * math.sqrt(math.log(4 * n / delta) / (2 * n_draws))
    parts: dict[str, Any] = {
        "R1": r1,
        "R2": r2,
        "M": bound_m,
        "Cf": largest,
        "radius": radius,
        "delta": delta,
    }
    parts |= {"n_samples": n, "n_draws": n_draws}
    complexity = r1 + r2
    value = empirical + complexity + confidence + draws_term
    return Bound(value, empirical, complexity, confidence + draws_term, 1.0, parts)


def largest_feature(batch: Batch) -> float:
    """Upper bound on the range of the values of a feature, from 0 or the least value, over all outputs."""
    if batch.fixed_length and isinstance(batch, Factored):
        # Much faster than two argmax per feature; every factor adds its value at most once.
        factors = batch.factors()
        return float(factors.counts.max(initial=0.0) * factors.largest().max(initial=0.0))
    largest, w = 0.0, np.zeros(batch.space.n_features)
    for j in range(w.size):
        w[j] = 1.0
        above, below = (batch.argmax(batch.scores(sign * w)).values.max(initial=0.0) for sign in (1.0, -1.0))
        largest = max(largest, float(above) + float(below))
        w[j] = 0.0
    return largest


def _second_moment_norms(batch: Batch, b: Any) -> np.ndarray:
    """Frobenius norm of covariance + b b' for every sample; an upper bound where features are many."""
    out = np.empty(len(batch))
    for i in range(len(batch)):
        sample = batch.subset(np.array([i]))
        row = b[i].toarray().ravel()
        if row.size <= 400:
            out[i] = np.linalg.norm(sample.moments().covariance + np.outer(row, row))
        else:
            # A positive semidefinite matrix has a Frobenius norm of at most its trace.
            out[i] = float(sample.covariance().diagonal().sum()) + float(row @ row)
    return out


def _gram_norm(rows: list[Any]) -> float:
    """Frobenius norm of the mean of a a' over some vectors a, from their inner products."""
    from scipy.sparse import vstack

    a = vstack(rows)
    return float(np.sqrt((a @ a.T).power(2).sum())) / a.shape[0]
