"""Taxonomies of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork.plots._canvas import COLORS, axes_for, learner_of, palette
from trelliswork.structures.classes.taxonomy import Taxonomy

__all__ = ["taxonomy"]


@readable
def taxonomy(
    of: Any,
    values: Mapping[Any, float] | None = None,
    *,
    label: str = "probability",
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a taxonomy from its root on the left to its classes on the right.

    Parameters
    ----------
    of : taxonomy, structure or fitted model
        A nested dict, (parent, child) pairs, a graph, ``Classes(taxonomy)`` or a model on it.
    values : mapping of node to float, or None
        A number for classes, from 0 to 1, such as their probabilities. An inner node without a number has
        the sum of the classes below it. Nodes with larger numbers are darker.
    label : str, default="probability"
        What the numbers are.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        A box for every node; where there are values, its number is written in it.

    Examples
    --------
    >>> import trelliswork as tw
    >>> tree = {"animal": {"cat": {}, "dog": {}}, "plant": {"oak": {}}}
    >>> ax = tw.plots.taxonomy(tree, {"cat": 0.5, "dog": 0.25, "oak": 0.25})
    >>> [text.get_text() for text in ax.texts]
    ['cat 0.50', 'dog 0.25', 'animal 0.75', 'oak 0.25', 'plant 0.25', 'all 1.00']
    """
    graph = _read(of)
    places: dict[Any, tuple[float, float]] = {}
    _place(graph, graph.root, 0, places)
    deepest, lowest = max(x for x, _ in places.values()), max(y for _, y in places.values())
    for node, below in graph.children.items():  # classes stand in one column
        if not below:
            places[node] = (deepest, places[node][1])
    ax = axes_for(ax, (1.6 * (deepest + 1) + 0.6, max(2.0, 0.3 * (lowest + 1) + 0.6)))
    shades = {} if values is None else _sums(graph, values)
    colours = palette("Blues")
    for parent, child in graph.edges:
        (x0, y0), (x1, y1) = places[parent], places[child]
        ax.plot([x0, x0 + 0.5, x1], [y0, y1, y1], color="#aaaaaa", linewidth=1.0, zorder=1)
    size = 9 if lowest <= 30 else 6
    for node, (x, y) in places.items():
        name = "all" if node == "<root>" else str(node)
        value = shades.get(node)
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": COLORS[0], "linewidth": 0.8}
        color = "black"
        if value is not None:
            name, box["facecolor"] = f"{name} {value:.2f}", colours(0.85 * min(max(value, 0.0), 1.0))
            color = "white" if value > 0.6 else "black"
        ax.text(x, y, name, ha="left", va="center", fontsize=size, bbox=box, color=color, zorder=2)
    ax.set(xlim=(-0.1, deepest + 1.0), ylim=(lowest + 0.6, -0.6), title=title or (label if shades else ""))
    ax.set_axis_off()
    return ax


def _read(of: Any) -> Taxonomy:
    structure = getattr(learner_of(of), "structure", of)
    source = getattr(structure, "taxonomy", structure)
    if source is None:
        raise InputError("these classes have no taxonomy to draw")
    return Taxonomy.read(source)


def _place(graph: Taxonomy, node: Any, depth: int, places: dict[Any, tuple[float, float]]) -> None:
    """Place what is below a node, then the node beside the middle of it; depth first, each node once."""
    before = len([1 for n in places if not graph.children[n]])
    for child in graph.children[node]:
        if child not in places:
            _place(graph, child, depth + 1, places)
    heights = [places[child][1] for child in graph.children[node]]
    places[node] = (float(depth), sum(heights) / len(heights) if heights else float(before))


def _sums(graph: Taxonomy, values: Mapping[Any, float]) -> dict[Any, float]:
    """Numbers of all nodes; those of inner nodes are sums over their classes unless they are given."""
    out = {}
    for node, below in graph.children.items():
        if node in values:
            out[node] = float(values[node])
        elif below:
            known = [float(values[leaf]) for leaf in graph.leaves_below(node) if leaf in values]
            if known:
                out[node] = sum(known)
    return out
