"""Section 1.7.3: string to string, without a mapping of letters to images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._ocr import Words
from experiments._picks import Picks
from experiments._report import command_of, made, markdown, options, write
from experiments._samples import take
from experiments.string_regression.words import (
    ALL_FOLDS,
    best,
    by_fold,
    edit_accuracy,
    mean_and_spread,
    read_words,
    split,
)
from trelliswork.kernels import RBF, Normalized, Polynomial, VectorNGrams

RESULT = "string_regression/strings"
WIDTHS = (2.0, 1.0, 0.5)  # of near pairs
PAPER = {"one regressor, plain Euler": "65.3 (2.3)", "vote of five, plain Euler": "75.6 (1.5)"}


def voters(width: float | None) -> list[Any]:
    """Input kernels of five regressors."""
    return [
        Normalized(VectorNGrams(1, Polynomial(2), width=width)),
        Normalized(VectorNGrams(1, Polynomial(3), width=width)),
        Normalized(VectorNGrams(2, Polynomial(2), width=width)),
        Normalized(VectorNGrams(2, Polynomial(3), width=width)),
        Normalized(VectorNGrams(1, RBF(0.05), width=width)),
    ]


def one_fold(words: Words, fold: int, n_test: int) -> dict[str, Any]:
    """Letters and whole words right, for every system."""
    data = split(words, fold)
    X, truth = data.test
    if n_test:
        some = np.random.default_rng(fold).permutation(len(truth))[:n_test]
        X, truth = take(X, some), take(truth, some)

    def inner(width: float) -> float:
        model = tw.KernelRegression(voters(width)[0], tw.NGrams(2, preimage="euler"), ridge="loo")
        return edit_accuracy(data.dev[1], model.fit(*data.fit).predict(data.dev[0]))

    chosen = best(WIDTHS, inner)
    out: dict[str, Any] = {"width": chosen}
    for label, width in (("all pairs", None), ("near pairs", chosen)):
        kernels = voters(width)
        euler = tw.NGrams(2, preimage="euler")
        others = [tw.KernelRegression(k, tw.NGrams(2), ridge="loo") for k in kernels[1:]]
        model = tw.KernelRegression(kernels[0], euler, ridge="loo", vote=others).fit(*data.train)
        scores = model.decision_function(X)
        votes = model.predict_counts(X)
        repair = tw.NGrams(2).bind(data.train[1])
        ranked = tw.NGrams(2, language_model=tw.NGramModel(3)).bind(data.train[1])
        predictions = {
            "one regressor, plain Euler": model.code_.decode(scores),
            "one regressor, thresholds then repair": repair.decode_counts(model.code_.counts(scores)),
            "one regressor, repair of real counts": repair.decode(scores),
            "one regressor, repair, ranked by language model": ranked.decode(scores),
            "vote of five, plain Euler": model.code_.decode_counts(votes),
            "vote of five, repair, ranked by language model": ranked.decode_counts(votes),
        }
        for name, predicted in predictions.items():
            right = [a == b for a, b in zip(truth, predicted, strict=True)]
            out[f"{label}: {name}"] = edit_accuracy(truth, predicted)
            out[f"{label}: {name} (words)"] = 100.0 * float(np.mean(right))
    return out


def strings(arguments: Sequence[str]) -> None:
    """Section 1.7.3: string to string, extra and missing letters count as errors."""
    args = options(
        arguments,
        folds=(ALL_FOLDS, "training folds; none only writes the text anew"),
        words=(0, "number of test words, drawn at random from the other folds; 0 for all"),
    )
    words = read_words(args.data)
    results = by_fold(RESULT, args.folds, lambda f: one_fold(words, f, args.words))
    rows = []
    for whole in [name for name in results[0] if name.endswith("(words)")]:
        name = whole.removesuffix(" (words)")
        letters = mean_and_spread([result[name] for result in results])
        paper = PAPER.get(name.split(": ")[1], "-")
        rows.append([name, letters, paper, f"{np.mean([result[whole] for result in results]):.1f}"])
    body = markdown(
        ["system", f"letters, mean of {len(results)} folds (sd)", "paper (sd)", "whole words"], rows
    )
    picks = Picks()
    for result in results:
        picks.note("w", result["width"], WIDTHS)
    body += f"""

Test words of each fold: {args.words or "all of the nine other folds"}{" drawn at random" * bool(args.words)}.
Letters: 100 minus insertions, deletions and substitutions per hundred true letters. "All pairs" is the kernel
that the paper prints, a sum over all pairs of letter images, normalised; it does not know the order of the
letters. "Near pairs" weighs pairs by the distance of their positions, exp(-(i - j)^2 / (2 w^2)), w chosen
on a third of the training words. {picks.text()} Ridges by leave-one-out error. Five regressors: unigrams
of images with polynomials of degree 2 and 3 and a Gaussian, bigrams with degrees 2 and 3; output bigrams."""
    kept, command = (None, None) if args.folds else (made(RESULT), command_of(RESULT))
    title = "String to string, OCR words without a letter mapping"
    write(RESULT, title, body, kept=kept, command=command)
