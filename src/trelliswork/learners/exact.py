"""Outputs that tie to rounding, told apart: their scores are summed again, without any rounding.

Scores above about 10^10 have too few digits left for the difference of two outputs. Where few outputs are so
near to the best that rounding may have put them in the wrong order, their scores are summed as fractions of
the weights, and these few are ranked anew. If all others are too far behind to have any probability, the
probabilities of these few are known, too.
"""

from __future__ import annotations

import functools
import operator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged
from trelliswork.structures.base import Batch, Parts

__all__ = [
    "ADVICE",
    "Leaders",
    "exact_sums",
    "leaders",
    "no_digits",
    "rounding_error",
    "sample_scores",
    "told_apart",
]

ADVICE = "scale the weights or the features down"

_LISTED = 32  # outputs that are looked at
_NOTHING = -25.0  # log of a share of the probability that nobody misses
_STEPS = 8  # operations for each part, and to be on the safe side


class Leaders(NamedTuple):
    """The best outputs of a sample in the right order.

    Attributes
    ----------
    codes : Ragged
        The outputs.
    sums : list of Fraction
        Their scores.
    n_sure : int
        So many of them are the best ones for certain.
    whole : bool
        Whether all other outputs together have no probability to speak of.
    """

    codes: Ragged
    sums: list[Fraction]
    n_sure: int
    whole: bool

    def first(self, k: int) -> tuple[Ragged, np.ndarray, np.ndarray]:
        """The ``k`` best outputs with their scores and probabilities."""
        few = self.sums[:k]
        values = np.array([float(s) for s in few])
        return self.codes[np.arange(len(few))], values, np.exp(self.log_shares(few))

    def parts(self, one: Batch) -> Parts:
        """Probabilities of the parts of the sample, which is the only one of a batch."""
        p = np.exp(self.log_shares(self.sums))
        pieces = [one.indicators(self.codes[np.array([j])], p[j : j + 1]) for j in range(len(p))]
        return functools.reduce(operator.add, pieces)

    def drawn(self, rng: np.random.Generator) -> Ragged:
        """One of the outputs by chance."""
        p = np.exp(self.log_shares(self.sums))
        return self.codes[rng.choice(len(p), 1, p=p / p.sum())]

    def log_shares(self, sums: list[Fraction]) -> np.ndarray:
        """Log-probabilities of outputs with these scores, where the list has all of the probability."""
        ahead = np.array([float(s - self.sums[0]) for s in self.sums])
        return np.array([float(s - self.sums[0]) for s in sums]) - np.log(np.exp(ahead).sum())


def rounding_error(size: float, n_codes: int) -> float:
    """How far the score of an output may be off: each of its parts may have lost a digit of the sum so far.

    Parameters
    ----------
    size : float
        Largest score of a part.
    n_codes : int
        Length of the output.

    Examples
    --------
    >>> from trelliswork.learners.exact import rounding_error
    >>> rounding_error(1e16, 2) > 2.0  # numbers of this size are 2 apart
    True
    """
    n_steps = _STEPS * (n_codes + _STEPS)
    return float(np.finfo(float).eps) * size * n_steps * (n_codes + 1)


def exact_sums(batch: Batch, weights: np.ndarray, codes: Ragged) -> list[Fraction]:
    """Scores of outputs, one for each sample of a batch, without rounding."""
    features = batch.features(codes)
    out = []
    for row in range(features.shape[0]):
        part = slice(features.indptr[row], features.indptr[row + 1])
        pairs = zip(features.data[part].tolist(), weights[features.indices[part]].tolist(), strict=True)
        out.append(sum((Fraction(x) * Fraction(w) for x, w in pairs), start=Fraction(0)))
    return out


def leaders(batch: Batch, scores: Parts, model: Any, i: int, size: float, k: int = 1) -> Leaders | None:
    """The best outputs of a sample, ranked by exact scores.

    Parameters
    ----------
    batch : Batch
        Samples.
    scores : Parts
        Their scores.
    model : estimator
        Whose weights these scores are made of.
    i : int
        Number of the sample.
    size : float
        Largest score of a part.
    k : int
        Outputs that are asked for.

    Returns
    -------
    Leaders or None
        None where the scores are not made of weights alone, or the sample has no output.

    Examples
    --------
    >>> from trelliswork import Chain, Fixed
    >>> from trelliswork.learners.exact import leaders
    >>> model = Fixed(Chain(), {("emission", "x", "A"): 1e16, ("emission", "x", "B"): 1e16,
    ...                         ("emission", "y", "A"): 0.0, ("emission", "y", "B"): 1.0})
    >>> batch = model.pack([[["x", "y"]]])
    >>> found = leaders(batch, model.part_scores(batch, [[["x", "y"]]]), model, 0, 1e16)
    >>> batch.unpack_sample(0, found.codes)
    [['B'], ['A']]
    """
    one, weights = batch.subset([i]), getattr(model, "coef_", None)
    mine = sample_scores(batch, scores, i)
    if weights is None or batch.known is not None or not _made_of(one, mine, weights):
        return None
    n_listed = max(_LISTED, 2 * k)
    listed = one.kbest(mine, n_listed)[0]
    possible = np.flatnonzero(listed.values > -np.inf)
    if not possible.size:
        return None
    codes, values = listed.codes[possible], listed.values[possible]
    sums = exact_sums(one.subset(np.zeros(len(codes), dtype=np.int64)), weights, codes)
    order = sorted(range(len(sums)), key=lambda j: (-sums[j], j))
    codes, sums = codes[np.array(order)], [sums[j] for j in order]
    if len(values) < n_listed:  # there are no others
        return Leaders(codes, sums, len(sums), True)
    bound = Fraction(float(values[-1])) + Fraction(rounding_error(size, int(codes.lengths.max(initial=0))))
    behind = float(bound - sums[0]) + float(one.log_count()[0])
    return Leaders(codes, sums, sum(s > bound for s in sums), behind < _NOTHING)


def told_apart(
    batch: Batch, scores: Parts, model: Any, large: dict[int, bool], size: float, k: int = 1
) -> dict[int, Leaders]:
    """Outputs that have all of the probability, where rounding may decide; an error if nobody can tell.

    Parameters
    ----------
    batch : Batch
        Samples.
    scores : Parts
        Their scores.
    model : estimator
        Whose weights these scores are made of.
    large : dict of int to bool
        Samples with large scores, and whether the best output is so far ahead that rounding is no matter.
    size : float
        Largest score of a part.
    k : int
        Outputs that are asked for.
    """
    out = {}
    for i, clear in large.items():
        found = leaders(batch, scores, model, i, size, k)
        if found is not None and found.whole and found.n_sure >= min(k, len(found.sums)):
            out[i] = found
        elif not clear:
            raise no_digits(size, i)
    return out


def refuse_unclear(large: dict[int, bool], size: float) -> None:
    """Raise the error about the first sample whose best output is not far ahead.

    Parameters
    ----------
    large : dict of int to bool
        As in :func:`told_apart`.
    size : float
        Largest score of a part.
    """
    for i, clear in large.items():
        if not clear:
            raise no_digits(size, i)


def no_digits(size: float, sample: int) -> InputError:
    """The error about scores of a size that leaves no digits for differences."""
    return InputError(
        f"scores of about {size:.0e} have no digits left for probabilities; {ADVICE}", sample=sample
    )


def sample_scores(batch: Batch, scores: Parts, i: int) -> Parts:
    """Scores of one sample alone, for the batch that has only this one.

    Parameters
    ----------
    batch : Batch
        Samples.
    scores : Parts
        Their scores.
    i : int
        Number of the sample.
    """
    offsets, out = batch.part_offsets(), {}
    for name, array in scores.items():
        if array is not None and array.ndim != batch.shared_parts.get(name, -1):
            rows = offsets.get(name, np.arange(len(batch) + 1))
            array = array[rows[i] : rows[i + 1]]
        out[name] = array
    return type(scores)(**out)


def _made_of(batch: Batch, scores: Parts, weights: np.ndarray) -> bool:
    """Whether these are the scores of these weights, and nothing else."""
    if type(batch).candidates is not Batch.candidates:
        return False  # outputs that several derivations share
    same = dict(batch.scores(weights).items())
    for name, array in scores.items():
        other = same.get(name)
        if (array is None) != (other is None):
            return False
        if array is not None and other is not None and not np.array_equal(array, other):
            return False
    return True
