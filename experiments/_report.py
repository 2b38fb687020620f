"""Shared by the experiments: options, tables in Markdown, results with command and date."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

_STARTED = time.perf_counter()

#: Results are kept here; ``TRELLISWORK_RESULTS`` names another folder, for trial runs.
RESULTS = Path(os.environ.get("TRELLISWORK_RESULTS") or Path(__file__).parent / "results")


def options(arguments: Sequence[str], **defaults: tuple[Any, str]) -> argparse.Namespace:
    """``--data`` and the options of one experiment, given as name=(default, help)."""
    parser = argparse.ArgumentParser(prog="python -m experiments")
    parser.add_argument("--data", default=os.environ.get("TRELLISWORK_DATA", "../shared/data"))
    for name, (value, text) in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value, help=text)
    return parser.parse_args(list(arguments))


def markdown(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; numbers are shown with two decimals."""
    shown = [[f"{v:.2f}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    lines = [header, ["---"] * len(header), *shown]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def result_path(name: str, suffix: str) -> Path:
    """File of a result called ``"paper/table"``; the folder of the paper is made if need be."""
    path = RESULTS / f"{name}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


class Made(NamedTuple):
    """When a result was made, and in how many seconds by the clock, where its file says so."""

    date: str
    seconds: str


_HEAD = re.compile(r"`python -m experiments (.*?) --data DIR`, (\d{4}-\d\d-\d\d)(?:, (\d+) s)?")
_WITHIN = re.compile(r"(\d+) s (?:in all|by the clock)|Whole table: (\d+) s")


def made(name: str) -> Made | None:
    """Date and seconds of a result; None where there is none. Older files have seconds in their text."""
    text = written(name)
    found = _HEAD.search(text)
    if found is None:
        return None
    _, date, seconds = found.groups()
    within = None if seconds else _WITHIN.search(text)
    return Made(date, seconds or (within.group(1) or within.group(2) if within else ""))


def written(name: str) -> str:
    """Text of a result; empty where there is none."""
    path = RESULTS / f"{name}.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def command_of(name: str) -> str | None:
    """Arguments of the command that made a result; None where there is none."""
    found = _HEAD.search(written(name))
    return None if found is None else found.group(1)


def write(name: str, title: str, body: str, *, kept: Made | None = None, command: str | None = None) -> Path:
    """Print a result and keep it with the command that made it.

    Where parts of earlier runs were ``kept``, it has their date and seconds instead of this run's; where all
    of it was, their ``command``.
    """
    given = sys.argv[1:]
    if "--data" in given:
        place = given.index("--data")
        del given[place : place + 2]
    arguments = command or " ".join(os.path.basename(a) for a in given)
    now = Made(str(datetime.date.today()), f"{time.perf_counter() - _STARTED:.0f}")
    date, seconds = now if kept is None else kept
    when = f"{date}, {seconds} s" if seconds else date
    text = f"# {title}\n\n`python -m experiments {arguments} --data DIR`, {when}\n\n{body}\n"
    path = result_path(name, ".md")
    path.write_text(text, encoding="utf-8")
    print(text)
    return path


def load(name: str) -> dict[str, Any]:
    """What a long experiment has stored so far; nothing at its start."""
    path = result_path(name, ".json")
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def store(name: str, values: dict[str, Any], *, sort_keys: bool = False) -> None:
    """Keep finished parts of a long experiment, so that it can go on where it was stopped."""
    text = json.dumps(values, indent=1, sort_keys=sort_keys)
    result_path(name, ".json").write_text(text + "\n", encoding="utf-8")
