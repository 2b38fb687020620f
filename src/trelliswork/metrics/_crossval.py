"""Out-of-fold predictions for ragged data."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["cross_val_predict", "take"]


def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    n_jobs: int | None = None,
    method: str = "predict",
    groups: Any = None,
) -> list[Any]:
    """Predict every sample with a model that was fitted without it.

    What scikit-learn's function of this name does, for outputs of unequal length.

    Parameters
    ----------
    estimator : estimator
        Cloned for every fold, never changed itself.
    X, y : sequences of n_samples items
        Lists, arrays, ``Ragged``, data frames or (``X``) sparse matrices. ``y`` may be
        None for estimators that need none.
    cv : int, splitter or iterable of (train, test), default=5
        An integer means that many consecutive folds (``KFold``), never stratified. More folds train on more
        of the data and take longer.
    n_jobs : int or None, default=None
        Folds fitted at once, in threads unless ``joblib.parallel_config`` says otherwise. More are faster,
        up to the number of cores.
    method : str, default="predict"
        Method of the fitted estimator to call, for instance ``"predict_marginals"``.
    groups : array-like of shape (n_samples,), optional
        For splitters that need groups, such as ``GroupKFold``.

    Returns
    -------
    list
        One result per sample, in the order of ``X``.

    Raises
    ------
    ValueError
        When ``X`` and ``y`` differ in length, or the test folds do not hold every
        sample exactly once.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from trelliswork.metrics import cross_val_predict
    >>> class Upper(BaseEstimator):
    ...     def fit(self, X, y):
    ...         return self
    ...     def predict(self, X):
    ...         return [[token.upper() for token in x] for x in X]
    >>> cross_val_predict(Upper(), [["a", "b"], ["c"], []], [["A", "B"], ["C"], []], cv=3)
    [['A', 'B'], ['C'], []]
    """
    from sklearn.base import clone
    from sklearn.model_selection import check_cv
    from sklearn.utils.parallel import Parallel, delayed

    n_samples = _n_samples(X)
    if y is not None and _n_samples(y) != n_samples:
        raise ValueError(f"X has {n_samples} samples, y has {_n_samples(y)}")
    folds = list(check_cv(cv).split(np.arange(n_samples), y, groups))
    tests = [np.arange(n_samples)[test] for _, test in folds]  # masks become indices
    times = np.bincount(np.concatenate([*tests, np.zeros(0, dtype=np.int64)]), minlength=n_samples)
    if np.any(times != 1):
        i = int(np.flatnonzero(times != 1)[0])
        raise ValueError(
            f"every sample must be in exactly one test fold; sample {i} is in {int(times[i])} (cv={cv!r})"
        )

    def run(train: Any, test: np.ndarray) -> Any:
        train = np.arange(n_samples)[train]
        model = clone(estimator)
        model.fit(take(X, train), *(() if y is None else (take(y, train),)))
        return getattr(model, method)(take(X, test))

    parts = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(run)(train, test) for (train, _), test in zip(folds, tests)
    )
    results: list[Any] = [None] * n_samples
    for test, part in zip(tests, parts):
        if _n_samples(part) != test.size:
            raise ValueError(f"{method} returned {_n_samples(part)} results for {test.size} samples")
        for j, i in enumerate(test):
            results[i] = part[j]
    return results


def take(data: Any, index: np.ndarray) -> Any:
    """Samples of ``data`` at the positions ``index``; a list if ``data`` is one, otherwise its own kind."""
    if hasattr(data, "iloc"):
        return data.iloc[index]
    if hasattr(data, "tocsr"):
        return data.tocsr()[index]
    if isinstance(data, (list, tuple)):
        return [data[i] for i in index]
    try:
        return data[index]
    except (TypeError, IndexError, KeyError):  # a sequence that takes only integers
        return [data[int(i)] for i in index]


def _n_samples(data: Any) -> int:
    return int(data.shape[0]) if hasattr(data, "shape") else len(data)
