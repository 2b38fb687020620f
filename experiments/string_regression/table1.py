"""Table 1.1: OCR letters, words given letter by letter."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.svm import SVC

import trelliswork as tw
from experiments._ocr import Words
from experiments._picks import Picks
from experiments._report import command_of, made, markdown, options, write
from experiments.string_regression.words import (
    ALL_FOLDS,
    COSINE,
    PLAIN,
    Split,
    accuracy,
    best,
    by_fold,
    mean_and_spread,
    read_words,
    split,
)
from trelliswork.kernels import Polynomial

# Ridges by kernel, for letters one by one and with constraints; weights of the language model.
RESULT = "string_regression/table1"
LETTERS = {"normalised": (0.03, 0.1, 0.3, 1.0), "plain": (1e2, 1e4)}
WORDS = {"normalised": (0.1, 1.0, 10.0), "plain": (1.0, 1e6)}
LM_WEIGHTS = (0.03, 0.06, 0.12, 0.25, 0.5)
PAPER = {
    "REG, plain cubic kernel, ridge 0.01": "79.5 (0.4)",
    "REG": "79.5 (0.4)",
    "REG-constraints, normalised, eta 0": "84.1 (0.8)",
    "REG-constraints, normalised, eta 1": "88.5 (0.9)",
    "REG-constraints, normalised, eta chosen": "-",
    "REG-constraints, plain, eta 0": "84.1 (0.8)",
    "REG-constraints, plain, eta 1": "88.5 (0.9)",
    "REG-constraints, plain, eta chosen": "-",
    "REG-Viterbi n=2": "86.1 (0.7)",
    "REG-Viterbi n=3": "98.2 (0.3)",
    "SVM per letter": "80.9 (0.5)",
    "chain CRF (linear)": "-",
    "chain SVM (cubic)": "87.0 (0.4), M3N",
}


def stacked(scores: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Scores of all letters, and where each word begins."""
    return np.concatenate(scores), np.cumsum([0, *map(len, scores)])


def regression(kernel: Any, ridge: float) -> tw.KernelRegression:
    return tw.KernelRegression(kernel, tw.Positions(), ridge=ridge)


def regression_rows(data: Split) -> tuple[dict[str, Any], tuple[Any, float], tuple[np.ndarray, np.ndarray]]:
    """Letters one by one: rows, the kernel and ridge that were chosen, scores of the test words."""
    X, truth = data.test
    literal = regression(PLAIN, 0.01).fit(*data.train)
    rows: dict[str, Any] = {"REG, plain cubic kernel, ridge 0.01": accuracy(truth, literal.predict(X))}
    kernels = {"normalised": COSINE, "plain": PLAIN}
    candidates = [(kernels[name], ridge) for name, ridges in LETTERS.items() for ridge in ridges]
    chosen = best(
        candidates, lambda c: accuracy(data.dev[1], regression(*c).fit(*data.fit).predict(data.dev[0]))
    )
    model = regression(*chosen).fit(*data.train)
    scores = stacked(model.decision_function(X))
    rows["REG"] = accuracy(truth, model.code_.decode(*scores))
    rows["REG chosen"] = f"{'normalised' if chosen[0] is COSINE else 'plain'}, ridge {chosen[1]:g}"
    return rows, chosen, scores


def viterbi_rows(data: Split, chosen: tuple[Any, float], scores: Any) -> dict[str, Any]:
    """The same scores with a language model."""
    rows: dict[str, Any] = {}
    inner = stacked(regression(*chosen).fit(*data.fit).decision_function(data.dev[0]))
    for n in (2, 3):
        outputs = [
            tw.Positions(language_model=model, lm_weight=weight)
            for model in (tw.NGramModel(n), tw.NGramModel(n, smoothing="add", a=0.001))
            for weight in LM_WEIGHTS
        ]
        output = best(outputs, lambda o: accuracy(data.dev[1], o.bind(data.fit[1]).decode(*inner)))
        label = f"REG-Viterbi n={n}"
        rows[label] = accuracy(data.test[1], output.bind(data.train[1]).decode(*scores))
        rows[f"{label} chosen"] = f"{output.language_model.smoothing}, weight {output.lm_weight:g}"
    return rows


def constraint_rows(data: Split) -> dict[str, Any]:
    """Regression with constraints on the letters of a word."""

    def fitted(kernel: Any, ridge: float, eta: float, words: Any) -> tw.KernelRegression:
        return tw.KernelRegression(kernel, tw.Positions(shared=False), ridge=ridge, eta=eta).fit(*words)

    rows: dict[str, Any] = {}
    for kernel, name in ((COSINE, "normalised"), (PLAIN, "plain")):
        inner = {
            (ridge, eta): accuracy(data.dev[1], fitted(kernel, ridge, eta, data.fit).predict(data.dev[0]))
            for eta in (0.0, 0.01, 0.1, 1.0)
            for ridge in WORDS[name]
        }
        for eta in (0.0, 1.0, None):
            settings = [setting for setting in inner if eta is None or setting[1] == eta]
            chosen = best(settings, inner.__getitem__)
            label = f"REG-constraints, {name}, eta {'chosen' if eta is None else f'{eta:g}'}"
            model = fitted(kernel, *chosen, data.train)
            rows[label] = accuracy(data.test[1], model.predict(data.test[0]))
            rows[f"{label} chosen"] = f"ridge {chosen[0]:g}, eta {chosen[1]:g}"
    return rows


def letter_machine(data: Split) -> float:
    """Per cent of the letters that a support vector machine for single letters gets right."""
    train, test, fit, dev = ((np.concatenate(X), list("".join(y))) for X, y in data)

    def machine(C: float) -> SVC:
        return SVC(kernel="poly", degree=3, gamma=1 / 128, coef0=1.0, C=C)

    C = best([1.0, 10.0, 100.0], lambda c: machine(c).fit(*fit).score(*dev))
    return 100 * machine(C).fit(*train).score(*test)


def chain_crf(data: Split) -> float:
    """Per cent of the letters that a linear chain CRF gets right."""
    train, test, fit, dev = ((X, [list(word) for word in y]) for X, y in data)

    def crf(l2: float) -> tw.CRF:
        return tw.CRF(tw.Chain(), l2=l2, n_jobs=2)

    l2 = best([1.0, 10.0], lambda v: accuracy(dev[1], crf(v).fit(*fit).predict(dev[0])))
    return accuracy(test[1], crf(l2).fit(*train).predict(test[0]))


def chain_svm(data: Split) -> float:
    """Per cent of the letters that a chain machine with a cubic kernel gets right."""
    svm = tw.StructuredSVM(
        tw.Chain(), 300.0, kernel=Polynomial(3, gamma=1 / 128), tol=0.05, C_mode="absolute"
    )
    svm.fit(data.train[0], [list(word) for word in data.train[1]])
    return accuracy(data.test[1], svm.predict(data.test[0]))


def one_fold(words: Words, fold: int) -> dict[str, Any]:
    """Every row of Table 1.1 for one fold, with what was chosen and the seconds of each technique."""
    data = split(words, fold)
    rows: dict[str, Any] = {}
    seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def timed(name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - started

    with timed("REG"):
        plain, chosen, scores = regression_rows(data)
        rows |= plain
    with timed("REG-Viterbi"):
        rows |= viterbi_rows(data, chosen, scores)
    with timed("REG-constraints"):
        rows |= constraint_rows(data)
    with timed("SVM per letter"):
        rows["SVM per letter"] = letter_machine(data)
    with timed("chain CRF"):
        rows["chain CRF (linear)"] = chain_crf(data)
    with timed("chain SVM"):
        rows["chain SVM (cubic)"] = chain_svm(data)
    return rows | {"seconds": seconds}


def summary(results: list[dict[str, Any]]) -> list[list[Any]]:
    """Means over folds beside the paper's."""
    rows = []
    for name, paper in PAPER.items():
        values = [result[name] for result in results if name in result]
        if values:
            picks = sorted({result[f"{name} chosen"] for result in results if f"{name} chosen" in result})
            rows.append([name, mean_and_spread(values), paper, "; ".join(picks)])
    return rows


def chosen_numbers(results: list[dict[str, Any]]) -> str:
    """How often each number was chosen, of what grid."""
    picks = Picks()
    for result in results:
        for row in PAPER:
            text = result.get(f"{row} chosen", "")
            for what, value in re.findall(r"(ridge|weight) ([^,;]+)", text):
                kernel = "plain" if "plain" in f"{row} {text}" else "normalised"
                grid = LM_WEIGHTS if what == "weight" else (LETTERS if row == "REG" else WORDS)[kernel]
                name = f"{row}, {kernel}" if row == "REG" else row
                picks.note(f"{name} {what}", float(value), grid)
    return picks.text()


def table1(arguments: Sequence[str]) -> None:
    """Table 1.1: letters right, per cent, words given letter by letter."""
    args = options(arguments, folds=(ALL_FOLDS, "training folds; none only writes the text anew"))
    words = read_words(args.data)
    results = by_fold(RESULT, args.folds, lambda fold: one_fold(words, fold))
    body = markdown(
        [
            "technique",
            f"ours, mean of {len(results)} folds (sd)",
            "paper (sd)",
            "chosen on the training fold",
        ],
        summary(results),
    )
    total = sum(result["total"] for result in results)
    parts = {name: sum(result["seconds"][name] for result in results) for name in results[0]["seconds"]}
    spent = ", ".join(f"{name} {value:.0f}" for name, value in parts.items())
    body += f"\n\n{len(results)} folds took {total:.0f} s of wall time together ({spent}).\n\n"
    body += (
        "Everything is chosen on a third of the training words with models of the others: kernel and ridge, "
        f"smoothing and weight of the language model, eta of 0, 0.01, 0.1 and 1. {chosen_numbers(results)}"
    )
    kept, command = (None, None) if args.folds else (made(RESULT), command_of(RESULT))
    write(RESULT, "Table 1.1: OCR letters, perfect segmentation", body, kept=kept, command=command)
