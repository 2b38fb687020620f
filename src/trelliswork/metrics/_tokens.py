"""Share of tokens, and of whole sequences, that are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from trelliswork._errors import InputError
from trelliswork._front_door import readable

__all__ = ["judged", "paired", "sequence_accuracy", "token_accuracy", "token_error"]


@readable
def token_error(y_true: Any, y_pred: Any) -> float:
    """Share of tokens that have a wrong label (normalised Hamming loss over all tokens).

    Parameters
    ----------
    y_true, y_pred : sequence of label sequences
        Lists of lists, lists of arrays, a ``Ragged``, or strings (compared letter
        by letter). Labels are any values that can be compared. A true label None is not known, and its
        token is passed over (unless None is predicted, too); of a true set any label is right.

    Returns
    -------
    float
        Between 0 and 1; 0.0 when there is no token.

    Raises
    ------
    ValueError
        When the numbers of sequences differ, or the two lengths of one sample.

    Examples
    --------
    >>> from trelliswork.metrics import token_error
    >>> token_error([["D", "N"], ["D", "N"]], [["D", "N"], ["D", "V"]])
    0.25
    >>> token_error([["D", None, {"N", "V"}]], [["A", "N", "V"]])
    0.5
    """
    n_tokens, n_wrong, _, _ = _count(y_true, y_pred)
    return n_wrong / n_tokens if n_tokens else 0.0


@readable
def token_accuracy(y_true: Any, y_pred: Any) -> float:
    """Share of tokens that have the right label; see :func:`token_error`.

    Parameters
    ----------
    y_true, y_pred : sequence of label sequences
        As in :func:`token_error`.

    Returns
    -------
    float
        Between 0 and 1; 1.0 when there is no token.

    Examples
    --------
    >>> from trelliswork.metrics import token_accuracy
    >>> token_accuracy([["D", "N"], ["D", "N"]], [["D", "N"], ["D", "V"]])
    0.75
    """
    n_tokens, n_wrong, _, _ = _count(y_true, y_pred)
    return (n_tokens - n_wrong) / n_tokens if n_tokens else 1.0


@readable
def sequence_accuracy(y_true: Any, y_pred: Any) -> float:
    """Share of sequences in which every label is right.

    Parameters
    ----------
    y_true, y_pred : sequence of label sequences
        As in :func:`token_error`. An empty sequence counts as right.

    Returns
    -------
    float
        Between 0 and 1; 1.0 when there is no sequence.

    Examples
    --------
    >>> from trelliswork.metrics import sequence_accuracy
    >>> sequence_accuracy([["D", "N"], ["D", "N"]], [["D", "N"], ["D", "V"]])
    0.5
    """
    _, _, n_sequences, n_flawed = _count(y_true, y_pred)
    return (n_sequences - n_flawed) / n_sequences if n_sequences else 1.0


def paired(y_true: Any, y_pred: Any) -> Iterator[tuple[int, Sequence[Any], Sequence[Any]]]:
    """Yield ``(sample index, true labels, predicted labels)``, lengths checked, arrays as lists."""
    if len(y_true) != len(y_pred):
        raise InputError(f"y_true has {len(y_true)} sequences, y_pred has {len(y_pred)}")
    for i, (true, pred) in enumerate(zip(y_true, y_pred)):
        a, b = _labels(true, i, "y_true"), _labels(pred, i, "y_pred")
        if len(a) != len(b):
            raise InputError(f"y_true has {len(a)} labels, y_pred has {len(b)}", sample=i)
        yield i, a, b


def judged(true: Sequence[Any], predicted: Sequence[Any]) -> list[bool | None]:
    """Whether each label is right; None where the true label is not known."""
    out: list[bool | None] = []
    for a, b in zip(true, predicted, strict=True):
        if a is None and b is not None:
            out.append(None)
        elif isinstance(a, (set, frozenset)) and not isinstance(b, (set, frozenset)):
            out.append(b in a)
        else:
            out.append(a == b)
    return out


def _count(y_true: Any, y_pred: Any) -> tuple[int, int, int, int]:
    """Tokens, wrong tokens, sequences, sequences with a wrong token."""
    n_tokens = n_wrong = n_sequences = n_flawed = 0
    for _, a, b in paired(y_true, y_pred):
        verdicts = judged(a, b)
        wrong = verdicts.count(False)
        n_tokens += len(verdicts) - verdicts.count(None)
        n_wrong += wrong
        n_sequences += 1
        n_flawed += wrong > 0
    return n_tokens, n_wrong, n_sequences, n_flawed


def _labels(sequence: Any, i: int, name: str) -> Sequence[Any]:
    if isinstance(sequence, np.ndarray) and sequence.ndim:
        return sequence.tolist()
    if not (hasattr(sequence, "__len__") and hasattr(sequence, "__iter__")):
        raise InputError(
            f"{name} must be a list of labels for each sample, got {type(sequence).__name__}", sample=i
        )
    return sequence
