"""Families of features and the complexity of each, for voted penalties and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.structures.abilities import Factored, require
from trelliswork.structures.base import Batch, Space, Unsupported
from trelliswork.structures.parts import Largest

__all__ = ["Families", "family_rates", "find_families"]

_RATES = ("auto", "paper", "sparsity", "monte_carlo")


class Families:
    """A partition of the features.

    Parameters
    ----------
    names : list
        Name of each family.
    index : ndarray of int64, shape (n_features,)
        Family of each feature.
    """

    def __init__(self, names: list[Any], index: np.ndarray):
        self.names, self.index = names, index

    def __len__(self) -> int:
        return len(self.names)

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Largest value of each family."""
        out = np.zeros(len(self))
        np.maximum.at(out, self.index, values)
        return out

    def sizes(self, chosen: np.ndarray | None = None) -> np.ndarray:
        """Number of (chosen) features of each family."""
        index = self.index if chosen is None else self.index[chosen]
        return np.bincount(index, minlength=len(self))


def find_families(space: Space, families: Any) -> Families:
    """Partition of the features of a space.

    Parameters
    ----------
    space : Space
        Feature names and orders.
    families : "auto", "order", "kind", callable or dict
        See :class:`~trelliswork.VotedCRF`.
    """
    if isinstance(families, str) and families == "auto":
        families = "order" if np.unique(space.feature_orders).size > 1 else "kind"
    if isinstance(families, str) and families == "order":
        orders, index = np.unique(space.feature_orders, return_inverse=True)
        return Families([f"order {n}" for n in orders.tolist()], index.astype(np.int64))
    if isinstance(families, str) and families == "kind":
        return _by_key(space.feature_kinds, lambda kind: kind)
    names = space.feature_names
    if isinstance(families, Mapping):
        return _by_tests(names, families)
    if callable(families):
        return _by_key(names, families)
    raise InputError(f"families must be 'auto', 'order', 'kind', a function or a dict, got {families!r}")


def _by_key(names: Sequence[Any], key: Callable[[Any], Any]) -> Families:
    number_of: dict[Any, int] = {}
    index = np.empty(len(names), dtype=np.int64)
    for j, name in enumerate(names):
        family = key(name)
        try:
            index[j] = number_of.setdefault(family, len(number_of))
        except TypeError:
            raise InputError(f"families: {family!r}, the family of {name!r}, is not hashable") from None
    return Families(list(number_of), index)


def _by_tests(names: Sequence[Any], tests: Mapping[Any, Any]) -> Families:
    """First family whose function accepts a name, or whose list has its kind."""
    index = np.full(len(names), -1, dtype=np.int64)
    for k, (family, test) in enumerate(tests.items()):
        if not callable(test) and (isinstance(test, str) or not isinstance(test, Iterable)):
            raise InputError(f"families: {family!r} needs a function or a list of kinds, got {test!r}")
        accepts = test if callable(test) else lambda name, kinds=frozenset(test): name[0] in kinds
        for j in np.flatnonzero(index < 0).tolist():
            if accepts(names[j]):
                index[j] = k
    if (index < 0).any():
        name = names[int(np.argmax(index < 0))]
        raise InputError(f"families: the feature {name!r} belongs to no family")
    empty = np.setdiff1d(np.arange(len(tests)), index)
    if empty.size:
        raise InputError(f"families: {list(tests)[empty[0]]!r} is empty; no feature belongs to it")
    return Families(list(tests), index)


def family_rates(
    batch: Batch, families: Families, r: Any, *, weights: np.ndarray | None = None, random_state: Any = 0
) -> np.ndarray:
    """Complexity ``r_k`` of every family, in units of the root of the number of samples.

    The penalty of a voted model is ``sum_k (lam r_k + beta) |w_k|_1``. Let a_k be the largest value
    of a feature of family k and N_k the number of its features. "paper" is ``a_k F sqrt(log N_k)`` with F
    the most factors of a sample; "sparsity" is ``a_k sqrt(2 s_k log(2 N_k) / m)`` with m samples and s_k the
    largest number of factor values that share a feature.

    Parameters
    ----------
    batch : Batch
        Training samples.
    families : Families
        The partition.
    r : "auto", "paper", "sparsity", "monte_carlo" or list of float
        How; "auto" is "sparsity" where the structure tells its factors, else (and where inputs are
        too long to list all choices) 1 for all.
    weights : ndarray or None
        Weight of every sample.
    random_state : int
        Seed of "monte_carlo".
    """
    p = len(families)
    if not isinstance(r, str):
        try:
            given = np.asarray(r, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.full(p, np.nan)
        if given.shape != (p,) or not np.isfinite(given).all() or (given < 0).any():
            raise InputError(
                f"r must have one finite number >= 0 for each of the {p} families ({families.names!r:.80}), "
                f"got {r!r}"
            )
        return given
    if r not in _RATES:
        raise InputError(f"r must be one of {', '.join(map(repr, _RATES))} or a list of numbers, got {r!r}")
    if r == "auto" and not (isinstance(batch, Factored) and batch.lists_factors_quickly):
        return np.ones(p)
    if weights is not None:
        kept = np.flatnonzero(weights)
        batch, weights = batch.subset(kept), weights[kept]
    m = float(len(batch) if weights is None else weights.sum())
    sizes = np.maximum(families.sizes(), 1)
    if r == "monte_carlo":
        if batch.in_blocks:
            raise Unsupported("r='monte_carlo' needs all samples together; use r='sparsity' or 'paper'")
        factors, rng = require(batch, Factored).factors(), np.random.default_rng(random_state)
        draws = [families.largest(np.abs(factors.draw(rng, own=True, weights=weights))) for _ in range(20)]
        return np.mean(draws, axis=0) / np.sqrt(m)
    try:
        values, most, usage = batch.summed(_factor_sums, weights=weights)
    except (Unsupported, InputError):  # no factors, or inputs that are too long for graphs
        if r != "auto":
            raise
        return np.ones(p)
    largest = families.largest(values.value)
    if r == "paper":
        return largest * most.value * np.sqrt(np.log(np.maximum(sizes, 2)))
    used = families.largest(usage)
    return largest * np.sqrt(2.0 * used * np.log(2.0 * sizes) / m)


def _factor_sums(batch: Batch, weights: np.ndarray | None) -> tuple[Largest, Largest, np.ndarray]:
    """Largest value of every feature, most factors of a sample, and the factor values with every feature."""
    factors = require(batch, Factored).factors()
    most = float(factors.counts.max(initial=0.0))
    return Largest(factors.largest()), Largest(most), factors.usage(weights, own=True)
