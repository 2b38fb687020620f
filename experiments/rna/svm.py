"""Why a structured SVM may predict no pairs: the surrogate or the features?

Margin rescaling asks that the true structure beats every other by as many points as pairs differ. For
weights that make every pair cost one point, the empty structure is the best there is, and the hinge is
twice the number of true pairs ("empty" below). Weights with a smaller hinge have to make up for what wrong
pairs gain from the loss, in every sequence. Short sequences have such weights, better ones with features
of loops and a larger C. On longer ones searches end beside the empty structure with both grammars, while a
CRF of the same features folds them: it is the surrogate, not the features. Searches stop at a relative gap
of 5 % or at ``max_iter``, so that the hinge they reach may be above that of the empty structure. Nothing is
pulled to known weights here (``prior=None``); ``StructuredSVM(RNA())`` is by default, and does fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import markdown, options, write
from experiments._samples import take
from experiments.rna.train import training_sets
from trelliswork.metrics import base_pair_scores
from trelliswork.structures import base_pairs

RANGES = ((25, 90), (120, 300))


def svm(arguments: Sequence[str]) -> None:
    """Hinge and F1 of both grammars for several C, on short and on longer sequences."""
    args = options(arguments, samples=(100, "training sequences; as many are tested"))
    X, y, *_ = training_sets(args.data, alignments=False)[0]
    rows: list[list[Any]] = []
    for low, high in RANGES:
        fitting = [i for i, x in enumerate(X) if low <= len(x) <= high and len(base_pairs(y[i])) > 3]
        index = np.random.default_rng(0).permutation(fitting)
        train, test = index[: args.samples], index[args.samples : 2 * args.samples]
        for grammar in ("g6", "nearest-neighbour"):
            structure = tw.RNA(grammar, invalid="repair")
            batch = structure.bind().pack(take(X, train), take(y, train))
            empty = 2.0 * np.mean([len(pairs) for pairs in batch.items(batch.gold_codes)])
            settings = {"loss": "base-pairs", "tol": 0.05, "C_mode": "absolute", "prior": None}
            models = {f"SVM, C={C:g}": tw.StructuredSVM(structure, C=C, **settings)
                      for C in (1.0, 10.0, 100.0)} | {"CRF": tw.CRF(structure, l2=0.1)}  # fmt: skip
            for name, model in models.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(take(X, train), take(y, train))
                hinge = ""
                if name != "CRF":
                    hinge = round((model.primal_ - 0.5 * float(model.coef_ @ model.coef_)) / model.C, 2)
                found = model.predict(take(X, test))
                f1 = 100 * base_pair_scores(take(y, test), found).f1
                predicted = sum(len(base_pairs(text)) for text in found)
                rows.append([f"{low} to {high}", grammar, name, empty, hinge, predicted, f1])
                print(rows[-1], flush=True)
    header = ["bases", "grammar", "learner", "hinge, empty", "hinge, reached", "pairs predicted", "F1"]
    text = (__doc__ or "").split("\n", 2)[2].strip()
    write("rna/svm", "Structured SVMs on RNA", f"{text}\n\n{markdown(header, rows)}")
