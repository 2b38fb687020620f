"""Numbers and outcomes in words, for the lines that training prints."""

from __future__ import annotations

from typing import Any

__all__ = ["counted", "ending", "file_size"]


def ending(estimator: Any, interrupted: bool) -> str:
    """How a fit ended, to follow its number of iterations."""
    if interrupted:
        return ", interrupted"
    if getattr(estimator, "message_", "").startswith("no better development score"):
        return ", stopped by dev"
    converged = getattr(estimator, "converged_", None)
    return "" if converged is None else ", converged" if converged else ", not converged"


def counted(number: int, noun: str) -> str:
    """Number and noun, the noun in the plural unless the number is 1."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def file_size(n: int) -> str:
    """Bytes in MB or kB."""
    return f"{n / 1e6:.1f} MB" if n >= 1e6 else f"{n / 1e3:.1f} kB"
