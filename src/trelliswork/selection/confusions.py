"""What is taken for what: labels of tokens and samples, labels of brackets, whole outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from trelliswork._trees import as_node, brackets, normalized

__all__ = ["confusions"]

NOTHING = "(nothing)"


def confusions(structure: Any, y_true: Any, y_pred: Any, top: int = 10) -> list[tuple[str, str, int]]:
    """Most frequent mistakes: the truth, the prediction, how often.

    Parameters
    ----------
    structure : Structure or None
        What an output is.
    y_true, y_pred : lists of outputs
        The truth and the predictions; None where there is none.
    top : int, default=10
        How many.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.selection.confusions import confusions
    >>> confusions(Chain(), [["D", "N"], ["D", "V"]], [["D", "V"], ["D", "V"]])
    [('N', 'V', 1)]
    """
    kind = getattr(structure, "output_kind", None)
    parts = {"label sequence": _labels, "parse tree": _brackets}.get(str(kind), _outputs)
    counts: Counter[tuple[str, str]] = Counter()
    for true, guess in zip(y_true, y_pred, strict=True):
        if guess is not None:
            counts.update(parts(true, guess))
    return [(a, b, n) for (a, b), n in counts.most_common(top)]


def _labels(true: Any, guess: Any) -> Iterator[tuple[str, str]]:
    return ((str(a), str(b)) for a, b in zip(true, guess) if a != b)


def _outputs(true: Any, guess: Any) -> Iterator[tuple[str, str]]:
    a, b = f"{true!s:.60}", f"{guess!s:.60}"
    return iter([(a, b)] if a != b else [])


def _brackets(true: Any, guess: Any) -> Iterator[tuple[str, str]]:
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
