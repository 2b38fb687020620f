"""Tiny fitted models of every learner on every structure."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.feature_extraction import DictVectorizer

import trelliswork as tw
from trelliswork.features import RowScaler, TokenWindow
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


def targets():
    """The same, smaller where size is no matter, and more: what a model file can be made of."""
    out = {name: example for name, example in data().items() if not name.startswith("Alignment")}
    pairs, rows = [("ABA", "AB"), ("BA", "BBA")], [("ABA", "AB-"), ("-BA", "BBA")]
    out["Alignment-affine"] = tw.Alignment("substitution-affine"), pairs, rows
    out["Alignment-local"] = tw.Alignment("linear", mode="local"), pairs, rows
    words = [["a", "b", "c"], ["b", "a"], ["c"]]
    out["Chain-known"] = tw.Chain(), words, [["X", None, "Y"], ["Y", frozenset("XY")], ["Y"]]
    out["Chain-sparse"] = tw.Chain(order=3, ngrams="observed", edge_features="observed"), words, words
    tree = [("r", "p"), ("r", "q"), ("p", "a"), ("p", "b"), ("q", "c")]
    points = [{"u": 1.0}, {"v": 2.0}, {"u": -1.0, "v": 0.5}, {"v": 1.0}]
    out["Classes-tree"] = tw.Classes(taxonomy=tree), points, ["a", "b", "c", "a"]
    out["Classes-known"] = tw.Classes(taxonomy=tree), points, ["p", {"b", "c"}, "c", "a"]
    out["rows"] = tw.Classes(), points, ["a", "b", "c", "a"]
    out["words"] = tw.Chain(), words, [["X", "X", "Y"], ["Y", "X"], ["Y"]]
    out["strings"] = None, ["ab", "ba", "aab"], ["xy", "yx", "xxy"]
    out["positions"] = None, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["xy", "yx", "xx"]
    out["RNA-known"] = tw.RNA("g6"), ["GGAAACC", "GAAAC"], ["((???))", "(...)"]
    return out


def models(targets):
    """Fitted models with the name of their data; combinations that a learner refuses are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (structure, X, y) in targets.items():
            if structure is None or name in ("rows", "words"):
                continue  # for the models below
            for learner, cls in LEARNERS.items():
                for params in (FEW_STEPS.get(learner, {}), MORE.get(learner)):
                    if params is None or learner == "Fixed":
                        continue
                    try:
                        yield name, cls(structure, **params).fit(X, y)
                    except (tw.InputError, Unsupported):
                        continue
        yield from wrapped(targets)
        yield from strings(targets)


def wrapped(targets):
    """Learners inside of pipelines and of searches for settings."""
    _, X, y = targets["words"]
    crf = tw.CRF(tw.Chain(), max_iter=3)
    yield "words", tw.make_pipeline(TokenWindow(), crf).fit(X, y)
    yield "words", tw.Tuned(crf, budget=0.5, cv=2).fit(X * 2, y * 2)
    yield "words", tw.make_pipeline(TokenWindow(), tw.Tuned(crf, budget=0.5, cv=2)).fit(X * 2, y * 2)
    yield (
        "words",
        tw.Fixed(tw.Chain(), {("emission", "a", "X"): 1.0, ("transition", "X", "Y"): 2.0}).fit(X, y),
    )
    _, X, y = targets["rows"]
    yield "rows", tw.make_pipeline(RowScaler(), tw.StructuredSVM(tw.Classes(), max_iter=3)).fit(X, y)
    yield "rows", tw.make_pipeline(DictVectorizer(), tw.CRF(tw.Classes(), max_iter=3)).fit(X, y)


def strings(targets):
    """Fitted kernel regressions."""
    _, X, y = targets["strings"]
    yield "strings", tw.KernelRegression("spectrum", tw.NGrams(2)).fit(X, y)
    model = tw.NGramModel(2).fit(y)
    yield "strings", tw.KernelRegression("spectrum", tw.NGrams(2, language_model=model)).fit(X, y)
    _, X, y = targets["positions"]
    yield "positions", tw.KernelRegression("linear", tw.Positions()).fit(X, y)


def save_all(folder, targets):
    """Write all models into a folder; returns the names of their data by file name."""
    folder, table = Path(folder), {}
    for i, (name, model) in enumerate(models(targets)):
        file = f"{i:03d}-{type(model).__name__}-{name}.tw"
        tw.save(model, folder / file)
        table[file] = name
    (folder / "data.json").write_text(json.dumps(table))
    return table


def given(name, targets):
    """What ``load`` needs to be told: functions are not in model files."""
    return {"structure": targets[name][0]} if name.startswith("Derivations") else {}


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
