"""The commands and their options; the work is done by the tasks and by the other modules."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import trelliswork
from trelliswork._errors import InputError
from trelliswork.cli import _options
from trelliswork.cli._fold import fold
from trelliswork.cli._models import Request, open_model
from trelliswork.cli._report import OneLineGroup, say, show_tracebacks
from trelliswork.cli.tasks import TASKS

__all__ = ["app"]

_SETTINGS = {"help_option_names": ["-h", "--help"]}


class TrainCommands(Mapping[str, Any]):
    """The training command of every task, made when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name, context_settings=_SETTINGS)(TASKS[name].train)
        return typer.main.get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(TASKS)

    def __len__(self) -> int:
        return len(TASKS)


class TrainGroup(TyperGroup):
    """``trelliswork train``: a command for every task that is registered when it runs."""

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        self.commands = TrainCommands()  # type: ignore[assignment]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for every task, without making its command, which would import the learners."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, (task.train.__doc__ or "").strip().split("\n")[0]) for name, task in TASKS.items()]
            )


class PredictCommand(TyperCommand):
    """A command whose help ends with what it does for each task."""

    sentences = "PREDICT_HELP"  # of the modules of tasks

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write a line for every task."""
        with formatter.section("By the task of the model"):
            formatter.write_dl([(name, getattr(task, self.sentences)) for name, task in TASKS.items()])


class EvaluateCommand(PredictCommand):
    """The same for ``evaluate``."""

    sentences = "EVALUATE_HELP"


app = typer.Typer(
    name="trelliswork",
    cls=OneLineGroup,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=_SETTINGS,
)
train = typer.Typer(
    cls=TrainGroup,
    help="Learn a model from a file.",
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings=_SETTINGS,
)
app.add_typer(train, name="train")


@train.callback()
def _train(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


@app.callback()
def _root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks (as TRELLISWORK_DEBUG=1 does).")
    ] = False,
    max_size: Annotated[
        int | None,
        typer.Option(
            "--max-size",
            min=1,
            metavar="BYTES",
            help="Largest size that a compressed file may unpack to (also TRELLISWORK_MAX_SIZE).",
            show_default="4 GiB",
        ),
    ] = None,
) -> None:
    """Structured prediction: learn functions whose outputs are structures."""
    show_tracebacks(debug)
    if max_size is not None:
        os.environ["TRELLISWORK_MAX_SIZE"] = str(max_size)  # workers inherit it
    if version:
        print(f"trelliswork {trelliswork.__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


@app.command(cls=PredictCommand)
def predict(
    model: _options.Model,
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="File, plain or gzip; - reads standard input.")
    ] = "-",
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write (.gz is compressed); - is standard output.")
    ] = "-",
    kbest: Annotated[int, typer.Option(min=1, help="Write the K best candidates, best first.")] = 1,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Add the probability of each output (for tokens: of each label, unless there is --kbest).",
        ),
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="What to write, for tasks that have several formats.",
            show_default=False,
        ),
    ] = None,
    mea: Annotated[
        bool, typer.Option("--mea", help="fold, align: largest expected accuracy instead of best score.")
    ] = False,
    gamma: Annotated[float, typer.Option(help="fold with --mea: above 1 predicts more pairs.")] = 1.0,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="tag, parse: INPUT is plain text, one sentence a line. Words are runs of letters and "
            "digits, joined inside by - ' . , @ / or :; every other character is a token.",
        ),
    ] = False,
    show_alignment: Annotated[
        bool,
        typer.Option("--show-alignment", help="transduce: below each output, two rows with its pieces."),
    ] = False,
    known: Annotated[
        bool,
        typer.Option(
            "--known",
            help="INPUT says what is known of the outputs; the best that agrees is written. tag, classify: "
            "in the label column, ? for any label, A|B for one of two, an inner node for a label below it; "
            "fold: structures with ? | x < >; parse: some brackets, as in '(NP the cat) sleeps'.",
        ),
    ] = False,
    columns: _options.Columns = None,
    separator: _options.Separator = None,
    encoding: _options.Encoding = None,
    comment: _options.Comment = None,
    jobs: _options.Jobs = None,
    dask: _options.Dask = None,
) -> None:
    """Write the outputs that a model predicts for INPUT."""
    request = Request(
        source,
        output=output,
        kbest=kbest,
        probabilities=probabilities,
        form=form,
        mea=mea,
        gamma=gamma,
        raw=raw,
        show_alignment=show_alignment,
        known=known,
        columns=_options.parse_columns(columns),
        separator=_options.parse_separator(separator),
        comment=comment or None,
        encoding=encoding or None,
    )
    if dask is None:
        open_model(model, _options.check_jobs(jobs), bare=True).run("predict", request)
        return
    from trelliswork.cli._cluster import predict_files

    predict_files(model, dask, request, _options.check_jobs(jobs))


@app.command()
def align(
    source: Annotated[str, typer.Argument(metavar="PAIRS", help="FASTA, sequences two by two; - is stdin.")],
    matrix: Annotated[
        str, typer.Option(help="A matrix of Biopython, such as BLOSUM62 or PAM250, or a file.")
    ] = "BLOSUM62",
    gap_open: Annotated[float, typer.Option(help="Cost of the first symbol of a gap.")] = 11.0,
    gap_extend: Annotated[
        float | None, typer.Option(help="Cost of each further symbol.", show_default="that of the first")
    ] = None,
    mode: Annotated[str, typer.Option(help="global, semiglobal (free ends) or local.")] = "global",
    free: Annotated[
        str, typer.Option(help="Semiglobal: sequence whose ends are free: first, second, both.")
    ] = "both",
    unknown: Annotated[
        str, typer.Option(help="Letters that the matrix lacks: error, or zero (score nothing).")
    ] = "error",
    form: Annotated[str, typer.Option("--format", help="fasta, clustal, paf or cigar.")] = "fasta",
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write (.gz is compressed); - is standard output.")
    ] = "-",
    kbest: Annotated[int, typer.Option(min=1, help="Write the K best alignments, best first.")] = 1,
    encoding: _options.Encoding = None,
) -> None:
    """Align pairs of sequences with a substitution matrix, without training."""
    opened = TASKS["align"].fixed_model(matrix, gap_open, gap_extend, mode, free, unknown)
    request = Request(source, output=output, kbest=kbest, form=form, encoding=encoding or None)
    opened.run("predict", request)


@app.command(cls=EvaluateCommand)
def evaluate(
    model: _options.Model,
    source: Annotated[
        str, typer.Argument(metavar="GOLD", help="File with true outputs; - reads standard input.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    label: Annotated[
        int | None, typer.Option(help="Column of the labels, if not that of training.", show_default=False)
    ] = None,
    columns: _options.Columns = None,
    separator: _options.Separator = None,
    encoding: _options.Encoding = None,
    comment: _options.Comment = None,
    jobs: _options.Jobs = None,
) -> None:
    """Compare predictions with the outputs of GOLD."""
    request = Request(
        source,
        as_json=as_json,
        label=label,
        columns=_options.parse_columns(columns),
        separator=_options.parse_separator(separator),
        comment=comment or None,
        encoding=encoding or None,
    )
    open_model(model, _options.check_jobs(jobs), bare=True).run("evaluate", request)


app.command("fold")(fold)


@app.command()
def inspect(
    model: _options.Model,
    top: Annotated[int, typer.Option(min=0, help="Attributes per label.")] = 5,
    matrix: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="align: write the substitution matrix for other programs (- for standard output) instead.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show what a model is and its largest weights."""
    opened = open_model(model)
    if matrix is not None:
        from trelliswork._text import write_text
        from trelliswork.structures import write_matrix

        _options.check_output(matrix)
        write_text(matrix, write_matrix(opened.learner, digits=4))
        return
    from trelliswork.cli._show import show

    show(opened, top)


@app.command()
def compare(
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="tag, classify, parse, transduce, fold or align.")
    ],
    source: Annotated[str, typer.Argument(metavar="DATA", help="File, as train TASK reads it.")],
    learners: Annotated[
        str, typer.Option(help="Learners, such as CRF,SODA: names of the classes in Python.")
    ] = "all",
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="Time for everything.")] = 60.0,
    scoring: Annotated[
        str | None,
        typer.Option(help="Score to compare by; an unknown name lists them.", show_default="what suits"),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="PAGE", help="HTML page to write.", show_default=False),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="tag, classify: column of the labels.", show_default=False)
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(help="classify: columns or keys whose words are the features.", show_default=False),
    ] = None,
    taxonomy: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="classify: lines 'parent TAB child'.", show_default=False),
    ] = None,
    encoding: _options.Encoding = None,
    jobs: _options.Jobs = None,
    quiet: _options.Quiet = False,
) -> None:
    """Cross-validate all learners on a file, each tuned within its share of the time."""
    from trelliswork.cli._comparing import compare_file

    compare_file(
        task,
        source,
        learners=learners,
        budget=budget,
        scoring=scoring,
        output=output,
        jobs=_options.check_jobs(jobs),
        quiet=quiet,
        label=label,
        text=text,
        taxonomy=taxonomy,
        encoding=encoding,
    )


@app.command()
def warmup(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STRUCTURE]...", help="Chain, RNA, ..., or strings; all without a name."),
    ] = None,
) -> None:
    """Compile the numerical code once and keep it on disk."""
    from trelliswork.cli._warmup import warm_names, warm_up

    unknown = [name for name in names or () if name not in warm_names()]
    if unknown:
        raise InputError(f"nothing to warm up for {unknown[0]!r}; there are {', '.join(warm_names())}")
    if sys.stderr.isatty():
        say("compiling; this takes a minute or two the first time")
    done = warm_up(names or ())
    result = "compiled what was missing" if done.compiled else "everything was compiled before"
    print(f"{result}, {done.seconds:.1f} s")
    print(f"cache: {', '.join(done.folders) or 'nowhere: no folder for it can be written'}")


@app.command()
def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL.tw]...",
            help="Model files; without any, small models for looking around.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port.")] = 8000,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own needs --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            help="Secret that every request must bring (also TRELLISWORK_TOKEN, which others cannot see).",
            show_default=False,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Name by which the server is reached; may be repeated.", show_default=False
        ),
    ] = None,
    max_seconds: Annotated[
        float, typer.Option(min=0.01, help="Refuse requests that would take longer than this.")
    ] = 10.0,
    threads: Annotated[
        int, typer.Option(min=1, max=64, help="Threads for long requests, and as many for short ones.")
    ] = 2,
) -> None:
    """Open a page, and a service, where models can be tried."""
    from trelliswork.web.command import serve as run

    run(
        models or [],
        host=host,
        port=port,
        token=token,
        names=allow_host or [],
        seconds=max_seconds,
        threads=threads,
    )


@app.command()
def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="Folder to write.")
    ] = "demo-output",
) -> None:
    """Read handwritten dates with several learners and compare them."""
    from pathlib import Path

    Path(output).mkdir(parents=True, exist_ok=True)  # report a mistake in the path before the work
    _options.check_output(f"{output}/index.html")
    from trelliswork.demo import run

    run(output)
