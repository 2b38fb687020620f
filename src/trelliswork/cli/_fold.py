"""``trelliswork fold``: structures of RNA sequences with the model that comes with the package."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from trelliswork._errors import InputError
from trelliswork._lines import TextLines
from trelliswork.cli import _options
from trelliswork.cli._fold_pictures import dot_plots, drawings, is_picture, new_figure
from trelliswork.cli._folding import Folded, Plan, Sequence, fold_stream, prefetched, text_of

if TYPE_CHECKING:
    from trelliswork.io.rna.dot_bracket import Record

__all__ = ["fold", "with_gamma"]

_FORMATS = ("dbn", "ct", "bpseq", "json")
_LEAST = 1e-4  # pairs of smaller probability are not listed
_MOST_DRAWN = 20


def fold(
    source: Annotated[
        str, typer.Argument(metavar="SEQS", help="FASTA, plain or gzip; - reads standard input.")
    ] = "-",
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write (.gz is compressed); - is standard output.")
    ] = "-",
    model: Annotated[
        str | None, typer.Option(help="Model file instead of the model of the package.", show_default=False)
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="dbn (dot-bracket), ct, bpseq or json (a line per sequence).")
    ] = "dbn",
    k: Annotated[int, typer.Option("--k", min=1, help="Write the K most probable structures.")] = 1,
    mea: Annotated[
        float | None,
        typer.Option(
            metavar="GAMMA",
            help="Weight of a paired base where an unpaired one has 1: more predicts more pairs.",
            show_default="that of the model",
        ),
    ] = None,
    best: Annotated[
        bool, typer.Option("--best", help="The most probable structure, not that of most right bases.")
    ] = False,
    probabilities: Annotated[
        list[str] | None,
        typer.Option(
            "--probabilities",
            metavar="FILE",
            help="Also write pair probabilities: name, two positions (from 1), probability; a file .svg, "
            ".png or .pdf is a dot plot. May be repeated, for both.",
            show_default=False,
        ),
    ] = None,
    constraint: Annotated[
        str | None,
        typer.Option(
            help="Marks ().x<>|? as in ViennaRNA, for one sequence; or a file with a line per sequence.",
            show_default=False,
        ),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="SHAPE: lines of position and reactivity.", show_default=False),
    ] = None,
    slope: Annotated[float, typer.Option(help="Of SHAPE pseudo-energies, kcal/mol.")] = 1.8,
    intercept: Annotated[float, typer.Option(help="Of SHAPE pseudo-energies, kcal/mol.")] = -0.6,
    window: Annotated[
        int | None, typer.Option(min=4, help="Pairs are less than so many bases apart.", show_default=False)
    ] = None,
    svg: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also draw the structures.", show_default=False)
    ] = None,
    png: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also draw the structures.", show_default=False)
    ] = None,
    encoding: _options.Encoding = None,
    jobs: _options.Jobs = None,
    quiet: _options.Quiet = False,
) -> None:
    """Fold RNA sequences.

    Writes each sequence with the structure of which most bases are expected to be right, its score and its
    probability. No training is needed; --model takes a model of `train fold`.
    """
    from trelliswork.io.rna import stream_rna

    if form not in _FORMATS:
        raise InputError(f"--format must be one of {', '.join(_FORMATS)}, got {form!r}")
    if k > 1 and mea is not None:
        raise InputError("--k lists the most probable structures; leave --mea out")
    if best and mea is not None:
        raise InputError("--best is the most probable structure; leave --mea out")
    drawn = {kind: path for kind, path in (("svg", svg), ("png", png)) if path is not None}
    listed = probabilities or []
    _check_outputs(output, listed, drawn)
    plan = Plan(k, best or k > 1, bool(listed or drawn))
    targets = _Targets(output, form, listed, drawn)
    with TextLines(source, encoding or "utf-8") as lines:
        learner = _learner(model, mea, window, _options.check_jobs(jobs))
        records: Iterator[Record] = stream_rna(lines)
        if targets.pictured:
            records = _few(records)
            new_figure(1)  # says what is missing before anything is folded
        if constraint is not None or shape is not None:
            sequences = iter(_evidence(list(records), constraint, shape, slope, intercept, encoding))
        else:
            sequences = (Sequence(one.name, one.bases) for one in records)
        if lines.size is None:
            sequences = prefetched(sequences)
        _write_all(fold_stream(learner, sequences, plan, lines.name), targets, lines, quiet)


class _Targets(NamedTuple):
    """Where answers go: texts, lists of pair probabilities, pictures."""

    output: str
    form: str
    probabilities: list[str]
    drawn: dict[str, str]

    @property
    def pictured(self) -> bool:
        """Whether anything is drawn."""
        return bool(self.drawn) or any(map(is_picture, self.probabilities))


def _check_outputs(output: str, probabilities: list[str], drawn: dict[str, str]) -> None:
    """Refuse files that cannot be written, and two texts or pictures for one file."""
    named = [("--output", output), *((f"--{kind}", path) for kind, path in drawn.items())]
    seen: dict[str, str] = {}
    for option, path in [*named, *(("--probabilities", path) for path in probabilities)]:
        _options.check_output(path)
        if path == "-":
            if option in ("--svg", "--png"):
                raise InputError(f"{option}: a picture cannot go to standard output; expected a file")
            continue
        place = os.path.realpath(path)
        if place in seen and not (os.path.exists(place) and not os.path.isfile(place)):  # as /dev/null
            raise InputError(f"{seen[place]} and {option} name the same file, {path}")
        seen[place] = option


def _few(records: Iterator[Record]) -> Iterator[Record]:
    """The records, if they are few enough to be drawn."""
    first = list(islice(records, _MOST_DRAWN + 1))
    if len(first) > _MOST_DRAWN:
        raise InputError(f"at most {_MOST_DRAWN} sequences are drawn, the file has more")
    return iter(first)


def with_gamma(learner: Any, **params: Any) -> Any:
    """The learner with other parameters of its structure that do not change its weights."""
    structure = learner.space_.structure.with_params(**params)
    structure.check()
    changed = copy.copy(learner)
    changed.space_ = type(learner.space_).from_state(structure, learner.space_.state())
    return changed


def _learner(model: str | None, gamma: float | None, window: int | None, jobs: int | None) -> Any:
    from trelliswork import pretrained
    from trelliswork.cli._models import open_model

    if model is None:
        learner = pretrained("rna").set_params(n_jobs=jobs)
    else:
        opened = open_model(model, jobs)
        if opened.task != "fold":
            raise InputError(f"--model: {model} is no model of RNA structures")
        learner = opened.learner
    changed = {"gamma": gamma, "window": window}
    changed = {name: value for name, value in changed.items() if value is not None}
    return with_gamma(learner, **changed) if changed else learner


def _evidence(
    records: list[Record],
    constraint: str | None,
    shape: str | None,
    slope: float,
    intercept: float,
    encoding: str | None,
) -> list[Sequence]:
    """Sequences, with what is known about them."""
    from trelliswork import io
    from trelliswork.structures import Evidence

    names, X = [one.name for one in records], [one.bases for one in records]
    marks: dict[str, str] = {}
    reactive: dict[str, list[float]] = {}
    if constraint is not None:
        if set(constraint) <= set("().x<>|?") and not os.path.exists(constraint):
            if len(X) != 1:
                raise InputError(f"--constraint: one constraint for {len(X)} sequences; expected a file")
            marks = {names[0]: constraint}
        elif set("()<>|?") & set(constraint) and not os.path.exists(constraint):
            raise InputError(f"--constraint: {constraint!r:.60} is no file and has marks other than ().x<>|?")
        else:
            marks = io.read_constraints(constraint, names, encoding=encoding or "utf-8")
    if shape is not None:
        reactive = io.read_shape(shape, names, X, encoding=encoding or "utf-8")
    return [
        Sequence(
            name,
            Evidence(
                x, constraint=marks.get(name), shape=reactive.get(name), slope=slope, intercept=intercept
            )
            if name in marks or name in reactive
            else x,
        )
        for name, x in zip(names, X, strict=True)
    ]


def _write_all(
    answers: Iterator[list[tuple[Folded, Any]]], targets: _Targets, lines: TextLines, quiet: bool
) -> None:
    """Write answers as they come; files appear when they are complete."""
    from trelliswork._text import text_file, write_text

    kept: list[tuple[Folded, Any]] = []
    with ExitStack() as stack:
        to_screen = targets.output == "-"
        target = "-" if to_screen else stack.enter_context(text_file(targets.output))
        listings: list[Any] = [
            "-" if path == "-" else stack.enter_context(text_file(path))
            for path in targets.probabilities
            if not is_picture(path)
        ]
        progress = stack.enter_context(_Progress(lines, quiet))
        for group in answers:
            write_text(target, "".join(text_of(targets.form, folded) for folded, _ in group))
            for listing in listings:
                rows = ((folded.name, *row) for folded, pairs in group for row in pairs)
                write_text(
                    listing,
                    "".join(f"{n}\t{i + 1}\t{j + 1}\t{p:.4f}\n" for n, i, j, p in rows if p >= _LEAST),
                )
            if targets.pictured:
                kept += group
            progress.advance(len(group))
        for kind, path in targets.drawn.items():
            drawings(path, kind, kept)
        for path in filter(is_picture, targets.probabilities):
            dot_plots(path, kept)


class _Progress:
    """A bar on the terminal, where there is one and the work is long."""

    def __init__(self, lines: TextLines, quiet: bool):
        self.lines = lines
        self.bar: Any = None
        self.wanted = not quiet and sys.stderr.isatty()
        self.n_done = 0

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self, n: int) -> None:
        """So many more sequences are done; the first group is not worth a bar."""
        self.n_done += n
        if not self.wanted:
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task("", total=self.lines.size)
            self.bar.start()
        done = self.lines.position() if self.lines.size else None
        self.bar.update(self.task, completed=done, description=f"folded {self.n_done:,}")
