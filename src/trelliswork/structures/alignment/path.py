"""One alignment of two sequences, apart from the sequences themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable
from trelliswork._sketch import path_svg

__all__ = ["AlignPath"]

_RUN = re.compile(r"(\d*)([MDI=X])")


class AlignPath:
    """An alignment as runs of matches (M), deletions (D) and insertions (I).

    A deletion is a residue of the first sequence against a gap, an insertion one of the second.
    Positions count from 0; intervals are half-open.

    Parameters
    ----------
    runs : iterable of (str, int)
        Moves and how often each is repeated; neighbours of one kind are joined.
    start : (int, int), default=(0, 0)
        First aligned residues of the two sequences; beyond (0, 0) in local alignments.

    Attributes
    ----------
    runs : tuple of (str, int)
        Moves and their numbers.
    start, stop : (int, int)
        First residues, and residues after the last ones.

    Examples
    --------
    >>> from trelliswork import AlignPath
    >>> path = AlignPath.from_gapped("GAT-TACA", "GATCTA-A")
    >>> path
    AlignPath('3M1I2M1D1M')
    >>> path.pairs().tolist()
    [[0, 0], [1, 1], [2, 2], [3, 4], [4, 5], [6, 6]]
    >>> path.gapped("GATTACA", "GATCTAA")
    ('GAT-TACA', 'GATCTA-A')
    """

    __slots__ = ("runs", "start", "stop")

    def __init__(self, runs: Iterable[tuple[str, int]], start: tuple[int, int] = (0, 0)):
        joined: list[list[Any]] = []
        for move, number in runs:
            if move not in ("M", "D", "I") or int(number) != number or number < 0:
                raise InputError(f"a run must be M, D or I and a number of columns, got {(move, number)!r}")
            if joined and joined[-1][0] == move:
                joined[-1][1] += int(number)
            elif number:
                joined.append([move, int(number)])
        self.runs = tuple((move, number) for move, number in joined)
        self.start = (int(start[0]), int(start[1]))
        if min(self.start) < 0:
            raise InputError(f"an alignment cannot start at {self.start}")
        used = {"M": 0, "D": 0, "I": 0}
        for move, number in self.runs:
            used[move] += number
        self.stop = (self.start[0] + used["M"] + used["D"], self.start[1] + used["M"] + used["I"])

    @classmethod
    def from_moves(cls, moves: Iterable[str], start: tuple[int, int] = (0, 0)) -> AlignPath:
        """Path of single moves.

        Parameters
        ----------
        moves : iterable of str
            ``M`` for a match, ``D`` for a symbol of the first sequence alone, ``I`` for one of
            the second.
        start : pair of int, default=(0, 0)
            Places in the two sequences at which the path begins.

        Examples
        --------
        >>> from trelliswork import AlignPath
        >>> AlignPath.from_moves("MMDM").to_cigar()
        '2M1D1M'
        """
        return cls(((move, sum(1 for _ in group)) for move, group in groupby(moves)), start)

    @classmethod
    def from_gapped(cls, first: Sequence[Any], second: Sequence[Any], gap: Any = "-") -> AlignPath:
        """Path of two gapped sequences of equal length.

        Parameters
        ----------
        first, second : str or sequence
            Rows of the alignment.
        gap : object, default="-"
            The gap symbol.
        """
        if len(first) != len(second):
            raise InputError(f"the gapped sequences have {len(first)} and {len(second)} columns")
        moves = []
        for k, (a, b) in enumerate(zip(first, second, strict=True)):
            if a == gap and b == gap:
                raise InputError(f"column {k} is a gap in both sequences; leave it out")
            moves.append("I" if a == gap else "D" if b == gap else "M")
        return cls.from_moves(moves)

    @classmethod
    @readable
    def from_cigar(cls, text: str, start: tuple[int, int] = (0, 0)) -> AlignPath:
        """Path of a CIGAR string; ``=`` and ``X`` are matches, the first sequence is the reference.

        Parameters
        ----------
        text : str
            Runs such as ``3=1X2I``.
        start : pair of int, default=(0, 0)
            Places in the two sequences at which the path begins.

        Examples
        --------
        >>> from trelliswork import AlignPath
        >>> AlignPath.from_cigar("3=1X2I").stop
        (4, 6)
        """
        if _RUN.sub("", text):
            raise InputError(f"{text!r} is not a CIGAR string of M, =, X, D and I")
        return cls(
            (("M" if op in "=X" else op, int(number or 1)) for number, op in _RUN.findall(text)), start
        )

    def to_cigar(self, first: Sequence[Any] | None = None, second: Sequence[Any] | None = None) -> str:
        """CIGAR string; with the two (ungapped) sequences, ``=`` and ``X`` instead of ``M``.

        Parameters
        ----------
        first, second : sequence or None
            The sequences without gaps.

        Examples
        --------
        >>> from trelliswork import AlignPath
        >>> AlignPath.from_cigar("3M1D").to_cigar("GATT", "GAA")
        '2=1X1D'
        """
        if first is None or second is None:
            return "".join(f"{number}{move}" for move, number in self.runs)
        self._check_fits(first, second)
        same = ["=" if first[i] == second[j] else "X" for i, j in self.pairs().tolist()]
        out, column = [], 0
        for move, number in self.runs:
            if move != "M":
                out.append(f"{number}{move}")
                continue
            out += [
                f"{sum(1 for _ in group)}{kind}" for kind, group in groupby(same[column : column + number])
            ]
            column += number
        return "".join(out)

    def moves(self) -> str:
        """One letter per column."""
        return "".join(move * number for move, number in self.runs)

    def pairs(self) -> np.ndarray:
        """Matched residues, shape (n_matches, 2)."""
        out, (i, j) = [], self.start
        for move, number in self.runs:
            if move == "M":
                out.append(np.stack([np.arange(i, i + number), np.arange(j, j + number)], axis=1))
            i += number * (move != "I")
            j += number * (move != "D")
        return np.concatenate(out) if out else np.zeros((0, 2), dtype=np.int64)

    def gapped(self, first: Sequence[Any], second: Sequence[Any], gap: Any = "-") -> tuple[Any, Any]:
        """The two sequences with gaps, all residues included.

        What a local alignment leaves out stands opposite to gaps: before it and after it, first the
        residues of the first sequence, then those of the second.

        Parameters
        ----------
        first, second : str or sequence
            The sequences without gaps.
        gap : object, default="-"
            The gap symbol.
        """
        self._check_fits(first, second)
        (i, j), (after_i, after_j) = self.start, (len(first) - self.stop[0], len(second) - self.stop[1])
        moves = "D" * i + "I" * j + self.moves() + "D" * after_i + "I" * after_j
        one, other = iter(first), iter(second)
        rows = (
            [gap if move == "I" else next(one) for move in moves],
            [gap if move == "D" else next(other) for move in moves],
        )
        text = isinstance(first, str) and isinstance(second, str) and isinstance(gap, str)
        return ("".join(rows[0]), "".join(rows[1])) if text else rows

    def pretty(self, first: Sequence[Any], second: Sequence[Any], *, gap: str = "-", width: int = 60) -> str:
        """The alignment for reading: three lines per block, ``|`` under equal residues.

        Parameters
        ----------
        first, second : str or sequence
            The sequences without gaps; symbols are shown by their first character.
        gap : str, default="-"
            The gap symbol.
        width : int, default=60
            Columns per block. More columns make fewer, longer blocks.

        Examples
        --------
        >>> from trelliswork import AlignPath
        >>> print(AlignPath.from_cigar("3M1I2M").pretty("GATTA", "GATCTC"))
        1 GAT-TA 5
          ||| |.
        1 GATCTC 6
        """
        self._check_fits(first, second)
        if width < 1:
            raise InputError(f"width must be at least 1 column, got {width!r}")
        (i, j), lines = self.start, []
        digits = len(str(max(*self.stop, 1)))
        moves = self.moves()
        for k in range(0, max(len(moves), 1), width):
            rows: list[list[str]] = [[], [], []]
            begin = i, j
            for move in moves[k : k + width]:
                a = gap if move == "I" else str(first[i])[:1]
                b = gap if move == "D" else str(second[j])[:1]
                mark = " " if move != "M" else "|" if first[i] == second[j] else "."
                for row, symbol in zip(rows, (a, mark, b), strict=True):
                    row.append(symbol)
                i, j = i + (move != "I"), j + (move != "D")
            top, middle, bottom = map("".join, rows)
            lines.append(f"{min(begin[0] + 1, max(i, 1)):>{digits}} {top} {i}")
            lines.append(f"{'':>{digits}} {middle}".rstrip())
            lines.append(f"{min(begin[1] + 1, max(j, 1)):>{digits}} {bottom} {j}")
            lines.append("")
        return "\n".join(lines[:-1])

    def _check_fits(self, first: Sequence[Any], second: Sequence[Any]) -> None:
        if self.stop[0] > len(first) or self.stop[1] > len(second):
            raise InputError(
                f"the alignment ends at {self.stop}, the sequences have lengths {len(first)}, {len(second)}"
            )

    def __len__(self) -> int:
        return sum(number for _, number in self.runs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AlignPath):
            return NotImplemented
        return self.runs == other.runs and self.start == other.start

    def __hash__(self) -> int:
        return hash((self.runs, self.start))

    def __repr__(self) -> str:
        where = "" if self.start == (0, 0) else f", start={self.start}"
        return f"AlignPath({self.to_cigar()!r}{where})"

    def _repr_svg_(self) -> str:
        return path_svg(self.runs)

    def __reduce__(self) -> tuple[Any, ...]:
        return AlignPath, (self.runs, self.start)
