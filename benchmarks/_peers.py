"""What other packages reach on a task with their default arguments."""

from __future__ import annotations

import io
import os
import tempfile
from typing import Any

import numpy as np

import trelliswork as tw
from benchmarks._tasks import Task


def peer_error(task: Task) -> tuple[float | None, str]:
    """Error of the peer on the test part, and its name; None where there is no peer."""
    kind = type(task.structure)
    if kind is tw.Chain:
        return _crfsuite(task), "CRFsuite"
    if kind is tw.Classes:
        return _linear_svc(task), "LinearSVC"
    if kind is tw.RNA:
        return _vienna(task), "ViennaRNA"
    if kind is tw.Alignment:
        return _biopython(task), "BLOSUM62 11/1"
    return None, ""


def _attributes(task: Task) -> list[Any]:
    """Tokens of both parts as CRFsuite takes them."""
    if task.attributes is not None and task.raw is not None:
        return [[task.attributes(x) for x in X] for X in task.raw]
    parts: list[Any] = []
    for X, _ in (task.train, task.test):
        if isinstance(X[0], np.ndarray):
            parts.append([[{f"p{j}": float(v) for j, v in enumerate(t) if v} for t in x] for x in X])
        else:
            parts.append([[[f"w={w}"] for w in x] for x in X])
    return parts


def _crfsuite(task: Task) -> float:
    import pycrfsuite

    train, test = _attributes(task)
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, y in zip(train, task.train[1], strict=True):
        trainer.append(x, [str(label) for label in y])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        predicted = [tagger.tag(x) for x in test]
    return task.error([[str(label) for label in y] for y in task.test[1]], predicted)


def _linear_svc(task: Task) -> float:
    from sklearn.svm import LinearSVC

    model = LinearSVC().fit(*task.train)
    return task.error(task.test[1], model.predict(task.test[0]))


def _vienna(task: Task) -> float:
    import RNA

    return task.error(task.test[1], [RNA.fold(x)[0] for x in task.test[0]])


def _biopython(task: Task) -> float:
    from Bio import Align
    from Bio.Align import substitution_matrices

    aligner = Align.PairwiseAligner(mode="global")
    aligner.substitution_matrix = substitution_matrices.load("BLOSUM62")
    aligner.open_gap_score, aligner.extend_gap_score = -11, -1
    aligner.end_gap_score = 0
    rows = []
    for a, b in task.test[0]:
        found = io.StringIO(format(aligner.align(a.upper(), b.upper())[0], "fasta")).read().split("\n>")
        rows.append(tuple("".join(part.split("\n")[1:]) for part in found))
    return task.error(task.test[1], rows)
