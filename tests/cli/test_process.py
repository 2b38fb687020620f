"""The command as a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

import trelliswork
from trelliswork.cli import _training
from trelliswork.learners.optimize.progress import Progress
from trelliswork.structures import STRUCTURES

from .conftest import conll

SOURCE = os.path.dirname(os.path.dirname(trelliswork.__file__))


def start(*args, **more):
    path = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "trelliswork", *map(str, args)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        **more,
    )


def call(*args, stdin=b"", **more):
    process = start(*args, stdin=subprocess.PIPE, **more)
    out, err = process.communicate(stdin, timeout=300)
    return process.returncode, out.decode(), err.decode()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a model ``m.tw``, and what was said when it was trained."""
    folder = tmp_path_factory.mktemp("trained")
    return folder, *call("train", "tag", "-", "-o", "m.tw", stdin=conll(30).encode(), cwd=folder)


def test_predicting_needs_no_sklearn(trained, monkeypatch):
    """Whose import, with pandas, takes longer than all the rest of a short prediction."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    code, out, err = call("predict", "m.tw", stdin=b"Ana\nRuiz\n", cwd=trained[0])
    assert (code, out) == (0, "Ana B-PER\nRuiz I-PER\n")
    imported = {line.rpartition("|")[2].strip() for line in err.splitlines()}
    assert "numba" in imported
    assert not imported & {"sklearn", "pandas", "scipy.stats", "scipy.optimize"}


def test_pipeline(trained, run):
    folder, code, out, err = trained
    assert (code, out) == (0, "")
    assert err.count("\n") == 1  # no progress where there is no terminal
    assert "\r" not in err
    assert "\x1b" not in err
    code, out, err = call("predict", "m.tw", stdin=b"Ana\nRuiz\n", cwd=folder)
    assert (code, out, err) == (0, "Ana B-PER\nRuiz I-PER\n", "")
    done = run("predict", folder / "m.tw", "missing.txt")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "trelliswork: missing.txt: no such file; expected the path of a text or gzip file\n"


@pytest.mark.skipif(os.name == "nt", reason="pipes differ")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_closed_pipe_is_quiet(trained, tmp_path, monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    folder, code, _, _ = trained
    assert code == 0
    (tmp_path / "big.txt").write_text(conll(30) * 300)  # more than a pipe holds
    process = start("predict", "m.tw", tmp_path / "big.txt", cwd=folder)
    assert process.stdout.readline().endswith(b"\n")
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=300) == 141


@pytest.mark.parametrize("args", [["--version"], ["--help"], ["train", "--help"], []])
def test_help_loads_nothing_heavy(args):
    code = (
        "import sys\nfrom trelliswork.cli import app\n"
        f"code = app({args!r}, prog_name='trelliswork', standalone_mode=False)\n"
        "heavy = {'numba', 'sklearn', 'scipy', 'numpy'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy or code else 0)"
    )
    path = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("trelliswork " if args == ["--version"] else "Usage: trelliswork")


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
