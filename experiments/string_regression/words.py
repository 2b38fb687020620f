"""Words of letter images, and how well strings are predicted.

Ten folds, each used once for training and nine times for testing, as in the paper. Every choice (kernel,
ridge, strengths, language model and its weight) is made on one third of the training words with models of
the other two thirds; test words are only scored. The language models know the words of the training fold,
as in the paper.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments._ocr import Words
from experiments._report import load, store
from trelliswork.kernels import Composed, Linear, Normalized, Polynomial
from trelliswork.losses import Edit

ALL_FOLDS = "0,1,2,3,4,5,6,7,8,9"
PLAIN = Polynomial(3)
COSINE = Composed(Normalized(Linear()), Polynomial(3))

Samples = tuple[list[np.ndarray], list[str]]


class Split(NamedTuple):
    """Training and test words, and the training words cut into two thirds and one third."""

    train: Samples
    test: Samples
    fit: Samples
    dev: Samples


def read_words(data: str) -> Words:
    """Words as sequences of letter images, and as strings."""
    words = Words.read(data)
    return words._replace(y=["".join(chr(97 + letter) for letter in word) for word in words.y])


def split(words: Words, fold: int) -> Split:
    """One fold for training, the others for testing."""
    inside = np.flatnonzero(words.fold == fold)
    third = np.arange(len(inside)) % 3 == 0
    outside = np.flatnonzero(words.fold != fold)
    return Split(*(words.part(index) for index in (inside, outside, inside[~third], inside[third])))


def accuracy(truth: Sequence[str], predicted: Sequence[Any]) -> float:
    """Per cent of the letters that are right, position by position."""
    right = sum(a == b for u, v in zip(truth, predicted, strict=True) for a, b in zip(u, v, strict=False))
    return 100.0 * right / sum(map(len, truth))


def edit_accuracy(truth: Sequence[Any], predicted: Sequence[Any]) -> float:
    """100 minus insertions, deletions and substitutions per hundred true letters."""
    distance = Edit()
    errors = sum(distance(a, b) for a, b in zip(truth, predicted, strict=True))
    return 100.0 * (1.0 - errors / sum(map(len, truth)))


def best(candidates: Sequence[Any], score: Callable[[Any], float]) -> Any:
    """The first candidate with the highest score."""
    scores = [score(c) for c in candidates]
    return candidates[int(np.argmax(scores))]


def by_fold(name: str, folds: str, run: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
    """Run the folds that were asked for (numbers with commas between) and return all that are known."""
    for fold in map(int, filter(None, folds.split(","))):  # none: only the text anew
        started = time.perf_counter()
        result = run(fold)
        result["total"] = time.perf_counter() - started
        store(
            name, load(name) | {str(fold): result}, sort_keys=True
        )  # read again: folds may run side by side
        print(f"fold {fold}: {result['total']:.1f} s", flush=True)
    results = load(name)
    return [results[fold] for fold in sorted(results)]


def mean_and_spread(values: Sequence[float]) -> str:
    """Mean over folds and standard deviation."""
    spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.1f} ({spread:.1f})"
