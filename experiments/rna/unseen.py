"""Which data and features help on families that were not seen: whole families held out of training.

Held out are tmRNAs (names TMR), and the mixed families that RNA STRAND took from Rfam and PDB (RFA, PDB,
RF) of TrainSetA, every fourth sequence of which is tested, and a fifth of Rfam's families, one sequence
each. Rfam's structures are consensus structures, mostly predicted from alignments. F1 of all pairs,
expected accuracy, at the better of the weights 1.5 and 2 of pairs. Shorter training than that of the model
of the package.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import load, markdown, options, store, write
from experiments.rna.families import Samples, rfam, tornado
from experiments.rna.train import trained
from trelliswork.metrics import base_pair_scores
from trelliswork.structures.rna.features import GROUPS

GAMMAS = (1.5, 2.0)
TMRNA, MIXED = ("TMR",), ("RFA", "PDB", "RF")
# Groups of features, factor of the prior, weight of Rfam's sequences.
RUNS: dict[str, tuple[tuple[str, ...], float, float]] = {
    "TrainSetA": ((), 1.0, 0.0),
    "with hairpin loops": (GROUPS, 1.0, 0.0),
    "with a narrower prior (0.6)": ((), 0.6, 0.0),
    "with Rfam, weight 1/4": ((), 1.0, 0.25),
    "with Rfam": ((), 1.0, 1.0),
}


def first_of_each(samples: Samples) -> list[int]:
    """One sequence of every family."""
    first = {family: i for i, family in reversed(list(enumerate(samples.family)))}
    return sorted(first.values())


def f1(w: np.ndarray, structure: Any, samples: Samples) -> float:
    """F1 of pairs, in percent."""
    space, found = structure.bind(), {gamma: [] for gamma in GAMMAS}
    for start in range(0, len(samples.X), 50):
        batch = space.pack(samples.X[start : start + 50])
        chances = batch.pair_probabilities(batch.scores(w))
        for gamma, some in found.items():
            some += batch.unpack(batch.most_accurate(chances, gamma).codes)
    return max(100 * base_pair_scores(samples.y, some).f1 for some in found.values())


def unseen(arguments: Sequence[str]) -> None:
    """F1 on families held out, by what was trained on."""
    args = options(arguments, longest=(300, "longest training sequence"), jobs=(1, "threads"))
    stages = ((160, 3.0, 0.05), (args.longest, 2.0, 0.02))
    own, note = tornado(args.data)
    more, other = rfam(args.data)
    apart = {family for family in more.family if zlib.crc32(family.encode()) % 5 == 0}
    held = Samples(*more).of([i for i, family in enumerate(more.family) if family in apart])
    more = more.of([i for i, family in enumerate(more.family) if family not in apart])
    sets = {
        "tmRNA": own.of([i for i, family in enumerate(own.family) if family in TMRNA][::4]),
        "mixed": own.of([i for i, family in enumerate(own.family) if family in MIXED][::4]),
        "Rfam's alignments": held.of(first_of_each(held)),
    }
    own = own.of([i for i, family in enumerate(own.family) if family not in TMRNA + MIXED])
    done = load("rna/unseen")
    for name, (groups, prior, weight) in RUNS.items():
        if name in done:
            continue
        structure = tw.RNA("nearest-neighbour", invalid="repair", groups=groups)
        samples = own.joined(more) if weight else own
        shares = np.concatenate([np.ones(len(own.X)), np.full(len(samples.X) - len(own.X), weight)])
        w = trained(
            structure, samples.X, samples.y, stages=stages, prior=prior, jobs=args.jobs, shares=shares
        )
        done[name] = [len(samples.X), *(f1(w, structure, some) for some in sets.values())]
        store("rna/unseen", done)
        print(name, done[name], flush=True)
    header = ["trained on", "sequences", *(f"{name} ({len(some.X)})" for name, some in sets.items())]
    text = (__doc__ or "").split("\n", 2)[2].strip()
    rows = [[name, *values] for name, values in done.items()]
    body = f"{text}\n\n{note}; {other}.\n\n{markdown(header, rows)}"
    write("rna/unseen", "RNA families that were not seen", body)
