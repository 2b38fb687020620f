"""Substitution matrices: published ones as weights, learnt ones as tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._validate import as_number

__all__ = ["alignment_weights", "read_matrix", "write_matrix"]


def alignment_weights(
    matrix: Any,
    *,
    gap_open: float,
    gap_extend: float | None = None,
    ordered: bool = False,
    letters: Iterable[Any] | None = None,
) -> dict[tuple[Any, ...], float]:
    """Weights of an :class:`Alignment` from a substitution matrix and gap scores.

    Parameters
    ----------
    matrix : str, path, mapping or substitution matrix
        Name of a matrix that Biopython has ("BLOSUM62", "PAM250"; needs the extra
        ``trelliswork[bio]``), the path of a file in the plain matrix format, a mapping from pairs of
        symbols to scores, a nested mapping, or a matrix of Biopython.
    gap_open : float
        Score of the first symbol of a gap: a number that is added, so 0 or negative. (What other programs
        call a cost or penalty of 11 is -11.)
    gap_extend : float or None, default=None
        Score of its other symbols, 0 or negative as well; None: that of the first ("linear" gaps,
        ``("gap",)``).
    ordered : bool, default=False
        Keep (a, b) and (b, a) apart, for the models "ordered" and "ordered-affine".
    letters : iterable or None, default=None
        Symbols to take; None takes all of the matrix.

    Returns
    -------
    dict
        Scores by feature name, for ``Fixed(Alignment(...), weights)``.

    Examples
    --------
    >>> from trelliswork import Alignment, Fixed, alignment_weights
    >>> table = {("A", "A"): 4, ("A", "C"): -2, ("C", "C"): 9}
    >>> weights = alignment_weights(table, gap_open=-11, gap_extend=-1)
    >>> weights["pair", "A", "C"], weights["open",], weights["extend",]
    (-2.0, -11.0, -1.0)
    >>> Fixed(Alignment("substitution-affine"), weights).predict([("ACCA", "ACA")])
    [('ACCA', 'A-CA')]
    """
    gaps = {"gap_open": gap_open} | ({} if gap_extend is None else {"gap_extend": gap_extend})
    for name, value in gaps.items():
        if as_number(name, value) > 0:
            raise InputError(
                f"{name}={value} would reward gaps: scores are added, so a cost of {value} is {name}={-value}"
            )
    scores = _scores(matrix)
    chosen = None if letters is None else set(letters)
    out: dict[tuple[Any, ...], float] = {}
    for (a, b), value in scores.items():
        if chosen is not None and not {a, b} <= chosen:
            continue
        if not np.isfinite(value):
            raise InputError(f"the matrix scores ({a!r}, {b!r}) with {value}; scores must be finite")
        if not ordered:
            a, b = sorted_pair(a, b)
            if out.get(("pair", a, b), value) != value:
                raise InputError(
                    f"the matrix scores ({a!r}, {b!r}) and ({b!r}, {a!r}) differently; use ordered=True"
                )
        out["pair", a, b] = float(value)
        if ordered and (b, a) not in scores:
            out["pair", b, a] = float(value)
    if not out:
        raise InputError("the matrix has none of the letters")
    if gap_extend is None:
        out["gap",] = as_number("gap_open", gap_open)
    else:
        out["open",] = as_number("gap_open", gap_open)
        out["extend",] = as_number("gap_extend", gap_extend)
    return out


def sorted_pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Two symbols in an order that does not depend on the alphabet's."""
    try:
        return (a, b) if a <= b else (b, a)
    except TypeError:
        return (a, b) if (type(a).__name__, repr(a)) <= (type(b).__name__, repr(b)) else (b, a)


def _scores(matrix: Any) -> dict[tuple[Any, Any], float]:
    if isinstance(matrix, (str, os.PathLike)):
        if isinstance(matrix, os.PathLike) or os.path.exists(matrix):
            return read_matrix(matrix)
        return _published(matrix)
    if hasattr(matrix, "alphabet") and hasattr(matrix, "shape"):  # of Biopython
        letters = list(matrix.alphabet)
        values = np.asarray(matrix, dtype=float)
        return {(a, b): values[i, j] for i, a in enumerate(letters) for j, b in enumerate(letters)}
    if not isinstance(matrix, Mapping):
        raise InputError(f"matrix must be a name, a file or a mapping, got {type(matrix).__name__}")
    out: dict[tuple[Any, Any], float] = {}
    for key, value in matrix.items():
        if isinstance(value, Mapping):
            out |= {(key, other): float(v) for other, v in value.items()}
        elif isinstance(key, tuple) and len(key) == 2:
            out[key] = float(value)
        else:
            raise InputError(f"matrix: expected a pair of symbols as key, got {key!r}")
    return out


def _published(name: str) -> dict[tuple[Any, Any], float]:
    try:
        from Bio.Align import substitution_matrices
    except ImportError:
        raise ImportError(
            f"the matrix {name!r} comes from Biopython; install trelliswork[bio], or give the path of a file"
        ) from None
    known = substitution_matrices.load()
    if name.upper() not in known:
        raise InputError(f"unknown matrix {name!r}: no such file, and Biopython has {', '.join(known)}")
    return _scores(substitution_matrices.load(name.upper()))


def read_matrix(path: str | os.PathLike[str]) -> dict[tuple[str, str], float]:
    r"""Read a substitution matrix in the plain format of alignment programs.

    Lines that start with ``#`` are comments; the first other line has the column symbols, each
    further line a symbol and its scores.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    dict
        Scores by (row, column).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trelliswork.structures import read_matrix
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "matrix.txt"
    >>> _ = path.write_text("# a comment\n   A  C\nA  4 -2\nC -2  9\n")
    >>> read_matrix(path)["A", "C"]
    -2.0
    """
    columns: list[str] | None = None
    out: dict[tuple[str, str], float] = {}
    text = Path(path).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if columns is None:
            columns = words
            continue
        if len(words) != len(columns) + 1:
            raise InputError.at(
                path, number, f"{len(words) - 1} scores; expected {len(columns)}, one per column"
            )
        for symbol, word in zip(columns, words[1:], strict=True):
            try:
                out[words[0], symbol] = float(word)
            except ValueError:
                raise InputError.at(path, number, f"{word!r} is not a number") from None
    if not out:
        raise InputError.at(path, None, "no matrix: expected a line of symbols and a line per symbol")
    return out


def write_matrix(
    model: Any, path: str | os.PathLike[str] | None = None, *, scale: float = 1.0, digits: int = 0
) -> str:
    """Write the learnt substitution matrix of a model in the plain format of alignment programs.

    Parameters
    ----------
    model : fitted learner
        With an :class:`Alignment` whose symbols have weights.
    path : str, path or None, default=None
        File to write; None only returns the text.
    scale : float, default=1.0
        Factor of all scores. Programs that read whole numbers lose at most ``0.5 / scale`` per score.
    digits : int, default=0
        Decimals.

    Returns
    -------
    str
        The text; comments tell the gap scores, times ``scale`` as well.

    Examples
    --------
    >>> from trelliswork import Alignment, Fixed, alignment_weights
    >>> from trelliswork.structures import write_matrix
    >>> weights = alignment_weights({("A", "A"): 1.5, ("A", "C"): -0.5, ("C", "C"): 2}, gap_open=-2)
    >>> print(write_matrix(Fixed(Alignment("substitution"), weights), scale=2))
    # scores times 2; gap -4
        A   C
    A   3  -1
    C  -1   4
    <BLANKLINE>
    """
    tables = model.tables()
    if "matrix" not in tables:
        raise InputError("the model has no substitution matrix; use a substitution or ordered model")
    symbols = [str(s) for s in tables["symbols"]]
    for symbol in symbols:
        if symbol.startswith("#") or symbol.split() != [symbol]:
            raise InputError(f"the matrix format cannot hold the symbol {symbol!r}: no '#', no white space")
    values = np.asarray(tables["matrix"]) * scale
    gaps = ", ".join(f"{name} {value * scale:z.6g}" for name, value in tables["gaps"].items())
    cells = [[f"{value:z.{digits}f}" for value in row] for row in values]
    width = max(3, *(len(cell) for row in cells for cell in row), *map(len, symbols)) + 1
    margin = max(map(len, symbols))
    lines = [f"# scores times {scale:g}; {gaps}", " " * margin + "".join(f"{s:>{width}}" for s in symbols)]
    lines += [f"{s:<{margin}}" + "".join(f"{c:>{width}}" for c in row) for s, row in zip(symbols, cells)]
    text = "\n".join(lines) + "\n"
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
