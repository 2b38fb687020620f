"""The scripts of this folder, in a process of their own; docs/reliability.md says what each tries."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ["killed", "cache", "signals", "processes"]
MOUNTING = ["unshare", "--map-root-user", "--mount"]  # lets the script "disk" have file systems of its own


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
def test_faults(tmp_path):
    mount = f"mount -t tmpfs -o size=64k none {tmp_path}"
    mounts = bool(shutil.which("unshare")) and not subprocess.run(
        [*MOUNTING, "sh", "-c", mount], capture_output=True
    ).returncode  # fmt: skip
    command = [sys.executable, "-m", "tests.faults", str(tmp_path), *SCRIPTS]
    command = [*MOUNTING, *command, "disk"] if mounts else command
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=280, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    if not mounts:
        pytest.skip("disk: file systems cannot be mounted here; the other scripts pass")
