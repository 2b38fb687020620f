"""A full disk and a read-only one, each a small file system of its own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys

import numpy as np
from tests.faults.cache import MODULE, use
from tests.faults.children import ended, in_child

import trelliswork as tw
from trelliswork.cli import app


def refused(*arguments):
    """The one line with which a command ends."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert app(list(map(str, arguments)), prog_name="trelliswork", standalone_mode=False) == 2
    assert said.getvalue().count("\n") == 1
    return said.getvalue()


def fails_to_save(model, path, reason):
    said = "saved"
    try:
        tw.save(model, path)
    except OSError as error:
        said = str(error)
    assert reason in said, said
    assert "\n" not in said


def main(folder):
    disk, source, model_path = folder / "disk", folder / "in.txt", folder / "m.tw"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "none", str(disk)], check=True)
    X = [["the", "cat", "sleeps"]]
    model = tw.CRF(tw.Chain(), max_iter=2).fit(X, [["D", "N", "V"]])
    large = tw.CRF(tw.Chain(), max_iter=1).fit([[f"{i:x}" for i in range(20_000)]], [["A", "B"] * 10_000])
    large.coef_ = np.random.default_rng(0).normal(size=large.coef_.size)
    tw.save(model, model_path)
    tw.save(model, disk / "m.tw")
    source.write_text("the\ncat\nsleeps\n\n" * 8000)

    fails_to_save(large, disk / "m.tw", "the model was not saved: No space left on device")
    assert tw.load(disk / "m.tw").predict(X) == model.predict(X)

    (disk / "out").write_text("old")
    assert "No space left on device" in refused("predict", model_path, source, "-o", disk / "out")
    assert (disk / "out").read_text() == "old"

    assert ended(in_child(lambda: to_standard_output(disk / "printed", model_path, source))) == 0

    # Compiled code that cannot be kept is used all the same.
    (disk / "printed").unlink(missing_ok=True)
    cache = disk / "cache"
    cache.mkdir()
    (cache / "tiny.py").write_text(MODULE)
    with contextlib.suppress(OSError), open(disk / "filler", "wb") as file:
        while True:
            file.write(b"x" * 512)
            file.flush()
    sys.path.insert(0, str(cache))
    assert ended(in_child(use)) == 0

    (disk / "filler").unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = str(disk)
    assert ended(in_child(use)) == 0
    fails_to_save(model, disk / "m.tw", "read-only")
    assert "read-only" in refused("predict", model_path, source, "-o", disk / "out").lower()
    assert tw.load(disk / "m.tw").predict(X) == model.predict(X)


def to_standard_output(path, model_path, source):
    """A command whose standard output is a file on the full disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.dup2(handle, 1)
    sys.stdout = os.fdopen(1, "w")
    assert "No space left on device" in refused("predict", model_path, source)
