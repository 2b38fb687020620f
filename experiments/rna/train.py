"""The weights of the shipped RNA model: a nearest-neighbour CRF trained on TORNADO's TrainSetA.

Left out of TrainSetA: sequences that share half of their 10-mers with a sequence of TestSetA, and every
twentieth of the others, which are held out for the settings (groups of features, weight of pairs in
decoding). Structures that the model cannot hold are repaired. Rfam's alignments are not used: families of
test sets that were drawn from Rfam could be among them.

First L-BFGS on sequences of up to 160 bases, from zero, without the optional group of features; then Adam on
all sequences up to 600 bases in small random groups, twice: as they are, then with long ones weighing less.
The step falls, and weights are averaged over the last third of each.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import options, write
from experiments._samples import take
from experiments.rna.scale import read
from trelliswork.metrics import base_pair_scores
from trelliswork.structures.rna.features import GROUPS, scales

SHORT = 160
WORD = 10
# Passes of Adam, first step, and power of 150 / length that sequences weigh (from 0.5 to 2): long sequences
# have most of the bases, but are of few families.
PASSES = ((5.0, 0.02, 0.0), (4.0, 0.015, 0.5))
GAMMAS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def words(x: str) -> set[str]:
    """Distinct words of a sequence."""
    x = x.upper().replace("T", "U")
    return {x[i : i + WORD] for i in range(len(x) - WORD + 1)} or {x}


def unlike(X: list[str], test: list[str], share: float = 0.5) -> list[int]:
    """Sequences that share less than a part of their words with every test sequence."""
    holders = defaultdict(set)
    for i, x in enumerate(test):
        for word in words(x):
            holders[word].add(i)
    kept = []
    for i, x in enumerate(X):
        mine, hits = words(x), defaultdict(int)
        for word in mine:
            for j in holders.get(word, ()):
                hits[j] += 1
        if max(hits.values(), default=0) < share * len(mine):
            kept.append(i)
    return kept


def training_sets(folder: str) -> tuple[tuple[list[str], list[str]], tuple[list[str], list[str]], str]:
    """Sequences and structures to train on and to choose settings with, and how many were left out."""
    X, y = read(folder, "TrA")
    kept = unlike(X, read(folder, "TestA")[0])
    note = f"{len(X) - len(kept)} of {len(X):,} training sequences are like a test sequence and left out"
    held = [i for place, i in enumerate(kept) if place % 20 == 7]
    rest = sorted(set(kept) - set(held))
    return (take(X, rest), take(y, rest)), (take(X, held), take(y, held)), note


def adam(
    batch: Any,
    w: np.ndarray,
    strength: np.ndarray,
    epochs: float,
    rate: float,
    report: Any,
    shares: np.ndarray,
) -> np.ndarray:
    """Weights after some passes in random groups, averaged over the last third of the steps."""
    rng = np.random.default_rng(0)
    lengths = batch.bases.lengths
    n, group = len(batch), 24
    steps = int(epochs * n / group)
    gold = batch.gold()
    mean, square, average, taken = np.zeros_like(w), np.zeros_like(w), np.zeros_like(w), 0
    order: list[int] = []
    for step in range(1, steps + 1):
        if len(order) < group:
            order = rng.permutation(n).tolist()
        index, order = np.array(order[:group]), order[group:]
        share = shares[index]
        log_z, expected = batch.subset(index).expect(w, weights=share)
        true = np.asarray(gold[index].T @ share).ravel()
        loss = (log_z @ share - true @ w) / (lengths[index] @ share)
        g = (expected - true) * (n / group) + 2.0 * strength * w
        mean = 0.9 * mean + 0.1 * g
        square = 0.99 * square + 0.01 * g * g
        size = rate * 0.5 * (1 + np.cos(np.pi * step / steps)) + 0.02 * rate
        w = w - size * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        if step > steps * 2 // 3:
            average, taken = average + w, taken + 1
        report(step, steps, loss, w if not taken else average / taken)
    return average / max(taken, 1)


def pick_gamma(w: np.ndarray, structure: Any, X: list[str], y: list[str]) -> tuple[float, dict[float, float]]:
    """Weight of pairs with the best F1, and the F1 of all that were tried."""
    space = structure.bind()
    batch = space.pack(X)
    probabilities = batch._expect("expect", batch.scores(w), pairs=True, rules=False)[2]
    quality = {}
    for gamma in GAMMAS:
        found = batch.most_accurate(probabilities, gamma)
        quality[gamma] = base_pair_scores(y, batch.unpack(found.codes)).f1
    return max(quality, key=quality.__getitem__), quality


def as_model(w: np.ndarray, structure: Any) -> Any:
    """Weights as a fitted learner."""
    model = tw.CRF(structure)
    model.space_, model.coef_, model.n_iter_ = structure.bind(), w, 1
    model.objective_, model.history_ = float("nan"), []
    model.converged_, model.stop_, model.message_ = False, "max_iter", "trained by experiments/rna/train.py"
    return model


def train(arguments: Sequence[str]) -> None:
    """Train, choose gamma, and write the model."""
    args = options(
        arguments,
        longest=(600, "longest training sequence"),
        iterations=(30, "iterations of L-BFGS"),
        prior=(1.0, "factor of the standard deviations of the prior"),
        jobs=(1, "threads"),
        output=("rna.tw", "model file to write; the model of the package is src/trelliswork/models/rna.tw"),
    )
    started = time.perf_counter()
    (X, y), dev, note = training_sets(args.data)
    plain = tw.RNA("nearest-neighbour", invalid="repair")
    structure = plain.with_params(groups=GROUPS)
    space = structure.bind()

    def strength(names: list[Any]) -> np.ndarray:
        return 1.0 / (2.0 * (args.prior * scales(names)) ** 2)

    def keep(w: np.ndarray, gamma: float = 1.0) -> None:
        fitted = as_model(w, structure.with_params(gamma=gamma))
        tw.save(fitted, args.output, info={"kind": "fold", "learner": "crf"})

    index = [i for i, x in enumerate(X) if len(x) <= SHORT]
    names = plain.bind().feature_names
    crf = tw.CRF(plain, l2=strength(names), max_iter=args.iterations, n_jobs=args.jobs, verbose=1)
    crf.fit(take(X, index), take(y, index))
    known = dict(zip(names, crf.coef_, strict=True))
    w = np.round([known.get(name, 0.0) for name in space.feature_names], 6)
    print(f"L-BFGS: {len(index)} sequences, {time.perf_counter() - started:.0f} s", flush=True)
    index = [i for i, x in enumerate(X) if len(x) <= args.longest]
    batch = space.pack(take(X, index), take(y, index), n_jobs=args.jobs)
    history: list[float] = []

    def report(step: int, steps: int, loss: float, at: np.ndarray) -> None:
        history.append(loss)
        if step % 10 == 0:
            keep(at)
            recent = np.mean(history[-30:])
            print(f"{step}/{steps} {recent:.4f} {time.perf_counter() - started:.0f} s", flush=True)

    for epochs, rate, balance in PASSES:
        shares = (
            np.clip((150.0 / batch.bases.lengths) ** balance, 0.5, 2.0) if balance else np.ones(len(batch))
        )
        w = np.round(adam(batch, w, strength(space.feature_names), epochs, rate, report, shares), 6)
    gamma, quality = pick_gamma(w, structure, *dev)
    keep(w, gamma)
    minutes = (time.perf_counter() - started) / 60
    body = (
        f"{(__doc__ or '').strip()}\n\n{note}; {len(index):,} were trained on, {len(dev[0])} held out.\n\n"
        f"{minutes:.0f} minutes with {args.jobs} thread(s). F1 of pairs on the sequences held out, by gamma: "
        + ", ".join(f"{g:g}: {100 * f:.1f}" for g, f in quality.items())
        + f"; gamma={gamma:g} is kept."
    )
    write("rna/train", "Weights of the RNA model", body)
