"""What the training commands have in common: numbers checked, fits watched, models saved and told."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import typer

from trelliswork._errors import InputError
from trelliswork.cli._report import INTERRUPTED, one_line, say
from trelliswork.cli._wording import file_size

__all__ = ["Outcome", "check_numbers", "finish", "watched"]

_POSITIVE = ("smoothing", "C")
_NUMBERS = ("l1", "l2", "reg", "lam", "beta", *_POSITIVE)


class Outcome(NamedTuple):
    """How a fit ended.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C ended it.
    seconds : float
        What it took.
    """

    interrupted: bool
    seconds: float


def check_numbers(given: Mapping[str, Any]) -> None:
    """Refuse strengths that are negative or not finite, and those that must not be 0.

    Examples
    --------
    >>> from trelliswork.cli._training import check_numbers
    >>> check_numbers({"l2": 0.0, "max_iter": 3})
    >>> check_numbers({"C": 0.0})
    Traceback (most recent call last):
    ...
    trelliswork._errors.InputError: --C must be a finite number > 0, got 0.0
    """
    for option in _NUMBERS:
        positive = option in _POSITIVE
        if not 0 <= given.get(option, 0) < math.inf or (positive and given.get(option) == 0):
            least = "> 0" if positive else ">= 0"
            raise InputError(f"--{option} must be a finite number {least}, got {given[option]}")
    if given.get("lam") == 0 and given.get("beta") == 0:
        raise InputError("--lam and --beta are both 0: nothing keeps the weights finite; raise one of them")


def watched(
    fit: Callable[[], object], estimator: Any, located: Callable[[InputError], InputError], quiet: bool
) -> Outcome:
    """Run a fit; tells its warnings, and leaves with exit code 130 if nothing was learnt before Ctrl-C.

    Parameters
    ----------
    fit : callable
        The work.
    estimator : estimator
        What it fits.
    located : callable
        An error with the place in the file in the place of the number of a sample.
    quiet : bool
        Whether warnings are kept back.
    """
    from trelliswork.learners import FitInterrupted

    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit()
        except InputError as error:
            raise located(error) from None
    interrupted = any(issubclass(w.category, FitInterrupted) for w in caught)
    if not quiet:
        others = {one_line(w.message) for w in caught if not issubclass(w.category, FitInterrupted)}  # type: ignore[arg-type]
        for message in sorted(others):
            say(f"trelliswork: warning: {message}")
    if interrupted and not estimator.n_iter_:
        say("trelliswork: interrupted before the first iteration was complete; no model was saved")
        raise typer.Exit(INTERRUPTED)
    if "verbose" in estimator.get_params(deep=False):
        estimator.set_params(verbose=0)  # of this terminal, no part of the model
    return Outcome(interrupted, time.perf_counter() - started)


def finish(
    model: Any, output: str, info: Mapping[str, Any], said: list[str], *, interrupted: bool, quiet: bool
) -> None:
    """Save a model and say so; exit code 130 after Ctrl-C.

    Parameters
    ----------
    model : estimator
        What to save.
    output : str
        File.
    info : mapping
        What the file tells about the model.
    said : list of str
        What there is to say, but for the file.
    interrupted, quiet : bool
        How the fit ended; whether to say nothing but errors.
    """
    from trelliswork.persist import save

    save(model, output, info=dict(info))
    said = [*said, f"saved {output} ({file_size(os.path.getsize(output))})"]
    if interrupted:
        say(f"trelliswork: interrupted; the best weights so far are kept: {'; '.join(said)}")
        raise typer.Exit(INTERRUPTED)
    if not quiet:
        say("; ".join(said))
