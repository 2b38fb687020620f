"""Tiny column files, and a way to run commands on them."""

from __future__ import annotations

import random

import pytest
from typer.testing import CliRunner

from trelliswork.cli import app

WORDS = {
    "the": ("D", "O"),
    "a": ("D", "O"),
    "Ana": ("P", "B-PER"),
    "Ruiz": ("P", "I-PER"),
    "Lima": ("P", "B-LOC"),
    "dog": ("N", "O"),
    "casa": ("N", "O"),
    "sleeps": ("V", "O"),
}
PATTERNS = ["the dog sleeps", "Ana Ruiz sleeps", "a dog", "Ana sleeps", "the casa", "Lima sleeps", "Ana Ruiz"]


def conll(n: int, seed: int = 0, separator: str = " ", columns=(0, 1, 2)) -> str:
    """Sentences of word, part of speech and entity label."""
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        for word in rng.choice(PATTERNS).split():
            row = (word, *WORDS[word])
            lines.append(separator.join(row[c] for c in columns))
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a fresh folder; result has exit_code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRELLISWORK_DEBUG", raising=False)

    def run(*args, stdin=None):
        return CliRunner().invoke(app, [str(a) for a in args], input=stdin, prog_name="trelliswork")

    return run


@pytest.fixture
def files(tmp_path):
    """Training, development and test file, by name."""
    for seed, name in enumerate(["train", "dev", "test"]):
        (tmp_path / f"{name}.txt").write_text(conll(30, seed), encoding="utf-8")
    return tmp_path


@pytest.fixture
def model(run, files):
    """A model trained on word and part of speech."""
    done = run("train", "tag", "train.txt", "-o", "m.tw", "--template", "tutorial", "-q")
    assert (done.exit_code, done.output) == (0, "")
    return "m.tw"
