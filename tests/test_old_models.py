"""Model files that version 0.1 wrote before its modules were moved still load, and predict the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import trelliswork as tw

FOLDER = Path(__file__).parent / "data" / "models-0.1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


def inputs(name):
    """Inputs of the law tests as they were; JSON made lists of tuples and arrays."""
    X = EXPECTED["inputs"][name]
    if name == "chain-arrays":
        return [np.array(x) for x in X]
    if name.startswith("classes") and name != "classes-lists":
        return np.array(X)
    if name.startswith("align"):
        return [tuple(x) for x in X]
    return [(x, list(z)) for x, z in X] if name == "retrieval" else X


def plain(value):
    """Outputs as JSON has them."""
    if isinstance(value, tw.AlignPath):
        return [value.to_cigar(), *value.start]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


@pytest.mark.parametrize("name", EXPECTED["models"])
def test_old_model(name):
    expected = EXPECTED["models"][name]
    X = inputs(expected["data"])
    model = tw.load(FOLDER / f"{name}.tw")
    assert plain(model.predict(X)) == expected["predict"]
    scores = [candidates[0].score for candidates in model.predict_kbest(X, 1)]
    np.testing.assert_allclose(scores, expected["best"], rtol=1e-12, atol=1e-12)
