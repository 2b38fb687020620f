"""Margin bounds by factor graph complexity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.bounds._base import Bound, check_delta, check_positive, checked_radius, training_batch
from trelliswork.bounds._complexity import factor_graph_complexity
from trelliswork.losses import Hamming, Loss, as_loss
from trelliswork.losses.forms import Form
from trelliswork.losses.inside import inside
from trelliswork.losses.oracle import Oracle
from trelliswork.structures.base import Batch
from trelliswork.structures.families import find_families

__all__ = ["margin"]


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
        Margin, fixed before training. A larger margin lowers the complexity term and raises the training
        error.
    delta : float, default=0.05
        One minus the confidence. Smaller values are surer and make the bound larger.
    kind : {"additive", "multiplicative"}, default="additive"
        Whether the loss is added to the margin, or multiplies what is missing from it.
    loss : str, Loss or None, default=None
        The loss; None is the share of wrong labels, ``Hamming(normalized=True)``.
    norm : {"l1", "l2"}, default="l1"
        Norm that bounds the weights.
    radius : float or None, default=None
        Bound on that norm, fixed before training and no smaller than the norm of ``coef_``; None takes
        the norm of ``coef_``.
    method : {"bound", "monte_carlo"}, default="bound"
        How to find the complexity.
    families : "order", "kind", callable, dict or None, default=None
        Voted version: every family of features (see :class:`~trelliswork.VotedCRF`) pays its own
        complexity times the L1 norm of its weights, plus a term for the number of families. ``norm``
        is then "l1", and there is no ``radius``.
    random_state : int or None, default=0
        Seed of the simulation. Another number is another random choice, no better or worse.

    Notes
    -----
    The published bound for families does not state the constants of its last term, which is here
    ``(M |w|_1 / rho) sqrt(log p / m)`` for ``p`` families and ``m`` samples.

    Examples
    --------
    >>> from trelliswork import VotedCRF, Chain, bounds
    >>> X, y = [["the", "cat"], ["a", "dog"]] * 4, [["D", "N"], ["D", "N"]] * 4
    >>> bound = bounds.margin(VotedCRF(Chain()).fit(X, y), X, y, rho=2.0)
    >>> bound.vacuous, bound.empirical < 1
    (True, True)
    """
    check_delta(delta)
    check_positive(rho=rho)
    if kind not in ("additive", "multiplicative"):
        raise InputError(f"kind must be 'additive' or 'multiplicative', got {kind!r}")
    if norm not in ("l1", "l2"):
        raise InputError(f"norm must be 'l1' or 'l2', got {norm!r}")
    if families is not None and (norm != "l1" or radius is not None):
        raise InputError(
            "families: every family counts the L1 norm of its own weights; use norm='l1' and no radius"
        )
    batch = training_batch(model, X, y)
    m, w = len(batch), np.asarray(model.coef_)
    loss = Hamming(normalized=True) if loss is None else as_loss(loss)
    loss.check(batch.space)
    limit = float(loss.max_values(batch).max())
    check_positive(**{"the largest value of the loss": limit})
    empirical = float(np.mean(np.clip(_shortfall(batch, w / rho, loss, kind), 0.0, limit)))
    factor = 4.0 * math.sqrt(2.0) / rho * (1.0 if kind == "additive" else limit)
    parts: dict[str, Any] = {"rho": rho, "delta": delta, "n_samples": m, "kind": kind, "M": limit}
    if families is None:
        size = float(np.abs(w).sum() if norm == "l1" else np.linalg.norm(w))
        radius = checked_radius(radius, size)
        of_graph = factor_graph_complexity(
            batch.space, batch, norm, method, radius=radius, random_state=random_state
        )
        complexity = factor * of_graph.value
        parts |= {"R_G": of_graph.value, **of_graph.parts}
    else:
        by_family = _family_complexities(batch, w, families, method, random_state)
        size = sum(a for a, _ in by_family.values())
        remainder = limit * size / rho * math.sqrt(math.log(len(by_family)) / m)
        complexity = factor * sum(a * r for a, r in by_family.values()) + remainder
        parts |= {"families": by_family, "remainder": remainder, "radius": size}
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
    partition = find_families(batch.space, families)
    out = {}
    for k, name in enumerate(partition.names):
        chosen = np.flatnonzero(partition.index == k)
        rate = factor_graph_complexity(
            batch.space, batch, method=method, features=chosen, own=True, random_state=random_state
        )
        out[name] = float(np.abs(w[chosen]).sum()), rate.value
    return out
