"""Guarantees: how far the risk of a model can be above its error on the training data.

Every function returns a :class:`Bound`: the number, the parts that it is made of, and whether it
says anything at all. Bounds hold with probability ``1 - delta`` over the draw of the samples, for all
weights of the stated size at once. They are loose: their use is to compare (how complexity falls
with the number of samples, which family of features is cheap), not to predict an error rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._validate import as_number
from trelliswork.losses import Hamming, Loss, as_loss
from trelliswork.losses.inside import inside
from trelliswork.losses.oracle import Form, Oracle
from trelliswork.structures.base import Batch, Space
from trelliswork.structures.families import find_families

__all__ = ["Bound", "Complexity", "factor_graph_complexity", "margin", "pac", "soda"]

_TINY = 1e-300  # in the place of the norm of weights that are all 0


@dataclass(frozen=True)
class Bound:
    """An upper bound on a risk.

    Attributes
    ----------
    value : float
        Sum of the three parts.
    empirical : float
        What was measured on the samples.
    complexity : float
        How much the class of models can fit noise.
    confidence : float
        Price of the confidence ``1 - delta``.
    limit : float
        Largest value of the loss: a bound above it says nothing.
    parts : dict
        Quantities that went in.

    Examples
    --------
    >>> from trelliswork import bounds
    >>> print(bounds.pac(10, 5000))
    0.01313 = empirical 0 + complexity 0.01254 + confidence 0.0005991
    """

    value: float
    empirical: float
    complexity: float
    confidence: float
    limit: float
    parts: dict[str, Any] = field(default_factory=dict)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is not below what the loss can be at most."""
        return not self.value < self.limit

    def __str__(self) -> str:
        text = (
            f"{self.value:.4g} = empirical {self.empirical:.4g} + complexity {self.complexity:.4g} + "
            f"confidence {self.confidence:.4g}"
        )
        return f"{text} (vacuous: the loss is at most {self.limit:g})" if self.vacuous else text


@dataclass(frozen=True)
class Complexity:
    """Factor graph complexity of all linear models of a given size.

    Attributes
    ----------
    value : float
        Upper bound, or the mean of a simulation.
    error : float
        Standard error of a simulation; 0 for a bound.
    parts : dict
        Quantities that went in.

    Examples
    --------
    >>> from trelliswork import Chain, bounds
    >>> X, y = [["a", "b"], ["b"]], [["A", "B"], ["B"]]
    >>> bounds.factor_graph_complexity(Chain().bind(X, y), X).value
    2.8...
    """

    value: float
    error: float
    parts: dict[str, Any]

    def __float__(self) -> float:
        return self.value


def _check_delta(delta: Any) -> None:
    if not 0.0 < as_number("delta", delta) < 1.0:
        raise InputError(f"delta must be between 0 and 1, got {delta!r}")


def _check_positive(**values: Any) -> None:
    for name, value in values.items():
        if as_number(name, value) <= 0:
            raise InputError(f"{name} must be a finite number > 0, got {value!r}")


def _check_draws(n_draws: Any) -> None:
    if not isinstance(n_draws, (int, np.integer)) or isinstance(n_draws, bool) or n_draws < 1:
        raise InputError(f"n_draws must be a whole number of at least 1, got {n_draws!r}")


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(f"random_state must be a whole number >= 0 or None, got {random_state!r}") from None


def _checked_radius(radius: Any, size: float) -> float:
    """The radius, which must hold the weights; ``size`` is their norm."""
    if radius is None:
        return max(size, _TINY)
    _check_positive(radius=radius)
    if radius < size * (1.0 - 1e-9):
        raise InputError(
            f"radius is {radius:g}, but the norm of the weights is {size:g}: the bound holds for models "
            "within the radius only"
        )
    return float(radius)


def pac(n_features: int, n_samples: int, delta: float = 0.05, *, largest: int = 1) -> Bound:
    """Bound on the share of wrong outputs of a model that makes no error on its training data.

    Parameters
    ----------
    n_features : int
        Number of features, at least 3.
    n_samples : int
        Number of training samples.
    delta : float, default=0.05
        One minus the confidence.
    largest : int, default=1
        Features are whole numbers from 0 to ``largest``.

    Examples
    --------
    >>> from trelliswork import bounds
    >>> bounds.pac(50, 1000).vacuous, bounds.pac(50, 100_000).vacuous
    (True, False)
    """
    _check_delta(delta)
    for name, value, least in (
        ("n_features", n_features, 3),
        ("n_samples", n_samples, 1),
        ("largest", largest, 1),
    ):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"pac: {name} must be a whole number of at least {least}, got {value!r}")
    d = int(n_features)
    fewer = (d - 2) * math.log(d - 2) if d > 2 else 0.0
    complexity = (d * d * math.log(2 * largest) - fewer + d) / n_samples
    confidence = -math.log(delta) / n_samples
    parts = {"n_features": d, "n_samples": n_samples, "delta": delta, "largest": largest}
    return Bound(complexity + confidence, 0.0, complexity, confidence, 1.0, parts)


def _training_batch(model: Any, X: Any, y: Any) -> Batch:
    if not hasattr(model, "_check_fitted"):
        raise InputError(f"model must be a fitted learner, such as SODA(...).fit(X, y), got {model!r:.80}")
    model._check_fitted()
    if hasattr(model, "dual_coef_"):
        raise InputError(
            f"this {type(model).__name__} compares inputs by a kernel; bounds need one weight vector for all "
            "inputs, such as that of SODA or VotedCRF"
        )
    batch = model.space_.pack(X, y, n_jobs=model.n_jobs)
    if not len(batch):
        raise InputError("X is empty: a bound needs samples")
    batch.check_gold()
    return batch


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
        One minus the confidence.
    radius : float or None, default=None
        Bound on the Euclidean norm of the weights that was fixed before training, at least that norm;
        None takes the norm.
    n_draws : int or None, default=None
        Outputs drawn per sample, for moments that were estimated; None is exact moments.
    random_state : int or None, default=0
        Seed of the draws.

    Examples
    --------
    >>> from trelliswork import SODA, Chain, bounds
    >>> X, y = [["the", "cat"], ["a", "dog"]] * 4, [["D", "N"], ["D", "N"]] * 4
    >>> found = bounds.soda(SODA(Chain()).fit(X, y), X, y)
    >>> found.vacuous, sorted(found.parts)
    (True, ['Cf', 'M', 'R1', 'R2', 'delta', 'n_draws', 'n_samples', 'radius'])
    """
    _check_delta(delta)
    if n_draws is not None:
        _check_draws(n_draws)
    rng = _generator(random_state)
    batch = _training_batch(model, X, y)
    w = np.asarray(model.coef_)
    radius = _checked_radius(radius, float(np.linalg.norm(w)))
    c, n, d = radius**2, len(batch), w.size
    gold = batch.gold()
    largest = max(_largest_feature(batch), 1.0)
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


def _largest_feature(batch: Batch) -> float:
    """Upper bound on the values of the features of all outputs (from the least, if that is below 0)."""
    if batch.fixed_length and type(batch.space.structure).offers("factors"):
        # One argmax per feature would be long for many features; every factor adds its value once at most.
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
    """Frobenius norm of covariance + b b' of every sample; where features are many, an upper bound."""
    out = np.empty(len(batch))
    for i in range(len(batch)):
        one = batch.subset(np.array([i]))
        row = b[i].toarray().ravel()
        if row.size <= 400:
            out[i] = np.linalg.norm(one.moments().covariance + np.outer(row, row))
        else:
            # A positive semidefinite matrix has a Frobenius norm of at most its trace.
            out[i] = float(one.covariance().diagonal().sum()) + float(row @ row)
    return out


def _gram_norm(rows: list[Any]) -> float:
    """Frobenius norm of the mean of a a' over some vectors a, from their inner products."""
    from scipy.sparse import vstack

    a = vstack(rows)
    return float(np.sqrt((a @ a.T).power(2).sum())) / a.shape[0]


def factor_graph_complexity(
    space: Space,
    X: Any,
    norm: str = "l1",
    method: str = "bound",
    *,
    radius: float = 1.0,
    features: np.ndarray | None = None,
    own: bool = False,
    n_draws: int = 100,
    random_state: Any = 0,
) -> Complexity:
    """Empirical factor graph complexity of the linear models ``|w| <= radius``.

    Parameters
    ----------
    space : Space
        A bound structure, for instance ``model.space_``.
    X : list of inputs, or Batch
        The samples.
    norm : {"l1", "l2"}, default="l1"
        Norm of the weights.
    method : {"bound", "monte_carlo"}, default="bound"
        Closed upper bound, or a simulation of the exact value.
    radius : float, default=1.0
        Bound on the norm.
    features : ndarray of bool or int, or None
        Some of the features only (a family); not for the bound of ``norm="l2"``.
    own : bool, default=False
        Factors of each feature's own order (label n-grams of its length) instead of the whole chain's;
        for families, ``norm="l1"`` only.
    n_draws : int, default=100
        Draws of the simulation.
    random_state : int or None, default=0
        Seed.

    Examples
    --------
    >>> from trelliswork import Chain, bounds
    >>> X, y = [["a", "b"], ["b"]], [["A", "B"], ["B"]]
    >>> space = Chain().bind(X, y)
    >>> sharp = bounds.factor_graph_complexity(space, X, method="monte_carlo")
    >>> sharp.value <= bounds.factor_graph_complexity(space, X).value
    True
    """
    if not isinstance(space, Space):
        raise InputError(f"space must be the space of a structure, structure.bind(X, y), got {space!r:.80}")
    if norm not in ("l1", "l2"):
        raise InputError(f"norm must be 'l1' or 'l2', got {norm!r}")
    if method not in ("bound", "monte_carlo"):
        raise InputError(f"method must be 'bound' or 'monte_carlo', got {method!r}")
    _check_positive(radius=radius)
    batch = X if isinstance(X, Batch) else space.pack(X)
    m = len(batch)
    if not m:
        raise InputError("X is empty: a complexity needs samples")
    factors = batch.factors()
    if norm == "l2" and method == "bound" and features is not None:
        raise InputError("features: the bound of norm='l2' is of all features; use method='monte_carlo'")
    if norm == "l2" and own:
        raise InputError("own: factors of each feature's own order need norm='l1'")
    chosen = np.arange(space.n_features)
    try:
        if features is not None:
            chosen = chosen[np.asarray(features)] if len(features) else chosen[:0]
    except (IndexError, TypeError):
        raise InputError(
            f"features must be numbers below {space.n_features} or one bool per feature, got {features!r:.80}"
        ) from None
    if not chosen.size:
        raise InputError("features: none is chosen; a complexity needs at least one")
    parts: dict[str, Any] = {"norm": norm, "radius": radius, "n_samples": m, "n_features": int(chosen.size)}
    if method == "monte_carlo":
        _check_draws(n_draws)
        rng = _generator(random_state)
        sizes = np.empty(n_draws)
        for i in range(n_draws):
            v = factors.draw(rng, own=own)[chosen]
            sizes[i] = np.abs(v).max() if norm == "l1" else np.linalg.norm(v)
        error = float(sizes.std(ddof=1) / math.sqrt(n_draws)) if n_draws > 1 else math.nan
        return Complexity(radius * float(sizes.mean()) / m, radius * error / m, parts | {"n_draws": n_draws})
    if norm == "l1":
        s = float(factors.usage(own=own)[chosen].max())
        r_inf = float(factors.largest()[chosen].max())
        value = radius * r_inf / m * math.sqrt(2.0 * s * math.log(2.0 * chosen.size))
        return Complexity(value, 0.0, parts | {"s": s, "r_inf": r_inf})
    r_2 = factors.norm()
    total = float(factors.counts @ factors.values)
    return Complexity(radius * r_2 / m * math.sqrt(total), 0.0, parts | {"r_2": r_2, "total": total})


def margin(
    model: Any,
    X: Any,
    y: Any,
    rho: float = 1.0,
    delta: float = 0.05,
    kind: str = "additive",
    *,
    loss: str | Loss | None = None,
    norm: str = "l1",
    radius: float | None = None,
    method: str = "bound",
    families: Any = None,
    random_state: Any = 0,
) -> Bound:
    """Margin bound on the expected loss of a model (factor graph complexity).

    Parameters
    ----------
    model : fitted learner
        With weights ``coef_``.
    X, y : lists of inputs and outputs
        The training samples.
    rho : float, default=1.0
        Margin, fixed before training.
    delta : float, default=0.05
        One minus the confidence.
    kind : {"additive", "multiplicative"}, default="additive"
        Whether the loss is added to the margin, or multiplies what is missing from it.
    loss : str, Loss or None, default=None
        The loss; None is the share of wrong labels, ``Hamming(normalized=True)``.
    norm : {"l1", "l2"}, default="l1"
        Norm of the weights that the complexity is of.
    radius : float or None, default=None
        Bound on that norm, fixed before training, at least that of ``coef_``; None takes the norm of
        ``coef_``.
    method : {"bound", "monte_carlo"}, default="bound"
        How to find the complexity.
    families : "order", "kind", callable, dict or None, default=None
        Voted version: every family of features (see :class:`~trelliswork.VotedCRF`) pays its own
        complexity times the L1 norm of its weights, plus a term for the number of families. ``norm``
        is then "l1", and there is no ``radius``.
    random_state : int or None, default=0
        Seed of the simulation.

    Notes
    -----
    The constants of the voted remainder are not in the published text that was at hand; the term here is
    ``(M |w|_1 / rho) sqrt(log p / m)``.

    Examples
    --------
    >>> from trelliswork import VotedCRF, Chain, bounds
    >>> X, y = [["the", "cat"], ["a", "dog"]] * 4, [["D", "N"], ["D", "N"]] * 4
    >>> found = bounds.margin(VotedCRF(Chain()).fit(X, y), X, y, rho=2.0)
    >>> found.vacuous, found.empirical < 1
    (True, True)
    """
    _check_delta(delta)
    _check_positive(rho=rho)
    if kind not in ("additive", "multiplicative"):
        raise InputError(f"kind must be 'additive' or 'multiplicative', got {kind!r}")
    if norm not in ("l1", "l2"):
        raise InputError(f"norm must be 'l1' or 'l2', got {norm!r}")
    if families is not None and (norm != "l1" or radius is not None):
        raise InputError("families: each counts the L1 norm of its own weights; use norm='l1' and no radius")
    batch = _training_batch(model, X, y)
    m, w = len(batch), np.asarray(model.coef_)
    loss = Hamming(normalized=True) if loss is None else as_loss(loss)
    loss.check(batch.space)
    limit = float(loss.max_values(batch).max())
    _check_positive(**{"the largest value of the loss": limit})
    empirical = float(np.mean(np.clip(_shortfall(batch, w / rho, loss, kind), 0.0, limit)))
    factor = 4.0 * math.sqrt(2.0) / rho * (1.0 if kind == "additive" else limit)
    parts: dict[str, Any] = {"rho": rho, "delta": delta, "n_samples": m, "kind": kind, "M": limit}
    if families is None:
        size = float(np.abs(w).sum() if norm == "l1" else np.linalg.norm(w))
        size = _checked_radius(radius, size)
        found = factor_graph_complexity(
            batch.space, batch, norm, method, radius=size, random_state=random_state
        )
        complexity = factor * found.value
        parts |= {"R_G": found.value, **found.parts}
    else:
        each = _family_complexities(batch, w, families, method, random_state)
        size = sum(a for a, _ in each.values())
        remainder = limit * size / rho * math.sqrt(math.log(len(each)) / m)
        complexity = factor * sum(a * r for a, r in each.values()) + remainder
        parts |= {"families": each, "remainder": remainder, "radius": size}
    confidence = 3.0 * limit * math.sqrt(math.log(2.0 / delta) / (2.0 * m))
    return Bound(empirical + complexity + confidence, empirical, complexity, confidence, limit, parts)


def _shortfall(batch: Batch, w: np.ndarray, loss: Loss, kind: str) -> np.ndarray:
    """Largest ``L - margin``, or ``L (1 - margin)``, over the outputs of every sample; at least 0."""
    if kind == "additive":
        scores = batch.scores(w)
        return inside(batch, loss).argmax(scores).values - batch.evaluate(batch.gold_codes, scores)
    return Oracle(batch, loss, Form("l1", "slack")).find(w).value


def _family_complexities(
    batch: Batch, w: np.ndarray, families: Any, method: str, random_state: Any
) -> dict[Any, tuple[float, float]]:
    """L1 norm of the weights of every family, and its complexity for weights of norm 1."""
    found = find_families(batch.space, families)
    out = {}
    for k, name in enumerate(found.names):
        chosen = np.flatnonzero(found.index == k)
        rate = factor_graph_complexity(
            batch.space, batch, method=method, features=chosen, own=True, random_state=random_state
        )
        out[name] = float(np.abs(w[chosen]).sum()), rate.value
    return out
