"""What goes to standard error: one line per mistake, and the exit code that belongs to it."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperGroup

from trelliswork._errors import Unsupported
from trelliswork.cli._options import with_optional_values

__all__ = ["INTERRUPTED", "MISTAKE", "OneLineGroup", "one_line", "say", "show_tracebacks"]

BUG, MISTAKE, INTERRUPTED, CLOSED_PIPE = 1, 2, 130, 141
DEBUG = "TRELLISWORK_DEBUG"

_debug = False


def show_tracebacks(wanted: bool) -> None:
    """Whether errors come with their traceback (also with ``TRELLISWORK_DEBUG=1``)."""
    global _debug
    _debug = wanted


def say(text: str) -> None:
    """Write one line to standard error; nobody listening is no error."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def one_line(error: BaseException) -> str:
    r"""Message of an error on one line; an error of the system starts with its file.

    Examples
    --------
    >>> from trelliswork.cli._report import one_line
    >>> one_line(FileNotFoundError(2, "No such file or directory", "a.txt"))
    'a.txt: No such file or directory'
    >>> one_line(ValueError("first\nsecond"))
    'first second'
    """
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    elif isinstance(error, MemoryError):
        text = f"not enough memory ({error})" if str(error) else "not enough memory"
    else:
        text = str(error) or type(error).__name__
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


class OneLineGroup(TyperGroup):
    """Commands whose mistakes are one line on standard error and exit code 2, without a traceback."""

    def main(  # type: ignore[override]
        self, args: Any = None, prog_name: str | None = None, *, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        """Parse and run; ends in ``SystemExit`` unless ``standalone_mode`` is off."""
        show_tracebacks(False)
        args = with_optional_values(sys.argv[1:] if args is None else args)
        try:
            code = super().main(args, prog_name, standalone_mode=False, **extra)
        except Exception as error:
            # What the parser says about options. Its classes live in click or, since
            # typer 0.2x, in typer itself; both have this method.
            if not hasattr(error, "format_message"):
                raise
            code = _usage(error)
        if not standalone_mode:
            return code
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; every failure becomes an exit code."""
        try:
            out = super().invoke(ctx)
            sys.stdout.flush()
            return out
        except KeyboardInterrupt:
            _trace()
            say("trelliswork: interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit(CLOSED_PIPE) from None
        except (ValueError, OSError, MemoryError, ImportError, ArithmeticError, Unsupported) as error:
            _trace()
            say(f"trelliswork: {one_line(error)}")
            raise typer.Exit(MISTAKE) from None
        except Exception as error:
            if isinstance(error, (typer.Exit, typer.Abort)) or hasattr(error, "format_message"):
                raise
            _trace()
            say(
                f"trelliswork: internal error, {type(error).__name__}: {one_line(error)} "
                f"(set {DEBUG}=1 for the traceback)"
            )
            raise typer.Exit(BUG) from None


def _usage(error: Any) -> int:
    text = one_line(ValueError(error.format_message())).rstrip(".")
    path = getattr(getattr(error, "ctx", None), "command_path", None)
    say(f"trelliswork: {text[:1].lower()}{text[1:]}" + (f"; see '{path} --help'" if path else ""))
    return MISTAKE


def _trace() -> None:
    if _debug or os.environ.get(DEBUG, "0") not in ("", "0"):
        traceback.print_exc()


def _drop_output() -> None:
    """Let the interpreter flush standard output into nothing when it ends."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
