"""The families of two papers with the nearest-neighbour model beside G6.

Table 7 of the magic moments (each family alone, sequences that G6 can hold) and Tables 7 to 9 of KLRSO
(each family alone and, unless ``--joint 0``, all four together), in the folds of
``experiments/magic_moments/families.py`` and ``experiments/klrso/rna.py``. Finished parts are kept, and a run
goes on where the last one ended; with ``--rest 0`` it only shows what there is (empty cells were not run). Of
the five folds the first ``--folds`` are run. Best structures of CRFs
with the default penalty, nothing chosen: G6, the nearest-neighbour model from nothing, and the same from
the weights of the package (``RNA()``). TrainSetA, which these were trained on, has members of most of
these families: "like" counts sequences that share half of their 10-mers with one of it. The other
learners of these tables, with settings chosen on inner folds, are in the results of those experiments;
the papers' figures are beside.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import load, markdown, options, store, write
from experiments._samples import folds, take
from experiments.klrso import rna as klrso
from experiments.magic_moments.families import FAMILIES, OUTER, PAPER
from experiments.rna.families import Words, tornado
from trelliswork.io import read_stockholm
from trelliswork.metrics import base_pair_scores

STRUCTURES = {
    "G6": tw.RNA("g6", invalid="repair"),
    "nearest-neighbour": tw.RNA("nearest-neighbour", invalid="repair"),
    "nearest-neighbour, from the package": tw.RNA(invalid="repair"),
}
MAX_ITER = 40

Figures = tuple[float, float, float]  # sensitivity, PPV and F1, in percent


def figures(structure: Any, train: klrso.Samples, tests: list[klrso.Samples], jobs: int) -> list[Figures]:
    """Figures of every test part."""
    with warnings.catch_warnings():  # searches that are stopped early
        warnings.simplefilter("ignore")
        model = tw.CRF(structure, max_iter=MAX_ITER, n_jobs=jobs).fit(*train)
    scores = [base_pair_scores(y, model.predict(X)) for X, y in tests]
    return [(100 * s.sensitivity, 100 * s.ppv, 100 * s.f1) for s in scores]


def seeds(folder: str, family: str) -> klrso.Samples:
    """Members of a family that G6 can hold."""
    data = read_stockholm(os.path.join(folder, "rna-rfam-named", f"{family}.sto"))
    assert data.y is not None
    kept = np.flatnonzero(tw.RNA("g6").representable(data.X, data.y))
    return take(data.X, kept), take(data.y, kept)


def measured(parts: list[klrso.Samples], grammar: str, n_folds: int, jobs: int) -> list[list[float]]:
    """Mean figures of every part over the folds, trained on all parts together."""
    cuts = [folds(len(X), OUTER)[:n_folds] for X, _ in parts]
    out = []
    for k in range(n_folds):
        train, test = (
            [(take(X, cut[k][side]), take(y, cut[k][side])) for (X, y), cut in zip(parts, cuts, strict=True)]
            for side in (0, 1)
        )
        out.append(figures(STRUCTURES[grammar], klrso.joined(train), test, jobs))
    return np.mean(out, axis=0).tolist()


def _f1(found: list[list[float]] | None, part: int) -> float | str:
    """F1 of a part, where it was run."""
    return "" if found is None else found[part][2]


def papers(arguments: Sequence[str]) -> None:
    """Figures by family and grammar."""
    args = options(arguments, folds=(5, "folds of five that are run"), jobs=(1, "threads"),
                   joint=(1, "0 leaves training on four families together out"),
                   rest=(1, "0 shows what there is, and runs nothing"))  # fmt: skip
    done: dict[str, Any] = load("rna/papers")
    near = Words(tornado(args.data)[0].X)

    def like(X: list[str]) -> int:
        return sum(near.share(x) >= 0.5 for x in X)

    def run(name: str, parts: list[klrso.Samples]) -> list[list[list[float]] | None]:
        for grammar in STRUCTURES:
            key = f"{name}; {grammar}; {args.folds}"
            if key not in done and args.rest:
                done[key] = measured(parts, grammar, args.folds, args.jobs)
                store("rna/papers", done)
                print(key, done[key], flush=True)
        return [done.get(f"{name}; {grammar}; {args.folds}") for grammar in STRUCTURES]

    moments = []
    for family in FAMILIES:
        X, y = seeds(args.data, family)
        found = run(f"moments {family}", [(X, y)])
        cells = ["" if part is None else f"{part[0][0]:.2f} / {part[0][1]:.2f}" for part in found]
        moments.append(
            [family, len(X), like(X), *cells, *(f"{a:.2f} / {b:.2f}" for a, b in PAPER[family][:3])]
        )
    names = list(klrso.FAMILIES)
    parts = [klrso.family(args.data, family) for family in names]
    strings = []
    for family, part in zip(names, parts, strict=True):
        found = run(f"KLRSO {family}", [part])
        printed = klrso.PAPER_ALONE[family]
        strings.append(
            [family, "alone", len(part[0]), like(part[0]), *(_f1(some, 0) for some in found), *printed]
        )
    found = run("KLRSO four together", parts) if args.joint else []
    for i, family in enumerate(names if args.joint else []):
        X = parts[i][0]
        row = [family, "four together", len(X), like(X), *(_f1(some, i) for some in found)]
        strings.append([*row, *klrso.PAPER_JOINT[4][i]])
    grammars = [f"CRF, {grammar}" for grammar in STRUCTURES]
    header = [
        "family",
        "sequences",
        "like",
        *grammars,
        "paper: Z-score, constraints",
        "generative",
        "perceptron",
    ]
    text = (__doc__ or "").split("\n", 2)[2].strip()
    body = f"{text}\n\nMagic moments, Table 7: sensitivity / PPV.\n\n{markdown(header, moments)}\n\n"
    header = ["family", "trained", "sequences", "like", *grammars, "paper: SCFG", "KLRSO"]
    body += f"KLRSO, Tables 7 to 9: F1 of pairs.\n\n{markdown(header, strings)}"
    write("rna/papers", "RNA families of two papers", body)
