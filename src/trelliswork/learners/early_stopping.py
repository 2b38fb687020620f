"""Early stopping: scores of a development set, and the best weights on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trelliswork import metrics
from trelliswork._counts.entities import looks_like_entities
from trelliswork._errors import InputError
from trelliswork.structures.base import Batch, Structure

__all__ = ["SCORES", "Watcher", "dev_score"]

# Functions of ``trelliswork.metrics`` that can be asked for by name; all are better when greater.
SCORES = (
    "base_pair_f1",
    "bracket_f1",
    "entity_f1",
    "entity_precision",
    "entity_recall",
    "sequence_accuracy",
    "tag_accuracy",
    "token_accuracy",
    "tree_accuracy",
)


def dev_score(scoring: Any, structure: Structure, y: Any) -> Callable[[Any, Any], float]:
    """Score of predictions by its name, or the one that suits the outputs.

    Parameters
    ----------
    scoring : str, callable or None
        Name, function ``scoring(y_true, y_pred)``, or None.
    structure : Structure
        What an output is.
    y : list of outputs
        The development set's.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.learners.early_stopping import dev_score
    >>> dev_score(None, Chain(), [["B-PER", "O"]]).__name__, dev_score(None, Chain(), [["D"]]).__name__
    ('entity_f1', 'accuracy')
    """
    if scoring is None:
        entities = structure.output_kind == "label sequence" and looks_like_entities(y)
        return metrics.entity_f1 if entities else structure.accuracy
    if isinstance(scoring, str):
        if scoring not in SCORES:
            raise InputError(f"scoring: unknown score {scoring!r}; expected one of {', '.join(SCORES)}")
        return getattr(metrics, scoring)
    if not callable(scoring):
        raise InputError(
            f"scoring must be a name, a function of y_true and y_pred or None, got {scoring!r:.60}"
        )
    return scoring


class Watcher:
    """Scores a development set and remembers the best weights.

    Parameters
    ----------
    batch : Batch
        Development inputs.
    y : list
        Their outputs.
    metric : callable
        ``metric(y_true, y_pred)``, higher is better.
    patience : int
        Stop after this many steps without improvement.
    """

    def __init__(self, batch: Batch, y: Any, metric: Any, patience: int):
        self.batch, self.y, self.metric, self.patience = batch, y, metric, patience
        self.best = -np.inf
        self.weights: np.ndarray | None = None
        self.waited = 0
        self.objective = np.inf  # at the best weights

    def see(self, w: np.ndarray, objective: float) -> float:
        """Score ``w`` and keep it if none was better; only a higher score renews the patience."""
        score = float(self.metric(self.y, self.batch.unpack(self.batch.argmax(self.batch.scores(w)).codes)))
        self.waited = 0 if score > self.best else self.waited + 1
        if score >= self.best:  # of equal scores the later one: its weights fit the training data better
            self.best, self.weights, self.objective = score, w.copy(), objective
        return score

    @property
    def impatient(self) -> bool:
        """Whether there was no improvement for too long."""
        return self.waited >= self.patience
