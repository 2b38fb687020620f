"""Arguments of any kind: what Python and NumPy say about strange ones becomes one line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from trelliswork._errors import InputError, Unsupported, is_not_fitted

__all__ = ["FOREIGN", "blame_file", "from_file", "readable"]

# What Python and NumPy raise about values of a kind that nobody thought of.
FOREIGN = (
    *(TypeError, ValueError, LookupError, AttributeError, ArithmeticError),
    *(RecursionError, NotImplementedError),
)
_LENGTH = 300
_SOURCE = "_loaded_from"  # attribute of models from files: the name of the file

_Function = TypeVar("_Function", bound=Callable[..., Any])


def readable(function: _Function) -> _Function:
    """The function with an :class:`InputError` in place of exceptions about strange arguments.

    The original exception is the cause of the new one. A call with too few or too many arguments stays a
    ``TypeError``, and exceptions with a note, from functions of the user's, pass unchanged.

    Examples
    --------
    >>> from trelliswork._front_door import readable
    >>> @readable
    ... def longest(words):
    ...     return max(len(word) for word in words)
    >>> longest(["a", 3])
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: longest: object of type 'int' has no len()
    """

    @functools.wraps(function)
    def checked(*args: Any, **more: Any) -> Any:
        try:
            return function(*args, **more)
        except (InputError, Unsupported):
            raise
        except FOREIGN as error:
            of_the_call = error.__traceback__ is None or error.__traceback__.tb_next is None
            if of_the_call or getattr(error, "__notes__", None):
                raise
            reason = " ".join(str(error).split())[:_LENGTH] or type(error).__name__
            raise InputError(f"{_name(function, args)}: {reason}") from error

    return checked  # type: ignore[return-value]


def _name(function: Any, args: tuple[Any, ...]) -> str:
    """Name for messages; of a method that is called like a function, that of its class."""
    return type(args[0]).__name__ if function.__name__ == "__call__" and args else function.__name__


def from_file(model: Any, source: str) -> None:
    """Note that a model comes from a file, which nobody can vouch for."""
    vars(model)[_SOURCE] = source


def blame_file(model: Any, method: str, error: Exception) -> InputError | None:
    """What to raise in place of an exception from inside of a model that comes from a file.

    Contents of files are checked when they are loaded (``_stored.py``). This is the last line behind these
    checks: a combination of values that they do not know of ends in one line, too. The exception itself is to
    be the cause.

    Parameters
    ----------
    model : object
        Whose method was called.
    method : str
        Its name.
    error : Exception
        What it raised.

    Returns
    -------
    InputError or None
        None when the exception says all that is to be said: the model was not loaded, the exception is meant
        for the caller, is about the call itself, or comes from a function of the user's.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from trelliswork._front_door import blame_file, from_file
    >>> model = SimpleNamespace()
    >>> from_file(model, "tagger.tw")
    >>> try:
    ...     {}["x"]
    ... except KeyError as error:
    ...     print(blame_file(model, "predict", error))
    None
    """
    source = getattr(model, "__dict__", {}).get(_SOURCE)
    meant = isinstance(error, (InputError, Unsupported)) or is_not_fitted(error)
    of_the_call = error.__traceback__ is None or error.__traceback__.tb_next is None
    if source is None or meant or of_the_call or getattr(error, "__notes__", None):
        return None
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:_LENGTH]
    return InputError(
        f"{source}: {method} ended in {reason}; the contents of this model file do not fit together, or "
        "this is a fault of trelliswork"
    )
