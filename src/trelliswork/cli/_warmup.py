"""``trelliswork warmup``: compile the numerical code once, so that the first real run need not.

Every learner runs on the examples that structures offer (:meth:`Structure.examples`), so that a new structure
or learner is compiled too. Structures with recursions of their own share little code: each is a task, for
several processes. Those of the same recursions (alignments, and the search for the best of several) are one
task: two processes at once would compile the same.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Warmth", "warm_names", "warm_up"]

_STRINGS = "strings"  # what kernel regression needs; a task like those that bear the names of structures


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


def warm_up(names: Sequence[str] = ()) -> Warmth:
    """Run every learner and its methods on tiny data, structures side by side on all cores.

    Parameters
    ----------
    names : sequence of str
        Structures, and "strings" for kernel regression; none means all.

    Returns
    -------
    Warmth
        Time, whether anything was compiled, and the folders of the cache.
    """
    started = time.perf_counter()
    together: dict[str, list[str]] = {}
    for name in names or warm_names():
        together.setdefault(_noun(name), []).append(name)
    tasks = [together[noun] for noun in sorted(together, key=_size, reverse=True)]
    processes = min(os.cpu_count() or 1, len(tasks))
    if processes == 1:
        done = list(map(_warm, tasks))
    else:
        # Not forked: threads of the caller may hold locks.
        with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
            done = list(pool.map(_warm, tasks))
    folders = sorted({folder for _, places in done for folder in places})
    return Warmth(time.perf_counter() - started, any(compiled for compiled, _ in done), folders)


def warm_names() -> list[str]:
    """What can be warmed up: structures, and "strings" for kernel regression."""
    from trelliswork.structures import STRUCTURES

    return [*STRUCTURES, _STRINGS]


def _noun(name: str) -> str:
    """The folder of a structure, which its recursions have, too."""
    from trelliswork.structures import STRUCTURES

    return name if name == _STRINGS else STRUCTURES[name].__module__.split(".")[-2]


def _size(noun: str) -> int:
    """Bytes of recursions: what takes longest to compile comes first."""
    from trelliswork import dp

    return sum(file.stat().st_size for place in dp.__path__ for file in Path(place, noun).rglob("*.py"))


def _warm(names: list[str]) -> tuple[bool, list[str]]:
    """Run the examples of structures; whether anything was compiled, and the folders of the cache."""
    from trelliswork.structures import STRUCTURES

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            if name == _STRINGS:
                _exercise_strings()
                continue
            for structure, X, y in STRUCTURES[name].examples():
                _exercise(structure, X, y)
    kernels = list(_kernels())
    return (
        any(sum(kernel.stats.cache_misses.values()) for kernel in kernels),
        [str(kernel.stats.cache_path) for kernel in kernels if kernel.stats.cache_path],
    )


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
        "VotedCRF": [{}, {"loss": "zero-one"}],  # no sum over parts: automata of chains
        "StructBoost": [{}, {"loss": "zero-one"}],
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
    """The compiled functions of all modules of this package that are loaded."""
    for name, module in list(sys.modules.items()):
        if name.startswith("trelliswork."):
            for value in vars(module).values():
                if getattr(value, "__module__", None) == name and hasattr(value, "py_func"):
                    yield value
