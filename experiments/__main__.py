"""``python -m experiments PAPER TABLE [options]``; without names it lists what there is."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def main() -> int:
    papers = sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.name[0] != "_")
    if len(sys.argv) < 2 or sys.argv[1] not in papers:
        print(f"usage: python -m experiments {{{','.join(papers)}}} TABLE [--data DIR]", file=sys.stderr)
        return 2
    paper = importlib.import_module(f"experiments.{sys.argv[1]}")
    if len(sys.argv) < 3 or sys.argv[2] not in paper.TABLES:
        print(
            f"usage: python -m experiments {sys.argv[1]} {{{','.join(paper.TABLES)}}} [--data DIR]",
            file=sys.stderr,
        )
        return 2
    paper.TABLES[sys.argv[2]](sys.argv[3:])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
