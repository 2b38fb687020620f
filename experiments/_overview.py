"""One row per experiment of the papers: what they found, what we find, whether it agrees, how old it is."""

from __future__ import annotations

import ast
import datetime
import importlib
import subprocess
from pathlib import Path
from typing import NamedTuple

from experiments._claims import ENTRIES, Entry, tables_of
from experiments._report import RESULTS, made

_HERE = Path(__file__).parent
_SOURCE = "src/trelliswork"
_NO_MATTER = ("_report", "_pictures", "_claims")  # how results are written and shown, not what they are


class Status(NamedTuple):
    """A result file: when it was made, in how many seconds, and whether its code has changed since."""

    date: str
    seconds: str
    stale: bool


def status(entry: Entry) -> Status | None:
    """What is known of the last result; None where there is none."""
    found = made(entry.result)
    if found is None:
        return None
    paper, table = entry.arguments.split()[:2]
    module = importlib.import_module(f"experiments.{paper}").TABLES[table].__module__
    places = [*sorted(_modules(module)), *(f"{_SOURCE}/{place}" for place in entry.code)]
    date, moment = _changed(places)
    committed = _changed([f"experiments/results/{entry.result}.md"])[1]
    later = date == found.date and "" < committed < moment and not _open(entry)
    return Status(found.date, found.seconds, date > found.date or later)


def _modules(name: str) -> set[str]:
    """Files of a module of the experiments and of those that it imports."""
    found: set[str] = set()
    todo = [name]
    while todo:
        path = "/".join(todo.pop().split(".")) + ".py"
        if path in found or not (_HERE.parent / path).exists():
            continue
        found.add(path)
        for node in ast.walk(ast.parse((_HERE.parent / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("experiments."):
                todo.append(str(node.module))
    return {path for path in found if Path(path).stem not in _NO_MATTER}


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=_HERE.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _changed(places: list[str]) -> tuple[str, str]:
    """Date and moment of the last change of some files, as far as the repository tells."""
    date, _, moment = _git("log", "-1", "--format=%cs %ct", "--", *places).partition(" ")
    return date, moment


def _open(entry: Entry) -> bool:
    """Whether a result is newer than the last commit."""
    return bool(_git("status", "--porcelain", "--", f"experiments/results/{entry.result}.md"))


def overview() -> str:
    """The table of all experiments, in Markdown."""
    lines = [
        "# The papers' experiments",
        "",
        f"Written by `python -m experiments all`, {datetime.date.today()}. Verdicts are on the claim that",
        "is named, and are worked out from the tables in `results/`. Old: the code that the result depends",
        "on has changed since; seconds are by the clock, where the result has them.",
        "",
        "| experiment and claim | theirs | ours | verdict | date | seconds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for entry in ENTRIES:
        known = status(entry)
        name = f"[{entry.arguments.split(' --')[0]}](results/{entry.result}.md): {entry.what}"
        if known is None:
            lines.append(f"| {name} | {entry.theirs} | not run | | | |")
            continue
        text = (RESULTS / f"{entry.result}.md").read_text(encoding="utf-8")
        try:
            ours, holds = entry.ours(tables_of(text))
            verdict = {True: "holds", False: "does not hold", None: "none: a choice is at the end of a grid"}[
                holds
            ]
        except (KeyError, IndexError, StopIteration, ValueError):
            ours, verdict = "see the file", "not read"
        date = known.date + (", old" if known.stale else "")
        lines.append(f"| {name} | {entry.theirs} | {ours} | {verdict} | {date} | {known.seconds} |")
    return "\n".join(lines) + "\n"


def write_overview() -> Path:
    """Write ``RESULTS.md`` beside the experiments."""
    path = RESULTS.parent / "RESULTS.md" if RESULTS == _HERE / "results" else RESULTS / "RESULTS.md"
    path.write_text(overview(), encoding="utf-8")
    return path
