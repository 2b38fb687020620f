"""Pairwise alignments of two sequences, with scores that are learnt."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trelliswork._errors import InputError
from trelliswork._text import is_biopython, plain_sequence
from trelliswork.structures.alignment.batch import AlignmentBatch
from trelliswork.structures.alignment.columns import RESIDUES, accuracy
from trelliswork.structures.alignment.space import AlignmentSpace
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.contexts import check_context
from trelliswork.structures.labels import sorted_labels
from trelliswork.structures.limits import AlignmentLimits
from trelliswork.structures.survey import Survey

__all__ = ["Alignment"]

ALPHABETS = {"protein": "ACDEFGHIKLMNPQRSTVWY", "dna": "ACGT", "rna": "ACGU"}
_MODELS = ("linear", "affine", "substitution", "substitution-affine", "ordered", "ordered-affine")
_MODES = ("global", "local", "semiglobal")
_CHOICES = {
    "model": _MODELS,
    "mode": _MODES,
    "free": ("both", "first", "second"),
    "unknown": ("error", "zero"),
    "core": ("all", "upper"),
    "output": ("strings", "path"),
    "precision": ("auto", "double", "single", "short"),
}


class CheckedPairs(list[Any]):
    """Pairs of sequences that were checked: none has the gap symbol."""

    def __init__(self, pairs: Iterable[Any], gap: str):
        super().__init__(pairs)
        self.gap = gap

    def __reduce__(self) -> tuple[Any, ...]:
        return CheckedPairs, (list(self), self.gap)


class Alignment(Structure):
    """Alignments of two sequences: which residues belong together, and where the gaps are.

    An input is a pair of sequences, an output the pair with gaps. The score of an alignment is the
    sum of the weights of its columns.

    Parameters
    ----------
    model : str, default="substitution-affine"
        What is scored. "linear": match, mismatch, gap (3 weights). "affine": match, mismatch, open,
        extend (4); the first symbol of a run of gaps opens it, the others extend it. "substitution":
        a weight for every unordered pair of symbols, and gap (211 for 20 letters).
        "substitution-affine": the same with open and extend (212). "ordered": a weight for every
        ordered pair, and gap (401); "ordered-affine" (402).
    mode : {"global", "semiglobal", "local"}, default="global"
        Where an alignment begins and ends, see Notes.
    free : {"both", "first", "second"}, default="both"
        For "semiglobal": the sequences whose overhanging residues cost nothing.
    canonical : bool, default=False
        Never a deletion right after an insertion, so that alignments that pair the same residues with
        gaps in another order count once.
    alphabet : str, sequence or None, default=None
        The symbols: "protein" (20 letters), "dna", "rna", or any symbols; None takes those of the
        training data. Lower case is read as upper case in a named alphabet, and without one where
        upper-case letters occur and all letters are those of proteins or nucleotides (no J and no O);
        otherwise ``a`` and ``A`` are different symbols.
    unknown : {"error", "zero"}, default="error"
        What a symbol outside the alphabet does where symbols have weights: it is refused, or its matches
        score 0. ("linear" and "affine" only ask whether two symbols are equal.)
    core : {"all", "upper"}, default="all"
        Which pairs of a true alignment count in losses and in ``score``: all, or only those of two
        upper-case letters, as in reference alignments that mark what is reliable. :class:`CRF` then learns
        from these pairs alone and sums over all alignments that have them; other learners read the
        reference as it stands.
    gap : str, default="-"
        Gap symbol of true and predicted alignments.
    output : {"strings", "path"}, default="strings"
        Predict pairs of gapped strings (lists, where inputs are lists), or :class:`AlignPath`.
    precision : {"auto", "double", "single", "short"}, default="auto"
        Arithmetic of the search for the best global alignment. "double" is exact. "single" (32-bit
        floats) rounds sums, "short" (16-bit integers, twice as fast) rounds weights; Notes say what that may
        cost. "auto": "short" where the rounding is exact (whole numbers such as BLOSUM's), else "single"
        where little can be lost; "double" otherwise, and below 4,096 cells. Training with part costs, other
        modes, very long pairs, and scores that 32-bit floats cannot hold use "double". Returned scores are
        always those of the alignment found, in double precision.
    context : int, default=1
        Residues that kernels see on either side of two that are matched (``StructuredSVM(kernel=...)``,
        ``Perceptron(kernel=...)``; nothing else uses it). More tell more contexts apart, and take longer.

    See Also
    --------
    Retrieval : The relative among candidates.
    AlignPath : An alignment without its sequences.
    alignment_weights : Published matrices.

    Notes
    -----
    Ends. *global*: every residue of both sequences is aligned or opposite to a scored gap.
    *semiglobal*: deletions before the first and after the last residue of the second sequence score
    nothing and fire no feature (``free`` "first" or "both"), and insertions before the first and after the
    last residue of the first sequence (``free`` "second" or "both"). *local*: the alignment starts and ends
    with a match, anywhere, and what is outside costs nothing; one more output, with score 0, aligns
    nothing. As strings, a local alignment shows all residues; it reaches from the first to the last match.

    The measure of probabilities and moments is over paths: with ``canonical=False`` "gap in the first,
    then in the second" and the reverse are two outputs. Ties go to a match, then to a deletion (a gap in
    the second sequence), seen from the last column.

    Precision. The search for a global alignment of lengths ``n1`` and ``n2`` adds ``s = pair - 2 extend`` for
    every match and ``g = open - extend`` for every run of gaps, so that a large ``extend`` makes all sums
    large. They stay below ``S = min(n1, n2) max(s, 0) + (n1 + n2) max(g, 0) + 5 |g|``, with the largest of
    the ``s``. At the worst, the score found is below the best by ``1.2e-7 (n1 + n2) S`` with "single", and
    by ``n1 + n2`` steps of ``(S + 2 max|s|) / (65000 - (n1 + n2) / 2)`` with "short". "short" is exact where
    all weights are multiples of 1, 1/2, 1/4, 1/8, 1/16, 1/5, 1/10, 1/20, 1/50 or 1/100 and this number is no
    smaller than the step. "auto" takes "single" only where its bound is at most 0.3 % of
    ``min(n1, n2)`` times the distance from the median weight of pairs to the largest.

    References
    ----------
    .. [1] Needleman, Wunsch (1970), Journal of Molecular Biology 48; Smith, Waterman (1981), the same 147.
    .. [2] Gotoh (1982), Journal of Molecular Biology 162 (affine gaps).

    Examples
    --------
    >>> from trelliswork import SODA, Alignment
    >>> X = [("GATTACA", "GATACA"), ("TTAC", "TAC"), ("CATCAT", "CATAT")]
    >>> y = [("GATTACA", "GAT-ACA"), ("TTAC", "-TAC"), ("CATCAT", "CAT-AT")]
    >>> model = SODA(Alignment("affine")).fit(X, y)
    >>> model.predict([("TACGAT", "TAGAT")])
    [('TACGAT', 'TA-GAT')]
    """

    space_class: ClassVar[type[Space]] = AlignmentSpace
    batch_class: ClassVar[type[Batch]] = AlignmentBatch
    output_kind: ClassVar[str] = "alignment"
    on_a_part: ClassVar[Mapping[str, Any]] = {"unknown": "zero"}
    # Of all alignments of two sequences nearly all are absurd: being better than these is easy.
    moment_reference: str = "generative"
    perceptron_start: ClassVar[str | None] = "generative"
    limits: AlignmentLimits = AlignmentLimits()

    def __init__(
        self,
        model: str = "substitution-affine",
        *,
        mode: str = "global",
        free: str = "both",
        canonical: bool = False,
        alphabet: str | Sequence[Hashable] | None = None,
        unknown: str = "error",
        core: str = "all",
        gap: str = "-",
        output: str = "strings",
        precision: str = "auto",
        context: int = 1,
    ):
        self.model = model
        self.mode = mode
        self.free = free
        self.canonical = canonical
        self.alphabet = alphabet
        self.unknown = unknown
        self.core = core
        self.gap = gap
        self.output = output
        self.precision = precision
        self.context = context

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense."""
        check_context(self.context)
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                listed = ", ".join(map(repr, choices))
                raise InputError(f"{name} must be one of {listed}; got {getattr(self, name)!r}")
        if not isinstance(self.canonical, (bool, np.bool_)):
            raise InputError(f"canonical must be True or False, got {self.canonical!r}")
        if not isinstance(self.gap, str) or not self.gap:
            raise InputError(f"gap must be a symbol such as '-', got {self.gap!r}")
        if self.alphabet is None:
            return
        if not isinstance(self.alphabet, Iterable) or not len(list(self.alphabet)):
            raise InputError(f"alphabet must be a name, symbols or None, got {self.alphabet!r}")
        if not all(isinstance(symbol, Hashable) for symbol in self.alphabet):
            raise InputError(f"symbols of the alphabet must be hashable, got {self.alphabet!r}")
        if self.gap in list(self.alphabet):
            raise InputError(
                f"the alphabet has the gap symbol {self.gap!r}; leave it out or choose another gap"
            )

    @property
    def folds_case(self) -> bool:
        """Whether lower case is read as upper case."""
        return isinstance(self.alphabet, str) and self.alphabet in ALPHABETS

    def prepare(self, X: Any) -> CheckedPairs:
        """Check that the inputs are pairs of sequences, once."""
        if isinstance(X, CheckedPairs) and X.gap == self.gap:
            return X
        if isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__len__"):
            raise InputError(f"X must be a list of pairs of sequences, got {type(X).__name__}")
        X = [_plain_pair(x) for x in X]
        for i, x in enumerate(X):
            if isinstance(x, (str, bytes)) or not hasattr(x, "__len__") or len(x) != 2:
                raise InputError(f"expected a pair of sequences, got {x!r:.80}", sample=i)
            for name, sequence in zip(("first", "second"), x, strict=True):
                if isinstance(sequence, bytes) or not isinstance(sequence, (str, Sequence, np.ndarray)):
                    raise InputError(
                        f"the {name} sequence is {sequence!r:.80}; expected text or a list",
                        sample=i,
                    )
                if isinstance(sequence, str) and len(self.gap) > 1:
                    raise InputError(f"gap must be one character where sequences are text, got {self.gap!r}")
                if isinstance(sequence, str):
                    gap = sequence.find(self.gap)
                else:
                    gaps = (t for t, s in enumerate(sequence) if isinstance(s, str) and s == self.gap)
                    gap = next(gaps, -1)
                if gap >= 0:
                    raise InputError(
                        f"the {name} sequence has the gap symbol {self.gap!r} at position "
                        f"{gap}; inputs have no gaps",
                        sample=i,
                    )
        return CheckedPairs(X, self.gap)

    def symbols(self, X: Any) -> list[Any]:
        """Both sequences of a pair, with a mark between them that is no symbol."""
        fold = self.folds_case
        rows = []
        for first, second in self.prepare(X):
            pair = [*first, "\n", *second]
            rows.append([s.upper() if fold and isinstance(s, str) else s for s in pair])
        return rows

    def bind(self, X: Any, y: Any = None) -> AlignmentSpace:
        """Collect the alphabet, unless it is given."""
        return self.survey(X, y).space()

    def survey(self, X: Any, y: Any = None) -> AlignmentSurvey:
        """Symbols that occur."""
        self.check()
        X = self.prepare(X)
        seen: set[Any] = set()
        for i, x in enumerate(X if self.alphabet is None else ()):
            try:
                seen.update(*x)
            except TypeError as error:
                raise InputError(f"symbols must be hashable ({error})", sample=i) from None
        return AlignmentSurvey(self, seen)

    def bind_names(self, names: Sequence[Any]) -> AlignmentSpace:
        """Alphabet from the names of given weights."""
        self.check()
        if self.alphabet is not None:
            return self.bind([], [])
        symbols: dict[Any, None] = {}
        for name in names:
            if isinstance(name, tuple) and len(name) == 3 and name[0] == "pair":
                symbols.update({name[1]: None, name[2]: None})
        return AlignmentSpace(self, sorted_labels(symbols))

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """A long and a short pair, global and local."""
        X = [("AB" * 40, "B" * 80), ("A", "AB")]
        y = [("AB" * 40, "B" * 80), ("A-", "AB")]
        for mode in ("global", "local"):
            yield cls(mode=mode), X, y

    def accuracy(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Mean share of the pairs of the true alignments that are predicted."""
        shares = [accuracy(a, b, self.gap, self.core) for a, b in zip(y_true, y_pred, strict=True)]
        return float(np.average(shares, weights=sample_weight))


@dataclass
class AlignmentSurvey(Survey):
    """Symbols of some sequences.

    Attributes
    ----------
    structure : Alignment
        Hyper-parameters.
    seen : set
        Symbols that occur, where the alphabet is not given.
    """

    structure: Alignment
    seen: set[Any]

    def joined(self, other: AlignmentSurvey) -> AlignmentSurvey:
        """Symbols of both."""
        return AlignmentSurvey(self.structure, self.seen | other.seen)

    def space(self) -> AlignmentSpace:
        """The alphabet, in its order."""
        given = self.structure.alphabet
        if given is None:
            return AlignmentSpace(self.structure, sorted_labels(_folded(self.seen)))
        if self.structure.folds_case:
            given = ALPHABETS[given]  # type: ignore[index]
        return AlignmentSpace(self.structure, list(dict.fromkeys(given)))


def _folded(symbols: set[Any]) -> set[Any]:
    """Symbols of data in upper case, where they are residues of which some are in upper case."""
    if not all(isinstance(s, str) and s.upper() in RESIDUES for s in symbols):
        return symbols
    return {s.upper() for s in symbols} if any(s.isupper() for s in symbols) else symbols


def _plain_pair(pair: Any) -> Any:
    """A pair with the sequences of Biopython (``Seq``, ``SeqRecord``) as text."""
    if isinstance(pair, (tuple, list)) and any(is_biopython(s) for s in pair):
        return tuple(plain_sequence(s) for s in pair)
    return pair
