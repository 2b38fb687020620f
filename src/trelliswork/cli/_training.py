"""The second half of every training command: fit, save the model, say in one line what was done.

A task reads its file and builds its estimator, then calls :func:`watched` for the fit and :func:`finish`
for the rest; the other functions put numbers and outcomes into words.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import typer

from trelliswork._errors import InputError
from trelliswork.cli._report import INTERRUPTED, one_line, say

__all__ = ["Outcome", "counted", "ending", "file_size", "finish", "watched"]


class Outcome(NamedTuple):
    """How a fit ended.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C or SIGTERM ended it.
    seconds : float
        What it took.
    """

    interrupted: bool
    seconds: float


def watched(
    fit: Callable[[], object],
    estimator: Any,
    located: Callable[[InputError], InputError],
    quiet: bool,
    last_fit: float = 10.0,
) -> Outcome:
    """Run a fit and print its warnings; exit code 130 if it was interrupted before anything was learnt.

    SIGTERM (from a queue of jobs, say) ends it as Ctrl-C does, so that what was learnt is saved; a last fit
    with settings that were chosen ends soon after, too, as the queue will not wait long.

    Parameters
    ----------
    fit : callable
        The work.
    estimator : estimator
        What it fits.
    located : callable
        Turns an error about a sample into one about a line of the file.
    quiet : bool
        Whether to keep warnings back.
    last_fit : float
        Seconds after SIGTERM that a fit with chosen settings may take.
    """
    from trelliswork.learners import FitInterrupted
    from trelliswork.learners.optimize.progress import ended_by

    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with _sigterm_interrupts(last_fit) as over, ended_by(over):
                fit()
        except InputError as error:
            raise located(error) from None
    interrupted = any(issubclass(w.category, FitInterrupted) for w in caught)
    if not quiet:
        others = {one_line(w.message) for w in caught if not issubclass(w.category, FitInterrupted)}  # type: ignore[arg-type]
        for message in sorted(others):
            say(f"trelliswork: warning: {message}")
    if interrupted and not getattr(estimator, "n_iter_", 1):  # a regression has no iterations
        say("trelliswork: interrupted before the first iteration was complete; no model was saved")
        raise typer.Exit(INTERRUPTED)
    if "verbose" in estimator.get_params(deep=False):
        estimator.set_params(verbose=0)  # belongs to this terminal, not to the model
    return Outcome(interrupted, time.perf_counter() - started)


@contextlib.contextmanager
def _sigterm_interrupts(last_fit: float) -> Iterator[Callable[[], bool]]:
    """Make SIGTERM an interrupt from the keyboard (only the main thread can); tells when its time is over."""
    told: list[float] = []

    def interrupt(number: int, frame: Any) -> None:
        told.append(time.perf_counter())
        signal.default_int_handler(number, frame)

    def over() -> bool:
        return bool(told) and time.perf_counter() > told[0] + last_fit

    if threading.current_thread() is not threading.main_thread():
        yield over
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield over
    finally:
        signal.signal(signal.SIGTERM, before)


def finish(
    model: Any, output: str, info: Mapping[str, Any], said: list[str], *, interrupted: bool, quiet: bool
) -> None:
    """Save a model and say so; exit code 130 after an interrupt.

    Parameters
    ----------
    model : estimator
        What to save.
    output : str
        File.
    info : mapping
        What the file says about the model; ``kind`` is the name of the task.
    said : list of str
        What to print, apart from the file.
    interrupted, quiet : bool
        How the fit ended; whether to print errors alone.
    """
    from trelliswork.persist import save

    save(model, output, info=dict(info))
    said = [*said, *_tuned(model), f"saved {output} ({file_size(os.path.getsize(output))})"]
    if interrupted:
        say(f"trelliswork: interrupted; the best weights so far are kept: {'; '.join(said)}")
        raise typer.Exit(INTERRUPTED)
    if not quiet:
        say("; ".join(said))


def _tuned(model: Any) -> list[str]:
    """What was chosen, where settings were tuned."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if not hasattr(last, "best_params_"):
        return []
    chosen = ", ".join(f"{name}={value}" for name, value in last.best_params_.items()) or "its defaults"
    tried = counted(len(last.results_["score"]), "setting")
    score = f"{last.scoring_} {last.best_score_:.4g}"
    return [f"tuned in {last.search_seconds_:.1f} s, {tried}: {chosen} ({score})"]


def ending(estimator: Any, interrupted: bool) -> str:
    """How a fit ended, to follow its number of iterations."""
    if interrupted:
        return ", interrupted"
    if getattr(estimator, "stop_", None) == "patience":
        return ", stopped by dev"
    converged = getattr(estimator, "converged_", None)
    return "" if converged is None else ", converged" if converged else ", not converged"


def counted(number: int, noun: str) -> str:
    """Number and noun, the noun in the plural unless the number is 1."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def file_size(n: int) -> str:
    """Bytes in MB or kB."""
    return f"{n / 1e6:.1f} MB" if n >= 1e6 else f"{n / 1e3:.1f} kB"
