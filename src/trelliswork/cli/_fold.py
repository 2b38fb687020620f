"""``trelliswork fold``: structures of RNA sequences with the model that comes with the package."""

from __future__ import annotations

import copy
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from trelliswork._errors import InputError
from trelliswork.cli import _options

if TYPE_CHECKING:
    from trelliswork.io import RnaData

__all__ = ["Folded", "fold", "with_gamma"]

_FORMATS = ("dbn", "ct", "bpseq", "json")
_GROUP = 64  # sequences that are folded at a time
_LEAST = 1e-4  # pairs of smaller probability are not listed
_MOST_DRAWN = 20


class Folded(NamedTuple):
    """One sequence and its structures, best first."""

    name: str
    sequence: str
    structures: list[str]
    scores: list[float]
    probabilities: list[float]


def fold(
    source: Annotated[
        str, typer.Argument(metavar="SEQS", help="FASTA, plain or gzip; - reads standard input.")
    ] = "-",
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
        str | None,
        typer.Option(
            "--probabilities",
            metavar="FILE",
            help="Also write pair probabilities: name, two positions (from 1), probability; a file .svg, "
            ".png or .pdf is a dot plot.",
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
    if form not in _FORMATS:
        raise InputError(f"--format must be one of {', '.join(_FORMATS)}, got {form!r}")
    if k > 1 and mea is not None:
        raise InputError("--k lists the most probable structures; leave --mea out")
    if best and mea is not None:
        raise InputError("--best is the most probable structure; leave --mea out")
    drawn = {kind: path for kind, path in (("svg", svg), ("png", png)) if path is not None}
    _check_outputs(output, probabilities, drawn)
    data = _read(source, encoding)
    if drawn or _pictured(probabilities):
        if len(data.X) > _MOST_DRAWN:
            raise InputError(f"at most {_MOST_DRAWN} sequences are drawn, the file has {len(data.X)}")
        _figure(1)  # says what is missing before anything is folded
    learner = _learner(model, mea, window, _options.check_jobs(jobs))
    X = _evidence(data, constraint, shape, slope, intercept, encoding)
    file = "<stdin>" if source == "-" else source
    try:
        _check(learner, X)
        _write_all(learner, data, X, output, form, k, best or k > 1, probabilities, drawn, quiet)
    except InputError as error:
        raise error.placed(file, data.names) from None


def _check_outputs(output: str, probabilities: str | None, drawn: dict[str, str]) -> None:
    """Refuse files that cannot be written, and two texts or pictures for one file."""
    named = {"--output": output} | {f"--{kind}": path for kind, path in drawn.items()}
    if probabilities is not None:
        named["--probabilities"] = probabilities
    seen: dict[str, str] = {}
    for option, path in named.items():
        _options.check_output(path)
        if path == "-":
            if option in ("--svg", "--png"):
                raise InputError(f"{option}: a picture cannot go to standard output; expected a file")
            continue
        place = os.path.realpath(path)
        if place in seen and not (os.path.exists(place) and not os.path.isfile(place)):  # as /dev/null
            raise InputError(f"{seen[place]} and {option} name the same file, {path}")
        seen[place] = option


def _pictured(probabilities: str | None) -> bool:
    """Whether pair probabilities are drawn, not listed."""
    return probabilities is not None and Path(probabilities).suffix.lower() in (".svg", ".png", ".pdf")


def _read(source: str, encoding: str | None) -> RnaData:
    from trelliswork.io import read_rna

    return read_rna(source, encoding=encoding or "utf-8")


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
    data: RnaData,
    constraint: str | None,
    shape: str | None,
    slope: float,
    intercept: float,
    encoding: str | None,
) -> list[Any]:
    """Sequences, with what is known about them."""
    from trelliswork import io
    from trelliswork.structures import Evidence

    marks: dict[str, str] = {}
    reactive: dict[str, list[float]] = {}
    if constraint is not None:
        if set(constraint) <= set("().x<>|?") and not os.path.exists(constraint):
            if len(data.X) != 1:
                raise InputError(f"--constraint: one constraint for {len(data.X)} sequences; expected a file")
            marks = {data.names[0]: constraint}
        elif set("()<>|?") & set(constraint) and not os.path.exists(constraint):
            raise InputError(f"--constraint: {constraint!r:.60} is no file and has marks other than ().x<>|?")
        else:
            marks = io.read_constraints(constraint, data.names, encoding=encoding or "utf-8")
    if shape is not None:
        reactive = io.read_shape(shape, data.names, data.X, encoding=encoding or "utf-8")
    return [
        Evidence(x, constraint=marks.get(name), shape=reactive.get(name), slope=slope, intercept=intercept)
        if name in marks or name in reactive
        else x
        for name, x in zip(data.names, data.X, strict=True)
    ]


def _check(learner: Any, X: list[Any]) -> None:
    """Refuse what cannot be folded before anything is written."""
    for i, x in enumerate(X):
        try:
            batch = learner.pack([x])
            batch.check_room()
        except InputError as error:
            raise InputError(error.message, sample=i) from None


def _folds(
    learner: Any, names: list[str], X: list[Any], k: int, best: bool, probabilities: bool
) -> Iterator[Any]:
    """Structures of every sequence, and its pair probabilities where they are wanted."""
    batch = learner.pack(X)
    scores = learner.part_scores(batch, X)
    chances = batch.pair_probabilities(scores) if probabilities or not best else None
    if best:
        lists = batch.kbest(scores, k)
        codes, values = [one.codes for one in lists], [one.values.tolist() for one in lists]
        structures = [batch.unpack_sample(i, some) for i, some in enumerate(codes)]
    else:
        decoded = batch.most_accurate(chances, batch.space.structure.gamma)
        structures = [[one] for one in batch.unpack(decoded.codes)]
        values = [[value] for value in batch.evaluate(decoded.codes, scores).tolist()]
    log_z = batch.log_partition(scores).tolist()
    for i, (name, x, some, value) in enumerate(zip(names, X, structures, values)):
        shares = [math.exp(min(v - log_z[i], 0.0)) for v in value]
        yield (
            Folded(name, str(getattr(x, "seq", x)), some, value, shares),
            (None if chances is None else batch.unpack_sample_pairs(i, chances)),
        )


def _written(form: str, folded: Folded) -> str:
    """Text of one sequence."""
    import io as text_io

    from trelliswork import io

    name, x, y, scores, shares = folded
    if form == "json":
        listed = [
            {"structure": one, "score": score, "probability": share}
            for one, score, share in zip(y, scores, shares, strict=True)
        ]
        rest = listed[0] if len(listed) == 1 else {"structures": listed}
        return json.dumps({"name": name, "sequence": x} | rest) + "\n"
    names = [name] if len(y) == 1 else [f"{name}_{i + 1}" for i in range(len(y))]
    out, many = text_io.StringIO(), [x] * len(y)
    if form == "dbn":
        notes = [f"({score:.2f}, p={share:.3g})" for score, share in zip(scores, shares, strict=True)]
        io.write_dot_bracket(out, names, many, y, notes=notes)
    else:
        (io.write_ct if form == "ct" else io.write_bpseq)(out, names, many, y)
    return out.getvalue()


def _write_all(
    learner: Any,
    data: RnaData,
    X: list[Any],
    output: str,
    form: str,
    k: int,
    best: bool,
    probabilities: str | None,
    drawn: dict[str, str],
    quiet: bool,
) -> None:
    """Fold group by group; files appear when they are complete."""
    from trelliswork._text import write_text

    pictured = _pictured(probabilities)
    coloured = probabilities is not None or bool(drawn)
    kept: list[tuple[Folded, Any]] = []
    with ExitStack() as stack:
        target = sys.stdout if output == "-" else stack.enter_context(_waiting(output))
        listing = None
        if probabilities is not None and not pictured:
            listing = stack.enter_context(_waiting(probabilities))
        progress = stack.enter_context(_Progress(len(X), quiet))
        start = 0
        while start < len(X):
            stop, bases = start, 0
            while stop < len(X) and stop < start + _GROUP and (stop == start or bases + len(X[stop]) < 4000):
                bases += len(X[stop])
                stop += 1
            try:
                for folded, pairs in _folds(
                    learner, data.names[start:stop], X[start:stop], k, best, coloured
                ):
                    write_text(target, _written(form, folded))
                    if listing is not None:
                        listing.writelines(
                            f"{folded.name}\t{i + 1}\t{j + 1}\t{p:.4f}\n" for i, j, p in pairs if p >= _LEAST
                        )
                    if drawn or pictured:
                        kept.append((folded, pairs))
            except InputError as error:
                raise InputError(error.message, sample=start + (error.sample or 0)) from None
            progress.advance(stop - start)
            start = stop
        for kind, path in drawn.items():
            _draw(path, kind, kept)
        if pictured:
            _dot_plots(str(probabilities), kept)


class _waiting:
    """A text file that takes the place of an old one when it is complete."""

    def __init__(self, path: str):
        self.path = path

    def __enter__(self) -> Any:
        self.file = tempfile.TemporaryFile("w+", encoding="utf-8")
        return self.file

    def __exit__(self, kind: Any, *rest: Any) -> None:
        from trelliswork._text import write_text

        with self.file:
            if kind is None:
                self.file.seek(0)
                write_text(self.path, self.file.read())


class _Progress:
    """A bar on the terminal, where there is one and the work is long."""

    def __init__(self, total: int, quiet: bool):
        self.bar: Any = None
        if total > _GROUP and not quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task("folding", total=total)

    def __enter__(self) -> _Progress:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self, n: int) -> None:
        """So many more sequences are done."""
        if self.bar is not None:
            self.bar.advance(self.task, n)


def _figure(n: int) -> Any:
    from trelliswork.plots._canvas import figure

    columns = math.ceil(math.sqrt(n))
    made = figure((5.0 * columns, 5.0 * math.ceil(n / columns)))
    return made, made.subplots(math.ceil(n / columns), columns, squeeze=False).ravel()


def _draw(path: str, kind: str, kept: list[tuple[Folded, Any]]) -> None:
    """Drawings of the first structure of every sequence, coloured by probability."""
    from trelliswork.plots.rna import structure

    figure, axes = _figure(len(kept))
    for ax in axes[len(kept) :]:
        ax.set_axis_off()
    for ax, (folded, pairs) in zip(axes, kept):
        chances = None if pairs is None else {(i, j): p for i, j, p in pairs}
        structure(folded.sequence, folded.structures[0], probabilities=chances, title=folded.name, ax=ax)
    _save(figure, path, kind)


def _dot_plots(path: str, kept: list[tuple[Folded, Any]]) -> None:
    from trelliswork.plots.rna import dotplot

    figure, axes = _figure(len(kept))
    for ax in axes[len(kept) :]:
        ax.set_axis_off()
    for ax, (folded, pairs) in zip(axes, kept):
        dotplot(folded.sequence, pairs, folded.structures[0], title=folded.name, ax=ax)
    _save(figure, path, Path(path).suffix.lower()[1:])


def _save(figure: Any, path: str, kind: str) -> None:
    """Write a picture as a whole: an old file stays until the new one is complete."""
    from io import BytesIO

    from trelliswork._text import write_bytes

    picture = BytesIO()
    figure.savefig(picture, format=kind)
    write_bytes(path, picture.getvalue())
