"""``python -m tests.fuzz [KIND ...] [--minutes M | --cases N] [--seed S]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time

from tests.fuzz.cases import KEPT
from tests.fuzz.driver import run

STEP = 100_000  # cases of one server


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("kinds", nargs="*", default=list(KEPT), metavar="KIND", help=", ".join(KEPT))
    parser.add_argument("--cases", type=int, default=None, help="cases of each kind")
    parser.add_argument("--minutes", type=float, default=None, help="time for each kind")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    given = parser.parse_args()
    for kind in given.kinds:
        if kind not in KEPT:
            parser.error(f"there is no {kind}; expected some of {', '.join(KEPT)}")
    bad = False
    for kind in given.kinds:
        bad |= bool(tried(kind, given))
    sys.exit(bad)


def tried(kind, given):
    """Findings of one kind of attack, which are printed as they come."""
    started, number, counts, findings = time.time(), given.first, {}, {}
    limit = given.cases if given.cases is not None else None if given.minutes else 1000
    step = STEP
    with tempfile.TemporaryDirectory() as folder:
        while (limit is None or number - given.first < limit) and (
            given.minutes is None or time.time() - started < 60 * given.minutes
        ):
            if limit is not None:
                step = min(STEP, given.first + limit - number)
            elif number > given.first:  # as many as fit into the time that is left
                speed = (number - given.first) / (time.time() - started)
                step = int(min(STEP, max(50, speed * (60 * given.minutes + started - time.time()))))
            else:
                step = 1000
            cases = [f"{kind}:{given.seed}:{number}:{number + step}"]
            some, found = run(folder, cases, said=lambda case, text: print(case, text, flush=True))
            number += step
            counts = {word: counts.get(word, 0) + n for word, n in some.items()}
            findings |= found
    hours = (time.time() - started) / 3600
    print(
        f"{kind}: {number - given.first:,} cases, seed {given.seed}, {hours:.2f} h: {counts}, "
        f"{len(findings)} findings",
        flush=True,
    )
    return findings


if __name__ == "__main__":
    main()
