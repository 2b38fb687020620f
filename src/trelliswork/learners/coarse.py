"""A start for long searches: the solution for some of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork.learners.asking import derived
from trelliswork.learners.known import Target
from trelliswork.learners.optimize.smooth import lbfgs
from trelliswork.structures.abilities import Settling
from trelliswork.structures.base import Batch

__all__ = ["coarse_start"]

_EVERY = 8  # sample
_STEPS, _TOL = 60, 1e-3
_SHARE = 0.5  # of the penalties: between those of one sample and those of all


def coarse_start(
    batch: Settling,
    origin: np.ndarray,
    *,
    l1: float,
    l2: Any,
    weights: np.ndarray | None,
    memory: int,
    max_iter: int,
) -> np.ndarray:
    """Weights, less those of ``origin``, that suit every eighth sample; zeros where samples are few.

    From nothing, a third of a search goes into what an eighth of the samples tells as well. Features that
    none of these has stay at ``origin``, so vectors are short, too.

    Parameters
    ----------
    batch : Settling
        All samples, with known outputs; ``limits.coarse_samples`` says how many are few.
    origin : ndarray of shape (n_features,)
        Weights that the penalties pull to.
    l1, l2 : float, or for l2 an array
        Penalties for all samples.
    weights : ndarray or None
        Weights of the samples.
    memory, max_iter : int
        As for the whole search, which takes fewer steps here.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork import Chain
    >>> from trelliswork.learners.coarse import coarse_start
    >>> chain = Chain().with_limits(coarse_samples=10)
    >>> _, batch = chain.compile([["a", "b"]] * 20, [["A", "B"]] * 20)
    >>> start = coarse_start(
    ...     batch, np.zeros(batch.space.n_features), l1=0.1, l2=0.1, weights=None, memory=10, max_iter=50
    ... )
    >>> batch.unpack(batch.argmax(batch.scores(start)).codes)[0]
    ['A', 'B']
    """
    full = np.zeros_like(origin)
    if len(batch) < batch.limits.coarse_samples:
        return full
    some = np.arange(0, len(batch), _EVERY)
    part: Batch = derived(batch.subset(some), _canonical)
    share = None if weights is None else weights[some]
    target = Target(part, share)
    used = np.flatnonzero((part.expected(origin, weights=share)[1] != 0) | (target(origin)[1] != 0))
    pull = _SHARE * (l2[used] if isinstance(l2, np.ndarray) else l2)

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        full[used] = v
        total, expected = part.expected(origin + full, weights=share)
        log_known, wanted = target(origin + full)
        g = (expected - wanted)[used] + (2.0 * pull) * v
        return total - log_known + float((pull * v) @ v), g

    begin = np.zeros(used.size)
    found = lbfgs(value, begin, l1=_SHARE * l1, memory=memory, max_iter=min(_STEPS, max_iter), tol=_TOL)
    full[used] = found.w
    return full


def _canonical(batch: Batch) -> Batch:
    return batch.canonical()
