"""From kernels or features and targets to coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork._validate import check_number
from trelliswork.kernels import Kernel, Precomputed
from trelliswork.kernels._compose import diagonal_of, fresh, similarities
from trelliswork.learners.optimize.lowrank import Basis, greedy_basis, nystrom, pivoted_cholesky, random_basis
from trelliswork.learners.regression.constraints import solve_constraints, solve_masks
from trelliswork.learners.regression.maps import take
from trelliswork.learners.regression.solvers import (
    Path,
    check_gram,
    solve_dual,
    spectral_dual,
    spectral_primal,
)

__all__ = ["Fit", "fit_dual", "fit_primal"]

_GRID = np.logspace(-8, 2, 21)  # times the mean squared norm of the inputs


class Fit(NamedTuple):
    """Everything that a fit finds.

    Attributes
    ----------
    dual_coef, inputs : ndarray and inputs, or None
        Coefficients of the similarities with some inputs.
    coef : ndarray or None
        Weights of explicit features.
    ridge : float
        The ridge used.
    loo_error : list of float or None
        Mean squared error for each ridge of a path.
    n_iter : int
        Steps of an iterative solver.
    loo, residual : ndarray or None
        Leave-one-out and plain residuals, when they were asked for.
    fmap, symbols : object
        Explicit features and alphabet of the inputs.
    """

    dual_coef: Any = None
    inputs: Any = None
    coef: Any = None
    ridge: float = 0.0
    loo_error: list[float] | None = None
    n_iter: int = 0
    loo: Any = None
    residual: Any = None
    fmap: Any = None
    symbols: Any = None


def ridge_values(ridge: Any, scale: float) -> tuple[np.ndarray, bool]:
    """Ridges to try, and whether one has to be chosen."""
    if isinstance(ridge, str):
        if ridge != "loo":
            raise InputError(f"ridge must be a number, a list of numbers or 'loo', got {ridge!r}")
        return _GRID * (scale or 1.0), True
    if np.ndim(ridge) == 0:
        check_number("ridge", ridge, 0)
        return np.array([float(ridge)]), False
    values = list(ridge)
    for value in values:
        check_number("ridge", value, 0)
    if not values:
        raise InputError("ridge is an empty list; give at least one number")
    return np.array(values, dtype=float), True


def _chosen(path: Path, choose: bool, weights: np.ndarray | None) -> tuple[int, list[float] | None]:
    """The ridge with the least leave-one-out error, and the errors."""
    if not choose:
        return 0, None
    # Rows are already multiplied by the roots of the weights, and so are their residuals.
    total = float(len(path.targets) if weights is None else weights.sum())
    errors = [float((path.loo(i) ** 2).sum()) / total for i in range(len(path.ridges))]
    return int(np.argmin(errors)), errors


def fit_dual(
    learner: Any,
    kernel: Any,
    X: Any,
    inputs: Any,
    T: np.ndarray,
    weights: np.ndarray | None,
    needs_loo: bool,
) -> Fit:
    """Coefficients of similarities with all training inputs, or with a basis of some of them."""
    n = len(T)
    size = n if learner.basis is None else min(int(learner.basis), n)
    if 8e-6 * n * size > learner.cache_mb:
        raise InputError(
            f"the Gram matrix of {n:,} samples takes {8e-6 * n * size:,.0f} MB, more than cache_mb="
            f"{learner.cache_mb:g}; use basis=... (some samples as basis functions), or raise cache_mb"
        )
    root = None if weights is None else np.sqrt(weights)
    targets = T if root is None else root[:, None] * T
    if learner.basis is not None:
        return _fit_basis(learner, kernel, X, inputs, targets, root, needs_loo)
    if isinstance(kernel, Precomputed):
        K = check_gram(np.asarray(X, dtype=np.float64)[:, inputs]).copy()
    else:
        K = similarities(partial(fresh, kernel), inputs, inputs)
        if not isinstance(kernel, Kernel):
            check_gram(K)  # a function of the user's
    if root is not None:
        K *= root[:, None]
        K *= root
    ridges, choose = ridge_values(learner.ridge, float(K.diagonal().mean()))
    if not choose and not needs_loo:
        dual = solve_dual(K, targets, float(ridges[0]))
        return Fit(dual if root is None else root[:, None] * dual, inputs, ridge=float(ridges[0]))
    path = spectral_dual(K, targets, ridges)
    best, errors = _chosen(path, choose, weights)
    dual = path.solve(best)
    return Fit(
        dual if root is None else root[:, None] * dual,
        inputs,
        ridge=float(ridges[best]),
        loo_error=errors,
        **_residuals(path, best, root, needs_loo),
    )


def _residuals(path: Path, best: int, root: np.ndarray | None, wanted: bool) -> dict[str, Any]:
    if not wanted:
        return {}
    shrink = path.values / (path.values + path.ridges[best])
    plain = path.targets - path.basis @ (shrink[:, None] * path.rotated)
    scale = 1.0 if root is None else 1.0 / root[:, None]
    return {"loo": path.loo(best) * scale, "residual": plain * scale}


def _fit_basis(
    learner: Any,
    kernel: Any,
    X: Any,
    inputs: Any,
    targets: np.ndarray,
    root: np.ndarray | None,
    needs_loo: bool,
) -> Fit:
    n = len(targets)
    rows = np.asarray(X, dtype=np.float64) if isinstance(kernel, Precomputed) else inputs
    scale = np.ones(n) if root is None else root

    def columns(j: np.ndarray) -> np.ndarray:
        return similarities(kernel, rows, take(inputs, j)) * scale[:, None] * scale[j]

    if isinstance(kernel, Precomputed):
        diagonal = rows[np.arange(n), inputs] * scale**2
    else:
        diagonal = diagonal_of(kernel, inputs) * scale**2
    ridges, choose = ridge_values(learner.ridge, float(diagonal.mean()))
    middle = float(np.exp(np.log(np.maximum(ridges, 1e-300)).mean())) if choose else float(ridges[0])
    basis: Basis
    if learner.basis_method == "random":
        basis = random_basis(columns, n, int(learner.basis), np.random.default_rng(learner.random_state))
    elif learner.basis_method == "cholesky":
        basis, _ = pivoted_cholesky(columns, diagonal, int(learner.basis))
    else:
        basis = greedy_basis(columns, targets, int(learner.basis), middle)
    if not basis.chosen.size:
        raise InputError("all similarities are 0: no sample can be a basis function")
    explicit = nystrom(basis)
    path = spectral_primal(explicit.features, targets, ridges)
    best, errors = _chosen(path, choose, None if root is None else root**2)
    dual = (explicit.back @ path.solve(best)) * scale[basis.chosen][:, None]
    return Fit(
        dual,
        take(inputs, basis.chosen),
        ridge=float(ridges[best]),
        loo_error=errors,
        **_residuals(path, best, root, needs_loo),
    )


def fit_primal(
    learner: Any,
    F: np.ndarray,
    T: np.ndarray,
    weights: np.ndarray | None,
    masks: np.ndarray | None,
    names_out: list[Any],
    names_in: list[Any],
    needs_loo: bool = False,
) -> Fit:
    """Weights of explicit features, with masks and constraints."""
    root = None if weights is None else np.sqrt(weights)
    features = F if root is None else root[:, None] * F
    targets = T if root is None else root[:, None] * T
    ridges, choose = ridge_values(learner.ridge, float((features**2).sum(axis=1).mean()))
    if masks is None and learner.mask is not None:
        masks = np.array([[bool(learner.mask(r, s)) for s in names_in] for r in names_out])
    constrained = learner.constraints is not None
    if (masks is not None and learner.eta > 0) or (constrained and learner.eta > 0):
        if choose or not ridges[0] > 0:
            raise InputError("mask and constraints need one ridge > 0 (leave-one-out errors ignore them)")
        if needs_loo:
            raise InputError("thresholds and votes do not go with mask or constraints; use preimage='repair'")
        if masks is not None and constrained:
            raise InputError("mask and constraints cannot be given together; write the mask as constraints")
        if masks is not None:
            return Fit(
                coef=solve_masks(features, targets, float(ridges[0]), masks, float(learner.eta)),
                ridge=float(ridges[0]),
            )
        if not np.isfinite(learner.eta):
            raise InputError("eta must be finite for constraints; only a mask can be absolute")
        A = np.sqrt(learner.eta) * constraint_matrix(learner.constraints, names_out, names_in)
        solved = solve_constraints(features, targets, float(ridges[0]), A, learner.constraint_solver)
        return Fit(coef=solved.W, ridge=float(ridges[0]), n_iter=solved.n_iter)
    if choose or needs_loo or ridges[0] == 0:
        path = spectral_primal(features, targets, ridges)
        best, errors = _chosen(path, choose, weights)
        return Fit(
            coef=np.ascontiguousarray(path.solve(best).T),
            ridge=float(ridges[best]),
            loo_error=errors,
            **_residuals(path, best, root, needs_loo),
        )
    if features.shape[0] < features.shape[1]:
        dual = solve_dual(features @ features.T, targets, float(ridges[0]))
        return Fit(coef=dual.T @ features, ridge=float(ridges[0]))
    coef = solve_dual(features.T @ features, features.T @ targets, float(ridges[0])).T
    return Fit(coef=np.ascontiguousarray(coef), ridge=float(ridges[0]))


def constraint_matrix(constraints: Any, names_out: list[Any], names_in: list[Any]) -> sp.csr_matrix:
    """Constraints by name as rows over all weights."""
    out = {name: r for r, name in enumerate(names_out)}
    into = {name: s for s, name in enumerate(names_in)}
    data, row, column = [], [], []
    for c, constraint in enumerate(constraints):
        if not isinstance(constraint, Mapping):
            raise InputError(f"constraint {c}: expected a mapping, got {type(constraint).__name__}")
        for key, factor in constraint.items():
            if not isinstance(key, tuple) or len(key) != 2:
                raise InputError(
                    f"constraint {c}: expected pairs (output feature, input feature), got {key!r}"
                )
            r, s = out.get(key[0]), into.get(key[1])
            if r is None or s is None:
                what, name = ("output", key[0]) if r is None else ("input", key[1])
                raise InputError(f"constraint {c}: there is no {what} feature {name!r}")
            check_number(f"constraint {c}: the factor", abs(factor), 0)
            data.append(float(factor))
            row.append(c)
            column.append(r * len(names_in) + s)
    shape = (len(list(constraints)), len(names_out) * len(names_in))
    return sp.csr_matrix((data, (row, column)), shape=shape)
