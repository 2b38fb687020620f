"""Labels of a taxonomy, compared with all that is above them."""

from __future__ import annotations

from typing import Any

from trelliswork._front_door import readable

__all__ = ["hierarchical_f1"]


@readable
def hierarchical_f1(y_true: Any, y_pred: Any, taxonomy: Any) -> float:
    """F1 of the nodes above the labels: how much of the way down the taxonomy is right.

    A label stands for itself and all its ancestors but the root; precision and recall count these nodes over
    all samples together. A label that the taxonomy lacks stands for itself alone.

    Parameters
    ----------
    y_true, y_pred : sequences of labels
        The truth and the predictions.
    taxonomy : pairs, dict, graph, path or Taxonomy
        As in :class:`~trelliswork.Classes`.

    Returns
    -------
    float
        1.0 when all labels are right, 0.0 when nothing is.

    Examples
    --------
    >>> from trelliswork.metrics import hierarchical_f1
    >>> tree = {"animal": {"cat": {}, "dog": {}}, "plant": {"oak": {}}}
    >>> hierarchical_f1(["cat", "oak"], ["dog", "oak"], tree)
    0.75
    """
    from trelliswork.structures.classes.taxonomy import Taxonomy  # later: it loads SciPy

    tree = Taxonomy.read(taxonomy)
    n_true = n_predicted = n_right = 0
    for true, guess in zip(y_true, y_pred, strict=True):
        a, b = tree.lineage(true), tree.lineage(guess)
        n_true, n_predicted, n_right = n_true + len(a), n_predicted + len(b), n_right + len(a & b)
    return 2 * n_right / (n_true + n_predicted) if n_right else 0.0
