"""How many outputs a model ranks above the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._validate import check_number, count_samples

if TYPE_CHECKING:
    from trelliswork.structures.base import Parts

__all__ = ["relative_rank"]

_FIRST_LIST = 16


@readable
def relative_rank(
    model: Any,
    X: Any,
    y: Any,
    *,
    max_rank: int = 1024,
    n_samples: int = 1000,
    random_state: Any = 0,
    return_exact: bool = False,
) -> Any:
    """Share of all outputs of an input that score at least as high as the right one.

    1 / (number of outputs) is the best value; the right output itself counts, and so do
    ties. Where the right output is among the ``max_rank`` best or the ``max_rank`` worst outputs, the
    share is exact (from k-best lists and the exact number of outputs); otherwise, and for
    structures without such lists, it is estimated from random outputs.

    Parameters
    ----------
    model : fitted learner
        Any learner of this package.
    X, y : lists of inputs and outputs
        Samples and their right outputs.
    max_rank : int, default=1024
        Length of the longest list. A longer list is slower and ranks more samples exactly.
    n_samples : int, default=1000
        Random outputs per input. More are slower and less noisy.
    random_state : int, Generator or None, default=0
        Seed. Another number is another random choice, no better or worse.
    return_exact : bool, default=False
        Whether to return which values are exact, too.

    Returns
    -------
    shares : ndarray of shape (n_samples,)
        Between 0 and 1; 1 for outputs that the model does not allow.
    exact : ndarray of bool
        Only with ``return_exact``.

    Examples
    --------
    >>> from trelliswork import Chain, Perceptron, metrics
    >>> X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    >>> metrics.relative_rank(Perceptron(Chain()).fit(X, y), X, y).tolist()
    [0.25, 0.25]
    """
    for name, value in (("max_rank", max_rank), ("n_samples", n_samples)):
        check_number(name, value, 1, whole=True)
    if count_samples(X) != len(y):
        raise InputError(f"X has {count_samples(X)} samples but y has {len(y)}")
    batch = model.pack(X, y)

    def scores_of(samples: np.ndarray) -> Parts:
        rows = X[samples] if hasattr(X, "shape") else [X[i] for i in samples.tolist()]
        return model.part_scores(batch.subset(samples), rows)

    gold = batch.evaluate(batch.gold_codes, model.part_scores(batch, X))
    shares = np.ones(len(batch))
    exact = gold == -np.inf
    # A sum over parts and a recursion are rounded differently; outputs that close count as ties.
    todo = np.flatnonzero(~exact)
    floor = gold.copy()
    if todo.size:
        part = batch.subset(todo)
        floor[todo] -= 1e-10 * part.argmax(_sizes(scores_of(todo))).values
    log_count = batch.log_count()
    k = min(_FIRST_LIST, max_rank)
    while todo.size:
        part = batch.subset(todo)
        lists = part.kbest(scores_of(todo), k)
        above = np.array([int(np.sum(best.values >= floor[i])) for best, i in zip(lists, todo, strict=True)])
        full = np.array([len(best.values) == k for best in lists])
        done = (above < k) | ~full
        shares[todo[done]] = np.minimum(np.exp(np.log(above[done]) - log_count[todo[done]]), 1.0)
        exact[todo[done]] = True
        todo = todo[~done]
        if k == max_rank:
            break
        k = min(4 * k, max_rank)
    if todo.size:
        part = batch.subset(todo)
        lists = part.kbest(scores_of(todo) * -1.0, max_rank)
        below = np.array(
            [int(np.sum(-worst.values < floor[i])) for worst, i in zip(lists, todo, strict=True)]
        )
        done = below < max_rank
        shares[todo[done]] = -np.expm1(np.log(np.maximum(below[done], 1e-300)) - log_count[todo[done]])
        exact[todo[done]] = True
        todo = todo[~done]
    if todo.size:
        part = batch.subset(todo)
        scores = scores_of(todo)
        uniform = part.scores(np.zeros(batch.space.n_features))
        hits = np.zeros(todo.size)
        rng = np.random.default_rng(random_state)
        for codes in part.sample(uniform, n_samples, rng):
            hits += part.evaluate(codes, scores) >= floor[todo]
        # The lists have shown that at least max_rank outputs are as good; one always is.
        least = np.exp(np.log(max_rank) - log_count[todo])
        shares[todo] = np.minimum(np.maximum(hits / n_samples, least), 1.0)
    return (shares, exact) if return_exact else shares


def _sizes(scores: Parts) -> Parts:
    """Absolute values; forbidden parts stay forbidden."""
    from trelliswork.structures.base import Parts

    return Parts(**{k: a if a is None else np.where(a > -np.inf, np.abs(a), a) for k, a in scores.items()})
