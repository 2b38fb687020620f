"""``compare``: all learners on the samples of one file."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from trelliswork._errors import InputError
from trelliswork.cli._options import check_output
from trelliswork.cli._report import say
from trelliswork.cli.tasks import TASKS

__all__ = ["Samples", "compare_file"]


class Samples(NamedTuple):
    """What a task reads from a file for a comparison.

    Attributes
    ----------
    X, y : lists of inputs and outputs
        Samples.
    structure : Structure
        What an output is.
    features : transformer or None
        What comes before the learners.
    """

    X: Any
    y: Any
    structure: Any
    features: Any = None


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
    names = learners if learners == "all" else [name.strip() for name in learners.split(",")]
    comparison = compare(
        samples.X,
        samples.y,
        samples.structure,
        names,
        budget=budget,
        scoring=scoring,
        features=samples.features,
        n_jobs=jobs,
        verbose=int(not quiet),
    )
    print(comparison)
    if output is not None:
        comparison.to_html(output, title=f"Which learner? {source}")
        if not quiet:
            say(f"wrote {output}")
