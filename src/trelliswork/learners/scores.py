"""Scores that are too large to be added up: one clear error instead of probabilities above 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork.learners.exact import ADVICE, refuse_unclear, rounding_error

if TYPE_CHECKING:
    from trelliswork.structures.base import Batch, Parts

__all__ = [
    "check_finite",
    "check_log_probabilities",
    "check_probabilities",
    "check_sums",
    "large_scores",
    "shares",
]

_LARGEST = 1e300  # a sum of 10^8 of them is still a number
_PRECISE = 1e10  # scores of this size are known to about 10^-6, so differences between outputs are, too
_CLEAR = 40.0  # an output ahead by so much has all of the probability
_ROUNDING = 1e-3


def check_finite(batch: Batch, scores: Parts) -> tuple[float, float]:
    """Refuse scores that are not numbers or whose sums would not be; returns the largest, and their size.

    Very negative scores are no harm: what they are added to is as good as forbidden.

    Parameters
    ----------
    batch : Batch
        Samples.
    scores : Parts
        Scores; minus infinity stands for what is forbidden.
    """
    largest = size = 0.0
    for name, array in scores.items():
        if array is None or not array.size:
            continue
        top, bottom = float(array.max()), float(array.min())
        if not top <= _LARGEST:  # False for NaN
            raise InputError(f"the scores overflow; {ADVICE}", sample=_owner(batch, name, array))
        if bottom == -np.inf:
            allowed = array[array > -np.inf]
            bottom = float(allowed.min()) if allowed.size else 0.0
        largest, size = max(largest, top), max(size, top, -bottom)
    return largest, size


def _owner(batch: Batch, name: str, array: np.ndarray) -> int | None:
    """First sample with a score that is too large; None for scores that all samples share."""
    offsets = batch.part_offsets().get(name)
    if offsets is None or array.shape[0] != offsets[-1]:
        return None
    bad = ~(array <= _LARGEST)
    row = int(np.flatnonzero(bad.reshape(array.shape[0], -1).any(axis=1))[0])
    return int(np.searchsorted(offsets, row, side="right")) - 1


def large_scores(batch: Batch, scores: Parts, *, sums: bool = True) -> tuple[dict[int, bool], float]:
    """Samples whose outputs have scores so large that rounding may decide, and how large scores are.

    Of each it is told whether the best output is far ahead of the second, so that there is nothing to decide:
    it has probability 1. Samples whose sums would not stay in the range of numbers are among them, if sums
    are asked for.

    Parameters
    ----------
    batch : Batch
        Samples.
    scores : Parts
        Their scores.
    sums : bool, default=True
        Whether outputs are to be added up.
    """
    largest, size = check_finite(batch, scores)
    if not len(batch):
        return {}, size
    if sums and not batch.sums_hold(scores):
        return dict.fromkeys(range(len(batch)), False), size
    if size <= _PRECISE:
        return {}, size
    out = {}
    for i, best in enumerate(batch.kbest(scores, 2)):
        if largest <= _PRECISE and np.all(np.abs(best.values[:1]) <= _PRECISE):
            continue  # the large scores are those of outputs that do not matter
        doubt = 2 * rounding_error(size, int(best.codes.lengths.max(initial=0)))
        alone = best.values.size < 2 or best.values[1] == -np.inf
        out[i] = alone or bool(best.values[0] - best.values[1] >= _CLEAR + doubt)
    return out, size


def check_sums(batch: Batch, scores: Parts) -> None:
    """Refuse scores so large that rounding decides about probabilities.

    Parameters
    ----------
    batch : Batch
        Samples.
    scores : Parts
        Their scores.
    """
    refuse_unclear(*large_scores(batch, scores))


def check_probabilities(marginals: Any, most: float = np.inf) -> None:
    """Refuse marginals that are no numbers, negative, or larger than a part can be probable.

    Parameters
    ----------
    marginals : list, dict or ndarray
        As a structure gives them to users.
    most : float
        Largest value that rounding aside makes sense.
    """
    if isinstance(marginals, dict):
        marginals = list(marginals.values())
    if isinstance(marginals, (list, tuple)) and marginals and isinstance(marginals[0], float):
        marginals = np.array(marginals)
    if isinstance(marginals, (list, tuple)):
        for item in marginals:
            check_probabilities(item, most)
        return
    array = marginals.data if hasattr(marginals, "tocsr") else np.asarray(marginals)
    if array.dtype.kind != "f" or not array.size:
        return
    if not (array.min() >= -_ROUNDING and array.max() <= most + _ROUNDING):
        raise InputError(
            f"the scores overflow: marginals of {array.min():.3g} to {array.max():.3g}; {ADVICE}"
        )


def check_log_probabilities(values: np.ndarray) -> None:
    """Refuse log-probabilities that are no numbers, or above 0 by more than rounding.

    Parameters
    ----------
    values : ndarray
        One per sample.
    """
    if np.any(~(values <= _ROUNDING)):
        i = int(np.flatnonzero(~(values <= _ROUNDING))[0])
        raise InputError(f"the scores overflow: a log-probability of {values[i]:.3g}; {ADVICE}", sample=i)


def shares(values: np.ndarray, log_z: float, sample: int) -> np.ndarray:
    """Probabilities of some outputs of a sample, which together have at most all of it.

    Parameters
    ----------
    values : ndarray
        Their scores; minus infinity for outputs that are not possible.
    log_z : float
        Log of the sum over all outputs.
    sample : int
        Number of the sample, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.learners.scores import shares
    >>> shares(np.array([0.0, -np.inf]), float(np.log(2.0)), 0)
    array([0.5, 0. ])
    """
    out = np.zeros(values.size)
    possible = values > -np.inf
    out[possible] = np.exp(np.minimum(values[possible] - log_z, 0.0))
    total = float(out.sum())
    if not total <= 1.0 + _ROUNDING:
        raise InputError(f"the scores overflow: probabilities add up to {total:.3g}; {ADVICE}", sample=sample)
    return out / total if total > 1.0 else out
