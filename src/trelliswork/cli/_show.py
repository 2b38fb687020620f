"""Tables on standard output: what ``inspect`` shows of a model, and scores by label."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trelliswork.cli.tasks import TASKS

if TYPE_CHECKING:
    from rich.console import Console

    from trelliswork.cli._models import OpenModel

__all__ = ["console", "score_table", "show"]

_WIDEST = 10  # labels of a transition table; beyond, the strongest transitions are listed


def console() -> Console:
    """Console for standard output: the text as it is, and no line cut off in a file or pipe."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:  # otherwise rich ends the process itself
            raise

    width = None if sys.stdout.isatty() else max(200, shutil.get_terminal_size().columns)
    return Plain(markup=False, highlight=False, emoji=False, width=width)


def show(opened: OpenModel, top: int) -> None:
    """Print task, learner, sizes and the largest weights of a model.

    Parameters
    ----------
    opened : OpenModel
        The model.
    top : int
        Rows per table.
    """
    from rich.table import Table

    out, learner = console(), opened.learner
    summary = Table(show_header=False, box=None)
    for name, value in _facts(opened):
        summary.add_row(name, value)
    out.print(summary)
    if opened.tuned is not None:
        out.print("settings that were tried", _tried(opened.tuned), sep="\n")
    # Not trained, a kernel model, or outputs without a structure.
    if not hasattr(learner, "coef_") or not hasattr(learner, "space_") or top == 0:
        return
    tables = learner.tables(top)
    if "top" in tables:
        out.print(f"largest weights, {top} per label", _top(tables["top"]), sep="\n")
    if "transitions" in tables:
        labels = [str(label) for label in tables["labels"]]
        which = "" if len(labels) <= _WIDEST else ", strongest and weakest"
        out.print(f"transitions{which}", _transitions(labels, tables["transitions"], top), sep="\n")
    if "matrix" in tables:
        out.print("scores of pairs", _matrix(tables["symbols"], tables["matrix"]), sep="\n")
    for kind in ("matches", "gaps"):
        if kind in tables:
            out.print(kind, _strongest({(name,): w for name, w in tables[kind].items()}, top), sep="\n")
    if "weights" in tables:
        out.print("largest weights", _strongest(dict(tables["weights"]), top), sep="\n")


def _facts(opened: OpenModel) -> list[tuple[str, str]]:
    learner = opened.learner
    facts = [
        ("file", f"{opened.path} ({os.path.getsize(opened.path):,} bytes)"),
        ("kind", opened.task or "unknown"),
        ("learner", _repr(learner)),
    ]
    if hasattr(learner, "structure"):
        facts.append(("structure", _repr(learner.structure)))
    facts += [("features", _repr(step)) for step in opened.transformers]
    if opened.task is not None and hasattr(TASKS[opened.task], "facts"):
        facts += TASKS[opened.task].facts(opened)
    if opened.tuned is not None:
        facts.append(("tuned", _chosen(opened.tuned)))
    space = getattr(learner, "space_", None)
    for name in ("labels", "attributes", "symbols"):
        if hasattr(space, name):
            facts.append((name, f"{len(getattr(space, name)):,}"))
    if hasattr(learner, "dual_coef_"):
        n, outputs = learner.dual_coef_.shape
        facts.append(("coefficients", f"{n:,} training inputs x {outputs:,} output features"))
    elif hasattr(learner, "coef_"):
        nonzero = int((learner.coef_ != 0).sum())
        facts.append(("weights", f"{learner.coef_.size:,} ({nonzero:,} not zero)"))
        facts.append(("iterations", str(getattr(learner, "n_iter_", 0))))
    else:
        facts.append(("weights", "none: not trained"))
    return facts


def _chosen(tuned: Any) -> str:
    """Settings that were chosen, with their score."""
    settings = ", ".join(f"{name}={value}" for name, value in tuned.best_params_.items())
    ended = f"; ended by {tuned.ended_}" if tuned.ended_ else ""
    return f"{settings or 'the defaults'}; {tuned.scoring_} {tuned.best_score_:.4g}{ended}"


def _tried(tuned: Any) -> Any:
    """Settings with their held-out scores, as numbers and as a curve."""
    from rich.table import Table

    results = tuned.results_
    names = list(results)[: list(results).index("score")]
    names = [name for name in names if len({str(v) for v in results[name]}) > 1] or names
    table = Table(*names)
    for name in (tuned.scoring_, "standard error", "splits"):
        table.add_column(name, justify="right")
    table.add_column("")
    scores = [score for score in results["score"] if score is not None]
    low, high = (min(scores), max(scores)) if scores else (0.0, 0.0)
    for i, score in enumerate(results["score"]):
        error = results["standard_error"][i]
        share = 0.0 if score is None or high == low else (score - low) / (high - low)
        table.add_row(
            *(f"{v:.4g}" if isinstance(v := results[name][i], float) else str(v) for name in names),
            results["failure"][i] if score is None else f"{score:.4f}",
            "" if error is None else f"{error:.4f}",
            str(results["n_splits"][i]),
            "#" * round(1 + 29 * share) * (score is not None)
            + " default" * results.get("own", results["chosen"])[i] * (not results["chosen"][i])
            + " chosen" * results["chosen"][i],
        )
    return table


def score_table(title: str, rows: Mapping[str, Any], total: Mapping[str, Any] | None = None) -> Any:
    """Table of precision, recall, F1 and counts.

    Parameters
    ----------
    title : str
        What the rows are.
    rows : mapping of str to mapping
        Scores by name.
    total : mapping or None
        Scores of all together, for a last row.
    """
    from rich.table import Table

    table = Table(title)
    for name in ("precision", "recall", "F1", "true", "predicted", "correct"):
        table.add_column(name, justify="right")
    for name, scores in rows.items():
        table.add_row(name, *_score_cells(scores))
    if total is not None:
        table.add_section()
        table.add_row("all", *_score_cells(total))
    return table


def _score_cells(scores: Mapping[str, Any]) -> list[str]:
    shares = [f"{scores[name]:.2%}" for name in ("precision", "recall", "f1")]
    return shares + [f"{scores[name]:,}" for name in ("true", "predicted", "correct")]


def _repr(value: Any) -> str:
    if not hasattr(value, "get_params"):
        return repr(value)
    from sklearn.base import clone

    if hasattr(value, "structure"):  # has a line of its own
        value = clone(value).set_params(structure=None)
        return " ".join(repr(value).split()).replace(", structure=None", "").replace("structure=None", "")
    return " ".join(repr(value).split())


def _top(best: dict[Any, list[tuple[str, float]]]) -> Any:
    from rich.table import Table

    table = Table("label", "attribute")
    table.add_column("weight", justify="right")
    for label, rows in best.items():
        for i, (name, weight) in enumerate(rows):
            table.add_row("" if i else str(label), name, _weight(weight), end_section=i == len(rows) - 1)
        if not rows:
            table.add_row(str(label), "(none above 0)", "", end_section=True)
    return table


def _transitions(labels: list[str], weights: Any, top: int) -> Any:
    """Table ``[from, to]``, or its strongest entries when it would be too wide."""
    from rich.table import Table

    if len(labels) <= _WIDEST:
        table = Table("from \\ to")
        for label in labels:
            table.add_column(label, justify="right")
        for label, row in zip(labels, weights):
            table.add_row(label, *map(_weight, row))
        return table
    cells = [
        (float(w), a, b) for a, row in zip(labels, weights) for b, w in zip(labels, row) if math.isfinite(w)
    ]
    cells.sort(key=lambda cell: -cell[0])
    chosen = cells if len(cells) <= 2 * top else cells[:top] + cells[-top:]
    table = Table("from", "to")
    table.add_column("weight", justify="right")
    for i, (weight, a, b) in enumerate(chosen):
        table.add_row(a, b, _weight(weight), end_section=i == top - 1)
    return table


def _matrix(symbols: list[Any], values: Any) -> Any:
    """Substitution matrix, a column per symbol."""
    from rich.table import Table

    table = Table("", box=None, padding=(0, 1, 0, 0))
    for symbol in symbols:
        table.add_column(str(symbol), justify="right", no_wrap=True)
    for symbol, row in zip(symbols, values):
        table.add_row(str(symbol), *(f"{value:.2f}" for value in row))
    return table


def _strongest(weights: dict[Any, float], top: int) -> Any:
    from rich.table import Table

    table = Table("feature")
    table.add_column("weight", justify="right")
    for name, weight in sorted(weights.items(), key=lambda item: -abs(item[1]))[:top]:
        table.add_row(" ".join(map(str, name)) if isinstance(name, tuple) else str(name), _weight(weight))
    return table


def _weight(value: float) -> str:
    return "-" if not math.isfinite(value) else f"{value:.3f}"
