"""Single numbers of predicted parse trees: labelled brackets, exact match, tags."""

from __future__ import annotations

from typing import Any

from trelliswork._counts.brackets import bracket_scores
from trelliswork._front_door import readable

__all__ = ["bracket_f1", "bracket_precision", "bracket_recall", "tag_accuracy", "tree_accuracy"]


@readable
def bracket_f1(y_true: Any, y_pred: Any, *, root: bool = True, sample_weight: Any = None) -> float:
    """F1 of labelled brackets; see :func:`bracket_scores`.

    Parameters
    ----------
    y_true, y_pred : lists of trees
        As in :func:`bracket_scores`.
    root : bool, default=True
        Count the bracket of the whole tree.
    sample_weight : array-like or None
        Weight of each tree.

    Examples
    --------
    >>> from trelliswork.metrics import bracket_f1
    >>> bracket_f1(["(S (NP (N cats)) (VP (V sit)))"], ["(S (N cats) (VP (V sit)))"])
    0.8
    """
    return bracket_scores(y_true, y_pred, root=root, sample_weight=sample_weight).f1


@readable
def bracket_precision(y_true: Any, y_pred: Any, *, root: bool = True) -> float:
    """Share of the predicted brackets that are right; see :func:`bracket_scores`.

    Parameters
    ----------
    y_true, y_pred : lists of trees
        As in :func:`bracket_scores`.
    root : bool, default=True
        Count the bracket of the whole tree.

    Examples
    --------
    >>> from trelliswork.metrics import bracket_precision
    >>> bracket_precision(["(S (NP (N cats)) (VP (V sit)))"], ["(S (N cats) (VP (V sit)))"])
    1.0
    """
    return bracket_scores(y_true, y_pred, root=root).precision


@readable
def bracket_recall(y_true: Any, y_pred: Any, *, root: bool = True) -> float:
    """Share of the true brackets that were predicted; see :func:`bracket_scores`.

    Parameters
    ----------
    y_true, y_pred : lists of trees
        As in :func:`bracket_scores`.
    root : bool, default=True
        Count the bracket of the whole tree.

    Examples
    --------
    >>> from trelliswork.metrics import bracket_recall
    >>> bracket_recall(["(S (NP (N cats)) (VP (V sit)))"], ["(S (N cats) (VP (V sit)))"], root=False)
    0.5
    """
    return bracket_scores(y_true, y_pred, root=root).recall


@readable
def tree_accuracy(y_true: Any, y_pred: Any) -> float:
    """Share of predicted trees whose brackets are all right (exact match).

    Parameters
    ----------
    y_true, y_pred : lists of trees
        As in :func:`bracket_scores`.

    Examples
    --------
    >>> from trelliswork.metrics import tree_accuracy
    >>> tree_accuracy(["(S (NP (N cats)) (V sit))"] * 2, ["(S (NP (N cats)) (V sit))", None])
    0.5
    """
    return bracket_scores(y_true, y_pred).exact


@readable
def tag_accuracy(y_true: Any, y_pred: Any) -> float:
    """Share of words whose tag in the predicted tree is right.

    Parameters
    ----------
    y_true, y_pred : lists of trees
        As in :func:`bracket_scores`.

    Examples
    --------
    >>> from trelliswork.metrics import tag_accuracy
    >>> tag_accuracy(["(S (N cats) (V sit))"], ["(S (N cats) (N sit))"])
    0.5
    """
    return bracket_scores(y_true, y_pred).tags
