"""Shared by the benchmarks: fresh processes, peak memory, tables."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(os.environ.get("TRELLISWORK_RESULTS") or Path(__file__).parent / "results")


def arguments(description: str, **defaults: Any) -> argparse.Namespace:
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", default=os.environ.get("TRELLISWORK_DATA", "../shared/data"))
    parser.add_argument("--repeat", type=int, default=3, help="take the minimum of this many runs")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    for name, (value, text) in defaults.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help=text)
    return parser.parse_args()


def in_fresh_process(
    module: str, worker: str, args: argparse.Namespace, *, busy: bool = False
) -> dict[str, Any]:
    """Run one worker of a benchmark in its own process and return what it printed as JSON.

    The environment is a plain one, without settings of threads, as users have it.

    Parameters
    ----------
    module, worker : str
        Benchmark and the name of its worker.
    args : Namespace
        Options that are passed on.
    busy : bool
        Whether another process keeps one core busy meanwhile.
    """
    env = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    command = [sys.executable, "-m", f"benchmarks.{module}", "--worker", worker]
    command += ["--data", args.data, "--repeat", str(args.repeat)]
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if busy else None
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    finally:
        if other is not None:
            other.kill()
            other.wait()
    if done.returncode:
        raise RuntimeError(f"{worker} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def best(
    task: Callable[[], Any], repeat: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Least seconds over some repeats, and the last result."""
    seconds, result = float("inf"), None
    for _ in range(repeat):
        started = clock()
        result = task()
        seconds = min(seconds, clock() - started)
    return seconds, result


def resident() -> float:
    """Resident memory of this process now, in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


class Peak:
    """Highest resident memory inside a ``with`` block, in MB, by sampling."""

    def __enter__(self) -> Peak:
        self.value = resident()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            self.value = max(self.value, resident())

    def __exit__(self, *exc: object) -> None:
        self._done.set()
        self._thread.join()
        self.value = max(self.value, resident())


def write_results(name: str, command: str, body: str) -> None:
    """Keep the last table with its command, date and machine."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    cpu = platform.processor() or platform.machine()
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    head = f"# {name}\n\n`{command}`, {datetime.date.today()}, {os.cpu_count()} cores ({cpu}), "
    head += f"Python {platform.python_version()}\n\n"
    (RESULTS / f"{name}.md").write_text(head + body + "\n", encoding="utf-8")
    print(head + body)
