"""Scores of tagged sentences, for people and as JSON."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

__all__ = ["looks_like_entities", "print_scores", "scores"]

_ROLE = re.compile(r"[BIESLU]-.+")


def looks_like_entities(y: Any) -> bool:
    """Whether every label is ``O`` or a role and a type (``B-PER``), with at least one type.

    Examples
    --------
    >>> from trelliswork.cli._scores import looks_like_entities
    >>> looks_like_entities([["B-PER", "O"]]), looks_like_entities([["D", "N"]]), looks_like_entities([["O"]])
    (True, False, False)
    """
    labels = {label for row in y for label in row} - {"O"}
    return bool(labels) and all(_ROLE.fullmatch(label) for label in labels)


def scores(y_true: Any, y_pred: Any) -> dict[str, Any]:
    """Token and sentence accuracy and, for entity labels, their scores.

    Examples
    --------
    >>> from trelliswork.cli._scores import scores
    >>> scores([["D", "N"]], [["D", "V"]])
    {'sentences': 1, 'tokens': 2, 'token_accuracy': 0.5, 'sentence_accuracy': 0.0, 'entities': None}
    """
    from trelliswork.metrics import entity_scores, sequence_accuracy, token_accuracy

    out: dict[str, Any] = {
        "sentences": len(y_true),
        "tokens": sum(map(len, y_true)),
        "token_accuracy": token_accuracy(y_true, y_pred),
        "sentence_accuracy": sequence_accuracy(y_true, y_pred),
        "entities": None,
    }
    if looks_like_entities(y_true):
        report = entity_scores(y_true, y_pred)
        out["entities"] = _row(report) | {"by_type": {kind: _row(c) for kind, c in report.by_type.items()}}
    return out


def _row(counts: Any) -> dict[str, Any]:
    return {
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        "true": counts.n_true,
        "predicted": counts.n_predicted,
        "correct": counts.n_correct,
    }


def print_scores(y_true: Any, y_pred: Any, *, as_json: bool = False) -> None:
    """Print :func:`scores` to standard output."""
    found = scores(y_true, y_pred)
    if as_json:
        json.dump(found, sys.stdout, indent=2, ensure_ascii=False)
        print()
        return
    from rich.table import Table

    from trelliswork.cli._show import console

    print(f"sentences          {found['sentences']:7,}")
    print(f"tokens             {found['tokens']:7,}")
    print(f"token accuracy     {found['token_accuracy']:7.2%}")
    print(f"sentence accuracy  {found['sentence_accuracy']:7.2%}")
    if found["entities"] is None:
        return
    table = Table("entity")
    for name in ("precision", "recall", "F1", "true", "predicted", "correct"):
        table.add_column(name, justify="right")
    rows = [*found["entities"]["by_type"].items(), ("all", found["entities"])]
    for i, (kind, row) in enumerate(rows):
        shares = [f"{row[name]:.2%}" for name in ("precision", "recall", "f1")]
        table.add_row(
            kind,
            *shares,
            *(f"{row[name]:,}" for name in ("true", "predicted", "correct")),
            end_section=i == len(rows) - 2,
        )
    console().print(table)
