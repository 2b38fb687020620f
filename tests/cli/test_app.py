"""The command in this process: signals, version, warm-up, demo."""

from __future__ import annotations

import os
import re
import signal

import pytest

import trelliswork
from trelliswork.cli import _training
from trelliswork.learners.optimize.progress import Progress
from trelliswork.structures import STRUCTURES

from .conftest import conll


@pytest.mark.skipif(os.name == "nt", reason="no SIGTERM")
def test_sigterm_saves_what_was_learnt(run, tmp_path, monkeypatch):
    step = Progress.step

    def stepped(self, **values):
        step(self, **values)
        if len(self.history) == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Progress, "step", stepped)
    (tmp_path / "train.txt").write_text(conll(30))
    done = run("train", "tag", "train.txt", "-o", "m.tw", "--l2", "1e-6")
    assert done.exit_code == 130
    assert "interrupted; the best weights so far are kept: crf: " in done.stderr
    assert trelliswork.load("m.tw").steps[-1][1].n_iter_ == 2


def test_version(run):
    assert run("--version").stdout == f"trelliswork {trelliswork.__version__}\n"


def test_warmup(run):
    done = run("warmup", "Classes")
    assert done.exit_code == 0
    assert re.match(r"(compiled what was missing|everything was compiled before), [0-9.]+ s\n", done.stdout)
    assert "cache: " in done.stdout
    done = run("warmup", "Mattress")
    assert (done.exit_code, done.stderr.startswith("trelliswork: nothing to warm up for 'Mattress'")) == (
        2,
        True,
    )


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_structure_has_examples_to_warm_up_with(name):
    examples = list(STRUCTURES[name].examples())
    assert examples
    for structure, X, y in examples:
        assert type(structure) is STRUCTURES[name]
        structure.bind(X, y).pack(X, y).check_gold()


def test_demo(run, monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr("trelliswork.demo.run", seen.append)
    assert run("demo", "--output", "there/demo").exit_code == 0
    assert seen == ["there/demo"]
    (tmp_path / "file").write_text("")
    done = run("demo", "-o", "file/demo")
    assert (done.exit_code, done.stderr) == (2, "trelliswork: file/demo: Not a directory\n")


@pytest.mark.skipif(os.name == "nt", reason="no SIGTERM")
def test_a_last_fit_after_sigterm_is_short(monkeypatch):
    model = trelliswork.Tuned(trelliswork.CRF(trelliswork.Chain(), l2=1e-6))
    step, seen = Progress.step, []

    def stepped(self, **values):
        seen.append(1)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        step(self, **values)

    monkeypatch.setattr(Progress, "step", stepped)
    X, y = [["the", "cat", "sat"], ["a", "dog"]] * 5, [["D", "N", "V"], ["D", "N"]] * 5
    done = _training.watched(lambda: model.fit(X, y), model, lambda error: error, True, last_fit=0.0)
    assert done.interrupted
    assert model.n_iter_ == 1
