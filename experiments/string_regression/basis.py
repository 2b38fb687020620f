"""Figure 1.7: error against the number of basis functions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import trelliswork as tw
from experiments._pictures import save
from experiments._report import markdown, options, write
from experiments.string_regression.words import COSINE, accuracy, read_words, split


def basis(arguments: Sequence[str]) -> None:
    """Figure 1.7: error against the number of basis functions, fold 1."""
    args = options(arguments, fold=(1, "training fold"), sizes=("25,50,100,200,400,800,1600", "basis sizes"))
    data = split(read_words(args.data), args.fold)
    X, truth = data.test
    sizes = [int(s) for s in args.sizes.split(",")]
    curves: dict[str, list[float]] = {}
    rows = []
    for size in sizes:
        row: list[Any] = [size]
        for method in ("random", "cholesky", "greedy"):
            model = tw.KernelRegression(
                COSINE, tw.Positions(), ridge=0.1, basis=size, basis_method=method, random_state=0
            )
            started = time.perf_counter()
            model.fit(*data.train)
            seconds = time.perf_counter() - started
            error = 100.0 - accuracy(truth, model.predict(X))
            curves.setdefault(method, []).append(error)
            row += [error, f"{seconds:.1f} s"]
        rows.append(row)
        print(row, flush=True)
    whole = tw.KernelRegression(COSINE, tw.Positions(), ridge=0.1).fit(*data.train)
    error = 100.0 - accuracy(truth, whole.predict(X))
    body = markdown(["basis functions", "random", "fit", "incomplete Cholesky", "fit", "greedy", "fit"], rows)
    near = {}
    for method in ("random", "greedy"):
        model = tw.KernelRegression(
            COSINE, tw.Positions(), ridge=0.1, basis=50, basis_method=method, random_state=0
        ).fit(*data.train)
        near[method] = float(COSINE(model.X_fit_, whole.X_fit_).mean())
    behind = [size for size, row in zip(sizes, rows, strict=True) if row[5] > min(row[1], row[3])]
    body += (
        "\n\nThe paper (a figure): greedy is best at every size. Here it is "
        + (f"not with {', '.join(map(str, behind))} functions. " if behind else "too. ")
        + "Greedy takes the letter with the largest residual. The mean similarity of the first 50 letters to "
        f"all others is {near['greedy']:.4f} for greedy, {near['random']:.4f} for random ones: "
    )
    if near["greedy"] < near["random"]:
        body += (
            "the first letters it takes are unlike the others, so each may lower the error of few of them, "
            "which would explain why it pays only where the common shapes are covered."
        )
    else:
        body += "its first letters are not unlike the others, and this does not explain where it is behind."
    body += f"\n\nAll {len(whole.dual_coef_)} training letters: error {error:.2f} %."
    _picture(curves, sizes, error, len(whole.dual_coef_))
    write("string_regression/basis", "Figure 1.7: letters wrong (%) against basis functions", body)


def _picture(curves: dict[str, list[float]], sizes: list[int], error: float, n: int) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for name, values in curves.items():
        axes.semilogx(sizes, values, "o-", label=name)
    axes.plot([n], [error], "ks", label="all letters")
    axes.set(xlabel="basis functions", ylabel="letters wrong, %")
    axes.legend()
    figure.tight_layout()
    save(figure, "string_regression/basis", dpi=100)
