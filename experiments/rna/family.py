"""Few sequences of one family: training from the model of the package against training from nothing.

Five families of Rfam that the model has not seen: it was trained on TrainSetA alone, and no member of
them is like a sequence of it. Of each, 5 and 50 sequences (at most half) are trained on and up to 100
others tested, without those that are equal to a training sequence; mean F1 of pairs over two random
splits, best structures. CRFs with their default penalty. "From the model" is ``trelliswork train fold
--from-pretrained``, which is ``CRF(RNA())``: training sequences that are held out tell how strongly
weights are pulled to those of the model ("pull": the factor by which the penalty is stronger than from
nothing), or that they are not (0). "Gain" is the mean F1 of sequences from the model less that from
nothing, with its standard error over the test sequences of both splits. Members of a seed alignment may be
much like each other: a few of them then tell everything.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import load, markdown, options, store, write
from experiments._samples import take
from experiments.rna.families import heads
from trelliswork.io import read_stockholm
from trelliswork.metrics import base_pair_scores

FAMILIES = ("RF02924", "RF02969", "RF01705", "RF01760", "RF00515")
SIZES = (5, 50)
SPLITS = 2
MAX_ITER = 40
MOST = 100  # test sequences
FREE, PULLED = "loops, from nothing", "loops, from the model"


def family(arguments: Sequence[str]) -> None:
    """F1 by family and number of training sequences."""
    args = options(arguments, jobs=(1, "threads"), rest=(1, "0 shows what there is, and runs nothing"))
    shipped = tw.pretrained("rna").set_params(n_jobs=args.jobs)
    g6, auto = tw.RNA("g6", invalid="repair"), tw.RNA(invalid="repair")
    settings = {"max_iter": MAX_ITER, "n_jobs": args.jobs}
    done: dict[str, list[Any]] = load("rna/family")
    for head in heads(args.data) if args.rest else ():
        if head.accession not in FAMILIES:
            continue
        accession, data = head.accession, read_stockholm(io.StringIO(head.record + "//\n"))
        assert data.y is not None
        n = len(data.X)
        for wanted in SIZES:
            size = min(wanted, n // 2)
            if f"{accession} {size}" in done:
                continue
            scores: dict[str, list[float]] = {}
            pulls: list[str] = []
            gains: list[float] = []
            for seed in range(SPLITS):
                order = np.random.default_rng(seed).permutation(n)
                train, known = order[:size], set(take(data.X, order[:size]))
                test = [i for i in order[size:] if data.X[i] not in known][:MOST]
                X, y = take(data.X, train), take(data.y, train)
                free, pulled = tw.CRF(shipped.structure, **settings), tw.CRF(auto, **settings)
                models = {
                    "G6, from nothing": tw.CRF(g6, **settings),
                    FREE: free,
                    PULLED: pulled,
                }
                found = {"model of the package": shipped.predict(take(data.X, test))}
                with warnings.catch_warnings():  # searches that are stopped early
                    warnings.simplefilter("ignore")
                    for key, model in models.items():
                        found[key] = model.fit(X, y).predict(take(data.X, test))
                kept = pulled.prior_coef_ is not None
                pulls.append(f"{pulled.l2_ / free.l2_:.0f}" if kept else "0")
                true, each = take(data.y, test), [found[key] for key in (PULLED, FREE)]
                alone = [[base_pair_scores([y], [z]).f1 for y, z in zip(true, some)] for some in each]
                gains += (100 * np.subtract(*alone)).tolist()
                for key, predicted in found.items():
                    f1 = 100 * base_pair_scores(take(data.y, test), predicted).f1
                    scores.setdefault(key, []).append(f1)
            means = [float(np.mean(f)) for f in scores.values()]
            error = float(np.std(gains)) / len(gains) ** 0.5
            gain = f"{np.mean(gains):+.1f} ± {error:.1f}"
            done[f"{accession} {size}"] = [f"{accession} {head.name}", size, *means, gain, ", ".join(pulls)]
            store("rna/family", done)
            print(done[f"{accession} {size}"], flush=True)
    kinds = ["model of the package", "G6, from nothing", FREE, PULLED]
    header = ["family", "sequences", *kinds, "gain", "pull"]
    text = (__doc__ or "").split("\n", 2)[2].strip()
    write(
        "rna/family",
        "RNA families with few known structures",
        f"{text}\n\n{markdown(header, sorted(done.values()))}",
    )
