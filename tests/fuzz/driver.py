"""Runs workers, and starts another one after each that dies."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

from tests.fuzz.cases import cases_of

ROOT = Path(__file__).parents[2]


def run(attack, folder, cases, *, patience=60.0):
    """Try cases, given as in :func:`cases_of`; returns how many ended how, and the findings by case."""
    counts, findings = {}, {}
    left = list(cases_of(cases))
    while left:
        left = _one_worker(attack, folder, left, patience, counts, findings)
    return counts, findings


def _one_worker(attack, folder, cases, patience, counts, findings):
    """Cases that are left when the worker has died or hung; none when it has come to its end."""
    command = [sys.executable, "-m", "tests.fuzz.worker", attack, str(folder), *cases]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=ROOT, **pipes) as process:
        return _watched(process, cases, patience, counts, findings)


def _watched(process, cases, patience, counts, findings):
    lines, errors = queue.Queue(), []
    readers = [
        threading.Thread(target=_collect, args=(process.stdout, lines)),
        threading.Thread(target=lambda: errors.extend(process.stderr)),
    ]
    for reader in readers:
        reader.start()
    try:
        return _judged(process, lines, errors, cases, patience, counts, findings)
    finally:
        process.kill()
        for reader in readers:
            reader.join()


def _judged(process, lines, errors, cases, patience, counts, findings):
    current, waiting = None, 10 * patience  # a worker makes its models first, and may compile
    while True:
        try:
            line = lines.get(timeout=waiting)
        except queue.Empty:
            findings[current] = f"no answer in {waiting:.0f} s"
            break
        if line is None:
            code = process.wait()
            if code == 0:
                return []
            if current is None:
                raise RuntimeError(f"a worker did not start: {''.join(errors)[-2000:]}")
            name = signal.Signals(-code).name if code < 0 else f"exit {code}: {''.join(errors)[-300:]}"
            findings[current] = f"the process died: {name}"
            break
        word, case, *rest = line.split(maxsplit=2)
        if word == "try":
            current, waiting = case, patience
        elif word == "bad":
            findings[case] = rest[0].strip()
        else:
            counts[rest[0].strip()] = counts.get(rest[0].strip(), 0) + 1
    return cases[cases.index(current) + 1 :] if current in cases else []


def _collect(stream, lines):
    for line in stream:
        if line.split(maxsplit=1)[:1] in (["try"], ["end"], ["bad"]):
            lines.put(line)
    lines.put(None)
