"""What is known about a structure beforehand: constraints, and soft evidence such as SHAPE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._ragged import Ragged
from trelliswork.dp.rna.rules import KIND

if TYPE_CHECKING:
    from trelliswork.structures.rna.batch import RNABatch

__all__ = [
    "Evidence",
    "EvidenceRagged",
    "check_constraints",
    "evidence_scores",
    "forbidden_cells",
    "with_evidence",
]

_MARKS = "().x<>|?"
_MOST = 1e6  # score of evidence; rounding would hide the model's scores behind larger ones
KT = 0.61632  # kcal/mol at 37 degrees: energies to scores


class Evidence:
    """An RNA sequence together with what is known about its structure.

    Goes wherever a sequence goes: ``model.predict([Evidence(...), "ACGU"])``.

    Parameters
    ----------
    seq : str
        Bases.
    constraint : str or None, default=None
        One mark per base, as ViennaRNA has them: matching ``(`` and ``)`` are a pair, ``x`` is unpaired,
        ``|`` is paired, ``<`` is paired with a later base, ``>`` with an earlier one; nothing is known of
        ``.`` and ``?``.
    shape : sequence of float or None, default=None
        Reactivity of each base, NaN (or a negative number, as -999) where there is none. A paired base
        scores ``-(slope * ln(reactivity + 1) + intercept)``, once for each base of a pair. The larger, the
        less the base tends to pair.
    slope, intercept : float, default=1.8 and -0.6
        In kcal/mol, as usual for SHAPE. The larger the slope, the more a reactive base is kept from pairing;
        the larger the intercept, the more all bases are.
    paired : sequence of float or None, default=None
        Score of each base for being paired, once for each base of a pair, in the unit of the model's scores
        (natural logarithms of odds): evidence of any other kind. The larger, the more the base tends to pair.

    Examples
    --------
    >>> from trelliswork import CRF, RNA
    >>> from trelliswork.structures import Evidence
    >>> X, y = ["GGGAAACCC", "GCGCAAAGCGC", "GGAUUCGCC"], ["(((...)))", "((((...))))", "((.....))"]
    >>> model = CRF(RNA("g6")).fit(X, y)
    >>> model.predict(["GGGAAACCC", Evidence("GGGGAAACCCC", constraint="x.........x")])
    ['(((...)))', '.(((...))).']
    """

    def __init__(
        self,
        seq: str,
        *,
        constraint: str | None = None,
        shape: Sequence[float] | None = None,
        slope: float = 1.8,
        intercept: float = -0.6,
        paired: Sequence[float] | None = None,
    ):
        self.seq, self.constraint, self.shape, self.paired = seq, constraint, shape, paired
        self.slope, self.intercept = slope, intercept

    def __repr__(self) -> str:
        return f"Evidence({self.seq!r}, constraint={self.constraint!r}, shape={self.shape!r})"

    def __len__(self) -> int:
        return len(self.seq)

    @readable
    def scores(self, bases: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Scores of cells (``left``, ``right``), equal for unpaired bases; -inf forbids.

        Parameters
        ----------
        bases : ndarray of int
            The sequence.
        left, right : ndarray of int
            Ends of the cells.
        """
        paired = np.zeros(bases.size)
        if self.shape is not None:
            paired = self._reactivities(bases.size)
        if self.paired is not None:
            paired = paired + _numbers(self.paired, bases.size, "scores")
            bad = np.flatnonzero(~np.isfinite(paired))
            if bad.size:
                raise InputError(f"score of base {int(bad[0])} is not finite; a constraint forbids pairs")
        if np.abs(paired).max(initial=0.0) > _MOST:
            raise InputError(f"evidence scores a base by more than {_MOST:g}; a constraint forbids pairs")
        out = np.where(left == right, 0.0, paired[left] + paired[right])
        if self.constraint is not None:
            out[self._forbidden(bases, left, right)] = -np.inf
        return out

    def _reactivities(self, n: int) -> np.ndarray:
        """What being paired adds to the score of each base."""
        assert self.shape is not None
        values = _numbers(self.shape, n, "reactivities")
        for name, value in (("slope", self.slope), ("intercept", self.intercept)):
            if not isinstance(value, (int, float)) or not np.isfinite(value):
                raise InputError(f"{name} must be a finite number, got {value!r:.40}")
        if np.isinf(values).any():
            raise InputError(f"reactivity of base {int(np.flatnonzero(np.isinf(values))[0])} is infinite")
        known = values >= 0
        energy = self.slope * np.log1p(np.where(known, values, 0.0)) + self.intercept
        return np.where(known, -energy / KT, 0.0)

    def _forbidden(self, bases: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Cells that the constraint rules out."""
        text, n = self.constraint, bases.size
        assert text is not None
        if len(text) != n:
            raise InputError(f"the sequence has {n} bases but the constraint {len(text)} marks")
        other = next((mark for mark in text if mark not in _MARKS), None)
        if other is not None:
            raise InputError(f"{other!r} is no mark of a constraint; expected some of {_MARKS}")
        return forbidden_cells(text.replace(".", "?"), bases, left, right)


def _numbers(given: Sequence[float], n: int, what: str) -> np.ndarray:
    """One number for each base."""
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers") from None
    if values.shape != (n,):
        raise InputError(f"the sequence has {n} bases but there are {values.size} {what}")
    return values


def forbidden_cells(marks: str, bases: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Cells (``left``, ``right``), equal for unpaired bases, that the marks of a structure rule out.

    Parameters
    ----------
    marks : str
        Matching ``(`` and ``)`` are a pair, ``x`` is unpaired, ``|`` is paired, ``<`` is paired with a later
        base, ``>`` with an earlier one; nothing is known of ``?``.
    bases : ndarray of int
        The sequence.
    left, right : ndarray of int
        Ends of the cells.
    """
    partner = np.full(bases.size, -1)
    open_: list[int] = []
    for j, mark in enumerate(marks):
        if mark == "(":
            open_.append(j)
        elif mark == ")":
            if not open_:
                raise InputError(
                    f"the constraint cannot be met: ')' at position {j + 1} (from 1) closes nothing"
                )
            i = open_.pop()
            partner[i], partner[j] = j, i
            if KIND[bases[i], bases[j]] < 0:
                raise InputError(
                    f"the constraint cannot be met: bases {i + 1} and {j + 1} (from 1) do not pair"
                )
    if open_:
        raise InputError(
            f"the constraint cannot be met: '(' at position {open_[-1] + 1} (from 1) is never closed"
        )
    mark_of = np.array(list(marks))
    bad = (partner[left] >= 0) & (partner[left] != right) | (partner[right] >= 0) & (partner[right] != left)
    bad |= (mark_of[left] == "x") | (mark_of[right] == "x")
    bad |= (mark_of[left] == ">") | (mark_of[right] == "<")
    bad[left == right] = np.isin(mark_of, list("()|<>"))
    return np.asarray(bad)


class EvidenceRagged(Ragged):
    """Sequences, some of them with evidence."""

    known: Mapping[int, Evidence]


def with_evidence(bases: Ragged, known: Mapping[int, Evidence]) -> EvidenceRagged:
    """The same sequences with the evidence of some of them."""
    out = EvidenceRagged(bases.values, bases.offsets)
    out.known = known
    return out


def evidence_scores(bases: Any, batch: RNABatch) -> np.ndarray | None:
    """Scores of the cells of a batch that belong to its inputs; None if there is no evidence."""
    if not isinstance(bases, EvidenceRagged):
        return None
    out = np.zeros(batch.pair_ptr[-1])
    for i, evidence in bases.known.items():
        cells = batch.cells(bases[i].size)
        try:
            out[batch.pair_ptr[i] : batch.pair_ptr[i + 1]] = evidence.scores(bases[i], *cells)
        except InputError as error:
            raise InputError(error.message, sample=i) from None
    return out


def check_constraints(bases: Any, batch: RNABatch) -> None:
    """Refuse constraints that no structure meets: the search would end in one that does not meet them."""
    if not isinstance(bases, EvidenceRagged):
        return
    asked = np.array([i for i, one in bases.known.items() if one.constraint is not None], dtype=np.int64)
    if asked.size:
        bad = asked[~batch.subset(asked).possible()]
        if bad.size:
            raise InputError("the constraint cannot be met by any structure", sample=int(bad[0]))
