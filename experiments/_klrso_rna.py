"""KLRSO, Tables 7 to 9: RNA families, each by itself and all together.

The seed alignments of Rfam 14.2 stand in for the paper's mixture of seeds and automatic annotations, so sizes
differ (196, 150, 154 and 108 sequences there). The consensus structure is projected on every sequence; pairs
that the grammar cannot hold are deleted. Grammar and penalty are chosen on a fifth of each training part.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._klrso_choice import best, folds, part, shown, spectrum
from experiments._report import markdown, options, write
from trelliswork.metrics import base_pair_scores

FAMILIES = {
    "RF00048": "Enterovirus 5' CRE",
    "RF00185": "Flavivirus CRE",
    "RF00020": "U5 spliceosomal RNA",
    "RF00468": "Hepatitis C virus VII",
}
PAPER = {
    "RF00048": (94.30, 88.95, 96.01, 95.85),
    "RF00185": (95.55, 53.80, 98.01, 98.16),
    "RF00020": (85.11, 77.41, 86.34, 86.26),
    "RF00468": (70.63, 48.78, 74.41, 74.40),
    "weighted": (88.05, 70.05, 90.20, 90.17),
}
REGS = (0.001, 0.01, 0.1)


def family(data: str, name: str) -> tuple[list[str], list[str]]:
    """Sequences without gaps and their structures; those with other letters than ACGU are left out."""
    from Bio import AlignIO

    alignment = AlignIO.read(Path(data) / "rna-rfam-named" / f"{name}.sto", "stockholm")
    columns = alignment.column_annotations["secondary_structure"]
    open_, pairs = [], []
    for i, sign in enumerate(columns):
        if sign in "<([{":
            open_.append(i)
        elif sign in ">)]}":
            pairs.append((open_.pop(), i))
    X, y = [], []
    for record in alignment:
        text = str(record.seq).upper().replace("T", "U").replace(".", "-")
        if set(text) - set("ACGU-"):
            continue
        kept = np.array([c != "-" for c in text])
        place = np.cumsum(kept) - 1
        found = ["."] * int(kept.sum())
        for i, j in pairs:
            if kept[i] and kept[j]:
                found[place[i]], found[place[j]] = "(", ")"
        X.append(text.replace("-", ""))
        y.append("".join(found))
    return X, y


def f_measure(y: Any, found: Any) -> float:
    """F of the base pairs of all sequences together."""
    return base_pair_scores(y, found).f1


def grammars() -> list[Any]:
    return [tw.RNA(invalid="repair"), *(tw.RNA("nested", depth=d, invalid="repair") for d in (2, 4))]


def scfg() -> list[Any]:
    """Candidates."""
    return [tw.Generative(structure, n_jobs=-1) for structure in grammars()]


def klrso() -> list[Any]:
    """Candidates."""
    return [
        tw.KLRSO(structure, spectrum(5, 9), reg=reg, min_count=1, n_jobs=-1)
        for structure in grammars()
        for reg in REGS
    ]


def rna(arguments: Sequence[str]) -> None:
    """Table 9 (and 7 and 8 with --families 2 and 3)."""
    args = options(
        arguments, families=(4, "families, 2 to 4"), most=(1000, "sequences of each"), folds=(5, "folds")
    )
    names = list(FAMILIES)[: args.families]
    samples = {name: tuple(rows[: args.most] for rows in family(args.data, name)) for name in names}
    found: dict[str, list[list[float]]] = {name: [[], [], [], []] for name in names}
    seconds = []
    cuts = {name: folds(len(X), args.folds) for name, (X, _) in samples.items()}
    for f in range(args.folds):
        train = {n: [part(rows, cuts[n][f][0]) for rows in samples[n]] for n in names}
        test = {n: [part(rows, cuts[n][f][1]) for rows in samples[n]] for n in names}
        X, y = ([row for n in names for row in train[n][side]] for side in (0, 1))
        joint_scfg = best(scfg(), X, y, f_measure)
        joint = best(klrso(), X, y, f_measure)
        started = time.perf_counter()
        joint.fit(X, y)
        joint.predict([row for n in names for row in test[n][0]])
        seconds.append(time.perf_counter() - started)
        for n in names:
            alone = [best(make(), *train[n], f_measure) for make in (scfg, klrso)]
            for column, model in zip(found[n], (alone[0], joint_scfg, alone[1], joint), strict=True):
                column.append(f_measure(test[n][1], model.predict(test[n][0])))
    sizes = np.array([len(samples[n][0]) for n in names], dtype=float)
    rows = [
        [FAMILIES[n], int(size), *map(shown, found[n]), " / ".join(map(str, PAPER[n]))]
        for n, size in zip(names, sizes, strict=True)
    ]
    means = np.array([[np.mean(column) for column in found[n]] for n in names])
    weighted = sizes @ means / sizes.sum()
    quoted = " / ".join(map(str, PAPER["weighted"])) if len(names) == 4 else ""
    rows.append(["weighted", int(sizes.sum()), *(f"{100 * v:.2f}" for v in weighted), quoted])
    header = ["family", "sequences", "SCFG", "SCFG joint", "KLRSO", "KLRSO joint", "paper (the same order)"]
    body = (
        f"F of base pairs in %, mean ± standard deviation over {args.folds} folds (samples i, i + "
        f"{args.folds}, ...); "
        "spectrum 5-9 with degree 3; grammar (G6, or nested with depth 2 or 4) and penalty chosen "
        "on a fifth of each "
        f"training part. Training and prediction of one joint KLRSO: {np.mean(seconds):.1f} s.\n\n"
        f"{markdown(header, rows)}"
    )
    write(f"klrso_rna{len(names)}", "KLRSO: RNA families, separate and joint (Tables 7-9)", body)
