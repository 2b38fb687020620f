"""Pictures of ``trelliswork fold``: structures and dot plots, several on one page."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from trelliswork.cli._folding import Folded

__all__ = ["dot_plots", "drawings", "is_picture", "new_figure"]


def is_picture(path: str) -> bool:
    """Whether pair probabilities are drawn into a file, not listed."""
    return Path(path).suffix.lower() in (".svg", ".png", ".pdf")


def new_figure(n: int) -> Any:
    """A figure with room for so many pictures, and its axes."""
    from trelliswork.plots._canvas import figure

    columns = math.ceil(math.sqrt(n))
    made = figure((5.0 * columns, 5.0 * math.ceil(n / columns)))
    return made, made.subplots(math.ceil(n / columns), columns, squeeze=False).ravel()


def drawings(path: str, kind: str, kept: list[tuple[Folded, Any]]) -> None:
    """Drawings of the first structure of every sequence, coloured by probability."""
    from trelliswork.plots.rna import structure

    figure, axes = new_figure(len(kept))
    for ax in axes[len(kept) :]:
        ax.set_axis_off()
    for ax, (folded, pairs) in zip(axes, kept):
        chances = None if pairs is None else {(i, j): p for i, j, p in pairs}
        structure(folded.sequence, folded.structures[0], probabilities=chances, title=folded.name, ax=ax)
    _save(figure, path, kind)


def dot_plots(path: str, kept: list[tuple[Folded, Any]]) -> None:
    """Dot plots of the pair probabilities of every sequence."""
    from trelliswork.plots.rna import dotplot

    figure, axes = new_figure(len(kept))
    for ax in axes[len(kept) :]:
        ax.set_axis_off()
    for ax, (folded, pairs) in zip(axes, kept):
        dotplot(folded.sequence, pairs, folded.structures[0], title=folded.name, ax=ax)
    _save(figure, path, Path(path).suffix.lower()[1:])


def _save(figure: Any, path: str, kind: str) -> None:
    """Write a picture as a whole: an old file stays until the new one is complete."""
    from io import BytesIO

    from trelliswork._text import write_bytes

    picture = BytesIO()
    figure.savefig(picture, format=kind)
    write_bytes(path, picture.getvalue())
