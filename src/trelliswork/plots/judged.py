"""How good predictions are: what is taken for what, and whether probabilities mean what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from trelliswork._dotbracket import base_pairs
from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._trees import as_node, brackets
from trelliswork.plots._canvas import COLORS, axes_for, heat_map, learner_of

__all__ = ["calibration", "confusion"]


@readable
def confusion(
    y_true: Any, y_pred: Any, *, top: int = 12, share: bool = True, title: str | None = None, ax: Any = None
) -> Any:
    """Draw which labels are taken for which.

    Parameters
    ----------
    y_true, y_pred : lists of labels, or of label sequences
        The truth and the predictions.
    top : int, default=12
        Where there are more labels, those with the most mistakes are shown; the others are left out.
    share : bool, default=True
        Whether to draw shares of each true label (rows add up to 1) or numbers.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        Rows are true labels, columns predicted ones.

    Examples
    --------
    >>> import trelliswork as tw
    >>> ax = tw.plots.confusion([["D", "N"], ["N"]], [["D", "V"], ["N"]])
    >>> [text.get_text() for text in ax.texts]
    ['1.00', '0.00', '0.00', '0.00', '0.50', '0.50', '0.00', '0.00', '0.00']
    """
    pairs = list(_label_pairs(y_true, y_pred))
    if not pairs:
        raise InputError("there is no label to compare")
    mistakes = Counter(label for a, b in pairs if a != b for label in (a, b))
    labels = list(dict.fromkeys(label for pair in pairs for label in pair))
    labels = sorted(sorted(labels, key=lambda label: -mistakes[label])[:top], key=str)
    place = {label: k for k, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)))
    for a, b in pairs:
        if a in place and b in place:
            counts[place[a], place[b]] += 1
    if share:
        counts /= np.maximum(counts.sum(axis=1, keepdims=True), 1)
    size = max(3.4, 0.45 * len(labels) + 1.4)
    ax = axes_for(ax, (size + 0.8, size))
    names = [str(label) for label in labels]
    heat_map(
        ax,
        counts,
        names,
        names,
        label="share of the true label" if share else "how often",
        digits=2 if share else 0,
        cmap="Blues",
        vmin=0,
        vmax=1 if share else None,
    )
    ax.set(xlabel="predicted", ylabel="true", title=title or "")
    return ax


def _label_pairs(y_true: Any, y_pred: Any) -> Iterator[tuple[Any, Any]]:
    """Labels of both sides, one after the other."""
    for i, (true, predicted) in enumerate(zip(y_true, y_pred, strict=True)):
        if isinstance(true, str) or not hasattr(true, "__len__"):
            yield true, predicted
        elif len(true) != len(predicted):
            raise InputError(f"{len(true)} true labels but {len(predicted)} predicted ones", sample=i)
        else:
            yield from zip(true, predicted, strict=True)


@readable
def calibration(
    model: Any, X: Any, y: Any, *, n_bins: int = 10, title: str | None = None, ax: Any = None
) -> Any:
    """Draw how often parts that a model gives a probability are really there.

    Parts are labels of tokens, classes, base pairs, columns of alignments or brackets. A point on the
    diagonal means that of 100 parts with probability 0.8 eighty are right.

    Parameters
    ----------
    model : fitted model
        On ``Chain``, ``Classes``, ``RNA``, ``Alignment`` or ``Grammar``.
    X, y : lists of inputs and outputs
        Data that the model was not fitted to.
    n_bins : int, default=10
        Into how many equal parts probabilities are divided; more bins are finer and noisier.
    title, ax : str and matplotlib Axes, optional
        Text above the picture, and where to draw: by default on a new figure (``ax.figure``).

    Returns
    -------
    matplotlib Axes
        Below the points, bars say how many parts a bin has (from 0 to the largest).

    Examples
    --------
    >>> import trelliswork as tw
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> ax = tw.plots.calibration(tw.CRF(tw.Chain()).fit(X, y), X, y, n_bins=2)
    >>> ax.lines[1].get_ydata().tolist()
    [0.0, 1.0]
    """
    kind = getattr(learner_of(model).structure, "output_kind", None)
    if kind not in _PARTS:
        raise InputError(f"calibration knows {', '.join(sorted(_PARTS))}, not outputs of the kind {kind!r}")
    tables = model.predict_marginals(X)
    parts = [
        pair
        for x, table, true in zip(X, tables, y, strict=True)
        for pair in _PARTS[kind](model, x, table, true)
    ]
    if not parts:
        raise InputError("there is no part to look at")
    probability, right = np.array(parts, dtype=float).T
    bins = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    number = np.bincount(bins, minlength=n_bins)
    used = number > 0
    means, shares = (
        np.bincount(bins, values, n_bins)[used] / number[used] for values in (probability, right)
    )
    ax = axes_for(ax, (4.0, 3.8))
    ax.plot([0, 1], [0, 1], color="#999999", linewidth=0.9, linestyle="--")
    ax.plot(means, shares, "o-", color=COLORS[0], linewidth=1.5)
    places = (np.arange(n_bins)[used] + 0.5) / n_bins
    heights = 0.12 * np.log1p(number[used]) / np.log1p(number.max())
    ax.bar(places, heights, 0.8 / n_bins, color=COLORS[4], alpha=0.6)
    ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="probability", ylabel="share that is right", title=title or "")
    return ax


def _of_labels(model: Any, x: Any, table: Any, true: Any) -> Iterator[tuple[float, bool]]:
    classes = list(learner_of(model).classes_)
    for row, label in zip(table, true, strict=True):
        yield from ((float(p), c == label) for c, p in zip(classes, row))


def _of_class(model: Any, x: Any, table: Any, true: Any) -> Iterator[tuple[float, bool]]:
    yield from ((float(p), c == true) for c, p in zip(learner_of(model).classes_, table))


def _of_pairs(model: Any, x: Any, table: Any, true: Any) -> Iterator[tuple[float, bool]]:
    table, pairs = np.asarray(table.todense() if hasattr(table, "todense") else table), set(base_pairs(true))
    rows, columns = np.nonzero(np.triu(table >= 1e-3, 1))
    yield from ((float(table[i, j]), (i, j) in pairs) for i, j in zip(rows.tolist(), columns.tolist()))


def _of_columns(model: Any, x: Any, table: Any, true: Any) -> Iterator[tuple[float, bool]]:
    from trelliswork.structures.alignment.columns import reference_pairs

    pairs = set(reference_pairs(true, learner_of(model).structure.gap))
    rows, columns = np.nonzero(table["match"] >= 1e-3)
    yield from (
        (float(table["match"][i, j]), (i, j) in pairs) for i, j in zip(rows.tolist(), columns.tolist())
    )


def _of_brackets(model: Any, x: Any, table: Any, true: Any) -> Iterator[tuple[float, bool]]:
    there = set(brackets(as_node(true), tagged=True))
    yield from ((min(float(p), 1.0), span in there) for span, p in table.items())


_PARTS = {
    "label sequence": _of_labels,
    "label": _of_class,
    "RNA structure": _of_pairs,
    "alignment": _of_columns,
    "parse tree": _of_brackets,
}
