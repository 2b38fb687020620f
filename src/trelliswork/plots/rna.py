"""RNA structures: arcs over the sequence, planar drawings, mountains, dot plots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from trelliswork._dotbracket import base_pairs, crossing
from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork.plots._canvas import COLORS, figure, matplotlib, palette

__all__ = ["arcs", "dotplot", "mountain", "structure"]

_COLORS = {
    "pair": COLORS[0].lower(),
    "right": COLORS[2].lower(),
    "wrong": COLORS[1].lower(),
    "missed": "#8a8a8a",
}
_LEAST_SIZE = 3.0  # points; smaller letters are left out
_MOST_LETTERS = 150  # the letters of longer sequences would not be readable


@readable
def arcs(
    sequence: str, structure: str, reference: str | None = None, *, title: str | None = None, ax: Any = None
) -> Any:
    """Draw the base pairs of an RNA structure as arcs over its sequence.

    Parameters
    ----------
    sequence : str
        Bases.
    structure : str
        Dot-bracket or WUSS notation; drawn above the sequence.
    reference : str or None, default=None
        The true structure, drawn below; pairs that both have are then green, other pairs of
        ``structure`` orange, those that it misses grey.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        The sequence is the line between the arcs; bases are written where there is room.

    Examples
    --------
    >>> from trelliswork.plots import arcs
    >>> ax = arcs("GGGAAACCC", "(((...)))", title="a hairpin")
    >>> len(ax.patches)
    3
    >>> ax.figure.savefig("/dev/null", format="png")
    """
    patches = matplotlib("patches")
    n = len(sequence)
    given = (
        {"structure": structure} if reference is None else {"structure": structure, "reference": reference}
    )
    pairs = {}
    for name, text in given.items():
        if len(text) != n:
            raise InputError(f"the sequence has {n} bases but {name} has {len(text)} positions")
        pairs[name] = set(base_pairs(text))
    shown, true = pairs["structure"], pairs.get("reference")
    tallest = max((j - i for side in pairs.values() for i, j in side), default=1)
    top, bottom = tallest / 2 + 1.5, tallest / 2 + 1.5 if true else 1.5
    if ax is None:  # as high as the arcs are
        width = min(max(n / 6, 4), 14)
        ax = figure((width, max(width * (top + bottom) / (n + 1), 0.8) + 0.4)).subplots()
    per_base = 72 * ax.get_window_extent().width / ax.figure.dpi / (n + 1)
    for below, side in ((False, shown), (True, true or set())):
        for i, j in sorted(side):
            if true is None:
                kind = "pair"
            elif (i, j) in true and (i, j) in shown:
                kind = "right"
            else:
                kind = "missed" if below else "wrong"
            start, stop = (180, 360) if below else (0, 180)
            ax.add_patch(
                patches.Arc(
                    ((i + j) / 2, -0.6 if below else 0.6),
                    j - i,
                    j - i,
                    theta1=start,
                    theta2=stop,
                    color=_COLORS[kind],
                    linewidth=min(1.4, 0.5 * per_base),
                )
            )
    if n <= _MOST_LETTERS:
        for i, base in enumerate(sequence):
            ax.text(i, 0, base, ha="center", va="center", fontsize=8, family="monospace")
    else:
        ax.plot([0, n - 1], [0, 0], color="black", linewidth=0.8)
    ax.set_xlim(-1, n)
    ax.set_ylim(-bottom, top)
    return _finished(ax, title)


@readable
def structure(
    sequence: str,
    structure: str,
    *,
    probabilities: Mapping[tuple[int, int], float] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a structure in the plane: helices as ladders, loops as circles.

    Parameters
    ----------
    sequence : str
        Bases.
    structure : str
        Dot-bracket or WUSS notation. Pairs that cross others (pseudoknots) are drawn as dashed lines.
    probabilities : mapping of (int, int) to float, or None
        Probabilities of pairs, left end first; their lines are then coloured by it.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        Every tenth base, every fiftieth of a long sequence, has its number, counted from 1.

    Examples
    --------
    >>> from trelliswork.plots import structure
    >>> ax = structure("GGGAAACCC", "(((...)))", title="a hairpin")
    >>> len(ax.texts)
    11
    """
    from trelliswork.plots._radial import radial

    pairs = _checked(sequence, structure)
    crossed = crossing(pairs)
    table = [-1] * len(sequence)
    for (i, j), bad in zip(pairs, crossed, strict=True):
        if not bad:
            table[i], table[j] = j, i
    places = radial(table)
    extent = max(float(np.ptp(places.real)), float(np.ptp(places.imag)), 8.0) + 4.0
    if ax is None:
        ax = figure((min(extent / 4, 30), min(extent / 4, 30))).subplots()
    inches = min(ax.get_window_extent().width, ax.get_window_extent().height) / ax.figure.dpi
    size = min(8.0, 0.6 * 72 * inches / extent)
    ax.plot(places.real, places.imag, color="#b5b5b5", linewidth=1.0, zorder=1)
    lines, colors, styles = [], [], []
    shades = palette("viridis_r")
    for (i, j), bad in zip(pairs, crossed, strict=True):
        lines.append([(places[i].real, places[i].imag), (places[j].real, places[j].imag)])
        colors.append(_COLORS["pair"] if probabilities is None else shades(probabilities.get((i, j), 0.0)))
        styles.append("dashed" if bad else "solid")
    bonds = matplotlib("collections").LineCollection(lines, colors=colors, linestyles=styles, zorder=2)
    bonds.set_linewidth(2.0)
    ax.add_collection(bonds)
    if size >= _LEAST_SIZE:
        for base, place in zip(sequence, places, strict=True):
            ax.text(
                place.real, place.imag, base, ha="center", va="center", fontsize=size, family="monospace",
                bbox={"boxstyle": "circle,pad=0.05", "facecolor": "white", "edgecolor": "none"}, zorder=3,
            )  # fmt: skip
        _number(ax, places, max(0.75 * size, 5.0))
    for mark, k, side in (("5'", 0, "right"), ("3'", len(sequence) - 1, "left")):
        shift = -0.8 if side == "right" else 0.8
        ax.text(places[k].real + shift, places[k].imag - 0.6, mark, ha=side, va="top", fontsize=8)
    if probabilities is not None and pairs:
        scale = matplotlib("cm").ScalarMappable(matplotlib("colors").Normalize(0, 1), shades)
        ax.figure.colorbar(scale, ax=ax, label="probability of the pair", shrink=0.5)
    for corner in (-2 - 2j, 2 + 2j):  # a base alone, or a chain without pairs, has no width or height
        for end in (places[0], places[-1]):
            ax.update_datalim([((end + corner).real, (end + corner).imag)])
    ax.margins(0.05)
    return _finished(ax, title)


def _number(ax: Any, places: np.ndarray, size: float) -> None:
    """Write the number of every tenth base (every fiftieth of long sequences) where there is room for it."""
    n = places.size
    step = 10 if n <= _MOST_LETTERS else 50
    for k in range(step - 1, n - 1, step):
        along = places[k + 1] - places[k - 1]
        sides = [places[k] + turn * along / max(abs(along), 1e-9) for turn in (1.5j, -1.5j)]
        room = [float(np.min(np.abs(np.delete(places, k) - place))) for place in sides]
        place = sides[int(np.argmax(room))]
        ax.text(place.real, place.imag, k + 1, ha="center", va="center", fontsize=size, color="#8a8a8a")


@readable
def mountain(
    sequence: str,
    structure: str,
    *,
    probabilities: Iterable[tuple[int, int, float]] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw by how many pairs each base is enclosed.

    Parameters
    ----------
    sequence, structure : str
        Bases, and their pairs in dot-bracket or WUSS notation.
    probabilities : iterable of (int, int, float), or None
        Pairs with their probabilities: the expected number is drawn as a second line.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Examples
    --------
    >>> from trelliswork.plots import mountain
    >>> mountain("GGGAAACCC", "(((...)))").lines[0].get_ydata().tolist()
    [1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0, 0.0]
    """
    pairs = _checked(sequence, structure)
    if ax is None:
        ax = figure((min(max(len(sequence) / 10, 4), 20), 3.0)).subplots()
    ax.step(range(1, len(sequence) + 1), _heights(len(sequence), ((i, j, 1.0) for i, j in pairs)),
    where="post",
            color=_COLORS["pair"], label="structure")  # fmt: skip
    if probabilities is not None:
        heights = _heights(len(sequence), probabilities)
        ax.plot(range(1, len(sequence) + 1), heights, color=_COLORS["wrong"], label="expected")
        ax.legend(frameon=False, fontsize=8)
    ax.set_xlim(1, max(len(sequence), 2))
    ax.set_xlabel("base")
    ax.set_ylabel("pairs around it")
    ax.spines[["top", "right"]].set_visible(False)
    if title is not None:
        ax.set_title(title, fontsize=10)
    return ax


def _heights(n: int, pairs: Iterable[tuple[int, int, float]]) -> list[float]:
    steps = [0.0] * n
    for i, j, p in pairs:
        steps[i] += p
        steps[j] -= p
    height, out = 0.0, []
    for step in steps:
        height += step
        out.append(height)
    return out


@readable
def dotplot(
    sequence: str,
    probabilities: Iterable[tuple[int, int, float]],
    structure: str | None = None,
    *,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the probabilities of pairs above the diagonal, a structure below it.

    Parameters
    ----------
    sequence : str
        Bases.
    probabilities : iterable of (int, int, float)
        Pairs with their probabilities; the area of a square is the probability.
    structure : str or None, default=None
        Dot-bracket or WUSS notation.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Examples
    --------
    >>> from trelliswork.plots import dotplot
    >>> ax = dotplot("GGAAACC", [(0, 6, 0.9), (1, 5, 0.8)], "((...))")
    >>> [len(c.get_paths()) for c in ax.collections]
    [2, 2]
    """
    n = len(sequence)
    if ax is None:
        side = min(max(5.0, n / 40), 12.0)
        ax = figure((side, side)).subplots()
    squares = [(j + 1, i + 1, math.sqrt(min(max(p, 0.0), 1.0))) for i, j, p in probabilities]
    lower = [] if structure is None else [(i + 1, j + 1, 1.0) for i, j in _checked(sequence, structure)]
    edge = 0.0 if n <= _MOST_LETTERS else 0.5  # squares of long sequences would be too small to see
    for cells, color in ((squares, _COLORS["pair"]), (lower, _COLORS["wrong"])):
        boxes = [
            [(x - s / 2, y - s / 2), (x + s / 2, y - s / 2), (x + s / 2, y + s / 2), (x - s / 2, y + s / 2)]
            for x, y, s in cells
        ]
        ax.add_collection(
            matplotlib("collections").PolyCollection(
                boxes, facecolors=color, edgecolors=color, linewidths=edge
            )
        )
    ax.plot([0.5, n + 0.5], [0.5, n + 0.5], color="#b5b5b5", linewidth=0.8)
    ax.set_xlim(0.5, n + 0.5)
    ax.set_ylim(n + 0.5, 0.5)
    ax.set_aspect("equal")
    ax.xaxis.tick_top()
    if title is not None:
        ax.set_title(title, fontsize=10)
    return ax


def _checked(sequence: str, structure: str) -> list[tuple[int, int]]:
    """Pairs of a structure that fits its sequence."""
    if len(structure) != len(sequence):
        raise InputError(
            f"the sequence has {len(sequence)} bases but the structure has {len(structure)} positions"
        )
    if not sequence:
        raise InputError("the sequence is empty; there is nothing to draw")
    return base_pairs(structure)


def _finished(ax: Any, title: str | None) -> Any:
    ax.set_aspect("equal")
    ax.set_axis_off()
    if title is not None:
        ax.set_title(title, fontsize=10)
    return ax
