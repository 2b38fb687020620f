"""The command as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import trelliswork

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
