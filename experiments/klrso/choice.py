"""Kernels, and choices made on a part of the training data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments._picks import Picks
from experiments._samples import folds, take
from trelliswork.kernels import Composed, Normalized, Polynomial, Spectrum, WeightedDecomposition
from trelliswork.metrics import bracket_scores


def spectrum(shortest: int, longest: int) -> Any:
    """Normalised substring kernel under a polynomial of degree 3."""
    return Composed(Normalized(Spectrum(shortest, longest)), Polynomial(3))


def decomposition(selector: int, context: int) -> Any:
    """Normalised weighted decomposition kernel."""
    return Normalized(WeightedDecomposition(selector, context))


def best(
    candidates: Sequence[Any],
    X: Sequence[Any],
    y: Sequence[Any],
    measure: Callable[[Any, Any], float],
    *,
    inner: int = 5,
    tried: int | None = None,
    longest: float = np.inf,
    picks: Picks | None = None,
    name: str = "",
) -> Any:
    """The candidate that does best on ``tried`` of ``inner`` folds of the data, fitted on all of them.

    Held-out samples that are longer than ``longest`` do not count. Of equal ones the nearest to the middle
    of the candidates is taken. ``picks`` notes its numbers under ``name``.
    """
    if len(candidates) == 1:
        return candidates[0].fit(X, y)
    values = np.zeros(len(candidates))
    for train, held_out in folds(len(X), inner)[:tried]:
        tested = [i for i in held_out if len(X[i]) <= longest]
        for k, model in enumerate(candidates):
            model.fit(take(X, train), take(y, train))
            values[k] += measure(take(y, tested), model.predict(take(X, tested)))
    middle = (len(candidates) - 1) / 2
    chosen = max(range(len(candidates)), key=lambda k: (values[k], -abs(k - middle)))
    if picks is not None:
        picks.model(name, candidates[chosen], candidates)
    return candidates[chosen].fit(X, y)


def bracket_f(y: Any, predicted: Any) -> float:
    """F of the brackets without the root."""
    return bracket_scores(y, predicted, root=False).f1


def shown(values: Sequence[float]) -> str:
    """Mean and standard deviation in percent."""
    return f"{100 * np.mean(values):.2f} ± {100 * np.std(values):.2f}"
