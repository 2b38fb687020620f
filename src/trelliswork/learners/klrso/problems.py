"""What is regressed on what: distinct inputs, their features, and one problem per multinomial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from trelliswork._errors import InputError
from trelliswork.kernels import (
    RBF,
    Composed,
    Linear,
    Normalized,
    Polynomial,
    Spectrum,
    VectorNGrams,
    as_kernel,
)
from trelliswork.kernels._compose import similarities
from trelliswork.learners.optimize.logistic import factor
from trelliswork.learners.optimize.lowrank import nystrom, pivoted_cholesky, random_basis
from trelliswork.structures.abilities import Multinomials, require
from trelliswork.structures.base import Batch

__all__ = [
    "Design",
    "Problem",
    "check_size",
    "choose_kernel",
    "distinct",
    "frequent_outcomes",
    "make_design",
    "problems",
    "telling_length",
]

_RARE = 10.0  # times as many substrings as an input has places are possible ones
_LONGEST = 8


class Problem(NamedTuple):
    """One multinomial that is to be predicted.

    Attributes
    ----------
    head : object
        Its name.
    outcomes : ndarray of int
        Features that are its frequent outcomes.
    rows : ndarray of int
        Distinct inputs in which it is used.
    targets : ndarray of shape (n_rows, n_outcomes)
        Mean shares of the outcomes in these.
    weights : ndarray of shape (n_rows,)
        Weight of each of them.
    """

    head: Any
    outcomes: np.ndarray
    rows: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


class Design(NamedTuple):
    """Inputs as the regressions see them.

    Attributes
    ----------
    gram : ndarray or None
        Similarities of all distinct inputs; None with a basis.
    features : ndarray of shape (n_distinct, n_columns)
        Their inner products are (or approximate) the Gram matrix.
    chosen : ndarray of int
        Distinct inputs that are compared with at prediction.
    back : ndarray or None
        Weights of features to coefficients of the chosen inputs; None where samples have their own.
    """

    gram: np.ndarray | None
    features: np.ndarray
    chosen: np.ndarray
    back: np.ndarray | None

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Features of some of the inputs, as few columns as possible."""
        if self.gram is not None and index.size < self.features.shape[1]:
            return factor(self.gram[np.ix_(index, index)])
        return self.features[index]


def choose_kernel(kernel: Any, inputs: Any) -> Any:
    """The kernel itself, or for ``"auto"`` one that suits rows, sequences of symbols or of vectors."""
    if not isinstance(kernel, str) or kernel != "auto":
        return as_kernel(kernel)
    if hasattr(inputs, "shape"):
        return Normalized(Linear()) if sp.issparse(inputs) else RBF()
    if all(isinstance(x, np.ndarray) and x.ndim == 2 for x in inputs):
        return Normalized(VectorNGrams(1, Linear()))
    shortest = telling_length(inputs)
    if shortest == 1:
        return Normalized(Spectrum(1, 3))
    return Composed(Normalized(Spectrum(shortest, max(2 * shortest - 1, shortest + 2))), Polynomial(3))


def telling_length(inputs: Any) -> int:
    """Length of the shortest substrings that an input has only a tenth of, or less, by chance.

    At most an eighth of the mean length of an input.

    Parameters
    ----------
    inputs : list of sequences of symbols
        Training inputs.

    Examples
    --------
    >>> from trelliswork.learners.klrso.problems import telling_length
    >>> telling_length(["ACGU" * 20]), telling_length([["a", "man", "sees", "the", "old", "dog"] * 2])
    (5, 1)
    """
    counts = np.array(list(Counter(symbol for x in inputs for symbol in x).values()), dtype=float)
    if counts.size < 2:
        return 1
    shares = counts / counts.sum()
    choices = -float(shares @ np.log(shares))  # log of the number of symbols, were they equally frequent
    size = counts.sum() / len(inputs)
    most = int(np.clip(size / 8, 1, _LONGEST))
    return int(np.clip(np.ceil(np.log(_RARE * size) / max(choices, 0.1)), 1, most))


def distinct(inputs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Number of the first of every set of equal inputs, and the place of each input in that list."""
    if hasattr(inputs, "shape"):  # rows of a matrix
        n = inputs.shape[0]
        return np.arange(n), np.arange(n)
    first: dict[Hashable, int] = {}
    place: dict[Hashable, int] = {}
    places = np.empty(len(inputs), dtype=np.int64)
    for i, x in enumerate(inputs):
        key = _key(x)
        first.setdefault(key, i)
        places[i] = place.setdefault(key, len(place))
    return np.array(list(first.values()), dtype=np.int64), places


def _key(x: Any) -> Hashable:
    if isinstance(x, np.ndarray):
        return (x.shape, x.tobytes())
    return tuple(x) if isinstance(x, list) else x


def take(inputs: Any, index: Iterable[int]) -> Any:
    """Some of the inputs."""
    return inputs[index] if hasattr(inputs, "shape") else [inputs[i] for i in index]


def make_design(
    kernel: Any,
    inputs: Any,
    names: np.ndarray,
    n_basis: int | None,
    basis: str,
    rng: np.random.Generator,
    *,
    max_bytes: int = 4 << 30,
    columns_from: int = 1 << 31,
) -> Design:
    """Gram matrix and its factor, or a basis of few inputs.

    Parameters
    ----------
    kernel : kernel
        Similarity of inputs.
    inputs : list or matrix
        Distinct inputs.
    names : ndarray of int
        Sample that each was first seen in, for messages.
    n_basis : int or None
        Size of the basis; None (or one of all inputs) is exact.
    basis : {"cholesky", "random"}
        How the basis is chosen.
    rng : Generator
        Of a random basis.
    max_bytes : int
        Size of the largest Gram matrix that is not refused.
    columns_from : int
        Size of the Gram matrix from which on a basis is found column by column, without the matrix.
    """
    m = names.size
    everything = np.arange(m)
    if n_basis is None or n_basis >= m:
        if 8 * m * m > max_bytes:
            raise InputError(
                f"the Gram matrix of {m:,} inputs takes {8 * m * m / 2**30:.0f} GiB; set n_basis, for "
                "instance n_basis=1000"
            )
        gram = similarities(kernel, inputs, inputs, names)
        gram = 0.5 * (gram + gram.T)
        return Design(gram, factor(gram), everything, None)
    if basis == "random":
        pivots = random_basis(lambda j: similarities(kernel, inputs, take(inputs, j), names), m, n_basis, rng)
    elif 8 * m * m <= columns_from:
        whole = similarities(kernel, inputs, inputs, names)
        pivots = pivoted_cholesky(lambda j: whole[:, j], np.diag(whole).copy(), n_basis)[0]
    else:
        diagonal = np.array([similarities(kernel, x, x)[0, 0] for x in (take(inputs, [i]) for i in range(m))])
        pivots = pivoted_cholesky(
            lambda j: similarities(kernel, inputs, take(inputs, j), names), diagonal, n_basis
        )[0]
    features, back = nystrom(pivots)
    return Design(None, features, pivots.chosen, back)


def check_size(n_inputs: int, n_outcomes: int, max_bytes: int = 4 << 30) -> None:
    """Refuse more coefficients than fit into memory."""
    if 8 * n_inputs * n_outcomes > max_bytes:
        raise InputError(
            f"{n_inputs:,} inputs times {n_outcomes:,} outcomes are too many coefficients; raise min_count, "
            "choose heads, or set n_basis"
        )


def frequent_outcomes(
    batch: Batch, totals: np.ndarray, heads: Any, min_count: float
) -> dict[Any, np.ndarray]:
    """Outcomes that are predicted, of every multinomial with at least two of them.

    Left out are outcomes with a total count below ``min_count`` (or of 0).

    Parameters
    ----------
    batch : Batch
        Samples.
    totals : ndarray of shape (n_features,)
        Counts of outcomes, summed over samples.
    heads : collection or None
        Heads to be predicted; None for all.
    min_count : float
        Threshold.
    """
    choices = require(batch, Multinomials).multinomials()
    if heads is not None:
        missing = [head for head in heads if head not in choices]
        if missing:
            raise InputError(f"heads: there is no {missing[0]!r}; there are {list(choices)!r:.200}")
        choices = {head: choices[head] for head in choices if head in set(heads)}
    kept = {head: m[(totals[m] >= min_count) & (totals[m] > 0)] for head, m in choices.items()}
    return {head: outcomes for head, outcomes in kept.items() if outcomes.size >= 2}


def problems(
    choices: dict[Any, np.ndarray],
    counts: sp.csc_matrix,
    place: np.ndarray,
    sample_weights: np.ndarray,
    weighting: str,
) -> list[Problem]:
    """One problem for every head that is used with at least two distinct inputs.

    Parameters
    ----------
    choices : dict
        Outcomes that are predicted, by head.
    counts : csc_matrix of shape (n_samples, n_features)
        How often outcomes occur in the outputs, or are expected to.
    place : ndarray of int
        Distinct input of each sample.
    sample_weights : ndarray of shape (n_samples,)
        Weight of each sample.
    weighting : {"example", "count"}
        Whether every sample that uses a head counts the same, or each use.
    """
    made = []
    for head, outcomes in choices.items():
        table = sp.csr_matrix(counts[:, outcomes])
        uses = np.asarray(table.sum(axis=1)).ravel()
        used = np.flatnonzero((uses > 0) & (sample_weights > 0))
        rows, row_of = np.unique(place[used], return_inverse=True)
        if rows.size < 2:
            continue
        weight = sample_weights[used] * (uses[used] if weighting == "count" else 1.0)
        share = sp.csr_matrix((weight / uses[used], (row_of, np.arange(used.size))), (rows.size, used.size))
        total = np.bincount(row_of, weight)
        targets = np.asarray((share @ table[used]).todense()) / total[:, None]
        made.append(Problem(head, outcomes, rows, targets, total))
    return made
