"""``python -m tests.faults FOLDER SCRIPT ...``: scripts of this folder, each in a forked child."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from tests.faults.children import ended, in_child

import trelliswork as tw


def get_ready():
    """What all children would do at their start: make the compiler ready, load the code of label chains."""
    import numba

    numba.njit(lambda n: 2.0 * n)(1)
    tw.CRF(tw.Chain(), max_iter=1).fit([["a", "b"]], [["A", "B"]]).predict([["a"]])


def main(folder, *names):
    scripts = {name: importlib.import_module(f"tests.faults.{name}") for name in names}
    get_ready()
    for name, script in scripts.items():
        place = Path(folder, name)
        place.mkdir()
        code = ended(in_child(lambda script=script, place=place: script.main(place)))
        if code:
            sys.exit(f"{name}: exit code {code}")


if __name__ == "__main__":
    main(*sys.argv[1:])
