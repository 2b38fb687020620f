"""An alignment on top of the posterior probabilities of all pairs; a substitution matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork.plots.rna import _matplotlib
from trelliswork.structures.alignment.path import AlignPath

__all__ = ["plot_alignment", "plot_matrix"]

_MOST_LABELS = 80  # residues whose letters are written at the axes


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    return _matplotlib("figure").Figure(figsize=size, layout="constrained").subplots()


def plot_alignment(model: Any, x: tuple[Any, Any], y: Any = None, *, ax: Any = None) -> Any:
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
        ``axes.figure.savefig("alignment.png")`` writes the picture.

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("matplotlib")
    >>> from trelliswork import Alignment, Fixed
    >>> from trelliswork.plots import plot_alignment
    >>> weights = {("match",): 2.0, ("mismatch",): -1.0, ("open",): -2.0, ("extend",): -0.5}
    >>> axes = plot_alignment(Fixed(Alignment("affine"), weights), ("GATTACA", "GATACA"))
    >>> axes.get_title()
    '2M1D4M'
    """
    [posterior] = model.predict_marginals([x])
    alignment = model.predict([x])[0] if y is None else y
    path = (
        alignment
        if isinstance(alignment, AlignPath)
        else AlignPath.from_gapped(alignment[0], alignment[1], model.structure.gap)
    )
    axes = _axes(ax, (5.0, 4.6))
    image = axes.imshow(posterior["match"], cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
    axes.figure.colorbar(image, ax=axes, shrink=0.8, label="probability of the pair")
    (i, j), rows, columns = path.start, [path.start[0] - 0.5], [path.start[1] - 0.5]
    for move in path.moves():
        i, j = i + (move != "I"), j + (move != "D")
        rows.append(i - 0.5)
        columns.append(j - 0.5)
    axes.plot(columns, rows, color="crimson", linewidth=1.2)
    axes.set(xlim=(-0.5, len(x[1]) - 0.5), ylim=(len(x[0]) - 0.5, -0.5), title=path.to_cigar())
    for sequence, ticks in ((x[0], axes.set_yticks), (x[1], axes.set_xticks)):
        if len(sequence) <= _MOST_LABELS:
            ticks(range(len(sequence)), [str(s)[:1] for s in sequence], fontsize=7)
    return axes


def plot_matrix(model: Any, *, ax: Any = None) -> Any:
    """Draw the substitution matrix of a model.

    Parameters
    ----------
    model : fitted learner
        With an :class:`~trelliswork.Alignment` whose symbols have weights.
    ax : matplotlib Axes or None, default=None
        Where to draw; by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("matplotlib")
    >>> from trelliswork import Alignment, Fixed, alignment_weights
    >>> from trelliswork.plots import plot_matrix
    >>> weights = alignment_weights({("A", "A"): 2, ("A", "C"): -1, ("C", "C"): 3}, gap_open=-2)
    >>> plot_matrix(Fixed(Alignment("substitution"), weights)).get_title()
    'gap -2.00'
    """
    tables = model.tables()
    symbols, matrix = [str(s) for s in tables["symbols"]], np.asarray(tables["matrix"])
    axes = _axes(ax, (5.0, 4.6))
    image = axes.imshow(matrix, cmap="viridis")
    axes.figure.colorbar(image, ax=axes, shrink=0.8, label="score")
    axes.set_xticks(range(len(symbols)), symbols, fontsize=7)
    axes.set_yticks(range(len(symbols)), symbols, fontsize=7)
    axes.set_title(", ".join(f"{name} {value:.2f}" for name, value in tables["gaps"].items()))
    return axes
