"""The front door: data of any kind become samples, or one line says which of them cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from trelliswork._errors import InputError, Unsupported
from trelliswork._front_door import FOREIGN
from trelliswork._validate import count_samples

if TYPE_CHECKING:
    from trelliswork.structures.base import Structure

__all__ = ["reading"]

_LENGTH = 200


@contextmanager
def reading(structure: Structure, X: Any, y: Any = None) -> Iterator[None]:
    """Turn exceptions about strange data into an :class:`InputError` that names the sample.

    Structures have messages of their own for what users get wrong. This is for the rest; the original
    exception is the cause of the new one. Exceptions of a user's own functions, which have a note that says
    so, pass unchanged.

    Parameters
    ----------
    structure : Structure
        What reads the data.
    X, y : lists
        Inputs and, perhaps, outputs.

    Examples
    --------
    >>> from trelliswork import Chain, InputError
    >>> from trelliswork.learners.reading import reading
    >>> with reading(Chain(), [["a"], ["b"]]):
    ...     raise TypeError("unhashable type")
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: Chain cannot read these data: unhashable type
    """
    try:
        yield
    except (InputError, Unsupported):
        raise
    except FOREIGN as error:
        if getattr(error, "__notes__", None):
            raise
        name, reason = type(structure).__name__, " ".join(str(error).split())[:_LENGTH]
        reason = reason or type(error).__name__
        sample = _culprit(structure, X, y)
        what = "these data" if sample is None else "this input" if y is None else "this input or output"
        raise InputError(f"{name} cannot read {what}: {reason}", sample=sample) from error


def _culprit(structure: Structure, X: Any, y: Any) -> int | None:
    """Number of the first sample that cannot be read by itself; None where that is none of them."""
    for i in range(count_samples(X)):
        try:
            structure.compile(X[i : i + 1], [None] if y is None else y[i : i + 1])
        except (InputError, Unsupported):
            continue  # without an output, or without the labels of the others
        except FOREIGN:
            return i
    return None
