"""Weights of the RNA model: a nearest-neighbour CRF of TrainSetA, with ``--rfam 1`` also of Rfam.

Left out of TrainSetA: sequences that share half of their 10-mers with a sequence of TestSetA, and every
twentieth of the others, which are held out to choose the weight of pairs in decoding. Structures that the
model cannot hold are repaired. Settings were chosen with whole families held out
(``experiments/rna/unseen.py``).

Of Rfam's families up to three sequences unlike each other if the structure was published, one that weighs
a fifth if it was predicted; only structures with four tenths of the bases paired, since consensus
structures leave many pairs out; none of families that may be in TestSetB or have a member like a sequence
of TestSetA (``experiments/rna/families.py``); every twentieth family is held out too. The weights of the
package are those of TrainSetA alone (``experiments/rna/mixture.py`` says why).

Adam in small random groups, from zero: first on sequences of up to 160 bases, then on those of up to 600,
with long ones weighing less. The step falls, and weights are averaged over the last third of each stage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import options, write
from experiments._samples import take
from experiments.rna.families import PAIRED, WEIGHTS, Samples, rfam, tornado
from trelliswork.learners.known import Target
from trelliswork.metrics import base_pair_scores
from trelliswork.structures.rna.features import scales

# Stages: longest sequence, passes over the data, first step.
STAGES = ((160, 3.0, 0.05), (600, 5.0, 0.02))
GROUP = 24  # sequences of a step
USED = ("hairpin loops",)  # groups of features that help on families held out
GAMMAS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def shares_of(samples: Samples) -> np.ndarray:
    """How much every sequence weighs."""
    return np.array([WEIGHTS[published] for published in samples.published])


def training_sets(folder: str, *, alignments: bool) -> tuple[Samples, Samples, str]:
    """Samples to train on and to choose the weight of pairs with, and how many were left out."""
    samples, note = tornado(folder)
    more, other = rfam(folder) if alignments else (Samples([], [], [], []), "Rfam is not used")
    held = samples.of(list(range(7, len(samples.X), 20)))
    samples = samples.of([i for i in range(len(samples.X)) if i % 20 != 7])
    names = set(sorted(set(more.family))[7::20])
    held = held.joined(more.of([i for i, name in enumerate(more.family) if name in names]))
    paired = [i for i, name in enumerate(more.family) if name not in names and more.paired(i) >= PAIRED]
    samples = samples.joined(more.of(paired))
    return samples, held, f"{note}; {other}"


def adam(
    batch: Any,
    w: np.ndarray,
    strength: np.ndarray,
    shares: np.ndarray,
    epochs: float,
    rate: float,
    report: Callable[[int, int, float, np.ndarray], None] | None = None,
) -> np.ndarray:
    """Weights after some passes in random groups, averaged over the last third of the steps."""
    rng = np.random.default_rng(0)
    lengths = batch.bases.lengths
    n = len(batch)
    steps = int(epochs * n / GROUP)
    mean, square, average, taken = np.zeros_like(w), np.zeros_like(w), np.zeros_like(w), 0
    order: list[int] = []
    for step in range(1, steps + 1):
        if len(order) < GROUP:
            order = rng.permutation(n).tolist()
        index, order = np.array(order[:GROUP]), order[GROUP:]
        share = shares[index]
        group = batch.subset(index)
        log_z, expected = group.expect(w, weights=share)
        reached, true = Target(group, share)(w)
        loss = (log_z @ share - reached) / (lengths[index] @ share)
        g = (expected - true) * (n / GROUP) + 2.0 * strength * w
        mean = 0.9 * mean + 0.1 * g
        square = 0.99 * square + 0.01 * g * g
        size = rate * 0.5 * (1 + np.cos(np.pi * step / steps)) + 0.02 * rate
        w = w - size * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        if step > steps * 2 // 3:
            average, taken = average + w, taken + 1
        if report is not None:
            report(step, steps, loss, w if not taken else average / taken)
    return average / max(taken, 1)


def trained(
    structure: Any,
    X: list[str],
    y: list[str],
    *,
    stages: Sequence[tuple[int, float, float]] = STAGES,
    prior: float = 1.0,
    jobs: int = 1,
    shares: np.ndarray | None = None,
    report: Callable[[int, int, float, np.ndarray], None] | None = None,
) -> np.ndarray:
    """Weights of a structure, with ``prior`` times the standard deviations of the groups of features.

    Long sequences have most of the bases, but are of few families: they weigh the root of 150 / length.
    """
    space = structure.bind()
    strength = 1.0 / (2.0 * (prior * scales(space.feature_names)) ** 2)
    w, own = np.zeros(space.n_features), np.ones(len(X)) if shares is None else shares
    for longest, epochs, rate in stages:
        index = np.array([i for i, x in enumerate(X) if len(x) <= longest])
        batch = space.pack(take(X, index), take(y, index), n_jobs=jobs)
        share = own[index] * np.clip(np.sqrt(150.0 / batch.bases.lengths), 0.5, 2.0)
        w = np.round(adam(batch, w, strength, share, epochs, rate, report), 6)
    return w


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
        jobs=(1, "threads"),
        rfam=(0, "1 trains on Rfam, too"),
        passes=("3,5", "passes over short and over all sequences"),
        output=("rna.tw", "model file to write; the model of the package is src/trelliswork/models/rna.tw"),
    )
    started = time.process_time()
    samples, held, note = training_sets(args.data, alignments=bool(args.rfam))
    structure = tw.RNA("nearest-neighbour", invalid="repair", groups=USED)

    def keep(w: np.ndarray, gamma: float = 1.0) -> None:
        fitted = as_model(w, structure.with_params(gamma=gamma))
        tw.save(fitted, args.output, info={"kind": "fold", "learner": "crf"})

    history: list[float] = []

    def report(step: int, steps: int, loss: float, at: np.ndarray) -> None:
        history.append(loss)
        if step % 20 == 0:
            keep(at)
            recent = np.mean(history[-30:])
            print(f"{step}/{steps} {recent:.4f} {time.process_time() - started:.0f} s", flush=True)

    shares = shares_of(samples)
    passes = [float(number) for number in args.passes.split(",")]
    stages = [(longest, n, rate) for (longest, _, rate), n in zip(STAGES, passes, strict=True)]
    w = trained(structure, samples.X, samples.y, stages=stages, jobs=args.jobs, shares=shares, report=report)
    gamma, quality = pick_gamma(w, structure, held.X, held.y)
    keep(w, gamma)
    minutes = (time.process_time() - started) / 60
    used = sum(len(x) <= STAGES[-1][0] for x in samples.X)
    body = (
        f"{(__doc__ or '').strip()}\n\n{note}. {used:,} were trained on, {len(held.X)} held out.\n\n"
        f"{minutes:.0f} minutes of CPU time. F1 of pairs on the sequences held out, by gamma: "
        + ", ".join(f"{g:g}: {100 * f:.1f}" for g, f in quality.items())
        + f"; gamma={gamma:g} is kept."
    )
    write("rna/train", "Weights of the RNA model", body)
