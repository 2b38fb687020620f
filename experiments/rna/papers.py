"""The families of two papers with the nearest-neighbour model beside G6.

Table 7 of the magic moments (each family alone, sequences that G6 can hold) and Tables 7 to 9 of KLRSO (each
family alone, and all four together), in the folds of ``experiments/magic_moments/families.py`` and
``experiments/klrso/rna.py``; of the five folds the first ``--folds`` are run. CRFs with the default penalty,
nothing chosen; F1 of pairs of best structures in percent, mean over the folds. The other learners of these
tables are in the results of those experiments.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import load, markdown, options, store, write
from experiments._samples import folds, take
from experiments.klrso import rna as klrso
from experiments.magic_moments.families import FAMILIES, OUTER
from trelliswork.io import read_stockholm
from trelliswork.metrics import base_pair_scores

STRUCTURES = {
    "G6": tw.RNA("g6", invalid="repair"),
    "nearest-neighbour": tw.RNA("nearest-neighbour", invalid="repair"),
}
MAX_ITER = 40


def f1(structure: Any, train: klrso.Samples, tests: list[klrso.Samples], jobs: int) -> list[float]:
    """F1 of every test part, in percent."""
    model = tw.CRF(structure, max_iter=MAX_ITER, n_jobs=jobs).fit(*train)
    return [100 * base_pair_scores(y, model.predict(X)).f1 for X, y in tests]


def seeds(folder: str, family: str) -> klrso.Samples:
    """Members of a family that G6 can hold."""
    data = read_stockholm(os.path.join(folder, "rna-rfam-named", f"{family}.sto"))
    assert data.y is not None
    kept = np.flatnonzero(tw.RNA("g6").representable(data.X, data.y))
    return take(data.X, kept), take(data.y, kept)


def papers(arguments: Sequence[str]) -> None:
    """F1 by family and grammar."""
    args = options(arguments, folds=(2, "folds of five that are run"), jobs=(1, "threads"))
    done: dict[str, list[Any]] = load("rna/papers")

    def run(name: str, parts: list[klrso.Samples], names: list[str]) -> None:
        if name in done:
            return
        cuts = [folds(len(X), OUTER)[: args.folds] for X, _ in parts]
        scores: dict[str, list[list[float]]] = {grammar: [] for grammar in STRUCTURES}
        for k in range(args.folds):
            sides = [
                [(take(X, cut[k][s]), take(y, cut[k][s])) for (X, y), cut in zip(parts, cuts, strict=True)]
                for s in (0, 1)
            ]
            for grammar, structure in STRUCTURES.items():
                scores[grammar].append(f1(structure, klrso.joined(sides[0]), sides[1], args.jobs))
        means = [np.mean(some, axis=0) for some in scores.values()]
        for i, label in enumerate(names):
            done[f"{name} {label}"] = [label, len(parts[i][0]), *(float(mean[i]) for mean in means)]
        done[name] = []
        store("rna/papers", done)
        print(name, names, means, flush=True)

    for family in FAMILIES:
        run(f"moments {family}", [seeds(args.data, family)], [f"magic moments, {family}"])
    parts = [klrso.family(args.data, family) for family in klrso.FAMILIES]
    for part, family in zip(parts, klrso.FAMILIES, strict=True):
        run(f"KLRSO {family}", [part], [f"KLRSO, {family}, alone"])
    run("KLRSO", parts, [f"KLRSO, {family}, four together" for family in klrso.FAMILIES])
    header = ["table and family", "sequences", *(f"CRF, {grammar}" for grammar in STRUCTURES)]
    text = (__doc__ or "").split("\n", 2)[2].strip()
    rows = [row for row in done.values() if row]
    write("rna/papers", "RNA families of two papers", f"{text}\n\n{markdown(header, rows)}")
