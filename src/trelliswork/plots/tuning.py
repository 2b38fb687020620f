"""Choosing: scores along the paths of a tuned model, and learners side by side."""

from __future__ import annotations

from typing import Any

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork.plots._canvas import COLORS, axes_for, color_of

__all__ = ["comparison", "path"]

# Columns that tell about settings, as opposed to the settings themselves.
_MEASURED = ("score", "standard_error", "rank", "chosen", "path", "n_splits", "failure")


def path(model: Any, name: str | None = None, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the held-out scores of a tuned model against a parameter, with standard errors.

    Parameters
    ----------
    model : Tuned or dict
        A fitted model, or its ``results_``.
    name : str or None, default=None
        The parameter; None is the first with several numbers.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, by default the name of the measure; and where to draw, by default on a
        new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        A point for every setting; a dotted line marks the one that was chosen.

    Examples
    --------
    >>> from trelliswork import CRF, Chain, Tuned
    >>> from trelliswork.plots import path
    >>> X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]]
    >>> model = Tuned(CRF(Chain()), cv=2, n_values=3).fit(X, [["D", "N"]] * 4)
    >>> path(model).get_xlabel()
    'l2'
    """
    table = getattr(model, "results_", model)
    if not hasattr(table, "keys") or "score" not in table:
        raise InputError("path draws a fitted Tuned model, or its results_")
    if name is None:
        settings = [k for k in table if k not in _MEASURED and not k.endswith(("_score", "_seconds"))]
        numbers = [k for k in settings if len({v for v in table[k] if type(v) in (int, float)}) > 1]
        if not numbers:
            raise InputError("no parameter with several numbers was tuned; there is no path to draw")
        name = numbers[0]
    elif name not in table:
        raise InputError(f"no parameter {name!r} was tuned")
    ax = axes_for(ax, (5, 3.5))
    for k, number in enumerate(dict.fromkeys(table["path"])):
        rows = [
            i
            for i, (of, score) in enumerate(zip(table["path"], table["score"], strict=True))
            if of == number and score is not None and type(table[name][i]) in (int, float)
        ]
        if rows:
            x, y = ([table[column][i] for i in rows] for column in (name, "score"))
            bars = [table["standard_error"][i] or 0.0 for i in rows]
            label = _other_settings(table, rows[0], name)
            ax.errorbar(
                x,
                y,
                yerr=bars,
                marker="o",
                markersize=4,
                linewidth=1.2,
                capsize=2,
                label=label,
                color=color_of(k),
                linestyle=("-", "--", ":")[k // len(COLORS) % 3],
            )
    if True in table["chosen"]:
        i = table["chosen"].index(True)
        if type(table[name][i]) in (int, float):
            ax.axvline(table[name][i], color="#8a8a8a", linestyle=":", linewidth=1.0)
    if all(value > 0 for value in table[name] if type(value) in (int, float)):
        ax.set_xscale("log")
    ax.set_xlabel(name)
    ax.set_ylabel(title or getattr(model, "scoring_", "score"))
    if len(set(table["path"])) > 1:
        ax.legend(fontsize=8)
    return ax


def _other_settings(table: Any, i: int, name: str) -> str:
    """Settings of a row, but for the parameter of the axis, that differ between rows."""
    others = []
    for k, column in table.items():
        if k in (*_MEASURED, name) or k.endswith(("_score", "_seconds")):
            continue
        texts = {str(value) for value in column}
        if len(texts) > 1:
            others.append(f"{k.removeprefix('structure__')}={column[i]}")
    return ", ".join(others) or name


@readable
def comparison(of: Any, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the scores of learners side by side, with standard errors.

    Parameters
    ----------
    of : Comparison or dict
        What :func:`~trelliswork.compare` returned, or its ``table``.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        Best on top. Learners within one standard error of the best have filled points; learners that
        failed are left out.

    Examples
    --------
    >>> import trelliswork as tw
    >>> table = {"learner": ["CRF", "HMM"], "score": [0.02, 0.05], "standard_error": [0.01, 0.01],
    ...          "near_best": [True, False]}
    >>> [text.get_text() for text in tw.plots.comparison(table).get_yticklabels()]
    ['HMM', 'CRF']
    """
    table = getattr(of, "table", of)
    if not hasattr(table, "keys") or not {"learner", "score", "standard_error", "near_best"} <= set(table):
        raise InputError("comparison draws what tw.compare returns, or its table")
    rows = [i for i, score in enumerate(table["score"]) if score is not None][::-1]
    ax = axes_for(ax, (5.6, 0.8 + 0.32 * len(rows)))
    for y, i in enumerate(rows):
        error, near = table["standard_error"][i] or 0.0, table["near_best"][i]
        colour = COLORS[0] if near else COLORS[6]
        ax.errorbar(
            table["score"][i],
            y,
            xerr=error if error == error else 0.0,
            fmt="o",
            capsize=3,
            color=colour,
            markerfacecolor=colour if near else "white",
        )
    ax.set_yticks(range(len(rows)), [table["learner"][i] for i in rows])
    ax.set(xlabel=getattr(of, "scoring", "score"), ylim=(-0.6, len(rows) - 0.4), title=title or "")
    ax.grid(axis="x", alpha=0.3)
    return ax
