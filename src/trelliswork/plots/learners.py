"""What learners found, and how: the largest weights, the course of a fit, scores by number of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork.plots._canvas import COLORS, axes_for, color_of, learner_of

__all__ = ["history", "learning_curve", "weights"]

_MARKERS = "osD^vP*X<>hd"


@readable
def weights(model: Any, of: Any = None, *, top: int = 15, title: str | None = None, ax: Any = None) -> Any:
    """Draw the largest weights of a model as bars.

    Parameters
    ----------
    model : fitted model
        Any learner with weights, on any structure.
    of : object or None, default=None
        Only features whose names have this part: a label, ``"transition"``, a rule's symbol.
    top : int, default=15
        How many, largest absolute values first; more bars are closer to each other.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        The largest weight on top: blue bars are above zero, orange ones below.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = tw.Fixed(tw.Chain(), {("emission", "cat", "N"): 2.0, ("emission", "cat", "V"): -1.0}).fit()
    >>> [float(bar.get_width()) for bar in tw.plots.weights(model).patches]
    [-1.0, 2.0]
    """
    learner = learner_of(model)
    if not hasattr(learner, "coef_") or not hasattr(learner, "weights_by_name"):
        raise InputError("weights draws learners with a weight per feature; a kernel model has none")
    named = learner.weights_by_name()
    if of is not None:
        named = {name: value for name, value in named.items() if _has(name, of)}
    if not named:
        raise InputError("there is no weight other than zero to draw" + (f" of {of!r}" if of else ""))
    largest = sorted(named, key=lambda name: -abs(named[name]))[:top]
    largest.sort(key=lambda name: named[name])
    values = [named[name] for name in largest]
    ax = axes_for(ax, (6.4, 0.6 + 0.24 * len(largest)))
    ax.barh(range(len(largest)), values, color=[COLORS[0] if value > 0 else COLORS[1] for value in values])
    ax.set_yticks(range(len(largest)), [_readable(name) for name in largest], fontsize=9)
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set(xlabel="weight", title=title or "")
    return ax


def _has(name: Any, part: Any) -> bool:
    """Whether a name, or a name within it, has a part."""
    return name == part or (isinstance(name, tuple) and any(_has(inner, part) for inner in name))


def _readable(name: Any) -> str:
    """A feature name in one line."""
    if not isinstance(name, tuple):
        return str(name)
    return " ".join("·".join(map(str, part)) if isinstance(part, tuple) else str(part) for part in name)[:48]


@readable
def history(model: Any, name: str | None = None, *, title: str | None = None, ax: Any = None) -> Any:
    """Draw the course of a fit: a number of ``history_`` for every iteration.

    Parameters
    ----------
    model : fitted model
        Any learner that searches (``CRF``, ``StructuredSVM``, ``VotedCRF``, ``Perceptron``, ...).
    name : str or None, default=None
        What to draw; None is the gap where it is certified, otherwise the objective or its like.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        A development score, if there was one, is drawn with an axis of its own.

    Examples
    --------
    >>> import trelliswork as tw
    >>> model = tw.CRF(tw.Chain()).fit([["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]])
    >>> tw.plots.history(model).get_ylabel()
    'objective'
    """
    records = list(getattr(learner_of(model), "history_", []))
    numbers = [key for key in (records[-1] if records else {}) if _numbers(records, key)]
    courses = [key for key in numbers if key not in ("seconds", "iteration", "epoch")]
    if not courses:
        raise InputError(
            f"{type(learner_of(model)).__name__} keeps no numbers of its fit: it does not search"
        )
    if name is None:
        name = next((k for k in ("gap", "objective", "log_likelihood", "errors") if k in courses), courses[0])
    elif name not in courses:
        raise InputError(f"history_ has no number {name!r}; it has {', '.join(courses)}")
    ax = axes_for(ax, (5.4, 3.2))
    values = _numbers(records, name)
    ax.plot(
        [t for t, _ in values],
        [v for _, v in values],
        color=COLORS[0],
        linewidth=1.6,
        marker="o" if len(values) <= 30 else None,
        markersize=4,
    )
    drawn = [v for _, v in values]
    if min(drawn) > 0 and max(drawn) / min(drawn) > 50:
        ax.set_yscale("log")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="iteration", ylabel=name, title=title or "")
    scored = _numbers(records, "dev") if name != "dev" else []
    if scored:
        beside = ax.twinx()
        beside.plot([t for t, _ in scored], [v for _, v in scored], color=COLORS[1], linestyle="--")
        beside.set_ylabel("development score (dashed)")
    return ax


def _numbers(records: list[Any], key: str) -> list[tuple[int, float]]:
    """Iterations, counted from 1, and finite numbers under a name."""
    steps = [
        (t + 1, record[key]) for t, record in enumerate(records) if type(record.get(key)) in (int, float)
    ]
    return [(t, float(value)) for t, value in steps if np.isfinite(value)]


@readable
def learning_curve(
    learners: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    sizes: Sequence[int] | None = None,
    score: Any = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Fit learners to more and more samples and draw how well they do on others.

    Parameters
    ----------
    learners : dict of str to learner, or list of learners
        Copies of them are fitted; those given stay as they are.
    X, y : lists of inputs and outputs
        Training data; the first samples of it are taken.
    X_test, y_test : lists of inputs and outputs
        What the scores are of.
    sizes : list of int or None, default=None
        Numbers of samples; None is five, each about twice the last. More sizes take longer.
    score : callable or None, default=None
        ``score(y_true, y_pred)``, higher is better; None is the learner's own score.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        A line for every learner, against the number of samples.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X, y = [["the", "cat"], ["a", "dog"]] * 4, [["D", "N"], ["D", "N"]] * 4
    >>> learners = [tw.CRF(tw.Chain()), tw.Generative(tw.Chain())]
    >>> ax = tw.plots.learning_curve(learners, X, y, X, y, sizes=[2, 8])
    >>> [(line.get_label(), line.get_ydata().tolist()) for line in ax.lines]
    [('CRF', [1.0, 1.0]), ('Generative', [1.0, 1.0])]
    """
    from sklearn.base import clone

    if not isinstance(learners, Mapping):
        learners = {type(learner_of(learner)).__name__: learner for learner in learners}
    if sizes is None:
        sizes = sorted({max(len(y) // 2**k, 1) for k in range(5)})
    if not sizes or min(sizes) < 1 or max(sizes) > len(y):
        raise InputError(f"sizes must lie between 1 and the number of samples, {len(y)}")
    ax = axes_for(ax, (6.0, 3.8))
    for k, (name, learner) in enumerate(learners.items()):
        scores = []
        for n in sizes:
            model = clone(learner).fit(X[:n], y[:n])
            scores.append(
                model.score(X_test, y_test) if score is None else score(y_test, model.predict(X_test))
            )
        ax.plot(
            list(sizes),
            scores,
            marker=_MARKERS[k % len(_MARKERS)],
            markersize=5,
            linewidth=1.5,
            color=color_of(k),
            linestyle="-" if k < len(COLORS) else "--",
            label=name,
        )
    ax.set_xscale("log")
    ax.set_xticks(list(sizes), [str(n) for n in sizes])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="training samples", ylabel="score", title=title or "")
    ax.legend(fontsize=8, frameon=False)
    return ax
