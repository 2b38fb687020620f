"""Figure 7: how many constraints the Z-score needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import trelliswork as tw
from experiments._pictures import histogram
from experiments._report import markdown, options, write
from experiments.magic_moments.hmm import CHAIN, Hmm


def constraints(arguments: Sequence[str]) -> None:
    """Figure 7: constraints that the Z-score needs against mistakes of the perceptron."""
    args = options(arguments, runs=(100, "runs"), seed=(0, "seed"))
    kinds = ("Z-score constraints", "perceptron mistakes", "SVM constraints")
    needed: dict[str, list[int]] = {kind: [] for kind in kinds}
    infeasible = 0
    for r in range(args.runs):
        rng = np.random.default_rng([args.seed, r])
        hmm = Hmm.draw(2, 4, rng)
        X, _ = hmm.sequences(1, 100, rng)
        weights = rng.normal(size=tw.Chain.bind(CHAIN, X, [[0, 1] * 50]).n_features)
        y = tw.Fixed(CHAIN, weights).fit(X, [[0, 1] * 50]).predict(X)  # separable by construction
        if len({a for row in y for a in row}) < 2:
            continue
        try:
            z = tw.ZScore(CHAIN, constraints="hard", reference="uniform", reg=1e-6).fit(X, y)
        except tw.InputError:
            infeasible += 1
            continue
        hmp = tw.Perceptron(CHAIN, max_iter=1000, average=False).fit(X, y)
        needed["Z-score constraints"].append(z.n_constraints_)
        needed["perceptron mistakes"].append(sum(h["mistakes"] for h in hmp.history_))
        svm = tw.StructuredSVM(CHAIN, C=100.0, loss="hamming", solver="working-set", C_mode="absolute").fit(
            X, y
        )
        needed["SVM constraints"].append(svm.n_constraints_)
    rows = [[name, float(np.mean(v)), float(np.median(v)), int(np.max(v))] for name, v in needed.items() if v]
    picture = histogram(needed, "constraints or mistakes", "magic_moments/constraints")
    body = markdown(["", "mean", "median", "largest"], rows)
    runs = len(needed["Z-score constraints"])
    body += (
        f"\n\nOne separable pair of length 100, 2 labels, 4 symbols; {runs} of {args.runs} runs "
        f"({infeasible} others were infeasible, the rest had one label only). The paper: far fewer "
        f"constraints than the others need.\n\n![]({picture})"
    )
    write("magic_moments/constraints", "Magic Moments: constraints needed (Figure 7)", body)
