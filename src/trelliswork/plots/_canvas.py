"""Where pictures are drawn: axes, colours that all readers can tell apart, and Matplotlib itself."""

from __future__ import annotations

import importlib
from typing import Any

from trelliswork._errors import InputError

__all__ = [
    "COLORS",
    "DIVERGING",
    "SHADES",
    "axes_for",
    "color_of",
    "figure",
    "heat_map",
    "learner_of",
    "matplotlib",
    "palette",
]

# The palette of Okabe and Ito (2008), which readers with any kind of colour vision can tell apart.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#000000")
DIVERGING = "PuOr_r"  # orange above zero, purple below
SHADES = "cividis"  # from dark blue to yellow, the same for all kinds of colour vision
_MOST_NUMBERS = 14  # rows of a heat map whose cells hold numbers


def matplotlib(module: str) -> Any:
    """A module of Matplotlib; one line says what to install where there is none.

    Parameters
    ----------
    module : str
        Such as ``"figure"``.

    Examples
    --------
    >>> from trelliswork.plots._canvas import matplotlib
    >>> matplotlib("figure").Figure.__name__
    'Figure'
    """
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError:
        raise ImportError("pictures need matplotlib; pip install 'trelliswork[plot]'") from None


def palette(name: str) -> Any:
    """Colours by number: a function from [0, 1].

    Parameters
    ----------
    name : str
        Name of a map of Matplotlib.

    Examples
    --------
    >>> from trelliswork.plots._canvas import palette
    >>> len(palette("Blues")(0.5))
    4
    """
    matplotlib("colors")  # says what to install
    return importlib.import_module("matplotlib").colormaps[name]


def figure(size: tuple[float, float]) -> Any:
    """Make an empty figure that belongs to no window.

    Parameters
    ----------
    size : (float, float)
        Width and height in inches.

    Examples
    --------
    >>> from trelliswork.plots._canvas import figure
    >>> figure((4, 3)).axes
    []
    """
    return matplotlib("figure").Figure(figsize=size, layout="constrained")


def axes_for(ax: Any, size: tuple[float, float]) -> Any:
    """The axes that were given, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw.
    size : (float, float)
        Width and height in inches of a new figure.

    Examples
    --------
    >>> from trelliswork.plots._canvas import axes_for
    >>> axes_for(None, (4, 3)).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    if ax is None:
        return figure(size).subplots()
    if not hasattr(ax, "figure") or not hasattr(ax, "plot"):
        raise InputError(f"ax must be Matplotlib axes, as from pyplot.subplots(), got {type(ax).__name__}")
    return ax


def color_of(k: int) -> str:
    """The colour of the k-th thing of a picture, with the palette begun anew where it ends.

    Parameters
    ----------
    k : int
        Counted from 0.

    Examples
    --------
    >>> from trelliswork.plots._canvas import color_of
    >>> color_of(0) == color_of(8)
    True
    """
    return COLORS[k % len(COLORS)]


def learner_of(model: Any) -> Any:
    """The learner inside of pipelines and tuned models.

    Parameters
    ----------
    model : fitted model
        A learner, a pipeline that ends in one, or ``Tuned``.

    Examples
    --------
    >>> import trelliswork as tw
    >>> from trelliswork.plots._canvas import learner_of
    >>> learner_of(tw.make_pipeline(tw.features.TokenWindow(), tw.CRF(tw.Chain()))).l1
    0.0
    """
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            model = model.steps[-1][1]
        else:
            return model


def heat_map(
    ax: Any,
    values: Any,
    rows: list[str],
    columns: list[str],
    *,
    label: str,
    cmap: str = SHADES,
    digits: int = 1,
    **limits: Any,
) -> Any:
    """Draw a table of numbers as colours, with the numbers where there is room; NaN is left blank.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    values : ndarray of shape (n_rows, n_columns)
        Numbers.
    rows, columns : list of str
        Names.
    label : str
        What the colours mean.
    cmap : str
        Name of a map of Matplotlib.
    digits : int, default=1
        Digits after the point.
    **limits
        Numbers of the first and last colour: ``vmin``, ``vmax``.

    Examples
    --------
    >>> from trelliswork.plots._canvas import axes_for, heat_map
    >>> ax = heat_map(axes_for(None, (3, 3)), [[0.0, 1.0]], ["a"], ["b", "c"], label="share")
    >>> [text.get_text() for text in ax.texts]
    ['0.0', '1.0']
    """
    import numpy as np

    values = np.asarray(values, dtype=float)
    colours = palette(cmap).with_extremes(bad="#eeeeee")
    image = ax.imshow(np.ma.masked_invalid(values), aspect="auto", cmap=colours, **limits)
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.85)
    size = 9 if max(values.shape) <= 20 else 7
    upright = max((len(name) for name in columns), default=0) <= 3
    ax.set_xticks(
        range(len(columns)),
        columns,
        fontsize=size,
        rotation=0 if upright else 45,
        ha="center" if upright else "right",
        rotation_mode="anchor",
    )
    ax.set_yticks(range(len(rows)), rows, fontsize=size)
    ax.spines[:].set_visible(False)
    if max(values.shape) <= _MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                dark = sum(colours(image.norm(value))[:3]) < 1.5
                ax.text(
                    j,
                    i,
                    f"{round(value, digits) + 0.0:.{digits}f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if dark else "black",
                )
    return ax
