"""Compile the recursions once, so that the first real run need not."""

from __future__ import annotations

import importlib
import pkgutil
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

__all__ = ["Warmth", "warm_up"]


class Warmth(NamedTuple):
    """Result of a warm-up.

    Attributes
    ----------
    seconds : float
        How long it took.
    compiled : bool
        Whether anything had to be compiled; False when all was found on disk.
    folders : list of str
        Where the compiled code is kept.
    """

    seconds: float
    compiled: bool
    folders: list[str]


def warm_up() -> Warmth:
    """Run every learner and every question on tiny data.

    Returns
    -------
    Warmth
        Time, counts and the folders of the cache.
    """
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for structure, X, y in _problems():
            _exercise(structure, X, y)
        _exercise_strings()
    seconds = time.perf_counter() - started
    kernels = list(_kernels())
    return Warmth(
        seconds,
        any(sum(kernel.stats.cache_misses.values()) for kernel in kernels),
        sorted({str(kernel.stats.cache_path) for kernel in kernels if kernel.stats.cache_path}),
    )


def _problems() -> Iterator[tuple[Any, Any, Any]]:
    """A structure with samples; another structure adds its own here."""
    import numpy as np

    from trelliswork import RNA, Alignment, Chain, Classes, Derivations, Edge, Grammar, Retrieval

    def segments(x: list[str]) -> Iterator[Edge]:
        yield Edge(len(x))
        for i in reversed(range(len(x))):
            for j in range(i + 1, len(x) + 1):
                yield Edge(i, [j], ["".join(x[i:j])], (i, j))

    y = [["B-X", "I-X", "O"], ["O", "B-X"], ["O"]]
    words = [["a", "b", "c"], ["c", "a"], ["c"]]
    numbers = [np.arange(2.0 * len(row)).reshape(-1, 2) for row in y]
    for order in (1, 2):
        yield Chain(order=order), words, y
        yield Chain(order=order, emissions="observed", scheme="BIO"), words, y
    yield Chain(edge_features="all"), words, y
    yield Chain(), numbers, y
    yield (
        Retrieval(Alignment()),
        [("ab", ["b", "a"]), ("b", ["a", "b"])],
        [(0, ("ab", "-b")), (1, ("b", "b"))],
    )
    yield Classes(), np.eye(3), ["a", "b", "c"]
    yield RNA(), ["GGAAACC", "GAAAC", "ACGU"], ["((...))", "(...)", "...."]
    yield Derivations(segments), words, [[(0, 2), (2, 3)], [(0, 1), (1, 2)], [(0, 1)]]
    for mode in ("global", "local"):
        yield (
            Alignment(mode=mode),
            [("AB" * 40, "B" * 80), ("A", "AB")],
            [("AB" * 40, "B" * 80), ("A-", "AB")],
        )
    yield Grammar(), words, ["(S (A a) (B b) (C c))", "(S (C c) (A a))", "(S (C c))"]


def _exercise(structure: Any, X: Any, y: Any) -> None:
    from trelliswork.learners import LEARNERS
    from trelliswork.structures import Unsupported

    def attempt(action: Any, *args: Any, **more: Any) -> None:
        with suppress(Unsupported):  # not every learner goes with every structure
            action(*args, **more)

    variants: dict[str, list[dict[str, Any]]] = {
        "CRF": [{"max_iter": 3}, {"max_iter": 3, "l1": 0.1}, {"max_iter": 2, "solver": "newton-cg"}],
        "Perceptron": [{"max_iter": 2}],
        "StructuredSVM": [
            {"max_iter": 3},
            {"max_iter": 3, "rescale": "slack"},
            {"max_iter": 3, "kernel": "rbf"},
            {"max_iter": 3, "loss": "f1"},
        ],
        "Fixed": [],  # no training of its own
    }
    for name, cls in LEARNERS.items():
        for params in variants.get(name, [{}]):
            model: Any = cls(structure, **params)
            attempt(model.fit, X, y)
            if not hasattr(model, "coef_"):
                continue
            attempt(model.predict, X)
            attempt(model.predict_kbest, X, 2)
            attempt(model.predict_marginals, X)
            attempt(model.log_prob, X, y)
            attempt(model.sample, X, 2, random_state=0)
            if hasattr(model, "partial_fit"):
                attempt(model.partial_fit, X, y)


def _exercise_strings() -> None:
    from trelliswork import KernelRegression, NGramModel, NGrams, Positions

    X, y = ["ab", "ba"], ["xy", "yx"]
    for output in (
        NGrams(2),
        NGrams(2, language_model=NGramModel(2)),
        Positions(language_model=NGramModel(2)),
    ):
        kernel = "linear" if isinstance(output, Positions) else "spectrum"
        KernelRegression(kernel, output).fit(X, y).predict(X)


def _kernels() -> Iterator[Any]:
    """All compiled functions of :mod:`trelliswork.dp`."""
    import trelliswork.dp

    for found in pkgutil.walk_packages(trelliswork.dp.__path__, "trelliswork.dp."):
        module = importlib.import_module(found.name)
        for value in vars(module).values():
            if hasattr(value, "stats") and getattr(value, "__module__", None) == module.__name__:
                yield value
