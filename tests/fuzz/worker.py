"""A process that tries cases; its parent notices when it dies or hangs."""

from __future__ import annotations

import importlib
import resource
import sys
import traceback

from tests.fuzz.cases import cases_of


def main():
    attack, folder, *cases = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    tried = importlib.import_module(f"tests.fuzz.{attack}").Attack(folder)
    for case in cases_of(cases):
        print("try", case, flush=True)
        seed, number = map(int, case.split(":"))
        try:
            print("end", case, tried.case(number, seed), flush=True)
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{where.filename.rpartition('trelliswork/')[2]}:{where.lineno}"
            text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            print("bad", case, f"{text} at {place}", flush=True)


if __name__ == "__main__":
    main()
