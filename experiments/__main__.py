"""``python -m experiments PAPER TABLE [options]``, or ``all``; without names it lists what there is."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

USAGE = """\
usage: python -m experiments PAPER TABLE [--data DIR]; TABLE --help shows the options of a table
       python -m experiments all [--data DIR] [--budget HOURS]; remakes what fits and writes RESULTS.md"""


def papers() -> list[str]:
    """Names of the packages, one per paper."""
    return sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.name[0] != "_")


def listing(names: list[str]) -> str:
    """What each paper is about, and its tables."""
    lines = [USAGE]
    for name in names:
        paper = importlib.import_module(f"experiments.{name}")
        lines += ["", f"{name}: {(paper.__doc__ or '').splitlines()[0]}", f"    {', '.join(paper.TABLES)}"]
    return "\n".join(lines)


def main() -> int:
    names, arguments = papers(), sys.argv[1:]
    if not arguments:
        print(listing(names))
        return 0
    if arguments[0] == "all":
        from experiments._all import run_all

        run_all(arguments[1:])
        return 0
    if arguments[0] not in names:
        print(f"there is no paper {arguments[0]!r}\n{listing(names)}", file=sys.stderr)
        return 2
    tables = importlib.import_module(f"experiments.{arguments[0]}").TABLES
    if len(arguments) < 2 or arguments[1] not in tables:
        print(listing(arguments[:1]), file=sys.stderr)
        return 2
    tables[arguments[1]](arguments[2:])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
