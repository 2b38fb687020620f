"""Alignments: rows shaded by how sure their columns are, posterior probabilities, substitution matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork._front_door import readable
from trelliswork.plots._canvas import COLORS, DIVERGING, axes_for, heat_map, learner_of, matplotlib, palette
from trelliswork.structures.alignment.path import AlignPath

__all__ = ["alignment", "matrix", "posterior"]

_MOST_LABELS = 80  # residues whose letters are written at the axes


@readable
def posterior(model: Any, x: tuple[Any, Any], y: Any = None, *, ax: Any = None) -> Any:
    """Draw the posterior probability of every pair of residues, and an alignment as a line.

    Parameters
    ----------
    model : fitted learner
        With an :class:`~trelliswork.Alignment`.
    x : pair of sequences
        The input.
    y : alignment or None, default=None
        Pair of gapped sequences or :class:`~trelliswork.AlignPath`; None draws the best alignment.
    ax : matplotlib Axes or None, default=None
        Where to draw; by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        Rows are the first sequence, columns the second; the alignment is the orange line.

    Examples
    --------
    >>> from trelliswork import Alignment, Fixed
    >>> from trelliswork.plots import posterior
    >>> weights = {("match",): 2.0, ("mismatch",): -1.0, ("open",): -2.0, ("extend",): -0.5}
    >>> axes = posterior(Fixed(Alignment("affine"), weights), ("GATTACA", "GATACA"))
    >>> axes.get_title()
    '2M1D4M'
    """
    [table] = model.predict_marginals([x])
    path = _path(model, x, y)
    axes = axes_for(ax, (5.0, 4.6))
    image = axes.imshow(table["match"], cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
    axes.figure.colorbar(image, ax=axes, shrink=0.8, label="probability of the pair")
    (i, j), rows, columns = path.start, [path.start[0] - 0.5], [path.start[1] - 0.5]
    for move in path.moves():
        i, j = i + (move != "I"), j + (move != "D")
        rows.append(i - 0.5)
        columns.append(j - 0.5)
    axes.plot(columns, rows, color=COLORS[1], linewidth=1.4)
    axes.set(xlim=(-0.5, len(x[1]) - 0.5), ylim=(len(x[0]) - 0.5, -0.5), title=path.to_cigar())
    for sequence, ticks in ((x[0], axes.set_yticks), (x[1], axes.set_xticks)):
        if len(sequence) <= _MOST_LABELS:
            ticks(range(len(sequence)), [str(s)[:1] for s in sequence], fontsize=8)
    return axes


@readable
def alignment(
    model: Any,
    x: tuple[Any, Any],
    y: Any = None,
    *,
    width: int = 50,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw an alignment in rows, each column shaded by the probability that it is right.

    Parameters
    ----------
    model : fitted learner
        With an :class:`~trelliswork.Alignment`.
    x : pair of sequences
        The input.
    y : alignment or None, default=None
        Pair of gapped sequences or :class:`~trelliswork.AlignPath`; None draws the best alignment.
    width : int, default=50
        Columns on a line; a larger value makes fewer, longer lines with smaller letters.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        A column with a gap is shaded by the probability that its residue has no partner.

    Examples
    --------
    >>> from trelliswork import Alignment, Fixed
    >>> from trelliswork.plots import alignment
    >>> weights = {("match",): 2.0, ("mismatch",): -1.0, ("open",): -2.0, ("extend",): -0.5}
    >>> axes = alignment(Fixed(Alignment("affine"), weights), ("GATTACA", "GATACA"))
    >>> "".join(text.get_text() for text in axes.texts)
    'GGAAT-TTAACCAA'
    """
    [table] = model.predict_marginals([x])
    match, path = np.asarray(table["match"]), _path(model, x, y)
    (i, j), cells = path.start, []
    for move in path.moves():
        if move == "M":
            cells.append((str(x[0][i])[:1], str(x[1][j])[:1], float(match[i, j])))
        elif move == "D":
            cells.append((str(x[0][i])[:1], "-", 1.0 - float(match[i].sum())))
        else:
            cells.append(("-", str(x[1][j])[:1], 1.0 - float(match[:, j].sum())))
        i, j = i + (move != "I"), j + (move != "D")
    lines = max(-(-len(cells) // width), 1)
    across = min(width, max(len(cells), 1))
    axes = axes_for(ax, (min(6.8, 0.32 * across + 1.2), 0.5 + 0.62 * lines))
    size = min(11.0, 0.9 * 72 * axes.get_window_extent().width / axes.figure.dpi / (across + 1))
    shades = palette("Blues")
    for k, (above, below, p) in enumerate(cells):
        left, top = k % width, -2.8 * (k // width)
        colour = shades(0.75 * min(max(p, 0.0), 1.0))
        axes.add_patch(matplotlib("patches").Rectangle((left - 0.5, top - 1.5), 1.0, 2.0, facecolor=colour))
        for row, letter in ((0, above), (1, below)):
            axes.text(
                left,
                top - row,
                letter,
                ha="center",
                va="center",
                fontsize=size,
                family="monospace",
                color="black" if p < 0.8 else "white",
            )
    scale = matplotlib("cm").ScalarMappable(matplotlib("colors").Normalize(0, 1 / 0.75), shades)
    bar = axes.figure.colorbar(scale, ax=axes, label="probability", shrink=0.9, ticks=[0, 0.5, 1])
    bar.ax.set_ylim(0, 1)
    axes.set(xlim=(-0.7, across - 0.3), ylim=(-2.8 * lines + 1.0, 0.8), title=title or "")
    axes.set_axis_off()
    return axes


def _path(model: Any, x: tuple[Any, Any], y: Any) -> AlignPath:
    """The alignment as moves; the best one where none is given."""
    alignment = model.predict([x])[0] if y is None else y
    if isinstance(alignment, AlignPath):
        return alignment
    return AlignPath.from_gapped(alignment[0], alignment[1], learner_of(model).structure.gap)


@readable
def matrix(model: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the substitution matrix of a model.

    Parameters
    ----------
    model : fitted learner
        With an :class:`~trelliswork.Alignment` whose symbols have weights.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, by default the weights of gaps; and where to draw, by default on a
        new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        Orange pairs are rewarded, purple ones cost.

    Examples
    --------
    >>> from trelliswork import Alignment, Fixed, alignment_weights
    >>> from trelliswork.plots import matrix
    >>> weights = alignment_weights({("A", "A"): 2, ("A", "C"): -1, ("C", "C"): 3}, gap_open=-2)
    >>> matrix(Fixed(Alignment("substitution"), weights)).get_title()
    'gap -2.00'
    """
    tables = learner_of(model).tables()
    symbols, table = [str(s) for s in tables["symbols"]], np.asarray(tables["matrix"], dtype=float)
    axes = axes_for(ax, (5.0, 4.4))
    top = float(np.abs(table).max(initial=0.0)) or 1.0
    heat_map(axes, table, symbols, symbols, label="score", cmap=DIVERGING, vmin=-top, vmax=top)
    gaps = ", ".join(f"{name} {value:.2f}" for name, value in tables["gaps"].items())
    axes.set_title(gaps if title is None else title, fontsize=10)
    return axes
