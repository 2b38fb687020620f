"""Published energies as a prior: training with few structures, pulled to them or to nothing.

The energies are those of an installed ViennaRNA (``tw.structures.energy_weights``), mapped to the features of
the nearest-neighbour model. Trained on random sequences of TORNADO's TrainSetA of up to 120 bases without the
mixed families that RNA STRAND took from Rfam and PDB; tested on every third sequence of those families of up
to 160 bases. CRFs with their default penalty, which beside energies is a multiple of that without them,
chosen by training sequences that are held out ("pull"); SVMs with default arguments and base-pair loss. F1
of all pairs, in percent, and the mean logarithm of the probability of the structure, per base. The model of
the package is not made from energies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import markdown, options, write
from experiments.rna.families import Samples, tornado
from experiments.rna.unseen import MIXED
from trelliswork.metrics import base_pair_scores
from trelliswork.structures import energy_weights

SIZES = (20, 100)
MAX_ITER = 40


def row(name: str, model: Any, samples: Samples) -> list[Any]:
    """F1 of best structures and of expected accuracy, and the likelihood."""
    best, accurate = model.predict(samples.X), model.predict_mea(samples.X)
    likelihood = float(model.log_prob(samples.X, samples.y).sum()) / sum(map(len, samples.X))
    scores = [100 * base_pair_scores(samples.y, found).f1 for found in (best, accurate)]
    return [name, *scores, f"{likelihood:.4f}"]


def vienna(samples: Samples) -> list[list[Any]]:
    """The same of ViennaRNA itself."""
    import RNA as library

    best, accurate = [], []
    for x in samples.X:
        folded = library.fold_compound(x)
        structure, energy = folded.mfe()
        folded.exp_params_rescale(energy)
        folded.pf()
        best.append(structure)
        accurate.append(folded.MEA()[0])
    scores = [100 * base_pair_scores(samples.y, found).f1 for found in (best, accurate)]
    return [["ViennaRNA", *scores, ""]]


def energies(arguments: Sequence[str]) -> None:
    """Quality with energies alone, and by the number of sequences with and without them."""
    args = options(arguments, jobs=(1, "threads"))
    structure = tw.RNA("nearest-neighbour", invalid="repair")
    prior = energy_weights(structure)
    samples, _ = tornado(args.data)
    mixed = [i for i, family in enumerate(samples.family) if family in MIXED]
    test = samples.of([i for i in mixed[::3] if len(samples.X[i]) <= 160])
    rest = [i for i in range(len(samples.X)) if i not in set(mixed) and len(samples.X[i]) <= 120]
    order = np.random.default_rng(0).permutation(rest).tolist()
    names = structure.bind().feature_names
    rows = vienna(test)
    rows.append(row("energies alone", tw.Fixed(structure, dict(zip(names, prior, strict=True))), test))
    settings = {"max_iter": MAX_ITER, "n_jobs": args.jobs}
    for size in SIZES:
        some = samples.of(order[:size])
        free = tw.CRF(structure, **settings).fit(some.X, some.y)
        rows.append(row(f"{size} sequences, from nothing", free, test))
        model = tw.CRF(structure, prior=prior, **settings).fit(some.X, some.y)
        pull = 0.0 if model.prior_coef_ is None else model.l2_ / free.l2_
        rows.append(row(f"{size} sequences, pulled to energies ({pull:.0f})", model, test))
        svm = tw.StructuredSVM(structure, loss="base-pairs", prior=prior, n_jobs=args.jobs)
        rows.append(row(f"{size} sequences, SVM pulled to energies", svm.fit(some.X, some.y), test))
        print(rows[-3:], flush=True)
    header = ["", "F1, best structure", "F1, expected accuracy", "log-probability per base"]
    text = (__doc__ or "").split("\n", 2)[2].strip()
    body = f"{text}\n\n{len(test.X)} test sequences.\n\n{markdown(header, rows)}"
    write("rna/energies", "Published energies as a prior", body)
