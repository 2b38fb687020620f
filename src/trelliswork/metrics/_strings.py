"""Scores of strings whose lengths may differ from the truth."""

from __future__ import annotations

from typing import Any

from trelliswork._errors import InputError
from trelliswork._front_door import readable

__all__ = ["edit_error", "mean_edit_distance"]


def _distances(y_true: Any, y_pred: Any) -> list[float]:
    from trelliswork.losses import Edit

    if len(y_true) != len(y_pred):
        raise InputError(f"y_true has {len(y_true)} strings but y_pred has {len(y_pred)}")
    distance = Edit()
    return [distance(a, b) for a, b in zip(y_true, y_pred, strict=True)]


@readable
def edit_error(y_true: Any, y_pred: Any) -> float:
    """Insertions, deletions and substitutions per true symbol (character or phoneme error rate).

    Parameters
    ----------
    y_true, y_pred : lists of strings or symbol lists
        The truth and the predictions.

    Returns
    -------
    float
        May exceed 1; 0 when every string is empty.

    Examples
    --------
    >>> from trelliswork.metrics import edit_error
    >>> edit_error(["kitten", "ab"], ["sitting", "ab"])
    0.375
    """
    total = sum(map(len, y_true))
    return sum(_distances(y_true, y_pred)) / total if total else 0.0


@readable
def mean_edit_distance(y_true: Any, y_pred: Any) -> float:
    """Mean number of insertions, deletions and substitutions in a string.

    Parameters
    ----------
    y_true, y_pred : lists of strings or symbol lists
        The truth and the predictions.

    Examples
    --------
    >>> from trelliswork.metrics import mean_edit_distance
    >>> mean_edit_distance(["kitten", "ab"], ["sitting", "ab"])
    1.5
    """
    distances = _distances(y_true, y_pred)
    return sum(distances) / len(distances) if distances else 0.0
