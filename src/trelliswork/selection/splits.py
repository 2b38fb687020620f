"""Which samples are trained on and which are held out: always the same for the same data and seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._validate import check_number
from trelliswork.losses.base import is_label

__all__ = ["make_splits"]


def make_splits(
    y: Any, cv: Any = 3, *, groups: Any = None, share: float | None = None, random_state: int = 0
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Indices of training and of held-out samples.

    Parameters
    ----------
    y : list of outputs
        A list or an array. Single labels are spread evenly over the folds.
    cv : int, splitter of scikit-learn or list of (train, test), default=3
        Number of folds, or how to make them.
    groups : array-like or None
        Samples of one group (a document, a family, a patient) stay together.
    share : float or None
        Instead of folds, one split that holds out this share of the samples (or groups).
    random_state : int, default=0
        Seed of the order in which samples are dealt out.

    Examples
    --------
    >>> from trelliswork.selection.splits import make_splits
    >>> [test.tolist() for _, test in make_splits(["a", "b", "a", "b"], 2)]
    [[1, 2], [0, 3]]
    """
    n = len(y)
    if not isinstance(cv, (int, np.integer)) and share is None:
        return _given(y, cv, groups)
    n_folds = cv
    if share is not None:
        check_number("dev", share, 0, above=True)
        if share >= 1:
            raise InputError(f"dev must be a share of the samples between 0 and 1, got {share!r}")
        n_folds = max(2, round(1 / share))
    check_number("cv", n_folds, 2, whole=True)
    if groups is not None and len(groups) != n:
        raise InputError(f"groups has {len(groups)} entries for {n} samples")
    # Samples, or groups, in random order, those with one label together; dealt out like cards.
    _, unit = np.unique(np.arange(n) if groups is None else np.asarray(groups), return_inverse=True)
    n_units = int(unit.max()) + 1 if n else 0
    if n_units < n_folds:
        what = "samples" if groups is None else "groups"
        raise InputError(f"{n_units} {what} are too few for {n_folds} folds; lower cv")
    first = np.full(n_units, n)
    np.minimum.at(first, unit, np.arange(n))
    order = np.random.default_rng(random_state).permutation(n_units)
    if n and is_label(y[0]):
        _, label = np.unique(np.array([str(y[i]) for i in first]), return_inverse=True)
        order = order[np.argsort(label[order], kind="stable")]
    fold_of_unit = np.empty(n_units, dtype=np.int64)
    fold_of_unit[order] = np.arange(n_units) % n_folds
    fold = fold_of_unit[unit]
    held_out = [np.flatnonzero(fold == k) for k in range(n_folds if share is None else 1)]
    return [(np.setdiff1d(np.arange(n), test), test) for test in held_out]


def _given(y: Any, cv: Any, groups: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import check_cv

    places = np.arange(len(y))
    try:
        pairs = list(check_cv(cv).split(places, y, groups))
    except (TypeError, ValueError) as error:
        raise InputError(f"cv must be a number of folds, a splitter or a list of splits ({error})") from None
    splits = [(places[train], places[test]) for train, test in pairs]
    if not splits or not all(train.size and test.size for train, test in splits):
        raise InputError("cv gives a split without training or without held-out samples")
    return splits
