"""Time to the first answer: every job in a process of its own, with nothing compiled and with everything.

Cold is a new, empty folder for compiled code (``NUMBA_CACHE_DIR``); warm is the same folder afterwards, the
least of ``--repeat`` runs. Python's bytecode is there in both, as after an installation. Seconds of the
clock, and of the processor in brackets: beside other work the second is the one to look at. For jobs in
Python the time after ``import trelliswork`` is given too, the first use of scikit-learn, SciPy and Numba
included.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import _measure

SENTENCES = 'X, y = [["the", "cat", "sat"], ["a", "dog"]] * 5, [["D", "N", "V"], ["D", "N"]] * 5\n'
JOBS = {
    "import": "",
    "fit on 10 sentences": SENTENCES + "tw.CRF(tw.Chain()).fit(X, y)",
    "RNA predict": 'tw.pretrained("rna").predict(["GGGAAAUCC"])',
    "alignment predict": (
        'tw.Fixed(tw.Alignment(), tw.alignment_weights("BLOSUM62", gap_open=-11, gap_extend=-1))'
        '.fit().predict([("HEAGAWGHEE", "PAWHEAE")])'
    ),
}
TAGGED = "the D\ncat N\n\na D\ndog N\n\n" * 5
COMMAND = "command line: predict of one sentence"
# Prints the time after the import of the package, on a line of its own.
PROGRAM = "import sys, time\nimport trelliswork as tw\nt = time.perf_counter(), time.process_time()\n{}\n" + (
    "print(time.perf_counter() - t[0], time.process_time() - t[1])"
)
WANTED = """Wanted: cold at most 10 s for any job; warm at most 1.0 s for the command line and 0.5 s after
import; `trelliswork warmup` at most 60 s on two cores."""


def timed(command: list[str], env: dict[str, str], **more: Any) -> tuple[float, float, str]:
    """Seconds of the clock and of the processor that a process takes, and what it prints."""
    before, started = os.times(), time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, **more)
    seconds, after = time.perf_counter() - started, os.times()
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)[:200]} failed:\n{done.stderr[-3000:]}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, used, done.stdout


def measured(name: str, folder: Path, repeat: int, env: dict[str, str]) -> dict[str, Any]:
    """Cold and warm times of one job."""
    with tempfile.TemporaryDirectory() as cache:
        env = env | {"NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", PROGRAM.format(JOBS.get(name, ""))]
        if name == COMMAND:
            command = [sys.executable, "-m", "trelliswork", "predict", str(folder / "m.tw")]
        cold = timed(command, env, input="the\ncat\n")
        warm = [timed(command, env, input="the\ncat\n") for _ in range(repeat)]
    row = {"job": name, "cold": cold[:2], "warm": (min(r[0] for r in warm), min(r[1] for r in warm))}
    if name != COMMAND:
        later = [tuple(map(float, r[2].split()[-2:])) for r in warm]
        row["after import"] = (min(r[0] for r in later), min(r[1] for r in later))
    return row


def warmed_up(env: dict[str, str]) -> tuple[float, float, str]:
    """``trelliswork warmup`` on an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        return timed([sys.executable, "-m", "trelliswork", "warmup"], env | {"NUMBA_CACHE_DIR": cache})


def shown(pair: Any) -> str:
    return "" if pair is None else f"{pair[0]:.2f} ({pair[1]:.2f})"


def main() -> int:
    args = _measure.arguments(str(__doc__), warmup=(1, "0 leaves out `trelliswork warmup`"))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        env = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        train = [sys.executable, "-m", "trelliswork", "train", "tag", "-", "-o", str(folder / "m.tw")]
        timed(train, env, input=TAGGED)
        rows = [measured(name, folder, args.repeat, env) for name in [*JOBS, COMMAND]]
        lines = ["| job | cold | warm | warm, after import |", "| --- | --- | --- | --- |"]
        for row in rows:
            cells = [shown(row.get(kind)) for kind in ("cold", "warm", "after import")]
            lines.append(f"| {row['job']} | {' | '.join(cells)} |")
        if args.warmup:
            lines.append(f"| `trelliswork warmup` | {shown(warmed_up(env))} | | |")
    about = str(__doc__).partition("\n\n")[2].strip().replace("``", "`")
    body = "\n".join([about, "", *lines, "", WANTED])
    _measure.write_results("start", " ".join(["python -m benchmarks start", *sys.argv[1:]]), body)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
