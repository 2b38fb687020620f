"""Pictures of ``trelliswork fold``: structures and dot plots, several on one page."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from trelliswork.cli._folding import Folded

__all__ = ["dot_plots", "drawings", "is_picture", "new_figure"]

_LONGEST_TITLE = 40


def is_picture(path: str) -> bool:
    """Whether pair probabilities are drawn into a file, not listed."""
    return Path(path).suffix.lower() in (".svg", ".png", ".pdf")


def new_figure(n: int, longest: int = 0) -> Any:
    """A figure with room for so many pictures, and its axes; bases of long sequences are readable, too."""
    from trelliswork.plots._canvas import figure

    columns = math.ceil(math.sqrt(n))
    side = max(5.0, min(longest / 25, 30.0 / columns))  # inches
    made = figure((side * columns, side * math.ceil(n / columns)))
    return made, made.subplots(math.ceil(n / columns), columns, squeeze=False).ravel()


def drawings(path: str, kind: str, kept: list[tuple[Folded, Any]]) -> None:
    """Drawings of the first structure of every sequence, coloured by probability."""
    from trelliswork.plots.rna import structure

    figure, axes = new_figure(len(kept), max((len(folded.sequence) for folded, _ in kept), default=0))
    for ax in axes[len(kept) :]:
        ax.set_axis_off()
    for ax, (folded, pairs) in zip(axes, kept):
        chances = None if pairs is None else {(i, j): p for i, j, p in pairs}
        title = _title(folded.name)
        structure(folded.sequence, folded.structures[0], probabilities=chances, title=title, ax=ax)
    _save(figure, path, kind)


def dot_plots(path: str, kept: list[tuple[Folded, Any]]) -> None:
    """Dot plots of the pair probabilities of every sequence."""
    from trelliswork.plots.rna import dotplot

    figure, axes = new_figure(len(kept))
    for ax in axes[len(kept) :]:
        ax.set_axis_off()
    for ax, (folded, pairs) in zip(axes, kept):
        dotplot(folded.sequence, pairs, folded.structures[0], title=_title(folded.name), ax=ax)
    _save(figure, path, Path(path).suffix.lower()[1:])


def _title(name: str) -> str:
    """The name, or the beginning of one that would run into the next picture."""
    return name if len(name) <= _LONGEST_TITLE else name[: _LONGEST_TITLE - 3] + "..."


def _save(figure: Any, path: str, kind: str) -> None:
    """Write a picture as a whole: an old file stays until the new one is complete."""
    from io import BytesIO

    from trelliswork._text import write_bytes

    picture = BytesIO()
    figure.savefig(picture, format=kind)
    write_bytes(path, picture.getvalue())
