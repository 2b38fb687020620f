"""A race: settings that are surely behind the best one are given up before all data has been seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from trelliswork._errors import InputError

__all__ = ["RaceResult", "behind", "race"]

Candidate = TypeVar("Candidate", bound=Hashable)
_NONE = 1e-12  # standard error of differences that are all the same


class RaceResult(NamedTuple):
    """How a race ended.

    Attributes
    ----------
    best : object
        The candidate with the least mean loss of those that were left.
    left : list
        Candidates that saw all rounds.
    losses : dict
        For every candidate the losses of the rounds that it saw.

    Examples
    --------
    >>> from trelliswork.selection.racing import race
    >>> race([0.0, 1.0], [1, 2], lambda c, seen: [c] * seen, limit=None).left
    [0.0, 1.0]
    """

    best: Any
    left: list[Any]
    losses: dict[Any, list[np.ndarray]]


def behind(losses: Any, best: Any) -> float:
    """By how many standard errors losses are larger than those of another candidate on the same samples.

    Parameters
    ----------
    losses, best : arrays of one length
        Loss of every sample. They are compared in pairs, so that hard samples do not count as noise.

    Returns
    -------
    float
        Negative where the losses are smaller; 0 where they are the same.

    Examples
    --------
    >>> from trelliswork.selection.racing import behind
    >>> behind([1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0])
    2.0
    """
    apart = np.asarray(losses, dtype=np.float64) - np.asarray(best, dtype=np.float64)
    if apart.size == 0:
        raise InputError("no losses to compare")
    return float(apart.mean() / max(apart.std() / np.sqrt(apart.size), _NONE)) if apart.any() else 0.0


def race(
    candidates: Sequence[Candidate],
    rounds: Iterable[Any],
    judge: Callable[[Candidate, Any], Any],
    *,
    limit: float | None = 3.0,
) -> RaceResult:
    """Judge candidates round by round; those that are surely not the best leave.

    Parameters
    ----------
    candidates : sequence
        Settings, hashable.
    rounds : iterable
        What candidates are judged on, for instance (training, test) indices of splits.
    judge : callable
        ``judge(candidate, round)``: loss of every sample of the round, in the same order for all.
    limit : float or None, default=3.0
        Standard errors behind the best at which a candidate leaves; None lets all see all rounds. The
        larger, the longer candidates stay.

    Returns
    -------
    RaceResult
        The best candidate: that with the least sum of the mean losses of its rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.selection import race
    >>> def judge(mean, number):
    ...     return mean + np.random.default_rng([number, int(10 * mean)]).normal(size=50)
    >>> result = race([0.0, 0.1, 2.0], range(3), judge)
    >>> result.best, result.left, len(result.losses[2.0])
    (0.0, [0.0, 0.1], 1)
    """
    left = list(dict.fromkeys(candidates))
    if not left:
        raise InputError("a race needs candidates")
    losses: dict[Any, list[np.ndarray]] = {candidate: [] for candidate in left}
    totals = dict.fromkeys(left, 0.0)
    for current in rounds:
        for candidate in left:
            judged = np.asarray(judge(candidate, current), dtype=np.float64)
            losses[candidate].append(judged)
            totals[candidate] += float(judged.mean())
        if limit is not None:
            best = np.concatenate(losses[min(left, key=totals.__getitem__)])
            left = [c for c in left if behind(np.concatenate(losses[c]), best) <= limit]
    return RaceResult(min(left, key=totals.__getitem__), left, losses)
