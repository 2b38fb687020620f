"""Figures 5 and 6: error and training time against the size of the training set and of the alphabet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._pictures import curves
from experiments._report import markdown, options, write
from experiments.magic_moments.hmm import CHAIN, Hmm, error, flipped

N_HMMS = 10


def measured(
    make: Callable[[], Any], args: Any, keys: tuple[int, int], n_symbols: int, n_train: int, length: int
) -> tuple[float, float]:
    """Mean error in per cent and mean processor seconds of a fit, over random models of three labels.

    ``keys`` are parts of the seeds of the sequences and of the models.
    """
    errors, seconds = [], []
    for repeat in range(args.repeats):
        rng = np.random.default_rng([args.seed, keys[0], repeat])
        hmm = Hmm.draw(3, n_symbols, np.random.default_rng([args.seed, keys[1], repeat % N_HMMS]))
        X, y = hmm.sequences(n_train, length, rng)
        y = flipped(y, 0.2, 3, rng)
        started = time.process_time()
        model = make().fit(X, y)
        seconds.append(time.process_time() - started)
        errors.append(error(model, *hmm.sequences(100, length, rng)))
    return float(np.mean(errors)), float(np.mean(seconds))


def compile_all(learners: dict[str, Callable[[], Any]]) -> None:
    """Load compiled code before the clock starts."""
    for make in learners.values():
        make().fit([["o1", "o2"], ["o2"]], [[0, 1], [1]])


def curve(arguments: Sequence[str]) -> None:
    """Figure 5: error and training time against the size of the training set."""
    args = options(arguments, repeats=(20, "repeats per size"), seed=(0, "seed"))
    learners: dict[str, Callable[[], Any]] = {
        "SODA": lambda: tw.SODA(CHAIN, reg=1e-8, reg_mode="absolute", reference="uniform", loss=None),
        "CRF": lambda: tw.CRF(CHAIN, l2=1.0),
        "HMP": lambda: tw.Perceptron(CHAIN, max_iter=100),
        "max-margin": lambda: tw.StructuredSVM(CHAIN, C=1.0, loss="hamming", tol=0.05, C_mode="absolute"),
    }
    compile_all(learners)
    rows: list[list[Any]] = []
    errors: dict[str, list[tuple[float, float]]] = {name: [] for name in learners}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in learners}
    for n in (10, 20, 50, 100, 200, 500):
        for name, make in learners.items():
            wrong, seconds = measured(make, args, (n, 3), 5, n, 50)
            rows.append([n, name, wrong, f"{1e3 * seconds:.1f}"])
            errors[name].append((n, wrong))
            times[name].append((n, seconds))
    axis = "training sequences"
    left = curves({"error": errors}, axis, "wrong labels, %", "magic_moments/curve", log=True)
    right = curves({"time": times}, axis, "seconds of processor time", "magic_moments/curve_time", log=True)
    body = markdown([axis, "learner", "wrong labels, %", "training, ms of processor time"], rows)
    body += (
        "\n\n(3, 5), length 50, p = .2. The paper: SODA best, and faster than max-margin.\n\n"
        "Every learner has one fixed setting: SODA the absolute ridge 1e-8 of the paper, CRF l2 1, HMP 100 "
        f"passes, max-margin C 1.\n\n![]({left})\n![]({right})"
    )
    write("magic_moments/curve", "Magic Moments: learning curve (Figure 5)", body)


def sampling(arguments: Sequence[str]) -> None:
    """Figure 6: exact moments against moments from random outputs."""
    args = options(arguments, repeats=(50, "repeats per size"), seed=(0, "seed"))
    learners: dict[str, Callable[[], Any]] = {
        "SODA, exact": lambda: tw.SODA(CHAIN, reference="uniform", loss=None, reg=1e-6),
        "SODA, 50 paths": lambda: tw.SODA(
            CHAIN, moments="sampled", n_samples=50, reference="uniform", loss=None, reg=1e-6
        ),
        "SODA, 200 paths": lambda: tw.SODA(
            CHAIN, moments="sampled", n_samples=200, reference="uniform", loss=None, reg=1e-6
        ),
    }
    compile_all(learners)
    rows: list[list[Any]] = []
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in learners}
    for n_symbols in (5, 10, 20, 40):
        for name, make in learners.items():
            wrong, seconds = measured(make, args, (n_symbols, n_symbols), n_symbols, 50, 10)
            rows.append([n_symbols, name, wrong, f"{1e3 * seconds:.1f}"])
            lines[name].append((n_symbols, wrong))
    picture = curves({"error": lines}, "symbols", "wrong labels, %", "magic_moments/sampling")
    body = markdown(["symbols", "moments", "wrong labels, %", "training, ms of processor time"], rows)
    body += (
        "\n\nThe paper: equal errors, sampling cheaper than its recursions. Here exact moments of chains "
        f"are closed forms, so sampling cannot be cheaper.\n\n![]({picture})"
    )
    write("magic_moments/sampling", "Magic Moments: sampled moments (Figure 6)", body)
