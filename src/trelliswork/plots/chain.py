"""Label sequences: the table of transitions, and a text shaded by how sure its labels are."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork.plots._canvas import DIVERGING, SHADES, axes_for, color_of, heat_map, learner_of, matplotlib

__all__ = ["marginals", "transitions"]

_LINE = 0.62  # height of a line of text, in widths of ten letters


@readable
def transitions(model: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw what may follow what in a label sequence: the weights of pairs of labels.

    Parameters
    ----------
    model : fitted model
        A learner on a :class:`~trelliswork.Chain`, or a pipeline that ends in one.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        Rows are the labels before, columns those after; pairs that cannot occur are blank.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = tw.CRF(tw.Chain()).fit([["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]])
    >>> ax = tw.plots.transitions(model)
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['D', 'N']
    """
    tables = learner_of(model).tables()
    if "transitions" not in tables:
        raise InputError("transitions draws models of label sequences, such as CRF(Chain())")
    table = np.array(tables["transitions"], dtype=float)
    table[~np.isfinite(table)] = np.nan
    labels = [str(label) for label in tables["labels"]]
    size = max(3.4, 0.42 * len(labels) + 1.6)
    ax = axes_for(ax, (size + 0.8, size))
    top = float(np.nanmax(np.abs(table), initial=0.0)) or 1.0
    logs = not (table > 0).any()  # log-probabilities have no middle
    if logs:
        heat_map(ax, table, labels, labels, label="log-probability", cmap=SHADES)
    else:
        heat_map(ax, table, labels, labels, label="weight", cmap=DIVERGING, vmin=-top, vmax=top)
    ax.set(xlabel="next label", ylabel="label", title=title or "")
    return ax


@readable
def marginals(
    model: Any, x: Any, *, words: Any = None, width: int = 60, title: str | None = None, ax: Any = None
) -> Any:
    """Draw a sentence with its predicted labels: the surer a label, the stronger its colour.

    Parameters
    ----------
    model : fitted model
        A learner on a :class:`~trelliswork.Chain`, or a pipeline that ends in one.
    x : sequence of tokens
        One input.
    words : list of str or None, default=None
        What to write for each token; None writes the tokens themselves.
    width : int, default=60
        Letters on a line; a larger value makes fewer, longer lines with smaller letters.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        Lines of words, and below each word its label with its probability.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = tw.CRF(tw.Chain()).fit([["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]])
    >>> ax = tw.plots.marginals(model, ["the", "dog"])
    >>> [text.get_text() for text in ax.texts]
    ['the', 'D 0.98', 'dog', 'N 0.98']
    """
    [table] = model.predict_marginals([x])
    [labels] = model.predict([x])
    classes = list(learner_of(model).classes_)
    shown = [_word(token) for token in (x if words is None else words)]
    if len(shown) != len(labels):
        raise InputError(f"the input has {len(labels)} tokens but words has {len(shown)}")
    below = [f"{label} {table[t, classes.index(label)]:.2f}" for t, label in enumerate(labels)]
    kinds = list(dict.fromkeys(_kind(label) for label in classes if label != "O"))
    places, right, line = [], 0.0, 0
    for word, note in zip(shown, below, strict=True):
        room = max(len(word), 0.72 * len(note)) + 1.6
        if right + room > width and right:
            right, line = 0.0, line + 1
        places.append((right, line, room))
        right += room
    ax = axes_for(ax, (6.4, 0.3 + 0.52 * (line + 1)))
    boxes, heights = matplotlib("patches"), 10 * _LINE
    letters = 72 * ax.get_window_extent().width / ax.figure.dpi / width / 0.62
    for (left, row, room), word, note, label, t in zip(places, shown, below, labels, range(len(shown))):
        p = float(table[t, classes.index(label)])
        colour = "#999999" if label == "O" else color_of(kinds.index(_kind(label)))
        ax.add_patch(
            boxes.Rectangle(
                (left, -heights * row - 0.78 * heights),
                room - 0.4,
                0.86 * heights,
                facecolor=colour,
                alpha=0.06 + 0.5 * p,
                edgecolor="none",
            )
        )
        middle = left + (room - 0.4) / 2
        ax.text(middle, -heights * (row + 0.24), word, ha="center", va="center", fontsize=min(11, letters))
        ax.text(
            middle, -heights * (row + 0.58), note, ha="center", va="center", fontsize=min(8, 0.72 * letters)
        )
    ax.set(xlim=(-0.5, width + 0.5), ylim=(-heights * (line + 1), 0.4 * heights), title=title or "")
    ax.set_axis_off()
    return ax


def _kind(label: Any) -> Any:
    """What kind of entity a label is about; the label itself where there is no scheme."""
    schemed = isinstance(label, str) and label[:2] in ("B-", "I-", "E-", "S-")
    return label[2:] if schemed else label


def _word(token: Any) -> str:
    """A token as people read it: its first attribute where it has several."""
    if isinstance(token, str):
        return token
    if isinstance(token, (list, tuple)) and token and isinstance(token[0], str):
        return token[0]
    return "·"
