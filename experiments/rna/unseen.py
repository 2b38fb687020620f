"""Which data and settings help on families that were not seen: whole families held out of training.

Two folds. The first holds out tmRNAs (names TMR of TrainSetA) and the mixed families that RNA STRAND took
from Rfam and PDB (RFA, PDB, RF), the second RNase P (ASE), SRP and the transfer RNAs of Sprinzl's
database (SPR); each also a fifth of Rfam's families (whole clans, no family twice) and every twentieth
sequence of the families of TrainSetA that are trained on ("same families"). Families of Rfam with a
member like a mixed sequence are not trained on in the first fold. Of large sets every third or fourth
sequence is tested, of up to 400 bases.

F1 of all pairs, in percent: structures of most expected accuracy, each row at the weight of pairs (gamma)
that is best for its mean over the sets, and most probable structures behind the slash. Shorter training
than that of the model of the package, on sequences of up to 300 bases.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import trelliswork as tw
from experiments._report import load, markdown, options, store, write
from experiments._samples import take
from experiments.rna.families import WEIGHTS, Samples, Words, rfam, tornado
from experiments.rna.train import USED, trained
from trelliswork.structures import base_pairs

GAMMAS = (1.0, 1.5, 2.0, 3.0)
MIXED = ("RFA", "PDB", "RF")
LONGEST = 400  # bases of a test sequence
STAGES = ((160, 2.0, 0.05), (300, 1.0, 0.02))
# Families that a fold holds out of TrainSetA, and which part of them is tested.
HELD = (
    {"tmRNA": (("TMR",), 4), "mixed": (MIXED, 3)},
    {"RNase P": (("ASE",), 3), "SRP": (("SRP",), 3), "tRNA": (("SPR",), 3)},
)
SAME = "same families"


class Run(NamedTuple):
    """Weights of structures of Rfam, groups of features, factor of the prior, passes over the data.

    Without ``unpaired`` nothing is known of bases that are unpaired in Rfam's structures; ``paired`` is the
    least part of paired bases of those that are used. In ``balanced`` runs a sequence of TrainSetA weighs
    less if its source has many: the inverse root of their number (at least 100), 1 on average.
    """

    published: float = WEIGHTS[True]
    predicted: float = WEIGHTS[False]
    groups: tuple[str, ...] = USED
    prior: float = 1.0
    passes: float = 1.0
    unpaired: bool = True
    paired: float = 0.0
    balanced: bool = False


RUNS = {
    "TrainSetA": Run(0.0, 0.0),
    "TrainSetA, twice the passes": Run(0.0, 0.0, passes=2.0),
    "and Rfam, published 1, predicted 0.2": Run(),
    "and Rfam, published 0.5, predicted 0.1": Run(0.5, 0.1),
    "and Rfam, published 1, predicted 0.2, twice the passes": Run(passes=2.0),
    "and Rfam, published 1, predicted 0.2, pairs alone": Run(unpaired=False),
    "and Rfam, published 1, predicted 0.2, half of the bases paired": Run(paired=0.5),
    "the last, twice the passes": Run(paired=0.5, passes=2.0),
    "and Rfam, published 2, predicted 0.5, half of the bases paired": Run(2.0, 0.5, paired=0.5),
    "and Rfam, published 1, predicted 0.2, pairs alone, twice the passes": Run(unpaired=False, passes=2.0),
    "and Rfam, published 1, predicted 0.2, 0.4 of the bases paired, twice the passes": Run(
        paired=0.4, passes=2.0
    ),
    "and Rfam, published 1, predicted 0.2, half of the bases paired, twice the passes, balanced": Run(
        paired=0.5, passes=2.0, balanced=True
    ),
    "TrainSetA, without hairpin loops": Run(0.0, 0.0, groups=()),
    "TrainSetA, with hexaloops": Run(0.0, 0.0, groups=(*USED, "hexaloops")),
    "TrainSetA, with triples of pairs": Run(0.0, 0.0, groups=(*USED, "triples")),
    "TrainSetA, with lengths of helices": Run(0.0, 0.0, groups=(*USED, "helix lengths")),
    "TrainSetA, narrower prior (0.6)": Run(0.0, 0.0, prior=0.6),
}


class Fold(NamedTuple):
    """Samples of TrainSetA and of Rfam to train on, and those held out."""

    own: Samples
    more: Samples
    sets: dict[str, Samples]


def counts(y: list[str], found: list[str]) -> list[int]:
    """Pairs that are right, predicted, true."""
    true, mine = [set(base_pairs(text)) for text in y], [set(base_pairs(text)) for text in found]
    right = sum(len(a & b) for a, b in zip(true, mine, strict=True))
    return [right, sum(map(len, mine)), sum(map(len, true))]


def quality(w: np.ndarray, structure: Any, samples: Samples) -> dict[str, list[int]]:
    """Counts of the most probable structures ("best"), and of those of most expected accuracy by gamma."""
    space, found = structure.bind(), {name: [] for name in ("best", *map(str, GAMMAS))}
    for start in range(0, len(samples.X), 50):
        batch = space.pack(samples.X[start : start + 50])
        scores = batch.scores(w)
        chances = batch.pair_probabilities(scores)
        found["best"] += batch.unpack(batch.argmax(scores).codes)
        for gamma in GAMMAS:
            found[str(gamma)] += batch.unpack(batch.most_accurate(chances, gamma).codes)
    return {name: counts(samples.y, some) for name, some in found.items()}


def folds(folder: str) -> tuple[list[Fold], str]:
    """Both folds, and how many samples there are."""
    own, note = tornado(folder)
    more, other = rfam(folder)
    mixed = [x for x, family in zip(own.X, own.family, strict=True) if family in MIXED]
    near = Words(mixed)
    like = {family for x, family in zip(more.X, more.family, strict=True) if near.share(x) >= 0.2}

    def part(samples: Samples, families: set[str], step: int = 1) -> Samples:
        index = [i for i, family in enumerate(samples.family) if family in families][::step]
        return samples.of([i for i in index if len(samples.X[i]) <= LONGEST])

    out = []
    for k, held in enumerate(HELD):
        gone = {family for families, _ in held.values() for family in families}
        apart = {family for family in more.family if zlib.crc32(family.encode()) % 5 == k}
        sets = {name: part(own, set(families), step) for name, (families, step) in held.items()}
        rest = own.of([i for i, family in enumerate(own.family) if family not in gone])
        same = rest.of(list(range(7, len(rest.X), 20)))
        sets[SAME] = same.of([i for i, x in enumerate(same.X) if len(x) <= LONGEST])
        others = part(more, apart)
        for name, published in (("Rfam, published", True), ("Rfam, predicted", False)):
            sets[name] = others.of([i for i, p in enumerate(others.published) if p == published])
        rest = rest.of([i for i in range(len(rest.X)) if i % 20 != 7])
        skip = apart | (like if k == 0 else set())
        out.append(Fold(rest, more.of([i for i, f in enumerate(more.family) if f not in skip]), sets))
    return out, f"{note}; {other}"


def pairs_alone(structure: Any, samples: Samples) -> list[str]:
    """Repaired structures of whose unpaired bases nothing is known."""
    batch = structure.bind().pack(samples.X, samples.y)
    return [text.replace(".", "?") for text in batch.unpack(batch.gold_codes)]


def run(settings: Run, fold: Fold, jobs: int) -> dict[str, dict[str, list[int]]]:
    """Counts of every set held out."""
    structure = tw.RNA("nearest-neighbour", invalid="repair", groups=settings.groups)
    weights = [settings.published if published else settings.predicted for published in fold.more.published]
    used = [i for i, weight in enumerate(weights) if weight and fold.more.paired(i) >= settings.paired]
    more = fold.more.of(used)
    if not settings.unpaired:
        more = more._replace(y=pairs_alone(structure, more))
    samples = fold.own.joined(more)
    sizes = Counter(fold.own.family)
    power = -0.5 if settings.balanced else 0.0
    mine = np.array([max(sizes[family], 100) ** power for family in fold.own.family])
    shares = np.concatenate([mine / mine.mean(), take(weights, used)])
    stages = [(longest, settings.passes * passes, rate) for longest, passes, rate in STAGES]
    w = trained(
        structure, samples.X, samples.y, stages=stages, prior=settings.prior, jobs=jobs, shares=shares
    )
    return {name: quality(w, structure, some) for name, some in fold.sets.items()}


def rows_of(done: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Names of the sets, and a row for every run that has been made in both folds."""
    names: list[str] = []
    rows = []
    for title in RUNS:
        parts = [done[f"{title} {k}"] for k in range(len(HELD)) if f"{title} {k}" in done]
        if len(parts) < len(HELD):
            continue
        names = list(dict.fromkeys(name for part in parts for name in part))

        def f1(name: str, kind: str, parts: list[Any] = parts) -> float:
            right, mine, true = np.sum([part[name][kind] for part in parts if name in part], axis=0)
            return 200.0 * right / (mine + true)

        gamma = max(GAMMAS, key=lambda g: np.mean([f1(name, str(g)) for name in names]))
        cells = [f"{f1(name, str(gamma)):.1f} / {f1(name, 'best'):.1f}" for name in names]
        means = [np.mean([f1(name, kind) for name in names]) for kind in (str(gamma), "best")]
        rows.append([title, f"{gamma:g}", *cells, "{:.1f} / {:.1f}".format(*means)])
    return names, rows


def unseen(arguments: Sequence[str]) -> None:
    """Quality on families held out, by what was trained on."""
    args = options(arguments, jobs=(1, "threads"), runs=(len(RUNS), "settings of the list that are run"))
    parts, note = folds(args.data)
    done = load("rna/unseen")
    for title, settings in list(RUNS.items())[: args.runs]:
        for k, fold in enumerate(parts):
            if f"{title} {k}" not in done:
                done[f"{title} {k}"] = run(settings, fold, args.jobs)
                store("rna/unseen", done)
                print(title, k, flush=True)
    names, rows = rows_of(done)
    sizes = {name: sum(len(fold.sets[name].X) for fold in parts if name in fold.sets) for name in names}
    header = ["trained on", "gamma", *(f"{name} ({size})" for name, size in sizes.items()), "mean"]
    text = (__doc__ or "").split("\n", 2)[2].strip()
    write("rna/unseen", "RNA families that were not seen", f"{text}\n\n{note}.\n\n{markdown(header, rows)}")
