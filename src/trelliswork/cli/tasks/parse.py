"""Parse sentences: bracketed trees in, a grammar with weights out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trelliswork._errors import InputError
from trelliswork.cli import _options
from trelliswork.cli._learners import Learning, learns
from trelliswork.cli._training import finish, watched

if TYPE_CHECKING:
    from trelliswork.cli._comparing import Samples
    from trelliswork.cli._models import OpenModel, Request

__all__ = [
    "EVALUATE_HELP",
    "PREDICT_HELP",
    "PREDICT_OPTIONS",
    "STRUCTURE",
    "evaluate",
    "predict",
    "samples",
    "train",
]

STRUCTURE = "Grammar"
PREDICT_HELP = (
    "One sentence per line in, its tokens separated by blanks (or --raw: plain text), one tree per line out."
)
PREDICT_OPTIONS = ("--raw", "--known")
EVALUATE_HELP = "Bracketed trees in; scores of their brackets."


@learns("pcfg", renamed={"Generative": ("pcfg", "probabilistic grammar")})
def train(
    source: Annotated[
        str, typer.Argument(metavar="TREES", help="Bracketed trees, plain or gzip; - reads standard input.")
    ],
    output: _options.Output,
    dev: Annotated[
        str | None,
        typer.Option(
            help="Development trees: scored at the end; the crf also stops by them.", show_default=False
        ),
    ] = None,
    of: Annotated[
        str, typer.Option("--input", help="What is parsed: words, or tags (the labels above the words).")
    ] = "words",
    unary: Annotated[
        str, typer.Option(help="Nodes with one child: collapse, strict (down to the tag) or keep.")
    ] = "collapse",
    max_unary: Annotated[
        int | None, typer.Option(min=0, help="Most unary rules in a row.", show_default="any")
    ] = None,
    binarize: Annotated[
        str, typer.Option(help="Side on which long rules are split: right or left.")
    ] = "right",
    horizontal: Annotated[
        int,
        typer.Option(min=-1, help="Children that a split rule remembers; -1 for all."),
    ] = 2,
    vertical: Annotated[int, typer.Option(min=1, help="Labels that a phrase remembers.")] = 2,
    min_count: Annotated[int, typer.Option(min=1, help="Rarer words are known by their class only.")] = 2,
    max_words: Annotated[
        int | None, typer.Option(min=1, help="Leave out longer sentences.", show_default="none")
    ] = None,
    brackets: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Sentences with some brackets, one a line, such as '(NP the cat) sleeps': more to learn "
            "from than the TREES.",
            show_default=False,
        ),
    ] = None,
    *,
    learning: Learning,
    encoding: _options.Encoding = None,
    quiet: _options.Quiet = False,
) -> None:
    """Learn to parse sentences from a treebank.

    TREES has bracketed trees, each on one line or on several. Empty elements (-NONE-) and function tags
    (NP-SBJ) are left out. Ctrl-C ends the training early: the best weights so far are saved, and the exit
    code is 130.
    """
    _options.check_output(output, model=True)
    learning.check_dev(dev, source)

    from trelliswork.structures import Grammar

    structure = Grammar(
        input=of,
        unary=unary,
        max_unary=max_unary,
        binarize=binarize,
        horizontal=None if horizontal < 0 else horizontal,
        vertical=vertical,
        min_count=min_count,
    )
    estimator = learning.build(structure, quiet)
    data, name = _read(source, of, encoding, max_words)
    held_out = None if dev is None else _read(dev, of, encoding, max_words)[0]
    more = {} if held_out is None else learning.held_out(held_out.X, held_out.y)
    X, y, places = list(data.X), list(data.y), [f"{name}:{line}" for line in data.lines]
    n_some = 0
    if brackets is not None:
        lines, some, numbers, other = _bracketed(brackets, of == "tags", encoding)
        n_some = len(lines)
        X, y, places = X + lines, y + some, places + [f"{other}:{number}" for number in numbers]
    done = watched(lambda: estimator.fit(X, y, **more), estimator, lambda e: _located(e, places), quiet)
    skipped = f" ({data.n_skipped} without words left out)" if data.n_skipped else ""
    said = [
        f"{learning.name}: {len(data):,} trees{skipped}, {sum(map(len, data.X)):,} words"
        + (f", {n_some:,} sentences with some brackets" if n_some else ""),
        f"{estimator.coef_.size:,} rules in {done.seconds:.1f} s",
    ]
    if held_out is not None:
        from trelliswork.metrics import bracket_scores

        said.append(f"dev {bracket_scores(held_out.y, estimator.predict(held_out.X))}")
    info = {"kind": "parse", "learner": learning.name}
    finish(estimator, output, info, learning.said(said), interrupted=done.interrupted, quiet=quiet)


def _bracketed(
    source: str, tagged: bool, encoding: str | None
) -> tuple[list[Any], list[Any], list[int], str]:
    """Sentences of a file, the brackets known of their trees, their lines, and the name of the file."""
    from trelliswork._text import read_text

    text, name = read_text(source, encoding or "utf-8")
    X: list[Any] = []
    y: list[Any] = []
    numbers: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            words, known = _some_brackets(line, name, number)
            X.append(tokens_of(words, tagged))
            y.append(known)
            numbers.append(number)
    return X, y, numbers, name


def _some_brackets(line: str, name: str, number: int) -> tuple[list[str], set[Any]]:
    from trelliswork.io import some_brackets

    try:
        return some_brackets(line)
    except InputError as error:
        raise InputError.at(name, number, error.message) from None


def _located(error: InputError, places: list[str]) -> InputError:
    """The error with the file and line of its sample."""
    return error if error.sample is None else InputError(f"{places[error.sample]}: {error.message}")


def _read(source: str, of: str, encoding: str | None, max_words: int | None = None) -> tuple[Any, str]:
    from trelliswork.io.trees import read_trees

    kind = "pairs" if of == "tags" else "words"
    data = read_trees(source, input=kind, max_words=max_words, encoding=encoding or "utf-8")
    return data, "<stdin>" if source == "-" else source


def samples(source: str, *, encoding: str | None = None) -> Samples:
    """Sentences with their trees, for ``compare``.

    Parameters
    ----------
    source : str
        File.
    encoding : str or None
        Encoding of the text.
    """
    from trelliswork.cli._comparing import Samples
    from trelliswork.structures import Grammar

    data, _ = _read(source, "words", encoding)
    return Samples(data.X, data.y, Grammar())


def predict(opened: OpenModel, request: Request) -> None:
    """Write the trees of sentences.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        One sentence per line, tokens separated by white space (``word/TAG`` or tags alone for a
        model of tags); a line without tokens stays empty. ``kbest`` above 1 writes that many lines per
        sentence and an empty line after them; ``probabilities`` puts the probability of the tree and a tab
        before it.
    """
    from trelliswork._text import write_text

    _options.check_output(request.output)
    lines, rows, name = read_sentences(request)
    learner, limits = opened.learner, {}
    if request.known:
        read = [_some_brackets(lines[i], name, i + 1) for i in rows]
        sentences, limits["known"] = [words for words, _ in read], [known for _, known in read]
    else:
        sentences = [lines[i].split() for i in rows]
    X = [tokens_of(words, learner.structure.input == "tags") for words in sentences]
    try:
        if request.kbest > 1 or request.probabilities:
            lists = learner.predict_kbest(X, request.kbest, **limits)
            shown = [[_shown(c, request.probabilities) for c in candidates] for candidates in lists]
            failed = sum(candidates[0].score == -math.inf for candidates in lists)
        elif request.known:
            shown, failed = [[str(tree)] for tree in learner.predict(X, **limits)], 0
        else:
            batch = learner.pack(X)
            codes = batch.argmax(learner.part_scores(batch, X)).codes
            shown = [["" if tree is None else str(tree)] for tree in batch.unpack(codes)]
            failed = int((codes.lengths == 0).sum())
    except InputError as error:
        raise error.placed(name, [i + 1 for i in rows]) from None
    written = {i: "\n".join(trees) + ("\n" if request.kbest > 1 else "") for i, trees in zip(rows, shown)}
    body = "".join(written.get(i, "") + "\n" for i in range(len(lines)))
    write_text(request.output, body, request.encoding or "utf-8")
    if failed:
        request.note(f"{failed} of {len(rows)} sentences have no tree in this grammar")


def read_sentences(request: Request) -> tuple[list[str], list[int], str]:
    """Lines of a file, the numbers of those that are sentences, and the name of the file.

    Parameters
    ----------
    request : Request
        The file; ``raw`` cuts its lines into tokens.
    """
    from trelliswork._text import read_text
    from trelliswork.io import tokenize

    text, name = read_text(request.source, request.encoding or "utf-8")
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if request.raw:
        lines = [" ".join(tokenize(line)) for line in lines]
    rows = [i for i, line in enumerate(lines) if line.split()]
    if not rows:
        raise InputError.at(name, 1, "no sentence in the file; expected one per line")
    return lines, rows, name


def tokens_of(words: list[str], tagged: bool) -> list[Any]:
    """Tokens as a grammar takes them.

    Parameters
    ----------
    words : list of str
        Words of a sentence.
    tagged : bool
        Whether the grammar takes tags: ``word/TAG`` is taken apart.
    """
    if not tagged:
        return words
    cut = [word.rpartition("/") for word in words]
    return [(word, tag) if slash and word and tag else whole for whole, (word, slash, tag) in zip(words, cut)]


def _shown(candidate: Any, probabilities: bool) -> str:
    tree = "" if candidate.output is None else str(candidate.output)
    return f"{candidate.probability:.6g}\t{tree}" if probabilities else tree


def evaluate(opened: OpenModel, request: Request) -> None:
    """Compare the trees of a file with those that a model predicts.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        Bracketed trees; ``as_json`` prints JSON.
    """
    from dataclasses import asdict

    from trelliswork.metrics import bracket_scores

    learner = opened.learner
    data, name = _read(request.source, learner.structure.input, request.encoding)
    try:
        predicted = learner.predict(data.X)
    except InputError as error:
        raise error.placed(name, data.lines) from None
    reports = {
        "brackets": bracket_scores(data.y, predicted),
        "without_root": bracket_scores(data.y, predicted, root=False),
        "without_punctuation": bracket_scores(data.y, predicted, punctuation=False),
    }
    if request.as_json:
        request.print_json({key: asdict(report) for key, report in reports.items()})
        return
    whole = reports["brackets"]
    print(f"trees                {whole.n_trees:7,}")
    print(f"words                {sum(map(len, data.X)):7,}")
    for key, report in reports.items():
        title = key.replace("_", " ")
        print(
            f"{title:20s} precision {report.precision:7.2%}  recall {report.recall:7.2%}  F1 {report.f1:7.2%}"
            f"  exact match {report.exact:7.2%}"
        )
    print(f"tags                 {whole.tags:7.2%}")
