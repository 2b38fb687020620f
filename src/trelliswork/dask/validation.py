"""Cross-validation of data in partitions, on a cluster."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from sklearn.base import clone

from trelliswork._validate import check_number
from trelliswork.dask.predicting import predict
from trelliswork.dask.source import Parts, as_parts
from trelliswork.selection.scoring import as_measure
from trelliswork.selection.steps import on_a_part, structure_of

__all__ = ["cross_val_predict", "cross_val_score"]


def _folds(learner: Any, parts: Parts, cv: int) -> Any:
    """Model and held-out samples of every fold; folds are neighbouring samples."""
    check_number("cv", cv, 2, whole=True)
    n = parts.count(structure_of(learner))
    marks = np.linspace(0, n, cv + 1).round().astype(int)
    for first, last in itertools.pairwise(marks.tolist()):
        train = np.concatenate([np.arange(first), np.arange(last, n)])
        model = clone(on_a_part(learner)).fit(parts.subset(train))
        yield model, parts.subset(np.arange(first, last))


def cross_val_score(
    learner: Any, parts: Any, *, cv: int = 5, scoring: Any = None, client: Any = None
) -> np.ndarray:
    """Scores of models on samples that they were not fitted to, one for each fold; greater is better.

    Models are fitted one after the other, each on the whole cluster.

    Parameters
    ----------
    learner : estimator
        A learner that takes partitions; not changed.
    parts : partitions
        As :class:`Parts` takes them.
    cv : int, default=5
        Number of folds, which are neighbouring samples.
    scoring : str or None, default=None
        A measure of ``trelliswork.scorers``, errors with a minus sign; None is what suits the outputs.
    client : distributed.Client or None, default=None
        The cluster; None is the one in use.

    Returns
    -------
    ndarray of shape (cv,)
        Scores.
    """
    parts = as_parts(parts, client)
    scores = []
    for model, held_out in _folds(learner, parts, cv):
        measure = as_measure(scoring, model, parts.look(200)[1])
        scores.append(measure.sign * held_out.judged(model, measure).score)
    return np.array(scores)


def cross_val_predict(learner: Any, parts: Any, *, cv: int = 5, client: Any = None) -> list[Any]:
    """Outputs that models predict for samples that they were not fitted to, in the order of the samples.

    Parameters
    ----------
    learner : estimator
        A learner that takes partitions; not changed.
    parts : partitions
        As :class:`Parts` takes them.
    cv : int, default=5
        Number of folds, which are neighbouring samples.
    client : distributed.Client or None, default=None
        The cluster; None is the one in use.

    Returns
    -------
    list of Delayed
        Lists of outputs, one after the other.
    """
    parts = as_parts(parts, client)
    folds = _folds(learner, parts, cv)
    return [output for model, held_out in folds for output in predict(model, held_out)]
