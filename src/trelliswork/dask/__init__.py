"""Past one machine: learners whose data lie on the workers of a Dask cluster."""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("distributed") is None:
    raise ImportError("trelliswork.dask needs Dask: install trelliswork[dask], that is dask and distributed")

from trelliswork.dask.estimators import (
    CRF,
    KLRSO,
    SODA,
    Generative,
    Perceptron,
    StructuredSVM,
    VotedCRF,
    ZScore,
)
from trelliswork.dask.faults import SchedulerLost
from trelliswork.dask.local import local_cluster
from trelliswork.dask.predicting import predict, score
from trelliswork.dask.source import Parts
from trelliswork.dask.validation import cross_val_predict, cross_val_score

__all__ = [
    "CRF",
    "KLRSO",
    "SODA",
    "Generative",
    "Parts",
    "Perceptron",
    "SchedulerLost",
    "StructuredSVM",
    "VotedCRF",
    "ZScore",
    "cross_val_predict",
    "cross_val_score",
    "local_cluster",
    "predict",
    "score",
]
