"""Strings to strings: pairs in, a regression model out."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trelliswork._errors import InputError
from trelliswork.cli import _options
from trelliswork.cli._training import finish

if TYPE_CHECKING:
    from trelliswork.cli._models import OpenModel, Request

__all__ = ["EVALUATE_HELP", "PREDICT_HELP", "STRUCTURE", "evaluate", "predict", "train"]

STRUCTURE = "KernelRegression"
PREDICT_HELP = "One input per line in, input and output separated by a tab out."
EVALUATE_HELP = "Pairs separated by tabs in; exact matches and edit distances."

_UNITS = ("char", "word")


def train(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PAIRS", help="Input and output, tab-separated, one pair a line; - reads standard input."
        ),
    ],
    output: _options.Output,
    dev: Annotated[
        str | None, typer.Option(help="Development pairs, scored at the end.", show_default=False)
    ] = None,
    input_units: Annotated[
        str, typer.Option(help="Symbols of inputs: char, or word for symbols separated by blanks.")
    ] = "char",
    output_units: Annotated[
        str, typer.Option(help="Symbols of outputs: char, or word (phonemes, for instance).")
    ] = "char",
    longest: Annotated[int, typer.Option(min=1, help="Longest input n-gram that is looked at.")] = 4,
    ngram: Annotated[int, typer.Option(min=1, help="Length of the output n-grams that are predicted.")] = 2,
    ridge: Annotated[
        str, typer.Option(help="Penalty: a number, or loo for the one with the least leave-one-out error.")
    ] = "0.03",
    language_model: Annotated[
        int, typer.Option(min=0, help="Order of the language model that ranks outputs; 0 for none.")
    ] = 4,
    basis: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of training pairs that serve as basis functions, for large files.",
            show_default=False,
        ),
    ] = None,
    encoding: _options.Encoding = None,
    quiet: _options.Quiet = False,
) -> None:
    """Learn to turn strings into strings from a file of pairs.

    Kernel regression of the output's n-grams on the input's; the output is the string whose n-grams are
    nearest to the prediction.
    """
    units = _checked_units(input_units, "--input-units"), _checked_units(output_units, "--output-units")
    _options.check_output(output, model=True)
    if source == dev == "-":
        raise InputError("--dev: PAIRS and --dev cannot both be standard input")
    strength = _read_ridge(ridge)
    X, y = _pairs(source, units, encoding, labelled=True)[:2]
    held_out = None if dev is None else _pairs(dev, units, encoding, labelled=True)

    from trelliswork import KernelRegression, NGramModel, NGrams
    from trelliswork.kernels import Normalized, Spectrum

    started = time.perf_counter()
    model = KernelRegression(
        Normalized(Spectrum(1, longest, boundary=True)),
        NGrams(ngram, language_model=NGramModel(language_model) if language_model else None),
        ridge=strength,
        basis=basis,
    )
    model.fit(X, y)
    said = [
        f"transduce: {len(X):,} pairs, {len(model.feature_names_out_):,} output n-grams",
        f"ridge {model.ridge_:.3g} in {time.perf_counter() - started:.1f} s",
    ]
    if held_out is not None:
        scores = _scores(held_out[1], model.predict(held_out[0]))
        said.append(f"dev exact {scores['exact_match']:.2%}, symbol error {scores['symbol_error']:.2%}")
    info = {"kind": "transduce", "units": list(units)}
    finish(model, output, info, said, interrupted=False, quiet=quiet)


def predict(opened: OpenModel, request: Request) -> None:
    """Write each input and its predicted output, tab-separated.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        Files. A line of the input file is an input; anything after a tab is passed over. ``kbest`` above 1
        adds further strings with the same n-grams, best first, where there are any.
    """
    if request.probabilities:
        raise InputError("--probabilities: a regression model has none")
    _options.check_output(request.output)
    units = _stored_units(opened)
    X, _, lines = _pairs(request.source, units, request.encoding, labelled=False)
    if request.kbest > 1:
        lists = [candidates[: request.kbest] for candidates in opened.learner.predict_candidates(X)]
    else:
        lists = [[y] for y in opened.learner.predict(X)]
    rows = ["\t".join([line, *(_joined(y) for y in ys)]) for line, ys in zip(lines, lists, strict=True)]
    from trelliswork._text import write_text

    write_text(request.output, "".join(f"{row}\n" for row in rows), request.encoding or "utf-8")


def evaluate(opened: OpenModel, request: Request) -> None:
    """Compare predicted outputs with those of a file: exact match and edit distance.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        Files; ``as_json`` prints JSON.
    """
    X, y, _ = _pairs(request.source, _stored_units(opened), request.encoding, labelled=True)
    scores = _scores(y, opened.learner.predict(X))
    if request.as_json:
        json.dump(scores, sys.stdout, indent=2)
        print()
        return
    print(f"pairs               {scores['pairs']:7,}")
    print(f"exact match         {scores['exact_match']:7.2%}")
    print(f"mean edit distance  {scores['edit_distance']:7.3f}")
    print(f"symbol error        {scores['symbol_error']:7.2%}")


def _scores(y: Any, predicted: Any) -> dict[str, Any]:
    from trelliswork.metrics import edit_error, mean_edit_distance

    return {
        "pairs": len(y),
        "exact_match": sum(list(a) == list(b) for a, b in zip(y, predicted, strict=True)) / len(y),
        "edit_distance": mean_edit_distance(y, predicted),
        "symbol_error": edit_error(y, predicted),
    }


def _joined(output: Any) -> str:
    return output if isinstance(output, str) else " ".join(map(str, output))


def _checked_units(text: str, flag: str) -> str:
    if text not in _UNITS:
        raise InputError(f"{flag}: unknown unit {text!r}; expected {' or '.join(_UNITS)}")
    return text


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


def _stored_units(opened: OpenModel) -> tuple[str, str]:
    """Units of a model; one from Python says by its alphabet whether outputs are lists of symbols."""
    stored = opened.info.get("units")
    if isinstance(stored, list) and len(stored) == 2 and all(unit in _UNITS for unit in stored):
        return stored[0], stored[1]
    kind = getattr(getattr(opened.learner, "code_", None), "kind", "str")
    return "char", "char" if kind == "str" else "word"


def _pairs(
    source: str, units: tuple[str, str], encoding: str | None, *, labelled: bool
) -> tuple[list[Any], list[Any], list[str]]:
    """Inputs, outputs and the texts of the inputs."""
    from trelliswork._text import read_text

    text, name = read_text(source, encoding or "utf-8")
    X, y, lines = [], [], []
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], 1):
        if labelled and not line:
            continue  # without labels a blank line is an empty input
        fields = line.split("\t")
        if labelled and len(fields) != 2:
            columns = f"{len(fields)} column{'s' * (len(fields) != 1)}"
            raise InputError.at(name, number, f"{columns}; expected an input, a tab and an output")
        lines.append(fields[0])
        X.append(fields[0] if units[0] == "char" else fields[0].split())
        if labelled:
            y.append(fields[1] if units[1] == "char" else fields[1].split())
    if not X:
        raise InputError.at(name, None, "the file is empty; expected one pair a line")
    return X, y, lines
