"""Errors that are meant to be read by people."""

from __future__ import annotations

__all__ = ["InputError"]


class InputError(ValueError):
    """Input that cannot be used, in one line: what was wrong, where, what to do.

    Examples
    --------
    >>> from trelliswork._errors import InputError
    >>> issubclass(InputError, ValueError)
    True
    """
