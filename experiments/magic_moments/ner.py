"""Named entities with Z-score and SODA (Tables 3-4 of Magic Moments)."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import trelliswork as tw
from experiments._report import markdown, options, write
from experiments._samples import take
from trelliswork.metrics import token_error

PAPER = {  # order: Z-score, SODA, max-margin, HMP, CRF
    (300, "S1"): (11.07, 10.13, 10.97, 20.99, 11.96),
    (300, "S2"): (7.89, 8.27, 8.11, 13.78, 8.25),
    (1500, "S1"): (9.43, 8.80, 9.35, 11.01, 9.07),
    (1500, "S2"): (8.57, 8.01, 7.33, 7.83, 8.40),
}
NAMES = ("Z-score", "SODA", "max-margin", "HMP", "CRF")
TEMPLATES = {"S1": "word", "S2": "word @ -1..1"}
RIDGES = (0.01, 0.1, 1.0, 3.0, 10.0)
CHAIN = tw.Chain(start=False, end=False, unknown=False)


class Contender(NamedTuple):
    """A learner and the values of the parameter that inner folds choose from."""

    make: Callable[[], Any]
    name: str
    values: Sequence[float]


def contenders(features: str, n: int) -> dict[str, Contender]:
    """Moment learners with every reference, and the others; fewer variants for many sentences."""
    out = {}
    for name, kind in (("Z-score", tw.ZScore), ("SODA", tw.SODA)):
        for reference in ("uniform", "observed", "generative"):
            for loss in (None, "hamming"):
                if n > 300 and loss is not None and reference != "uniform":
                    continue
                params = {"reference": reference, "loss": loss, "total_margin": None, "reg_mode": "absolute"}
                if features != "S1":
                    params["symbols"] = ["word="]
                what = f"{name}, {reference}" + (", Hamming" if loss else "")
                out[what] = Contender(lambda kind=kind, params=params: kind(CHAIN, **params), "reg", RIDGES)
    out["CRF"] = Contender(lambda: tw.CRF(CHAIN), "l2", (0.05, 0.5, 2.0))
    out["HMP"] = Contender(lambda: tw.Perceptron(CHAIN), "max_iter", (5, 20, 100))
    out["HMM"] = Contender(lambda: tw.Generative(tw.Chain()), "smoothing", (0.01, 0.1, 1.0))
    out["max-margin"] = Contender(
        lambda: tw.StructuredSVM(CHAIN, loss="hamming", tol=0.05, C_mode="absolute", C=1.0),
        "C",
        (10.0, 100.0, 1000.0) if n <= 300 else (100.0,),
    )
    return out


def split(index: np.ndarray, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples outside and inside of a fold."""
    inside = np.arange(index.size) % 5 == fold
    return index[~inside], index[inside]


def fitted(model: Any, parameter: str, value: float, X: Any, y: Any, first: bool) -> Any:
    """The model with a value; moments are computed once and solved again."""
    if parameter == "reg" and not first:
        return model.resolve(reg=value)
    return model.set_params(**{parameter: value}).fit(X, y)


def read(folder: str, n: int, features: str) -> tuple[Any, Any]:
    """Token features and labels of the first sentences."""
    from trelliswork.features import TokenWindow
    from trelliswork.io import read_conll

    data = read_conll(os.path.join(folder, "conll2002-es", "esp.train.gz"), columns=(0,))
    return TokenWindow.from_template(TEMPLATES[features]).transform(data.X[:n]), data.y[:n]


def _five_folds(task: tuple[str, int, str, str, int]) -> tuple[float, float, float, list[float]]:
    """Token error, seconds of a fit and of a search, and the chosen values of one learner."""
    folder, n, features, name, n_inner = task
    X, y = read(folder, n, features)
    contender = contenders(features, n)[name]
    contender.make().set_params(**{contender.name: contender.values[-1]}).fit(X[:20], y[:20]).predict(X[:20])
    wrong, total, seconds, searched, chosen = 0.0, 0, [], 0.0, []
    for fold in range(5):
        train, test = split(np.arange(n), fold)
        started = time.perf_counter()
        value = _chosen(contender, X, y, train, n_inner)
        searched += time.perf_counter() - started
        model = contender.make().set_params(**{contender.name: value})
        started = time.perf_counter()
        model.fit(X[train], take(y, train))
        seconds.append(time.perf_counter() - started)
        chosen.append(value)
        wrong_here, size = _wrong(model, X, y, test)
        wrong, total = wrong + wrong_here, total + size
    return 100 * wrong / total, float(np.median(seconds)), searched / 5, chosen


def ner(arguments: Sequence[str]) -> None:
    """Tables 3-4: named entities in Spanish sentences, five folds."""
    args = options(
        arguments,
        sentences=(300, "number of sentences, 300 or 1500"),
        features=("S1,S2", "S1, S2 or both"),
        jobs=(2, "processes"),
    )
    n, sets = args.sentences, args.features.split(",")
    n_inner = 2 if n <= 300 else 1  # with few sentences one split says little
    tasks = [(args.data, n, features, name, n_inner) for features in sets for name in contenders(features, n)]
    rows: list[list[Any]] = []
    best: dict[tuple[str, str], tuple[float, str]] = {}
    with multiprocessing.get_context("spawn").Pool(args.jobs) as pool:
        for task, measured in zip(tasks, pool.imap(_five_folds, tasks), strict=True):
            features, name = task[2:4]
            rate, seconds, searched, chosen = measured
            kind = name.split(",")[0]
            theirs = dict(zip(NAMES, PAPER.get((n, features), ()), strict=False)).get(kind, "")
            values = " ".join(f"{v:g}" for v in chosen)
            rows.append([features, name, rate, theirs, f"{seconds:.2f}", f"{searched:.1f}", values])
            print(n, *rows[-1], flush=True)
            if kind in ("Z-score", "SODA") and rate < best.get((features, kind), (np.inf, ""))[0]:
                best[features, kind] = rate, name
    body = markdown(
        [
            "features",
            "learner",
            "token error %",
            "paper",
            "fit, s",
            "search, s a fold",
            "chosen in each fold",
        ],
        rows,
    )
    body += (
        f"\n\nThe first {n:,} sentences of esp.train, folds i mod 5 (the paper's subset is unknown). S1: the "
        "word; S2: the word and its neighbours. The ridge (absolute), l2, passes, smoothing, C are chosen on "
        f"{n_inner} inner fifth{'s' if n_inner > 1 else ''} of every training fold. `fit`: median seconds of "
        f"one fit with the chosen value, {args.jobs} processes at a time.\n\nLeast error of each moment "
        "learner (over its references, so picked on the test data; all of them are in the table above):\n\n"
    )
    summary = []
    for (features, kind), (rate, name) in best.items():
        target = dict(zip(NAMES, PAPER.get((n, features), ()), strict=False)).get(kind, np.nan)
        summary.append([features, kind, name, rate, target, "no worse" if rate <= target else "worse"])
    body += markdown(["features", "", "with", "token error %", "paper", "ours is"], summary)
    result = f"magic_moments/ner_{n}" + ("" if len(sets) == len(TEMPLATES) else f"_{'_'.join(sets)}")
    write(result, f"Magic Moments: named entities, {n:,} sentences (Tables 3-4)", body)


def _chosen(contender: Contender, X: Any, y: Any, train: np.ndarray, n_inner: int) -> float:
    """The value with the least error on inner folds."""
    wrong = np.zeros(len(contender.values))
    for fold in range(n_inner):
        inner, held = split(train, fold)
        part, labels = X[inner], take(y, inner)
        model = contender.make()
        for j, value in enumerate(contender.values):
            model = fitted(model, contender.name, value, part, labels, first=j == 0)
            wrong[j] += _wrong(model, X, y, held)[0]
    return contender.values[int(np.argmin(wrong))]


def _wrong(model: Any, X: Any, y: Any, index: np.ndarray) -> tuple[float, int]:
    truth = take(y, index)
    size = sum(map(len, truth))
    return token_error(truth, model.predict(X[index])) * size, size
