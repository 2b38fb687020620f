"""What a model is: structure, learner, settings, how it was trained, its largest weights."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

__all__ = ["model_card"]

_TOP = 20  # rows of a table
_STEPS = 500  # of a curve
_WIDEST = 40  # labels of a table of transitions


def model_card(served: Any) -> dict[str, Any]:
    """Facts, settings, curves and tables of weights.

    Parameters
    ----------
    served : Served
        The model.
    """
    opened, learner = served.opened, served.opened.learner
    structure = getattr(learner, "structure", None)
    facts: list[list[str]] = [["learner", type(learner).__name__]]
    if structure is not None:
        facts.append(["structure", _repr(structure)])
    facts += [["features", _repr(step)] for step in opened.transformers]
    space = getattr(learner, "space_", None)
    for name in ("labels", "attributes", "symbols"):
        if hasattr(space, name):
            facts.append([name, f"{len(getattr(space, name)):,}"])
    if hasattr(learner, "dual_coef_") and np.ndim(learner.dual_coef_) == 2:
        n, outputs = learner.dual_coef_.shape
        facts.append(["coefficients", f"{n:,} training inputs x {outputs:,}"])
    elif hasattr(learner, "coef_"):
        facts.append(["weights", f"{learner.coef_.size:,} ({int((learner.coef_ != 0).sum()):,} not zero)"])
    facts.append(["iterations", str(getattr(learner, "n_iter_", 0))])
    settings = [
        [name, _repr(value)] for name, value in learner.get_params(deep=False).items() if name != "structure"
    ]
    return {"facts": facts, "settings": settings, "curves": _curves(learner), "tables": _tables(learner)}


def _repr(value: Any) -> str:
    text = re.sub(r" at 0x[0-9a-f]+", "", " ".join(repr(value).split()))  # of functions
    return text if len(text) <= 300 else f"{text[:300]}..."


def _curves(learner: Any) -> list[dict[str, Any]]:
    """Numbers of ``history_`` by step, thinned out where there are many."""
    history = getattr(learner, "history_", [])
    step = max(1, len(history) // _STEPS)
    curves: dict[str, list[list[float]]] = {}
    for i in range(0, len(history), step):
        for name, value in history[i].items():
            if (
                type(value) in (int, float, np.float64)
                and math.isfinite(value)
                and name not in ("iteration", "seconds")
            ):
                curves.setdefault(str(name), []).append([i, float(value)])
    return [{"name": name, "points": points} for name, points in curves.items() if len(points) > 1]


def _tables(learner: Any) -> list[dict[str, Any]]:
    """Tables for reading, each with a head and rows."""
    if not hasattr(learner, "tables") or not hasattr(learner, "coef_"):
        return []
    out, tables = [], learner.tables(_TOP)
    if "top" in tables:
        rows = [[str(a), str(name), w] for a, listed in tables["top"].items() for name, w in listed]
        out.append({"name": "largest weights", "head": ["label", "attribute", "weight"], "rows": rows})
    if "transitions" in tables and len(tables["labels"]) <= _WIDEST:
        labels = [str(label) for label in tables["labels"]]
        rows = [
            [a, b, float(w)]
            for a, line in zip(labels, tables["transitions"], strict=True)
            for b, w in zip(labels, line, strict=True)
            if math.isfinite(w)
        ]
        out.append({"name": "transitions", "head": ["from", "to", "weight"], "rows": rows})
    if "matrix" in tables:
        symbols = [str(symbol) for symbol in tables["symbols"]]
        rows = [
            [a, b, float(tables["matrix"][i][j])]
            for i, a in enumerate(symbols)
            for j, b in enumerate(symbols[: i + 1])
        ]
        out.append({"name": "scores of pairs", "head": ["first", "second", "score"], "rows": rows})
    for kind in ("matches", "gaps"):
        if kind in tables:
            rows = [[name, float(w)] for name, w in tables[kind].items()]
            out.append({"name": kind, "head": ["what", "score"], "rows": rows})
    for kind in ("weights", "window", "joint", "ngram", "output"):
        if tables.get(kind):
            rows = [
                [" ".join(map(str, name)) if isinstance(name, tuple) else str(name), w]
                for name, w in tables[kind]
            ]
            out.append({"name": kind, "head": ["feature", "weight"], "rows": rows})
    return out
