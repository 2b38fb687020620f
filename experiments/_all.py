"""``python -m experiments all --data DIR --budget HOURS``: remake what fits, then write the overview."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

from experiments._claims import ENTRIES, Entry
from experiments._overview import status, write_overview
from experiments._report import options


def run_all(arguments: Sequence[str]) -> None:
    """Run experiments that are missing, then old ones, the shortest first, while the budget lasts."""
    args = options(
        arguments,
        budget=(0.0, "hours; 0 only writes the overview"),
        only=("", "experiments whose command has this text"),
        fresh=(0, "1 also runs those that are up to date"),
    )
    left = 3600.0 * args.budget
    for entry in _order([e for e in ENTRIES if args.only in e.arguments], bool(args.fresh)):
        if not args.budget:
            break
        minutes = expected(entry)
        if 60.0 * minutes > left:
            print(f"{entry.arguments}: about {minutes:.0f} minutes do not fit any more", flush=True)
            continue
        started = time.perf_counter()
        command = [sys.executable, "-m", "experiments", *entry.arguments.split(), "--data", args.data]
        done = subprocess.run(command, check=False)
        seconds = time.perf_counter() - started
        left -= seconds
        print(f"{entry.arguments}: {seconds:.0f} s{'' if done.returncode == 0 else ', failed'}", flush=True)
        write_overview()
    print(write_overview())


def expected(entry: Entry) -> float:
    """Minutes that an experiment takes: those of its last result, or a rough number."""
    known = status(entry)
    return float(known.seconds) / 60.0 if known is not None and known.seconds else entry.minutes


def _order(entries: list[Entry], fresh: bool) -> list[Entry]:
    known = {entry: status(entry) for entry in entries}
    todo = [entry for entry in entries if known[entry] is None or known[entry].stale or fresh]
    return sorted(todo, key=lambda entry: (known[entry] is not None, expected(entry)))
