"""What ``make test`` leaves to ``make test-long`` is there, and the page for contributors names all of it."""

import runpy
from pathlib import Path

TESTS = Path(__file__).parent


def test_what_is_long_is_there_and_named():
    places = runpy.run_path(str(TESTS / "conftest.py"))["LONG"]
    page = (TESTS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for place in places:
        assert (TESTS / place).exists()
        assert f"`tests/{place}`" in page
