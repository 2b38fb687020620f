"""One label per row: svmlight, CSV, JSON lines or ARFF in, a model of classes out."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trelliswork._errors import InputError, ModelFileError
from trelliswork.cli import _options
from trelliswork.cli._learners import Learning, learns
from trelliswork.cli._report import say
from trelliswork.cli._training import counted, ending, finish, watched

if TYPE_CHECKING:
    from trelliswork.cli._comparing import Samples
    from trelliswork.cli._models import OpenModel, Request
    from trelliswork.io.rows import Rows

__all__ = [
    "EVALUATE_HELP",
    "PREDICT_HELP",
    "PREDICT_OPTIONS",
    "STRUCTURE",
    "evaluate",
    "facts",
    "predict",
    "samples",
    "train",
]

STRUCTURE = "Classes"
PREDICT_HELP = (
    "CSV, ARFF and jsonl files get the column or key 'predicted' (ARFF becomes CSV); svmlight files become "
    "lines of labels."
)
PREDICT_OPTIONS = ("--known",)
EVALUATE_HELP = "Accuracy, tree loss and hierarchical F1 if there is a taxonomy, and a table of labels."

_NAMES = {
    "CRF": ("crf", "multinomial logistic regression"),
    "Generative": ("bayes", "naive Bayes, for counts"),
    "StructuredSVM": ("svm", "multiclass SVM"),
}


@learns("svm", renamed=_NAMES)
def train(
    source: Annotated[
        str, typer.Argument(metavar="TRAIN", help="File of rows, plain or gzip; - reads standard input.")
    ],
    output: _options.Output,
    dev: Annotated[
        str | None,
        typer.Option(
            help="Development file: scored at the end; the crf also stops by it.", show_default=False
        ),
    ] = None,
    taxonomy: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Lines 'parent TAB child' with one root, whose leaves are the labels: related labels share "
            "weights. An inner node as label stands for any leaf below it.",
            show_default=False,
        ),
    ] = None,
    ancestor_weight: Annotated[
        float | None,
        typer.Option(
            help="How much labels share through the taxonomy: 1 as much as can be, 0 nothing.",
            show_default="0.3",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            help="svmlight, csv, jsonl or arff; by default judged by the first line.", show_default=False
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            help="Column or key of the labels; by default 'label', or the last column of a CSV file.",
            show_default=False,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns or keys to read, such as size,colour; by default all but row numbers (id), "
            "and with --text none.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            help="Columns or keys whose words are the features, weighed by how rare they are (tf-idf).",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        bool,
        typer.Option(
            "--scale/--no-scale",
            help="Standardise numbers (columns of 0 and 1 alone stay; not for bayes), or take them as is.",
        ),
    ] = True,
    separator: _options.Separator = None,
    unknown: _options.Unknown = None,
    *,
    learning: Learning,
    encoding: _options.Encoding = None,
    quiet: _options.Quiet = False,
) -> None:
    """Learn to classify the rows of a file.

    svmlight: 'label index:value ...', labels of any kind. CSV: a header; cells that are no numbers become
    features of their own. jsonl: one object per line. ARFF: a hierarchical class brings its taxonomy. Ctrl-C
    ends the training early: the best weights so far are saved, and the exit code is 130.
    """
    if learning.given.get("loss") == "tree" and taxonomy is None:
        raise InputError("--loss tree needs --taxonomy FILE")
    if ancestor_weight is not None and not 0 <= ancestor_weight < math.inf:
        raise InputError(f"--ancestor-weight must be a finite number >= 0, got {ancestor_weight}")
    _options.check_output(output, model=True)
    learning.check_dev(dev, source)
    layout: dict[str, Any] = {
        "format": format,
        "label": label,
        "columns": _names(columns),
        "text": _names(text) or [],
        "separator": _options.parse_separator(separator),
        "encoding": encoding or "utf-8",
    }
    from trelliswork.features import RowScaler
    from trelliswork.structures import Classes
    from trelliswork.structures.classes.taxonomy import Taxonomy

    # Rows are dicts, which tell a missing number from 0; the scaler of rows does what the structure would do.
    shared: dict[str, Any] = {"scale": None}
    if ancestor_weight is not None:
        shared["ancestor_weight"] = ancestor_weight
    links = None if taxonomy is None else Taxonomy.read(taxonomy).edges
    estimator = learning.build(Classes(links, **shared), quiet)
    rows = _read_for_training(source, layout, in_parts=learning.in_parts)
    _warn(rows.notes, quiet)
    if unknown is not None:
        assert rows.y is not None
        rows = rows._replace(y=[_options.known_label(label, [unknown]) for label in rows.y])
    if links is None and rows.taxonomy is not None:
        estimator = learning.build(Classes(rows.taxonomy, **shared), quiet)
    layout |= {"format": rows.format, "numbers": rows.numbers}
    if ancestor_weight is not None and estimator.structure.taxonomy is None:
        raise InputError("--ancestor-weight needs --taxonomy FILE")
    held_out = None if dev is None else _read(dev, layout)
    _warn(() if held_out is None else held_out.notes, quiet)
    scale = scale and _scaled(learning.entry.learner.__name__)
    scaler = RowScaler(text=layout["text"], numbers=scale) if scale or layout["text"] else None
    if scaler is not None and learning.in_parts:
        raise InputError("--dask needs --no-scale and no --text: these look at all rows together")
    _fit_and_save(learning, estimator, scaler, rows, held_out, layout, output, quiet)


def _scaled(learner: str) -> bool:
    """Whether numbers are standardised for a learner, by the name of its class; one of them takes counts."""
    return learner != "Generative"


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _read(source: str, layout: dict[str, Any], *, unlabelled: bool = False) -> Rows:
    from trelliswork.io.rows import read_rows

    return read_rows(source, unlabelled=unlabelled, **layout)


def _read_for_training(source: str, layout: dict[str, Any], *, in_parts: bool) -> Rows:
    """Rows without their numbering, unless it was asked for; the layout says what was left out."""
    rows = _read(source, layout)
    found = [] if layout["columns"] or layout["text"] else rows.identifiers()
    if not found:
        return rows
    named = f"column{'s' * (len(found) > 1)} {', '.join(map(repr, found))}"
    if in_parts:  # each worker would judge by its own file
        note = f"row numbers ({named}) are taken as features; name the other columns in --columns"
        return rows._replace(notes=(*rows.notes, f"{rows.name}: {note}"))
    layout["left_out"] = found
    left = rows.without(found)
    if not any(left.X):
        raise InputError.at(
            rows.name, None, f"nothing but row numbers ({named}) beside the label; --columns reads them, too"
        )
    note = f"row numbers ({named}) are left out; to keep them, name them with the others in --columns"
    return left._replace(notes=(*rows.notes, f"{rows.name}: {note}"))


def _warn(notes: Iterable[str], quiet: bool) -> None:
    for note in () if quiet else notes:
        say(f"trelliswork: warning: {note}")


def _fit_and_save(
    learning: Learning,
    estimator: Any,
    scaler: Any,
    rows: Rows,
    held_out: Rows | None,
    layout: dict[str, Any],
    output: str,
    quiet: bool,
) -> None:
    from trelliswork.pipeline import make_pipeline

    X = rows.X if scaler is None else scaler.fit_transform(rows.X)
    X_dev = None if held_out is None else held_out.X if scaler is None else scaler.transform(held_out.X)
    more = {} if held_out is None else learning.held_out(X_dev, held_out.y)
    done = watched(lambda: estimator.fit(X, rows.y, **more), estimator, rows.located, quiet)
    said = [
        f"{learning.name}: {counted(len(rows.X), 'row')}, "
        + counted(len(estimator.space_.attributes), "attribute"),
        f"{counted(len(estimator.classes_), 'label')}, {counted(estimator.coef_.size, 'weight')}",
        f"{counted(estimator.n_iter_, 'iteration')} in {done.seconds:.1f} s"
        + ending(estimator, done.interrupted),
    ]
    if held_out is not None:
        right = estimator.space_.accuracy(X_dev, held_out.y, estimator.predict(X_dev))
        said.append(f"dev accuracy {right:.2%}")
    model = estimator if scaler is None else make_pipeline(scaler, estimator)
    info = {"kind": "classify", "learner": learning.name, "rows": layout}
    finish(model, output, info, learning.said(said), interrupted=done.interrupted, quiet=quiet)


def samples(
    source: str,
    *,
    label: str | None = None,
    text: str | None = None,
    taxonomy: str | None = None,
    encoding: str | None = None,
) -> Samples:
    """Rows of a file, for ``compare``.

    Parameters
    ----------
    source : str
        File.
    label, text, taxonomy, encoding : str or None
        As in :func:`train`.
    """
    from trelliswork.cli._comparing import Samples, with_features
    from trelliswork.features import RowScaler
    from trelliswork.structures import Classes
    from trelliswork.structures.classes.taxonomy import Taxonomy

    words = _names(text) or []
    layout: dict[str, Any] = {
        "format": None,
        "label": label,
        "columns": None,
        "text": words,
        "separator": None,
    }
    layout["encoding"] = encoding or "utf-8"
    rows = _read_for_training(source, layout, in_parts=False)
    structure = Classes(rows.taxonomy if taxonomy is None else Taxonomy.read(taxonomy).edges, scale=None)
    learners = with_features(structure, lambda name: RowScaler(text=words, numbers=_scaled(name)))
    return Samples(rows.X, rows.y, structure, learners, rows.notes)


# What files of versions that had no such entries mean: every comma is a part of a text, nothing is left out.
_EARLIER: dict[str, list[str]] = {"numbers": [], "left_out": []}


def _is_layout(stored: Any) -> bool:
    """Whether a stored value says how rows are read; models from Python say nothing about it."""
    expected = {"format", "label", "columns", "text", "separator", "encoding"}
    if not isinstance(stored, dict) or (stored and set(stored) - set(_EARLIER) != expected):
        return False
    lists = [stored[name] for name in _EARLIER if stored.get(name) is not None]
    return all(isinstance(names, list) and all(isinstance(n, str) for n in names) for names in lists)


def stored_layout(opened: OpenModel, request: Request) -> dict[str, Any]:
    """How the training file was read, with what the request changes."""
    stored = opened.info.get("rows", {})
    if not _is_layout(stored):
        raise ModelFileError(f"{opened.path}: the model file is damaged (how rows are read)")
    for name, value in (("--columns", request.columns), ("--label", request.label)):
        if value is not None:
            raise InputError(f"{name} is for models of sentences; rows are read as in training")
    if request.comment is not None:
        raise InputError("--comment is for models of sentences")
    layout = {**_EARLIER, **stored} if stored else {}
    if request.separator is not None:
        layout["separator"] = request.separator
    if request.encoding is not None:
        layout["encoding"] = request.encoding
    return layout


def predict(opened: OpenModel, request: Request) -> None:
    """Write a file of rows with the labels that a model predicts.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        Files. CSV files get the columns ``predicted`` (``predicted_2``, ... with ``kbest``) and
        ``probability``, objects the same keys; svmlight files become lines of labels, with their
        probabilities after tabs.
    """
    _options.check_output(request.output)
    rows = _read(request.source, stored_layout(opened, request), unlabelled=True)
    for note in rows.notes:
        request.note(note)
    learner = opened.learner
    try:
        X, limits = opened.features(rows.X), {}
        if request.known:
            if rows.y is None:
                raise InputError("--known: every row needs a label; write ? for one that may be any")
            limits["known"] = [_options.known_label(label, ["?"], list(learner.classes_)) for label in rows.y]
        if request.kbest > 1 or request.probabilities:
            lists = learner.predict_kbest(X, request.kbest, **limits)
        else:
            lists = [[(label,)] for label in learner.predict(X, **limits)]
    except InputError as error:
        raise rows.located(error) from None
    added = [_added(candidates, request) for candidates in lists]
    from trelliswork._text import write_text

    write_text(request.output, _written(rows, added))


def _added(candidates: Any, request: Request) -> dict[str, Any]:
    """New cells of one row."""
    out: dict[str, Any] = {}
    for k in range(request.kbest):
        end = "" if k == 0 else f"_{k + 1}"
        exists = k < len(candidates)
        out[f"predicted{end}"] = str(candidates[k][0]) if exists else None
        if request.probabilities:
            out[f"probability{end}"] = float(f"{candidates[k].probability:.6g}") if exists else 0.0
    return out


def _written(rows: Rows, added: list[dict[str, Any]]) -> str:
    if rows.format == "jsonl":
        return "".join(
            json.dumps(item | new, ensure_ascii=False) + "\n"
            for item, new in zip(rows.records, added, strict=True)
        )
    if rows.format == "svmlight":
        lines = (["_" if v is None else str(v) for v in new.values()] for new in added)
        return "".join("\t".join(line) + "\n" for line in lines)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=rows.separator, lineterminator="\n")
    writer.writerow([*(rows.header or []), *added[0]])
    for cells, new in zip(rows.records, added, strict=True):
        writer.writerow([*cells, *new.values()])
    return out.getvalue()


def evaluate(opened: OpenModel, request: Request) -> None:
    """Compare the labels of a file of rows with those that a model predicts.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        Files; ``as_json`` prints JSON.
    """
    rows = _read(request.source, stored_layout(opened, request))
    for note in rows.notes:
        request.note(note)
    try:
        predicted = [str(label) for label in opened.learner.predict(opened.features(rows.X))]
    except InputError as error:
        raise rows.located(error) from None
    if rows.y is None:
        raise InputError(f"{request.source} has no labels to compare with; name their column with --label")
    scores = _scores(rows.y, predicted, opened.learner.space_)
    if request.as_json:
        request.print_json(scores)
        return
    from trelliswork.cli._show import console, score_table

    print(f"rows       {scores['rows']:9,}")
    print(f"accuracy   {scores['accuracy']:9.2%}")
    if scores["tree_loss"] is not None:
        print(f"tree loss  {scores['tree_loss']:9.4f}")
        print(f"hier. F1   {scores['hierarchical_f1']:9.2%}")
    console().print(score_table("label", scores["labels"]))


def facts(opened: OpenModel) -> list[tuple[str, str]]:
    """How the rows of the training file were read."""
    stored = {**opened.info.get("rows", {})}
    stored.pop("numbers", None)  # as long as the header
    given = {name: value for name, value in stored.items() if value}
    return [("rows", ", ".join(f"{name} {value}" for name, value in given.items()))] if given else []


def _nearest(label: Any, predicted: str, space: Any) -> str:
    """Of all that a true label stands for, what is nearest to the predicted one."""
    from trelliswork.structures.classes.space import class_choice

    taxonomy = getattr(space, "taxonomy", None)
    choice = class_choice(label, space.labels, taxonomy, 0) or (predicted,)
    if predicted in choice or len(choice) == 1:
        return predicted if predicted in choice else str(choice[0])
    if taxonomy is None:
        return str(min(choice))
    return min(map(str, choice), key=lambda name: (taxonomy.height_of_meeting(name, predicted), name))


def _scores(truth: list[Any], predicted: list[str], space: Any) -> dict[str, Any]:
    """Accuracy, mean tree loss and hierarchical F1 where there is a taxonomy, and counts per label."""
    from trelliswork.metrics import hierarchical_f1

    taxonomy = getattr(space, "taxonomy", None)
    y = [_nearest(a, b, space) for a, b in zip(truth, predicted, strict=True)]
    right = [a for a, b in zip(y, predicted, strict=True) if a == b]
    rows = {}
    for label in sorted({*y, *predicted}):
        n_true, n_predicted, n_correct = y.count(label), predicted.count(label), right.count(label)
        rows[label] = {
            "precision": n_correct / n_predicted if n_predicted else 0.0,
            "recall": n_correct / n_true if n_true else 0.0,
            "f1": 2 * n_correct / (n_true + n_predicted),
            "true": n_true,
            "predicted": n_predicted,
            "correct": n_correct,
        }
    tree = shared = None
    if taxonomy is not None:
        known = [(a, b) for a, b in zip(y, predicted, strict=True) if a in taxonomy.heights]
        unknown = len(y) - len(known)  # a label that the taxonomy lacks is as far off as can be
        tree = (sum(taxonomy.height_of_meeting(a, b) for a, b in known) + unknown * taxonomy.height) / len(y)
        shared = hierarchical_f1(y, predicted, taxonomy)
    return {
        "rows": len(y),
        "accuracy": len(right) / len(y),
        "tree_loss": tree,
        "hierarchical_f1": shared,
        "labels": rows,
    }
