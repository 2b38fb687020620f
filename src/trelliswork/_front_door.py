"""Arguments of any kind: what Python and NumPy say about strange ones becomes one line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from trelliswork._errors import InputError, Unsupported

__all__ = ["FOREIGN", "readable"]

# What Python and NumPy raise about values of a kind that nobody thought of.
FOREIGN = (
    *(TypeError, ValueError, LookupError, AttributeError, ArithmeticError),
    *(RecursionError, NotImplementedError),
)
_LENGTH = 300

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
