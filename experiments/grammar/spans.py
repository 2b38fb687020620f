"""A log-linear grammar with and without features of the words that a phrase spans."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import markdown, options, write
from experiments._samples import folds, take
from experiments._treebank import read_treebank
from trelliswork.metrics import bracket_scores


def spans(arguments: Sequence[str]) -> None:
    """Bracket F1 of CRFs over the rules of the training part, tags given, folds of every k-th sentence."""
    args = options(
        arguments,
        longest=(40, "most words of a sentence"),
        most=(100_000, "most sentences, evenly spread over the sample"),
        folds=(5, "folds that the sample is cut into"),
        run=(5, "folds that are tested"),
        max_iter=(60, "iterations of the fits"),
        horizontal=(1, "markovisation"),
    )
    data = read_treebank(args.data, "ptb-sample", input="pairs", max_words=args.longest)
    index = np.unique(np.linspace(0, len(data.X) - 1, min(args.most, len(data.X))).astype(int))
    X, y = take(data.X, index), take(data.y, index)
    rows: list[list[Any]] = []
    for name, kinds in (("rules", None), ("rules and spans", True)):
        grammar = tw.Grammar(input="tags", horizontal=args.horizontal, vertical=1, span_features=kinds)
        truth: list[Any] = []
        found: list[Any] = []
        seconds, weights = 0.0, 0
        for train, test in folds(len(X), args.folds)[: args.run]:
            started = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the iterations are bounded on purpose
                model = tw.CRF(grammar, max_iter=args.max_iter).fit(take(X, train), take(y, train))
            seconds += time.process_time() - started
            weights = model.space_.n_features
            truth += take(y, test)
            found += model.predict(take(X, test))
        report = bracket_scores(truth, found)
        rows.append([name, 100 * report.f1, 100 * report.exact, weights, f"{seconds / args.run:.0f}"])
        print(rows[-1], flush=True)
    gain = rows[1][1] - rows[0][1]
    body = markdown(["features", "F1", "exact match", "weights", "CPU s per fit"], rows)
    body += (
        f"\n\n{len(X):,} sentences of at most {args.longest} words of the public sample, {args.run} of "
        f"{args.folds} folds; tags given, with the words seen by the span features; grammar read off the "
        f"training part (horizontal {args.horizontal}, vertical 1); CRFs with the default penalty, at most "
        f"{args.max_iter} iterations. F1 with span features less that without: {gain:+.2f} points."
    )
    write(f"grammar/spans_{args.longest}", "Parsing with and without span features", body)
