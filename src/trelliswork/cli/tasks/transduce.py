"""Strings to strings: pairs in, a transducer (or a regression model) out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from trelliswork._errors import InputError
from trelliswork.cli import _options
from trelliswork.cli._learners import Learning, learns
from trelliswork.cli._pairs import (
    UNITS,
    Pairs,
    aligned_rows,
    compared,
    grouped,
    joined,
    output_unit,
    read_pairs,
    split,
)
from trelliswork.cli._training import counted, ending, finish, watched

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

STRUCTURE = ("Transducer", "KernelRegression")
PREDICT_HELP = (
    "One input per line in, input and output separated by a tab out; --show-alignment adds two rows for each "
    "output."
)
EVALUATE_HELP = "Pairs separated by tabs in; wrong words, wrong symbols and the most frequent confusions."
PREDICT_OPTIONS = ("--show-alignment",)

_MOST_OUT = 5  # output symbols per input symbol without --max-out; pairs with more are left out
# Learners that fill in alignments by themselves.
_OTHERS = ("Generative", "KLRSO", "SODA", "StructBoost", "StructuredSVM", "VotedCRF", "ZScore")
Candidate = tuple[Any, "float | None"]  # output, probability
_REGRESSION = ("kernel regression of n-grams, without alignment", "KernelRegression")


@learns("crf", without=_OTHERS, also={"regression": _REGRESSION})
def train(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PAIRS", help="Input and output, tab-separated, one pair a line; - reads standard input."
        ),
    ],
    *,
    output: _options.Output,
    dev: Annotated[
        str | None,
        typer.Option(
            help="Development pairs: crf stops early by them; scored at the end.", show_default=False
        ),
    ] = None,
    input_units: Annotated[
        str, typer.Option(help="Symbols of inputs: char, or word for symbols separated by blanks.")
    ] = "char",
    output_units: Annotated[
        str,
        typer.Option(help="Symbols of outputs: char, word (phonemes, for instance), or auto, by the blanks."),
    ] = "auto",
    order: Annotated[
        int | None, typer.Option(min=0, help="Output symbols that a score looks back at.", show_default="2")
    ] = None,
    max_in: Annotated[
        int | None, typer.Option(min=1, help="Most input symbols of a piece.", show_default="1")
    ] = None,
    max_out: Annotated[
        int | None,
        typer.Option(
            min=1, help="Most output symbols of a piece; by default what pairs need.", show_default="up to 5"
        ),
    ] = None,
    window: Annotated[
        int | None, typer.Option(min=0, help="Input symbols seen before and after.", show_default="4")
    ] = None,
    longest: Annotated[
        int | None, typer.Option(min=1, help="regression: longest input n-gram.", show_default="4")
    ] = None,
    ngram: Annotated[
        int | None, typer.Option(min=1, help="regression: length of output n-grams.", show_default="2")
    ] = None,
    ridge: Annotated[
        str | None,
        typer.Option(help="regression: penalty, or loo (least leave-one-out error).", show_default="0.03"),
    ] = None,
    language_model: Annotated[
        int | None,
        typer.Option(min=0, help="regression: order of the language model; 0 for none.", show_default="4"),
    ] = None,
    basis: Annotated[
        int | None,
        typer.Option(min=1, help="regression: training pairs as basis functions.", show_default=False),
    ] = None,
    encoding: _options.Encoding = None,
    learning: Learning,
    quiet: _options.Quiet = False,
) -> None:
    """Learn to turn strings into strings from a file of pairs.

    The input is written piece by piece; how training pairs align is found out. Lines with the same input are
    alternatives, all of them right.
    """
    _checked_unit(input_units, "--input-units", UNITS)
    _checked_unit(output_units, "--output-units", (*UNITS, "auto"))
    _options.check_output(output, model=True)
    if source == dev == "-":
        raise InputError("--dev: PAIRS and --dev cannot both be standard input")
    of_regression = {"longest": longest, "ngram": ngram, "ridge": ridge, "language_model": language_model}
    of_transducers = {"order": order, "max_in": max_in, "max_out": max_out, "window": window}
    regression = learning.name == "regression"
    _check_given(of_transducers if regression else {**of_regression, "basis": basis}, learning.name)
    if regression:
        strength = _read_ridge("0.03" if ridge is None else ridge)
    else:
        from trelliswork import Transducer

        chosen: dict[str, Any] = {k: v for k, v in of_transducers.items() if v is not None}
        structure = Transducer(**chosen)
        estimator = learning.build(structure, quiet)
    pairs = read_pairs(source, encoding, labelled=True)
    units = input_units, output_unit(pairs.outputs) if output_units == "auto" else output_units
    held_out = None if dev is None else read_pairs(dev, encoding, labelled=True)
    info = {"kind": "transduce", "units": list(units), "learner": learning.name}
    if regression:
        estimator = _regression(
            strength, longest or 4, ngram or 2, 4 if language_model is None else language_model
        )
        estimator = learning.wrapped(estimator.set_params(basis=basis), quiet)
        model, said, interrupted = _fit_regression(pairs, held_out, units, estimator, learning, quiet)
    else:
        model, said, interrupted = _transducer(pairs, held_out, units, estimator, learning, quiet)
    if held_out is not None:
        texts, truth, _ = grouped(held_out, units[1])
        scores = compared(truth, model.predict(split(texts, units[0])))
        said.append(f"dev exact {scores['exact_match']:.2%}, symbol error {scores['symbol_error']:.2%}")
    finish(model, output, info, learning.said(said), interrupted=interrupted, quiet=quiet)


def _transducer(
    pairs: Pairs,
    held_out: Pairs | None,
    units: tuple[str, str],
    estimator: Any,
    learning: Learning,
    quiet: bool,
) -> tuple[Any, list[str], bool]:
    most = estimator.structure.max_out or _MOST_OUT
    X, y, lines, left_out = _samples(pairs, units, most)
    more: dict[str, Any] = {}
    if held_out is not None:
        texts, outputs, _ = grouped(held_out, units[1])
        more = learning.held_out(split(texts, units[0]), [_alternatives(ys) for ys in outputs])
    done = watched(
        lambda: estimator.fit(X, y, **more), estimator, lambda error: error.placed(pairs.name, lines), quiet
    )
    n_outputs = sum(len(outputs) if isinstance(outputs, (set, tuple)) else 1 for outputs in y)
    said = [
        f"transduce: {counted(len(X), 'input')}, {counted(n_outputs, 'output')}, "
        f"symbols of outputs by {units[1]}",
        f"{counted(estimator.space_.n_features, 'feature')}, {counted(estimator.n_iter_, 'iteration')}"
        f"{ending(estimator, done.interrupted)} in {done.seconds:.1f} s",
    ]
    bare = {line for text, line in zip(pairs.inputs, pairs.lines, strict=True) if not text.strip()}
    for some, why in (
        ([line for line in left_out if line in bare], "left out: nothing stands before the tab"),
        (
            [line for line in left_out if line not in bare],
            f"left out, with more than {most} output symbols per input symbol (see --max-out)",
        ),
    ):
        if some:
            said.append(f"{counted(len(some), 'input')} {why} (first: line {some[0]})")
    silent = [line for text, line in zip(pairs.outputs, pairs.lines, strict=True) if not text.strip()]
    if silent:
        said.append(f"{counted(len(silent), 'output')} empty (first: line {silent[0]})")
    whole = _run_together(y, lines) if units[1] == "word" else []
    if whole:
        said.append(
            f"{counted(len(whole), 'output')} without blanks read as one symbol each (first: line {whole[0]})"
        )
    return estimator, said, done.interrupted


def _run_together(y: list[Any], lines: list[int]) -> list[int]:
    """Lines of outputs that are one symbol made of others: most likely their blanks are missing."""
    rows = [outputs if isinstance(outputs, tuple) else (outputs,) for outputs in y]
    symbols = {symbol for outputs in rows for output in outputs for symbol in output}
    return [
        line
        for line, outputs in zip(lines, rows, strict=True)
        if any(len(o) == 1 and len(o[0]) > 1 and symbols.issuperset(o[0]) for o in outputs)
    ]


def _samples(
    pairs: Pairs, units: tuple[str, str], most: int = _MOST_OUT
) -> tuple[list[Any], list[Any], list[int], list[int]]:
    """Inputs, their outputs, their lines, and the lines of inputs whose outputs are too long for them."""
    texts, outputs, lines = grouped(pairs, units[1])
    inputs = split(texts, units[0])
    good = [all(len(y) <= most * len(x) for y in ys) for x, ys in zip(inputs, outputs, strict=True)]
    rows = [i for i, fits in enumerate(good) if fits]
    if not rows:
        raise InputError.at(
            pairs.name,
            None,
            f"no output has at most {most} symbols for each of its input; give --max-out",
        )
    X, y = [inputs[i] for i in rows], [_alternatives(outputs[i]) for i in rows]
    left_out = [line for line, fits in zip(lines, good, strict=True) if not fits]
    return X, y, [lines[i] for i in rows], left_out


def _alternatives(outputs: list[Any]) -> Any:
    """Outputs of an input as a transducer takes them."""
    if len(outputs) == 1:
        return outputs[0]
    return set(outputs) if isinstance(outputs[0], str) else tuple(outputs)


def _regression(ridge: Any, longest: int, ngram: int, language_model: int) -> Any:
    """Kernel regression of n-grams, without data."""
    from trelliswork import KernelRegression, NGramModel, NGrams
    from trelliswork.kernels import Normalized, Spectrum

    return KernelRegression(
        Normalized(Spectrum(1, longest, boundary=True)),
        NGrams(ngram, language_model=NGramModel(language_model) if language_model else None),
        ridge=ridge,
    )


def _fit_regression(
    pairs: Pairs,
    held_out: Pairs | None,
    units: tuple[str, str],
    estimator: Any,
    learning: Learning,
    quiet: bool,
) -> tuple[Any, list[str], bool]:
    def samples_of(given: Pairs) -> tuple[list[Any], list[Any]]:
        return split(given.inputs, units[0]), split(given.outputs, units[1])

    more = {} if held_out is None else learning.held_out(*samples_of(held_out))
    done = watched(
        lambda: estimator.fit(*samples_of(pairs), **more),
        estimator,
        lambda error: error.placed(pairs.name, pairs.lines),
        quiet,
    )
    said = [
        f"transduce: {len(pairs.inputs):,} pairs, {len(estimator.feature_names_out_):,} output n-grams",
        f"ridge {estimator.ridge_:.3g} in {done.seconds:.1f} s",
    ]
    return estimator, said, done.interrupted


def samples(source: str, *, encoding: str | None = None) -> Samples:
    """Pairs of strings, for ``compare``.

    Parameters
    ----------
    source : str
        File.
    encoding : str or None
        Encoding of the text.
    """
    from trelliswork import CRF, Perceptron, Transducer
    from trelliswork.cli._comparing import Samples

    pairs = read_pairs(source, encoding, labelled=True)
    X, y, _, _ = _samples(pairs, ("char", output_unit(pairs.outputs)))
    learners: dict[str, Any] = {"CRF": CRF(Transducer()), "Perceptron": Perceptron(Transducer())}
    if not any(isinstance(outputs, (set, tuple)) for outputs in y):  # a regression takes one output each
        learners["KernelRegression"] = _regression(0.03, 4, 2, 4)
    return Samples(X, y, Transducer(), learners)


def predict(opened: OpenModel, request: Request) -> None:
    """Write each input and its predicted output, tab-separated.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        Files. A line of the input file is an input; anything after a tab is passed over. ``kbest`` above 1
        adds further outputs, best first; ``probabilities`` adds a column after each output.
    """
    regression = not hasattr(opened.learner, "space_")
    for flag, given in (
        ("--probabilities", request.probabilities),
        ("--show-alignment", request.show_alignment),
    ):
        if given and regression:
            raise InputError(f"{flag}: a regression model has none")
    _options.check_output(request.output)
    pairs = read_pairs(request.source, request.encoding, labelled=False)
    learner, X = opened.learner, split(pairs.inputs, stored_units(opened)[0])
    found = _candidates(learner, X, request.kbest, request.probabilities)
    below = _alignments(learner, X, found) if request.show_alignment else [[] for _ in X]
    columns = [[column for candidate in some for column in _columns(*candidate)] for some in found]
    lines = []
    for text, answers, rows in zip(pairs.inputs, columns, below, strict=True):
        lines += ["\t".join([text, *answers]), *rows]
    from trelliswork._text import write_text

    write_text(request.output, "".join(f"{line}\n" for line in lines), request.encoding or "utf-8")


def _candidates(learner: Any, X: list[Any], k: int, probabilities: bool) -> list[list[Candidate]]:
    """Outputs of every input, best first, with their probabilities where these are asked for."""
    if k == 1 and not probabilities:
        return [[(y, None)] for y in learner.predict(X)]
    if not hasattr(learner, "space_"):
        return [[(y, None) for y in candidates[:k]] for candidates in learner.predict_candidates(X)]
    return [
        [(c.output, c.probability if probabilities else None) for c in candidates]
        for candidates in learner.predict_kbest(X, k)
    ]


def _columns(output: Any, probability: float | None) -> list[str]:
    return [joined(output)] if probability is None else [joined(output), f"{probability:.4g}"]


def _alignments(learner: Any, X: list[Any], found: list[list[Candidate]]) -> list[list[str]]:
    """Rows of the best alignment of each candidate."""
    if learner.structure.output == "pieces":  # outputs are alignments
        return [[row for pieces, _ in candidates for row in aligned_rows(pieces)] for candidates in found]
    pairs = [(i, output) for i, candidates in enumerate(found) for output, _ in candidates]
    repeated = [X[i] for i, _ in pairs]
    batch = learner.pack(repeated, known=[output for _, output in pairs])
    codes = batch.argmax(learner.part_scores(batch, repeated)).codes
    below: list[list[str]] = [[] for _ in X]
    for (i, _), pieces in zip(pairs, batch.alignments(codes), strict=True):
        below[i] += aligned_rows(pieces)
    return below


def evaluate(opened: OpenModel, request: Request) -> None:
    """Compare predicted outputs with those of a file; one of several outputs of an input is enough.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        Files; ``as_json`` prints JSON.
    """
    units = stored_units(opened)
    texts, truth, _ = grouped(read_pairs(request.source, request.encoding, labelled=True), units[1])
    scores = compared(truth, opened.learner.predict(split(texts, units[0])))
    if request.as_json:
        request.print_json(scores)
        return
    print(f"pairs               {scores['pairs']:7,}")
    print(f"exact match         {scores['exact_match']:7.2%}")
    print(f"word error          {scores['word_error']:7.2%}")
    print(f"mean edit distance  {scores['edit_distance']:7.3f}")
    print(f"symbol error        {scores['symbol_error']:7.2%}")
    if scores["confusions"]:
        shown = [f"{a or '-'} -> {b or '-'} ({n})" for a, b, n in scores["confusions"]]
        print(f"confusions          {', '.join(shown)}")


def _check_given(others: dict[str, Any], learner: str) -> None:
    """Refuse options that belong to other learners."""
    for name, value in others.items():
        if value is not None:
            raise InputError(f"--{name.replace('_', '-')} does not go with --learner {learner}")


def _checked_unit(text: str, flag: str, known: tuple[str, ...]) -> None:
    if text not in known:
        raise InputError(f"{flag}: unknown unit {text!r}; expected {' or '.join(known)}")


def _read_ridge(text: str) -> Any:
    if text == "loo":
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise InputError(f"--ridge must be a finite number >= 0 or loo, got {text!r}")
    return value


def stored_units(opened: OpenModel) -> tuple[str, str]:
    """Units of a model; one from Python says by its alphabets whether strings are lists of symbols."""
    stored = opened.info.get("units")
    if isinstance(stored, list) and len(stored) == 2 and all(unit in UNITS for unit in stored):
        return stored[0], stored[1]
    space = getattr(opened.learner, "space_", None)
    if space is not None:
        return "char" if space.text[0] else "word", "char" if space.text[1] else "word"
    kind = getattr(getattr(opened.learner, "code_", None), "kind", "str")
    return "char", "char" if kind == "str" else "word"
