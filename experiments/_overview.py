"""One row per experiment of the papers: what they found, what we find, whether it agrees, how old it is."""

from __future__ import annotations

import datetime
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from experiments._claims import ENTRIES, Entry, tables_of
from experiments._report import RESULTS

_HERE = Path(__file__).parent
_SOURCE = "src/trelliswork"
_COMMAND = re.compile(r"`python -m experiments (.*?) --data DIR`, (\d{4}-\d\d-\d\d)(?:, (\d+) s)?")


class Status(NamedTuple):
    """A result file: when it was made, in how many seconds, and whether its code has changed since."""

    date: str
    seconds: str
    stale: bool


def status(entry: Entry) -> Status | None:
    """What is known of the last result; None where there is none."""
    path = RESULTS / f"{entry.result}.md"
    found = _COMMAND.search(path.read_text(encoding="utf-8")) if path.exists() else None
    if found is None:
        return None
    _, date, seconds = found.groups()
    paper = entry.arguments.split()[0]
    places = [f"experiments/{paper}", *(f"{_SOURCE}/{place}" for place in entry.code)]
    return Status(date, seconds or "", _changed(places) > date)


def _changed(places: list[str]) -> str:
    """Date of the last change of some folders, as far as the repository tells."""
    command = ["git", "log", "-1", "--format=%cs", "--", *places]
    done = subprocess.run(command, cwd=_HERE.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()


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
            verdict = "holds" if holds else "does not hold"
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
