"""``python -m benchmarks NAME [options]`` runs one benchmark; without a name it lists them."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def main() -> int:
    names = sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.name[0] != "_")
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        print(f"usage: python -m benchmarks {{{','.join(names)}}} [--data DIR]", file=sys.stderr)
        return 2
    name = sys.argv.pop(1)
    return importlib.import_module(f"benchmarks.{name}").main() or 0


if __name__ == "__main__":
    raise SystemExit(main())
