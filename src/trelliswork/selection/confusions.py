"""What is taken for what: labels, brackets, base pairs, columns of alignments, symbols of strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from trelliswork._dotbracket import base_pairs
from trelliswork._trees import as_node, brackets, normalized
from trelliswork.structures.alignment.columns import reference_pairs

__all__ = ["confusions", "edits"]

NOTHING = "(nothing)"


def confusions(structure: Any, X: Any, y_true: Any, y_pred: Any, top: int = 10) -> list[tuple[str, str, int]]:
    """Most frequent mistakes: the truth, the prediction, how often.

    Parameters
    ----------
    structure : Structure or None
        What an output is.
    X : list of inputs
        Their letters name base pairs and columns.
    y_true, y_pred : lists of outputs
        The truth and the predictions; None where there is none.
    top : int, default=10
        How many.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.selection.confusions import confusions
    >>> X, truth = [["the", "cat"], ["a", "run"]], [["D", "N"], ["D", "V"]]
    >>> confusions(Chain(), X, truth, [["D", "V"], ["D", "V"]])
    [('N', 'V', 1)]
    """
    parts = _PARTS.get(str(getattr(structure, "output_kind", None)), _outputs)
    inputs = X if isinstance(X, (list, tuple)) else [None] * len(y_true)
    counts: Counter[tuple[str, str]] = Counter()
    for x, true, guess in zip(inputs, y_true, y_pred, strict=True):
        if guess is not None:
            counts.update(parts(structure, x, true, guess))
    return [(a, b, n) for (a, b), n in counts.most_common(top)]


def edits(true: Any, guess: Any) -> tuple[int, list[tuple[str, str]]]:
    """Edit distance of two strings, and which symbols became which; an empty text stands for none.

    Parameters
    ----------
    true, guess : str or list
        Strings of symbols.

    Examples
    --------
    >>> from trelliswork.selection.confusions import edits
    >>> edits("kat", "cats")
    (2, [('', 's'), ('k', 'c')])
    """
    n, m = len(true), len(guess)
    if list(true) == list(guess):
        return 0, []
    table = [list(range(m + 1))]
    for i in range(1, n + 1):
        row, above = [i], table[-1]
        for j in range(1, m + 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (true[i - 1] != guess[j - 1])))
        table.append(row)
    pairs, i, j = [], n, m
    while i or j:
        if i and j and table[i][j] == table[i - 1][j - 1] + (true[i - 1] != guess[j - 1]):
            i, j = i - 1, j - 1
            if true[i] != guess[j]:
                pairs.append((str(true[i]), str(guess[j])))
        elif i and table[i][j] == table[i - 1][j] + 1:
            i -= 1
            pairs.append((str(true[i]), ""))
        else:
            j -= 1
            pairs.append(("", str(guess[j])))
    return table[n][m], pairs


def _labels(structure: Any, x: Any, true: Any, guess: Any) -> Iterator[tuple[str, str]]:
    return ((str(a), str(b)) for a, b in zip(true, guess) if a != b)


def _outputs(structure: Any, x: Any, true: Any, guess: Any) -> Iterator[tuple[str, str]]:
    a, b = f"{true!s:.60}", f"{guess!s:.60}"
    return iter([(a, b)] if a != b else [])


def _brackets(structure: Any, x: Any, true: Any, guess: Any) -> Iterator[tuple[str, str]]:
    """Brackets over the same words with other labels; those that are missed or made up."""
    sides: list[dict[tuple[int, int], Counter[str]]] = []
    for tree in (true, guess):
        spans: dict[tuple[int, int], Counter[str]] = {}
        node = normalized(as_node(tree))
        for label, a, b in [] if node is None else brackets(node):
            spans.setdefault((a, b), Counter())[label] += 1
        sides.append(spans)
    for span in sides[0].keys() | sides[1].keys():
        missed, wrong = (side.get(span, Counter()) for side in sides)
        left, right = list((missed - wrong).elements()), list((wrong - missed).elements())
        longer = max(len(left), len(right))
        left += [NOTHING] * (longer - len(left))
        right += [NOTHING] * (longer - len(right))
        yield from zip(sorted(left), sorted(right))


def _base_pairs(structure: Any, x: Any, true: Any, guess: Any) -> Iterator[tuple[str, str]]:
    """Base pairs that are missed or made up, by their bases."""
    missed, wrong = (set(base_pairs(a)) - set(base_pairs(b)) for a, b in ((true, guess), (guess, true)))
    yield from ((f"{x[i]}-{x[j]}", NOTHING) for i, j in missed)
    yield from ((NOTHING, f"{x[i]}-{x[j]}") for i, j in wrong)


def _columns(structure: Any, x: Any, true: Any, guess: Any) -> Iterator[tuple[str, str]]:
    """Residues of the first sequence that have another partner, by the letters of both."""
    sides = [dict(reference_pairs(output, structure.gap)) for output in (true, guess)]
    for i in sorted(sides[0].keys() | sides[1].keys()):
        partners = [side.get(i) for side in sides]
        if partners[0] != partners[1]:
            a, b = (structure.gap if j is None else x[1][j] for j in partners)
            yield f"{x[0][i]}:{a}", f"{x[0][i]}:{b}"


def _symbols(structure: Any, x: Any, true: Any, guess: Any) -> Iterator[tuple[str, str]]:
    """Symbols that are changed, missed or made up, against the nearest of the true outputs."""
    nearest = min((edits(output, guess) for output in structure.alternatives(true)), key=lambda e: e[0])
    return ((a or NOTHING, b or NOTHING) for a, b in nearest[1])


_PARTS = {
    "label sequence": _labels,
    "parse tree": _brackets,
    "RNA structure": _base_pairs,
    "alignment": _columns,
    "list of parts": _symbols,
}
