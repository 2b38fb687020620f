"""Fold RNA: sequences with structures in, a grammar with weights out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from trelliswork._errors import InputError
from trelliswork.cli import _options
from trelliswork.cli._fold import with_gamma
from trelliswork.cli._learners import Learning, learns
from trelliswork.cli._report import one_line
from trelliswork.cli._training import finish, watched

if TYPE_CHECKING:
    from trelliswork.cli._comparing import Samples
    from trelliswork.cli._models import OpenModel, Request
    from trelliswork.io import RnaData

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

STRUCTURE = "RNA"
PREDICT_HELP = (
    "FASTA or any other file of sequences in, structures out; --format is dot-bracket (the default), "
    "bpseq, ct or picture (png, svg, pdf)."
)
EVALUATE_HELP = "Sequences with structures in; sensitivity, positive predictive value and F1 of base pairs."
PREDICT_OPTIONS = ("--format", "--mea", "--known")

_INVALID = ("repair", "drop", "strict")
_FORMATS = ("dot-bracket", "bpseq", "ct", "picture")
_MOST_PICTURES = 20


@learns("crf", renamed={"Generative": ("scfg", "stochastic grammar")})
def train(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FOLDS",
            help="Sequences with structures: Stockholm, dot-bracket, bpseq or ct, plain or gzip; "
            "- reads standard input.",
        ),
    ],
    output: _options.Output,
    dev: Annotated[
        str | None,
        typer.Option(
            help="Development file: scored at the end; the crf also stops by it.", show_default=False
        ),
    ] = None,
    grammar: Annotated[
        str,
        typer.Option(help="auto; by loops: nearest-neighbour; rules: g6, or nested, which know their depth."),
    ] = "auto",
    depth: Annotated[int, typer.Option(min=1, max=20, help="Depths of the nested grammar.")] = 2,
    invalid: Annotated[
        str,
        typer.Option(
            help="Structures with pseudoknots, other pairs than AU, GC, GU, or loops of fewer than 2 bases: "
            "repair (delete these pairs), drop (leave the sequence out) or strict (an error)."
        ),
    ] = "repair",
    from_pretrained: Annotated[
        bool,
        typer.Option(
            "--from-pretrained",
            help="Start from the model of the package and stay near it, as far as parts of the data held out "
            "say that this helps. The crf does so with --grammar auto.",
        ),
    ] = False,
    *,
    learning: Learning,
    encoding: _options.Encoding = None,
    quiet: _options.Quiet = False,
) -> None:
    """Learn to fold RNA from sequences with known structures.

    The consensus structure of a Stockholm alignment is carried over to each of its sequences. Ctrl-C ends
    the training early: the best weights so far are saved, and the exit code is 130.
    """
    if invalid not in _INVALID:
        raise InputError(f"--invalid must be one of {', '.join(_INVALID)}, got {invalid!r}")
    _options.check_output(output, model=True)
    learning.check_dev(dev, source)

    from trelliswork.structures import RNA

    if from_pretrained:
        if learning.name != "crf":
            raise InputError(f"--from-pretrained goes with --learner crf, not {learning.name}")
        if learning.in_parts:
            raise InputError("--from-pretrained looks at all sequences together; leave out --dask")
        if grammar != "auto":
            raise InputError(f"--from-pretrained goes with --grammar auto, not {grammar}")
    structure = RNA(grammar, depth=depth, invalid="repair" if invalid == "repair" else "strict")
    estimator = learning.build(structure, quiet)
    data, name = _read(source, encoding)
    held_out = None if dev is None else _read(dev, encoding)[0]
    data, note = _usable(structure, data, name, invalid)
    more = {} if held_out is None else learning.held_out(held_out.X, held_out.y)
    done = watched(
        lambda: estimator.fit(data.X, data.y, **more), estimator, lambda e: e.placed(name, data.names), quiet
    )
    if grammar == "auto":
        note += _pulled(estimator)
    bases = sum(map(len, data.X))
    said = [
        f"{learning.name}: {len(data.X):,} sequences, {bases:,} bases{note}",
        f"{estimator.coef_.size:,} weights in {done.seconds:.1f} s",
    ]
    if held_out is not None:
        said.append(f"dev {_brief(held_out.y, estimator.predict(held_out.X))}")
    info = {"kind": "fold", "learner": learning.name}
    finish(estimator, output, info, learning.said(said), interrupted=done.interrupted, quiet=quiet)


def _pulled(estimator: Any) -> str:
    """What the data said of the model of the package."""
    if not hasattr(estimator, "prior_coef_"):
        return ""
    towards = "not " if estimator.prior_coef_ is None else ""
    return f"; {towards}pulled to the weights of the package"


def _read(source: str, encoding: str | None, *, structures: bool = True) -> tuple[RnaData, str]:
    from trelliswork.io import read_rna

    data, name = read_rna(source, encoding=encoding or "utf-8"), "<stdin>" if source == "-" else source
    if structures and data.y is None:
        raise InputError.at(name, None, "no structures in the file; expected them beside the sequences")
    return data, name


def _usable(structure: Any, data: RnaData, name: str, invalid: str) -> tuple[RnaData, str]:
    """Samples that can be learnt from, and a remark on the others."""
    assert data.y is not None
    try:
        fine = structure.representable(data.X, data.y)
    except InputError as error:
        raise error.placed(name, data.names) from None
    n_bad = fine.count(False)
    if not n_bad:
        return data, ""
    if invalid == "repair":
        return data, f" ({n_bad} structures repaired)"
    if invalid == "drop":
        if n_bad == len(fine):
            raise InputError.at(name, None, "no structure that the grammar can hold; use --invalid repair")
        rows = [i for i, good in enumerate(fine) if good]
        kept = ([column[i] for i in rows] for column in (data.names, data.X, data.y))
        return type(data)(*kept), f" ({n_bad} left out)"
    return data, ""  # strict: the fit says which


def samples(source: str, *, encoding: str | None = None) -> Samples:
    """Sequences with structures, for ``compare``; structures are repaired.

    Parameters
    ----------
    source : str
        File.
    encoding : str or None
        Encoding of the text.
    """
    from trelliswork.cli._comparing import Samples
    from trelliswork.structures import RNA

    data, _ = _read(source, encoding)
    return Samples(data.X, data.y, RNA(invalid="repair"))


def predict(opened: OpenModel, request: Request) -> None:
    """Write the structures of sequences.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        FASTA or any other file of sequences; ``form`` is dot-bracket, bpseq, ct or picture. ``mea`` asks for
        the largest expected accuracy instead of the best score. ``kbest`` above 1 writes as many
        structures per sequence; ``probabilities`` puts the probability of each behind it.
    """
    form = request.form or "dot-bracket"
    if form not in _FORMATS:
        raise InputError(f"--format must be one of {', '.join(_FORMATS)}, got {form!r}")
    listed = request.kbest > 1 or request.probabilities
    if listed and (form != "dot-bracket" or request.mea):
        raise InputError("--kbest and --probabilities go with --format dot-bracket, without --mea")
    if form == "picture" and request.output == "-":
        raise InputError("--format picture needs --output FILE, such as fold.png, fold.svg or fold.pdf")
    _options.check_output(request.output)
    data, file = _read(request.source, request.encoding, structures=False)
    learner = opened.learner
    names, X, notes = data.names, data.X, None
    limits = {}
    if request.known:
        if data.y is None:
            raise InputError.at(
                file, None, "--known: no structures in the file; ? is a base of unknown structure"
            )
        limits["known"] = data.y
    try:
        if listed:
            lists = learner.predict_kbest(X, request.kbest, **limits)
            names = [
                name if len(candidates) == 1 else f"{name}_{k + 1}"
                for name, candidates in zip(names, lists)
                for k in range(len(candidates))
            ]
            X = [x for x, candidates in zip(X, lists) for _ in candidates]
            y = [c.output for candidates in lists for c in candidates]
            if request.probabilities:
                notes = [f"({c.probability:.6g})" for candidates in lists for c in candidates]
        elif request.mea:
            y = with_gamma(learner, gamma=request.gamma).predict_mea(X, **limits)
        else:
            y = learner.predict(X, **limits)
    except InputError as error:
        raise error.placed(file, data.names) from None
    _write(form, request.output, names, X, y, notes, None if request.known else data.y)


def _write(
    form: str, output: str, names: list[str], X: list[str], y: list[str], notes: Any, true: list[str] | None
) -> None:
    from trelliswork import io

    if form == "dot-bracket":
        io.write_dot_bracket(output, names, X, y, notes=notes)
    elif form == "bpseq":
        io.write_bpseq(output, names, X, y)
    elif form == "ct":
        io.write_ct(output, names, X, y)
    else:
        _draw(output, names, X, y, true)


def _draw(output: str, names: list[str], X: list[str], y: list[str], true: list[str] | None) -> None:
    """Arc diagrams, one below the other; with the given structures where the file has them."""
    from trelliswork.plots._canvas import figure
    from trelliswork.plots.rna import arcs

    if len(X) > _MOST_PICTURES:
        raise InputError(f"--format picture draws at most {_MOST_PICTURES} sequences, the file has {len(X)}")
    width = min(max(max(map(len, X)) / 6, 4), 30)
    drawn = figure((width, 3.5 * len(X)))
    references: list[str | None] = [None] * len(X) if true is None else [*true]
    for ax, name, x, structure, reference in zip(
        drawn.subplots(len(X), squeeze=False).ravel(), names, X, y, references, strict=True
    ):
        arcs(x, structure, reference, title=name, ax=ax)
    try:
        drawn.savefig(output)
    except ValueError as error:  # an ending that is no picture format
        raise InputError.at(output, None, f"cannot be drawn: {one_line(error)}") from None


def evaluate(opened: OpenModel, request: Request) -> None:
    """Compare the structures of a file with those that a model predicts.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        Sequences with structures; ``as_json`` prints JSON.
    """
    from trelliswork.metrics import base_pair_scores
    from trelliswork.structures import base_pairs

    data, name = _read(request.source, request.encoding)
    assert data.y is not None
    try:
        predicted = opened.learner.predict(data.X)
    except InputError as error:
        raise error.placed(name, data.names) from None
    scores = base_pair_scores(data.y, predicted)
    exact = [set(base_pairs(a)) == set(base_pairs(b)) for a, b in zip(data.y, predicted)]
    out = {
        "sequences": len(data.X),
        "bases": sum(map(len, data.X)),
        "sensitivity": scores.sensitivity,
        "ppv": scores.ppv,
        "f1": scores.f1,
        "f1_slip_1": base_pair_scores(data.y, predicted, slip=1).f1,
        "exact": sum(exact) / len(exact),
    }
    if request.as_json:
        request.print_json(out)
        return
    print(f"sequences            {out['sequences']:7,}")
    print(f"bases                {out['bases']:7,}")
    print(f"sensitivity          {out['sensitivity']:7.2%}")
    print(f"PPV                  {out['ppv']:7.2%}")
    print(f"F1                   {out['f1']:7.2%}")
    print(f"F1, ends off by one  {out['f1_slip_1']:7.2%}")
    print(f"structures right     {out['exact']:7.2%}")


def _brief(y: Any, predicted: list[str]) -> str:
    from trelliswork.metrics import base_pair_scores

    scores = base_pair_scores(y, predicted)
    return f"sensitivity {scores.sensitivity:.2%}, PPV {scores.ppv:.2%}, F1 {scores.f1:.2%}"
