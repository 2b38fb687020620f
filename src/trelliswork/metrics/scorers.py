"""Scorers for ``scoring=`` of scikit-learn: ``scorer(estimator, X, y)``, greater is better.

>>> from sklearn.model_selection import GridSearchCV
>>> from trelliswork.metrics import scorers
>>> scorers.entity_f1
make_scorer(entity_f1)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trelliswork.metrics import _entities, _pairs, _tokens

__all__ = [
    "base_pair_f1",
    "entity_f1",
    "entity_precision",
    "entity_recall",
    "make_scorer",
    "neg_token_error",
    "sequence_accuracy",
    "token_accuracy",
]


class _Scorer:
    def __init__(self, metric: Callable[..., float], sign: int, options: dict[str, Any]):
        self.metric, self.sign, self.options = metric, sign, options

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        return self.sign * self.metric(y, estimator.predict(X), **self.options)

    def __repr__(self) -> str:
        parts = [self.metric.__name__] + ["greater_is_better=False"] * (self.sign < 0)
        parts += [f"{k}={v!r}" for k, v in self.options.items()]
        return f"make_scorer({', '.join(parts)})"


def make_scorer(
    metric: Callable[..., float], *, greater_is_better: bool = True, **options: Any
) -> Callable[[Any, Any, Any], float]:
    """Turn ``metric(y_true, y_pred)`` into ``scorer(estimator, X, y)``.

    It calls ``predict`` and the metric and nothing else, so ragged lists of any labels
    reach the metric as they are, whatever kind of estimator made them.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_pred, **options) -> float``. A module-level function if the
        scorer is to be sent to other processes.
    greater_is_better : bool, default=True
        False for a loss: the scorer then returns its negative.
    **options
        Further keyword arguments of the metric.

    Returns
    -------
    callable
        ``scorer(estimator, X, y) -> float``.

    Examples
    --------
    >>> from trelliswork.metrics import entity_f1, make_scorer
    >>> class Echo:
    ...     def predict(self, X):
    ...         return X
    >>> make_scorer(entity_f1, scheme="raw")(Echo(), [["PER", "O"]], [["PER", "O"]])
    1.0
    """
    return _Scorer(metric, 1 if greater_is_better else -1, options)


token_accuracy = make_scorer(_tokens.token_accuracy)
neg_token_error = make_scorer(_tokens.token_error, greater_is_better=False)
sequence_accuracy = make_scorer(_tokens.sequence_accuracy)
entity_precision = make_scorer(_entities.entity_precision)
entity_recall = make_scorer(_entities.entity_recall)
entity_f1 = make_scorer(_entities.entity_f1)
base_pair_f1 = make_scorer(_pairs.base_pair_f1)
