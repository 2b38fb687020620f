"""Which data and features help on families that were not seen: whole families held out of training.

Held out are tmRNAs (names TMR), and the mixed families that RNA STRAND took from Rfam and PDB (RFA, PDB,
RF) of TrainSetA, of which every fourth and every third sequence is tested, and a fifth of Rfam's families:
up to three sequences of those whose structures were published, one of the others. Families of Rfam with a
member like a mixed sequence are not trained on. F1 of all pairs, expected accuracy, at the better of the
weights 1.5 and 2 of pairs, and the mean logarithm of the probability of the structure, per base. Shorter
training than that of the model of the package, on sequences of up to ``--longest`` bases.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import trelliswork as tw
from experiments._report import load, markdown, options, store, write
from experiments._samples import take
from experiments.rna.families import WEIGHTS, Samples, Words, rfam, tornado
from experiments.rna.train import USED, trained
from trelliswork.metrics import base_pair_scores

GAMMAS = (1.5, 2.0)
TMRNA, MIXED = ("TMR",), ("RFA", "PDB", "RF")


class Run(NamedTuple):
    """Groups of features, factor of the prior, weights of published and of predicted structures of Rfam."""

    groups: tuple[str, ...] = USED
    prior: float = 1.0
    published: float = WEIGHTS[True]
    predicted: float = WEIGHTS[False]


RUNS = {
    "TrainSetA": Run(published=0.0, predicted=0.0),
    "and Rfam, published": Run(predicted=0.0),
    "and Rfam, both alike": Run(published=0.25, predicted=0.25),
    "and Rfam, published 1, predicted 0.2": Run(),
    "the last, published 2": Run(published=2.0),
    "with a narrower prior (0.6)": Run(prior=0.6),
    "without hairpin loops": Run(groups=()),
    "with hexaloops": Run(groups=(*USED, "hexaloops")),
    "with triples of pairs": Run(groups=(*USED, "triples")),
    "with lengths of helices": Run(groups=(*USED, "helix lengths")),
}


def quality(w: np.ndarray, structure: Any, samples: Samples) -> str:
    """F1 of pairs, in percent, and the mean logarithm of the probability per base."""
    space, found, likelihood = structure.bind(), {gamma: [] for gamma in GAMMAS}, 0.0
    for start in range(0, len(samples.X), 50):
        batch = space.pack(samples.X[start : start + 50], samples.y[start : start + 50])
        scores = batch.scores(w)
        log_z, _, chances = batch._expect("expect", scores, pairs=True, rules=False)
        likelihood += float((batch.gold_values(scores) - log_z).sum())
        for gamma, some in found.items():
            some += batch.unpack(batch.most_accurate(chances, gamma).codes)
    best = max(100 * base_pair_scores(samples.y, some).f1 for some in found.values())
    return f"{best:.1f} ({likelihood / sum(map(len, samples.X)):.4f})"


def parts(folder: str) -> tuple[Samples, Samples, dict[str, Samples], str]:
    """Samples of TrainSetA and of Rfam to train on, those held out, and how many there are."""
    own, note = tornado(folder)
    more, other = rfam(folder)
    mixed = own.of([i for i, family in enumerate(own.family) if family in MIXED])
    near = Words(mixed.X)
    like = {family for x, family in zip(more.X, more.family, strict=True) if near.share(x) >= 0.2}
    apart = {family for family in more.family if zlib.crc32(family.encode()) % 5 == 0}
    held = more.of([i for i, family in enumerate(more.family) if family in apart])
    sets = {
        "tmRNA": own.of([i for i, family in enumerate(own.family) if family in TMRNA][::4]),
        "mixed": mixed.of(list(range(0, len(mixed.X), 3))),
        "Rfam, published": held.of([i for i, published in enumerate(held.published) if published]),
        "Rfam, predicted": held.of([i for i, published in enumerate(held.published) if not published]),
    }
    own = own.of([i for i, family in enumerate(own.family) if family not in TMRNA + MIXED])
    more = more.of([i for i, family in enumerate(more.family) if family not in apart | like])
    return own, more, sets, f"{note}; {other}"


def unseen(arguments: Sequence[str]) -> None:
    """Quality on families held out, by what was trained on."""
    args = options(arguments, longest=(160, "longest training sequence"), jobs=(1, "threads"))
    stages = ((160, 2.0, 0.05), *(((args.longest, 1.0, 0.02),) if args.longest > 160 else ()))
    own, more, sets, note = parts(args.data)
    done = load("rna/unseen")
    for name, run in RUNS.items():
        if name in done:
            continue
        structure = tw.RNA("nearest-neighbour", invalid="repair", groups=run.groups)
        weights = [run.published if published else run.predicted for published in more.published]
        used = [i for i, weight in enumerate(weights) if weight]
        samples = own.joined(more.of(used))
        shares = np.concatenate([np.ones(len(own.X)), take(weights, used)])
        w = trained(
            structure, samples.X, samples.y, stages=stages, prior=run.prior, jobs=args.jobs, shares=shares
        )
        done[name] = [len(samples.X), *(quality(w, structure, some) for some in sets.values())]
        store("rna/unseen", done)
        print(name, done[name], flush=True)
    header = ["trained on", "sequences", *(f"{name} ({len(some.X)})" for name, some in sets.items())]
    text = (__doc__ or "").split("\n", 2)[2].strip()
    rows = [[name, *values] for name, values in done.items()]
    body = f"{text}\n\n{note}.\n\n{markdown(header, rows)}"
    write("rna/unseen", "RNA families that were not seen", body)
