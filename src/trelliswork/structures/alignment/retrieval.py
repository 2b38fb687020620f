"""Which of some candidates is the relative of a sequence: selection by alignment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork.structures.alignment.retrieval_batch import RetrievalBatch
from trelliswork.structures.alignment.space import AlignmentSpace
from trelliswork.structures.alignment.structure import Alignment, AlignmentSurvey
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.limits import AlignmentLimits
from trelliswork.structures.survey import Survey

__all__ = ["Retrieval", "RetrievalSpace"]


class Retrieval(Structure):
    """The candidate that aligns best with a sequence, and its alignment.

    An input is a sequence with a list of candidates, an output the number of a candidate together with
    an alignment of the two. The score is that of the alignment, so that learning finds alignment scores
    with which relatives ("homologues") beat sequences that only look like it ("decoys").

    Parameters
    ----------
    alignment : Alignment or None, default=None
        How sequences are aligned and what is scored; None is ``Alignment("ordered", mode="local")``.

    See Also
    --------
    Alignment : What candidates are compared by.

    Notes
    -----
    The loss of learners is 1 for every candidate but the right one, whatever the alignment. With
    ``StructuredSVM(Retrieval(), loss="hamming", rescale="slack")`` the true alignment with the relative
    has to beat all alignments with other candidates by 1, up to a slack, and nothing is asked of other
    alignments with the relative. ``score`` is the share of right candidates.

    References
    ----------
    .. [1] Tsochantaridis, Hofmann, Joachims, Altun (2004), ICML.

    Examples
    --------
    >>> from trelliswork import Alignment, Perceptron, Retrieval
    >>> X = [("GATT", ["GCTT", "CCCC"]), ("ACCA", ["TGTG", "ACGA"])]
    >>> y = [(0, ("GATT", "GCTT")), (1, ("ACCA", "ACGA"))]
    >>> model = Perceptron(Retrieval(Alignment("linear"))).fit(X, y)
    >>> model.predict([("TTGA", ["CAAC", "TTGG"])])
    [(1, ('TTGA', 'TTGG'))]
    """

    space_class: ClassVar[type[Space]]  # set below, where the class is known
    batch_class: ClassVar[type[Batch]] = RetrievalBatch
    output_kind: ClassVar[str] = "candidate"
    limits: AlignmentLimits = AlignmentLimits()

    def __init__(self, alignment: Alignment | None = None):
        self.alignment = alignment

    @property
    def inner(self) -> Alignment:
        """Structure of the alignments."""
        if self.alignment is None:
            return Alignment("ordered", mode="local")
        if not isinstance(self.alignment, Alignment):
            raise InputError(f"alignment must be an Alignment, got {type(self.alignment).__name__}")
        return self.alignment

    def with_limits(self, **limits: int) -> Self:
        """The same structure whose alignments have other limits.

        Parameters
        ----------
        **limits
            Fields of :class:`~trelliswork.structures.limits.AlignmentLimits`.
        """
        other = super().with_limits(**limits)
        other.alignment = self.inner.with_limits(**limits)
        return other

    def check(self) -> None:
        """Refuse what is no alignment, and one whose hyper-parameters make no sense."""
        self.inner.check()

    def prepare(self, X: Any) -> list[Any]:
        """Check that the inputs are sequences with candidates."""
        if isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__len__"):
            raise InputError(f"X must be a list of sequences with candidates, got {type(X).__name__}")
        for i, x in enumerate(X):
            if isinstance(x, (str, bytes)) or not hasattr(x, "__len__") or len(x) != 2:
                raise InputError(f"expected a sequence and a list of candidates, got {x!r:.80}", sample=i)
            if isinstance(x[1], (str, bytes)) or not hasattr(x[1], "__len__") or not len(x[1]):
                raise InputError(f"expected at least one candidate in a list, got {x[1]!r:.80}", sample=i)
        return list(X)

    def symbols(self, X: Any) -> list[Any]:
        """The sequences whose relatives are looked for."""
        fold = self.inner.folds_case
        rows = [list(x) for x, _ in self.prepare(X)]
        return [[s.upper() if fold and isinstance(s, str) else s for s in row] for row in rows]

    def bind(self, X: Any, y: Any = None) -> RetrievalSpace:
        """Collect the alphabet."""
        self.check()
        return RetrievalSpace(self, self.inner.bind(_pairs(self.prepare(X))))

    def survey(self, X: Any, y: Any = None) -> RetrievalSurvey:
        """Symbols that occur."""
        self.check()
        return RetrievalSurvey(self, self.inner.survey(_pairs(self.prepare(X))))

    def bind_names(self, names: Sequence[Any]) -> RetrievalSpace:
        """Alphabet from the names of given weights."""
        self.check()
        return RetrievalSpace(self, self.inner.bind_names(names))

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """Two sequences with two candidates each."""
        X = [("ab", ["b", "a"]), ("b", ["a", "b"])]
        yield cls(Alignment()), X, [(0, ("ab", "-b")), (1, ("b", "b"))]

    def accuracy(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Share of right candidates."""
        right = [float(a[0] == b[0]) for a, b in zip(y_true, y_pred, strict=True)]
        return float(np.average(right, weights=sample_weight))


class RetrievalSpace(Space):
    """Alphabet of a :class:`Retrieval` after seeing data.

    Parameters
    ----------
    structure : Retrieval
        Hyper-parameters.
    inner : AlignmentSpace
        Space of the alignments.
    """

    structure: Retrieval

    def __init__(self, structure: Retrieval, inner: AlignmentSpace):
        self.structure = structure
        self.inner = inner

    @property
    def n_features(self) -> int:
        """Length of the weight vector."""
        return self.inner.n_features

    @property
    def feature_names(self) -> list[tuple[Any, ...]]:
        """Names of the alignment scores."""
        return self.inner.feature_names

    @property
    def outputs_fixed(self) -> bool:
        """True, as for alignments."""
        return True

    def pack(  # type: ignore[override]
        self, X: Any, y: Any = None, *, n_jobs: int | None = None, unknown: str = "error"
    ) -> RetrievalBatch:
        """Compile sequences with candidates and, where given, the right candidates and their alignments.

        Parameters
        ----------
        X : list of (sequence, candidates)
            Inputs.
        y : list of (int, alignment) or None
            Number of the right candidate, and how it is aligned.
        n_jobs : int or None
            Threads.
        unknown : {"error", "mark"}
            Of no effect: every alignment is an output.
        """
        X = self.structure.prepare(X)
        numbers = [len(x[1]) for x in X]
        batch = self.inner.pack(_pairs(X), n_jobs=n_jobs)
        gold = None
        if y is not None:
            if len(y) != len(X):
                raise InputError(f"X has {len(X)} samples but y has {len(y)}")
            rows = [self._checked(i, x, output) for i, (x, output) in enumerate(zip(X, y, strict=True))]
            gold = Ragged.from_list(rows, np.int64)
        return RetrievalBatch(self, batch, offsets_of(numbers), X, gold, n_jobs)

    def _checked(self, i: int, x: Any, output: Any) -> np.ndarray:
        """Codes of a true output: the candidate, then the columns."""
        if isinstance(output, (str, bytes)) or not hasattr(output, "__len__") or len(output) != 2:
            raise InputError(f"expected (number of a candidate, alignment), got {output!r:.80}", sample=i)
        number = output[0]
        if not isinstance(number, (int, np.integer)) or not 0 <= number < len(x[1]):
            raise InputError(f"candidate {number!r} is not one of 0 .. {len(x[1]) - 1}", sample=i)
        try:
            columns = self.inner.pack([(x[0], x[1][number])], [output[1]]).gold_codes.values
        except InputError as error:
            raise InputError(error.message, sample=i) from None
        return np.concatenate([[int(number)], columns])

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Every alignment with every candidate."""
        for number, candidate in enumerate(x[1]):
            for output in self.inner.enumerate((x[0], candidate)):
                yield number, output

    def merged(self, other: Space) -> RetrievalSpace:
        """Space with the symbols of both."""
        assert isinstance(other, RetrievalSpace)
        return RetrievalSpace(self.structure, self.inner.merged(other.inner))

    def restore(self, state: Mapping[str, Any], *, n_jobs: int | None = None) -> RetrievalBatch:
        """Batch from its state."""
        from trelliswork.structures.alignment.path import AlignPath

        X = [(x, list(candidates)) for x, candidates in state["inputs"]]
        y = [(number, AlignPath.from_cigar(text, (i, j))) for number, text, i, j in state["outputs"]]
        return self.pack(X, y, n_jobs=n_jobs)

    def tables(self, weights: np.ndarray, top: int = 10) -> dict[str, Any]:
        """Scores for reading, as for alignments."""
        return self.inner.tables(weights, top)

    def state(self) -> dict[str, Any]:
        """The alphabet."""
        return self.inner.state()

    @classmethod
    def from_state(cls, structure: Structure, state: Mapping[str, Any]) -> RetrievalSpace:
        """Build the space again."""
        assert isinstance(structure, Retrieval)
        return cls(structure, AlignmentSpace.from_state(structure.inner, state))


@dataclass
class RetrievalSurvey(Survey):
    """Symbols of some sequences and their candidates.

    Attributes
    ----------
    structure : Retrieval
        Hyper-parameters.
    inner : AlignmentSurvey
        Survey of all pairs of a sequence and a candidate.
    """

    structure: Retrieval
    inner: AlignmentSurvey

    def joined(self, other: RetrievalSurvey) -> RetrievalSurvey:
        """Symbols of both."""
        return RetrievalSurvey(self.structure, self.inner.joined(other.inner))

    def space(self) -> RetrievalSpace:
        """The alphabet."""
        return RetrievalSpace(self.structure, self.inner.space())


def _pairs(X: list[Any]) -> list[tuple[Any, Any]]:
    return [(x, candidate) for x, candidates in X for candidate in candidates]


Retrieval.space_class = RetrievalSpace
