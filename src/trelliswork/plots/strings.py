"""Strings to strings: the pieces of a transducer, the graph of n-grams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork.plots._canvas import COLORS, axes_for, matplotlib

__all__ = ["ngrams", "pieces"]


@readable
def pieces(model: Any, x: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw an input above what each of its pieces is written as.

    Parameters
    ----------
    model : fitted model
        On a :class:`~trelliswork.Transducer`.
    x : str or list of symbols
        One input.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        Pieces that are written as nothing have a dot.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = tw.Generative(tw.Transducer()).fit(["cat", "act", "tic"], ["kat", "akt", "tik"])
    >>> ax = tw.plots.pieces(model, "tac")
    >>> [text.get_text() for text in ax.texts]
    ['t', 't', 'a', 'a', 'c', 'k']
    """
    batch = model.pack([x])
    if not hasattr(batch, "alignments"):
        raise InputError("pieces draws models of strings with hidden alignments, such as CRF(Transducer())")
    [alignment] = batch.alignments(batch.predicted(model.part_scores(batch, [x])).codes)
    ax = axes_for(ax, (max(2.0, 0.6 * len(alignment)), 1.5))
    for t, (read, written) in enumerate(alignment):
        below = "".join(map(str, written)) if isinstance(written, str) else " ".join(map(str, written))
        color = COLORS[0] if below else "#999999"
        ax.plot([t, t], [0.28, 0.72], color=color, linewidth=1.4)
        ax.text(t, 1.0, "".join(map(str, read)), ha="center", va="center", fontsize=13)
        ax.text(t, 0.0, below or "·", ha="center", va="center", fontsize=13, color=color)
    ax.set(xlim=(-0.6, len(alignment) - 0.4), ylim=(-0.3, 1.3), title=title or "")
    ax.set_axis_off()
    return ax


@readable
def ngrams(counts: Mapping[str, float], *, title: str | None = None, ax: Any = None) -> Any:
    """Draw bigram counts as a graph: a string with these counts walks over every arrow once.

    Parameters
    ----------
    counts : mapping of str to int
        Pairs of symbols, such as :func:`~trelliswork.ngram_counts` gives them for ``n=2``; ``^`` and ``$``
        are the ends. An arrow is the thicker, the larger its count.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        A circle for every symbol, an arrow for every pair.

    Examples
    --------
    >>> import trelliswork as tw
    >>> ax = tw.plots.ngrams(tw.ngram_counts("banana", 2))
    >>> len(ax.patches), sorted(text.get_text() for text in ax.texts)
    (5, ['$', '1', '1', '1', '2', '2', '^', 'a', 'b', 'n'])
    """
    grams = {(gram[0], gram[-1]): float(n) for gram, n in counts.items() if n and len(gram) == 2}
    if not grams:
        raise InputError("there is no pair of symbols with a count; use ngram_counts(text, 2)")
    inner = [s for s in dict.fromkeys(s for gram in grams for s in gram) if s not in "^$"]
    turn = np.pi * (1 - 2 * np.arange(len(inner)) / max(len(inner), 1)) - np.pi / max(len(inner), 1)
    places = {s: np.array([np.cos(a), 0.9 * np.sin(a)]) for s, a in zip(inner, turn)}
    places.update({"^": np.array([-1.75, 0.0]), "$": np.array([1.75, 0.0])})
    ax = axes_for(ax, (5.6, 3.2))
    for (a, b), n in grams.items():
        start, end = places[a], places[b]
        if a == b:
            end = start + np.array([0.0, 1e-3])
        bend = 0.25 if (b, a) in grams or a == b else 0.08
        arrow = matplotlib("patches").FancyArrowPatch(
            start,
            end,
            connectionstyle=f"arc3,rad={-bend}",
            arrowstyle="-|>",
            mutation_scale=13,
            shrinkA=13,
            shrinkB=13,
            linewidth=0.8 + 0.8 * n,
            color=COLORS[0] if a != b else COLORS[1],
        )
        ax.add_patch(arrow)
        step = end - start
        side = np.array([-step[1], step[0]]) * bend * 0.62
        label_place = (start + end) / 2 + side
        ax.text(
            *label_place,
            f"{n:g}",
            ha="center",
            va="center",
            fontsize=9,
            color="#333333",
            bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "none"},
        )
    for symbol, place in places.items():
        if any(symbol in gram for gram in grams):
            ax.text(
                *place,
                symbol,
                ha="center",
                va="center",
                fontsize=12,
                zorder=3,
                bbox={"boxstyle": "circle,pad=0.3", "facecolor": "#eef3fa", "edgecolor": COLORS[0]},
            )
    ax.set(xlim=(-2.1, 2.1), ylim=(-1.25, 1.25), title=title or "")
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax
