"""KLRSO, Table 6: training time against the length of sentences, and a large training set."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import markdown, options, write
from experiments._samples import take
from experiments.klrso.choice import decomposition
from experiments.klrso.trees import GRAMMAR, treebank

PAPER = {10: ("9 s", "3 s"), 20: ("17 s", "2 m 3 s"), 30: ("23 s", "1 h 7 m"), 40: ("38 s", "60 h 44 m")}


def times(arguments: Sequence[str]) -> None:
    """Table 6: training time against the length of sentences."""
    args = options(
        arguments,
        trees=(100, "sentences of each length"),
        svm_longest=(40, "SVMs are trained up to this length"),
    )
    data = treebank(args.data, "ptb-sample", 40)
    lengths = np.array([len(x) for x in data.X])
    tw.KLRSO(GRAMMAR, decomposition(1, 5)).fit(data.X[:20], data.y[:20])  # loads compiled code
    short = np.flatnonzero(lengths <= 8)[:10]
    tw.StructuredSVM(GRAMMAR, C=100.0, tol=0.1, C_mode="absolute").fit(
        take(data.X, short), take(data.y, short)
    )
    rows = []
    for longest in (10, 20, 30, 40):
        index = np.flatnonzero((lengths > longest - 10) & (lengths <= longest))[: args.trees]
        X, y = take(data.X, index), take(data.y, index)
        ours = least_time(tw.KLRSO(GRAMMAR, decomposition(1, 5), n_jobs=1), X, y)
        svm = "not run"
        if longest <= args.svm_longest:
            machine = tw.StructuredSVM(GRAMMAR, C=100.0, tol=0.1, n_jobs=1, C_mode="absolute")
            svm = f"{least_time(machine, X, y):.2f} s"
        rows.append([f"{longest - 9}-{longest}", len(index), f"{ours:.2f} s", svm, *PAPER[longest]])
    header = ["words", "sentences", "KLRSO", "SVM", "paper KLRSO", "paper SVM"]
    body = "Processor time of training, one thread, the least of five fits; SVM with C = 100 and gap 0.1.\n\n"
    body += markdown(header, rows)
    write("klrso/times", "KLRSO: training time against the length of sentences (Table 6)", body)


def least_time(model: Any, X: list[Any], y: list[Any]) -> float:
    """Least processor seconds of five fits."""
    seconds = []
    for _ in range(5):
        started = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - started)
    return min(seconds)


def large(arguments: Sequence[str]) -> None:
    """5,000 sentences of any length."""
    args = options(arguments, trees=(5000, "sentences"), basis=(0, "basis inputs; 0 for all"))
    pools = [treebank(args.data, name, 10_000) for name in ("ptb-sample", "cess-esp")]
    X = [x for pool in pools for x in pool.X]
    y = [tree for pool in pools for tree in pool.y]
    index = np.random.default_rng(0).permutation(len(X))[: args.trees]
    X, y = take(X, index), take(y, index)
    started = time.perf_counter()
    model = tw.KLRSO(GRAMMAR, decomposition(1, 5), n_basis=args.basis or None, n_jobs=-1).fit(X, y)
    seconds = time.perf_counter() - started
    body = (
        f"{len(X)} tag sequences of the Penn sample and CESS-ESP, "
        f"{np.mean([len(x) for x in X]):.1f} tags on average, "
        f"{len(model.inputs_)} basis inputs, {len(model.heads_)} multinomials with "
        f"{model.outcomes_.size} "
        f"outcomes: trained in {seconds:.0f} s (paper: 5,000 sentences in 7 hours)."
    )
    write("klrso/large", "KLRSO: 5,000 sentences of any length", body)
