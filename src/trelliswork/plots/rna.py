"""RNA structures as arcs over the sequence."""

from __future__ import annotations

from typing import Any

from trelliswork._dotbracket import base_pairs
from trelliswork._errors import InputError

__all__ = ["arcs"]

_COLORS = {"pair": "#1f5a9e", "right": "#2e7d32", "wrong": "#d9822b", "missed": "#8a8a8a"}
_MOST_LETTERS = 150  # the letters of longer sequences would not be readable


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
    title : str or None, default=None
        Text above the picture.
    ax : matplotlib Axes or None, default=None
        Where to draw; by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from trelliswork.plots import arcs
    >>> ax = arcs("GGGAAACCC", "(((...)))", title="a hairpin")
    >>> len(ax.patches)
    3
    >>> ax.figure.savefig("/dev/null", format="png")
    """
    patches = _matplotlib("patches")
    n = len(sequence)
    given = (
        {"structure": structure} if reference is None else {"structure": structure, "reference": reference}
    )
    pairs = {}
    for name, text in given.items():
        if len(text) != n:
            raise InputError(f"the sequence has {n} bases but {name} has {len(text)} positions")
        pairs[name] = set(base_pairs(text))
    if ax is None:
        ax = (
            _matplotlib("figure")
            .Figure(figsize=(min(max(n / 6, 4), 30), 3.5), layout="constrained")
            .subplots()
        )
    shown, true = pairs["structure"], pairs.get("reference")
    tallest = 1
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
                    linewidth=1.4,
                )
            )
            tallest = max(tallest, j - i)
    if n <= _MOST_LETTERS:
        for i, base in enumerate(sequence):
            ax.text(i, 0, base, ha="center", va="center", fontsize=8, family="monospace")
    else:
        ax.plot([0, n - 1], [0, 0], color="black", linewidth=0.8)
    ax.set_xlim(-1, n)
    ax.set_ylim(-(tallest / 2 + 1.5) if true else -1.5, tallest / 2 + 1.5)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if title is not None:
        ax.set_title(title, fontsize=10)
    return ax


def _matplotlib(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError:
        raise ImportError("pictures need matplotlib; pip install 'trelliswork[plot]'") from None
