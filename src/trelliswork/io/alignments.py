"""Alignments of two sequences as text: Clustal blocks and lines of the pairwise mapping format."""

from __future__ import annotations

from typing import Any

from trelliswork._front_door import readable

__all__ = ["clustal", "paf"]

_WIDTH = 60  # columns of a block


@readable
def clustal(names: tuple[str, str], rows: tuple[str, str]) -> str:
    """A gapped pair in blocks of 60 columns, with ``*`` below equal residues.

    Parameters
    ----------
    names : pair of str
        Names of the sequences; what follows a blank is left out.
    rows : pair of str
        The sequences with gaps.

    Examples
    --------
    >>> from trelliswork.io import clustal
    >>> print(clustal(("a", "b"), ("GATTACA", "GAT-ACT")), end="")
    CLUSTAL
    <BLANKLINE>
    a  GATTACA
    b  GAT-ACT
       *** **
    <BLANKLINE>
    """
    short = [name.split()[0] if name.split() else "_" for name in names]
    width = max(map(len, short)) + 2
    marks = "".join("*" if a == b else " " for a, b in zip(rows[0].upper(), rows[1].upper(), strict=True))
    lines = ["CLUSTAL", ""]
    for start in range(0, max(len(marks), 1), _WIDTH):
        block = slice(start, start + _WIDTH)
        lines += [f"{name:<{width}}{row[block]}" for name, row in zip(short, rows, strict=True)]
        lines += [(" " * width + marks[block]).rstrip(), ""]
    return "\n".join(lines) + "\n"


@readable
def paf(names: tuple[str, str], x: tuple[str, str], path: Any, score: float) -> str:
    r"""A line of the pairwise mapping format (PAF): the second sequence on the first.

    Query is the second sequence and target the first, so that ``D`` in the CIGAR string (tag ``cg``) is a
    residue of the target without partner. Ends are those of the first and last match; the tag ``AS`` has
    the score.

    Parameters
    ----------
    names : pair of str
        Names of the sequences; what follows a blank is left out.
    x : pair of str
        The sequences without gaps.
    path : AlignPath
        Their alignment.
    score : float
        Its score.

    Examples
    --------
    >>> from trelliswork import AlignPath
    >>> from trelliswork.io import paf
    >>> paf(("t", "q"), ("GATTACA", "GATACA"), AlignPath.from_cigar("3M1D3M"), 12.0).split("\t")[:11]
    ['q', '6', '0', '6', '+', 't', '7', '0', '7', '6', '7']
    """
    short = [name.split()[0] if name.split() else "_" for name in names]
    moves = path.moves()
    before, after = len(moves) - len(moves.lstrip("DI")), len(moves) - len(moves.rstrip("DI"))
    inner = moves[before : len(moves) - after]
    start = [path.start[0] + moves[:before].count("D"), path.start[1] + moves[:before].count("I")]
    stop = [start[0] + len(inner) - inner.count("I"), start[1] + len(inner) - inner.count("D")]
    same = sum(x[0][i].upper() == x[1][j].upper() for i, j in path.pairs().tolist())
    runs: list[list[Any]] = []
    for move in inner:
        if runs and runs[-1][1] == move:
            runs[-1][0] += 1
        else:
            runs.append([1, move])
    cigar = "".join(f"{number}{move}" for number, move in runs)
    cells = [short[1], len(x[1]), start[1], stop[1], "+", short[0], len(x[0]), start[0], stop[0]]
    return "\t".join(map(str, [*cells, same, len(inner), 255, f"AS:f:{score:.6g}", f"cg:Z:{cigar}"]))
