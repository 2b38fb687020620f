"""Columns of given alignments: their parts, their order, how many of them are right."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged
from trelliswork.dp.alignment.flags import CANONICAL, FREE_FIRST, FREE_SECOND, LOCAL
from trelliswork.structures.alignment.path import AlignPath

if TYPE_CHECKING:
    from trelliswork.structures.alignment.batch import AlignmentBatch
    from trelliswork.structures.alignment.structure import Alignment

__all__ = [
    "MOVES",
    "RESIDUES",
    "Columns",
    "accuracy",
    "canonical_moves",
    "flags_of",
    "gapped_texts",
    "moves_of_texts",
    "reference_pairs",
]

MOVES = "MDI"
# Upper-case letters of proteins and nucleotides, ambiguous ones among them.
RESIDUES = frozenset("ABCDEFGHIKLMNPQRSTUVWXYZ*")


def flags_of(structure: Alignment) -> int:
    """Mode of a structure as the recursions want it."""
    flags = CANONICAL if structure.canonical else 0
    if structure.mode == "local":
        flags |= LOCAL
    elif structure.mode == "semiglobal":
        flags |= {"first": FREE_FIRST, "second": FREE_SECOND, "both": FREE_FIRST | FREE_SECOND}[
            structure.free
        ]
    return flags


def canonical_moves(codes: np.ndarray) -> np.ndarray:
    """The same pairs of residues, with the deletions of every stretch of gaps first."""
    stretch = 2 * np.cumsum(codes == 0) - (codes == 0)  # gaps, then the match that ends them, and so on
    return codes[np.lexsort((codes, stretch))]


def _code_points(text: str) -> np.ndarray:
    """Code points of a text, which may be anything that Python takes for one."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def gapped_texts(first: list[str], second: list[str], codes: Ragged, gap: str) -> list[tuple[str, str]]:
    """Rows of alignments of texts, all at once."""
    rows = []
    for texts, here in ((first, (0, 1, 3)), (second, (0, 2, 4))):
        out = np.full(codes.values.size, ord(gap), dtype="<u4")
        out[np.isin(codes.values, here)] = _code_points("".join(texts))
        rows.append(out.tobytes().decode("utf-32-le", "surrogatepass"))
    return [(rows[0][a:b], rows[1][a:b]) for a, b in pairwise(codes.offsets.tolist())]


def moves_of_texts(first: str, second: str, gap: str) -> np.ndarray | None:
    """Moves of two gapped texts as numbers; None where something is wrong with them."""
    if len(first) != len(second) or len(gap) != 1:
        return None
    above, below = (_code_points(row) == ord(gap) for row in (first, second))
    return None if (above & below).any() else 2 * above.astype(np.int64) + below


class Columns(NamedTuple):
    """Parts of one given alignment per sample.

    Attributes
    ----------
    owner, first, second : ndarray
        Sample of every matched pair, and its residues (numbers within the sample).
    feature_owner, feature : ndarray
        Sample and feature of everything that fires one.
    """

    owner: np.ndarray
    first: np.ndarray
    second: np.ndarray
    feature_owner: np.ndarray
    feature: np.ndarray

    @classmethod
    def of(cls, batch: AlignmentBatch, codes: Ragged) -> Columns:
        """Read the codes of alignments."""
        values, lengths = codes.values, codes.lengths
        owner = np.repeat(np.arange(lengths.size), lengths)
        begin = codes.offsets[:-1][owner]
        takes_first, takes_second = np.isin(values, (0, 1, 3)), np.isin(values, (0, 2, 4))
        done_first, done_second = (
            np.concatenate([[0], np.cumsum(taken)]) for taken in (takes_first, takes_second)
        )
        place = np.arange(values.size)
        i, j = (
            done_first[place] - done_first[begin],
            done_second[place] - done_second[begin],
        )  # before the column
        match = values == 0
        pair = batch.of_pair[
            batch.first.values[batch.first.offsets[:-1][owner[match]] + i[match]],
            batch.second.values[batch.second.offsets[:-1][owner[match]] + j[match]],
        ]
        previous = np.concatenate([[-1], values[:-1]]) if values.size else values
        opening = (place == begin) | (previous != values)
        flags = batch.flags
        gap = (values == 1) | (values == 2)
        if flags & FREE_FIRST:
            gap &= ~((values == 1) & ((j == 0) | (j == batch.second.lengths[owner])))
        if flags & FREE_SECOND:
            gap &= ~((values == 2) & ((i == 0) | (i == batch.first.lengths[owner])))
        open_, extend = batch.space.of_gap.tolist()
        fired = np.where(opening[gap], open_, extend)
        known = pair >= 0
        return cls(
            owner[match],
            i[match],
            j[match],
            np.concatenate([owner[match][known], owner[gap]]),
            np.concatenate([pair[known], fired]),
        )


def _path(y: Any, gap: Any) -> AlignPath:
    return y if isinstance(y, AlignPath) else AlignPath.from_gapped(y[0], y[1], gap)


def reference_pairs(y: Any, gap: Any = "-", core: str = "all") -> set[tuple[int, int]]:
    """Pairs of residues that a true alignment matches; with ``core="upper"`` of two capitals only."""
    path = _path(y, gap)
    pairs = [tuple(pair) for pair in path.pairs().tolist()]
    if core == "upper":
        if isinstance(y, AlignPath):
            raise InputError("core='upper' needs letters, and an AlignPath has none; use path.gapped(*x)")
        first, second = ([s for s in row if s != gap] for row in y)
        pairs = [(i, j) for i, j in pairs if str(first[i]).isupper() and str(second[j]).isupper()]
    return set(pairs)


def accuracy(y_true: Any, y_pred: Any, gap: Any = "-", core: str = "all") -> float:
    """Share of the true pairs that are predicted; 1 where there are none."""
    true, predicted = reference_pairs(y_true, gap, core), reference_pairs(y_pred, gap)
    return len(true & predicted) / len(true) if true else 1.0
