"""Parsing short sentences of the Penn Treebank sample: Table 5 of the paper on interdependent outputs.

The paper trains on 4,098 sentences of at most 10 words (sections 2 to 21) and tests on 163 (section
22); the free sample has about a tenth of that, so 10 folds are used. Tags are given, the grammar is
that of the training part. Everything is chosen on inner folds by F1: how much of a long rule a split
rule remembers (for all methods), the smoothing of the probabilistic grammar, and C.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._picks import Picks
from experiments._report import markdown, options, write
from experiments._samples import folds, take
from experiments._treebank import read_treebank
from trelliswork.metrics import bracket_scores

HORIZONTAL = (0, 1)
SMOOTHING = (0.01, 0.1, 1.0, 10.0)
PRICES = (0.1, 1.0, 10.0, 100.0, 1000.0)
# Exact match and F1 on the test part, constraints and hours of the paper.
PAPER = {
    "PCFG": "55.2 / 86.0",
    "SVM_2 0/1": "58.9 / 86.2, 7494, 1.2 h",
    "SVM_2 slack F1": "58.9 / 88.5, 8043, 3.4 h",
    "SVM_2 margin F1": "58.3 / 88.4, 7117, 3.5 h",
}


def read_penn(folder: str, low: int = 1, high: int = 10) -> tuple[list[Any], list[str]]:
    """Pairs (word, tag) and trees of the sentences with ``low`` to ``high`` words."""
    data = read_treebank(folder, "ptb-sample", input="pairs", max_words=high)
    index = [i for i, x in enumerate(data.X) if len(x) >= low]
    return take(data.X, index), take(data.y, index)


def machine(horizontal: int, C: float, loss: str, rescale: str | None, jobs: int) -> tw.StructuredSVM:
    grammar = tw.Grammar(input="tags", horizontal=horizontal, vertical=1)
    return tw.StructuredSVM(
        grammar, C, loss=loss, slack="l2", rescale=rescale, tol=0.01, n_jobs=jobs, C_mode="absolute"
    )


def methods(jobs: int) -> dict[str, list[Callable[[], Any]]]:
    """Candidates of every method; one of them is chosen on inner folds."""

    def pcfg(h: int, a: float) -> Callable[[], Any]:
        return lambda: tw.Generative(tw.Grammar(input="tags", horizontal=h, vertical=1), a)

    def svm(h: int, C: float, loss: str, rescale: str | None) -> Callable[[], Any]:
        return lambda: machine(h, C, loss, rescale, jobs)

    grid = [(h, C) for h in HORIZONTAL for C in PRICES]
    return {
        "PCFG": [pcfg(h, a) for h in HORIZONTAL for a in SMOOTHING],
        "SVM_2 0/1": [svm(h, C, "zero-one", None) for h, C in grid],
        "SVM_2 slack F1": [svm(h, C, "bracket-f1", "slack") for h, C in grid],
        "SVM_2 margin F1": [svm(h, C, "bracket-f1", "margin") for h, C in grid],
    }


def chosen(
    candidates: list[Callable[[], Any]], X: list[Any], y: list[str], n_folds: int
) -> Callable[[], Any]:
    """The candidate with the best F1 over inner folds."""
    best, best_f1 = candidates[0], -1.0
    for make in candidates:
        trees: list[Any] = [None] * len(X)
        for inside, held in folds(len(X), n_folds):
            model = make().fit(take(X, inside), take(y, inside))
            for i, tree in zip(held, model.predict(take(X, held))):
                trees[i] = tree
        f1 = bracket_scores(y, trees).f1
        if f1 > best_f1:
            best, best_f1 = make, f1
    return best


def table5(arguments: Sequence[str]) -> None:
    """Exact match and F1 of a probabilistic grammar and three support vector machines."""
    args = options(
        arguments,
        folds=(10, "outer folds"),
        inner=(2, "inner folds"),
        jobs=(1, "threads"),
    )
    X, y = read_penn(args.data)
    fold = np.random.default_rng(0).permutation(len(X)) % args.folds
    rows, per_fold, right, picks = [], {}, {}, Picks()
    flat = np.zeros(len(X), dtype=bool)
    for name, candidates in methods(args.jobs).items():
        trees: list[Any] = [None] * len(X)
        train, constraints, seconds = [], [], []
        scores = []
        for k in range(args.folds):
            inside, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            sentences, truth = take(X, inside), take(y, inside)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                make = chosen(candidates, sentences, truth, args.inner)
                started = time.process_time()
                model = make().fit(sentences, truth)
                seconds.append(time.process_time() - started)
            predicted = model.predict(take(X, held))
            for i, tree in zip(held, predicted):
                trees[i] = tree
            scores.append(100 * bracket_scores(take(y, held), predicted).f1)
            report = bracket_scores(truth, model.predict(sentences))
            train.append((100 * report.exact, 100 * report.f1))
            constraints.append(getattr(model, "n_constraints_", 0))
            if name == "PCFG":
                picks.note(f"{name} smoothing", model.smoothing, SMOOTHING)
            else:
                picks.note(f"{name} C", model.C, PRICES)
            if name == "PCFG":
                batch = model.space_.pack(take(X, held))
                flat[held] = batch.argmax(batch.scores(model.coef_)).codes.lengths == 0
        report, inner = bracket_scores(y, trees), bracket_scores(y, trees, root=False)
        per_fold[name] = np.array(scores)
        right[name] = np.array([bracket_scores([a], [b]).exact == 1.0 for a, b in zip(y, trees, strict=True)])
        exact, f1 = np.mean(train, axis=0)
        rows.append(
            [
                name,
                100 * report.exact,
                100 * report.f1,
                100 * inner.f1,
                float(exact),
                float(f1),
                round(float(np.mean(constraints))),
                float(np.mean(seconds)),
                PAPER[name],
            ]
        )
        print(f"{name}: F1 {100 * report.f1:.2f}", flush=True)
    header = ["method", "exact", "F1", "F1 without root", "train exact", "train F1", "constraints"]
    body = markdown([*header, "CPU seconds", "paper: exact / F1, constraints, time"], rows)
    body += (
        f"\n\n{len(X)} sentences of at most 10 words, {args.folds} folds, {args.inner} inner folds; tags "
        f"given. {int(flat.sum())} test sentences have no tree under the rules of the probabilistic grammar "
        f"and get a flat one. Chosen on the inner folds, by F1: {picks.text()} First results had C from 1 to "
        "100 and smoothing up to 1 to choose from. F1 minus that of the probabilistic grammar, mean over "
        "folds (standard error): "
    )
    gains = []
    for name, values in per_fold.items():
        if name != "PCFG":
            gap = values - per_fold["PCFG"]
            gains.append(f"{name} {gap.mean():+.2f} ({gap.std(ddof=1) / np.sqrt(gap.size):.2f})")
    body += "; ".join(gains) + ".\n\nMcNemar's test on exact matches (exact, two-sided):\n\n"
    names = list(right)
    tests = [mcnemar(a, b, right) for k, a in enumerate(names) for b in names[k + 1 :]]
    body += markdown(["", "", "only the first right", "only the second right", "p"], tests)
    write("svm_isos/table5", "Parsing (Table 5)", body)


def mcnemar(a: str, b: str, right: dict[str, np.ndarray]) -> list[Any]:
    """Sentences that only one of two methods parses exactly, and the probability of such a difference."""
    from scipy.stats import binomtest

    first, second = int((right[a] & ~right[b]).sum()), int((right[b] & ~right[a]).sum())
    p = binomtest(first, first + second).pvalue if first + second else 1.0
    return [a, b, first, second, f"{p:.2g}"]
