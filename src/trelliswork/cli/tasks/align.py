"""Align sequences: aligned pairs in, a scoring model out."""

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
    "fixed_model",
    "predict",
    "samples",
    "train",
]

STRUCTURE = "Alignment"
PREDICT_HELP = (
    "Pairs of sequences as FASTA in, alignments out; --format is fasta (the default), clustal (blocks), paf "
    "(second sequence on the first, CIGAR in cg:Z) or cigar (names, starts, CIGAR, score)."
)
EVALUATE_HELP = "Aligned FASTA in; the share of pairs of residues that are recovered."
PREDICT_OPTIONS = ("--format", "--mea")

_FORMATS = ("fasta", "clustal", "paf", "cigar")


@learns("crf", renamed={"Generative": ("logodds", "log-odds of pairs of symbols")})
def train(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PAIRS", help="Aligned FASTA, two sequences per alignment, plain or gzip; - reads stdin."
        ),
    ],
    output: _options.Output,
    dev: Annotated[
        str | None,
        typer.Option(
            help="Development pairs: scored at the end; the crf also stops by them.", show_default=False
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="What is scored: linear, affine, substitution, substitution-affine, ordered, ordered-affine."
        ),
    ] = "substitution-affine",
    mode: Annotated[str, typer.Option(help="global, semiglobal (free ends) or local.")] = "global",
    free: Annotated[
        str, typer.Option(help="Semiglobal: sequence whose ends are free: first, second, both.")
    ] = "both",
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Never a deletion right after an insertion.")
    ] = False,
    alphabet: Annotated[
        str | None,
        typer.Option(help="protein, dna, rna or the letters.", show_default="those of PAIRS"),
    ] = None,
    unknown: Annotated[str, typer.Option(help="Other letters: error, or zero (score nothing).")] = "error",
    core: Annotated[
        bool, typer.Option("--core", help="Only columns of two capitals count in losses and scores.")
    ] = False,
    *,
    learning: Learning,
    encoding: _options.Encoding = None,
    quiet: _options.Quiet = False,
) -> None:
    """Learn to align sequences from aligned pairs.

    PAIRS is a FASTA file: the first and second sequence are one alignment, the third and fourth the next.
    Ctrl-C ends the training early: the best scores so far are saved, and the exit code is 130.
    """
    _options.check_output(output, model=True)
    learning.check_dev(dev, source)

    from trelliswork.io import read_fasta_pairs
    from trelliswork.structures import Alignment

    structure = Alignment(
        model,
        mode=mode,
        free=free,
        canonical=canonical,
        alphabet=alphabet,
        unknown=unknown,
        core="upper" if core else "all",
    )
    estimator = learning.build(structure, quiet)
    data = read_fasta_pairs(source, encoding or "utf-8").aligned()
    held_out = None if dev is None else read_fasta_pairs(dev, encoding or "utf-8").aligned()
    more = {} if held_out is None else learning.held_out(held_out.X, held_out.y)
    done = watched(
        lambda: estimator.fit(data.X, data.y, **more),
        estimator,
        lambda e: e.placed(data.name, data.lines),
        quiet,
    )
    said = [
        f"{learning.name}: {len(data.X):,} pairs, {sum(len(a) + len(b) for a, b in data.X):,} residues",
        f"{estimator.coef_.size:,} scores in {done.seconds:.1f} s",
    ]
    if held_out is not None:
        share = estimator.space_.accuracy(held_out.X, held_out.y, estimator.predict(held_out.X))
        said.append(f"dev {share:.2%} of the true pairs of residues")
    info = {"kind": "align", "learner": learning.name}
    finish(estimator, output, info, learning.said(said), interrupted=done.interrupted, quiet=quiet)


def samples(source: str, *, encoding: str | None = None) -> Samples:
    """Aligned pairs, for ``compare``.

    Parameters
    ----------
    source : str
        File.
    encoding : str or None
        Encoding of the text.
    """
    from trelliswork.cli._comparing import Samples
    from trelliswork.io import read_fasta_pairs
    from trelliswork.structures import Alignment

    data = read_fasta_pairs(source, encoding or "utf-8").aligned()
    return Samples(data.X, data.y, Alignment())


def fixed_model(
    matrix: str, gap_open: float, gap_extend: float | None, mode: str, free: str, unknown: str
) -> OpenModel:
    """A model with the scores of a substitution matrix, without training.

    Parameters
    ----------
    matrix : str
        Name of a published matrix, or a file.
    gap_open, gap_extend : float
        Costs of the first and of each other symbol of a gap, not negative; without the second all cost the
        same.
    mode, free, unknown : str
        As in :class:`~trelliswork.Alignment`.
    """
    from trelliswork import Alignment, Fixed, alignment_weights
    from trelliswork.cli._models import OpenModel

    for name, cost in (("--gap-open", gap_open), ("--gap-extend", gap_extend)):
        if cost is not None and not 0 <= cost < math.inf:
            raise InputError(f"{name} is what a gap costs, a finite number >= 0; got {cost:g}")
    weights = alignment_weights(
        matrix, gap_open=-gap_open, gap_extend=None if gap_extend is None else -gap_extend
    )
    kind = "substitution" if gap_extend is None else "substitution-affine"
    model = Fixed(Alignment(kind, mode=mode, free=free, unknown=unknown), weights).fit()
    return OpenModel(matrix, model, {}, "align")


def predict(opened: OpenModel, request: Request) -> None:
    """Write the alignments of pairs of sequences.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        A FASTA file with pairs of sequences; gaps in it are passed over. ``form`` "fasta" writes aligned
        FASTA (with ``kbest`` or ``probabilities``, rank and probability stand in the headers), "clustal"
        blocks, "paf" lines of the pairwise mapping format, "cigar" a line per alignment: the two names,
        where they start (from 0), the CIGAR string and the score, and with ``probabilities`` the
        probability. ``mea`` takes the alignment with the most right pairs expected.
    """
    from trelliswork._text import write_text
    from trelliswork.io import read_fasta_pairs
    from trelliswork.learners.verbs import Candidate

    if request.form not in (None, *_FORMATS):
        raise InputError(f"--format: expected one of {', '.join(_FORMATS)}; got {request.form!r}")
    if request.mea and (request.kbest > 1 or request.probabilities):
        raise InputError("--mea gives one alignment; it does not go with --kbest and --probabilities")
    _options.check_output(request.output)
    data = read_fasta_pairs(request.source, request.encoding or "utf-8")
    learner = opened.learner
    try:
        batch = learner.pack(data.X)
        scores = learner.part_scores(batch, data.X)
        if request.kbest > 1 or request.probabilities:
            log_z = batch.log_partition(scores)
            lists = [
                [
                    Candidate(batch.space.path_of(row), float(v), min(1.0, math.exp(v - log_z[i])))
                    for row, v in zip(best.codes, best.values, strict=True)
                ]
                for i, best in enumerate(batch.kbest(scores, request.kbest))
            ]
        else:
            codes = (batch.mea(scores) if request.mea else batch.argmax(scores)).codes
            lists = [
                [Candidate(batch.space.path_of(row), float(v), math.nan)]
                for row, v in zip(codes, batch.evaluate(codes, scores), strict=True)
            ]
    except InputError as error:
        raise error.placed(data.name, data.lines) from None
    lines = []
    for x, names, candidates in zip(data.X, data.names, lists, strict=True):
        for rank, candidate in enumerate(candidates, 1):
            lines += _shown(x, names, candidate, rank, request, learner.structure.gap)
    write_text(request.output, "\n".join(lines) + "\n", request.encoding or "utf-8")


def _shown(
    x: tuple[str, str], names: tuple[str, str], candidate: Any, rank: int, request: Request, gap: str
) -> list[str]:
    from trelliswork.io import clustal, paf

    path = candidate.output
    if request.form == "cigar":
        cells = [*names, *map(str, path.start), path.to_cigar() or "*", f"{candidate.score:.6g}"]
        return ["\t".join(cells + ([f"{candidate.probability:.6g}"] if request.probabilities else []))]
    if request.form == "paf":
        return [paf(names, x, path, candidate.score)]
    note = f" rank={rank}" if request.kbest > 1 else ""
    note += f" probability={candidate.probability:.6g}" if request.probabilities else ""
    rows = path.gapped(x[0], x[1], gap)
    if request.form == "clustal":
        return clustal(names, rows).removesuffix("\n").split("\n")
    return [line for name, row in zip(names, rows, strict=True) for line in (f">{name}{note}", row)]


def evaluate(opened: OpenModel, request: Request) -> None:
    """Compare the alignments of a file with those that a model predicts.

    Parameters
    ----------
    opened : OpenModel
        The model.
    request : Request
        Aligned FASTA; ``as_json`` prints JSON.
    """
    from trelliswork.io import read_fasta_pairs
    from trelliswork.structures.alignment.columns import accuracy, reference_pairs

    data = read_fasta_pairs(request.source, request.encoding or "utf-8").aligned()
    learner = opened.learner
    structure = learner.structure
    try:
        predicted = learner.predict(data.X)
    except InputError as error:
        raise error.placed(data.name, data.lines) from None
    shares = [accuracy(a, b, structure.gap, structure.core) for a, b in zip(data.y, predicted, strict=True)]
    true = [reference_pairs(y, structure.gap, structure.core) for y in data.y]
    right = sum(len(t & reference_pairs(y, structure.gap)) for t, y in zip(true, predicted, strict=True))
    total = sum(map(len, true))
    scores = {
        "pairs": len(data.X),
        "residue_pairs": total,
        "recovered": right / total if total else 1.0,
        "recovered_mean": sum(shares) / len(shares),
        "exact": sum(share == 1.0 for share in shares) / len(shares),
    }
    if request.as_json:
        request.print_json(scores)
        return
    print(f"pairs of sequences                  {scores['pairs']:9,}")
    print(f"true pairs of residues              {total:9,}")
    print(f"recovered                           {scores['recovered']:9.2%}")
    print(f"recovered, mean over pairs          {scores['recovered_mean']:9.2%}")
    print(f"alignments with all pairs recovered {scores['exact']:9.2%}")
