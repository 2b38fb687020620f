"""Parse trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trelliswork._front_door import readable
from trelliswork._trees import Node, as_node, leaves
from trelliswork.plots._canvas import COLORS, SHADES, axes_for, matplotlib, palette

__all__ = ["tree"]


@readable
def tree(
    tree: Any,
    *,
    probabilities: Mapping[tuple[str, int, int], float] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a parse tree.

    Parameters
    ----------
    tree : str or nltk.Tree
        Bracketed text such as ``"(S (NP they) (VP run))"``, or a tree of NLTK.
    probabilities : mapping of (str, int, int) to float, or None
        Probabilities of brackets (label, start, end), as ``predict_marginals`` gives them; labels are then
        coloured by them.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        The root on top, the words in a row below.

    Examples
    --------
    >>> import trelliswork as tw
    >>> ax = tw.plots.tree("(S (NP they) (VP run))")
    >>> [text.get_text() for text in ax.texts], len(ax.lines)
    (['they', 'NP', 'run', 'VP', 'S'], 4)
    """
    root = as_node(tree)
    words = leaves(root)
    lines: list[Any] = []
    boxes: list[Any] = []
    depth = _placed(root, 0, lines, boxes)[2]
    ax = axes_for(ax, (max(3.0, 0.75 * len(words)), 0.9 + 0.5 * depth))
    room = 72 * ax.get_window_extent().width / ax.figure.dpi / max(len(words), 1)
    size = min(11.0, room / (0.62 * max(map(len, words), default=1) + 0.8))
    colours = palette(SHADES) if probabilities is not None else None
    for (x0, y0), (x1, y1) in lines:
        ax.plot([x0, x1], [y0 - 0.22, y1 + 0.22], color="#888888", linewidth=1.0, zorder=1)
    for x, y, text, span in boxes:
        p = None if probabilities is None or span is None else float(probabilities.get(span, 0.0))
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "none"}
        color = "black" if span is None else COLORS[0]
        if p is not None and colours is not None:
            box["facecolor"], color = colours(p), "black" if p > 0.5 else "white"
        ax.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=size,
            color=color,
            bbox=box,
            zorder=2,
            style="normal" if span else "italic",
        )
    if colours is not None:
        shades = matplotlib("cm").ScalarMappable(matplotlib("colors").Normalize(0, 1), colours)
        ax.figure.colorbar(shades, ax=ax, label="probability of the bracket", shrink=0.7)
    ax.set(xlim=(-0.6, max(len(words), 1) - 0.4), ylim=(-0.5, depth + 0.5), title=title or "")
    ax.set_axis_off()
    return ax


def _placed(node: Any, start: int, lines: list[Any], boxes: list[Any]) -> tuple[float, int, int]:
    """Place a node over its words: its x, the end of its span, its height above the words."""
    if not isinstance(node, Node):
        boxes.append((float(start), 0.0, str(node), None))
        return float(start), start + 1, 0
    end, below = start, []
    for child in node.children:
        x, end, height = _placed(child, end, lines, boxes)
        below.append((x, height))
    middle = (below[0][0] + below[-1][0]) / 2
    height = 1 + max(h for _, h in below)
    lines.extend(((middle, height), place) for place in below)
    boxes.append((middle, float(height), node.label, (node.label, start, end)))
    return middle, end, height
