"""Every learner with its default arguments on real tasks, beside the trivial answer, the peer, and tuning.

Defaults were chosen on the tasks of the first table (``benchmarks/_tasks.py``); those of the second are only
reported. A cell is the error on the test part: wrong tokens, wrong classes, 1 - F1 of brackets and of base
pairs, columns that are not found. The peers have default arguments too.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import trelliswork as tw
from benchmarks._measure import arguments, write_results
from benchmarks._peers import peer_error
from benchmarks._tasks import APART, CHOSEN_ON, Task

LEARNERS = ("CRF", "StructuredSVM", "VotedCRF", "Perceptron", "ZScore", "SODA", "Generative")
SLOW = ("StructBoost", "KLRSO")


def default_error(task: Task, learner: str) -> tuple[float | None, float, list[str]]:
    """Error on the test part (None where the learner does not take such data), seconds, warnings."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = getattr(tw, learner)(task.structure).fit(*task.train)
        except (tw.InputError, tw.Unsupported):
            return None, 0.0, []
    seconds = time.perf_counter() - started
    said = [w.category.__name__ for w in caught if issubclass(w.category, tw.FitWarning)]
    return task.error(task.test[1], model.predict(task.test[0])), seconds, said


def tuned_error(task: Task, learner: str, budget: float) -> float | None:
    """Error on the test part after tuning by inner cross-validation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = tw.Tuned(getattr(tw, learner)(task.structure), cv=3, budget=budget).fit(*task.train)
        except (tw.InputError, tw.Unsupported):
            return None
    return task.error(task.test[1], model.predict(task.test[0]))


def table(tasks: dict[str, Any], data: Path, learners: tuple[str, ...], budget: float) -> str:
    """One row per task; with a budget, the error after tuning in brackets."""
    head = ["task", "trivial", "peer", *learners]
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    for name, read in tasks.items():
        task = read(data)
        peer, peer_name = peer_error(task)
        row = [
            name,
            f"{100 * task.trivial:.1f}",
            "-" if peer is None else f"{100 * peer:.1f} ({peer_name})",
        ]
        for learner in learners:
            error, seconds, said = default_error(task, learner)
            cell = "-" if error is None else f"{100 * error:.1f}{'!' if said else ''} ({seconds:.1f} s)"
            if budget and error is not None:
                tuned = tuned_error(task, learner, budget)
                cell += "" if tuned is None else f" [{100 * tuned:.1f}]"
            row.append(cell)
            print(name, learner, cell, flush=True)
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    args = arguments(
        __doc__ or "",
        budget=(0.0, "seconds of tuning per cell; 0 leaves it out"),
        slow=(0, "1: also the learners that take minutes"),
    )
    learners = LEARNERS + (SLOW if args.slow else ())
    data = Path(args.data)
    tables = [table(tasks, data, learners, args.budget) for tasks in (CHOSEN_ON, APART)]
    tuning = (
        f" In square brackets: after tuning for {args.budget:g} s, on 3 inner folds." if args.budget else ""
    )
    body = (
        "Error in per cent with default arguments, seconds of the fit in brackets; `!` marks a `FitWarning`, "
        f"`-` data that a learner does not take.{tuning}\n\n"
        f"Tasks that the defaults were chosen on:\n\n{tables[0]}\n\nTasks apart:\n\n{tables[1]}\n"
    )
    write_results(
        "defaults", f"python -m benchmarks defaults --budget {args.budget:g} --slow {args.slow}", body
    )


if __name__ == "__main__":
    main()
