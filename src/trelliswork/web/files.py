"""Whole files: read as the command line reads them, predicted, evaluated, and written as it writes them."""

from __future__ import annotations

import io
import json
import re
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

from trelliswork._errors import InputError, Unsupported
from trelliswork.web.limits import Limits, Refused

__all__ = ["evaluated", "predicted"]

_SHOWN = 200  # rows of the table on the page
_CONFUSIONS = 15


def predicted(served: Any, data: bytes, name: str, options: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Outputs for the inputs of a file: a table of the first, and the file that ``predict`` writes.

    Parameters
    ----------
    served : Served
        The model.
    data : bytes
        Content of the file, plain or gzip.
    name : str
        Its name, for messages.
    options : dict
        ``kbest``, ``probabilities``, ``mea`` and ``raw`` of the command line.
    limits : Limits
        What is too much.
    """
    from trelliswork.cli._models import Request

    with _on_disk(data, name, limits) as (path, folder):
        notes: list[str] = []
        request = Request(str(path), output=str(folder / "out"), notes=notes, **options)
        X = _inputs(served.opened, request)
        sums = options["mea"] or options["probabilities"]
        _check(served, X, limits, served.view.factor(options["kbest"], sums) + 1.0)
        served.opened.run("predict", request)
        text = (folder / "out").read_text(encoding="utf-8")
        view, learner = served.view, served.opened.learner
        some = X[:_SHOWN]
        features = served.opened.features(some)
        if hasattr(learner, "predict_kbest"):
            best = [ranked[0] for ranked in learner.predict_kbest(features, 1)]
            cells = [
                [view.output(x, c.output), float(c.probability)] for x, c in zip(some, best, strict=True)
            ]
        else:
            cells = [[view.output(x, y), None] for x, y in zip(some, learner.predict(features), strict=True)]
        gold = not request.raw and _has_gold(served.opened, request)
    rows = [
        {"input": _text(view.input(x)), "output": _text(output), "probability": p}
        for x, (output, p) in zip(some, cells, strict=True)
    ]
    return {
        "inputs": len(X),
        "rows": rows,
        "name": f"{PurePath(path).stem}.predicted{path.suffix}",
        "text": text,
        "notes": notes,
        "gold": gold,
    }


def evaluated(served: Any, data: bytes, name: str, limits: Limits) -> dict[str, Any]:
    """Scores of a file with true outputs, and what is taken for what.

    Parameters
    ----------
    served : Served
        The model.
    data : bytes
        Content of the file, plain or gzip.
    name : str
        Its name, for messages.
    limits : Limits
        What is too much.
    """
    from trelliswork.cli._models import Request
    from trelliswork.selection.confusions import confusions

    with _on_disk(data, name, limits) as (path, _):
        stream = io.StringIO()
        request = Request(str(path), as_json=True, stream=stream)
        X, y = _gold(served.opened, request)
        _check(served, X, limits, 3.0)
        served.opened.run("evaluate", request)
        learner = served.opened.learner
        guesses = learner.predict(served.opened.features(X))
        if served.opened.task in ("tag", "classify"):
            guesses = [[str(a) for a in row] if isinstance(row, list) else str(row) for row in guesses]
        mistakes = confusions(getattr(learner, "structure", None), X, y, guesses, _CONFUSIONS)
    return {"scores": json.loads(stream.getvalue()), "confusions": [list(row) for row in mistakes]}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)


def _check(served: Any, X: list[Any], limits: Limits, factor: float) -> None:
    if len(X) > limits.rows:
        raise Refused(413, f"{len(X):,} inputs in the file; at most {limits.rows:,} are taken")
    limits.check_work(sum(served.view.seconds(x) for x in X) * factor, "this file")


@contextmanager
def _on_disk(data: bytes, name: str, limits: Limits) -> Iterator[tuple[Path, Path]]:
    """The file in a folder of its own; errors about it are refusals that do not say where that is."""
    plain = re.sub(r"[^\w.-]+", "-", PurePath(name.replace("\\", "/")).name).lstrip(".")[:80] or "file"
    plain = plain.removesuffix(".gz") or "file"
    with tempfile.TemporaryDirectory(prefix="trelliswork-") as place:
        folder = Path(place)
        (folder / "in").mkdir()
        path = folder / "in" / plain
        path.write_bytes(_unpacked(data, limits))
        try:
            yield path, folder
        except (InputError, Unsupported, ValueError, ImportError, ArithmeticError, LookupError) as error:
            message = " ".join(str(error).split()).replace(f"{path.parent}/", "").replace(place, "")
            raise Refused(422, message[:300]) from None


def _unpacked(data: bytes, limits: Limits) -> bytes:
    if data[:2] != b"\x1f\x8b":
        return data
    unzip = zlib.decompressobj(wbits=31)
    try:
        out = unzip.decompress(data, limits.unpacked)
    except zlib.error:
        raise Refused(422, "broken gzip data") from None
    if unzip.unconsumed_tail:
        raise Refused(413, f"the file unpacks to more than {limits.unpacked:,} bytes")
    return out


def _inputs(opened: Any, request: Any) -> list[Any]:
    """Inputs of a file, by the task of the model."""
    if opened.task is None:
        raise Refused(422, "there is no file format for models like this one")
    if opened.task == "tag":
        from trelliswork.cli import _tagged
        from trelliswork.cli.tasks.tag import stored_layout

        layout = stored_layout(opened)
        document = (
            _tagged.raw_document(request.source, layout) if request.raw else layout.read(request.source)
        )
        return list(document.take(document.match(layout)[0]))
    if opened.task == "parse":
        from trelliswork.cli.tasks.parse import read_sentences, tokens_of

        lines, rows, _ = read_sentences(request)
        tagged = opened.learner.structure.input == "tags"
        return [tokens_of(lines[i].split(), tagged) for i in rows]
    if opened.task == "fold":
        from trelliswork.io import read_rna

        return list(read_rna(request.source).X)
    if opened.task == "align":
        from trelliswork.io import read_fasta_pairs

        return list(read_fasta_pairs(request.source).X)
    if opened.task == "transduce":
        from trelliswork.cli._pairs import read_pairs, split
        from trelliswork.cli.tasks.transduce import stored_units

        return split(read_pairs(request.source, None, labelled=False).inputs, stored_units(opened)[0])
    return list(_rows(opened, request, unlabelled=True).X)


def _rows(opened: Any, request: Any, *, unlabelled: bool) -> Any:
    from trelliswork.cli.tasks.classify import stored_layout
    from trelliswork.io.rows import read_rows

    return read_rows(request.source, unlabelled=unlabelled, **stored_layout(opened, request))


def _has_gold(opened: Any, request: Any) -> bool:
    """Whether a file has true outputs, too."""
    try:
        _, y = _gold(opened, request)
    except (InputError, ValueError, LookupError):
        return False
    if opened.task == "align":  # sequences of equal lengths without any gap may be aligned, and may not
        return any("-" in row for pair in y for row in pair)
    if opened.task in ("classify", "tag"):  # the last column may be anything
        labels = set(map(str, opened.learner.classes_))
        return any(str(a) in labels for row in y for a in (row if isinstance(row, list) else [row]))
    return True


def _gold(opened: Any, request: Any) -> tuple[list[Any], list[Any]]:
    """Inputs and true outputs of a file."""
    if opened.task == "tag":
        from trelliswork.cli.tasks.tag import stored_layout

        layout = stored_layout(opened)
        document = layout.read(request.source)
        inputs, label = document.match(layout)
        if label is None:
            raise InputError("the file has no label column to compare with")
        return list(document.take(inputs)), list(document.take([label]))
    if opened.task == "parse":
        from trelliswork.io.trees import read_trees

        kind = "pairs" if opened.learner.structure.input == "tags" else "words"
        data = read_trees(request.source, input=kind)
        return list(data.X), list(data.y)
    if opened.task == "fold":
        from trelliswork.io import read_rna

        folds = read_rna(request.source)
        if folds.y is None:
            raise InputError("no structures in the file; expected them beside the sequences")
        return list(folds.X), list(folds.y)
    if opened.task == "align":
        from trelliswork.io import read_fasta_pairs

        pairs = read_fasta_pairs(request.source).aligned()
        return list(pairs.X), list(pairs.y or [])
    if opened.task == "transduce":
        from trelliswork.cli._pairs import read_pairs, split
        from trelliswork.cli.tasks.transduce import stored_units

        units, lines = stored_units(opened), read_pairs(request.source, None, labelled=True)
        return split(lines.inputs, units[0]), split(lines.outputs, units[1])
    if opened.task == "classify":
        rows = _rows(opened, request, unlabelled=False)
        return list(rows.X), list(rows.y)
    raise Refused(422, "there is no file format for models like this one")
