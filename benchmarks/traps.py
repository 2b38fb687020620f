"""Calls that a new user would make, through the command line with its defaults, on data as they come.

These are calls that once failed with default arguments. Each trains on a file and is evaluated on another,
beside what came of it then, and what the right settings of then gave. Calls of the same kind from Python
(chains of few sentences, letters, RNA) are cells of ``python -m benchmarks defaults``.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._measure import arguments, write_results

Call = tuple[list[str], str, str]  # words of "train", gold file, and what to read of the evaluation


def names(data: Path, folder: Path, *more: str) -> Call:
    """Spanish entities, from all sentences."""
    files = data / "conll2002-es"
    return ["tag", str(files / "esp.train.gz"), *more], str(files / "esp.testb.gz"), "entities.f1"


def stopped(data: Path, folder: Path) -> Call:
    """The same with a development set."""
    return names(data, folder, "--dev", str(data / "conll2002-es" / "esp.testa.gz"))


def news(data: Path, folder: Path, *more: str) -> Call:
    """Newsgroups by subject and body; the files have a number per row, too."""
    files = data / "taxonomy-20newsgroups"
    call = ["classify", str(files / "train.jsonl.gz"), "--text", "subject,body", *more]
    return call, str(files / "test.jsonl.gz"), "accuracy"


def shared(data: Path, folder: Path) -> Call:
    """The same with the taxonomy."""
    return news(data, folder, "--taxonomy", str(data / "taxonomy-20newsgroups" / "taxonomy.tsv"))


def proteins(data: Path, folder: Path) -> Call:
    """100 pairs of proteins of mixed case, evaluated on 150 others in upper case."""
    with gzip.open(data / "protein-align" / "prefab4_ref_pairs.afa.gz", "rt") as file:
        records = ("\n" + file.read()).split("\n>")[1:]
    pairs = [(a, b) for a, b in zip(records[::2], records[1::2]) if max(len(a), len(b)) < 300]
    texts = {"train.afa": pairs[:100], "test.afa": pairs[-150:]}
    for name, some in texts.items():
        lines = "".join(f">{record}\n" for pair in some for record in pair)
        if name == "test.afa":
            lines = "".join(
                line if line[0] == ">" else line.upper() for line in lines.splitlines(keepends=True)
            )
        (folder / name).write_text(lines, encoding="utf-8")
    return ["align", str(folder / "train.afa")], str(folder / "test.afa"), "recovered"


def trees(data: Path, folder: Path) -> Call:
    """Parse trees of English, the first 3,500 of them."""
    with gzip.open(data / "ptb-sample" / "trees.tsv.gz", "rt", encoding="utf-8") as file:
        lines = [line.split("\t")[2] for line in file]
    (folder / "train.mrg").write_text("".join(lines[:3500]), encoding="utf-8")
    (folder / "test.mrg").write_text("".join(lines[3500:]), encoding="utf-8")
    return ["parse", str(folder / "train.mrg")], str(folder / "test.mrg"), "brackets.f1"


# What is called, what it came to when defaults were first tried by a user, and with the right settings then.
CALLS: dict[str, tuple[Callable[..., Call], str, str]] = {
    "names": (names, "", "77.18"),
    "names, --dev": (stopped, "74.49", "77.18"),
    "news": (news, "5.3", "85.7"),
    "news, taxonomy": (shared, "76.4", "81.2"),
    "proteins": (proteins, "58.2", "63.6"),
    "trees": (trees, "69.7", "74.3"),
}


def run(words: list[str]) -> tuple[str, float]:
    """What the command line prints, and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "trelliswork", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed:\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(call: Call, folder: Path) -> tuple[float, float]:
    """Per cent of the evaluation, and processor seconds of training."""
    words, gold, key = call
    model = str(folder / "model.tw")
    _, seconds = run(["train", *words, "-o", model])
    found: Any = json.loads(run(["evaluate", model, gold, "--json"])[0])
    for name in key.split("."):
        found = found[name]
    return 100.0 * float(found), seconds


def main() -> None:
    args = arguments(
        __doc__ or "", calls=(";".join(CALLS), "some of the calls, with semicolons between them")
    )
    lines = [
        "| call | now | CPU s of training | then | then, right settings |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in args.calls.split(";"):
        make, then, right = CALLS[name]
        with tempfile.TemporaryDirectory() as temporary:
            percent, seconds = measure(make(Path(args.data), Path(temporary)), Path(temporary))
        lines.append(f"| {name} | {percent:.1f} | {seconds:.0f} | {then} | {right} |")
        print(lines[-1], flush=True)
    write_results(
        "traps",
        "python -m benchmarks traps",
        f"{(__doc__ or '').split(chr(10), 2)[2].strip()}\n\n" + "\n".join(lines),
    )


if __name__ == "__main__":
    main()
