"""Shared by the experiments with KLRSO: kernels, folds, and choices made on a part of the training data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trelliswork.kernels import Composed, Normalized, Polynomial, Spectrum, WeightedDecomposition


def spectrum(shortest: int, longest: int) -> Any:
    """Normalised substring kernel under a polynomial of degree 3."""
    return Composed(Normalized(Spectrum(shortest, longest)), Polynomial(3))


def decomposition(selector: int, context: int) -> Any:
    """Normalised weighted decomposition kernel."""
    return Normalized(WeightedDecomposition(selector, context))


def part(items: Sequence[Any], index: Sequence[int] | np.ndarray) -> list[Any]:
    """Some of the items."""
    return [items[i] for i in index]


def folds(n: int, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test samples: of each fold the samples i, i + k, ..."""
    fold = np.arange(n) % k
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(k)]


def best(
    candidates: Sequence[Any],
    X: Sequence[Any],
    y: Sequence[Any],
    measure: Callable[[Any, Any], float],
    *,
    inner: int = 5,
    tried: int | None = None,
    longest: float = np.inf,
) -> Any:
    """The candidate that does best on ``tried`` of ``inner`` folds of the data, fitted on all of them.

    Held-out samples that are longer than ``longest`` are not looked at.
    """
    if len(candidates) == 1:
        return candidates[0].fit(X, y)
    values = np.zeros(len(candidates))
    for train, held_out in folds(len(X), inner)[:tried]:
        tested = [i for i in held_out if len(X[i]) <= longest]
        for k, model in enumerate(candidates):
            model.fit(part(X, train), part(y, train))
            values[k] += measure(part(y, tested), model.predict(part(X, tested)))
    return candidates[int(np.argmax(values))].fit(X, y)


def shown(values: Sequence[float]) -> str:
    """Mean and standard deviation in percent."""
    return f"{100 * np.mean(values):.2f} ± {100 * np.std(values):.2f}"
