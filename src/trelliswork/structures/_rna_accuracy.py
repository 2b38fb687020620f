"""Structures that are expected to have the most right positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._validate import as_number
from trelliswork.structures.base import Parts

__all__ = ["expected_accuracy"]


def expected_accuracy(model: Any, X: Any, gamma: float = 1.0) -> list[str]:
    """Structures of maximal expected accuracy.

    Where ``predict`` gives the single most probable structure, this weighs all of them: it maximises the
    expected number of unpaired bases that are right plus ``gamma`` times that of paired bases.

    Parameters
    ----------
    model : learner
        Fitted on :class:`RNA`.
    X : list of str
        Sequences.
    gamma : float, default=1.0
        More than 1 predicts more pairs, less than 1 fewer.

    Returns
    -------
    list of str
        Dot-bracket notation.

    Examples
    --------
    >>> from trelliswork import CRF, RNA
    >>> from trelliswork.structures import expected_accuracy
    >>> model = CRF(RNA()).fit(["GGGAAACCC", "GCGAAACGC"], ["(((...)))", "(((...)))"])
    >>> expected_accuracy(model, ["GGCAAAGCC"])
    ['(((...)))']
    >>> expected_accuracy(model, ["GGCAAAGCC"], gamma=0.01)
    ['.........']
    """
    from trelliswork.structures._rna_batch import RNABatch

    if as_number("gamma", gamma) <= 0 or not np.isfinite(gamma):
        raise InputError(f"gamma must be a finite number > 0, got {gamma!r}")
    found = model.predict_marginals(X)  # a model that is not fitted says so
    batch = model.space_.pack(X, n_jobs=model.n_jobs)
    if not isinstance(batch, RNABatch):
        raise InputError(f"expected a model on RNA, got one on {type(model.structure).__name__}")
    pair = np.empty(batch.pair_ptr[-1])
    for i, matrix in enumerate(found):
        gain = 2.0 * float(gamma) * matrix
        np.fill_diagonal(gain, np.diag(matrix))
        pair[batch.pair_ptr[i] : batch.pair_ptr[i + 1]] = gain[np.triu_indices(len(matrix))]
    return batch.unpack(batch.argmax(Parts(rule=None, pair=pair)).codes)
