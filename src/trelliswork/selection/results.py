"""The table of a search: a column per parameter, scores, seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from trelliswork._signature import signature
from trelliswork.selection.plan import Plan
from trelliswork.selection.search import Search
from trelliswork.selection.trials import Trial

__all__ = ["results_table"]


def results_table(
    search: Search, plan: Plan, best: Trial | None, n_splits: int, prefix: str = ""
) -> dict[str, list[Any]]:
    """Columns of equal length, by path and from strong to weak.

    A parameter that is ``"auto"`` is shown as what it stood for in the first split.

    Parameters
    ----------
    search : Search
        A search that has ended.
    plan : Plan
        What was tried.
    best : Trial or None
        What was chosen.
    n_splits : int
        Number of splits.
    prefix : str
        What comes before the names of parameters.
    """
    trials = sorted(search.trials, key=lambda t: (t.path, t.strength))
    names = [name for name in plan.names if name in search.own]
    table: dict[str, list[Any]] = {
        prefix + name: [{**search.own, **t.settings, **t.resolved}[name] for t in trials] for name in names
    }
    judged = [trial.judged for trial in trials]
    table["score"] = [None if j is None else j.score for j in judged]
    errors = [float("nan") if j is None else j.standard_error for j in judged]
    table["standard_error"] = [e if np.isfinite(e) else None for e in errors]
    order = sorted(search.left, key=search.score, reverse=True)
    places = {id(trial): rank for rank, trial in enumerate(order, start=1)}
    table["rank"] = [places.get(id(trial)) for trial in trials]
    own = signature(search.own)
    table["own"] = [signature({**search.own, **trial.settings}) == own for trial in trials]
    table["chosen"] = [trial is best for trial in trials]
    table["path"] = [trial.path for trial in trials]
    table["n_splits"] = [len(trial.outcomes) for trial in trials]
    for k in range(n_splits):
        outcomes = [trial.outcomes.get(k) for trial in trials]
        table[f"split{k}_score"] = [
            None if o is None or o.judged is None else o.judged.score for o in outcomes
        ]
    for name in ("fit_seconds", "predict_seconds"):
        table[name] = [float(np.mean([getattr(o, name) for o in t.outcomes.values()])) for t in trials]
    table["failure"] = [None if trial.error is None else str(trial.error) for trial in trials]
    return table
