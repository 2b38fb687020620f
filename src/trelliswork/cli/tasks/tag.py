"""Label every token of sentences: column files in, a chain model out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from trelliswork._counts.entities import looks_like_entities
from trelliswork._errors import InputError
from trelliswork.cli import _options
from trelliswork.cli._learners import Learning, learns
from trelliswork.cli._training import counted, ending, finish, watched

if TYPE_CHECKING:
    from trelliswork.cli._columns import Document, Layout
    from trelliswork.cli._comparing import Samples
    from trelliswork.cli._models import OpenModel, Request

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

STRUCTURE = "Chain"
PREDICT_HELP = (
    "INPUT has the columns of the training file, with or without the label, or the input columns alone; "
    "it is written with one more column, the predicted label (CoNLL-U: in the label's place). --raw takes "
    "plain text, one sentence a line; --format jsonl writes a JSON object for each sentence."
)
PREDICT_OPTIONS = ("--format", "--raw", "--known")
EVALUATE_HELP = "Token and sentence accuracy and, for labels such as B-PER and O, a table of entities."

_SCHEMES = ("BIO", "BIOES")
_NOT_KNOWN = ("?", "_")  # labels of an input with --known
_MULTINOMIAL = ("Generative", "KLRSO")  # learners that expect one symbol per token


@learns("crf", renamed={"Generative": ("hmm", "hidden Markov model")})
def train(
    source: Annotated[
        str, typer.Argument(metavar="TRAIN", help="Column file, plain or gzip; - reads standard input.")
    ],
    *,
    output: _options.Output,
    dev: Annotated[
        str | None,
        typer.Option(
            help="Development file: scored at the end; the crf also stops by it.", show_default=False
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            help="Features of a token: default, tutorial, a template such as 'lower, suffix:3 @ -1..1', or "
            "@FILE. By default 'default', with the other --columns if there are any; for hmm and klrso "
            "'word'.",
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        int | None,
        typer.Option(
            help="Column of the labels, from 0 or, negative, from the end.",
            show_default="-1; of CoNLL-U 3, the part of speech",
        ),
    ] = None,
    columns: _options.Columns = None,
    separator: _options.Separator = None,
    scheme: Annotated[
        str | None,
        typer.Option(help="BIO or BIOES: never predict what the scheme forbids.", show_default=False),
    ] = None,
    invalid: Annotated[
        str,
        typer.Option(
            help="With --scheme, sentences that break it: repair (read as the CoNLL script does, I-X after O "
            "as B-X) or strict (an error)."
        ),
    ] = "repair",
    order: Annotated[int, typer.Option(min=1, help="Previous labels that a label depends on.")] = 1,
    min_count: Annotated[int, typer.Option(min=1, help="Drop rarer features.")] = 1,
    observed: Annotated[
        bool | None,
        typer.Option(
            "--observed/--all-emissions",
            help="Weights for the pairs of feature and label in TRAIN only, or for all.",
            show_default="all-emissions",
        ),
    ] = None,
    unknown: _options.Unknown = None,
    learning: Learning,
    encoding: _options.Encoding = None,
    comment: _options.Comment = None,
    quiet: _options.Quiet = False,
) -> None:
    """Learn to label the tokens of sentences from a column file.

    One token a line, its label in one of the columns, a blank line after every sentence; CoNLL-U files are
    known by their ten columns. Ctrl-C ends the training early: the best weights so far are saved, and the
    exit code is 130.
    """
    scheme = None if scheme is None else scheme.upper()
    if scheme not in (None, *_SCHEMES):
        raise InputError(f"--scheme: unknown scheme {scheme!r}; expected {' or '.join(_SCHEMES)}")
    if invalid not in ("repair", "strict"):
        raise InputError(f"--invalid must be repair or strict, got {invalid!r}")
    if invalid == "strict" and scheme is None:
        raise InputError("--invalid strict needs a scheme that labels can break; give --scheme BIO or BIOES")
    chosen, between = _options.parse_columns(columns), _options.parse_separator(separator)
    usual = _usual_template(learning.entry.learner.__name__)
    text = _template(usual if template is None else template, chosen)
    _options.check_output(output, model=True)
    learning.check_dev(dev, source)

    from trelliswork.cli._columns import Document
    from trelliswork.structures import Chain

    structure = Chain(
        order=order,
        scheme=scheme,
        invalid=invalid,
        min_count=min_count,
        emissions="observed" if observed else "all",
    )
    estimator = learning.build(structure, quiet)
    document = Document(source, separator=between, comment=comment or None, encoding=encoding or "utf-8")
    layout = _layout(document, label, chosen, text)
    layout = layout.changed(between, comment or None, encoding or None)
    held_out = None if dev is None else _labelled(layout.read(dev), layout)
    assert layout.label is not None
    y = document.take([layout.label])
    if unknown is not None:
        y = [[_options.known_label(label, [unknown]) for label in row] for row in y]
    _fit_and_save(learning, estimator, text, document, layout, y, held_out, output, quiet)


def _usual_template(learner: str) -> str:
    """Features of a token without ``--template``, by the name of the class of the learner."""
    return "word" if learner in _MULTINOMIAL else "default"


def _template(text: str, columns: list[int] | None) -> str:
    """Features of a token; refuses columns that are asked for and not used."""
    from trelliswork.features.template import parse_template

    n_columns = 1 if columns is None else len(columns)
    if text == "default":  # takes every column that it is given
        text = "; ".join([text, *(f"col:{c} @ -1..1" for c in range(1, n_columns))])
    text = _options.read_template(text)
    used = {feature.column for features in parse_template(text).values() for feature in features}
    unused = [str((columns or [])[c]) for c in range(1, n_columns) if c not in used]
    if unused:
        raise InputError(
            f"--columns: the template does not use column {', '.join(unused)}; leave it out, or name it in "
            "the template (col:1 is the second of --columns)"
        )
    return text


def _layout(document: Document, label: int | None, columns: list[int] | None, template: str) -> Layout:
    """Which columns are read: of the inputs, those up to the last that the template asks for."""
    from trelliswork.cli._columns import Layout
    from trelliswork.features import TokenWindow

    place = document.usual_label if label is None else document.resolve(label, "label")
    if columns is None:
        inputs = document.usual_columns(place)
    else:
        inputs = [document.resolve(c, "input") for c in columns]
    if not inputs:
        raise InputError.at(
            document.name, document.first_line, "1 column; expected an input column beside the label"
        )
    needed = TokenWindow.from_template(template).n_columns
    if needed > len(inputs):
        have = counted(len(inputs), "input column")
        raise InputError.at(
            document.name, document.first_line, f"{have}; the template asks for column {needed - 1} (from 0)"
        )
    return Layout(document.n_columns, tuple(inputs[:needed]), place)


def _labelled(
    document: Document, layout: Layout, request: Request | None = None
) -> tuple[Any, Any, Document]:
    """Inputs and labels of a file for a model."""
    inputs, label = document.match(layout, request.columns if request else None)
    if request is not None and request.label is not None:
        label = document.resolve(request.label, "label")
    elif label is None and layout.n_columns is None and document.n_columns > len(layout.inputs):
        label = document.usual_label  # a model from Python
    if label is None:
        raise InputError.at(
            document.name, document.first_line, "the file has no label column to compare with"
        )
    return document.take(inputs), document.take([label]), document


def _fit_and_save(
    learning: Learning,
    estimator: Any,
    template: str,
    document: Document,
    layout: Layout,
    y: list[list[Any]],
    held_out: tuple[Any, Any, Document] | None,
    output: str,
    quiet: bool,
) -> None:
    from trelliswork.features import TokenWindow
    from trelliswork.pipeline import make_pipeline

    window = TokenWindow.from_template(template)

    def fit() -> None:
        more: dict[str, Any] = {}
        features = window.fit_transform(document.take(layout.inputs))
        if held_out is not None:
            more = learning.held_out(window.transform(held_out[0]), held_out[1])
        estimator.fit(features, y, **more)

    done = watched(fit, estimator, document.located, quiet)
    structure = estimator.structure
    n_repaired = sum(list(a) != b for a, b in zip(y, structure.readable(y), strict=True))
    note = f" ({n_repaired:,} repaired to {structure.scheme})" if n_repaired else ""
    n_open = sum(not isinstance(label, str) for row in y for label in row)
    tokens = f"{counted(document.n_tokens, 'token')}{f' ({n_open:,} not known)' if n_open else ''}"
    said = [
        f"{learning.name}: {counted(len(document), 'sentence')}{note}, {tokens}",
        f"{counted(len(estimator.classes_), 'label')}, {counted(estimator.coef_.size, 'weight')}",
        f"{counted(estimator.n_iter_, 'iteration')} in {done.seconds:.1f} s"
        + ending(estimator, done.interrupted),
    ]
    if held_out is not None:
        said.append("dev " + _brief(held_out[1], estimator.predict(window.transform(held_out[0]))))
    info = {"kind": "tag", "learner": learning.name, "layout": layout.to_info()}
    model = make_pipeline(window, estimator)
    finish(model, output, info, learning.said(said), interrupted=done.interrupted, quiet=quiet)


def samples(source: str, *, label: str | None = None, encoding: str | None = None) -> Samples:
    """Sentences of a column file, for ``compare``.

    Parameters
    ----------
    source : str
        File.
    label, encoding : str or None
        Number of the column of the labels; encoding of the text.
    """
    from trelliswork.cli._columns import Document
    from trelliswork.cli._comparing import Samples, with_features
    from trelliswork.features import TokenWindow
    from trelliswork.structures import Chain

    if label is not None and not label.removeprefix("-").isdigit():
        raise InputError(f"--label: expected the number of a column, got {label!r}")
    document = Document(source, encoding=encoding or "utf-8")
    layout = _layout(document, None if label is None else int(label), None, "default")
    assert layout.label is not None
    learners = with_features(Chain(), lambda name: TokenWindow.from_template(_usual_template(name)))
    return Samples(document.take(layout.inputs), document.take([layout.label]), Chain(), learners)


def predict(opened: OpenModel, request: Request) -> None:
    """Write a column file with the labels that a model predicts.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        Files and columns. ``kbest`` above 1 adds a column for each candidate, ``_`` where a sentence has
        fewer. ``probabilities`` adds to each label its probability: of the label at this token or, with
        ``kbest``, of the whole candidate. ``raw`` reads plain text, a sentence a line; ``form`` "jsonl"
        writes a JSON object for each sentence.
    """
    from trelliswork.cli import _tagged

    if request.form not in (None, "columns", "jsonl"):
        raise InputError(f"--format: expected columns or jsonl, got {request.form!r}")
    if request.kbest > 1:  # report a mistake before the work
        _require(opened, "kbest")
    if request.probabilities:
        _require(opened, "marginals")
    _options.check_output(request.output)
    layout = stored_layout(opened).changed(request.separator, request.comment, request.encoding)
    if request.raw:
        if len(layout.inputs) > 1:
            raise InputError(f"--raw: {opened.path} takes {len(layout.inputs)} columns, not words alone")
        document = _tagged.raw_document(request.source, layout)
    else:
        document = layout.read(request.source)
    inputs, label = document.match(layout, request.columns)
    known = None
    if request.known:
        if label is None:
            raise InputError.at(document.name, document.first_line, "--known: the file has no label column")
        rows, names = document.take([label]), set(map(str, opened.learner.classes_))
        known = [[_options.known_label(text, _NOT_KNOWN, names) for text in row] for row in rows]
    try:
        tagged = _tagged.Tagged.of(opened, document.take(inputs), request, known)
    except InputError as error:
        raise document.located(error) from None
    if request.form == "jsonl":
        _tagged.write_jsonl(request.output, tagged, document.take(inputs[:1]), layout.encoding)
    else:
        document.write(request.output, tagged.columns(request.probabilities), label)


def _require(opened: OpenModel, what: str) -> None:
    if not hasattr(opened.learner, f"predict_{what}"):
        flag = "--kbest" if what == "kbest" else "--probabilities"
        raise InputError(f"{flag}: a {type(opened.learner).__name__} model cannot do that")


def evaluate(opened: OpenModel, request: Request) -> None:
    """Compare the labels of a column file with those that a model predicts.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        Files and columns; ``as_json`` prints JSON.
    """
    layout = stored_layout(opened).changed(request.separator, request.comment, request.encoding)
    X, y, document = _labelled(layout.read(request.source), layout, request)
    try:
        predicted = opened.learner.predict(opened.features(X))
    except InputError as error:
        raise document.located(error) from None
    _print_scores(y, [[str(label) for label in row] for row in predicted], request)


def facts(opened: OpenModel) -> list[tuple[str, str]]:
    """Columns of the training file."""
    if "layout" not in opened.info:
        return []
    layout = stored_layout(opened)
    inputs = ", ".join(map(str, layout.inputs))
    return [("columns", f"{layout.n_columns}: input {inputs}; label {layout.label}")]


def stored_layout(opened: OpenModel) -> Layout:
    """Columns that a model was trained on; for one from Python, the first columns that it asks for."""
    from trelliswork.cli._columns import Layout

    if "layout" in opened.info:
        return Layout.from_info(opened.path, opened.info["layout"])
    needed = max((getattr(step, "n_columns", 1) for step in opened.transformers[:1]), default=1)
    return Layout(None, tuple(range(needed)), None)


def _brief(y: Any, predicted: Any) -> str:
    from trelliswork.metrics import entity_f1, token_accuracy

    text = f"accuracy {token_accuracy(y, predicted):.2%}"
    return f"{text}, entity F1 {entity_f1(y, predicted):.2%}" if looks_like_entities(y) else text


def _scores(y: Any, predicted: Any) -> dict[str, Any]:
    """Token and sentence accuracy and, for entity labels, their scores."""
    from trelliswork.metrics import entity_scores, sequence_accuracy, token_accuracy

    scores: dict[str, Any] = {
        "sentences": len(y),
        "tokens": sum(map(len, y)),
        "token_accuracy": token_accuracy(y, predicted),
        "sentence_accuracy": sequence_accuracy(y, predicted),
        "entities": None,
    }
    if looks_like_entities(y):
        report = entity_scores(y, predicted)
        by_type = {kind: _counts(counts) for kind, counts in report.by_type.items()}
        scores["entities"] = _counts(report) | {"by_type": by_type}
    return scores


def _counts(counts: Any) -> dict[str, Any]:
    return {
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        "true": counts.n_true,
        "predicted": counts.n_predicted,
        "correct": counts.n_correct,
    }


def _print_scores(y: Any, predicted: Any, request: Request) -> None:
    scores = _scores(y, predicted)
    if request.as_json:
        request.print_json(scores)
        return
    from trelliswork.cli._show import console, score_table

    print(f"sentences          {scores['sentences']:7,}")
    print(f"tokens             {scores['tokens']:7,}")
    print(f"token accuracy     {scores['token_accuracy']:7.2%}")
    print(f"sentence accuracy  {scores['sentence_accuracy']:7.2%}")
    if scores["entities"] is not None:
        console().print(score_table("entity", scores["entities"]["by_type"], total=scores["entities"]))
