"""The walks that the architecture page describes are those that the code takes, and they only go down."""

import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import trelliswork as tw

SOURCE = Path(tw.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
# Whoever is in one of these rooms calls nobody in a room before it.
ROOMS = ("learners", "accelerated", "losses", "structures", "dp")
MOST_FILES = 12


def samples():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    return {
        "CRF(Chain())": (tw.CRF(tw.Chain()), [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]),
        "SODA(Alignment())": (
            tw.SODA(tw.Alignment()),
            [("HEAG", "HEG"), ("PAWH", "PAH")] * 3,
            [("HEAG", "HE-G"), ("PAWH", "PA-H")] * 3,
        ),
        "StructuredSVM(Classes())": (tw.StructuredSVM(tw.Classes()), rows, list("ab" * 10)),
        'CRF(RNA("g6"))': (tw.CRF(tw.RNA("g6")), ["GGGAAACCC", "GGAAACC"], ["(((...)))", "((...))"]),
    }


def described(name):
    """Files of a walk, as the page lists them."""
    (row,) = re.findall(rf"^\| `{re.escape(name)}` \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.M)
    return re.findall(r"`([\w/]+\.py)`", row)


def calls_of(action):
    """Files that call each other, as pairs, in the order of the first calls."""
    pairs = {}

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            caller = frame.f_back
            while caller is not None and not caller.f_code.co_filename.startswith(str(SOURCE)):
                caller = caller.f_back
            if caller is not None:
                files = (caller.f_code.co_filename, frame.f_code.co_filename)
                pairs[tuple(str(Path(f).relative_to(SOURCE)) for f in files)] = None

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return list(pairs)


@pytest.mark.parametrize("name", samples())
def test_a_walk_is_as_described_and_goes_down(name):
    model, X, y = samples()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = calls_of(lambda: model.fit(X, y).predict(X))
    files = described(name)
    assert 5 <= len(files) <= MOST_FILES
    crossed = {file for pair in calls for file in pair}
    # Compiled code makes no calls that Python could see; its modules are imported when they are used.
    loaded = {
        str(Path(module.__file__).relative_to(SOURCE))
        for name, module in sys.modules.items()
        if name.startswith("trelliswork.dp.")
    }
    assert [file for file in files if file not in crossed | loaded] == []
    height = {room: i for i, room in enumerate(ROOMS)}
    upwards = [
        f"{caller} calls {called}"
        for caller, called in calls
        if height.get(called.split("/")[0], len(ROOMS)) < height.get(caller.split("/")[0], -1)
    ]
    assert upwards == []
