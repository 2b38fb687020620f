"""Compiled solvers for one learner on one structure, found by registry; never needed for correctness.

A solver is listed once, under what it does and the class of batches that it is for. It is a function whose
first argument is the batch, and it may answer None where it does not apply after all.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from trelliswork.structures.base import Batch

__all__ = ["SOLVERS", "find"]

_CHAIN = "trelliswork.structures.chain.batch:ChainBatch"
_CLASSES = "trelliswork.structures.classes.batch:ClassesBatch"
_ALIGNMENT = "trelliswork.structures.alignment.batch:AlignmentBatch"

# (what is solved, class of the batch) -> the function; all by name, so that nothing is imported in vain
SOLVERS: dict[tuple[str, str], str] = {
    ("svm", _CHAIN): "trelliswork.accelerated.svm_chain:ascent",
    ("svm", _CLASSES): "trelliswork.accelerated.svm_classes:ascent",
    ("kernel svm", _CLASSES): "trelliswork.accelerated.svm_classes:kernel_ascent",
    ("perceptron", _CHAIN): "trelliswork.accelerated.perceptron_chain:passes",
    ("perceptron", _ALIGNMENT): "trelliswork.accelerated.perceptron_alignment:passes",
    ("perceptron", _CLASSES): "trelliswork.accelerated.perceptron_classes:passes",
    ("contrast", _CHAIN): "trelliswork.accelerated.contrast_chain:contrast",
}


def find(what: str, batch: Batch) -> Callable[..., Any]:
    """The compiled solver for a batch, or a function that always answers None.

    Parameters
    ----------
    what : str
        What is solved: ``"svm"``, ``"perceptron"``, ...
    batch : Batch
        Samples, the first argument of the solver.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.accelerated import find
    >>> batch = Chain().bind([["a"]], [["A"]]).pack([["a"]])
    >>> find("perceptron", batch).__name__
    'passes'
    """
    for cls in type(batch).__mro__:
        place = SOLVERS.get((what, f"{cls.__module__}:{cls.__qualname__}"))
        if place is not None:
            module, _, name = place.partition(":")
            return getattr(importlib.import_module(module), name)
    return _nothing


def _nothing(*args: Any, **more: Any) -> None:
    return None
