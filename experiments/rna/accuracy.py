"""Accuracy of the RNA model of the package: TestSetA and ArchiveII, beside ViennaRNA and CONTRAfold.

TestSetA of TORNADO: sequences of up to 600 bases against their structures as they are. Nothing was chosen
with its help; it had been opened before, for the same table of earlier weights of the same model (F1 59.4
and 59.5 by expected accuracy, and 59.1 for weights that were not used). Other programs were measured
apart, on the same sequences.

ArchiveII: every sequence once. Its families, but for those that are named as others, are also families of
the training set, so that its figures tell how well known families are folded, not new ones; "like" counts
sequences that share half of their 10-mers with one that was trained on, and "F1, others" leaves these out.
CONTRAfold's weights are run in the recursions of this package (``--contrafold FILE``, see
``experiments/rna/contrafold.py``; gamma 4 for expected accuracy, as in the figures of TestSetA); they
were trained on families of Rfam. Most probable structures / those of most expected accuracy.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import load, markdown, options, store, write
from experiments._samples import take
from experiments.rna.contrafold import contrafold
from experiments.rna.families import Words
from experiments.rna.scale import LONGEST, read
from experiments.rna.train import training_sets
from trelliswork.metrics import base_pair_scores
from trelliswork.structures import base_pairs

# F1 of all pairs and mean F1 of sequences.
MEASURED = {
    "ViennaRNA 2.7.2, minimum free energy": (51.0, 60.7),
    "ViennaRNA 2.7.2, expected accuracy": (53.4, 62.3),
    "CONTRAfold, most probable structure": (49.8, 55.0),
    "CONTRAfold, expected accuracy": (54.9, 62.6),
    "EternaFold, expected accuracy": (56.4, 63.1),
}
CONTRAFOLD_GAMMA = 4.0
LENGTHS = (0, 50, 100, 200, 400, 600)


def vienna(X: list[str]) -> tuple[list[str], list[str]]:
    """ViennaRNA's structures of minimum free energy and of largest expected accuracy."""
    import RNA

    best, accurate = [], []
    for x in X:
        compound = RNA.fold_compound(x)
        structure, energy = compound.mfe()
        compound.exp_params_rescale(energy)
        compound.pf()
        best.append(structure)
        accurate.append(compound.MEA()[0])
    return best, accurate


def archive(folder: str) -> tuple[list[str], list[str], list[str]]:
    """Families, sequences and structures of ArchiveII, no sequence twice."""
    with gzip.open(os.path.join(folder, "rna-archiveII", "ArchiveII.csv.gz"), "rt", encoding="utf-8") as file:
        rows = {row["sequence"]: row for row in csv.DictReader(file)}
    good = [row for row in rows.values() if set(row["sequence"].upper()) <= set("ACGUTNRYSWKMBDHVX")]
    families = [row["id"].split("_")[0] for row in good]
    return families, [row["sequence"] for row in good], [row["structure"] for row in good]


def figures(y: list[str], found: list[str]) -> list[float]:
    """Sensitivity, PPV and F1 over all pairs, and the mean F1 of sequences, in percent."""
    pooled = base_pair_scores(y, found)
    single = []
    for a, b in zip(y, found, strict=True):
        one = base_pair_scores([a], [b])
        single.append(1.0 if not base_pairs(a) and not base_pairs(b) else one.f1)
    return [100 * pooled.sensitivity, 100 * pooled.ppv, 100 * pooled.f1, 100 * float(np.nanmean(single))]


def folded(model: Any, X: list[str], jobs: int) -> tuple[list[str], list[str], list[Any]]:
    """Best structures, those of most expected accuracy, and pairs with their probabilities."""
    model.set_params(n_jobs=jobs)
    best, accurate, pairs = [], [], []
    for start in range(0, len(X), 20):
        batch = model.pack(X[start : start + 20])
        scores = batch.scores(model.coef_)
        chances = batch.pair_probabilities(scores)
        best += batch.unpack(batch.argmax(scores).codes)
        accurate += batch.unpack(batch.most_accurate(chances, model.structure.gamma).codes)
        pairs += [batch.unpack_sample_pairs(i, chances) for i in range(len(batch))]
    return best, accurate, pairs


def calibration(y: list[str], pairs: list[Any]) -> list[list[Any]]:
    """Rows of: range of probabilities, number of pairs, their mean probability, share that is right."""
    p, right = [], []
    for text, some in zip(y, pairs, strict=True):
        true = set(base_pairs(text))
        p += [chance for *_, chance in some]
        right += [(i, j) in true for i, j, _ in some]
    p, right = np.array(p), np.array(right)
    rows = []
    for low in np.arange(0.0, 1.0, 0.1):
        inside = (p >= max(low, 0.01)) & (p < low + 0.1 + (low > 0.85))
        if inside.any():
            mean, share = 100 * float(p[inside].mean()), 100 * float(right[inside].mean())
            rows.append([f"{low:.1f} to {low + 0.1:.1f}", int(inside.sum()), mean, share])
    return rows


# Families of ArchiveII and where the training set has them: names of TrainSetA's sources, None for nowhere.
SOURCES = {
    "16s": "CRW", "23s": "CRW", "5s": "CRW", "grp1": "CRW", "RNaseP": "ASE", "srp": "SRP", "tRNA": "SPR",
    "tmRNA": "TMR", "telomerase": None,
}  # fmt: skip


def measured(key: str, measure: Callable[[], list[float]]) -> list[float]:
    """Figures of another program, which take long: kept as soon as they are there."""
    done = load("rna/peers")
    if key not in done:
        done[key] = measure()
        store("rna/peers", done)
        print(key, done[key], flush=True)
    return done[key]


def vienna_f1(X: list[str], y: list[str]) -> list[float]:
    """F1 of both kinds of structures of ViennaRNA."""
    return [figures(y, found)[2] for found in vienna(X)]


def contrafold_f1(path: str, X: list[str], y: list[str], jobs: int) -> list[float]:
    """F1 of both kinds of structures of CONTRAfold's weights."""
    return [figures(y, found)[2] for found in contrafold(path, X, CONTRAFOLD_GAMMA, jobs)]


def by_family(model: Any, args: Any) -> str:
    """ArchiveII by family."""
    families, X, y = archive(args.data)
    best, accurate, _ = folded(model, X, args.jobs)
    trained_on = Words(training_sets(args.data, alignments=False)[0].X)
    like = [trained_on.share(x) >= 0.5 for x in X]
    members = defaultdict(list)
    for i, family in enumerate(families):
        members[family].append(i)
    head = ["family", "trained on", "sequences", "like", "F1", "F1, others", "mean F1 of sequences"]
    rows = []
    for family, index in sorted(members.items()):
        some, true = take(X, index), take(y, index)
        mine = figures(true, take(accurate, index))
        unlike = [i for i in index if not like[i]]
        others = figures(take(y, unlike), take(accurate, unlike))[2] if unlike else float("nan")
        source = SOURCES[family]
        rows.append([
            family, "no" if source is None else f"yes ({source})", len(index), len(index) - len(unlike),
            both([figures(true, take(best, index))[2], mine[2]]), others, mine[3],
        ])  # fmt: skip
        if args.peers:
            rows[-1].append(both(measured(f"ViennaRNA {family}", lambda a=some, b=true: vienna_f1(a, b))))
        if args.contrafold:
            rows[-1].append(both(measured(
                f"CONTRAfold {family}", lambda a=some, b=true: contrafold_f1(args.contrafold, a, b, args.jobs)
            )))  # fmt: skip
    head += ["ViennaRNA, F1"] * bool(args.peers) + ["CONTRAfold, F1"] * bool(args.contrafold)
    return f"ArchiveII, {len(X):,} sequences.\n\n{markdown(head, rows)}"


def both(pair: Sequence[float]) -> str:
    """Two figures in one cell."""
    return f"{pair[0]:.1f} / {pair[1]:.1f}"


def accuracy(arguments: Sequence[str]) -> None:
    """All tables of the model card."""
    args = options(arguments, jobs=(1, "threads"), model=("", "model file instead of that of the package"),
                   peers=(1, "0 leaves the column of ViennaRNA out"), archive=(1, "0 leaves ArchiveII out"),
                   contrafold=("", "feature_weight.h of LinearFold, for a column of CONTRAfold"))  # fmt: skip
    model = tw.load(args.model) if args.model else tw.pretrained("rna")
    X, y = read(args.data, "TestA")
    short = [i for i, x in enumerate(X) if len(x) <= LONGEST]
    X, y = take(X, short), take(y, short)
    best, accurate, pairs = folded(model, X, args.jobs)
    gamma = model.structure.gamma
    rows = [["ours, most probable structure", *figures(y, best)],
            [f"ours, expected accuracy (gamma={gamma:g})", *figures(y, accurate)]]  # fmt: skip
    rows += [[name, "", "", *pair] for name, pair in MEASURED.items()]
    header = ["", "sensitivity", "PPV", "F1 of all pairs", "mean F1 of sequences"]
    body = [f"TestSetA, {len(X)} sequences.\n\n{markdown(header, rows)}"]
    by_length = []
    for low, high in itertools.pairwise(LENGTHS):
        some = [i for i, x in enumerate(X) if low < len(x) <= high]
        by_length.append([f"{low + 1} to {high}", len(some), *figures(take(y, some), take(accurate, some))])
    body.append(
        f"By length (expected accuracy).\n\n{markdown(['bases', 'sequences', *header[1:]], by_length)}"
    )
    table = markdown(["probability", "pairs", "mean probability", "right, %"], calibration(y, pairs))
    body.append(f"Calibration: of pairs with such a probability, how many are right?\n\n{table}")
    if args.archive:
        body.append(by_family(model, args))
    text = (__doc__ or "").split("\n", 2)[2].strip()
    write("rna/accuracy", "Accuracy of the RNA model", "\n\n".join([text, *body]))
