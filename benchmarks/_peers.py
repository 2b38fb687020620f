"""What other packages reach on a task with their default arguments."""

from __future__ import annotations

import io
import os
import tempfile
import warnings
from typing import Any

import numpy as np

import trelliswork as tw
from benchmarks._tasks import Task

CHAIN = {"Perceptron": "CRFsuite ap", "Generative": "naive Bayes"}
CLASSES = {
    "StructuredSVM": "LinearSVC",
    "Perceptron": "Perceptron of scikit-learn",
    "ZScore": "ridge",
    "SODA": "ridge",
    "Generative": "naive Bayes",
}


def peer_of(task_peers: dict[str, float], learner: str) -> str | None:
    """The peer that does what a learner does; the first one of a task where none is closer.

    Parameters
    ----------
    task_peers : dict of str to float
        Errors of the peers of a task.
    learner : str
        The learner.
    """
    if not task_peers:
        return None
    first = next(iter(task_peers))
    closest = {"CRFsuite": CHAIN, "LogisticRegression": CLASSES}.get(first, {})
    return closest.get(learner, first)


def peer_errors(task: Task) -> dict[str, float]:
    """Errors of the peers on the test part, all with default arguments, by their names."""
    kind = type(task.structure)
    if kind is tw.Chain:
        train, test = _attributes(task)
        return {
            "CRFsuite": _crfsuite(task, train, test, "lbfgs"),
            "CRFsuite ap": _crfsuite(task, train, test, "ap"),
            "naive Bayes": _token_bayes(task, train, test),
        }
    if kind is tw.Classes:
        return _classifiers(task)
    if kind is tw.RNA:
        return {"ViennaRNA": _vienna(task)}
    if kind is tw.Alignment:
        return {"Biopython, BLOSUM62 11/1": _biopython(task)}
    return {}


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


def _crfsuite(task: Task, train: Any, test: Any, algorithm: str) -> float:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    for x, y in zip(train, task.train[1], strict=True):
        trainer.append(x, [str(label) for label in y])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        predicted = [tagger.tag(x) for x in test]
    return task.error([[str(label) for label in y] for y in task.test[1]], predicted)


def _token_bayes(task: Task, train: Any, test: Any) -> float:
    """Naive Bayes of single tokens; NLTK's hidden Markov model where a token is a word and nothing else."""
    if task.raw is None and isinstance(task.train[0][0][0], str):
        from nltk.tag.hmm import HiddenMarkovModelTagger

        model = HiddenMarkovModelTagger.train([list(zip(x, y)) for x, y in zip(*task.train)])
        return task.error(task.test[1], [[label for _, label in model.tag(list(x))] for x in task.test[0]])
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.pipeline import make_pipeline

    rows = [
        [t if isinstance(t, dict) else dict.fromkeys(t, 1.0) for x in part for t in x]
        for part in (train, test)
    ]
    labels = [str(label) for y in task.train[1] for label in y]
    found = iter(make_pipeline(DictVectorizer(), BernoulliNB()).fit(rows[0], labels).predict(rows[1]))
    truth = [[str(label) for label in y] for y in task.test[1]]
    return task.error(truth, [[str(next(found)) for _ in y] for y in truth])


def _classifiers(task: Task) -> dict[str, float]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
    from sklearn.naive_bayes import GaussianNB, MultinomialNB
    from sklearn.svm import LinearSVC

    X = task.train[0]
    sparse = not isinstance(X, np.ndarray)
    models = {
        "LogisticRegression": LogisticRegression(),
        "LinearSVC": LinearSVC(),
        "Perceptron of scikit-learn": Perceptron(),
        "ridge": RidgeClassifier() if sparse else LinearDiscriminantAnalysis(),
        "naive Bayes": GaussianNB() if not sparse and X.min() < 0 else MultinomialNB(),
    }
    errors = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of searches that their defaults end early
        for name, model in models.items():
            errors[name] = task.error(task.test[1], model.fit(*task.train).predict(task.test[0]))
    return errors


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
