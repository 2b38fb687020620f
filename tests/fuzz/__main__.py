"""``python -m tests.fuzz KIND [--minutes M | --cases N] [--seed S]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time

from tests.fuzz.driver import run

KINDS = ("models", "weights", "calls")
STEP = 50


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--cases", type=int, default=None, help="cases of each kind")
    parser.add_argument("--minutes", type=float, default=None, help="time for each kind")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    given = parser.parse_args()
    bad = False
    for kind in given.kinds:
        started, number, counts, findings = time.time(), given.first, {}, {}
        limit = given.cases if given.cases is not None else None if given.minutes else STEP
        with tempfile.TemporaryDirectory() as folder:
            while (limit is None or number - given.first < limit) and (
                given.minutes is None or time.time() - started < 60 * given.minutes
            ):
                step = STEP if limit is None else min(STEP, given.first + limit - number)
                some, found = run(kind, folder, [f"{given.seed}:{number}:{number + step}"])
                number += step
                for word, n in some.items():
                    counts[word] = counts.get(word, 0) + n
                for case, text in found.items():
                    print(f"{kind} {case}: {text}", flush=True)
                findings |= found
        tried, hours = number - given.first, (time.time() - started) / 3600
        print(
            f"{kind}: {tried:,} cases, seed {given.seed}, {hours:.2f} h: {counts}, {len(findings)} findings"
        )
        bad |= bool(findings)
    sys.exit(bad)


if __name__ == "__main__":
    main()
