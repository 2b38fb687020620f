"""Memory of fits, measured and estimated: every learner on every structure.

``python -m benchmarks room [STRUCTURE ...]`` writes ``benchmarks/results/room.md``, or measures the rows
of some structures again. Each fit runs in a forked child; what is measured is how much its resident memory
grows between the moment when the samples are packed and the peak, as the kernel tells it. A small fit before
compiles what has to be compiled, or most of it: where code is not in the cache yet, a second run tells more.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import trelliswork as tw
from trelliswork.learners import LEARNERS
from trelliswork.learners import base as learners_base
from trelliswork.learners.room import memory_of_fit
from trelliswork.structures import Unsupported

ROOT = Path(__file__).parents[1]
FEW_STEPS = {"CRF": 12, "VotedCRF": 12, "Perceptron": 2, "StructuredSVM": 3, "StructBoost": 2}
TABLE = ROOT / "benchmarks" / "results" / "room.md"
LEAST = 16.0  # MB of a peak from which on it is more than noise


def segments(x: Any) -> Iterator[tw.Edge]:
    """Segments of up to five symbols."""
    for i in reversed(range(len(x))):  # the first node comes last
        for j in range(i + 1, min(len(x), i + 5) + 1):
            features = [("segment", x[i], j - i), ("end", x[j - 1])]
            yield tw.Edge(i, [j] if j < len(x) else [], part=(i, j), features=features)


def random_tree(rng: np.random.Generator, n: int) -> str:
    """A tree of two phrases and two tags over ``n`` words, which can be anything."""
    if n == 1:
        return f"({rng.choice(['D', 'N'])} w{rng.integers(9)})"
    k = int(rng.integers(1, n))
    return f"({rng.choice(['S', 'A'])} {random_tree(rng, k)} {random_tree(rng, n - k)})"


# What symbols are written as, one or the other.
WRITTEN = {symbol: (symbol.upper(), 2 * symbol, "x") for symbol in "abcdefghij"}


def problems(small: bool) -> Iterator[tuple[str, Any, Any, Any]]:
    """Structures with data whose fits take tens of megabytes, or with very small data."""
    rng = np.random.default_rng(1)
    m, n = (60, 400) if small else (3000, 20_000)
    X: Any = [[[f"w{a}", f"v{b}"] for a, b in rng.integers(20 * m, size=(10, 2))] for _ in range(m)]
    yield "Chain, weights", tw.Chain(), X, [[f"L{k}" for k in rng.integers(12, size=10)] for _ in X]
    X = [[f"l{k}" for k in rng.integers(200, size=10)] for _ in range(n)]
    yield "Chain, tokens", tw.Chain(), X, [[f"L{int(w[1:]) % 20}" for w in x] for x in X]
    X = [{f"w{k}": 1.0 for k in rng.integers(20 * m, size=10)} for _ in range(m)]
    yield "Classes, weights", tw.Classes(), X, [f"c{k}" for k in rng.integers(40, size=m)]
    X = rng.normal(size=(2 * n, 30))
    yield "Classes, rows", tw.Classes(), X, [f"c{k}" for k in rng.integers(20, size=2 * n)]
    length = 40 if small else 700
    half = ["".join(rng.choice(list("ACGU"), length // 2 - 2)) for _ in range(2)]
    X = [h + "AAAA" + h[::-1].translate(str.maketrans("ACGU", "UGCA")) for h in half]
    y = ["(" * len(h) + "...." + ")" * len(h) for h in half]
    yield "RNA, g6", tw.RNA("g6"), X, y
    yield "RNA, loops", tw.RNA(), X, y
    length = 80 if small else 3000
    X = ["".join(rng.choice(list("ACGT"), length)) for _ in range(2)]
    yield "Alignment", tw.Alignment("substitution-affine"), [(x, x) for x in X], [(x, x) for x in X]
    y = [random_tree(rng, 5 if small else 16) for _ in range(3 if small else 60)]
    yield "Grammar", tw.Grammar(), [re.findall(r"w\d+", tree) for tree in y], y
    X = ["".join(rng.choice(list("abcdefghij"), 8)) for _ in range(20 if small else 2000)]
    y = ["".join(rng.choice(WRITTEN[k]) for k in x) for x in X]
    yield "Transducer", tw.Transducer(), X, y
    X = [[f"w{k}" for k in rng.integers(300, size=20)] for _ in range(3 if small else 20_000)]
    yield "Derivations", tw.Derivations(segments), X, [[(i, i + 2) for i in range(0, 20, 2)] for _ in X]


def kilobytes(key: str) -> int:
    """What the kernel says about this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1])


def growth(learner: str, structure: Any, X: Any, y: Any) -> tuple[float, float] | None:
    """Megabytes that a fit takes beside the packed samples, estimated and measured, in a forked child."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        seen: dict[str, float] = {}

        def watch(model: Any, batch: Any) -> None:
            if not seen:
                seen["estimate"] = memory_of_fit(model, batch) / 2**20
                gc.collect()
                ctypes.CDLL(None).malloc_trim(0)  # what packing left over is not there for the fit to use
                Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
                seen["start"] = kilobytes("VmRSS")

        learners_base.check_room = watch  # called once the samples are packed
        steps = {"max_iter": FEW_STEPS[learner]} if learner in FEW_STEPS else {}
        try:
            LEARNERS[learner](structure, **steps).fit(X, y)
            peak = (kilobytes("VmHWM") - seen["start"]) / 1024
            os.write(write, json.dumps([seen["estimate"], peak]).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as answer:
        text = answer.read()
    return tuple(json.loads(text)) if text else None


def known() -> dict[tuple[str, str], tuple[float, float]]:
    """The table that was written last, to which structures that are measured alone are added."""
    rows = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else []:
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 5 and cells[2][:1].isdigit():
            rows[cells[0], cells[1]] = float(cells[2]), float(cells[3])
    return rows


def write(rows: dict[tuple[str, str], tuple[float, float]], names: list[str]) -> None:
    """Write the table so far."""
    factors = [e / p for e, p in rows.values() if p >= LEAST]
    within = sum(1 / 2 <= f <= 2 for f in factors)
    lines = [
        "# Memory of fits, estimated and measured",
        "",
        f"`python -m benchmarks room`, {date.today()}: megabytes beside the packed samples, on one thread. "
        f"Peaks below {LEAST:.0f} MB are noise and have no factor; of the {len(factors)} others, {within} "
        "are within a factor of two.",
        "",
        "| data | learner | estimated | measured | factor |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for name, learner in sorted(rows, key=lambda key: (names.index(key[0]), key[1])):
        e, p = rows[name, learner]
        lines.append(f"| {name} | {learner} | {e:.1f} | {p:.1f} | {f'{e / p:.2f}' if p >= LEAST else ''} |")
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    warnings.simplefilter("ignore")
    asked = sys.argv[1:]
    small = {name: rest for name, *rest in problems(True)}
    rows = {key: value for key, value in known().items() if key[0] in small} if asked else {}
    for name, *rest in problems(False):
        if asked and not any(name.startswith(word) for word in asked):
            continue
        for learner, cls in LEARNERS.items():
            steps = {"max_iter": FEW_STEPS[learner]} if learner in FEW_STEPS else {}
            if learner == "Fixed" or (learner == "KLRSO" and name in ("Chain, tokens", "Classes, rows")):
                continue  # the latter takes hours
            structure, X, y = small[name]
            try:
                cls(structure, **steps).fit(X, y)
            except (Unsupported, tw.InputError):
                continue
            gc.collect()
            gc.freeze()
            found = growth(learner, *rest)
            if found is not None:
                rows[name, learner] = found
                print(name, learner, *found, flush=True)
                write(rows, list(small))
    return 0


if __name__ == "__main__":
    sys.exit(main())
