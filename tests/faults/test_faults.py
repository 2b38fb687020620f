"""Each script of this folder in a process of its own; docs/reliability.md says what it tries."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")


def run(script, *arguments, before=()):
    command = [*before, sys.executable, "-m", f"tests.faults.{script}", *map(str, arguments)]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=280, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_killed(tmp_path):
    run("killed", tmp_path)


def test_cache(tmp_path):
    run("cache", tmp_path)


def test_disk(tmp_path):
    before = ("unshare", "--map-root-user", "--mount")
    check = "mount -t tmpfs -o size=64k none " + str(tmp_path)
    if (
        not shutil.which("unshare")
        or subprocess.run([*before, "sh", "-c", check], capture_output=True).returncode
    ):
        pytest.skip("file systems cannot be mounted here")
    run("disk", tmp_path, before=before)


def test_signals():
    run("signals")


def test_processes(tmp_path):
    run("processes", tmp_path)
