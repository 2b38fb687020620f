"""Tiny fitted models of every learner on every structure."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np

import trelliswork as tw
from trelliswork.learners import LEARNERS
from trelliswork.structures import STRUCTURES, Unsupported

FEW_STEPS = {
    "CRF": {"max_iter": 3},
    "Perceptron": {"max_iter": 2},
    "StructuredSVM": {"max_iter": 3},
    "VotedCRF": {"max_iter": 3},
    "StructBoost": {"max_iter": 2},
}
MORE = {"StructuredSVM": {"kernel": "rbf", "max_iter": 3}, "ZScore": {"reference": "uniform"}}


def data():
    """Structure, inputs and outputs by name."""
    return {
        f"{name}-{i}": example for name, cls in STRUCTURES.items() for i, example in enumerate(cls.examples())
    }


def models():
    """Fitted models with the name of their data; combinations that a learner refuses are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (structure, X, y) in data().items():
            for learner, cls in LEARNERS.items():
                for params in (FEW_STEPS.get(learner, {}), MORE.get(learner)):
                    if params is None or learner == "Fixed":
                        continue
                    try:
                        yield name, cls(structure, **params).fit(X, y)
                    except (tw.InputError, Unsupported):
                        continue


def strings():
    """Fitted kernel regressions with their data."""
    X, y = ["ab", "ba", "aab"], ["xy", "yx", "xxy"]
    for output in (tw.NGrams(2), tw.NGrams(2, language_model=tw.NGramModel(2)), tw.Positions()):
        kernel = "linear" if isinstance(output, tw.Positions) else "spectrum"
        yield tw.KernelRegression(kernel, output).fit(X, y), X, y


def save_all(folder):
    """Write all models into a folder; returns the names of their data by file name."""
    folder, table = Path(folder), {}
    for i, (name, model) in enumerate(models()):
        file = f"{i:03d}-{type(model).__name__}-{name}.tw"
        tw.save(model, folder / file)
        table[file] = name
    (folder / "data.json").write_text(json.dumps(table))
    return table


def given(name):
    """What ``load`` needs to be told: functions are not in model files."""
    structure = data()[name][0]
    return {"structure": structure} if name.startswith("Derivations") else {}


def extremes(rng, dtype):
    """A value that such an array should not hold, more often than not."""
    if dtype.kind == "f":
        return rng.choice([np.nan, np.inf, -np.inf, 1e300, -1e300, 1e16, 5e-324, 0.0, -1.0, 1e308])
    if dtype.kind == "b":
        return bool(rng.integers(2))
    if dtype.kind == "U":
        return rng.choice(["", "a", "B-X", "-", "\ud800"[:0] + "é", "x" * 9])
    info = np.iinfo(dtype)
    tries = [0, 1, 2, 3, -1, -2, 7, 64, 255, 2**31, 2**31 - 1, -(2**31), info.max, info.min, info.max - 1]
    return int(np.clip(tries[rng.integers(len(tries))], info.min, info.max))
