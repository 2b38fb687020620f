"""Number of constraints of the working-set algorithm (section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import trelliswork as tw
from experiments._report import markdown, options, write
from experiments.svm_isos.ner import CHAIN, read
from trelliswork.features import TokenWindow


def bound(rescale: str, slack: str, C: float, n: int, D: float, R: float, eps: float) -> float:
    """Largest number of constraints (theorem of section 4; the L1 bounds from the same step sizes)."""
    if slack == "l2":
        return (C * (D**2 if rescale == "slack" else D) * R**2 + n * D) / eps**2
    return max(2 * n * D / eps, 8 * C * (D**3 if rescale == "slack" else D) * R**2 / eps**2)


def _growth(rows: list[list[Any]]) -> str:
    """Slope of log constraints against log n, for every kind of slack and rescaling."""
    shown = []
    for form in dict.fromkeys((row[1], row[2]) for row in rows):
        points = np.log([(row[0], row[3]) for row in rows if (row[1], row[2]) == form])
        if len(points) > 1:
            shown.append(f"{form[0]} {form[1]} {np.polyfit(*points.T, 1)[0]:.2f}")
    return ", ".join(shown)


def constraints(arguments: Sequence[str]) -> None:
    """Constraints that the working-set algorithm adds, against n and against the bound."""
    args = options(
        arguments,
        C=(1.0, "C"),
        eps=(0.01, "relative gap, and precision of the bound"),
        largest=(1600, "most sentences"),
    )
    data = read(args.data)
    rows: list[list[Any]] = []
    for n in (n for n in (12, 25, 50, 100, 200, 400, 800, 1600) if n <= args.largest):
        X, y = TokenWindow.tutorial(false_flags=False).transform(data.X[:n]), data.y[:n]
        for slack in ("l2", "l1"):
            for rescale in ("slack", "margin"):
                model = tw.StructuredSVM(
                    CHAIN,
                    args.C,
                    slack=slack,
                    rescale=rescale,
                    solver="working-set",
                    tol=args.eps,
                    n_jobs=1,
                    C_mode="absolute",
                )
                model.fit(X, y)
                batch = model.space_.pack(X, y)
                samples = np.array([i for i, _, _ in model.support_])
                outputs = model.space_.pack(X[samples], [output for _, output, _ in model.support_])
                difference = batch.subset(samples).gold() - outputs.gold()
                R = float(np.sqrt(difference.multiply(difference).sum(axis=1).max()))
                D = float(max(map(len, y)))
                limit = bound(rescale, slack, args.C, n, D, R, args.eps)
                added = model.n_constraints_
                rows.append(
                    [n, slack, rescale, added, added / n, len(model.support_), model.n_iter_, f"{limit:.2g}"]
                )
                print(rows[-1], flush=True)
    header = ["sentences", "slack", "rescaling", "constraints", "per sentence", "in use", "rounds", "bound"]
    body = markdown(header, rows)
    body += (
        f"\n\nThe first sentences of esp.train, tutorial features, linear, Hamming loss, C = {args.C:g}, "
        f"working-set algorithm to a relative gap of {args.eps:g}. The bound takes eps = {args.eps:g}, D = "
        "length of the longest sentence and, for R, the longest feature difference in the support set (R "
        "itself is larger, and so is the bound). Exponents of growth with n, from least squares on the "
        f"logarithms: {_growth(rows)}. The paper: far fewer constraints than the bound, and sublinear growth."
    )
    write("svm_isos/constraints", "Structural SVM: number of constraints (section 4)", body)
