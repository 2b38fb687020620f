"""The cache of compiled code: two processes at once, kill -9, damaged files."""

from __future__ import annotations

import importlib
import random
import sys

from tests.faults.children import ended, in_child, killed

MODULE = """
from trelliswork._jit import njit

@njit
def total(n):
    out = 0.0
    for i in range(n):
        out += i
    return out
"""


def use():
    """Compile, or find in the cache, and call."""
    assert importlib.import_module("tiny").total(10) == 45.0


def files(folder):
    return sorted(path for path in folder.rglob("*.nb?"))


def main(folder):
    (folder / "tiny.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    both = [in_child(use) for _ in range(2)]
    assert [ended(child) for child in both] == [0, 0], "two processes that compile at once"
    assert len(files(folder)) == 2
    good = {path: path.read_bytes() for path in files(folder)}
    rng = random.Random(0)
    for path, content in good.items():
        place = len(content) // 2
        flipped = bytearray(content)
        for _ in range(20):
            flipped[rng.randrange(len(content))] ^= 255
        for damage in (b"", content[:place], bytes(flipped)):
            for other, whole in good.items():
                other.write_bytes(whole)
            path.write_bytes(damage)
            assert ended(in_child(use)) == 0, f"a damaged {path.suffix}"
    for _ in range(3):
        for path in files(folder):
            path.unlink()
        killed(use, rng.uniform(0.0, 0.3))
        assert ended(in_child(use)) == 0, "after kill -9"
