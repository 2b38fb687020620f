"""How much memory a fit takes, estimated before it begins; what cannot fit is refused.

A fit holds some vectors as long as the weights, some tables with a number for every part of all outputs,
what the recursions of the structure need for its longest samples, and perhaps matrices. Every learner says
how many of these it has at the same time (``holds``), every batch how large its tables are.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError

if TYPE_CHECKING:
    from trelliswork.structures.base import Batch

__all__ = ["Holds", "available", "check_room", "memory_of_fit"]

_FEW_ROWS = 20_000  # rows of parts up to which tables are not worth a look
_PAIRS = 4 << 30  # bytes: larger matrices of pairs of samples are refused by those who make them


class Holds(NamedTuple):
    """What a learner holds at the same time, beside the samples.

    Attributes
    ----------
    vectors : float
        Vectors of one number per weight.
    tables : float
        Tables of one number per part of all outputs.
    costs : float
        Tables of one cost per part, for parts whose scores need no table.
    expected : float
        Tables of one expectation per part, for parts that have neither scores nor costs in a table.
    matrices : float
        Matrices of second moments of the features, as long as these are dense.
    deviations : float
        Tables of one number per sample and feature, as long as the matrices above are dense.
    pairs : float
        Matrices of one number per pair of samples.
    question : {"viterbi", "generative", "expect", "tangent"}
        The question to the recursions that takes the largest tables: best outputs, weights of a generative
        model, expectations or their derivatives.
    """

    vectors: float = 4.0
    tables: float = 1.0
    costs: float = 0.0
    expected: float = 0.0
    matrices: float = 0.0
    deviations: float = 0.0
    pairs: float = 0.0
    question: str = "expect"


def memory_of_fit(learner: Any, batch: Batch) -> int:
    """Bytes that a fit takes beside the samples, about.

    Parameters
    ----------
    learner : StructuredEstimator
        The learner.
    batch : Batch
        Its samples.

    Examples
    --------
    >>> from trelliswork import CRF, Chain, Perceptron
    >>> from trelliswork.learners.room import memory_of_fit
    >>> _, batch = Chain().compile([["a", "b"]], [["A", "B"]])
    >>> memory_of_fit(CRF(Chain()), batch) > memory_of_fit(Perceptron(Chain()), batch)
    True
    """
    held, n = learner.holds(), batch.space.n_features
    of_scores, of_costs, of_expected = table_bytes(batch, held.question, held.costs > 0)
    total = 8.0 * held.vectors * n + held.tables * of_scores + held.costs * of_costs
    total += held.expected * of_expected
    if held.matrices and n <= batch.limits.matrix_features:
        rows = min(len(batch), batch.limits.leaf_samples)
        total += 8.0 * n * (held.matrices * n + held.deviations * rows)
    total += min(8.0 * held.pairs * len(batch) ** 2, _PAIRS)
    return int(total + batch.working_bytes(held.question, costs=held.costs > 0))


def table_bytes(batch: Batch, question: str, costs: bool) -> tuple[int, int, int]:
    """Bytes of tables of all parts, judged by a short sample.

    Of scores; of costs of the other parts; and of the expectations of parts that have no costs either.
    """
    offsets = batch.rough_part_offsets(question, costs=costs)
    lengths = {name: np.diff(rows) for name, rows in offsets.items()}
    if not lengths or sum(int(rows[-1]) for rows in offsets.values()) <= _FEW_ROWS:
        return 0, 0, 0
    some = np.flatnonzero(np.min(list(lengths.values()), axis=0) > 0)
    if not some.size:
        return 0, 0, 0
    i = int(some[np.argmin(next(iter(lengths.values()))[some])])
    parts = batch.subset([i]).scores(np.zeros(batch.space.n_features))
    of_scores = of_costs = of_expected = 0
    for name, array in parts.items():
        if name not in offsets:
            continue
        if array is not None:
            of_scores += array.nbytes // max(array.shape[0], 1) * int(offsets[name][-1])
        elif batch.indicates_all:
            of_costs += 8 * int(offsets[name][-1])
        else:
            of_expected += 8 * int(offsets[name][-1])
    return of_scores, of_costs, of_expected


def available() -> int | None:
    """Bytes that this process may still take; None where nobody knows."""
    found = []
    with suppress(OSError, ValueError, IndexError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found.append(1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]))
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            found.append(max(limit - pages * os.sysconf("SC_PAGE_SIZE"), 0))
    with suppress(OSError, ValueError):  # of a container; "max" is no number
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        used = int((group / "memory.current").read_text(encoding="ascii"))
        stat = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
        found.append(max(limit - used + int(stat.get("inactive_file", 0)), 0))  # files read can be dropped
    return min(found, default=None)


def check_room(learner: Any, batch: Batch, small: int = 1 << 26) -> None:
    """Refuse a fit that cannot fit into memory.

    Parameters
    ----------
    learner : StructuredEstimator
        The learner.
    batch : Batch
        Its samples.
    small : int
        Bytes that always fit: a fit that takes no more is let pass without a look at what is free.
    """
    needed = memory_of_fit(learner, batch)
    if needed <= small:
        return
    free = available()
    if free is not None and needed > free:
        name, n = type(learner).__name__, batch.space.n_features
        raise InputError(
            f"{name} on {len(batch):,} samples with {n:,} weights would take about "
            f"{needed / 2**30:,.1f} GiB, and {free / 2**30:,.1f} are free; take fewer features or "
            "labels, fewer or shorter samples, or Perceptron, which keeps the fewest copies of the weights"
        )
