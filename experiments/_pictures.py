"""Figures of the experiments, beside their tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments._report import result_path


def curves(
    groups: dict[Any, dict[str, list[tuple[float, float]]]],
    x: str,
    y: str,
    name: str,
    log: bool = False,
    vacuous: float | None = None,
) -> str:
    """Lines by group and label, one picture each; returns the name of the file.

    ``vacuous``: bounds above this level say nothing. They span decades, so their axis is logarithmic too.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5 * len(groups), 3.4), layout="constrained")
    for axes, (title, lines) in zip(np.ravel(figure.subplots(1, len(groups))), groups.items(), strict=True):
        for label, points in lines.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=label)
        axes.set(xlabel=x, ylabel=y, title=str(title) if len(groups) > 1 else "")
        if log:
            axes.set_xscale("log")
        if vacuous is not None:
            axes.axhline(vacuous, color="grey", lw=0.8, ls="--")
            axes.set(yscale="log", ylim=(0.01, None))  # a margin loss of zero has no place on this scale
        axes.legend(fontsize="small")
    return save(figure, name)


def histogram(values: dict[str, list[int]], x: str, name: str) -> str:
    """Counts of several kinds over logarithmic bins; returns the name of the file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    top = max(max(v, default=1) for v in values.values())
    bins = np.unique(np.round(np.geomspace(1, top + 1, 20)))
    for label, counts in values.items():
        axes.hist(np.maximum(counts, 1), bins=bins, alpha=0.6, label=label)
    axes.set(xlabel=x, ylabel="runs", xscale="log")
    axes.legend(fontsize="small")
    return save(figure, name)


def save(figure: Any, name: str, dpi: int = 120) -> str:
    """Keep a figure beside the table of its paper; returns the name of the file."""
    path = result_path(name, ".png")
    figure.savefig(path, dpi=dpi)
    return path.name
