"""``python -m tests.faults FOLDER SCRIPT ...``: scripts of this folder, each in a forked child."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from tests.faults.children import ended, in_child


def main(folder, *names):
    scripts = {name: importlib.import_module(f"tests.faults.{name}") for name in names}
    for name, script in scripts.items():
        place = Path(folder, name)
        place.mkdir()
        code = ended(in_child(lambda script=script, place=place: script.main(place)))
        if code:
            sys.exit(f"{name}: exit code {code}")


if __name__ == "__main__":
    main(*sys.argv[1:])
