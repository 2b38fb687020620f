"""Weights of features by name and from one space to another; weights of samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._validate import as_number, as_numbers, check_weights
from trelliswork.structures.abilities import Labelled, require
from trelliswork.structures.base import Batch, Space

__all__ = ["carry_over", "combined_weights", "given_weights", "prior_weights"]


def carry_over(old: Space, new: Space, w: np.ndarray) -> np.ndarray:
    """Weights of one space under their names in another; zero for new names."""
    if old is new:
        return w.copy()
    place = {name: i for i, name in enumerate(new.feature_names)}
    out = np.zeros(new.n_features)
    for name, value in zip(old.feature_names, w.tolist(), strict=True):
        i = place.get(name)
        if i is not None:
            out[i] = value
    return out


def given_weights(space: Space, weights: Any, what: str = "weights") -> np.ndarray:
    """Weights by feature name, or an array in the order of the features, as an array."""
    if isinstance(weights, Mapping):
        place = {name: i for i, name in enumerate(space.feature_names)}
        missing = [name for name in weights if name not in place]
        if missing:
            first = missing[0]
            text = (
                (first[0], str(first[1]), *first[2:]) if isinstance(first, tuple) and len(first) > 2 else None
            )
            advice = f"; attributes are strings: {text!r}" if text in place else space.names_advice()
            raise InputError(
                f"{what}: {len(missing)} names are not features of this structure, first {first!r}{advice}"
            )
        coef = np.zeros(space.n_features)
        for name, value in weights.items():
            coef[place[name]] = as_number(f"{what}: {name!r}", value)
    else:
        coef = as_numbers(f"{what}: entry {{}}", weights)
        if coef.shape != (space.n_features,):
            raise InputError(f"{what} must have {space.n_features} entries, got shape {coef.shape}")
    if not np.isfinite(coef).all():
        raise InputError(f"{what} must be finite; forbid outputs through the structure instead")
    return coef


def prior_weights(space: Space, prior: Any) -> np.ndarray | None:
    """The parameter ``prior`` of a learner as an array; "auto" is what the structure knows."""
    if isinstance(prior, str) and prior == "auto":
        prior = space.structure.known_weights()
    return None if prior is None else given_weights(space, prior, "prior")


def combined_weights(batch: Batch, sample_weight: Any, class_weight: Any) -> np.ndarray | None:
    """Sample weights times class weights; None when there are neither."""
    weights = check_weights(sample_weight, len(batch))
    if class_weight is None:
        return weights
    by_class = require(batch, Labelled).class_weights(class_weight)
    return by_class if weights is None else weights * by_class
