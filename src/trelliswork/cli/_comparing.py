"""``compare``: all learners on the samples of one file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from trelliswork._errors import InputError
from trelliswork.cli._options import check_output
from trelliswork.cli._report import say
from trelliswork.cli.tasks import TASKS

__all__ = ["Samples", "compare_file", "with_features"]


class Samples(NamedTuple):
    """What a task reads from a file for a comparison.

    Attributes
    ----------
    X, y : lists of inputs and outputs
        Samples.
    structure : Structure
        What an output is.
    learners : mapping of str to estimator, or None
        Learners by the names of their classes, where they need features of their own; None are all that the
        structure can do.
    notes : tuple of str
        What a user should know about how the file was read.
    """

    X: Any
    y: Any
    structure: Any
    learners: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


def with_features(structure: Any, features: Callable[[str], Any]) -> dict[str, Any]:
    """All learners by the names of their classes, each behind its features.

    Parameters
    ----------
    structure : Structure
        What an output is.
    features : callable
        Takes the name of a class to a transformer.
    """
    from trelliswork.learners import LEARNERS
    from trelliswork.pipeline import make_pipeline

    named = {name: cls for name, cls in LEARNERS.items() if name != "Fixed"}
    return {name: make_pipeline(features(name), cls(structure)) for name, cls in named.items()}


def compare_file(
    task: str,
    source: str,
    *,
    learners: str,
    budget: float,
    scoring: str | None,
    output: str | None,
    jobs: int | None,
    quiet: bool,
    **reading: Any,
) -> None:
    """Read a file as a task does, compare learners on it, print the table and write the page.

    Parameters
    ----------
    task : str
        Key in :data:`TASKS`.
    source : str
        File.
    learners : str
        Names of classes with commas between them, or ``all``.
    budget : float
        Seconds.
    scoring : str or None
        What learners are compared by.
    output : str or None
        Page to write.
    jobs : int or None
        Threads.
    quiet : bool
        Whether to show no progress.
    **reading
        Options that some tasks take to read files; None where they were not given.
    """
    able = {name: module for name, module in TASKS.items() if hasattr(module, "samples")}
    if task not in able:
        raise InputError(f"compare: unknown task {task!r}; expected one of {', '.join(able)}")
    taken = inspect.signature(able[task].samples).parameters
    given = {name: value for name, value in reading.items() if value is not None}
    for name in given:
        if name not in taken:
            raise InputError(f"--{name} does not go with compare {task}")
    if output is not None:
        check_output(output)
    from trelliswork.selection import compare

    samples = able[task].samples(source, **given)
    for note in () if quiet else samples.notes:
        say(f"trelliswork: warning: {note}")
    comparison = compare(
        samples.X,
        samples.y,
        samples.structure,
        _chosen(learners, samples.learners),
        budget=budget,
        scoring=scoring,
        n_jobs=jobs,
        verbose=int(not quiet),
    )
    print(comparison)
    if output is not None:
        comparison.to_html(output, title=f"Which learner? {source}")
        if not quiet:
            say(f"wrote {output}")


def _chosen(text: str, known: Mapping[str, Any] | None) -> Any:
    """Learners by the text of ``--learners``."""
    if text == "all":
        return text if known is None else known
    names = [name.strip() for name in text.split(",")]
    if known is None:
        return names
    for name in names:
        if name not in known:
            raise InputError(f"--learners: unknown learner {name!r}; expected one of {', '.join(known)}")
    return {name: known[name] for name in names}
