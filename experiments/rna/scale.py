"""RNA secondary structures at scale: TORNADO's TrainSetA and TestSetA (Rivas, Lang, Eddy 2012).

All learners of the package use the 19 rules of G6. Structures of the training set that G6 cannot hold are
repaired; the test set (sequences up to 600 bases) is scored against its structures as they are. Settings are
chosen on every tenth training sequence, with models trained on a part of the others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import trelliswork as tw
from experiments._report import markdown, options, write
from experiments._samples import take
from trelliswork.io import read_stockholm
from trelliswork.metrics import base_pair_scores

LONGEST = 600
TUNING_STEP = 8  # settings are compared with models of every eighth training sequence


def read(folder: str, name: str) -> tuple[list[str], list[str]]:
    """Sequences and structures of one of TORNADO's sets."""
    data = read_stockholm(os.path.join(folder, "rna-tornado", f"TORNADO_{name}.sto.gz"))
    assert data.y is not None
    return data.X, data.y


def vienna(X: list[str]) -> list[str]:
    """Structures of minimum free energy."""
    import RNA

    return [RNA.fold(x)[0] for x in X]


def with_gamma(model: Any, gamma: float) -> Any:
    """The same weights; ``gamma`` is the weight of pairs in decoding for expected accuracy."""
    weights = dict(zip(model.space_.feature_names, model.coef_, strict=True))
    return tw.Fixed(tw.RNA("g6", invalid="repair", gamma=gamma), weights, n_jobs=model.n_jobs)


def tuned(name: str, models: dict[str, Any], train: Any, dev: Any) -> tuple[str, list[str]]:
    """Key of the setting with the best F1 on the development part, and a line for each."""
    scores = {}
    for key, model in models.items():
        model.fit(*train)
        scores[key] = base_pair_scores(dev[1], model.predict(dev[0])).f1
    lines = [f"{name} {key}: development F1 {100 * f1:.2f}" for key, f1 in scores.items()]
    return max(scores, key=scores.__getitem__), lines


def scale(arguments: Sequence[str]) -> None:
    """Base pairs that each learner predicts right."""
    args = options(arguments, jobs=(2, "threads"))
    X, y = read(args.data, "TrA")
    test_X, test_y = read(args.data, "TestA")
    short = [i for i, x in enumerate(test_X) if len(x) <= LONGEST]
    test_X, test_y = take(test_X, short), take(test_y, short)
    held = [i for i in range(len(X)) if i % 10 == 0 and len(X[i]) <= LONGEST]
    rest = [i for i in range(len(X)) if i % 10]
    dev = take(X, held), take(y, held)
    small = take(X, rest[::TUNING_STEP]), take(y, rest[::TUNING_STEP])
    rna, jobs = tw.RNA("g6", invalid="repair"), args.jobs

    def svm(C: float) -> Any:
        return tw.StructuredSVM(
            rna, C=C, loss="base-pairs", tol=0.02, n_jobs=jobs, C_mode="absolute", prior=None
        )

    price, notes = tuned("SVM", {f"C={C:g}": svm(C) for C in (0.1, 1.0, 10.0)}, small, dev)
    rows = []

    def add(name: str, predicted: list[str], seconds: float | None) -> None:
        exact = base_pair_scores(test_y, predicted)
        slipped = base_pair_scores(test_y, predicted, slip=1)
        figures = [100 * exact.sensitivity, 100 * exact.ppv, 100 * exact.f1, 100 * slipped.f1]
        rows.append([name, *figures, "" if seconds is None else f"{seconds:.0f}"])
        print(rows[-1], flush=True)

    learners = {
        "generative G6": tw.Generative(rna, n_jobs=jobs),
        "CRF G6": tw.CRF(rna, l2=1.0, n_jobs=jobs),
        f"SVM G6, {price}": svm(float(price.removeprefix("C="))),
    }
    for name, model in learners.items():
        started = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - started
        add(f"{name}, best structure", model.predict(test_X), seconds)
        if not name.startswith("SVM"):
            quality = {}
            for gamma in (0.5, 1.0, 2.0, 4.0):
                predicted = with_gamma(model, gamma).predict_mea(dev[0])
                quality[gamma] = base_pair_scores(dev[1], predicted).f1
            best = max(quality, key=quality.__getitem__)
            notes.append(f"{name}, expected accuracy: gamma={best:g} of {', '.join(map(str, quality))}")
            predicted = with_gamma(model, best).predict_mea(test_X)
            add(f"{name}, expected accuracy (gamma={best:g})", predicted, None)
    started = time.perf_counter()
    add("ViennaRNA, minimum free energy", vienna(test_X), None)
    notes.append(f"ViennaRNA folded the test set in {time.perf_counter() - started:.0f} s, one thread")
    header = ["model", "sensitivity", "PPV", "F1", "F1, ends off by one", "training s"]
    body = (
        f"{(__doc__ or '').split(chr(10), 2)[2].strip()}\n\n{len(X):,} training and {len(test_X):,} test "
        f"sequences; {jobs} threads.\n\n{markdown(header, rows)}\n\n"
        + "\n".join(f"- {note}" for note in notes)
    )
    write("rna/scale", "RNA at scale", body)
