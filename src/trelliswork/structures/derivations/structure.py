"""Bring your own structure: one function from an input to the edges of a derivation graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from trelliswork._errors import InputError
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.derivations.batch import DerivationBatch
from trelliswork.structures.derivations.edges import Edge, Sample, compiled
from trelliswork.structures.derivations.space import DerivationSpace
from trelliswork.structures.survey import Survey

__all__ = ["Derivations"]


class Derivations(Structure):
    """Outputs are the derivations of an acyclic graph that ``build`` makes of an input.

    A derivation picks one edge for the root, one for each tail of that edge, and so on
    down to edges without tails. Its score is the sum of the weights of the features of
    its edges; its output is the list of the parts of its edges, top-down and left to
    right. Label sequences, segmentations, alignments, trees and much else fit.

    Parameters
    ----------
    build : callable
        ``build(x)`` gives the edges of input ``x`` (:class:`Edge`, or tuples in that
        order), in any order, except that the head of the **last** edge is the root. Nodes
        are any hashable names. Edges that the root does not reach are ignored; a tail
        that no edge derives is a dead end, which is allowed; a cycle is not.
    encode : callable or None, default=None
        ``encode(x, y)`` gives the list of parts of an output; by default ``y`` is it.
    decode : callable or None, default=None
        ``decode(x, parts)`` gives the output of a list of parts; by default the list.
    min_count : int, default=1
        Drop features that fire on fewer edges of the training data. The larger, the smaller the model.
    shared : bool, default=False
        Whether several derivations may have the same output, so that how it comes about is hidden. An output
        is then as probable as all its derivations together: :class:`CRF` learns from their sum,
        :class:`Perceptron` and :class:`StructuredSVM` from the best of them, and predictions add up the
        derivations of an output among the best ones. Slower.

    See Also
    --------
    Edge : One step.
    testing.check_structure : Compares every answer with enumeration.

    Notes
    -----
    Weights exist for every feature of the training graphs, not of the true outputs alone;
    names that were not seen in training are ignored. Without ``shared`` every derivation
    should have an output of its own: where two share one, probabilities are those of
    derivations and the output may be listed twice. Ties go to the edge that ``build`` yields first. The loss
    that learners use counts the predicted parts that the true output lacks.

    ``build`` is not stored in model files; loading takes the structure again. A function
    defined at the top of a module (not a lambda) lets models be pickled.

    References
    ----------
    .. [1] Huang, Chiang (2005), IWPT (hypergraphs and k-best lists).

    Examples
    --------
    Labels for the tokens of a sentence, where no label may follow itself:

    >>> from trelliswork.structures import Derivations, Edge
    >>> def build(x):
    ...     for t in reversed(range(len(x))):
    ...         for a in "AB":
    ...             tails = [] if t == len(x) - 1 else [(t + 1, "B" if a == "A" else "A")]
    ...             yield Edge((t, a), tails, [(x[t], a)], a)
    ...     for a in "AB":
    ...         yield Edge("root", [(0, a)])
    >>> space = Derivations(build).bind(["xyx"], [["A", "B", "A"]])
    >>> space.feature_names[:2]
    [('feature', ('x', 'A')), ('feature', ('y', 'B'))]
    >>> list(space.enumerate("xyx"))
    [['A', 'B', 'A'], ['B', 'A', 'B']]
    """

    space_class: ClassVar[type[Space]] = DerivationSpace
    batch_class: ClassVar[type[Batch]] = DerivationBatch
    output_kind: ClassVar[str] = "list of parts"

    def __init__(
        self,
        build: Callable[[Any], Iterable[Edge | tuple[Any, ...]]],
        *,
        encode: Callable[[Any, Any], Iterable[Hashable]] | None = None,
        decode: Callable[[Any, list[Any]], Any] | None = None,
        min_count: int = 1,
        shared: bool = False,
    ):
        self.build = build
        self.encode = encode
        self.decode = decode
        self.min_count = min_count
        self.shared = shared

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense."""
        if not callable(self.build):
            raise InputError(f"build must be a function from an input to edges, got {self.build!r}")
        for name in ("encode", "decode"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise InputError(f"{name} must be a function or None, got {value!r}")
        if not isinstance(self.min_count, (int, np.integer)) or self.min_count < 0:
            raise InputError(f"min_count must be a whole number of at least 0, got {self.min_count!r}")

    def prepare(self, X: Any) -> list[Sample]:
        """Build the graphs once (idempotent)."""
        if isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__len__"):
            raise InputError(f"X must be a list of inputs, got {type(X).__name__}")
        alphabet: dict[Hashable, int] = {}
        return [
            x if isinstance(x, Sample) else compiled(i, x, self._edges(i, x), alphabet)
            for i, x in enumerate(X)
        ]

    def _edges(self, i: int, x: Any) -> list[Any]:
        try:
            edges = self.build(x)
            if isinstance(edges, Iterable):
                return list(edges)
        except Exception as error:
            error.add_note(f"raised by build(x) for sample {i}")
            raise
        raise InputError(f"build(x) must give a list of edges, got {type(edges).__name__}", sample=i)

    def bind(self, X: Any, y: Any = None) -> DerivationSpace:
        """Collect the features of the graphs of the inputs."""
        return self.survey(X, y).space()

    def survey(self, X: Any, y: Any = None) -> DerivationSurvey:
        """How often every feature fires."""
        self.check()
        counts: dict[Hashable, int] = {}
        names: dict[int, list[Hashable]] = {}
        for sample in self.prepare(X):
            alphabet = names.setdefault(id(sample.alphabet), [])
            if not alphabet:
                alphabet.extend(sample.alphabet)
            used, n = np.unique(sample.feat_idx, return_counts=True)
            for j, m in zip(used.tolist(), n.tolist(), strict=True):
                counts[alphabet[j]] = counts.get(alphabet[j], 0) + m
        return DerivationSurvey(self, counts)

    def bind_names(self, names: Sequence[Any]) -> DerivationSpace:
        """Features from the names of given weights, each ``("feature", name)``."""
        self.check()
        for name in names:
            if not (isinstance(name, tuple) and len(name) == 2 and name[0] == "feature"):
                raise InputError(f"unknown feature {name!r}; derivations have ('feature', name)")
        return DerivationSpace(self, list(dict.fromkeys(name for _, name in names)))

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """Segmentations of three sequences."""
        X = [["a", "b", "c"], ["c", "a"], ["c"]]
        yield cls(_segments), X, [[(0, 2), (2, 3)], [(0, 1), (1, 2)], [(0, 1)]]


@dataclass
class DerivationSurvey(Survey):
    """Features of some graphs.

    Attributes
    ----------
    structure : Derivations
        Hyper-parameters.
    counts : dict
        Edges on which every feature fires.
    """

    structure: Derivations
    counts: dict[Hashable, int]

    def joined(self, other: DerivationSurvey) -> DerivationSurvey:
        """Features of both."""
        counts = dict(self.counts)
        for name, n in other.counts.items():
            counts[name] = counts.get(name, 0) + n
        return DerivationSurvey(self.structure, counts)

    def space(self) -> DerivationSpace:
        """Features that are frequent enough."""
        least = self.structure.min_count
        return DerivationSpace(self.structure, [name for name, n in self.counts.items() if n >= least])


def _segments(x: Sequence[str]) -> Iterator[Edge]:
    """All ways to cut a sequence into pieces."""
    yield Edge(len(x))
    for i in reversed(range(len(x))):
        for j in range(i + 1, len(x) + 1):
            yield Edge(i, [j], ["".join(x[i:j])], (i, j))
