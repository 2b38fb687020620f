"""F1 of the base pairs of predicted RNA structures."""

from __future__ import annotations

from typing import Any

from trelliswork._counts.base_pairs import base_pair_scores
from trelliswork._front_door import readable

__all__ = ["base_pair_f1"]


@readable
def base_pair_f1(y_true: Any, y_pred: Any, *, slip: int = 0) -> float:
    """F1 measure of base pairs over all samples together.

    Parameters
    ----------
    y_true, y_pred : list of str
        Structures.
    slip : int, default=0
        As in :func:`base_pair_scores`. The larger, the more is forgiven.

    Examples
    --------
    >>> from trelliswork.metrics import base_pair_f1
    >>> base_pair_f1(["(((...)))"], ["((.....))"])
    0.8
    """
    return base_pair_scores(y_true, y_pred, slip=slip).f1
