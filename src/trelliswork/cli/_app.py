"""The commands and their options; the work is done elsewhere."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import trelliswork
from trelliswork.cli import _options
from trelliswork.cli._kinds import KINDS, Request, open_model
from trelliswork.cli._report import OneLineGroup, say, show_tracebacks

__all__ = ["app"]

_SETTINGS = {"help_option_names": ["-h", "--help"]}

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
    help="Learn a model from a file.",
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings=_SETTINGS,
)
app.add_typer(train, name="train")
for _name, _kind in KINDS.items():
    train.command(_name, context_settings=_SETTINGS)(_kind.load().train)


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
) -> None:
    """Structured prediction: learn functions whose outputs are structures."""
    show_tracebacks(debug)
    if version:
        print(f"trelliswork {trelliswork.__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


@app.command()
def predict(
    model: _options.Model,
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="Column file, plain or gzip; - reads standard input.")
    ] = "-",
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write (.gz is compressed); - is standard output.")
    ] = "-",
    kbest: Annotated[
        int, typer.Option(min=1, help="Add the K best candidates, a column each, best first.")
    ] = 1,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="After each label its probability: at this token or, with --kbest, of the whole candidate.",
        ),
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="RNA: dot-bracket, bpseq, ct, or picture (png, svg, pdf); alignments: fasta or cigar.",
            show_default="dot-bracket, fasta",
        ),
    ] = None,
    mea: Annotated[
        bool, typer.Option("--mea", help="RNA, alignments: largest expected accuracy instead of best score.")
    ] = False,
    gamma: Annotated[float, typer.Option(help="RNA with --mea: above 1 predicts more pairs.")] = 1.0,
    columns: _options.Columns = None,
    separator: _options.Separator = None,
    encoding: _options.Encoding = None,
    comment: _options.Comment = None,
    jobs: _options.Jobs = None,
) -> None:
    """Write INPUT with one more column: the predicted label.

    INPUT has the columns of the training file, with or without the label, or the model's input columns
    alone. Its other lines stay as they are. Files of rows get the column or key 'predicted'; svmlight
    files become lines of labels. For a parser: one sentence per line in, one tree per line out.
    For RNA: FASTA or any other file of sequences in, structures out.
    For an aligner: pairs of sequences as FASTA in, aligned FASTA out.
    """
    request = Request(
        source,
        output=output,
        kbest=kbest,
        probabilities=probabilities,
        form=form,
        mea=mea,
        gamma=gamma,
        columns=_options.parse_columns(columns),
        separator=_options.parse_separator(separator),
        comment=comment or None,
        encoding=encoding or None,
    )
    open_model(model, _options.check_jobs(jobs)).run("predict", request)


@app.command()
def evaluate(
    model: _options.Model,
    source: Annotated[
        str, typer.Argument(metavar="GOLD", help="Column file with labels; - reads standard input.")
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
    """Compare predictions with the labels of GOLD.

    Prints token and sentence accuracy and, for labels such as B-PER and O, a table of entities; for rows
    their accuracy, the tree loss if there is a taxonomy, and a table of labels; for a parser, whose GOLD
    has bracketed trees, scores of brackets; for RNA, whose GOLD has structures, sensitivity, positive
    predictive value and F1 of base pairs; for an aligner, whose GOLD is aligned FASTA, the share of
    pairs of residues that are recovered.
    """
    request = Request(
        source,
        as_json=as_json,
        label=label,
        columns=_options.parse_columns(columns),
        separator=_options.parse_separator(separator),
        comment=comment or None,
        encoding=encoding or None,
    )
    open_model(model, _options.check_jobs(jobs)).run("evaluate", request)


@app.command()
def inspect(
    model: _options.Model,
    top: Annotated[int, typer.Option(min=0, help="Attributes per label.")] = 5,
) -> None:
    """Show what a model is and its largest weights."""
    from trelliswork.cli._show import show

    show(open_model(model), top)


@app.command()
def warmup() -> None:
    """Compile the numerical code once and keep it on disk."""
    from trelliswork.cli._warmup import warm_up

    if sys.stderr.isatty():
        say("compiling; this takes about a minute the first time")
    done = warm_up()
    where = ", ".join(done.folders) or "nowhere: no folder for it can be written"
    what = "compiled what was missing" if done.compiled else "everything was compiled before"
    print(f"{what}, {done.seconds:.1f} s")
    print(f"cache: {where}")


@app.command()
def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="Folder to write.")
    ] = "demo-output",
) -> None:
    """Read handwritten dates with several learners and compare them."""
    from pathlib import Path

    Path(output).mkdir(parents=True, exist_ok=True)  # a mistake in the path is told before the work
    _options.check_output(f"{output}/index.html")
    from trelliswork.demo import run

    run(output)
