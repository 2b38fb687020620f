"""Predictions and scores, partition by partition, where the partitions are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.dask.source import Parts, as_parts, is_bag, is_delayed
from trelliswork.selection.measures import MEASURES, Judged, Measure
from trelliswork.selection.scoring import as_measure
from trelliswork.selection.steps import final_step, structure_of
from trelliswork.shards.reading import Partition

__all__ = ["judged", "predict", "score"]

# The accuracy of a structure as a ratio of sums, by the kind of its outputs.
_ACCURACY = {
    "label sequence": "token_accuracy",
    "label": "accuracy",
    "RNA structure": "pair_f1",
    "parse tree": "bracket_f1",
    "alignment": "columns",
}


def predict(model: Any, parts: Any, *, client: Any = None, method: str = "predict") -> list[Any]:
    """Outputs of partitions, lazily: one delayed list for each, in their order.

    Parameters
    ----------
    model : estimator
        A fitted learner, or a pipeline that ends in one.
    parts : partitions
        As :class:`Parts` takes them; partitions may be inputs alone, and a bag is one of inputs.
    client : distributed.Client or None, default=None
        The cluster; None is the one in use.
    method : str, default="predict"
        Method of the model.

    Returns
    -------
    list of Delayed
        ``dask.compute(*outputs)`` gives the outputs.

    Examples
    --------
    >>> import dask
    >>> from distributed import Client
    >>> import trelliswork as tw
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)
    >>> model = tw.CRF(tw.Chain(), l2=0.1).fit([["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]])
    >>> outputs = tw.dask.predict(model, [dask.delayed([["the", "dog"]]), dask.delayed([])])
    >>> dask.compute(*outputs)
    ([['D', 'N']], [])
    >>> client.close()
    """
    from dask import delayed

    if is_bag(parts):
        parts = list(parts.to_delayed())
    there = delayed(model, name=_named("model"), traverse=False)
    out = []
    for partition in as_parts(parts, client).partitions:
        small, value = _lazy(partition)
        name = _named(method.replace("_", "-"))
        out.append(delayed(_predicted)(there, method, small, value, dask_key_name=name))
    return out


def _named(name: str) -> str:
    import uuid

    return f"{name}-{uuid.uuid4().hex}"


def _lazy(partition: Partition) -> tuple[Partition, Any]:
    """A partition for a task, and what a task of the user makes of it."""
    if not is_delayed(partition.source):
        return partition, None
    return replace(partition, source=None), partition.source


def _predicted(model: Any, method: str, partition: Partition, value: Any) -> Any:
    structure = structure_of(model)
    if value is not None:
        partition = replace(partition, source=value)
    X = partition.inputs(structure)
    return getattr(model, method)(X) if len(X) else []


def score(model: Any, parts: Any, *, client: Any = None, scoring: Any = None) -> float:
    """Score of a model on partitions with outputs; greater is better.

    Parameters
    ----------
    model : estimator
        A fitted learner, or a pipeline that ends in one.
    parts : partitions
        As :class:`Parts` takes them.
    client : distributed.Client or None, default=None
        The cluster; None is the one in use.
    scoring : str or None, default=None
        A measure of ``trelliswork.scorers``, errors with a minus sign; None is the accuracy in the
        structure's own terms, as in ``model.score(X, y)``.
    """
    structure = structure_of(model)
    name = _ACCURACY.get(str(structure.output_kind), "accuracy") if scoring is None else scoring
    measure = as_measure(name, model, [])
    return measure.sign * judged(model, as_parts(parts, client), measure).score


def judged(model: Any, parts: Parts, measure: Measure, method: str = "predict") -> Judged:
    """What a measure says about all samples of partitions; samples stay where they are."""
    if measure.name not in MEASURES:
        raise InputError("scoring: partitions need a measure by name, one of trelliswork.scorers")
    cluster = parts.cluster
    there = cluster.sent(model)
    structure = structure_of(final_step(model))
    futures = []
    for partition in parts.partitions:
        small, value = parts.value(partition)
        asked = there, measure.name, method, small, structure, *value
        futures.append(cluster.submit("score", _judged, *asked))
    found = [one for one in cluster.gathered(futures) if one is not None]
    if not found:
        return Judged(np.zeros(0), np.zeros(0))
    return Judged.joined(found)


def _judged(
    model: Any, measure: str, method: str, partition: Partition, structure: Any, value: Any = None
) -> Judged | None:
    if value is not None:
        partition = replace(partition, source=value)
    read = partition.read(structure)
    return MEASURES[measure].evaluate(model, read.X, read.y, method) if len(read) else None
