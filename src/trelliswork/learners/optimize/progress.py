"""What a fit says while it runs: ``history_``, a progress bar, or log lines."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Progress", "ended_by"]

logger = logging.getLogger("trelliswork")
_over: contextvars.ContextVar[Callable[[], bool] | None] = contextvars.ContextVar("over", default=None)


@contextlib.contextmanager
def ended_by(over: Callable[[], bool]) -> Iterator[None]:
    """Interrupt the fits of this thread at their next step once ``over()`` is true.

    A thread of its own never sees Ctrl-C, nor does a fit know what time it may take.

    Parameters
    ----------
    over : callable
        Asked at every step.
    """
    token = _over.set(over)
    try:
        yield
    finally:
        _over.reset(token)


SECONDS_BETWEEN_LINES = 10.0  # off a terminal


class Progress:
    """Collects one record per step and shows it.

    Parameters
    ----------
    title : str
        Name of the learner.
    total : int or None
        Expected number of steps.
    verbose : int
        0 shows nothing; 1 shows a progress bar on a terminal, and elsewhere a log line every 10 seconds;
        2 logs every step there.
    seen : callable or None
        How many tokens (or other units) were gone through so far, where that is counted.
    """

    def __init__(self, title: str, total: int | None, verbose: int, seen: Callable[[], float] | None = None):
        self.history: list[dict[str, Any]] = []
        self.title = title
        self.total = total
        self.verbose = verbose
        self.seen = seen
        self.started = self._logged = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None
        if verbose and not sys.stderr.isatty():
            _make_audible()
        elif verbose:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[said]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(self.title, total=self.total, said="")
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def expect(self, total: int) -> None:
        """Tell how many steps there will be, where that becomes clear on the way."""
        self.total = total
        if self._bar is not None:
            self._bar.update(self._task, total=total)

    def tick(self) -> None:
        """Say that a long step is still under way, where nothing was said for a while."""
        now = time.perf_counter()
        if self.verbose and self._bar is None and now - self._logged >= SECONDS_BETWEEN_LINES:
            self._log("", now)

    def step(self, **values: Any) -> None:
        """Record one step; ends the fit if its time is over."""
        self.done(**values)
        over = _over.get()
        if over is not None and over():
            raise KeyboardInterrupt

    def done(self, **values: Any) -> None:
        """Record the last step, after which there is nothing left to end."""
        now = time.perf_counter()
        record = {"iteration": len(self.history) + 1, **values, "seconds": now - self.started}
        self.history.append(record)
        if not self.verbose:
            return
        said = "  ".join(f"{k} {_shown(v)}" for k, v in values.items())
        if self.seen is not None:
            said += f"  {self.seen() / max(now - self.started, 1e-9):,.0f} tokens/s"
        if self._bar is not None:
            self._bar.update(self._task, advance=1, said=said)
        elif self.verbose > 1 or now - self._logged >= SECONDS_BETWEEN_LINES:
            self._log(f": {said}", now)

    def _log(self, said: str, now: float) -> None:
        self._logged = now
        of_all = f" of {max(self.total, len(self.history))}" if self.total else ""  # rounds may join
        done, took = len(self.history), now - self.started
        left = f", at most {took / done * (self.total - done):.0f} s left" if self.total and done else ""
        logger.info("%s %d%s%s  %.1f s%s", self.title, done, of_all, said, took, left)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _make_audible() -> None:
    """Send log lines to standard error where the program has not set up logging itself."""
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.INFO)
