"""Learners whose data lie on the workers of a cluster."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import clone

from trelliswork import learners
from trelliswork._errors import InputError
from trelliswork._validate import count_samples
from trelliswork.dask.predicting import predict, score
from trelliswork.dask.source import as_parts, client_of, is_parts
from trelliswork.metrics._crossval import take

__all__ = [
    "CRF",
    "KLRSO",
    "SODA",
    "Generative",
    "OnCluster",
    "Perceptron",
    "StructuredSVM",
    "VotedCRF",
    "ZScore",
    "on_cluster",
]

_OWN = ("client", "worker_memory", "keep_best")


class OnCluster:
    """What learners on a cluster share; made by :func:`on_cluster`."""

    local: type  # the learner

    client: Any
    worker_memory: int | None
    keep_best: bool

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **more: Any) -> Any:
        """Fit to partitions that the workers read.

        Parameters
        ----------
        X : str, list, bag or Parts
            Partitions, as :class:`Parts` takes them; or inputs, with ``y``.
        y : list of outputs or None
            Outputs, where ``X`` are inputs in this process; they are sent to the workers in pieces.
        sample_weight : array-like of shape (n_samples,) or None
            Weight of each sample.
        **more
            As in the learner.
        """
        client = client_of(self.client)
        if y is not None:
            X = _cut(X, y, sum(client.nthreads().values()))
        options = {"memory": self.worker_memory, "keep_best": self.keep_best}
        parts = as_parts(X, client, **options)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        super().fit(parts, None, **weights, **more)  # type: ignore[misc]
        self._look_at_fit(parts, None)  # type: ignore[attr-defined]
        return self

    def to_local(self) -> Any:
        """The model without a cluster: an ordinary learner, fitted if this one is.

        Examples
        --------
        >>> import trelliswork as tw
        >>> tw.dask.CRF(tw.Chain(), l2=0.5).to_local()
        CRF(l2=0.5, structure=Chain())
        """
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        model = self.local(**{name: value for name, value in params.items() if name not in _OWN})
        fitted = {k: v for k, v in vars(self).items() if k.endswith("_") and not k.startswith("_")}
        vars(model).update(fitted)
        return model

    def predict(self, X: Any, **constraints: Any) -> Any:
        """Best output of every sample; for partitions a list of delayed lists, one for each.

        Parameters
        ----------
        X : list of inputs, or partitions
            As in ``fit``.
        **constraints
            As in the learner.
        """
        if not is_parts(X):
            return super().predict(X, **constraints)  # type: ignore[misc]
        return predict(self.to_local(), X, client=self.client)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy in the structure's own terms; of partitions, computed where they are.

        Parameters
        ----------
        X : list of inputs, or partitions
            As in ``fit``.
        y : list of outputs or None
            Outputs, where ``X`` are inputs in this process.
        sample_weight : array-like or None
            Weight of each sample in this process.
        """
        if y is not None:
            return super().score(X, y, sample_weight)  # type: ignore[misc]
        return score(self.to_local(), X, client=self.client)

    def __sklearn_clone__(self) -> Any:
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        return type(self)(**{k: v if k == "client" else clone(v, safe=False) for k, v in params.items()})

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "client": None}  # another process has its own


def _cut(X: Any, y: Any, n: int) -> list[tuple[Any, Any]]:
    """Samples of this process in partitions, a few for every thread of a cluster."""
    if not hasattr(y, "__len__") or count_samples(X) != count_samples(y):
        raise InputError(f"X has {count_samples(X)} samples but y has {count_samples(y)}")
    pieces = np.array_split(np.arange(count_samples(X)), max(1, 4 * n))
    return [(take(X, index), take(y, index)) for index in pieces if index.size]


def on_cluster(learner: Any) -> Any:
    """The class of a learner whose data lie on a cluster.

    It has the parameters of the learner and three more: ``client`` (None for the one in use),
    ``worker_memory`` (bytes of encoded samples that a worker holds in memory; None is a quarter of it) and
    ``keep_best`` (whether the loss of the scheduler ends the fit with the best weights so far).

    Parameters
    ----------
    learner : type
        A learner that takes :class:`~trelliswork.Shards`.

    Examples
    --------
    >>> import trelliswork as tw
    >>> from trelliswork.dask.estimators import on_cluster
    >>> on_cluster(tw.CRF)(tw.Chain(), l2=0.1).l2
    0.1
    """
    given = inspect.signature(learner.__init__)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in zip(_OWN, (None, None, False), strict=True)
    ]

    def __init__(
        self: Any,
        structure: Any,
        *args: Any,
        client: Any = None,
        worker_memory: int | None = None,
        keep_best: bool = False,
        **params: Any,
    ) -> None:
        learner.__init__(self, structure, *args, **params)
        self.client, self.worker_memory, self.keep_best = client, worker_memory, keep_best

    __init__.__signature__ = given.replace(parameters=[*given.parameters.values(), *added])  # type: ignore[attr-defined]
    text = (
        f"{learner.__name__} whose data lie on the workers of a Dask cluster; see :class:`trelliswork."
        f"{learner.__name__}` and :func:`on_cluster`."
    )
    body = {
        "__init__": __init__,
        "__doc__": text,
        "__module__": __name__,
        "local": learner,
        "command": None,
    }
    return type(learner.__name__, (OnCluster, learner), body)


CRF = on_cluster(learners.CRF)
VotedCRF = on_cluster(learners.VotedCRF)
ZScore = on_cluster(learners.ZScore)
SODA = on_cluster(learners.SODA)
Generative = on_cluster(learners.Generative)
KLRSO = on_cluster(learners.KLRSO)
StructuredSVM = on_cluster(learners.StructuredSVM)
Perceptron = on_cluster(learners.Perceptron)
