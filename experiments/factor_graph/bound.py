"""The margin bound against the risk on test data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import trelliswork as tw
from experiments._pictures import curves
from experiments._report import markdown, options, write
from experiments._samples import take
from experiments.factor_graph.treebanks import TEMPLATE, read
from trelliswork import bounds
from trelliswork.features import TokenWindow


class Point(NamedTuple):
    """What was measured with some training sentences."""

    sentences: int
    risk: float
    empirical: float
    plain: float
    voted: float

    @property
    def least(self) -> float:
        """The better of the two bounds."""
        return min(self.plain, self.voted)


LINES = {  # from the highest to the lowest
    "voted bound": "voted",
    "margin bound": "plain",
    "empirical margin loss": "empirical",
    "test risk": "risk",
}


def bound(arguments: Sequence[str]) -> None:
    """The margin bound against the risk on test data, as the training part grows."""
    args = options(
        arguments,
        treebank=("english", "which"),
        sizes=("50,200,800,3200,12544", "training sentences"),
        rho=(2.0, "margin"),
        beta=(
            0.003,
            "penalty per sample, the same for all sizes, so that the norm of the weights levels off",
        ),
        longest=(25, "leave out longer sentences: the complexity grows with their square"),
        max_iter=(60, "iterations"),
    )
    window = TokenWindow.from_template(TEMPLATE)
    X, y = _short(*read(args.data, args.treebank, ("train",)), args.longest)
    X_test, y_test = _short(*read(args.data, args.treebank, ("test",)), args.longest)
    prepared = window.transform(X_test)
    rows, points = [], []
    for n in map(int, args.sizes.split(",")):
        n = min(n, len(X))
        data = window.transform(X[:n])
        chain = tw.Chain(emissions="observed")
        model = tw.VotedCRF(
            chain, 0.0, args.beta, max_iter=args.max_iter, n_jobs=2, penalty_mode="absolute"
        ).fit(data, y[:n])
        risk = wrong_labels(y_test, model.predict(prepared))
        plain = bounds.margin(model, data, y[:n], rho=args.rho)
        voted = bounds.margin(model, data, y[:n], rho=args.rho, families="order")
        rows.append(
            [
                n,
                f"{np.abs(model.coef_).sum():.0f}",
                f"{risk:.3f}",
                f"{plain.empirical:.3f}",
                f"{plain.complexity:.3g}",
                f"{plain.confidence:.3f}",
                f"{plain.value:.3g}",
                f"{voted.value:.3g}",
                "yes" if voted.vacuous else "no",
            ]
        )
        points.append(Point(n, risk, plain.empirical, plain.value, voted.value))
        print(rows[-1], flush=True)
        if n == len(X):
            break
    header = ["sentences", "L1 norm", "test risk", "empirical margin loss", "complexity", "confidence"]
    body = markdown([*header, "bound", "voted bound", "vacuous"], rows)
    above = all(point.risk <= point.least for point in points)
    useful = [point.sentences for point in points if point.least < 1]
    where = f"from {min(useful):,} sentences on" if useful else "at none of these sizes"
    lines = {
        name: [(float(point.sentences), getattr(point, field)) for point in points]
        for name, field in LINES.items()
    }
    axes = "training sentences", "share of wrong labels"
    picture = curves({"": lines}, *axes, "factor_graph/bound", log=True, vacuous=1.0)
    body += (
        f"\n\nRisk: share of wrong labels of a sentence ({args.treebank}, up to {args.longest} words). "
        f"rho = {args.rho:g}, beta = {args.beta:g}, confidence 95 %, L1 complexity at the norm of the learnt "
        f"weights. The bounds are {'above' if above else 'NOT always above'} the risk; they are below 1, and "
        f"so say something, {where}.\n\n![bounds and risk]({picture})"
    )
    write("factor_graph/bound", "Margin bound against test risk", body)


def _short(X: list[Any], y: list[Any], longest: int) -> tuple[list[Any], list[Any]]:
    """Sentences that are not longer."""
    index = [i for i, labels in enumerate(y) if len(labels) <= longest]
    return take(X, index), take(y, index)


def wrong_labels(truth: Any, predicted: Any) -> float:
    """Share of wrong labels of a sentence, mean over sentences."""
    pairs = zip(predicted, truth, strict=True)
    return float(np.mean([np.mean([a != b for a, b in zip(p, t, strict=True)]) for p, t in pairs]))
