"""Comparisons for reading: a text table, and a page with curves that needs no other file."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

from trelliswork.plots.drawing import document

if TYPE_CHECKING:
    from trelliswork.selection.comparison import Comparison

__all__ = ["as_text", "html_table", "page"]

_COLUMNS = ("learner", "score", "standard error", "fit", "predict", "model", "settings")
# Paths are drawn over the logarithm of the setting, the best at the top.
_SCRIPT = """
const curves = document.getElementById("curves"), mistakes = document.getElementById("mistakes");
const written = (x) => String(Number((10 ** x).toPrecision(2)));
for (const {name, across, lines} of data.curves) {
  curves.append(drawCurves(name, lines, {across, falling: data.falling, written}));
}
if (mistakes) mistakes.append(drawTable(["truth", "prediction", "times"], data.mistakes));
"""


def _rows(comparison: Comparison) -> list[tuple[dict[str, Any], list[str]]]:
    """Rows of the table and their cells as texts."""
    table, out = comparison.table, []
    for i in range(len(table["learner"])):
        row = {column: values[i] for column, values in table.items()}
        if row["failure"]:
            cells = [row["learner"], "-", "", "", "", "", row["failure"]]
        else:
            note = " (fits were cut short)" * row["out_of_time"] or _note(comparison, row)
            cells = [
                row["learner"] + " *" * row["near_best"],
                f"{row['score']:.4f}",
                f"{row['standard_error']:.4f}" if math.isfinite(row["standard_error"]) else "-",
                _seconds(row["fit_seconds"]),
                _seconds(row["predict_seconds"]),
                _bytes(row["bytes"]),
                (", ".join(f"{k.split('__')[-1]}={v}" for k, v in row["settings"].items()) or "-") + note,
            ]
        out.append((row, cells))
    return out


def _note(comparison: Comparison, row: dict[str, Any]) -> str:
    """Whether there was no time for tuning."""
    left_out = comparison.entries[row["learner"]].can_be_tuned and not row["tuned"]
    return " (no time to tune)" if left_out else ""


def as_text(comparison: Comparison) -> str:
    """The table, with a star at the best and at what is within one standard error of it.

    Parameters
    ----------
    comparison : Comparison
        Learners side by side.
    """
    head = [comparison.scoring if name == "score" else name for name in _COLUMNS]
    lines = [head, *(cells for _, cells in _rows(comparison))]
    widths = [max(len(line[j]) for line in lines) for j in range(len(head))]
    last = len(head) - 1
    texts = [
        "  ".join(
            cell.ljust(width) if j in (0, last) else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([*texts, "* the best, and what is within one standard error of it"])


def html_table(comparison: Comparison) -> str:
    """The table as HTML.

    Parameters
    ----------
    comparison : Comparison
        Learners side by side.
    """
    head = "".join(
        f"<th>{html.escape(comparison.scoring if name == 'score' else name)}</th>" for name in _COLUMNS
    )
    body = []
    for row, cells in _rows(comparison):
        kind = "failed" if row["failure"] else "near" if row["near_best"] else ""
        body.append(
            f'<tr class="{kind}">' + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
        )
    return f"<table><tr>{head}</tr>{''.join(body)}</table>"


def page(comparison: Comparison, title: str) -> str:
    """The whole page.

    Parameters
    ----------
    comparison : Comparison
        Learners side by side.
    title : str
        Heading.
    """
    curves = [
        {"name": name, "across": across, "lines": lines}
        for name, entry in comparison.entries.items()
        for across, lines in [_lines(entry.results)]
        if lines
    ]
    mistakes = [list(row) for row in comparison.confusions(top=15)]
    better = "larger" if comparison.measure.greater_is_better else "smaller"
    body = (
        f"<h1>{html.escape(title)}</h1>"
        f"<p>{len(comparison.y):,} samples, cross-validated; {html.escape(comparison.scoring)}, {better} is "
        "better. Settings were chosen on the training part of each fold.</p>"
        f"<div class='learners scroll'>{html_table(comparison)}</div>"
        "<p class='note'>* the best, and what is within one standard error of it. "
        "Seconds are those of one fold.</p>"
        + ("<h2>Paths</h2><div class='curves' id='curves'></div>" if curves else "")
        + (
            f"<h2>What {html.escape(comparison.best)} takes for what</h2><div id='mistakes'></div>"
            if mistakes
            else "<p>No mistakes.</p>"
        )
    )
    data = {"curves": curves, "falling": not comparison.measure.greater_is_better, "mistakes": mistakes}
    return document(title, body, modules=["dom", "curve", "table"], script=_SCRIPT, data=data)


def _lines(tables: list[dict[str, list[Any]]]) -> tuple[str, list[list[tuple[float, float]]]]:
    """Scores against the strength of regularisation, one line per fold; none if nothing was tuned."""
    lines = [points for table in tables if len(points := _curve(table)) > 1]
    return (_path_name(tables[0]) or "", lines) if lines else ("", [])


def _path_name(table: dict[str, list[Any]]) -> str | None:
    """First parameter with several positive numbers."""
    for name, values in table.items():
        if name == "score":
            return None
        if len({v for v in values if type(v) in (int, float) and v > 0}) > 1:
            return name
    return None


def _curve(table: dict[str, list[Any]]) -> list[tuple[float, float]]:
    """Best score at every value of that parameter, in the order of their logarithms."""
    name = _path_name(table)
    if name is None:
        return []
    chosen = table["path"][table["chosen"].index(True)] if True in table["chosen"] else table["path"][0]
    points = [
        (math.log10(value), score)
        for value, score, path in zip(table[name], table["score"], table["path"], strict=True)
        if score is not None and path == chosen and type(value) in (int, float) and value > 0
    ]
    return sorted(points)


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.1f} s"


def _bytes(value: int | None) -> str:
    if value is None:
        return "-"
    return f"{value / 1e6:.1f} MB" if value >= 1e6 else f"{value / 1e3:.1f} kB"
