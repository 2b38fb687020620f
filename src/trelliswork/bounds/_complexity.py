"""Factor graph complexity: how well the linear models of a given size can fit noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.bounds._base import check_draws, check_positive, generator_of
from trelliswork.structures.abilities import Factored, require
from trelliswork.structures.base import Batch, Space

__all__ = ["Complexity", "factor_graph_complexity"]


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
        Bound on the norm. The complexity grows with it.
    features : ndarray of bool or int, or None
        Only some of the features (a family); not possible for the bound of ``norm="l2"``.
    own : bool, default=False
        Count each feature over factors of its own order (label n-grams of its length) instead of the
        order of the whole chain; for families, and only with ``norm="l1"``.
    n_draws : int, default=100
        Draws of the simulation. More are slower and less noisy.
    random_state : int or None, default=0
        Seed. Another number is another random choice, no better or worse.

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
    check_positive(radius=radius)
    batch = X if isinstance(X, Batch) else space.pack(X)
    m = len(batch)
    if not m:
        raise InputError("X is empty: a complexity needs at least one sample")
    factors = require(batch, Factored).factors()
    if norm == "l2" and method == "bound" and features is not None:
        raise InputError(
            "features: the bound of norm='l2' is for all features together; use method='monte_carlo'"
        )
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
        raise InputError("features: none was chosen; a complexity needs at least one")
    parts: dict[str, Any] = {"norm": norm, "radius": radius, "n_samples": m, "n_features": int(chosen.size)}
    if method == "monte_carlo":
        check_draws(n_draws)
        rng = generator_of(random_state)
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
